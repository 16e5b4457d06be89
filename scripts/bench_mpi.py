#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs spansort_bench_mpi under mpirun with several numbers of node ranks, and merges what they say into one JSON file.

usage: scripts/bench_mpi.py PROGRAM --json bench/results/<machine>/mpi.json [--commit C] [--ranks 1,2,3,4,6,8] ...
Figures 4 and 5 and the quartiles are measured with --figure-ranks node ranks, figures 6 and 7 with each of --ranks.
Arguments after -- go to the program (--help lists them), as in: ... -- --log2-size 20 --repeats 2
"""
import argparse
import json
import os
import pathlib
import shlex
import subprocess
import sys
import tempfile

SCALING = ("figure6", "figure7")
FIXED = ("figure4", "figure5", "quartiles")
# Root is refused without the first two. More node ranks than cores must yield while they wait.
ENVIRONMENT = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
               "OMPI_MCA_rmaps_base_oversubscribe": "1", "OMPI_MCA_mpi_yield_when_idle": "1",
               "PRTE_MCA_rmaps_default_mapping_policy": ":oversubscribe"}  # of Open MPI 5's launcher


def numbers(text):
    return [int(part) for part in text.split(",")]


def split_arguments():
    """Returns the arguments of this script, and those behind --, which go to the program that it measures."""
    ours, theirs = sys.argv[1:], []
    if "--" in ours:
        theirs = ours[ours.index("--") + 1:]
        ours = ours[:ours.index("--")]
    return ours, theirs


def parse():
    ours, theirs = split_arguments()
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program")
    parser.add_argument("--json", required=True)
    parser.add_argument("--commit", default="unknown")
    parser.add_argument("--ranks", type=numbers, default=[1, 2, 3, 4, 6, 8])
    parser.add_argument("--figure-ranks", type=int, default=4)
    parser.add_argument("--suites", type=lambda text: text.split(","), default=list(FIXED + SCALING))
    arguments = parser.parse_args(ours)
    unknown = set(arguments.suites) - set(FIXED + SCALING)
    if unknown:
        parser.error(f"unknown suites: {', '.join(sorted(unknown))}; known: {', '.join(FIXED + SCALING)}")
    return arguments, theirs


def suites_of(num_ranks, arguments):
    names = [name for name in arguments.suites if name in FIXED and num_ranks == arguments.figure_ranks]
    return names + [name for name in arguments.suites if name in SCALING and num_ranks in arguments.ranks]


def run(num_ranks, suites, arguments, theirs, path):
    command = [os.environ.get("MPIEXEC", "mpirun"), "--bind-to", "none", "-n", str(num_ranks), arguments.program,
               "--suites", ",".join(suites), "--commit", arguments.commit, *theirs, "--json", str(path)]
    print("+ " + shlex.join(command), flush=True)
    status = subprocess.run(command, env={**ENVIRONMENT, **os.environ}).returncode
    if status != 0:
        sys.exit(f"bench_mpi.py: the run with {num_ranks} node ranks ended with status {status}")
    return json.loads(path.read_text())


def main():
    arguments, theirs = parse()
    merged = {"meta": None, "cases": []}
    with tempfile.TemporaryDirectory() as folder:
        for num_ranks in sorted({*arguments.ranks, arguments.figure_ranks}):
            suites = suites_of(num_ranks, arguments)
            if not suites:
                continue
            part = run(num_ranks, suites, arguments, theirs, pathlib.Path(folder) / f"{num_ranks}.json")
            if merged["meta"] is None:
                merged["meta"] = {**part["meta"], "command": " ".join(["scripts/bench_mpi.py", *shown_arguments()]),
                                  "mpirun": "--bind-to none, all node ranks on one machine, which share its processors"}
            merged["cases"] += part["cases"]
            # After every number of node ranks: what has been measured must not be lost with the last one.
            pathlib.Path(arguments.json).parent.mkdir(parents=True, exist_ok=True)
            pathlib.Path(arguments.json).write_text(json.dumps(merged, indent=1) + "\n")


def shown_arguments():
    """As typed, but for where files lie on this machine."""
    return [pathlib.Path(text).name if os.sep in text else text for text in sys.argv[1:]]


if __name__ == "__main__":
    main()
