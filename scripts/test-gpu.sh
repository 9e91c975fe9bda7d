#!/usr/bin/env bash
# Tests the CUDA library on this machine's GPU. It needs neither Go nor a compiler, only what `make gpu-files` made, here or on
# another machine: carry the folder and this script.
#
#   scripts/test-gpu.sh [FOLDER]     default build/gpu
set -euo pipefail
folder=$(realpath "${1:-build/gpu}")
step() { printf '\n== %s (%s)\n' "$1" "$(date -u +%H:%M:%S)"; }

if ! nvidia-smi --query-gpu=index,name,driver_version,memory.total --format=csv,noheader; then
  echo "no GPU here: carry $folder and $0 to a machine that has one" >&2
  exit 3
fi

step "transforms"
"$folder/ntt_card" 20 3
for group in 1 2 3 4; do
  step "sums, group $group of 4"
  "$folder/msm_card_$group" 18 14
done

step "a proof, watched by compute-sanitizer"
if command -v compute-sanitizer >/dev/null; then
  for curve in 1 2; do
    compute-sanitizer --error-exitcode 1 "$folder/prove_card" "$curve" 10 2
  done
else
  echo "skipped: no compute-sanitizer here"
fi

step "device"
cd "$folder"
PINION_CUDA_LIB=$folder/libpinion_cuda.so ./gpu.test -test.v -test.count 1 -test.run 'CUDA|P[0-9]'

step "all passed"
