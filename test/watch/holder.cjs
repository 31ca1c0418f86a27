// Holds the lock of a measure folder, as another program might.
const { Lock } = require(`../../dist/${require('node:fs').readdirSync(`${__dirname}/../../dist`).find((name) => name.endsWith('.node'))}`);

globalThis.lock = new Lock(process.argv[2], Date.now());
setInterval(() => globalThis.lock, 1000);
