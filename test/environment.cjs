// What the addon makes (errors, typed arrays) belongs to Node's own realm; jest gives each test file another. Sharing
// these few makes `instanceof`, `toThrow(Error)` and `toBeInstanceOf(Float64Array)` mean what they say.
const { TestEnvironment } = require('jest-environment-node');

const SHARED = ['Error', 'TypeError', 'RangeError', 'ArrayBuffer', 'Uint8Array', 'Float64Array', 'BigUint64Array'];

module.exports = class extends TestEnvironment {
  async setup() {
    await super.setup();
    for (const name of SHARED) this.global[name] = globalThis[name];
  }
};
