#!/usr/bin/env bash
# Lints and links the crates for a Mac, arm64 and x64, on whatever machine this is. Runs nothing: only a Mac can.
# Rust's library for each target comes from rustup, a linker and Apple's headers from zig (PyPI's `ziglang`), kept in
# .cache/apple. 77: one of the two can't be had here, and why is on stderr.
#
# lnk-run and lnk-node are left out: both call what Linux alone has.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

zig_version=0.17.1
crates=(-p lnk-schema -p lnk-usage -p lnk-ledger -p lnk-otlp -p lnk-sample -p lnk-report -p lnk-store)
cache=$PWD/.cache/apple/zig-$zig_version

cannot() { echo "apple: can't be checked here: $1" >&2; exit 77; }

command -v rustup >/dev/null || cannot 'rustup is missing, which has the libraries of other targets (https://rustup.rs)'
rustup target add aarch64-apple-darwin x86_64-apple-darwin || cannot 'rustup could not fetch the targets'

if [[ ! -d $cache ]]; then
  mkdir -p "$(dirname "$cache")"
  fetch=$(mktemp -d "$cache.XXXXXX")
  trap 'rm -rf "$fetch"' EXIT
  python3 -m pip install --quiet --target "$fetch/zig" "ziglang==$zig_version" || cannot 'pip could not fetch ziglang'
  # Whole or not at all, also when two runs fetch at once.
  mv -T "$fetch/zig" "$cache" 2>/dev/null || [[ -d $cache ]]
fi
export ZIG=$cache/ziglang/zig
# rustc looks for Xcode's, and warns where there is none.
export SDKROOT=$cache/ziglang/lib/libc/darwin

for arch in aarch64 x86_64; do
  target=$arch-apple-darwin
  variable=${target//-/_}
  # The oldest system that Rust's own library is made for (rustc's platform-support/apple-darwin).
  minimum=$([[ $arch == aarch64 ]] && echo 11.0 || echo 10.12)
  export ZIG_TARGET=$arch-macos.$minimum
  export "CC_$variable=$PWD/scripts/apple/cc.sh" "CARGO_TARGET_${variable^^}_LINKER=$PWD/scripts/apple/cc.sh"
  cargo clippy --locked --target "$target" "${crates[@]}" --all-targets -- -D warnings
  cargo test --locked --target "$target" "${crates[@]}" --no-run
done
