#!/usr/bin/env bash
# Runs every fuzz test of the module, one after the other.
#
#   scripts/fuzz.sh [TIME]     time for each, default 30s
set -euo pipefail
cd "$(dirname "$0")/.."
time=${1:-30s}

for package in $(go list ./...); do
  for target in $(go test -list '^Fuzz' "$package" | grep '^Fuzz' || true); do
    echo "== $package $target"
    go test -run '^$' -fuzz "^$target\$" -fuzztime "$time" "$package"
  done
done
