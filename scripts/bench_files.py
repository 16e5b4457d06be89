#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Measures sorts of files of 64-bit keys, and writes one JSON file. The files lie in DIR, on the disk to be measured.

usage: scripts/bench_files.py --program spansort --std-sort spansort_bench_std_sort --folder DIR --json FILE [...]
  larger  a file larger than the memory allowed, next to two reads and two writes of the disk
  fits    a file that fits in memory, next to reading, sorting and writing it, std::sort and numpy.sort
  peers   a file larger than the memory allowed, next to GNU sort and DuckDB
All contenders of a suite take turns. Inputs are dropped from the page cache before each run, and a run ends when
its output is on the disk. Every result of the first turn is checked after its run: order, and the checksum of all keys.
NumPy and DuckDB are left out where --python cannot import them. Everything written into DIR is removed.
"""
import argparse
import datetime
import json
import os
import pathlib
import resource
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile

import files_contenders as contenders
from files_disk import describe_disk
from files_process import RunFailed, can_import, checksum_of, forget_pages, measure, version_of

SUITES = ("larger", "fits", "peers")
# Free space that a suite needs, in sizes of its keys: input, temporary files, output. Text is 2.5 times as large.
SPACE_OF_SUITE = {"larger": 3, "fits": 3, "peers": 12}


def parse():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", required=True, help="the command spansort")
    parser.add_argument("--std-sort", required=True, help="the program spansort_bench_std_sort")
    parser.add_argument("--folder", required=True, help="on the disk to be measured")
    parser.add_argument("--json", required=True)
    parser.add_argument("--commit", default="unknown")
    parser.add_argument("--suites", type=lambda text: text.split(","), default=list(SUITES))
    parser.add_argument("--log2-size", type=int, default=31, help="keys of `larger` (default 31: 16 GiB)")
    parser.add_argument("--log2-small", type=int, default=26, help="keys of `fits` and `peers` (default 26)")
    parser.add_argument("--memory", default="2G", help="-S of `larger`")
    parser.add_argument("--peer-memory", default="256M", help="-S of `peers`, for GNU sort, too")
    parser.add_argument("--duckdb-memory", default="512MB", help="DuckDB's memory_limit")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--slow-s", type=float, default=300, help="others than spansort that take longer run once")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--python", default=sys.executable, help="interpreter with NumPy and DuckDB")
    arguments = parser.parse_args()
    unknown = set(arguments.suites) - set(SUITES)
    if unknown:
        parser.error(f"unknown suites: {', '.join(sorted(unknown))}; known: {', '.join(SUITES)}")
    for program in (arguments.program, arguments.std_sort, arguments.python):
        if shutil.which(program) is None:
            parser.error(f"no such program: {program}")
    if arguments.repeats < 1 or min(arguments.log2_size, arguments.log2_small) < 9:
        parser.error("at least one repeat and 2^9 keys, which are a whole block of the disk, are needed")
    return arguments


def log2_of(suite, arguments):
    return arguments.log2_size if suite == "larger" else arguments.log2_small


def require_space(arguments):
    for suite in arguments.suites:
        needed = SPACE_OF_SUITE[suite] * (8 << log2_of(suite, arguments))
        free = shutil.disk_usage(arguments.folder).free
        if free < needed:
            sys.exit(f"bench_files.py: suite {suite} needs {needed} bytes in {arguments.folder}, {free} are free; "
                     "name another --folder or fewer keys (--log2-size, --log2-small)")


def first_of(path, name, default="unknown"):
    for line in pathlib.Path(path).read_text().splitlines():
        if line.startswith(name):
            return line.split(":", 1)[1].strip()
    return default


def metadata(arguments):
    return {
        "benchmark": "files", "version": version_of([arguments.program, "--version"]).split()[-1],
        "commit": arguments.commit, "command": " ".join(["scripts/bench_files.py", *shown_arguments()]),
        "date": datetime.date.today().isoformat(), "device": first_of("/proc/cpuinfo", "model name"),
        "num_threads": len(os.sched_getaffinity(0)),
        "memory_bytes": int(first_of("/proc/meminfo", "MemTotal").split()[0]) * 1024,
        "disk": describe_disk(arguments.folder), "kernel": os.uname().release, "seed": arguments.seed,
        "repeats": arguments.repeats, "key_type": "u64", "distribution": "uniform",
        "statistic": "median of runs; a run ends when its output is on the disk; inputs are not in the page cache",
        "io": "disk_*_bytes: moved by the kernel for the process; asked_*_bytes: its calls, page cache included",
    }


def shown_arguments():
    """As typed, but for where files lie on this machine."""
    return [pathlib.Path(text).name if os.sep in text else text for text in sys.argv[1:]]


class Case:
    """One input, its contenders, and what they did. Files lie in a folder of their own."""

    def __init__(self, suite, folder, arguments):
        self.suite, self.arguments, self.folder = suite, arguments, pathlib.Path(folder)
        self.num_keys = 1 << log2_of(suite, arguments)
        self.keys, self.temporary = self.folder / "keys.bin", self.folder / "temporary"
        self.temporary.mkdir()
        measure([arguments.program, "gen", str(self.num_keys), "--type", "u64", "--distribution", "uniform", "--seed",
                 str(arguments.seed), "-o", str(self.keys)], self.folder / "log")
        self.checksum = checksum_of(arguments.program, self.keys, must_be_sorted=False)
        self.results = {}

    def wants_another_run(self, contender):
        result = self.results.get(contender.name)
        if result is None or contender.is_ours:
            return True
        return "failed" not in result and result["runs"][0]["elapsed_ms"] <= self.arguments.slow_s * 1e3

    def run(self, contender, is_first):
        """A contender that fails is left out from then on, with its message; our own failure ends the benchmark."""
        try:
            self.run_once(contender, is_first)
        except RunFailed as failure:
            if contender.is_ours:
                sys.exit(f"bench_files.py: {failure}")
            message = str(failure).replace(str(self.folder), "DIR")
            print(f"{self.suite}: {contender.name}: {message}", file=sys.stderr)
            self.results[contender.name] = {"name": contender.name, **contender.facts, "failed": message[:1000]}

    def run_once(self, contender, is_first):
        forget_pages(contender.input)
        print(f"{self.suite}: {contender.name}", flush=True)
        log = self.folder / "log"
        if contender.output:
            contender.output.unlink(missing_ok=True)
        run = measure(contender.command, log, contender.output, contender.environment)
        run |= contender.details(log)
        is_sort = contender.output and not contender.facts.get("is_copy")
        if is_first and is_sort:
            self.verify(contender)
        result = self.results.setdefault(contender.name, {"name": contender.name, **contender.facts, "runs": []})
        result["runs"].append(run)
        if is_sort:
            result["verified"] = True  # or the benchmark would have ended
        if contender.output:
            contender.output.unlink()

    def verify(self, contender):
        text = contender.text_of_output(self.folder)
        found = checksum_of(self.arguments.program, text or contender.output, must_be_sorted=True, text=bool(text))
        if found != self.checksum:
            sys.exit(f"bench_files.py: {contender.name}: the output has other keys than the input")
        if text and text != contender.output:
            text.unlink()

    def floor(self):
        # A process of its own: a sort's peak memory would begin with that of its buffers.
        program = pathlib.Path(__file__).resolve().parent / "files_disk.py"
        for name, way in (("disk, reading beside writing", "overlapped"), ("disk, one after the other", "in-turn")):
            forget_pages(self.keys)
            print(f"{self.suite}: {name}", flush=True)
            result = self.results.setdefault(name, {"name": name, "is_floor": True, "runs": []})
            printed = subprocess.run([sys.executable, str(program), str(self.keys), str(self.folder), way],
                                     stdout=subprocess.PIPE, check=True).stdout
            result["runs"].append(json.loads(printed))

    def document(self, load_before):
        for result in (result for result in self.results.values() if "failed" not in result):
            times = [run["elapsed_ms"] for run in result["runs"]]
            peaks = [run["peak_bytes"] for run in result["runs"] if "peak_bytes" in run]
            result |= {"median_ms": statistics.median(times), "fastest_ms": min(times)}
            if peaks:
                result["peak_bytes"] = max(peaks)
        floors = [result["median_ms"] for result in self.results.values() if result.get("is_floor")]
        return {"suite": self.suite, "num_keys": self.num_keys, "size_bytes": 8 * self.num_keys,
                "load_average_before": load_before, "load_average_after": os.getloadavg()[0],
                **({"floor_ms": min(floors)} if floors else {}), "results": list(self.results.values())}


def run_suite(suite, arguments, skipped):
    load_before = os.getloadavg()[0]
    with tempfile.TemporaryDirectory(dir=arguments.folder, prefix="spansort-bench-") as folder:
        case = Case(suite, folder, arguments)
        field = contenders.of_suite(suite, case, arguments, skipped)
        for repeat in range(arguments.repeats):
            if suite == "larger":
                case.floor()
            for contender in filter(case.wants_another_run, field):
                case.run(contender, repeat == 0)
        return case.document(load_before)


def missing_modules(python):
    return {module for module in ("numpy", "duckdb") if not can_import(python, module)}


def main():
    # Folders are removed on the way out, also after kill.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("bench_files.py: terminated"))
    arguments = parse()
    require_space(arguments)
    missing = missing_modules(arguments.python)
    document = {"meta": {**metadata(arguments), "not_measured": sorted(missing)}, "cases": []}
    for suite in arguments.suites:
        document["cases"].append(run_suite(suite, arguments, missing))
        # A child's peak begins with its parent's: below this, a peak says nothing.
        document["meta"]["least_peak_bytes"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
        # After every suite: what has been measured must not be lost with the last one.
        pathlib.Path(arguments.json).parent.mkdir(parents=True, exist_ok=True)
        pathlib.Path(arguments.json).write_text(json.dumps(document, indent=1) + "\n")


if __name__ == "__main__":
    main()
