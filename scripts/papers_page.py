#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes docs/results.md and docs/plots/papers-*.svg from the JSON of `spansort bench papers`, the papers' own figures
beside ours.

usage: scripts/papers_page.py [--results bench/results] [--page docs/results.md] [--plots docs/plots] [--tables-only]
                              [--check]
Reads <results>/<machine>/papers*.json and bench/suites/published.json. Plots need matplotlib; with --tables-only they
stay as they are. --check says whether the page is the one that the files make. Results that were not verified are
refused.
"""
import argparse
import html
import json
import os
import pathlib
import sys

from gpu_results import count_text

REPOSITORY = pathlib.Path(__file__).resolve().parent.parent
TITLES = {
    "satish-fig3-4": "Satish, Harris and Garland, figures 3 and 4: rate over size",
    "satish-fig5": "Satish, Harris and Garland, figure 5: restricted key sizes",
    "satish-fig6": "Satish, Harris and Garland, figure 6: entropy",
    "onesweep-fig9-11": "Onesweep, figures 9 to 11: rate over size",
    "onesweep-fig9-11-entropy": "Onesweep, figures 9 to 11: entropy",
    "onesweep-table2": "Onesweep, table 2: digit widths",
    "rmg-fig5": "RMG sort, figure 5: CPU against GPUs",
    "rmg-fig6-7": "RMG sort, figures 6 and 7: phases",
    "rmg-table2": "RMG sort, table 2: distributions",
    "rmg-fig8": "RMG sort, figure 8: skew",
}
OVER_SIZE = ("satish-fig3-4", "onesweep-fig9-11", "rmg-fig5")
HEAD = """# The papers' figures, on today's machines

<!-- made by scripts/papers_page.py from bench/results/*/papers*.json -->

Every algorithm that the papers propose and the sorts they are measured beside, by one program: `spansort bench papers`. All that take
part in a case sort the same input in turns, each result is verified, and numbers are medians of the repeats; the files have all runs. What
an algorithm does not sort on a device is marked `-`, with the reason below the table. Figures of Satish et al. and Onesweep are about one
device, on GPUs with data resident; those of RMG sort go from host memory to host memory. `M/s`: 10^6 keys or pairs a second.
"""


class Result:
    """One JSON file."""

    def __init__(self, path, results):
        self.path = path.relative_to(results.parent.parent) if results.is_relative_to(REPOSITORY) else path
        self.name = "-".join([path.parent.name, *path.stem.split("-")[1:]])
        self.document = json.loads(path.read_text())
        self.meta = self.document["meta"]
        for case in self.document["cases"]:
            for result in case["results"]:
                if not result.get("verified", "refused" in result):
                    sys.exit(f"{path}: {case['figure']}: {result['name']} was wrong")

    def cases(self, figure):
        return [case for case in self.document["cases"] if case["figure"] == figure]

    def left_out(self, figure):
        return [case for case in self.document["left_out"] if case["figure"] == figure]

    def machine(self):
        models = [device["model"] for device in self.meta["devices"]]
        counts = {model: models.count(model) for model in models}
        return ", ".join(model if count == 1 else f"{count} x {model}" for model, count in counts.items())

    def caption(self):
        meta = self.meta
        text = f"`{self.path}`: {self.machine()}, {meta['num_threads']} threads, {meta['date']}, commit {meta['commit']}"
        return text + (f". {meta['notes']}" if meta["notes"] else "")


# ---- tables

def contender(result):
    return f"{result['name']}, {result['devices']}"


def contenders(cases):
    names = []
    for case in cases:
        names += [name for name in map(contender, case["results"]) if name not in names]
    return names


def row_label(case):
    words = [case["type"], case["distribution"], count_text(case["num_keys"])]
    return " ".join(words + ([f"{case['radix_bits']} bits"] if "radix_bits" in case else []))


def number(value):
    return f"{value:.0f}" if value >= 100 else f"{value:.1f}" if value >= 10 else f"{value:.2f}"


def table(header, rows):
    lines = ["| " + " | ".join(header) + " |", "|---" * len(header) + "|"]
    return lines + ["| " + " | ".join(row) + " |" for row in rows]


def folded(summary, lines):
    return [f"<details><summary>{html.escape(summary)}</summary>", "", *lines, "", "</details>", ""]


def reasons(cases, left_out):
    found = {}
    for case in cases:
        for result in case["results"]:
            if "refused" in result:
                found.setdefault((contender(result), result["refused"]), []).append(row_label(case))
    lines = [f"- {who}: {why}" + ("" if len(rows) == len(cases) else f" ({'; '.join(rows)})")
             for (who, why), rows in found.items()]
    by_reason = {}
    for case in left_out:
        by_reason.setdefault(case["reason"], []).append(row_label(case))
    return lines + [f"- left out, {why}: {'; '.join(rows)}" for why, rows in by_reason.items()]


def results_table(cases, unit):
    """A row a contender, a column a case, those of a type side by side."""
    types = [case["type"] for case in cases]
    cases = sorted(cases, key=lambda case: types.index(case["type"]))
    names = contenders(cases)
    values = {(contender(r), row_label(case)): r for case in cases for r in case["results"]}

    def cell(name, row):
        result = values.get((name, row), {})
        return number(result[unit]) if unit in result else "-"

    rows = [[name, *(cell(name, row_label(case)) for case in cases)] for name in names]
    return table([{"median_ms": "ms", "mega_keys_per_s": "M/s"}[unit], *map(row_label, cases)], rows)


def phase_table(cases):
    rows = []
    for case in cases:
        for result in case["results"]:
            for phase in result.get("phases", []):
                rows.append([contender(result), phase["name"], number(phase["elapsed_ms"]), number(phase["busy_ms"]),
                             number(phase["bytes_moved"] / 1e6)])
    return table(["who", "phase", "first start to last end, ms", "busy, all devices, ms", "MB moved"], rows)


def published_table(published):
    rows = [[entry["place"], entry["machine"], entry["what"], f"{entry['value']} {entry['unit']}"] for entry in published]
    return table(["where", "machine", "what", "value"], rows)


# ---- plots

COLORS = ["#0b6e99", "#e0a030", "#5aa469", "#b0569a", "#d1605e", "#8c6d46", "#6b7883", "#63b1cf", "#a8c256", "#3d3d5c", "#f29e8e",
          "#7d5ba6", "#2f4b3c", "#c9ced3"]
STYLE = {"font.size": 9, "axes.spines.top": False, "axes.spines.right": False, "axes.axisbelow": True, "legend.frameon": False,
         "svg.hashsalt": "spansort", "svg.fonttype": "none", "figure.constrained_layout.use": True}


def draw_lines(plt, cases, figure):
    """A panel a type: rates over the size, or over the distributions (digit widths) in their order."""
    unit = "median_ms" if figure in ("rmg-table2", "rmg-fig8") else "mega_keys_per_s"
    types = list(dict.fromkeys(case["type"] for case in cases))
    sheet, panels = plt.subplots(1, len(types), figsize=(4.2 * len(types) + 2.4, 4), squeeze=False)
    names = contenders(cases)
    algorithms = list(dict.fromkeys(name.split(", ", 1)[0] for name in names))
    devices = list(dict.fromkeys(name.split(", ", 1)[1] for name in names))
    for panel, kind in zip(panels[0], types):
        of_type = [case for case in cases if case["type"] == kind]
        labels = [f"{case['radix_bits']} bits" if "radix_bits" in case else case["distribution"] for case in of_type]
        places = [case["num_keys"] for case in of_type] if figure in OVER_SIZE else range(len(of_type))
        for name in names:
            algorithm, device = name.split(", ", 1)
            points = [(place, result[unit]) for place, case in zip(places, of_type) for result in case["results"]
                      if contender(result) == name and unit in result]
            if points:
                panel.plot(*zip(*points), marker=".", linewidth=1.2, color=COLORS[algorithms.index(algorithm) % len(COLORS)],
                           linestyle=["-", "--", ":", "-."][devices.index(device) % 4], label=name)
        if figure in OVER_SIZE:
            panel.set_xscale("log", base=2)
        else:
            panel.set_xticks(list(places), labels, rotation=30)
        panel.set_title(kind if figure in OVER_SIZE else f"{kind}, {count_text(of_type[0]['num_keys'])}")
        panel.set_ylim(bottom=0)
        panel.set_ylabel("ms, median" if unit == "median_ms" else "10^6 a second")
    handles = {label: handle for panel in panels[0] for handle, label in zip(*panel.get_legend_handles_labels())}
    sheet.legend(handles.values(), handles.keys(), loc="outside right center", fontsize=7)
    return sheet


def num_devices(devices):
    kind, _, rest = devices.partition(":")
    return int(rest) if kind == "host" else len(rest.split(",")) if kind == "gpu" else 1


def draw_phases(plt, cases):
    """Bars of the median, and in them how long a device was at each phase, on average."""
    results = [result for result in cases[0]["results"] if "phases" in result]
    phases = list(dict.fromkeys(phase["name"] for result in results for phase in result["phases"]))
    sheet, panel = plt.subplots(figsize=(1.5 + 0.8 * len(results), 4))
    for place, result in enumerate(results):
        panel.bar(place, result["median_ms"], 0.8, fill=False, edgecolor="#6b7883")
        bottom = 0
        for phase in result["phases"]:
            height = phase["busy_ms"] / num_devices(result["devices"])
            panel.bar(place, height, 0.6, bottom=bottom, color=COLORS[phases.index(phase["name"]) % len(COLORS)])
            bottom += height
    for index, name in enumerate(phases):
        panel.bar(0, 0, color=COLORS[index % len(COLORS)], label=name)
    panel.set_xticks(range(len(results)), [contender(result).replace(", ", "\n", 1) for result in results], fontsize=7)
    panel.set_ylabel("ms; frame: median of the sort")
    sheet.legend(loc="outside right center", fontsize=7)
    return sheet


def draw(path, figure, cases, title):
    import matplotlib
    matplotlib.use("Agg")
    import matplotlib.pyplot as plt
    with plt.rc_context(STYLE):
        sheet = draw_phases(plt, cases) if figure == "rmg-fig6-7" else draw_lines(plt, cases, figure)
        sheet.suptitle(title, fontsize=10)
        sheet.savefig(path, metadata={"Date": None})
        plt.close(sheet)


# ---- the page

def section(figure, results, published, arguments):
    lines = [f"## {TITLES[figure]}", ""]
    for result in results:
        cases = [case for case in result.cases(figure) if any("runs_ms" in one for one in case["results"])]
        why_not = reasons(result.cases(figure), result.left_out(figure))
        lines += [f"### {result.name}: {TITLES[figure].split(': ')[1]}", "", result.caption(), ""]
        if cases:
            picture = arguments.plots / f"papers-{result.name}-{figure}.svg"
            if not arguments.tables_only:
                draw(picture, figure, cases, f"{TITLES[figure]}\n{result.machine()}, {result.meta['date']}")
            where = os.path.relpath(picture, arguments.page.parent)
            lines += [f"![{TITLES[figure]}]({where})", ""]
            for unit, name in (("mega_keys_per_s", "rates, M/s"), ("median_ms", "times, ms")):
                lines += folded(f"Table: {name}", results_table(cases, unit))
            if figure == "rmg-fig6-7":
                lines += folded("Table: phases", phase_table(cases))
        if why_not:
            lines += folded("What is missing, and why", why_not)
    own = [entry for entry in published if entry["figure"] == figure]
    return lines + (folded("What the paper says", published_table(own)) if own else [])


def page(arguments):
    paths = sorted(arguments.results.glob("*/papers*.json"))
    if not paths:
        sys.exit(f"no papers*.json in the folders of {arguments.results}")
    results = [Result(path, arguments.results) for path in paths]
    published = json.loads((REPOSITORY / "bench/suites/published.json").read_text())
    lines = [HEAD, *(f"- {result.caption()}" for result in results), ""]
    for figure in TITLES:
        having = [result for result in results if result.cases(figure) or result.left_out(figure)]
        if having:
            lines += section(figure, having, published, arguments)
    return "\n".join(lines).rstrip() + "\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--results", type=pathlib.Path, default=REPOSITORY / "bench/results")
    parser.add_argument("--page", type=pathlib.Path, default=REPOSITORY / "docs/results.md")
    parser.add_argument("--plots", type=pathlib.Path, default=REPOSITORY / "docs/plots")
    parser.add_argument("--tables-only", action="store_true")
    parser.add_argument("--check", action="store_true")
    arguments = parser.parse_args()
    arguments.results = arguments.results.resolve()
    arguments.tables_only = arguments.tables_only or arguments.check
    made = page(arguments)
    if not arguments.check:
        arguments.page.write_text(made)
    elif not arguments.page.exists() or arguments.page.read_text() != made:
        sys.exit(f"{arguments.page} is not what the files say: run scripts/papers_page.py")


if __name__ == "__main__":
    main()
