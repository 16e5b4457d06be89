#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Draws Figures 4 to 7 of Spafford's paper from the JSON file that ./dev bench mpi made, as SVG. Needs matplotlib.

usage: scripts/bench_mpi_plots.py bench/results/<machine>/mpi.json [--out docs/plots] [--format svg]
Makes, where the suite was measured: <machine>-mpi-sizes.svg, -mpi-widths.svg, -mpi-strong.svg, -mpi-weak.svg.
"""
import argparse
import pathlib

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt

from bench_mpi_table import efficiency
from mpi_results import LSD, RMG, SAMPLE, SHORT, Results, algorithms_of, count_text, result_of, split_time

COLORS = {"local": "#0b6e99", "index": "#e0a030", "exchange": "#b0569a", "other": "#c9ced3"}
LINES = {RMG: "#0b6e99", LSD: "#b0569a", SAMPLE: "#e0a030"}
STYLE = {
    "font.size": 10, "axes.spines.top": False, "axes.spines.right": False, "axes.axisbelow": True,
    "legend.frameon": False, "svg.hashsalt": "spansort", "svg.fonttype": "none", "figure.constrained_layout.use": True,
}


def ranks_text(count):
    return f"{count} node rank" + ("" if count == 1 else "s")


def bar_text(algorithm):
    return SHORT[algorithm].split(" ")[0]


def machine_text(results):
    return f"all node ranks on {results.meta['num_threads']} processors of one machine ({results.meta['device']})"


def stacked(axes, bars, labels):
    """`bars`: results. Phases as in the paper: mean of the node ranks; the rest of the run's time is other."""
    bottoms = [0.0] * len(bars)
    parts = [split_time(result) for result in bars]
    for group, color in COLORS.items():
        heights = [part[group] for part in parts]
        axes.bar(range(len(bars)), heights, 0.7, bottom=bottoms, color=color, label=group)
        bottoms = [bottom + height for bottom, height in zip(bottoms, heights)]
    for place, (top, result) in enumerate(zip(bottoms, bars)):
        axes.text(place, top, f" {result['fastest_ms']:.0f}", ha="center", va="bottom", fontsize=8)
    axes.set_xticks(range(len(bars)), labels, fontsize=8)
    axes.set_ylabel("ms per node rank")
    axes.margins(y=0.12)
    axes.autoscale_view()


def plot_sizes(results):
    inputs = [name for name in ("uniform", "sorted", "sequential") if results.suite("figure4", name)]
    if not inputs:
        return None
    figure, rows = plt.subplots(2, len(inputs), figsize=(4 * len(inputs), 6.2), squeeze=False, sharey="row")
    for column, name in enumerate(inputs):
        cases = sorted(results.suite("figure4", name), key=lambda case: case["num_pairs"])
        top, bottom = rows[0][column], rows[1][column]
        algorithms = algorithms_of(cases)
        for algorithm in algorithms:
            rates = [result_of(case, algorithm)["million_pairs_per_s"] for case in cases]
            top.plot([case["num_pairs"] for case in cases], rates, marker="o", markersize=4,
                     color=LINES[algorithm], label=algorithm + (", r = 16" if algorithm == LSD else ""))
        top.set_xscale("log", base=2)
        top.set_yscale("log")
        top.yaxis.set_major_formatter(matplotlib.ticker.FuncFormatter(lambda rate, _: f"{rate:g}"))
        top.set_title(f"{name} pairs")
        top.set_xlabel("pairs")
        largest = cases[-2:]
        stacked(bottom, [result_of(case, algorithm) for case in largest for algorithm in algorithms],
                [f"{bar_text(algorithm)}\n{count_text(case['num_pairs'])}" for case in largest for algorithm in algorithms])
    rows[0][0].set_ylabel("10$^6$ pairs per second")
    rows[0][0].legend(loc="upper left", fontsize=8)
    rows[1][0].legend(loc="upper left", fontsize=8)
    figure.suptitle(f"Problem size, {ranks_text(cases[0]['num_ranks'])}; {machine_text(results)}", fontsize=10)
    return figure


def plot_widths(results):
    cases = results.suite("figure5")
    if not cases:
        return None
    figure, columns = plt.subplots(1, len(cases), figsize=(5 * len(cases), 4), squeeze=False, sharey=True)
    for axes, case in zip(columns[0], cases):
        bars = sorted((r for r in case["results"] if r["algorithm"] == LSD), key=lambda r: r["radix_bits"])
        labels = [f"lsd\nr = {r['radix_bits']}" for r in bars]
        for algorithm in algorithms_of([case]):
            if algorithm != LSD:
                labels.append(bar_text(algorithm))
                bars.append(result_of(case, algorithm))
        stacked(axes, bars, labels)
        axes.set_title(f"{count_text(case['num_pairs'])} {case['distribution']} pairs")
    columns[0][0].legend(loc="upper right")
    figure.suptitle(f"Radix width, {ranks_text(cases[0]['num_ranks'])}; {machine_text(results)}", fontsize=10)
    return figure


def plot_scaling(results, suite, title):
    inputs = [name for name in ("sorted", "uniform") if len(results.suite(suite, name)) > 1]
    if not inputs:
        return None
    figure, columns = plt.subplots(1, 1 + len(inputs), figsize=(4.4 * (1 + len(inputs)), 4))
    for name, dash in zip(inputs, ("-", "--")):
        cases = sorted(results.suite(suite, name), key=lambda case: case["num_ranks"])
        for algorithm in algorithms_of(cases):
            if result_of(cases[0], algorithm)["input_shape"] == "sorted":
                continue  # one node rank alone saw that nothing was to be done: no measure for the others
            columns[0].plot([case["num_ranks"] for case in cases],
                            [efficiency(case, cases[0], algorithm) for case in cases], dash, marker="o", markersize=4,
                            color=LINES[algorithm], label=f"{SHORT[algorithm]}, {name}")
    columns[0].axhline(1, color="black", linewidth=0.8, linestyle=":")
    columns[0].set_ylim(0, None)
    columns[0].set_xlabel("node ranks")
    columns[0].set_ylabel("efficiency")
    columns[0].legend(fontsize=8, loc="lower left")
    columns[0].set_title("time of one node rank, same work, over time", fontsize=10)
    for axes, name in zip(columns[1:], inputs):
        cases = sorted(results.suite(suite, name), key=lambda case: case["num_ranks"])
        algorithms = algorithms_of(cases)
        bars = [result_of(case, algorithm) for case in cases for algorithm in algorithms]
        stacked(axes, bars, [f"{bar_text(algorithm)}\n{case['num_ranks']}" for case in cases for algorithm in algorithms])
        axes.set_title(f"{name}: phases")
        axes.legend(fontsize=8)
    sizes = sorted({case["num_pairs"] for case in results.suite(suite)})
    span = count_text(sizes[0]) if len(sizes) == 1 else f"{count_text(sizes[0])} to {count_text(sizes[-1])}"
    figure.suptitle(f"{title}, {span} pairs; {machine_text(results)}", fontsize=10)
    return figure


PLOTS = {
    "sizes": plot_sizes, "widths": plot_widths,
    "strong": lambda results: plot_scaling(results, "figure6", "Strong scaling"),
    "weak": lambda results: plot_scaling(results, "figure7", "Weak scaling"),
}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("file")
    parser.add_argument("--out", default=str(pathlib.Path(__file__).resolve().parent.parent / "docs" / "plots"))
    parser.add_argument("--format", default="svg", help="svg; png to look at")
    arguments = parser.parse_args()
    results = Results(arguments.file)
    folder = pathlib.Path(arguments.out)
    folder.mkdir(parents=True, exist_ok=True)
    plt.rcParams.update(STYLE)
    for name, plot in PLOTS.items():
        figure = plot(results)
        if figure is None:
            continue
        path = folder / f"{pathlib.Path(arguments.file).resolve().parent.name}-mpi-{name}.{arguments.format}"
        # No date: the same file gives the same picture.
        figure.savefig(path, dpi=110, metadata={"Date": None} if arguments.format == "svg" else None)
        plt.close(figure)
        print(path)


if __name__ == "__main__":
    main()
