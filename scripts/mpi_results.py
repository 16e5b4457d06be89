# SPDX-License-Identifier: Apache-2.0
"""Reads the JSON of ./dev bench mpi, one file a machine, for the scripts bench_mpi_* and cluster_model.py."""
import json
import pathlib
import sys

RMG, LSD, SAMPLE = "distributed_rmg", "distributed_lsd", "distributed_sample_sort"
SHORT = {RMG: "rmg", LSD: "lsd r = 16", SAMPLE: "sample sort"}
# What the paper's figures tell apart; a driver's own names are on the right.
GROUPS = {"local": ("histogram", "partition", "local sort", "merge", "reverse", "copy in", "copy out"),
          "index": ("index", "sample"),
          "exchange": ("exchange",)}


class Results:
    """The verified cases of one file."""

    def __init__(self, path):
        self.path = path
        document = json.loads(pathlib.Path(path).read_text())
        self.meta = document["meta"]
        self.cases = document["cases"]
        if self.meta.get("benchmark") != "mpi":
            sys.exit(f"{path}: not a result of ./dev bench mpi")
        seen = set()
        for case in self.cases:
            what = (case["suite"], case["num_ranks"], case["distribution"], case["num_pairs"])
            if what in seen:
                sys.exit(f"{path}: {what} is there twice")
            seen.add(what)
            for result in case["results"]:
                check(path, what, result)

    def suite(self, name, distribution=None):
        return [case for case in self.cases
                if case["suite"] == name and distribution in (None, case["distribution"])]

    def load_averages(self):
        return [case[key] for case in self.cases for key in ("load_average_before", "load_average_after")]


def check(path, what, result):
    if not result["verified"]:
        sys.exit(f"{path}: {what} {name_of(result)}: the result was wrong")
    runs = sorted(result["runs_ms"])
    if not runs or runs[0] <= 0 or result["median_ms"] != runs[len(runs) // 2] or result["fastest_ms"] != runs[0]:
        sys.exit(f"{path}: {what} {name_of(result)}: median_ms or fastest_ms is not that of runs_ms")
    if "phases_of_fastest_run" in result and not result["phases_of_fastest_run"]:
        sys.exit(f"{path}: {what} {name_of(result)}: no phases")
    if "sent_bytes_per_pair" in result and result["sent_bytes_per_pair"] + 1e-9 < result["floor_bytes_per_pair"]:
        sys.exit(f"{path}: {what} {name_of(result)}: fewer bytes sent than had to move")


def name_of(result):
    return result["algorithm"] + (f" r = {result['radix_bits']}" if result["radix_bits"] else "")


def result_of(case, algorithm, radix_bits=None):
    fitting = (r for r in case["results"] if r["algorithm"] == algorithm and radix_bits in (None, r["radix_bits"]))
    return next(fitting, None)


def algorithms_of(cases):
    """Those of the three that take part in every case: earlier files know no sample sort."""
    return [algorithm for algorithm in SHORT if all(result_of(case, algorithm) for case in cases)]


def split_time(result):
    """{group: ms} of the fastest run, the mean over the node ranks; "other" is what no phase claims."""
    known = {name for names in GROUPS.values() for name in names}
    for phase in result["phases_of_fastest_run"]:
        if phase["name"] not in known:
            sys.exit(f"unknown phase '{phase['name']}': say in mpi_results.py what it counts as")
    parts = {group: sum(phase["mean_busy_ms"] for phase in result["phases_of_fastest_run"] if phase["name"] in names)
             for group, names in GROUPS.items()}
    parts["other"] = max(0.0, result["fastest_ms"] - sum(parts.values()))
    return parts


def count_text(count):
    return f"2^{count.bit_length() - 1}" if count & (count - 1) == 0 else str(count)
