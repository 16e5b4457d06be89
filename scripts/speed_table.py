#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes README's table of speed and its chart, docs/plots/speed.svg, from files of bench/results.

usage: scripts/speed_table.py [--check]
--check: change nothing; exit 1 if README or the chart is not what the files say. Figures come from the files alone:
what is in none of them is said to be not measured. The table leaves the CPU's rows to its heat maps."""
import json
import math
import pathlib
import sys

import grid_results

REPOSITORY = pathlib.Path(__file__).resolve().parent.parent
RESULTS = REPOSITORY / "bench/results"
CHART = REPOSITORY / "docs/plots/speed.svg"
BEGIN = "<!-- speed-table: made by scripts/speed_table.py from bench/results -->"
END = "<!-- end speed-table -->"
NAMES = ["Spansort", "NumPy", "std::sort", "vqsort", "CUB"]
COLOURS = {"Spansort": "#c2410c", "NumPy": "#2563eb", "std::sort": "#6b7280", "vqsort": "#15803d", "CUB": "#7c3aed"}
TITLE = "Million keys (pairs) a second, farther right is faster"
TIE = 1.03  # ratios up to this are a tie
UNMEASURED = "not measured"
NO_GPU = "CPU only"
NO_CPU = "GPU only"
# The files name contenders so.
CPU_NAMES = {"Spansort": grid_results.ONE_CALL, "NumPy": "numpy", "std::sort": "std_sort", "vqsort": "vqsort"}
CPU_MACHINE = ("zen4-2-cores", 2, "AVX-512")
FILE_NAMES = {"Spansort": "spansort", "NumPy": "numpy.sort", "std::sort": "std::sort"}


def load(path):
    return json.loads((RESULTS / path).read_text())


def cpu_row(kind, distribution, power):
    """Rates of one cell of `./dev bench cpu`; a contender without a figure is not measured."""
    run = next(run for run in grid_results.runs(RESULTS)
               if (run.machine, run.meta["num_threads"], run.meta["vector_target"]) == CPU_MACHINE)
    times = next((cell.times for cell in run.cells
                  if (cell.kind, cell.distribution, cell.num_keys) == (kind, distribution, 2**power)), {})
    found = {name: 2**power / times[key] / 1e3 for name, key in CPU_NAMES.items() if key in times}
    return dict.fromkeys(CPU_NAMES, UNMEASURED) | {"CUB": NO_CPU} | found


def file_row():
    case = next(c for c in load("zen3-2-cores/files.json")["cases"] if c["suite"] == "fits")
    times = {r["name"]: r["median_ms"] for r in case["results"]}
    found = {name: case["num_keys"] / times[key] / 1e3 for name, key in FILE_NAMES.items()}
    return {"vqsort": UNMEASURED, "CUB": NO_CPU} | found


def gpu_row(suite, machine="h200x1", **wanted):
    cases = [c for path in sorted((RESULTS / machine).glob("s*s.json")) for c in load(path)["cases"]]
    case = next(c for c in cases
                if c["suite"] == suite and all(c.get(key) == value for key, value in wanted.items()) and c["verified"])
    found = {"Spansort": case["num_keys"] / case["median_ms"] / 1e3}
    if "cub_median_ms" in case:
        found["CUB"] = case["num_keys"] / case["cub_median_ms"] / 1e3
    return {"NumPy": NO_GPU, "std::sort": NO_GPU, "vqsort": NO_GPU, "CUB": "one GPU only"} | found


def rows():
    return [
        ("2^24 32-bit integers, CPU", cpu_row("u32", "uniform", 24)),
        ("2^24 64-bit integers, CPU", cpu_row("u64", "uniform", 24)),
        ("2^24 pairs of 32-bit keys and values, CPU", cpu_row("u32(u32)", "uniform", 24)),
        ("2^24 32-bit integers, each AND of four words, CPU", cpu_row("u32", "entropy:4", 24)),
        ("a file of 2^26 64-bit integers, read, sorted, written", file_row()),
        ("2^28 32-bit integers on an H200", gpu_row("local", type="u32", distribution="uniform", num_keys=2**28)),
        ("2^12 32-bit integers on an H200", gpu_row("sizes", type="u32", num_keys=2**12)),
        ("2 · 10^9 32-bit integers in host memory, one H200", gpu_row(
            "host", type="u32", memory="pinned", num_gpus=1, algorithm="auto", may_pack=True, num_keys=2 * 10**9)
         | {"CUB": "not measured"}),
        ("2 · 10^9 32-bit integers in host memory, four H200", gpu_row(
            "host", machine="h200x4", type="u32", memory="pinned", num_gpus=4, algorithm="auto", num_keys=2 * 10**9)),
    ]


def cell(value):
    return value if isinstance(value, str) else f"{value:,.0f}".replace(",", " ")


def table(all_rows):
    lines = [["million keys (pairs) a second", *NAMES], ["---"] + ["---:"] * len(NAMES)]
    lines += [[name, *(cell(found[contender]) for contender in NAMES)] for name, found in all_rows
              if not name.endswith(", CPU")]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def gpu_ratios(machine, suite, low=0, high=math.inf):
    """The time of CUB's faster call over ours, for each case of a suite with that many keys."""
    cases = [c for path in sorted((RESULTS / machine).glob("s*s.json")) for c in load(path)["cases"]]
    return [c.get("ratio_to_cub", c.get("ratio_to_better_cub")) for c in cases
            if c["suite"] == suite and low <= c["num_keys"] <= high and c["verified"]]


def gpu_table(machine, segments):
    """Cases of one GPU won, tied and lost against CUB. `segments` says how many keys the segments have together."""
    sizes = load(RESULTS / machine / "sizes.json")
    gpu = sizes["meta"]["device"].split()[1]
    kinds = len({c["type"] for c in sizes["cases"] if c["suite"] == "sizes"})
    groups = [
        (f"uniform, {kinds} kinds of records, 2^8 to 2^18", gpu_ratios(machine, "sizes", high=2**18)),
        (f"uniform, {kinds} kinds of records, 2^20 to 2^30", gpu_ratios(machine, "sizes", low=2**20)),
        ("2^28 records, even and uneven inputs", gpu_ratios(machine, "local")),
        (f"segments, equal and of zipf's lengths, rows, {segments} keys", gpu_ratios(machine, "segments")),
    ]
    lines = [[f"one {gpu} against CUB", "won", "tied", "lost", "least", "median"], ["---"] + ["---:"] * 5]
    for name, ratios in groups:
        lost = sum(r < 1 / TIE for r in ratios)
        won = sum(r > TIE for r in ratios)
        lines.append([name, won, len(ratios) - won - lost, lost, f"{min(ratios):.2f} x", f"{sorted(ratios)[len(ratios) // 2]:.2f} x"])
    return "\n".join("| " + " | ".join(map(str, line)) + " |" for line in lines)


def mark(name, x, y):
    colour = COLOURS[name]
    if name == "Spansort":
        return f'<circle cx="{x:.1f}" cy="{y}" r="7" fill="{colour}"/>'
    return f'<circle cx="{x:.1f}" cy="{y}" r="5.5" fill="#ffffff" stroke="{colour}" stroke-width="2.5"/>'


def chart(all_rows):
    """A row a case, a mark a contender, rates on a logarithmic axis."""
    left, right, top, step, width = 336, 44, 62, 34, 880
    height = top + step * len(all_rows) + 44
    low, high = 0.0, 5.0

    def position(rate):
        return left + (math.log10(rate) - low) / (high - low) * (width - left - right)

    parts = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" '
             'font-family="DejaVu Sans, Arial, sans-serif" font-size="13" fill="#1f2937">', f'<rect width="{width}" height="{height}" fill="#ffffff"/>',
             f'<text x="16" y="24" font-size="15" font-weight="bold">{TITLE}</text>']
    for i, name in enumerate(NAMES):
        parts += [mark(name, left + 12 + 104 * i, 43), f'<text x="{left + 24 + 104 * i}" y="47.5">{name}</text>']
    bottom = top + step * len(all_rows)
    for power in range(int(low), int(high) + 1):
        x = position(10**power)
        label = f"{10**power:,}".replace(",", " ")
        parts += [f'<line x1="{x:.1f}" y1="{top}" x2="{x:.1f}" y2="{bottom}" stroke="#d1d5db"/>',
                  f'<text x="{x:.1f}" y="{bottom + 20}" text-anchor="middle">{label}</text>']
    for i, (name, found) in enumerate(all_rows):
        y = top + step * i + step // 2
        parts += [f'<text x="{left - 14}" y="{y + 4.5}" text-anchor="end" font-size="12">{name}</text>',
                  f'<line x1="{left}" y1="{y}" x2="{width - right}" y2="{y}" stroke="#e5e7eb"/>']
        measured = {contender: rate for contender, rate in found.items() if not isinstance(rate, str)}
        parts += [mark(each, position(measured[each]), y) for each in reversed(NAMES) if each in measured]
    return "\n".join(parts + ["</svg>"]) + "\n"


def main():
    if sys.argv[1:] not in ([], ["--check"]):
        sys.exit(__doc__)
    all_rows = [row for row in rows() if row[1]["Spansort"] != UNMEASURED]
    page = REPOSITORY / "README.md"
    before, rest = page.read_text().split(BEGIN)
    tables = "\n\n".join([table(all_rows), gpu_table("h100x1", "2^20 and 2^24")])
    wanted = {page: f"{before}{BEGIN}\n{tables}\n{END}{rest.split(END)[1]}", CHART: chart(all_rows)}
    for path, text in wanted.items():
        if "--check" not in sys.argv:
            path.write_text(text)
        elif not path.exists() or path.read_text() != text:
            sys.exit(f"{path.relative_to(REPOSITORY)} is not what the results say; run scripts/speed_table.py")


if __name__ == "__main__":
    main()
