// What a harness does in a turn: asks its model, works, writes, and says what it took. `harness.cjs LIBRARY TURNS`.
const { closeSync, fsyncSync, openSync, writeSync } = require('node:fs');
const { TurnReporter } = require(process.argv[2]);

const reporter = new TurnReporter(process.env.LNK_MEASURES);
/** Uses so much of a core, however busy the machine is. */
const spin = (ms) => {
  const start = process.cpuUsage();
  let used;
  do used = process.cpuUsage(start);
  while (used.user + used.system < ms * 1000);
};

async function turn() {
  const base = process.env.ANTHROPIC_BASE_URL;
  const answer = base && (await (await fetch(`${base}/v1/messages`, { method: 'POST', body: '{}' })).json());
  const { input_tokens: input = 7, output_tokens: output = 3 } = answer?.usage ?? {};
  spin(40);
  const file = openSync(`written-${process.pid}`, 'w');
  writeSync(file, Buffer.alloc(1 << 20, 1));
  fsyncSync(file);
  closeSync(file);
  return reporter.report({ turns: 1, toolCalls: 2, errors: 0, costMicrodollars: 1500, tokens: { input, output }, seconds: { turn: 0.04 } });
}

async function main() {
  for (let turns = Number(process.argv[3]); turns > 0; turns--) if (!(await turn())) process.exitCode = 1;
}
main();
