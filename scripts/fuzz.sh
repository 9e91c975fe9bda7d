#!/usr/bin/env bash
# Runs every fuzz test of the module, one after the other.
#
#   scripts/fuzz.sh [TIME]     time for each, default 30s
set -euo pipefail
cd "$(dirname "$0")/.."
time=${1:-30s}

packages=$(go list ./...)
for package in $packages; do
  tests=$(go test -list '^Fuzz' "$package")
  for target in $(grep '^Fuzz' <<<"$tests" || true); do
    echo "== $package $target"
    go test -run '^$' -fuzz "^$target\$" -fuzztime "$time" "$package"
  done
done
