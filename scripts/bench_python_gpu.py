#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Measures the Python package on arrays of a GPU next to PyTorch and CuPy, and writes one JSON file.

usage: scripts/bench_python_gpu.py --json FILE [--log2-sizes 10,16,20,24,28] [--types float32]
                                   [--operations sort,argsort]
Every contender of a cell works on the same keys in turns. A run is one call between two waits for the GPU, by the wall
clock; each library has its memory from earlier calls, as in a program that sorts more than once. What a contender
returns is held against torch.sort(stable=True) in the first turn: keys bit for bit, stable orders index for index,
other orders by the keys that they name. CuPy is left out where it cannot be imported.
"""
import argparse
import datetime
import json
import pathlib
import statistics
import subprocess
import sys
import time

import spansort
import torch

try:
    import cupy
except ImportError:
    cupy = None


def sorts(x):
    yield "spansort", lambda: spansort.sort(x), "keys"
    yield "torch.sort", lambda: torch.sort(x), "keys and order"
    if cupy:
        of_cupy = cupy.from_dlpack(x)
        yield "spansort, of cupy", lambda: spansort.sort(of_cupy), "keys"
        yield "cupy.sort", lambda: cupy.sort(of_cupy), "keys"


def argsorts(x):
    yield "spansort", lambda: spansort.argsort(x), "stable order"
    yield "torch.argsort", lambda: torch.argsort(x), "order"
    yield "torch.argsort, stable", lambda: torch.argsort(x, stable=True), "stable order"
    if cupy:
        of_cupy = cupy.from_dlpack(x)
        yield "spansort, of cupy", lambda: spansort.argsort(of_cupy), "stable order"
        yield "cupy.argsort", lambda: cupy.argsort(of_cupy), "order"


OPERATIONS = {"sort": sorts, "argsort": argsorts}


def parse():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", required=True)
    parser.add_argument("--commit", default="unknown")
    parser.add_argument("--operations", type=lambda text: text.split(","), default=list(OPERATIONS))
    parser.add_argument("--types", type=lambda text: text.split(","), default=["float32"])
    parser.add_argument("--log2-sizes", type=lambda text: [int(part) for part in text.split(",")], default=[10, 16, 20, 24, 28])
    parser.add_argument("--repeats", type=int, default=9)
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    if unknown := set(arguments.operations) - set(OPERATIONS):
        parser.error(f"unknown operations: {', '.join(sorted(unknown))}; known: {', '.join(OPERATIONS)}")
    if not torch.cuda.is_available():
        parser.error("PyTorch finds no GPU")
    return arguments


def keys_of(dtype, count, seed):
    generator = torch.Generator(device="cuda").manual_seed(seed)
    if getattr(torch, dtype).is_floating_point:
        return torch.rand(count, generator=generator, device="cuda").to(getattr(torch, dtype))
    ends = torch.iinfo(getattr(torch, dtype))
    return torch.randint(ends.min, ends.max, (count,), generator=generator, device="cuda", dtype=getattr(torch, dtype))


def check(name, cell, found, kind, x, expected):
    """Holds a result against the stable sort of PyTorch."""
    if kind == "keys and order":
        keys, order = found.values, found.indices
    else:
        keys, order = (found, None) if kind == "keys" else (None, found)
    if keys is not None and not torch.equal(torch.as_tensor(keys, device="cuda"), expected.values):
        sys.exit(f"bench_python_gpu.py: {cell}: {name}: these are not the sorted keys")
    if order is None:
        return
    order = torch.as_tensor(order, device="cuda").to(torch.int64)
    if kind == "stable order" and not torch.equal(order, expected.indices):
        sys.exit(f"bench_python_gpu.py: {cell}: {name}: this is not the stable order")
    if not torch.equal(x[order], expected.values):
        sys.exit(f"bench_python_gpu.py: {cell}: {name}: the order does not sort the keys")


def time_of(call):
    torch.cuda.synchronize()
    begin = time.perf_counter()
    result = call()
    torch.cuda.synchronize()
    seconds = time.perf_counter() - begin
    del result
    return seconds


def measure(cell, contenders, x, repeats):
    expected = torch.sort(x, stable=True)
    times = {}
    field = list(contenders)
    for name, call, kind in field:
        check(name, cell, call(), kind, x, expected)
    del expected
    for _ in range(repeats + 1):  # the first turn is not counted
        for name, call, _ in field:
            times.setdefault(name, []).append(time_of(call))
    return [{"name": name, "runs_us": [round(1e6 * run, 2) for run in runs[1:]], "least_us": round(1e6 * min(runs[1:]), 2),
             "median_us": round(1e6 * statistics.median(runs[1:]), 2)} for name, runs in times.items()]  # fmt: skip


def driver_version():
    command = ["nvidia-smi", "--query-gpu=driver_version", "--format=csv,noheader", "--id=0"]
    try:
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        return "unknown"


def metadata(arguments):
    device = torch.cuda.get_device_properties(0)
    peers = {"torch": torch.__version__} | ({"cupy": cupy.__version__} if cupy else {})
    return {
        "benchmark": "python-gpu", "version": spansort.__version__, "commit": arguments.commit,
        "command": " ".join(["scripts/bench_python_gpu.py", *(pathlib.Path(text).name for text in sys.argv[1:])]),
        "date": datetime.date.today().isoformat(), "device": device.name,
        "compute_capability": f"{device.major}.{device.minor}", "driver": driver_version(), "cuda": torch.version.cuda,
        "python": sys.version.split()[0], "peers": peers, "seed": arguments.seed, "repeats": arguments.repeats,
        "distribution": "floats uniform in [0, 1), integers uniform over their range",
        "statistic": "wall clock of one call with a wait for the GPU before and behind; contenders take turns",
    }  # fmt: skip


def main():
    arguments = parse()
    document = {**metadata(arguments), "cells": []}
    for operation in arguments.operations:
        for dtype in arguments.types:
            for power in arguments.log2_sizes:
                x = keys_of(dtype, 1 << power, arguments.seed)
                cell = {"operation": operation, "dtype": dtype, "num_keys": 1 << power}
                results = measure(cell, OPERATIONS[operation](x), x, arguments.repeats)
                document["cells"].append({**cell, "results": results})
                shown = ", ".join(f"{result['name']} {result['median_us']:.1f}" for result in results)
                print(f"{operation} {dtype} 2^{power}, us: {shown}", flush=True)
                pathlib.Path(arguments.json).write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
