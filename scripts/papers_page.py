#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes docs/results.md and docs/plots/papers-*.svg from the JSON of `spansort bench papers`, the papers' own figures
beside ours.

usage: scripts/papers_page.py [--results bench/results] [--page docs/results.md] [--plots docs/plots] [--tables-only]
                              [--check]
Reads <results>/<machine>/papers*.json and bench/suites/published.json. The files of a machine are taken together: of a
case that several have, the newest counts, by date and then by name, and an earlier one for devices that it left out.
Plots need matplotlib; with --tables-only they stay as they are. --check says whether the page is the one that the files
make. Results that were not verified are refused.
"""
import argparse
import html
import json
import os
import pathlib
import sys

import papers_plots
from papers_results import REPOSITORY, Machine, Run, contender, contenders, input_bytes, is_measured, row_label

TITLES = {
    "satish-fig3-4": "Satish, Harris and Garland, figures 3 and 4: rate over size",
    "satish-fig5": "Satish, Harris and Garland, figure 5: restricted key sizes",
    "satish-fig6": "Satish, Harris and Garland, figure 6: entropy",
    "satish-fig8": "Satish, Harris and Garland, figure 8: GPU against CPU",
    "onesweep-fig9-11": "Onesweep, figures 9 to 11: rate over size",
    "onesweep-fig9-11-entropy": "Onesweep, figures 9 to 11: entropy",
    "onesweep-table2": "Onesweep, table 2: digit widths",
    "rmg-fig5": "RMG sort, figure 5: CPU against GPUs",
    "rmg-fig6-7": "RMG sort, figures 6 and 7: phases",
    "rmg-large-data": "RMG sort, section 5.2: large data",
    "rmg-table2": "RMG sort, table 2: distributions",
    "rmg-fig8": "RMG sort, figure 8: skew",
    "rmg-data-types": "RMG sort, section 5.3: data types",
    "rmg-memory": "RMG sort, section 5: memory",
}
HEAD = """# The papers' figures, on today's machines

<!-- made by scripts/papers_page.py from bench/results/*/papers*.json -->

Every algorithm that the papers propose and the sorts they are measured beside, by one program: `spansort bench papers`. All that take
part in a case sort the same input in turns, of each a result is verified, and numbers are medians of the repeats; the files have all runs.
An input that several figures show is measured once for all of them. What an algorithm does not sort on a device is marked `-`, with the
reason below the table. Figures of Satish et al. and Onesweep are about one device, on GPUs with data resident; those of RMG sort go from
host memory to host memory. `M/s`: 10^6 keys or pairs a second. A star marks what ran once because it took long: often that was its first
call, which also opens devices and takes (and on GPUs pins) memory.
"""


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
        star = "*" if len(result.get("runs_ms", ())) == 1 else ""
        return number(result[unit]) + star if unit in result else "-"

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


def memory_table(cases):
    rows = []
    for case in cases:
        for result in case["results"]:
            if "workspace_bytes" not in result:
                continue
            both = [result["workspace_bytes"], result.get("gpu_bytes_counted")]
            rows.append([contender(result), row_label(case), number(input_bytes(case) / 1e6)] +
                        [text for bytes_ in both for text in
                         (("-", "-") if bytes_ is None else (number(bytes_ / 1e6), f"{bytes_ / input_bytes(case):.2f}"))])
    return table(["who", "input", "input, MB", "workspace by its report, MB", "times the input",
                  "taken by the GPUs' count, MB", "times the input"], rows)


def published_table(published):
    rows = [[entry["place"], entry["machine"], entry["what"], f"{entry['value']} {entry['unit']}"] for entry in published]
    return table(["where", "machine", "what", "value"], rows)


def tables(figure, cases):
    if figure == "rmg-memory":
        return folded("Table: memory", memory_table(cases))
    lines = []
    for unit, name in (("mega_keys_per_s", "rates, M/s"), ("median_ms", "times, ms")):
        lines += folded(f"Table: {name}", results_table(cases, unit))
    return lines + (folded("Table: phases", phase_table(cases)) if figure == "rmg-fig6-7" else [])


def section(figure, machines, published, arguments):
    lines = [f"## {TITLES[figure]}", ""]
    for machine in machines:
        all_cases, left_out = machine.cases(figure), machine.left_out(figure)
        cases = [case for case in all_cases if is_measured(case)]
        captions = machine.captions(all_cases, left_out)
        lines += [f"### {machine.name}: {TITLES[figure].split(': ')[1]}", "", *("\n\n".join(captions).split("\n")), ""]
        if cases:
            picture = arguments.plots / f"papers-{machine.name}-{figure}.svg"
            if not arguments.tables_only:
                dates = " and ".join(sorted({case["run"].meta["date"] for case in cases}))
                papers_plots.draw(picture, figure, cases, f"{TITLES[figure]}\n{machine.models()}, {dates}")
            where = os.path.relpath(picture, arguments.page.parent)
            lines += [f"![{TITLES[figure]}]({where})", "", *tables(figure, cases)]
        why_not = reasons(all_cases, left_out)
        if why_not:
            lines += folded("What is missing, and why", why_not)
    own = [entry for entry in published if entry["figure"] == figure]
    return lines + (folded("What the paper says", published_table(own)) if own else [])


def page(arguments):
    paths = sorted(arguments.results.glob("*/papers*.json"))
    if not paths:
        sys.exit(f"no papers*.json in the folders of {arguments.results}")
    folders = sorted({path.parent for path in paths})
    machines = [Machine(folder.name, [Run(path, arguments.results) for path in paths if path.parent == folder])
                for folder in folders]
    published = json.loads((REPOSITORY / "bench/suites/published.json").read_text())
    lines = [HEAD, *(f"- {run.caption()}" for machine in machines for run in machine.runs), ""]
    for figure in TITLES:
        having = [machine for machine in machines if machine.cases(figure) or machine.left_out(figure)]
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
