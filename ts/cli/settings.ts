import { Command, Option } from 'clipanion';
import { makeMeasureFolder, measureFolder } from '../agents/folder';
import { Misuse } from '../errors';
import { changeSettings } from '../settings/edit';
import { type Key, KEYS, linkSettings, readSettings, RULES, settingsPath, type Value } from '../settings/settings';
import { showTable } from '../show/table';
import { LnkCommand } from './command';

/** `lnk measure settings`: shows the watcher's settings, or changes yours. */
export class SettingsCommand extends LnkCommand {
  static override paths = [['settings']];
  static override usage = Command.Usage({
    description: "Show the watcher's settings, yours and Link's, or change yours.",
    details: `
      Yours are in settings.toml in the measure folder and win, key by key. Each flag changes its own line there; your
      comments and their order stay. A watcher that runs takes them up with its next look.
    `,
    examples: [
      ['Yours, and those of Link', '$0 settings'],
      ['Keep less', '$0 settings --keep-fine 6h --keep-minutes 7d'],
      ["Keep each agent's processes too", '$0 settings --processes'],
      ["Go back to Link's", '$0 settings --reset every'],
    ],
  });
  static override readonly values = { '--every': 'TIME', '--keep-fine': 'TIME', '--keep-minutes': 'TIME', '--processes': '[on|off]', '--reset': 'KEY' };
  static override readonly choices = { '--processes': ['on', 'off'], '--reset': KEYS.map((key) => key.replace('_', '-')) };

  every = Option.String('--every', { description: 'How far apart looks are: 10s, 1m.' });
  keepFine = Option.String('--keep-fine', { description: 'How long every look is kept: 6h, 1d.' });
  keepMinutes = Option.String('--keep-minutes', { description: 'How long a summary of each minute is kept: 7d, 30d.' });
  processes = Option.String('--processes', { description: "Whether each agent's processes are kept too.", tolerateBoolean: true });
  onOrOff = Option.String({ required: false });
  reset = Option.Array('--reset', { description: "Go back to Link's of this one: every, keep-fine, keep-minutes or processes." });

  async execute(): Promise<number> {
    const folder = measureFolder(this.context.env);
    const changes = this.#changes();
    if (changes.size > 0) {
      process.umask(0o077);
      makeMeasureFolder(folder);
      changeSettings(folder, changes);
    }
    this.context.stdout.write(this.#show(folder));
    return 0;
  }

  #changes(): Map<Key, Value | undefined> {
    const changes = new Map<Key, Value | undefined>((this.reset ?? []).map((name) => [keyOf(name), undefined]));
    const set = (key: Key, flag: string, value: Value | undefined) => {
      if (value === undefined) return;
      if (changes.has(key)) throw new Misuse(`${flag} and --reset of it contradict each other.`);
      if (!RULES[key].fits(value)) throw new Misuse(`${flag} takes ${key === 'processes' ? 'on or off' : RULES[key].allowed}.`);
      changes.set(key, value);
    };
    set('every', '--every', this.every);
    set('keep_fine', '--keep-fine', this.keepFine);
    set('keep_minutes', '--keep-minutes', this.keepMinutes);
    set('processes', '--processes', this.#parseProcesses());
    return changes;
  }

  /** `--processes`, `--processes on`, `--processes off`, `--processes=off`. */
  #parseProcesses(): Value | undefined {
    const said: unknown = this.processes;
    if (this.onOrOff !== undefined && said !== true) throw new Misuse(`${JSON.stringify(this.onOrOff)} is one word too many.`);
    const word = said === true ? (this.onOrOff ?? 'on') : said;
    if (word === undefined || word === false) return word;
    return word === 'on' || word === 'off' ? word === 'on' : String(word);
  }

  #show(folder: string): string {
    const [yours, links] = [readSettings(folder), linkSettings()];
    const shown = (value: Value | undefined) => (value === undefined ? '' : typeof value === 'boolean' ? (value ? 'on' : 'off') : value);
    const rows = KEYS.map((key) => ({
      branch: '',
      name: key.replace('_', '-'),
      cells: [shown(yours[key] ?? links[key]), yours[key] === undefined ? "Link's" : 'yours', yours[key] === undefined ? '' : shown(links[key])],
      paintName: this.paint.name,
      paintCells: (text: string) => text,
    }));
    const columns = ['holds', 'whose', "Link's"].map((title, rank) => ({ title, rank }));
    const lines = showTable(columns, rows, this.paint, this.width);
    return `${[...lines, '', this.paint.dim(`Yours are in ${settingsPath(folder)}`)].join('\n')}\n`;
  }
}

function keyOf(name: string): Key {
  const key = KEYS.find((each) => each === name.replaceAll('-', '_'));
  if (key === undefined) throw new Misuse(`--reset takes ${KEYS.map((each) => each.replace('_', '-')).join(', ')}.`);
  return key;
}
