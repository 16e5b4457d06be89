#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Measures the sort of a Ray dataset next to Ray's own, on this machine, and writes one JSON file.

usage: scripts/bench_ray.py --json FILE [--log2-rows 25] [--blocks 8] [--repetitions 3] [--cpus N]
Every contender sorts the same materialized dataset, in turns. A result is checked outside the time: order, count, sum.
The case with a killed worker kills the first one that merges; Ray runs its task again.
"""
import argparse
import contextlib
import datetime
import glob
import json
import os
import pathlib
import signal
import statistics
import threading
import time

import numpy as np
import pyarrow
import ray
import spansort
import spansort.ray

POLARS_FLAG = f"/tmp/spansort-bench-ray-{os.getpid()}-{os.getppid()}"


def parse():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", required=True)
    parser.add_argument("--log2-rows", type=int, default=25)
    parser.add_argument("--blocks", type=int, default=8)
    parser.add_argument("--repetitions", type=int, default=3)
    parser.add_argument("--cpus", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--seed", type=int, default=1)
    return parser.parse_args()


def choose_sort_by_flag(flag):
    """Runs in each worker: which of Ray's two sorts a block gets, as the option use_polars_sort says. Ray 2.60 does not hand
    that option to the tasks of a sort, so a file says it here."""
    from ray.data._internal import arrow_block
    from ray.data._internal.arrow_ops import transform_polars, transform_pyarrow

    def chosen(name):
        return lambda context: getattr(transform_polars if os.path.exists(flag) else transform_pyarrow, name)

    arrow_block.get_sort_transform = chosen("sort")
    arrow_block.get_concat_and_sort_transform = chosen("concat_and_sort")


def ray_sort(dataset, use_polars):
    pathlib.Path(POLARS_FLAG).unlink(missing_ok=True)
    if use_polars:
        pathlib.Path(POLARS_FLAG).touch()
    try:
        return dataset.sort("key").materialize()
    finally:
        pathlib.Path(POLARS_FLAG).unlink(missing_ok=True)


@contextlib.contextmanager
def killed_worker(title):
    is_over, killed = threading.Event(), []

    def look():
        while not is_over.is_set() and not killed:
            for path in glob.glob("/proc/[0-9]*/cmdline"):
                with contextlib.suppress(OSError):
                    if pathlib.Path(path).read_bytes().startswith(b"ray::" + title.encode()):
                        os.kill(int(path.split("/")[2]), signal.SIGKILL)
                        killed.append(path)
                        return
            time.sleep(0.001)

    thread = threading.Thread(target=look)
    thread.start()
    try:
        yield
    finally:
        is_over.set()
        thread.join()
    if not killed:
        raise SystemExit(f"no worker was seen with {title}")


def with_killed_worker(dataset):
    with killed_worker("spansort.merge"):
        return spansort.ray.sort(dataset, "key")


def check(name, done, count, total):
    last, seen, found = None, 0, 0
    for table in ray.get(done.to_arrow_refs()):
        keys = table["key"].to_numpy()
        if len(keys) == 0:
            continue
        if not spansort.is_sorted(keys) or (last is not None and keys[0] < last):
            raise SystemExit(f"{name}: the result is out of order")
        last, seen, found = keys[-1], seen + len(keys), found + int(keys.view("uint64").sum(dtype="uint64"))
    if (seen, found % 2**64) != (count, total):
        raise SystemExit(f"{name}: the result has other keys")


def main():
    arguments = parse()
    count = 1 << arguments.log2_rows
    rng = np.random.default_rng(arguments.seed)
    keys = rng.integers(np.iinfo("int64").min, np.iinfo("int64").max, count)
    total = int(keys.view("uint64").sum(dtype="uint64"))
    load_at_start = os.getloadavg()[0]
    flag = POLARS_FLAG
    ray.init(runtime_env={"worker_process_setup_hook": lambda: choose_sort_by_flag(flag)}, num_cpus=arguments.cpus, object_store_memory=8 * keys.nbytes + (1 << 29), include_dashboard=False,
             log_to_driver=False)
    ray.data.DataContext.get_current().enable_progress_bars = False
    table = pyarrow.table({"key": keys})
    step = -(-count // arguments.blocks)
    dataset = ray.data.from_arrow([table.slice(i, step) for i in range(0, count, step)]).materialize()
    contenders = {
        "spansort": lambda: spansort.ray.sort(dataset, "key"),
        "ray.data": lambda: ray_sort(dataset, False),
        "ray.data, polars": lambda: ray_sort(dataset, True),
        "spansort, a worker killed": lambda: with_killed_worker(dataset),
    }
    runs = {name: [] for name in contenders}
    for repetition in range(arguments.repetitions + 1):
        for name, call in contenders.items():
            begin = time.perf_counter()
            done = call()
            took_s = time.perf_counter() - begin
            check(name, done, count, total)
            del done
            if repetition > 0:  # the first turn starts the workers
                runs[name].append(took_s)
                print(f"{name}: {took_s:.2f} s", flush=True)
    best = {name: min(times) for name, times in runs.items()}
    document = {
        "format": 1,
        "date": datetime.date.today().isoformat(),
        "command": f"scripts/bench_ray.py --log2-rows {arguments.log2_rows} --blocks {arguments.blocks} "
                   f"--repetitions {arguments.repetitions} --cpus {arguments.cpus} --seed {arguments.seed}",
        "versions": {"spansort": spansort.__version__, "ray": ray.__version__, "pyarrow": pyarrow.__version__},
        "processor": next((line.split(":")[1].strip() for line in open("/proc/cpuinfo", encoding="utf-8")
                           if line.startswith("model name")), "unknown"),
        "cpus": arguments.cpus,
        "load_at_start": load_at_start,
        "rows": count,
        "blocks": arguments.blocks,
        "runs_s": runs,
        "median_s": {name: statistics.median(times) for name, times in runs.items()},
    }
    pathlib.Path(arguments.json).write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8")
    others = min(best["ray.data"], best["ray.data, polars"])
    print(f"least times: {others / best['spansort']:.2f} times as fast as the better one of Ray's own sorts; a killed "
          f"worker costs {best['spansort, a worker killed'] - best['spansort']:.2f} s")


if __name__ == "__main__":
    main()
