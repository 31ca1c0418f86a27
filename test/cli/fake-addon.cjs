// Stands for the addon where a test needs a machine it can't have: gives the looks of a file, one after the other (the
// last again and again), and writes down what it was asked.
const { appendFileSync, readFileSync } = require('node:fs');
const { version } = require('../../package.json');

exports.version = () => version;
exports.measures = () =>
  JSON.stringify([
    ['link.memory.used.sum', 'By', 'level'],
    ['link.memory.peak.max', 'By', 'peak'],
    ['link.cpu.used.sum', 's', 'total'],
    ['link.network.in.sum', 'By', 'total'],
    ['link.network.out.sum', 'By', 'total'],
    ['link.processes.sum', '{process}', 'level'],
    ['link.ports.sum', '{port}', 'level'],
  ].map(([name, unit, kind]) => ({ name, unit, kind, rollUp: name.endsWith('max') ? 'max' : 'sum', saidBy: 'look' })));

exports.Sampler = class {
  taken = 0;

  look(request) {
    if (process.env.FAKE_REQUESTS) appendFileSync(process.env.FAKE_REQUESTS, `${request}\n`);
    const looks = JSON.parse(readFileSync(process.env.FAKE_LOOKS, 'utf8'));
    const { look, report } = looks[Math.min(this.taken++, looks.length - 1)];
    if (look === undefined) throw new Error('this system has no /proc');
    return { json: () => JSON.stringify(look), report: () => JSON.stringify(report) };
  }
};
