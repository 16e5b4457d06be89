#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Installs the packages of a folder on this machine as a user would, uses them, and purges them: the command on a file,
# a C++ program by pkg-config and by CMake, the sort over MPI. Changes the system: it is for a bare root, where
# scripts/fresh_roots.sh --packages runs it. usage: try_packages.sh FOLDER
set -euo pipefail

folder=$(realpath "${1:?usage: try_packages.sh FOLDER}")
sources=$(dirname "$(dirname "$(realpath "${BASH_SOURCE[0]}")")")
export DEBIAN_FRONTEND=noninteractive
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"

say() { printf '== %s\n' "$*"; }
took() { say "$1: $((SECONDS - begin)) s"; begin=$SECONDS; }
install() { apt-get install -y --no-install-recommends "$@" >"$work/apt.log" 2>&1 || { cat "$work/apt.log"; return 1; }; }
deb() { ls "$folder/$1"_*.deb; }
library=$(cd "$folder" && printf '%s\n' libspansort[0-9]*.deb | cut -d_ -f1)
names=(spansort spansort-mpi libspansort-dev "$library")

begin=$SECONDS
apt-get update >/dev/null
install "$(deb spansort)" "$(deb "$library")"
say "installed: $(du -ch "$(deb spansort)" "$(deb "$library")" | tail -n 1 | cut -f1) of packages, with what they need:"
grep -E 'newly installed|to get|disk space|Need to get' "$work/apt.log" || true
spansort gen 10000000 --type f64 --distribution normal -o own.npy
spansort sort own.npy -o sorted.npy --verify
spansort check sorted.npy
took 'from nothing to a sorted .npy by the package'
spansort summary own.npy --plot own.svg >summary.txt
spansort summary own.npy --plot own.png >/dev/null 2>plot.log || grep -q libcairo2 plot.log
install libcairo2
spansort summary own.npy --plot own.png >/dev/null
[[ -s own.svg && -s own.png ]]
spansort sort --mpi --help >mpi.log 2>&1 || grep -q spansort-mpi mpi.log

install "$(deb libspansort-dev)" g++ pkg-config cmake make
took 'packages to compile with'
cp -r "$sources/tests/package/consumer" .
g++ -std=c++20 consumer/main.cpp -o by_pkg_config $(pkg-config --cflags --libs spansort)
./by_pkg_config
cmake -S consumer -B build -DEXPECTED_VERSION="$(pkg-config --modversion spansort)" -DEXPECTS_MPI=OFF >cmake.log || { cat cmake.log; exit 1; }
cmake --build build >build.log 2>&1 || { cat build.log; exit 1; }
build/bin/consumer
took 'C++ programs by pkg-config and by find_package'

if install "$(deb spansort-mpi)" openmpi-bin libopenmpi-dev; then
  mpirun --allow-run-as-root --oversubscribe -n 2 spansort sort --mpi own.npy -o mpi_sorted.npy
  cmp sorted.npy mpi_sorted.npy
  rm -r build
  cmake -S consumer -B build -DEXPECTED_VERSION="$(pkg-config --modversion spansort)" -DEXPECTS_MPI=ON >cmake.log || { cat cmake.log; exit 1; }
  cmake --build build >build.log 2>&1 || { cat build.log; exit 1; }
  mpirun --allow-run-as-root --oversubscribe -n 2 build/bin/cluster
  took 'sorted over MPI, by the command and by a program'
else
  say 'left out: spansort-mpi, which needs the MPI of the system where it was built'
fi

mapfile -t present < <(dpkg-query --show --showformat='${db:Status-Abbrev} ${Package}\n' "${names[@]}" 2>/dev/null | awk '$1 == "ii" {print $2}')
dpkg --listfiles "${present[@]}" | sort -u >files.txt
apt-get purge -y "${present[@]}" >purge.log
while read -r file; do
  if [[ -e $file && ! -d $file ]] || [[ $file == *spansort* && -e $file ]]; then echo "left after the purge: $file" >>left.txt; fi
done <files.txt
if [[ -s left.txt ]]; then cat left.txt; exit 1; fi
if dpkg-query --show "${names[@]}" 2>/dev/null | grep -q .; then
  dpkg-query --show --showformat='${db:Status-Abbrev} ${Package}\n' "${names[@]}" 2>/dev/null | grep -v '^un' && exit 1
fi
say "purged: nothing of $(wc -l <files.txt) files and folders is left"
