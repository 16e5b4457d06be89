#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes the tables of docs/clusters.md from the JSON file that ./dev bench mpi made.

usage: scripts/bench_mpi_table.py bench/results/<machine>/mpi.json [--check]
--check: change nothing; exit 1 if docs/clusters.md does not say what the file says.
"""
import pathlib
import sys

from mpi_results import RMG, SHORT, Results, algorithms_of, count_text, name_of, result_of, split_time

BEGIN = "<!-- mpi-table: made by scripts/bench_mpi_table.py from bench/results -->"
END = "<!-- end mpi-table -->"


def markdown(header, rows):
    lines = [header, ["---"] * len(header)] + rows
    return ["| " + " | ".join(str(cell) for cell in line) + " |" for line in lines]


def head(results):
    meta, loads = results.meta, results.load_averages()
    return [f"{meta['device']}, {meta['num_threads']} processors, which all node ranks share; {meta['mpi']}, "
            f"compiler {meta['compiler']}, {meta['date']}, commit {meta['commit']}, seed {meta['seed']}, the fastest "
            f"of {meta['repeats']} runs; load average {min(loads):.1f} to {max(loads):.1f} (`{results.path}`)."]


def time_cells(result, digits):
    """Fastest and median run, and where the fastest one's time went."""
    parts = split_time(result)
    times = [f"{result[field]:.{digits}f}" for field in ("fastest_ms", "median_ms")]
    return times + [f"{parts[group]:.0f}" for group in ("local", "index", "exchange", "other")]


TIME_HEADER = ["ms", "median", "local", "index", "exchange", "other"]


def size_table(results):
    rows = []
    for case in results.suite("figure4"):
        for result in case["results"]:
            rows.append([case["distribution"], count_text(case["num_pairs"]), name_of(result), *time_cells(result, 1),
                         f"{result['million_pairs_per_s']:.1f}"])
    if not rows:
        return []
    num_ranks = results.suite("figure4")[0]["num_ranks"]
    title = (f"Problem size (the paper's figure 4), {num_ranks} node ranks; ms, and of them "
             "each node rank's in each phase.")
    return [title, "", *markdown(["input", "pairs", "algorithm", *TIME_HEADER, "M pairs/s"], rows)]


def width_table(results):
    rows = []
    for case in results.suite("figure5"):
        rmg = result_of(case, RMG)
        for result in case["results"]:
            rows.append([case["distribution"], name_of(result), result["num_passes"], *time_cells(result, 0),
                         f"{result['sent_bytes_per_pair']:.2f}", f"{result['floor_bytes_per_pair']:.2f}",
                         f"{result['fastest_ms'] / rmg['fastest_ms']:.1f}"])
    if not rows:
        return []
    case = results.suite("figure5")[0]
    title = (f"Radix width (figure 5), {count_text(case['num_pairs'])} pairs, {case['num_ranks']} node ranks. Bytes: "
             "sent between node ranks, per pair of 16 bytes; the floor is what no sort can avoid.")
    header = ["input", "algorithm", "passes", *TIME_HEADER, "bytes sent", "floor", "over rmg"]
    return [title, "", *markdown(header, rows)]


def efficiency_text(case, base, algorithm):
    """One node rank alone looks whether its input is sorted, and is done then: no measure for the others."""
    is_found_sorted = result_of(base, algorithm)["input_shape"] == "sorted"
    return "-" if is_found_sorted else f"{efficiency(case, base, algorithm):.2f}"


def efficiency(case, base, algorithm):
    """Time of the same work on one node rank over the time on all; all have the same processors."""
    one, many = result_of(base, algorithm)["fastest_ms"], result_of(case, algorithm)["fastest_ms"]
    return one * (case["num_pairs"] / base["num_pairs"]) / many


def scaling_table(results, suite, title):
    rows = []
    algorithms = algorithms_of(results.suite(suite))
    for distribution in ("uniform", "sorted"):
        cases = sorted(results.suite(suite, distribution), key=lambda case: case["num_ranks"])
        for case in cases:
            cells = [distribution, case["num_ranks"], count_text(case["num_pairs"])]
            for algorithm in algorithms:
                result = result_of(case, algorithm)
                cells += [f"{result['fastest_ms']:.0f} ({result['median_ms']:.0f})",
                          efficiency_text(case, cases[0], algorithm), f"{result['sent_bytes_per_pair']:.2f}"]
            rows.append([*cells, f"{result_of(case, RMG)['floor_bytes_per_pair']:.2f}"])
    header = ["input", "node ranks", "pairs"]
    for algorithm in algorithms:
        header += [f"{SHORT[algorithm]}, ms (median)", "efficiency", "bytes sent"]
    header.append("floor")
    return [title, ""] + markdown(header, rows) if rows else []


def quartile_table(results):
    rows = []
    for case in results.suite("quartiles"):
        sort, select = result_of(case, RMG)["fastest_ms"], result_of(case, "quantiles")["fastest_ms"]
        rows.append([case["distribution"], count_text(case["num_pairs"]), case["num_ranks"], f"{sort:.0f}",
                     f"{select:.1f}", f"{sort / select:.1f}"])
    title = "The three quartiles of 64-bit keys without sorting, next to a sort of the same keys (rmg), ms."
    return [title, ""] + markdown(["input", "keys", "node ranks", "sort", "quartiles", "ratio"], rows) if rows else []


def section(results):
    parts = [head(results), size_table(results), width_table(results),
             scaling_table(results, "figure6", "Strong scaling (figure 6). Efficiency: the time on one node rank over "
                           "this one; the processors are the same two, so 1 is no overhead; there is no speed-up."),
             scaling_table(results, "figure7", "Weak scaling (figure 7): as many pairs on every node rank. Efficiency: "
                           "the time that one node rank would take for all the pairs over this one."),
             quartile_table(results)]
    return "\n\n".join("\n".join(part) for part in parts if part)


def main():
    sources = [argument for argument in sys.argv[1:] if argument != "--check"]
    if len(sources) != 1:
        sys.exit(__doc__)
    page = pathlib.Path(__file__).resolve().parent.parent / "docs" / "clusters.md"
    text = page.read_text()
    before, rest = text.split(BEGIN)
    _, after = rest.split(END)
    wanted = f"{before}{BEGIN}\n{section(Results(sources[0]))}\n{END}{after}"
    if "--check" in sys.argv:
        sys.exit(0 if wanted == text else f"docs/clusters.md does not show {sources[0]}; run {sys.argv[0]}")
    page.write_text(wanted)


if __name__ == "__main__":
    main()
