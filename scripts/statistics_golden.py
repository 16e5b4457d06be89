#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes what NumPy and matplotlib say about small data: tests/golden/quantiles.txt and boxes.txt.

usage: scripts/statistics_golden.py                           both files (needs matplotlib too)
       scripts/statistics_golden.py --random N --seed S FILE   N random data sets; SPANSORT_TEST_QUANTILES=FILE has
                                                               test_statistics read FILE instead of quantiles.txt
Doubles are written as the 16 hex digits of their bits. Lines of quantiles.txt:
  data V...          sorted; the following lines are about it
  q V...             likewise, until the next
  METHOD V...        numpy.quantile(data, q, method=METHOD)
  numpy METHOD N Q LOWER UPPER WEIGHT   ranks of N keys by NumPy's own functions; N too large to make the data
  exact METHOD N Q LOWER UPPER WEIGHT   ranks of N keys by exact fractions; N beyond what double arithmetic can do
Lines of boxes.txt: data V...; then `box FACTOR V...` or `percentiles LOW HIGH V...` with q1 med q3 iqr whislo whishi
mean, and after them the fliers, ascending.
"""
import argparse
import pathlib
import random
import struct
import sys
from fractions import Fraction

import numpy as np

METHODS = ["inverted_cdf", "averaged_inverted_cdf", "closest_observation", "interpolated_inverted_cdf", "hazen",
           "weibull", "linear", "median_unbiased", "normal_unbiased", "lower", "higher", "midpoint", "nearest"]
LEAST = 5e-324  # denormal
QUANTILES = [0.0, LEAST, 1e-300, 1e-17, 0.02, 0.09, 0.1, 1 / 7, 0.2, 0.25, 0.3, 1 / 3, 3 / 7, 0.5 - 2**-54, 0.5,
             0.5 + 2**-53, 0.6, 2 / 3, 0.7, 0.75, 7 / 9, 5 / 6, 0.9, 0.91, 0.98, 1 - 2**-53, 1.0]


def bits(values):
    return " ".join(struct.pack(">d", float(value)).hex() for value in np.atleast_1d(values))


def quantile_lines(data, quantiles):
    lines = ["data " + bits(data)]
    for method in METHODS:
        result = np.quantile(data, quantiles, method=method)
        one_by_one = [np.quantile(data, float(q), method=method) for q in quantiles]
        assert bits(result) == bits(one_by_one), (method, data)
        lines.append(f"{method} {bits(result)}")
    return lines


def chosen_data():
    rng = np.random.default_rng(4)
    sets = [np.sort(rng.normal(0, 1, n) * 10.0 ** rng.integers(-3, 4, n)) for n in range(1, 13)]
    sets.append(np.array([-0.0, -0.0, -0.0]))
    sets.append(np.array([-0.0]))
    sets.append(np.array([-3, -1, 0, 2, 5]) * LEAST)
    sets.append(np.array([-8e307, -1.0, 0.1, 8e307, 8.9e307]))
    sets.append(np.sort(rng.normal(0, 1, 37) * 10.0 ** rng.integers(-300, 300, 37)))
    sets.append(np.sort(rng.integers(-50, 50, 101)).astype(float))
    return sets


def random_data(rng):
    n = rng.choice([rng.randint(1, 12), rng.randint(1, 200), rng.randint(1, 3000)])
    kind = rng.randrange(5)
    if kind == 0:
        values = [rng.gauss(0, 1) for _ in range(n)]
    elif kind == 1:
        values = [rng.gauss(0, 1) * 2.0 ** rng.randint(-1000, 1000) for _ in range(n)]
    elif kind == 2:
        values = [float(rng.randint(-3, 3)) for _ in range(n)]
    elif kind == 3:
        values = [rng.randint(-9, 9) * LEAST for _ in range(n)]
    else:
        values = [1 + rng.randint(0, 9) * 2.0**-52 for _ in range(n)]
    return np.sort(np.array(values))


def random_q(rng, n):
    kind = rng.randrange(4)
    if kind == 0:
        return rng.random()
    if kind == 1:
        return rng.randint(0, n) / n
    if kind == 2:
        return min(1.0, rng.randint(0, 2 * n) / (2 * n) * (1 + rng.randint(-2, 2) * 2.0**-53))
    return rng.random() * 2.0 ** -rng.randint(0, 1070)


# -------------------------------------------------------------- ranks of large counts
def numpy_position(method, n, q):
    """From the functions that _quantile() calls; weight 0 needs no second key, and whole ranks have weight 1."""
    from numpy.lib import _function_base_impl as numpy_internals
    row = numpy_internals._QuantileMethods[method]
    index = np.asanyarray(row["get_virtual_index"](n, np.asanyarray(q)))
    if row["fix_gamma"] is None:
        return int(index), int(index), 1.0
    lower, upper = (int(rank[0]) for rank in numpy_internals._get_indexes(np.zeros(1), np.atleast_1d(index), n))
    weight = float(numpy_internals._get_gamma(index, np.floor(index), row))
    assert lower != upper, "choose a q between the first and the last key"
    return (lower, upper, weight) if 0 < weight < 1 else (upper, upper, 1.0) if weight == 1 else (lower, lower, 0.0)


def numpy_position_lines():
    lines = []
    for n in (2**33 + 7, 2**47 + 5, 2**51):
        for q in (0.1, 0.25, 1 / 3, 0.9, 1 - 2**-30):
            for method in METHODS:
                lower, upper, weight = numpy_position(method, n, q)
                lines.append(f"numpy {method} {n} {bits(q)} {lower} {upper} {bits(weight)}")
    return lines


ALPHA_BETA = {"inverted_cdf": (0, 1), "averaged_inverted_cdf": (0, 1), "closest_observation": (0, 1),
              "interpolated_inverted_cdf": (0, 1), "hazen": (Fraction(1, 2),) * 2, "weibull": (0, 0),
              "median_unbiased": (Fraction(1, 3),) * 2, "normal_unbiased": (Fraction(3, 8),) * 2}


def exact_position(method, n, q):
    """Ranks from 0 and the weight, from the definitions in Hyndman and Fan and in NumPy's documentation."""
    alpha, beta = ALPHA_BETA.get(method, (1, 1))
    index = n * Fraction(q) + alpha + Fraction(q) * (1 - alpha - beta) - 1
    whole = index.numerator // index.denominator
    rest = index - whole
    clip = lambda rank: min(max(rank, 0), n - 1)
    if method in ("inverted_cdf", "higher"):
        rank = clip(whole + (rest > 0))
    elif method == "lower":
        rank = clip(whole)
    elif method == "nearest":
        rank = clip(round(index))
    elif method == "closest_observation":
        rank = clip(round(index + 1) - 1)  # round() takes the even one of two, here counted from 1
        if n * Fraction(q) < Fraction(1, 2):
            rank = 0
    elif method == "averaged_inverted_cdf":
        lower, upper = clip(whole + (rest > 0)), clip(whole + 1)
        return lower, upper, Fraction(1, 2) if lower != upper else Fraction(1)
    elif method == "midpoint":
        lower, upper = clip(whole), clip(whole + (rest > 0))
        return lower, upper, Fraction(1, 2) if lower != upper else Fraction(0)
    elif index < 0:
        rank = 0
    elif index >= n - 1 or rest == 0:
        return clip(whole), clip(whole), Fraction(0)
    else:
        return whole, whole + 1, rest
    return rank, rank, Fraction(1)


def exact_lines():
    lines = []
    for n in (2**51 + 1, 2**53 + 1, 2**62 + 3, 2**64 - 1):
        for q in (0.0, LEAST, 2**-53, 0.1, 0.25, 1 / 3, 0.5, 0.75, 1 - 2**-53, 1.0):
            for method in METHODS:
                lower, upper, weight = exact_position(method, n, q)
                lines.append(f"exact {method} {n} {bits(q)} {lower} {upper} {bits(float(weight))}")
    return lines


# -------------------------------------------------------------- boxes
def box_lines():
    from matplotlib import cbook
    rng = np.random.default_rng(5)
    sets = [[3.0], [1.0, 2.0], [5.0] * 7, [1, 1, 2, 3, 3, 4, 15, 19], [0, 0, 0, 0, 9], [1, 2, 3, 4, 100],
            [-100, 1, 2, 3, 4], [0, 10, 10, 10, 10, 10, 11], rng.normal(0, 1, 40), rng.standard_cauchy(60),
            rng.exponential(1, 33), np.r_[rng.normal(0, 1, 20), [-0.0, 0.5, 40, -40]]]
    lines = []
    for data in sets:
        data = np.sort(np.asarray(data, dtype=float))
        lines.append("data " + bits(data))
        for whis in (1.5, 0.0, 0.5, 3.0, (5, 95), (0, 100), (40, 60), (2.5, 50)):
            (box,) = cbook.boxplot_stats(data, whis=whis)
            pair = isinstance(whis, tuple)
            head = f"percentiles {bits(whis[0])} {bits(whis[1])}" if pair else f"box {bits(whis)}"
            values = [box[key] for key in ("q1", "med", "q3", "iqr", "whislo", "whishi", "mean")]
            lines.append(" ".join([head, bits(values), bits(np.sort(box["fliers"]))]).rstrip())
    return lines


def write(path, made_with, lines):
    head = f"# Made by scripts/statistics_golden.py with {made_with}; the script says what the lines mean."
    path.write_text("\n".join([head] + lines) + "\n")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--random", type=int, metavar="N")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("file", nargs="?", type=pathlib.Path)
    arguments = parser.parse_args()
    numpy_name = f"NumPy {np.__version__}"
    # Where NumPy subtracts infinities, or overflows, the library differs on purpose: no such data here.
    np.seterr(all="raise", under="ignore")
    if arguments.random is not None:
        if arguments.file is None:
            sys.exit("--random: expected a file to write")
        rng = random.Random(arguments.seed)
        lines = []
        for _ in range(arguments.random):
            data = random_data(rng)
            quantiles = [random_q(rng, len(data)) for _ in range(8)]
            lines += ["q " + bits(quantiles)] + quantile_lines(data, quantiles)
        write(arguments.file, numpy_name, lines)
        return
    import matplotlib
    golden = pathlib.Path(__file__).resolve().parent.parent / "tests" / "golden"
    lines = ["q " + bits(QUANTILES)]
    for data in chosen_data():
        lines += quantile_lines(data, QUANTILES)
    write(golden / "quantiles.txt", numpy_name, lines + numpy_position_lines() + exact_lines())
    write(golden / "boxes.txt", f"{numpy_name} and matplotlib {matplotlib.__version__}", box_lines())


if __name__ == "__main__":
    main()
