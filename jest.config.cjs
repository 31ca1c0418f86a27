/** @type {import('jest').Config} */
module.exports = {
  testEnvironment: './test/environment.cjs',
  testMatch: ['<rootDir>/test/**/*.test.ts'],
  transform: {
    '\\.toml$': '<rootDir>/test/toml.cjs',
    '\\.ts$': ['@swc/jest', { jsc: { parser: { syntax: 'typescript' }, target: 'es2022' }, module: { type: 'commonjs' } }],
  },
  // The commands under test may take their whole time limit, on a machine that is busy.
  testTimeout: 30_000,
};
