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
export PINION_CUDA_LIB=$folder/libpinion_cuda.so PINION_VECTORS=$folder/vectors
if [[ -d interop ]]; then
  export PINION_INTEROP=$folder/interop
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

step transforms
./ntt_card 20 3
for group in 1 2 3 4; do
  step "sums, group $group of 4"
  "./msm_card_$group" 18 14
done

step device
./gpu.test -test.v -test.count 1 -test.run 'CUDA|P[0-9]'

if command -v compute-sanitizer >/dev/null; then
  for curve in 1 2; do
    watched memcheck ./prove_card "$curve" 10 2
    watched synccheck ./prove_card "$curve" 10 2
  done
  watched racecheck ./ntt_card 13 1
  watched initcheck ./prove_card 1 10 1
else
  step "compute-sanitizer"
  echo "SKIPPED: it isn't installed"
fi

step "all passed"
