#!/usr/bin/env bash
# The published circuits on a GPU: the two halves that need snarkjs, on the machine that has `make fetch`ed.
#
#   scripts/gpu-interop.sh make FOLDER      writes key, witness and verification key of each circuit to FOLDER/interop
#   scripts/gpu-interop.sh verify FOLDER    has snarkjs verify the proofs that FOLDER/interop came back with
#
# Between the two, scripts/test-gpu.sh FOLDER on the machine with the GPU.
set -euo pipefail
fetched=$(cd "$(dirname "$0")/.." && pwd)/.interop
snarkjs() { node "$fetched/node_modules/snarkjs/build/cli.cjs" "$@"; }
usage() {
  sed -n '2,7p' "$0" >&2
  exit 2
}

make() {
  local circuit to
  for circuit in "$fetched"/circuits/*; do
    to=$folder/$(basename "$circuit")
    mkdir -p "$to"
    cp -L "$circuit/circuit.zkey" "$to"
    snarkjs wtns calculate "$circuit/circuit.wasm" "$circuit/input.json" "$to/witness.wtns"
    snarkjs zkey export verificationkey "$to/circuit.zkey" "$to/verification_key.json"
  done
}

verify() {
  local key circuit
  for key in "$folder"/*/verification_key.json; do
    circuit=$(dirname "$key")
    basename "$circuit"
    snarkjs groth16 verify "$key" "$circuit/public.json" "$circuit/proof.json"
  done
}

[[ $# == 2 ]] || usage
folder=$2/interop
case $1 in
make | verify) "$1" ;;
*) usage ;;
esac
