#!/usr/bin/env bash
# Tests the CUDA library on this machine's GPU. It needs neither Go nor a compiler, only the folder that `make gpu-files` filled, here or
# on another machine, and this script, which is in it too. What a test needs and this machine lacks is named as skipped.
#
#   scripts/test-gpu.sh [FOLDER]     default build/gpu
#
# With published circuits in FOLDER/interop (scripts/gpu-interop.sh), it proves them too.
set -euo pipefail
folder=$(realpath "${1:-build/gpu}")
step() { printf '\n== %s (%s)\n' "$1" "$(date -u +%H:%M:%S)"; }

if ! nvidia-smi --query-gpu=index,name,driver_version,memory.total --format=csv,noheader; then
  echo "no GPU here: make gpu-files, and carry $folder to a machine that has one" >&2
  exit 3
fi
cd "$folder"
export PINION_CUDA_LIB=$folder/libpinion_cuda.so
tests=(env PINION_VECTORS=vectors ./csrc_test_cuda)
proofs=(./gpu.test -test.count 1)
if [[ -d interop ]]; then
  proofs=(env PINION_INTEROP="$folder/interop" "${proofs[@]}")
fi

# watched runs a program under a tool of compute-sanitizer, at most two minutes.
watched() {
  local tool=$1 log
  shift
  step "$tool: $*"
  if log=$(timeout 120 compute-sanitizer --tool "$tool" --error-exitcode 1 "$@" 2>&1); then
    tail -n 1 <<<"$log"
  elif [[ $log == *"Device not supported"* ]]; then
    echo "SKIPPED: compute-sanitizer doesn't support the device as this machine has it"
  else
    echo "$log"
    return 1
  fi
}

step "kernels, against vectors of gnark-crypto"
"${tests[@]}"

step "device and whole proofs"
"${proofs[@]}" -test.v -test.run 'CUDA|P[0-9]'

step "sums, transforms and proofs of random inputs, each checked"
./pinion bench kernels --from 10 --to 18 --repetitions 1 --budget 60s

if command -v compute-sanitizer >/dev/null; then
  watched memcheck "${tests[@]}" arithmetic curve ntt passes prover setup msm_bn254_g1
  watched memcheck "${proofs[@]}" -test.run TestCUDAProves
  watched synccheck "${tests[@]}" ntt passes prover
  watched racecheck "${tests[@]}" prover passes
  watched initcheck "${proofs[@]}" -test.run TestCUDAProves
else
  step "compute-sanitizer"
  echo "SKIPPED: it isn't installed"
fi

step "all passed"
