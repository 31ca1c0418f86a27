#!/usr/bin/env bash
# Runs the tests that need a kernel with pure control groups v2, in one virtual machine. 77: it can't run here.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

dmsetup=$(PATH=$PATH:/usr/sbin command -v dmsetup) ||
  { echo "vm: can't run here: dmsetup missing (Debian: apt-get install dmsetup)" >&2; exit 77; }

systemd=/usr/lib/systemd/systemd
[ -x "$systemd" ] || { echo "vm: can't run here: systemd missing (Debian: apt-get install systemd)" >&2; exit 77; }

# The path of what cargo builds: built WHAT CRATE NAME ARGUMENT...
built() {
  cargo "$1" --locked --quiet -p "$2" --message-format=json "${@:4}" |
    sed -n "s/.*\"name\":\"$3\".*\"executable\":\"\([^\"]*\)\".*/\1/p"
}

tests=$(built test lnk-sample pure_v2 --no-run --test pure_v2)
zoo=$(built build lnk-sample zoo --example zoo)
whole=$(built test lnk-run whole --no-run --test whole)
exec scripts/vm/run.sh \
  --program "$tests:pure_v2" \
  --program "$zoo:zoo" \
  --program "$whole:whole_run" \
  --program "$dmsetup" \
  --program "$systemd" \
  --program "$(command -v setpriv):become" \
  --file test/vm/scope.sh:/scope.sh \
  --file test/vm/kernel-facts.sh:/kernel-facts.sh \
  test/vm/all.sh
