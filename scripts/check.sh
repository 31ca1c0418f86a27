#!/usr/bin/env bash
# What is checked without running anything: format, lints, types, and that the addon's types are those committed.
set -euo pipefail
cd "$(dirname "$0")/.."

cargo fmt --all --check
cargo clippy --locked --workspace --exclude lnk-node --all-targets -- -D warnings
# Without --all-targets: the addon has no test binary to link.
cargo clippy --locked -p lnk-node -- -D warnings
node_modules/.bin/tsc --noEmit
if ! diff -u ts/native/binding.d.ts dist/binding.d.ts; then
  echo 'ts/native/binding.d.ts is not what the addon exports: run `npm run build` and commit it.' >&2
  exit 1
fi
