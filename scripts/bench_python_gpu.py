#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Measures the Python package on arrays of a GPU next to PyTorch, CuPy and JAX, and writes one JSON file.

usage: scripts/bench_python_gpu.py --json FILE [--log2-sizes 12,16,20,24,28] [--types int32,int64,float32,float64]
                                   [--operations sort,argsort,sort_segments] [--log2-rows 0,4,8,12,16,20]
                                   [--seconds 120]
With --log2-rows the keys of a size are cut into so many rows of one length: sort and argsort run along the last axis
of a matrix, and sort_segments takes as many segments of random lengths. PyTorch has no sort of segments; the two
stable sorts stand in for it that its users write, by the key and then by the number of the segment.
Every contender of a cell works on the same keys in turns. A run is one call between two waits for the GPU, by the wall
clock; each library has its memory from earlier calls, as in a program that sorts more than once. What a contender
returns is held against torch.sort(stable=True) in the first turn: keys bit for bit, stable orders index for index,
other orders by the keys that they name. CuPy and JAX are left out where they cannot be imported or find no GPU. Cells
that --seconds leaves no time for are named in the file.
"""
import argparse
import datetime
import json
import os
import pathlib
import statistics
import subprocess
import sys
import time

# The GPU is shared with the other libraries, and keys may have 64 bits. JAX reads this when it is imported.
os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")
os.environ.setdefault("JAX_ENABLE_X64", "1")

import spansort
import torch

try:
    import cupy
except ImportError:
    cupy = None
try:
    import jax

    if jax.default_backend() != "gpu":
        jax = None
except (ImportError, RuntimeError):
    jax = None


def sorts(x):
    yield "spansort", lambda: spansort.sort(x), "keys"
    yield "torch.sort", lambda: torch.sort(x), "keys and order"
    if cupy:
        of_cupy = cupy.from_dlpack(x)
        yield "spansort, of cupy", lambda: spansort.sort(of_cupy), "keys"
        yield "cupy.sort", lambda: cupy.sort(of_cupy), "keys"
    if jax:
        of_jax = jax.dlpack.from_dlpack(x)
        yield "spansort, of jax", lambda: spansort.sort(of_jax).block_until_ready(), "keys"
        yield "jax.numpy.sort", lambda: jax.numpy.sort(of_jax).block_until_ready(), "keys"


def argsorts(x):
    yield "spansort", lambda: spansort.argsort(x), "stable order"
    yield "torch.argsort", lambda: torch.argsort(x), "order"
    yield "torch.argsort, stable", lambda: torch.argsort(x, stable=True), "stable order"
    if cupy:
        of_cupy = cupy.from_dlpack(x)
        yield "spansort, of cupy", lambda: spansort.argsort(of_cupy), "stable order"
        yield "cupy.argsort", lambda: cupy.argsort(of_cupy), "order"
    if jax:
        of_jax = jax.dlpack.from_dlpack(x)
        yield "spansort, of jax", lambda: spansort.argsort(of_jax).block_until_ready(), "stable order"
        yield "jax.numpy.argsort", lambda: jax.numpy.argsort(of_jax).block_until_ready(), "stable order"


class Segments:
    """Segments of a vector at random borders, with what PyTorch needs to sort by them."""

    def __init__(self, x, num_segments, seed):
        generator = torch.Generator(device="cuda").manual_seed(seed)
        inner = torch.randint(0, x.numel() + 1, (num_segments - 1,), generator=generator, device="cuda").sort().values
        self.offsets = torch.cat([inner.new_zeros(1), inner, inner.new_full((1,), x.numel())])
        self.of_key = torch.repeat_interleave(torch.arange(num_segments, device="cuda"), self.offsets.diff())

    def sort_with_torch(self, x):
        keys, order = torch.sort(x, stable=True)
        return keys[torch.sort(self.of_key[order], stable=True).indices]


def segment_sorts(x, segments):
    yield "spansort", lambda: spansort.sort_segments(x, segments.offsets), "keys"
    yield "torch.sort, twice", lambda: segments.sort_with_torch(x), "keys"


OPERATIONS = {"sort": sorts, "argsort": argsorts, "sort_segments": segment_sorts}


def parse():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", required=True)
    parser.add_argument("--commit", default="unknown")
    parser.add_argument("--operations", type=lambda text: text.split(","), default=["sort", "argsort"])
    parser.add_argument("--types", type=lambda text: text.split(","), default=["int32", "int64", "float32", "float64"])
    parser.add_argument("--log2-sizes", type=lambda text: [int(part) for part in text.split(",")], default=[12, 16, 20, 24, 28])
    parser.add_argument("--log2-rows", type=lambda text: [int(part) for part in text.split(",")], default=[0])
    parser.add_argument("--repeats", type=int, default=9)
    parser.add_argument("--seconds", type=float, default=float("inf"), help="no cell begins after so many")
    parser.add_argument("--slow-s", type=float, default=1, help="others than spansort that take longer run once")
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    if unknown := set(arguments.operations) - set(OPERATIONS):
        parser.error(f"unknown operations: {', '.join(sorted(unknown))}; known: {', '.join(OPERATIONS)}")
    if not torch.cuda.is_available():
        parser.error("PyTorch finds no GPU")
    return arguments


def keys_of(dtype, count, seed):
    generator = torch.Generator(device="cuda").manual_seed(seed)
    dtype = getattr(torch, dtype)
    if dtype.is_floating_point:
        return torch.rand(count, generator=generator, device="cuda", dtype=dtype)
    # Random bits make integers of any size.
    numbers = torch.randint(-128, 128, (count * dtype.itemsize,), generator=generator, device="cuda", dtype=torch.int8)
    return numbers.view(dtype)


def check(name, cell, found, kind, x, expected):
    """Holds a result against the stable sort of PyTorch."""
    if kind == "keys and order":
        keys, order = found.values, found.indices
    else:
        keys, order = (found, None) if kind == "keys" else (None, found)
    if keys is not None and not torch.equal(torch.from_dlpack(keys), expected.values):
        sys.exit(f"bench_python_gpu.py: {cell}: {name}: these are not the sorted keys")
    if order is None:
        return
    order = torch.from_dlpack(order).to(torch.int64)
    if kind == "stable order" and not torch.equal(order, expected.indices):
        sys.exit(f"bench_python_gpu.py: {cell}: {name}: this is not the stable order")
    if not torch.equal(torch.take_along_dim(x, order, -1), expected.values):
        sys.exit(f"bench_python_gpu.py: {cell}: {name}: the order does not sort the keys")


def time_of(call):
    torch.cuda.synchronize()
    begin = time.perf_counter()
    result = call()
    torch.cuda.synchronize()
    seconds = time.perf_counter() - begin
    del result
    return seconds


class Expected:
    """What a check holds keys against that have no order with them."""

    def __init__(self, values):
        self.values = values


def contenders_of(cell, x, arguments):
    """Returns who takes part in a cell, and what they are held against."""
    if cell["operation"] != "sort_segments":
        return list(OPERATIONS[cell["operation"]](x)), torch.sort(x, stable=True)
    segments = Segments(x, cell["num_rows"], arguments.seed)
    return list(segment_sorts(x, segments)), Expected(segments.sort_with_torch(x))


def measure(cell, x, arguments):
    field, expected = contenders_of(cell, x, arguments)
    for name, call, kind in field:
        check(name, cell, call(), kind, x, expected)
    del expected
    times = {name: [] for name, _, _ in field}
    for turn in range(arguments.repeats + 1):
        for name, call, _ in field:
            if times[name] and times[name][0] > arguments.slow_s and not name.startswith("spansort"):
                continue
            run = time_of(call)
            if turn > 0 or run > arguments.slow_s:  # the first turn warms up
                times[name].append(run)
    return [{"name": name, "runs_us": [round(1e6 * run, 2) for run in runs], "least_us": round(1e6 * min(runs), 2),
             "median_us": round(1e6 * statistics.median(runs), 2)} for name, runs in times.items()]  # fmt: skip


def give_back():
    """Every cell begins with empty caches: those of all libraries together would not leave room for the largest keys."""
    torch.cuda.empty_cache()
    if cupy:
        cupy.get_default_memory_pool().free_all_blocks()


def driver_version():
    command = ["nvidia-smi", "--query-gpu=driver_version", "--format=csv,noheader", "--id=0"]
    try:
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        return "unknown"


def metadata(arguments):
    device = torch.cuda.get_device_properties(0)
    peers = {module.__name__: module.__version__ for module in (torch, cupy, jax) if module}
    return {
        "benchmark": "python-gpu", "version": spansort.__version__, "commit": arguments.commit,
        "command": " ".join(["scripts/bench_python_gpu.py", *(pathlib.Path(text).name for text in sys.argv[1:])]),
        "date": datetime.date.today().isoformat(), "device": device.name, "num_gpus": 1,
        "compute_capability": f"{device.major}.{device.minor}", "driver": driver_version(), "cuda": torch.version.cuda,
        "python": sys.version.split()[0], "peers": peers, "seed": arguments.seed, "repeats": arguments.repeats,
        "distribution": "floats uniform in [0, 1), integers uniform over their range",
        "statistic": "wall clock of one call with a wait for the GPU before and behind; contenders take turns",
    }  # fmt: skip


def cells_of(arguments):
    shapes = [(power, rows) for power in arguments.log2_sizes for rows in arguments.log2_rows if rows < max(power, 1)]
    return [
        {"operation": operation, "dtype": dtype, "num_keys": 1 << power, "num_rows": 1 << rows}
        for power, rows in shapes
        for operation in arguments.operations
        for dtype in arguments.types
    ]


def main():
    arguments = parse()
    begin = time.monotonic()
    document = {**metadata(arguments), "cells": [], "left_out": []}
    for cell in cells_of(arguments):
        if time.monotonic() - begin > arguments.seconds:
            document["left_out"].append(cell)
            continue
        give_back()
        x = keys_of(cell["dtype"], cell["num_keys"], arguments.seed)
        if cell["operation"] != "sort_segments" and cell["num_rows"] > 1:
            x = x.reshape(cell["num_rows"], -1)
        results = measure(cell, x, arguments)
        document["cells"].append({**cell, "results": results})
        shown = ", ".join(f"{result['name']} {result['median_us']:.1f}" for result in results)
        print(f"{cell['operation']} {cell['dtype']} {cell['num_keys']} keys in {cell['num_rows']}, us: {shown}", flush=True)
        pathlib.Path(arguments.json).write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8")
    pathlib.Path(arguments.json).write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
