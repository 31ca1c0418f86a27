// What the bundler does with a TOML file: its text.
exports.process = (text) => ({ code: `exports.default = ${JSON.stringify(text)}; exports.__esModule = true;` });
