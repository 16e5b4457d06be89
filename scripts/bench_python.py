#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Measures the Python package next to NumPy, pandas, polars, pyarrow and DuckDB, and writes one JSON file.

usage: scripts/bench_python.py --json FILE [--log2-sizes 4,10,14,20,24] [--types uint32,float64] [--operations sort,argsort]
Every contender of a cell sorts the same array, in turns; small arrays several times in a run, so that a run takes a few
milliseconds. What a contender returns is held against NumPy in the first turn. Peers that cannot be imported are left out. The operation
sort_table has shapes of tables in the place of types: all rows are sorted by all columns but the last, which numbers them.
"""
import argparse
import datetime
import importlib
import json
import os
import pathlib
import statistics
import sys
import time

import numpy as np
import spansort

LEAST_RUN_S = 0.002
QUARTILES = [0.25, 0.5, 0.75]
NUM_TOP = 100


def optional(name):
    try:
        return importlib.import_module(name)
    except ImportError:
        return None


duckdb, pandas, polars, pyarrow = (optional(name) for name in ("duckdb", "pandas", "polars", "pyarrow"))
compute = optional("pyarrow.compute")


def sorts(x, _):
    yield "spansort", lambda: spansort.sort(x), None
    yield "numpy", lambda: np.sort(x), None
    if pandas:
        series = pandas.Series(x)
        yield "pandas", lambda: series.sort_values(), lambda found: found.to_numpy()
    if polars:
        column = polars.Series(x)
        yield "polars", lambda: column.sort(), lambda found: found.to_numpy()


def argsorts(x, _):
    yield "spansort", lambda: spansort.argsort(x), None
    yield "numpy, stable", lambda: np.argsort(x, kind="stable"), None
    yield "numpy, not stable", lambda: np.argsort(x), lambda found: x[found]
    if polars:
        column = polars.Series(x)
        yield "polars, not stable", lambda: column.arg_sort(), lambda found: x[found.to_numpy()]
    if compute:
        array = pyarrow.array(x)
        yield "pyarrow", lambda: compute.sort_indices(array), lambda found: x[found.to_numpy()]


def pairs(x, rng):
    values = rng.integers(0, 1 << 62, len(x))

    def by_numpy():
        order = np.argsort(x, kind="stable")
        return x[order], values[order]

    yield "spansort", lambda: spansort.sort_pairs(x, values), lambda found: found.values
    yield "numpy", by_numpy, lambda found: found[1]


def takes(x, rng):
    order = rng.permutation(len(x))
    yield "spansort", lambda: spansort.take(x, order), None
    yield "numpy", lambda: np.take(x, order), None
    if polars:
        column, places = polars.Series(x), polars.Series(order)
        yield "polars", lambda: column.gather(places), lambda found: found.to_numpy()
    if compute:
        array, indices = pyarrow.array(x), pyarrow.array(order)
        yield "pyarrow", lambda: compute.take(array, indices), lambda found: found.to_numpy()


def quantiles(x, _):
    yield "spansort", lambda: spansort.quantile(x, QUARTILES), None
    yield "numpy", lambda: np.quantile(x, QUARTILES), lambda found: np.asarray(found, "float64")
    if pandas:
        series = pandas.Series(x)
        yield "pandas", lambda: series.quantile(QUARTILES), lambda found: found.to_numpy()


def tops(x, _):
    k = min(NUM_TOP, len(x))
    yield "spansort", lambda: spansort.top_k(x, k), lambda found: found.values
    yield "numpy", lambda: np.sort(np.partition(x, len(x) - k)[len(x) - k :])[::-1], None
    if polars:
        column = polars.Series(x)
        yield "polars", lambda: column.top_k(k), lambda found: np.sort(found.to_numpy())[::-1]


def uniques(x, _):
    few = x % 1000 if x.dtype.kind in "iu" else np.floor(x * 1000).astype(x.dtype)
    yield "spansort", lambda: spansort.unique_counts(few), lambda found: found.values
    yield "numpy", lambda: np.unique(few, return_counts=True), lambda found: found[0]
    if polars:
        column = polars.Series("x", few)
        yield "polars", lambda: column.value_counts(), lambda found: np.sort(found["x"].to_numpy())


def column_of(kind, count, rng):
    """A column as Arrow has it, and as numbers that are in the same order."""
    if kind == "text":
        words = np.array([f"customer-{i:05}" for i in range(100_000)])
        codes = rng.integers(0, len(words), count)
        return pyarrow.array(words[codes]), codes
    if kind == "float64 with nulls":
        numbers, is_null = rng.random(count), rng.random(count) < 0.1
        return pyarrow.array(numbers, mask=is_null), np.where(is_null, np.inf, numbers)
    numbers = {"int32 of 100": lambda: rng.integers(0, 100, count, "int32"), "float64": lambda: rng.random(count),
               "int32": lambda: keys_of("int32", count, rng), "int64": lambda: keys_of("int64", count, rng)}[kind]()
    return pyarrow.array(numbers), numbers


def tables(shape, count, rng):
    """Contenders that sort the rows of a table, each in its own kind of table, and give it back in that kind."""
    kinds = shape.split(", ")
    columns = [column_of(kind, count, rng) for kind in kinds]
    names = [f"c{i}" for i in range(len(kinds))]
    table = pyarrow.table([column for column, _ in columns] + [pyarrow.array(np.arange(count))], names=[*names, "row"])
    numbers = [column for _, column in columns]
    yield "numpy's lexsort, of numbers, without the rows", lambda: np.lexsort(numbers[::-1]), None
    yield "spansort", lambda: pyarrow.table(spansort.sort_table(table, names)), lambda found: found["row"].to_numpy()
    yield "pyarrow", lambda: table.sort_by([(name, "ascending") for name in names]), lambda found: found["row"].to_numpy()
    if polars:
        frame = polars.from_arrow(table)
        yield ("spansort, of polars", lambda: polars.DataFrame(spansort.sort_table(frame, names)),
               lambda found: found["row"].to_numpy())  # fmt: skip
        yield "polars", lambda: frame.sort(names, nulls_last=True), lambda found: found["row"].to_numpy()
    if pandas:
        pandas_frame = table.to_pandas()
        yield "pandas", lambda: pandas_frame.sort_values(names), lambda found: found["row"].to_numpy()
    if duckdb:
        connection = duckdb.connect()
        connection.register("t", table)
        text = f"select * from t order by {', '.join(names)}"
        yield "duckdb", lambda: pyarrow.table(connection.sql(text)), lambda found: found["row"].to_numpy()


SHAPES = ["int64", "int32 of 100, float64", "int32 of 100, int32, int64", "float64 with nulls, int64", "text, float64",
          "int32 of 100, text, float64 with nulls, int64"]  # fmt: skip

# Operations by name; each contender is a name, a call, and what makes its result comparable with the others'.
OPERATIONS = {"sort": sorts, "argsort": argsorts, "sort_pairs": pairs, "take": takes, "quantile": quantiles,
              "top_k": tops, "unique_counts": uniques, "sort_table": tables}
# NumPy computes quantiles of float32 in that type.
TOLERANCE = 1e-5


def parse():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    names = [name for name in OPERATIONS]
    parser.add_argument("--json", required=True)
    parser.add_argument("--commit", default="unknown")
    parser.add_argument("--operations", type=lambda text: text.split(","), default=names)
    parser.add_argument("--types", type=lambda text: text.split(","), default=["uint32", "int64", "float32", "float64"])
    parser.add_argument("--log2-sizes", type=lambda text: [int(part) for part in text.split(",")], default=[4, 10, 14, 20, 24])
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--slow-s", type=float, default=10, help="others than spansort that take longer run once")
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    if pyarrow is None and "sort_table" in arguments.operations:
        parser.error("sort_table needs pyarrow")
    unknown = set(arguments.operations) - set(names)
    if unknown:
        parser.error(f"unknown operations: {', '.join(sorted(unknown))}; known: {', '.join(names)}")
    return arguments


def keys_of(dtype, count, rng):
    dtype = np.dtype(dtype)
    if dtype.kind == "f":
        return rng.random(count).astype(dtype)
    ends = np.iinfo(dtype)
    return rng.integers(ends.min, ends.max, count, dtype, endpoint=True)


def time_of(call, num_calls):
    begin = time.perf_counter()
    for _ in range(num_calls):
        call()
    return (time.perf_counter() - begin) / num_calls


def check(name, cell, found, expected):
    if not np.allclose(found, expected, rtol=TOLERANCE if cell["operation"] == "quantile" else 0, atol=0):
        sys.exit(f"bench_python.py: {cell}: {name}: the result is not NumPy's")


def measure(cell, contenders, arguments):
    """Times all contenders in turns; small arrays by several calls a run."""
    field = [(name, call, form or (lambda found: found)) for name, call, form in contenders]
    expected = next(form(call()) for name, call, form in field if name.startswith("numpy"))
    by_place = "argsort" == cell["operation"]
    times, calls = {}, {}
    for turn in range(arguments.repeats):
        for name, call, form in field:
            if turn == 0:
                found = form(call())
                if by_place and name not in ("spansort", "numpy, stable"):
                    check(name, cell, found, cell["sorted"])
                else:
                    check(name, cell, found, expected)
                calls[name] = max(1, int(LEAST_RUN_S / max(time_of(call, 1), 1e-7)))
            if not name.startswith("spansort") and times.get(name, [0])[0] > arguments.slow_s:
                continue
            times.setdefault(name, []).append(time_of(call, calls[name]))
    return [{"name": name, "calls_a_run": calls[name], "runs_us": [round(1e6 * run, 3) for run in runs],
             "least_us": round(1e6 * min(runs), 3), "median_us": round(1e6 * statistics.median(runs), 3)}
            for name, runs in times.items()]  # fmt: skip


def first_of(path, name, default="unknown"):
    for line in pathlib.Path(path).read_text(encoding="utf-8").splitlines():
        if line.startswith(name):
            return line.split(":", 1)[1].strip()
    return default


def metadata(arguments):
    modules = {"duckdb": duckdb, "numpy": np, "pandas": pandas, "polars": polars, "pyarrow": pyarrow}
    return {
        "benchmark": "python", "version": spansort.__version__, "commit": arguments.commit,
        "command": " ".join(["scripts/bench_python.py", *(pathlib.Path(text).name for text in sys.argv[1:])]),
        "date": datetime.date.today().isoformat(), "device": first_of("/proc/cpuinfo", "model name"),
        "num_threads": spansort.devices()["num_processors"], "python": sys.version.split()[0],
        "peers": {name: module.__version__ for name, module in modules.items() if module},
        "load_average_before": os.getloadavg()[0], "seed": arguments.seed, "repeats": arguments.repeats,
        "distribution": "uniform", "statistic": "wall clock of one call; contenders take turns",
    }  # fmt: skip


def main():
    arguments = parse()
    document = {**metadata(arguments), "cells": []}
    for operation in arguments.operations:
        is_table = operation == "sort_table"
        for dtype in SHAPES if is_table else arguments.types:
            for power in arguments.log2_sizes:
                rng = np.random.default_rng(arguments.seed)
                x = np.empty(1 << power) if is_table else keys_of(dtype, 1 << power, rng)
                cell = {"operation": operation, "dtype": dtype, "num_keys": len(x)}
                if is_table:
                    results = measure(cell, tables(dtype, len(x), rng), arguments)
                else:
                    results = measure({**cell, "sorted": np.sort(x)}, OPERATIONS[operation](x, rng), arguments)
                document["cells"].append({**cell, "results": results})
                shown = ", ".join(f"{result['name']} {result['median_us']:.1f}" for result in results)
                print(f"{operation} {dtype} 2^{power}, us: {shown}", flush=True)
    document["load_average_after"] = os.getloadavg()[0]
    pathlib.Path(arguments.json).write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
