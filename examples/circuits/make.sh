#!/usr/bin/env bash
# Makes the files of the example circuits from their circom source: keys, wasm,
# witness, and a proof by snarkjs. Needs node and npm; takes some minutes, most of
# them in the preparation of the powers of tau.
#
#   ./make.sh            all circuits on both curves
#
# PTAU may name a folder with prepared powers of tau (bn128.ptau, bls12381.ptau);
# without it they are made anew, under a temporary folder, for 2^11 constraints.
set -euo pipefail
cd "$(dirname "$0")"

readonly power=11
readonly beacon=0102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f20

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
npm install --silent --no-audit --no-fund --prefix "$work" circom2@0.2.23 snarkjs@0.7.6
circom() { node "$work/node_modules/circom2/cli.js" "$@"; }
snarkjs() { node "$work/node_modules/snarkjs/build/cli.cjs" "$@"; }
entropy() { head -c 32 /dev/urandom | od -An -tx1 | tr -d ' \n'; }

# constants prints the round constants of merkle/mimc.circom: the SHA-256 digest of
# "pinion/mimc/<round>" as a big-endian number, which circom reduces modulo r.
constants() {
  echo 'pragma circom 2.1.0;'
  echo
  echo '// Made by make.sh: constant i is SHA-256("pinion/mimc/i") as a big-endian number'
  echo '// modulo r; the first is zero, as in the MiMC paper.'
  echo 'function roundConstants() {'
  echo '    var c[110];'
  echo '    c[0] = 0;'
  for ((i = 1; i < 110; i++)); do
    echo "    c[$i] = 0x$(printf 'pinion/mimc/%d' "$i" | sha256sum | cut -d' ' -f1);"
  done
  echo '    return c;'
  echo '}'
}

# powers makes prepared powers of tau for one curve.
powers() {
  local curve=$1 out=$2
  snarkjs powersoftau new "$curve" "$power" "$work/pot0.ptau"
  snarkjs powersoftau contribute "$work/pot0.ptau" "$work/pot1.ptau" --name=pinion -e="$(entropy)"
  snarkjs powersoftau beacon "$work/pot1.ptau" "$work/pot2.ptau" "$beacon" 10
  snarkjs powersoftau prepare phase2 "$work/pot2.ptau" "$out"
}

# build makes all files of one circuit on one curve.
build() {
  local name=$1 curve=$2 ptau=$3 dir=$1/$2 out=$work/out
  rm -rf "$dir" "$out"
  mkdir -p "$dir" "$out"
  (cd "$name" && cp ./*.circom "$out" && cd "$out" && circom "$name.circom" -p "$curve" --r1cs --wasm --O2)
  mv "$out/$name.r1cs" "$dir/circuit.r1cs"
  mv "$out/${name}_js/$name.wasm" "$dir/circuit.wasm"

  snarkjs groth16 setup "$dir/circuit.r1cs" "$ptau" "$out/0.zkey"
  snarkjs zkey contribute "$out/0.zkey" "$out/1.zkey" --name=pinion -e="$(entropy)"
  snarkjs zkey beacon "$out/1.zkey" "$dir/circuit.zkey" "$beacon" 10
  snarkjs zkey verify "$dir/circuit.r1cs" "$ptau" "$dir/circuit.zkey"
  snarkjs zkey export verificationkey "$dir/circuit.zkey" "$dir/verification_key.json"
  if [[ $name == multiplier ]]; then
    cp "$out/0.zkey" "$dir/forgeable.zkey"
  fi

  snarkjs wtns calculate "$dir/circuit.wasm" "$name/input.json" "$dir/witness.wtns"
  snarkjs wtns check "$dir/circuit.r1cs" "$dir/witness.wtns"
  snarkjs groth16 prove "$dir/circuit.zkey" "$dir/witness.wtns" "$dir/proof.json" "$dir/public.json"
  snarkjs groth16 verify "$dir/verification_key.json" "$dir/public.json" "$dir/proof.json"
}

constants > merkle/constants.circom
for curve in bn128 bls12381; do
  ptau=${PTAU:-$work}/$curve.ptau
  [[ -f $ptau ]] || powers "$curve" "$ptau"
  for name in merkle multiplier commit; do
    build "$name" "$curve" "$ptau"
  done
done
