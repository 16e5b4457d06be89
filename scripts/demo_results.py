#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks the demo's results against NumPy and prints them for people. Exit status 1 when anything is wrong.

usage: demo_results.py files FOLDER    sizes and times of the collected files, the ten largest files
       demo_results.py summary FOLDER  the order statistics of the sizes, the files that stand out
       demo_results.py sort FOLDER     the sort of generated keys, its phases
"""
import json
import os
import sys

import numpy as np


def load(folder, name):
    return np.load(os.path.join(folder, name), mmap_mode="r")


def require_equal(found, expected, what):
    """Same bits everywhere: -0.0 is not +0.0 here."""
    if found.shape != expected.shape or not np.array_equal(found.view(f"u{found.itemsize}"),
                                                           expected.view(f"u{expected.itemsize}")):
        sys.exit(f"demo: WRONG: {what} differs from NumPy's result")
    print(f"right: {what} equals NumPy's result ({len(found)} elements)")


def show_files(folder):
    sizes, mtimes = load(folder, "sizes.npy"), load(folder, "mtimes.npy")
    by_size, by_time = load(folder, "largest_first.npy"), load(folder, "by_time.npy")
    require_equal(load(folder, "sizes_sorted.npy"), np.sort(sizes), "sort of sizes")
    require_equal(by_time, np.argsort(mtimes, kind="stable"), "argsort of times")
    # Largest first, files of one size in the order they were met: a stable sort of what is missing to the largest.
    require_equal(by_size, np.argsort(sizes.max() - sizes, kind="stable"), "argsort of sizes, largest first")
    with open(os.path.join(folder, "paths.txt"), "rb") as file:
        paths = file.read().split(b"\0")
    print("\nthe ten largest files:")
    for index in by_size[:10]:
        print(f"{int(sizes[index]):>15,} bytes  {paths[index].decode(errors='backslashreplace')}")


def show_summary(folder):
    sizes, outliers = load(folder, "sizes.npy"), load(folder, "outliers.npy")
    with open(os.path.join(folder, "summary.json"), encoding="utf-8") as file:
        found = json.load(file)
    for name in ("deciles", "bowley_seven", "normal_seven"):
        table = found[name]
        require_equal(np.array(table["values"]), np.quantile(sizes, table["q"]), name)
    # The whiskers of matplotlib's cbook.boxplot_stats: the last keys within 1.5 interquartile ranges of the box.
    q1, median, q3 = np.quantile(sizes, [0.25, 0.5, 0.75])
    reach = 1.5 * (q3 - q1)
    whislo = min(sizes[sizes >= q1 - reach].min(), q1)
    whishi = max(sizes[sizes <= q3 + reach].max(), q3)
    keys = ("q1", "med", "q3", "whislo", "whishi")
    expected = np.array([q1, median, q3, whislo, whishi], "f8")
    require_equal(np.array([found[k] for k in keys], "f8"), expected, "box plot")
    require_equal(outliers, sizes[(sizes < whislo) | (sizes > whishi)], "outliers, in input order")
    histogram = found["histogram"]
    require_equal(np.array(histogram["counts"]), np.histogram(sizes, histogram["edges"])[0], "histogram")
    share = outliers.sum() / max(sizes.sum(), 1)
    print(f"\n{len(outliers)} of {len(sizes)} files are outliers; they hold {share:.0%} of all bytes")


def show_sort(folder):
    keys, result = load(folder, "keys.npy"), load(folder, "keys_sorted.npy")
    require_equal(result, np.sort(keys), "sort of generated keys")
    with open(os.path.join(folder, "report.json"), encoding="utf-8") as file:
        report = json.load(file)
    ranks = len(report["ranks"])
    if report["algorithm"] != "rmg" or ranks != 4 or report["num_keys"] != len(keys):
        sys.exit(f"demo: WRONG: asked for rmg on 4 devices, the report says {report['algorithm']} on {ranks}")
    transfers = sum(phase["elapsed_ms"] for phase in report["phases"] if phase["name"] in ("read", "write"))
    sort_ms = report["elapsed_ms"] - transfers  # without reading and writing the file
    rate = len(keys) / sort_ms / 1e3
    print(f"\n{len(keys)} {report['key_type']} keys on {ranks} devices: {sort_ms:.0f} ms, "
          f"{rate:.0f} million keys a second, imbalance {report['imbalance']:.3f}")
    print(f"{'phase':<16} {'elapsed ms':>11} {'busy ms':>9} {'MB moved':>10}")
    for phase in report["phases"]:
        print(f"{phase['name']:<16} {phase['elapsed_ms']:>11.1f} {phase['busy_ms']:>9.1f} "
              f"{phase['bytes_moved'] / 1e6:>10.1f}")


if __name__ == "__main__":
    show = {"files": show_files, "summary": show_summary, "sort": show_sort}
    if len(sys.argv) != 3 or sys.argv[1] not in show:
        sys.exit("usage: demo_results.py files|summary|sort FOLDER")
    show[sys.argv[1]](sys.argv[2])
