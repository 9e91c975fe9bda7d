#!/usr/bin/env bash
# Checks the sources and the files of deploy/. What can't be checked for want of a
# tool is named as skipped; what is found wrong makes it fail in the end.
set -euo pipefail
cd "$(dirname "$0")/.."

readonly compose=github.com/compose-spec/compose-go/v2/cmd@v2.16.2
readonly dockerfile=dockerfile-utils@0.16.3
failed=0

# check runs a command, and prints what it said if it fails.
check() {
  local what=$1 out
  shift
  if out=$("$@" 2>&1); then
    echo "ok       $what"
  else
    echo "FAIL     $what"
    echo "$out"
    failed=1
  fi
}
skip() { echo "SKIPPED  $1: $2"; }

# shellcheck disable=SC2317 # called through check
formatted() {
  local files
  files=$(git ls-files -co --exclude-standard '*.go' | xargs gofmt -l)
  [[ -z $files ]] || { echo "not formatted by gofmt:"; echo "$files"; return 1; }
}

check gofmt formatted
check "go vet" go vet ./...
check "go vet, all build tags" go vet -tags invariants,interop ./...
check "build without cgo" env CGO_ENABLED=0 go build ./...
check "build without CUDA" env CGO_ENABLED=0 go build -tags nocuda ./...

if lint=$(command -v .bin/golangci-lint || command -v golangci-lint); then
  check golangci-lint "$lint" run
else
  skip golangci-lint "not installed; 'make .bin/golangci-lint' builds it from its Go module, in some minutes"
fi

mapfile -t scripts < <(git ls-files -co --exclude-standard '*.sh' .ci/run)
if command -v shellcheck >/dev/null; then
  check shellcheck shellcheck "${scripts[@]}"
else
  skip shellcheck "not installed (apt-get install shellcheck)"
  check "bash syntax" bash -n "${scripts[@]}"
fi

if [[ -x .bin/nats-server ]]; then
  check deploy/nats.conf .bin/nats-server -t -c deploy/nats.conf # a test runs nats-cluster.conf
else
  skip deploy/nats.conf "no nats-server ('make .bin/nats-server')"
fi
check deploy/docker-compose.yml go run "$compose" deploy/docker-compose.yml
if command -v npx >/dev/null; then
  check deploy/Dockerfile npx --yes "$dockerfile" lint deploy/Dockerfile
else
  skip deploy/Dockerfile "no npx"
fi
if [[ -x .bin/otelcol ]]; then
  check deploy/otel-collector.yaml .bin/otelcol validate --config=deploy/otel-collector.yaml
else
  skip deploy/otel-collector.yaml "no collector ('make .bin/otelcol' builds one from its Go modules, in some minutes)"
fi

exit "$failed"
