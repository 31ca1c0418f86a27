#!/usr/bin/env bash
# The real receivers that tests send to, built once from Go modules into target/otel/bin: a Collector, a Prometheus and a
# decoder of the Collector's own. 77: they can't be built here. About five minutes on two cores, and none once built.
#
#   scripts/otel.sh          builds them
#   scripts/otel.sh test     builds them, and runs the tests that need them
set -euo pipefail
cd "$(dirname "$0")/.."

BUILDER=v0.161.0
PROMETHEUS=v0.316.0

command -v go >/dev/null || { echo "otel: can't run here: Go is missing (https://go.dev/dl)" >&2; exit 77; }

stamp=$(cat scripts/otel.sh test/otel/collector.yaml test/otel/oracle/go.* test/otel/oracle/*.go | sha256sum)
bin=$PWD/target/otel/bin
build() {
  rm -rf target/otel
  mkdir -p "$bin" target/otel/src
  echo 'otel: building the Collector, Prometheus and the decoder (some minutes, once) …'
  GOBIN=$bin go install "go.opentelemetry.io/collector/cmd/builder@$BUILDER"
  "$bin/builder" --config test/otel/collector.yaml
  mv target/otel/src/collector/collector "$bin/collector"
  # Without the discovery of some thirty clouds, which is most of its build.
  GOBIN=$bin go install -tags remove_all_sd "github.com/prometheus/prometheus/cmd/prometheus@$PROMETHEUS"
  (cd test/otel/oracle && go build -mod=readonly -o "$bin/oracle" .)
  echo "$stamp" >"$bin/stamp"
}

[[ $(cat "$bin/stamp" 2>/dev/null) == "$stamp" ]] || build
if [[ ${1:-} == test ]]; then exec node_modules/.bin/jest --testMatch '<rootDir>/test/otel/*.otel.ts' "${@:2}"; fi
