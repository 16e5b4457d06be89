#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The demonstration behind `./dev demo`: real data of this machine (size and time of every file under /usr), then
# generated keys through the multi-device pipeline on four host devices. Everything is checked, by spansort and by
# NumPy. usage: demo.sh SPANSORT_COMMAND; SPANSORT_DEMO_KEYS and SPANSORT_DEMO_ROOT make it smaller; pictures stay in
# the folder SPANSORT_DEMO_PICTURES where that is set.
set -euo pipefail

spansort=$(realpath "${1:?usage: demo.sh SPANSORT_COMMAND}")
scripts=$(dirname "$(realpath "${BASH_SOURCE[0]}")")
num_keys=${SPANSORT_DEMO_KEYS:-67108864}
root=${SPANSORT_DEMO_ROOT:-/usr}
pictures=${SPANSORT_DEMO_PICTURES:+$(realpath --canonicalize-missing "$SPANSORT_DEMO_PICTURES")}

# NumPy is installed for the system's Python, which another one may hide.
for python in python3 /usr/bin/python3; do "$python" -c 'import numpy' 2>/dev/null && break; done

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"

title() { printf '\n== %s\n' "$*"; }
spansort() {
  printf '+ spansort'
  printf ' %q' "$@"
  printf '\n'
  "$spansort" "$@"
}

title "every file under $root: sort the sizes, order by modification time"
"$python" "$scripts/collect_files.py" "$root" .
spansort sort sizes.npy -o sizes_sorted.npy
spansort check sizes_sorted.npy
spansort argsort mtimes.npy -o by_time.npy
spansort argsort sizes.npy -r -o largest_first.npy
"$python" -c 'import numpy as np; np.save("times_sorted.npy", np.load("mtimes.npy")[np.load("by_time.npy")])'
spansort check times_sorted.npy
"$python" "$scripts/demo_results.py" files .

title "which sizes are usual, which stand out: order statistics, without sorting"
spansort summary sizes.npy --json summary.json --outliers outliers.npy --caption 'file size in bytes'
"$python" "$scripts/demo_results.py" summary .
# A build without cairo cannot draw PNG, and says so.
for picture in sizes.svg sizes.png; do
  if ! spansort summary sizes.npy --plot "$picture" --caption 'file size in bytes' >plot.log 2>&1; then
    cat plot.log
    [[ $picture == *.png ]] && break
    exit 1
  fi
  if [[ -n $pictures ]]; then install -D -m 644 -t "$pictures" "$picture" && echo "drawn: $pictures/$picture"; fi
done

title "$num_keys generated keys through the multi-device pipeline"
spansort gen "$num_keys" --type f32 --distribution normal --seed 7 -o keys.npy
spansort sort keys.npy -o keys_sorted.npy --devices host:4 --algorithm rmg --report report.json --verify
spansort check keys_sorted.npy
"$python" "$scripts/demo_results.py" sort .

title "the same in a quarter of the memory that it takes: sorted runs in temporary files, and records of 100 bytes"
ceiling=$((num_keys * 2 > 48 << 20 ? num_keys * 2 : 48 << 20))
spansort sort keys.npy -o parts_sorted.npy -S "$ceiling" --dry-run
spansort sort keys.npy -o parts_sorted.npy -S "$ceiling" -T .
cmp keys_sorted.npy parts_sorted.npy && echo "the same bytes"
spansort gen $((num_keys / 100)) --records -o records.dat
spansort sort records.dat --record 100 --key 0:10 -o records_sorted.dat
spansort check records_sorted.dat --record 100 --key 0:10

title "its plan: who owns which bucket, who sends what to whom"
spansort plan keys.npy --devices host:4 >plan.txt
head -n 40 plan.txt
num_lines=$(wc -l <plan.txt)
if ((num_lines > 40)); then echo "... ($num_lines lines; spansort plan shows them all)"; fi

title "the demonstration is done: every result was right"
