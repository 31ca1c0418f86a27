// What a harness says of a turn, as the one line its file gets: numbers of the measures it may say, and nothing else. The
// line is put together from this file's own words, so that no text of a caller can get into it.

/** What a harness counted of a turn. What it doesn't know it leaves out: that isn't zero. */
export interface TurnReport {
  /** Turns this is of, as a rule 1. */
  turns?: number | undefined;
  /** Tools called. */
  toolCalls?: number | undefined;
  errors?: number | undefined;
  /** Turns that another model answered, by why the first didn't: it is off, the turn doesn't fit its window, it is overloaded. */
  fallbacks?: { off?: number | undefined; window?: number | undefined; overloaded?: number | undefined } | undefined;
  /** Tokens, as a usage scanner's answer has them. Not counted where a route counts the agent's. */
  tokens?:
    | { input?: number | undefined; output?: number | undefined; cached?: number | undefined; cacheWritten?: number | undefined }
    | undefined;
  /** Millionths of a dollar. */
  costMicrodollars?: number | undefined;
  /** Seconds: until the model was asked, until its first token came, and of the whole turn. */
  seconds?: { toModel?: number | undefined; firstToken?: number | undefined; turn?: number | undefined } | undefined;
}

interface Said {
  name: string;
  unit: string;
  of: (turn: TurnReport) => unknown;
}

/**
 * The measures a harness may say. Not asked of the addon, which has them all: a harness may run where there is none for
 * its platform, such as in a container of another libc.
 */
export const SAID: readonly Said[] = [
  { name: 'link.turns.sum', unit: '{turn}', of: (turn) => turn.turns },
  { name: 'link.tool_calls.sum', unit: '{call}', of: (turn) => turn.toolCalls },
  { name: 'link.errors.sum', unit: '{error}', of: (turn) => turn.errors },
  { name: 'link.fallbacks.off.sum', unit: '{turn}', of: (turn) => turn.fallbacks?.off },
  { name: 'link.fallbacks.window.sum', unit: '{turn}', of: (turn) => turn.fallbacks?.window },
  { name: 'link.fallbacks.overloaded.sum', unit: '{turn}', of: (turn) => turn.fallbacks?.overloaded },
  { name: 'link.tokens.input.sum', unit: '{token}', of: (turn) => turn.tokens?.input },
  { name: 'link.tokens.output.sum', unit: '{token}', of: (turn) => turn.tokens?.output },
  { name: 'link.tokens.cached.sum', unit: '{token}', of: (turn) => turn.tokens?.cached },
  { name: 'link.tokens.cache_written.sum', unit: '{token}', of: (turn) => turn.tokens?.cacheWritten },
  { name: 'link.cost.sum', unit: '{microdollar}', of: (turn) => turn.costMicrodollars },
  { name: 'link.time.to_model.own', unit: 's', of: (turn) => turn.seconds?.toModel },
  { name: 'link.time.first_token.own', unit: 's', of: (turn) => turn.seconds?.firstToken },
  { name: 'link.time.turn.own', unit: 's', of: (turn) => turn.seconds?.turn },
];

/** The most a turn can be of what is counted or paid; past it the reader drops it too. */
const MOST_COUNTED = 1e9;
/** A day, in seconds. */
const LONGEST_SECONDS = 86_400;

/** A turn's line, an OTLP ExportMetricsServiceRequest as JSON, with its newline; undefined where nothing in it may be said. */
export function turnLine(turn: TurnReport, nowMs: number): string | undefined {
  const metrics = SAID.flatMap((said) => {
    const value = valueOf(said, turn);
    return value === undefined ? [] : [metric(said, value, nowMs)];
  });
  return metrics.length ? `{"resourceMetrics":[{"scopeMetrics":[{"scope":{"name":"lnk-measure"},"metrics":[${metrics.join(',')}]}]}]}\n` : undefined;
}

/** A value that is a number and within its bounds. */
function valueOf({ unit, of }: Said, turn: TurnReport): number | undefined {
  let value: unknown;
  try {
    value = of(turn);
  } catch {
    // A getter that throws, or null for a turn: the other values are said all the same.
    return undefined;
  }
  if (typeof value !== 'number' || !(value >= 0 && value <= (unit === 's' ? LONGEST_SECONDS : MOST_COUNTED))) return undefined;
  return isWhole(unit) && !Number.isInteger(value) ? undefined : value;
}

const isWhole = (unit: string): boolean => unit !== 's' && unit !== '{microdollar}';

function metric({ name, unit }: Said, value: number, nowMs: number): string {
  const number = isWhole(unit) ? `"asInt":"${value}"` : `"asDouble":${value}`;
  const points = `"dataPoints":[{"timeUnixNano":"${BigInt(nowMs) * 1_000_000n}",${number}}]`;
  // 1 is AGGREGATION_TEMPORALITY_DELTA: of this turn alone.
  const data = name.endsWith('.own') ? `"gauge":{${points}}` : `"sum":{"aggregationTemporality":1,"isMonotonic":true,${points}}`;
  return `{"name":"${name}","unit":"${unit}",${data}}`;
}
