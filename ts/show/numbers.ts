// Numbers for people: short, in the unit one would say. `--json` keeps base units.

const KIB = 1024;

/** `512 B`, `64 KiB`, `734 MiB`, `1.2 GiB`. */
export function bytes(value: number): string {
  return scaled(value, KIB, [' B', ' KiB', ' MiB', ' GiB', ' TiB', ' PiB']);
}

/** `999`, `1.2K`, `64K`, `1.2M`, `3.4B`. */
export function count(value: number): string {
  return scaled(value, 1000, ['', 'K', 'M', 'B', 'T']);
}

/** Three digits or two and a tenth, in the largest unit that leaves a whole one. */
function scaled(value: number, base: number, units: string[]): string {
  let unit = 0;
  let rest = value;
  // What would be rounded up to a whole of the next unit is said in that one.
  while (unit < units.length - 1 && Math.round(rest) >= base) {
    rest /= base;
    unit++;
  }
  const text = unit > 0 && rest < 9.95 ? rest.toFixed(1) : String(Math.round(rest));
  return `${text}${units[unit] ?? ''}`;
}

/** `$0.42`, `$1,204.50`; a part of a cent is `<$0.01`, never nothing. */
export function money(microdollars: number): string {
  if (microdollars > 0 && microdollars < 5000) return '<$0.01';
  const [whole = '0', cents = '00'] = (microdollars / 1e6).toFixed(2).split('.');
  return `$${whole.replace(/\B(?=(\d{3})+$)/g, ',')}.${cents}`;
}

/** `0.04s`, `4.2s`, `41s`, `3m 12s`, `2h 03m`, `3d 04h`. */
export function duration(seconds: number): string {
  if (seconds < 0.995) return seconds === 0 ? '0s' : seconds < 0.005 ? '<0.01s' : `${seconds.toFixed(2)}s`;
  if (seconds < 9.95) return `${seconds.toFixed(1)}s`;
  const whole = Math.round(seconds);
  if (whole < 60) return `${whole}s`;
  const two = (value: number) => String(value).padStart(2, '0');
  const [minutes, hours, days] = [Math.floor(whole / 60), Math.floor(whole / 3600), Math.floor(whole / 86_400)];
  if (hours === 0) return `${minutes}m ${two(whole % 60)}s`;
  if (days === 0) return `${hours}h ${two(minutes % 60)}m`;
  return `${days}d ${two(hours % 24)}h`;
}

/** Of one core: `0%`, `3.4%`, `34%`, `210%`. */
export function percent(cores: number): string {
  const value = cores * 100;
  if (value > 0 && value < 0.05) return '<0.1%';
  return value !== 0 && value < 9.95 ? `${value.toFixed(1)}%` : `${Math.round(value)}%`;
}

/** A measure's value by the unit the measures table gives it. */
export function inUnit(value: number, unit: string): string {
  if (unit === 'By') return bytes(value);
  if (unit === 's') return duration(value);
  if (unit === '{microdollar}') return money(value);
  return count(value);
}

/** `3 processes`, `1 process`. */
export const many = (n: number, one: string, more = `${one}s`): string => `${n} ${n === 1 ? one : more}`;
