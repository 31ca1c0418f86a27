// What of a message's head goes on: all of it as it came, but for what is said to the next hop only (RFC 9110, 7.6.1).

/** Of one connection, not of the message. */
const HOP_BY_HOP = new Set(['connection', 'keep-alive', 'proxy-connection', 'te', 'transfer-encoding', 'upgrade']);

/** Names and values in turn, as Node gives and takes them: spelling, order and repetitions stay. */
export type RawHeaders = readonly string[];

/** Names with their values, from names and values in turn. */
export function* pairsOf(raw: RawHeaders): Generator<[string, string]> {
  for (let at = 0; at + 1 < raw.length; at += 2) yield [raw[at] ?? '', raw[at + 1] ?? ''];
}

/** The headers that go on, names and values in turn. */
export function passedOn(raw: RawHeaders): string[] {
  const named = connectionOptions(raw);
  const passed: string[] = [];
  for (const [name, value] of pairsOf(raw)) {
    const lower = name.toLowerCase();
    if (!HOP_BY_HOP.has(lower) && !named?.has(lower)) passed.push(name, value);
  }
  return passed;
}

/** The headers that `Connection` says are this hop's too. What a message is framed by stays, whatever it says. */
function connectionOptions(raw: RawHeaders): Set<string> | undefined {
  let named: Set<string> | undefined;
  for (const [name, value] of pairsOf(raw)) {
    if (name.length !== 10 || name.toLowerCase() !== 'connection') continue;
    for (const option of value.split(',')) (named ??= new Set()).add(option.trim().toLowerCase());
  }
  named?.delete('content-length');
  return named;
}

/** The headers with one's value replaced, where it is there, and said where it isn't. */
export function withHeader(headers: string[], wanted: string, value: string): string[] {
  const lower = wanted.toLowerCase();
  const others: string[] = [];
  let at = -1;
  for (const [name, old] of pairsOf(headers)) {
    if (name.toLowerCase() !== lower) others.push(name, old);
    else if (at < 0) at = others.push(name, value) - 2;
  }
  return at < 0 ? [wanted, value, ...others] : others;
}
