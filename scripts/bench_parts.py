#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Measures a sort in parts over MPI beside its floor, in turn: bare reads, writes and messages, then the sort.

usage: scripts/bench_parts.py PROGRAM TRANSFERS INPUT --output OUT [--size 125M] [--ranks 4] [--repeats 3] ...
PROGRAM and TRANSFERS are spansort and spansort_bench_transfers; INPUT is of raw u64 keys. The floor is two reads and
two writes, past the page cache, and the exchange. What follows -- goes to the sort.
"""
import argparse
import json
import os
import subprocess
import sys
import tempfile
import time

from bench_mpi import ENVIRONMENT, split_arguments


def measured(command):
    """Returns what the command printed, and its seconds: in all, and of processors for the user and the system."""
    begin = time.monotonic()
    process = subprocess.Popen(command, stdout=subprocess.PIPE, env={**ENVIRONMENT, **os.environ}, text=True)
    text = process.stdout.read()
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode != 0:
        sys.exit(f"bench_parts.py: status {process.returncode}: {' '.join(command)}")
    return text, {"s": time.monotonic() - begin, "user": usage.ru_utime, "system": usage.ru_stime}


def drop_from_page_cache(path):
    with open(path, "rb") as file:
        os.fsync(file.fileno())
        os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)


def parse():
    ours, theirs = split_arguments()
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program")
    parser.add_argument("transfers")
    parser.add_argument("input")
    parser.add_argument("--output", required=True)
    parser.add_argument("--folder", default=tempfile.gettempdir(), help="for temporary files")
    parser.add_argument("--size", default="125M", help="-S of each node rank")
    parser.add_argument("--ranks", type=int, default=4)
    parser.add_argument("--repeats", type=int, default=3)
    return parser.parse_args(ours), theirs


def main():
    arguments, theirs = parse()
    launch = [os.environ.get("MPIEXEC", "mpirun"), "--bind-to", "none", "-n", str(arguments.ranks)]
    with tempfile.TemporaryDirectory() as scratch:
        report_path = os.path.join(scratch, "report.json")
        for _ in range(arguments.repeats):
            text, spent = measured(launch + [arguments.transfers, "--input", arguments.input, "--output",
                                             arguments.output, "--folder", arguments.folder])
            os.remove(arguments.output)
            steps = json.loads(text)
            floor = sum(steps.values())
            print(f"floor {floor:6.2f} s {steps}, processors {spent['user']:.2f} + {spent['system']:.2f} s", flush=True)
            drop_from_page_cache(arguments.input)
            _, spent = measured(launch + [arguments.program, "sort", "--mpi", arguments.input, "--type", "u64", "-o",
                                          arguments.output, "-S", arguments.size, "-T", arguments.folder,
                                          "--report", report_path, *theirs])
            os.remove(arguments.output)
            with open(report_path, encoding="utf-8") as file:
                phases = {phase["name"]: round(phase["elapsed_ms"]) for phase in json.load(file)["phases"]}
            print(f"sort  {spent['s']:6.2f} s, {spent['s'] / floor:.2f} x the floor, processors {spent['user']:.2f} + "
                  f"{spent['system']:.2f} s, phases in ms {phases}", flush=True)


if __name__ == "__main__":
    main()
