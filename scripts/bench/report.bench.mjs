// How fast the lines of harnesses are read, beside what a JavaScript program would do: JSON.parse of each. The same file
// for all, of turns as an OpenTelemetry library writes them and as this package's reporter does.

import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { buildExamples, root, run, table } from './table.mjs';

const ROUNDS = 15;

export default async function report() {
  const examples = buildExamples('lnk-report');
  const folder = mkdtempSync(join(tmpdir(), 'lnk-bench-'));
  try {
    const rows = [['', 'bytes a line', 'Reader, lines/s', 'serde_json::Value', 'JSON.parse', 'Reader / JSON.parse']];
    for (const [name, sample] of [['of an OpenTelemetry library', null], ['of TurnReporter', reportersLine(folder)]]) {
      const file = join(folder, `${name.replaceAll(' ', '-')}.jsonl`);
      const { lines, line_bytes, bare_s, reader_s, tree_s } = JSON.parse(run(`${examples}/report_bench`, [file], sample ?? ''));
      const parse_s = best(() => {
        let parsed = 0;
        for (const line of readFileSync(file, 'utf8').split('\n')) if (line) parsed += JSON.parse(line) ? 1 : 0;
        return parsed;
      }, lines);
      const rate = (seconds) => Math.round(lines / seconds).toLocaleString('en');
      rows.push([name, line_bytes, rate(reader_s), rate(tree_s), rate(parse_s), (parse_s / reader_s).toFixed(1)]);
      rows.push(['  reading the file alone', '', rate(bare_s), '', '', '']);
    }
    table(rows);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** A whole turn as the reporter writes it. */
function reportersLine(folder) {
  const { TurnReporter } = createRequire(import.meta.url)(join(root, 'dist'));
  const file = join(folder, 'reporter', 'measures.jsonl');
  const tokens = { input: 90211, output: 4120, cached: 80000, cacheWritten: 1200 };
  const seconds = { toModel: 0.412, firstToken: 1.204, turn: 12.345 };
  const isWritten = new TurnReporter(file).report({ turns: 1, toolCalls: 4, tokens, costMicrodollars: 18412.5, seconds });
  if (!isWritten) throw new Error(`no line was written to ${file}`);
  return readFileSync(file, 'utf8');
}

/** The seconds of the fastest of some rounds. */
function best(round, lines) {
  let seconds = Infinity;
  for (let n = 0; n < ROUNDS; n++) {
    const began = process.hrtime.bigint();
    if (round() !== lines) throw new Error('not all lines were parsed');
    seconds = Math.min(seconds, Number(process.hrtime.bigint() - began) / 1e9);
  }
  return seconds;
}
