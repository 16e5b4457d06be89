#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Compiles the command for aarch64 on another processor, runs it by qemu and compares its files with those that this
# machine's own command writes: the same bytes are promised on every processor. It takes the packages mmdebstrap,
# g++-aarch64-linux-gnu and qemu-user-static. usage: try_aarch64.sh SPANSORT_COMMAND [TEST PROGRAM TO RUN TOO..]
set -euo pipefail
native=$(realpath "${1:?usage: try_aarch64.sh SPANSORT_COMMAND [TEST PROGRAM..]}")
shift
cd "$(dirname "${BASH_SOURCE[0]}")/.."

export SPANSORT_SYSROOT=${SPANSORT_SYSROOT:-$PWD/build/aarch64-root}
if [[ ! -d $SPANSORT_SYSROOT/usr ]]; then
  # Packages are unpacked and not set up: nothing of them runs.
  mmdebstrap --quiet --variant=extract --architectures=arm64 \
    --include=libc6-dev,libstdc++-12-dev,libtbb-dev,libhwy-dev,libhwloc-dev,libxxhash-dev,libfmt-dev,libcli11-dev,nlohmann-json3-dev,libgtest-dev \
    bookworm "$SPANSORT_SYSROOT"
fi
cmake --preset host -B build/aarch64 --toolchain cmake/aarch64-linux-gnu.cmake -DSPANSORT_MPI=OFF -DSPANSORT_WERROR=1
cmake --build build/aarch64 --target spansort_cli "$@"
for program in "$@"; do qemu-aarch64-static -L "$SPANSORT_SYSROOT" "build/aarch64/tests/$program" --gtest_brief=1; done

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
foreign=$PWD/build/aarch64/bin/spansort
cd "$work"

# both <file> <argument...>: has both commands write the file, and compares.
both() {
  local file=$1
  shift
  "$native" "$@" -o "native-$file" 2>/dev/null
  qemu-aarch64-static -L "$SPANSORT_SYSROOT" "$foreign" "$@" -o "foreign-$file" 2>/dev/null
  cmp "native-$file" "foreign-$file"
  num_files=$((num_files + 1))
}

num_files=0
for type in u8 i16 f16 bf16 u32 f32 u64 f64; do
  both keys.npy gen 200000 --type "$type" --distribution normal --seed 5
  both sorted.npy sort native-keys.npy
  both descending.npy sort native-keys.npy -r
  both ranks.npy sort native-keys.npy --devices host:3 --algorithm rmg
  both order.npy argsort native-keys.npy
done
both records.dat gen 20000 --records
both records_sorted.dat sort native-records.dat --record 100 --key 0:10
both large.bin gen 20000000 --type u32 --distribution uniform
both large_sorted.bin sort native-large.bin --type u32 -S 64M
echo "aarch64: $num_files files, the same bytes as on $(uname -m)"
