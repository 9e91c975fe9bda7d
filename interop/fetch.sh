#!/usr/bin/env bash
# Fetches what `make interop` and `make bench-cpu` hold pinion against: snarkjs,
# circuits that other people published, and the packages of examples/js. Needs node
# and npm. What is there already is kept, so that a second call does nothing.
#
#   interop/fetch.sh [DIR]     default .interop in the root of the repository
#
# The circuits' packages are taken by `npm pack`, as the dependencies that one of
# them names can't be resolved, and held against packages.sha512.
set -euo pipefail
shopt -s inherit_errexit # a failure inside $(...) ends the script too
here=$(cd "$(dirname "$0")" && pwd)
producer=$here/../examples/js
dir=${1:-$here/../.interop}
mkdir -p "$dir/packages" "$dir/circuits"
dir=$(cd "$dir" && pwd)

readonly semaphore=@zk-kit/semaphore-artifacts@4.13.0
readonly reclaim=@reclaimprotocol/circom-symmetric-crypto@1.1.3
readonly iden3=@rarimo/zkp-gen-iden3@2.0.0-rc.34

# packages installs what the lock file of a folder names.
packages() {
  local from=$1 to=$2
  if cmp -s "$from/package-lock.json" "$to/package-lock.json" && [[ -d $to/node_modules ]]; then
    return
  fi
  echo "fetching the packages of ${from##*/}"
  mkdir -p "$to"
  cp "$from/package.json" "$from/package-lock.json" "$from/.npmrc" "$to"
  (cd "$to" && npm ci --silent) || { rm -f "$to/package-lock.json"; return 1; }
}

# package prints the folder of an npm package, unpacked.
package() {
  local spec=$1 name=${1#@}
  name=${name//\//-}
  name=${name//@/-}
  if [[ ! -d $dir/packages/$name ]]; then
    echo "fetching $spec" >&2
    (
      cd "$dir/packages"
      npm pack --silent "$spec" >/dev/null
      grep -F " $name.tgz" "$here/packages.sha512" | sha512sum --check --quiet --strict >&2
      mkdir "$name.part"
      tar xzf "$name.tgz" -C "$name.part" --strip-components=1
      mv "$name.part" "$name"
      rm "$name.tgz"
    )
  fi
  echo "$dir/packages/$name"
}

# circuit makes the folder of one circuit out of links.
circuit() {
  local name=$1 zkey=$2 wasm=$3
  mkdir -p "$dir/circuits/$name"
  ln -sf "$zkey" "$dir/circuits/$name/circuit.zkey"
  ln -sf "$wasm" "$dir/circuits/$name/circuit.wasm"
  ln -sf "$here/inputs/$name.json" "$dir/circuits/$name/input.json"
}

packages "$here" "$dir"
packages "$producer" "$dir/js"
cp "$producer"/*.js "$dir/js" # beside their packages
from=$(package "$semaphore")
for name in semaphore-1 semaphore-20 semaphore-32; do
  circuit "$name" "$from/$name.zkey" "$from/$name.wasm"
done
from=$(package "$reclaim")
for name in chacha20 aes-128-ctr aes-256-ctr; do
  circuit "$name" "$from/resources/$name/circuit_final.zkey" "$from/resources/$name/circuit.wasm"
  ln -sf "$from/resources/$name/circuit.r1cs" "$dir/circuits/$name/circuit.r1cs"
done
from=$(package "$iden3")
for name in authV2 credentialAtomicQuerySigV2; do
  circuit "$name" "$from/assets/$name/circuit_final.zkey" "$from/assets/$name/circuit.wasm"
done
