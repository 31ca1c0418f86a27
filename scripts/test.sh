#!/usr/bin/env bash
# Every test there is; what `npm test` runs. Goes on after a part that failed, and ends with what passed and what didn't.
set -uo pipefail
cd "$(dirname "$0")/.."

summary=()
failed=0
said=$(mktemp)
trap 'rm -f "$said"' EXIT
part() {
  local name=$1 began=$SECONDS outcome=passed
  shift
  printf '\n== %s\n' "$name"
  "$@" </dev/null 2>&1 | tee -a "$said"
  case ${PIPESTATUS[0]} in
    0) ;;
    # What can't be run on this machine says so and ends with 77, as in automake. Where all must run, that is a failure.
    77) outcome='NOT RUN' && [[ -n ${CI:-} ]] && outcome='FAILED: not run' failed=1 ;;
    *) outcome=FAILED failed=1 ;;
  esac
  summary+=("$(printf '%-24s %s (%d s)' "$name" "$outcome" $((SECONDS - began)))")
}

# The tests run what is built, so it must be of these sources.
part 'build' node scripts/prepare.mjs
part 'format, lints, types' bash scripts/check.sh
part 'lints and links, macOS' bash scripts/apple/check.sh
part 'rust tests' cargo test --locked --no-fail-fast --workspace --exclude lnk-node
part 'tests in a VM' bash scripts/vm/test.sh
part 'typescript tests' node_modules/.bin/jest
part 'real receivers' bash scripts/otel.sh test

printf '\n'
printf '%s\n' "${summary[@]}"
# What single tests said they could not test here.
grep -h 'NOT TESTED: ' "$said" | sort -u
if ((failed)); then echo 'Not all tests passed.' >&2; fi
exit $failed
