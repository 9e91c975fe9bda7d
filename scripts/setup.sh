#!/usr/bin/env bash
# Installs what is needed beside Go: compilers for the race detector and the software device, with "node"
# also node and npm for the exchange with snarkjs, with "lint" shellcheck. As root on
# a machine with apt-get it installs what is missing; elsewhere it names the command.
#
#   scripts/setup.sh [node] [lint]
set -euo pipefail

missing=()
command -v gcc >/dev/null || missing+=(gcc libc6-dev)
command -v g++ >/dev/null || missing+=(g++)
for want in "$@"; do
  case $want in
    node)
      command -v node >/dev/null || missing+=(nodejs)
      command -v npm >/dev/null || missing+=(npm)
      ;;
    lint) command -v shellcheck >/dev/null || missing+=(shellcheck) ;;
    *) echo "setup.sh: unknown argument $want" >&2; exit 1 ;;
  esac
done

if ! command -v go >/dev/null; then
  echo "Go is missing: install the version that go.mod names, or any later one" >&2
  exit 1
fi
if [[ ${#missing[@]} -eq 0 ]]; then
  exit 0
fi
if ! command -v apt-get >/dev/null; then
  echo "missing: ${missing[*]} (install them with the package manager of this system)" >&2
  exit 1
fi
if [[ $(id -u) -ne 0 ]]; then
  echo "missing; install with: sudo apt-get install -y --no-install-recommends ${missing[*]}" >&2
  exit 1
fi
echo "installing ${missing[*]}"
export DEBIAN_FRONTEND=noninteractive
apt-get update -qq
apt-get install -y -qq --no-install-recommends "${missing[@]}" >/dev/null
