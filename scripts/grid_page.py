#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes docs/cpu-grid.md and its heat maps, docs/plots/cpu-grid-*.svg, from the JSON of `spansort bench cpu`.

usage: scripts/grid_page.py [--results bench/results] [--page docs/cpu-grid.md] [--plots docs/plots] [--clock wall|cpu]
                            [--summary] [--check]
Reads <results>/<machine>/cpu-grid*.json. The files of a machine that have the same threads and vectors are one run: of a
cell that several have, the newest counts, by date and then by name. A ratio is the least time of the best peer over our
least time; --clock cpu takes the processors' time in place of the wall clock. --summary prints the counts of cells and
writes nothing. --check says whether page and pictures are those that the files make. Wrong results of ours are refused,
those of peers are named and not counted.
"""
import argparse
import os
import pathlib
import sys

import grid_plots
import grid_results
from grid_results import GOAL, ONE_CALL, REUSED

REPOSITORY = pathlib.Path(__file__).resolve().parent.parent
MARK = "<!-- made by scripts/grid_page.py from bench/results/*/cpu-grid*.json -->"
CLOCK_WORDS = {"wall": "the wall clock", "cpu": "the time of all processors"}
HEAD = """# The CPU, cell by cell

{mark}

`./dev bench cpu` sorts every type by every operation, from 2^4 to 2^27 keys, in every distribution of keys below, in turn with
all packaged sorts (`std::sort` alone and in parallel, oneTBB, GCC's parallel mode, Boost, IPS4o, vqsort), with NumPy and with what
else is described to it; the machine's files in `bench/results/` name them all. Of each a result is verified.

A *cell* is a type, a distribution and a size. Its ratio is the time of the fastest peer over ours, by {clock}, least of the runs:
{goal} and more is won, 1.0 and more is tied, less is lost. *One call* is a free function that opens everything in the call; *kept* is a
sorter that is used again. On up to {few} keys the fastest sorts run at the machine's limit: cells lost there by {ns} ns at most are
counted once more in the last column. A pair such as `u32(u32)` is sorted stably by us, and by most peers not. `argsort` gives indices
of 64 bits, stably. Floats have the values of integers where the distribution is one of words; uniform ones are of [0, 1).
"""


def table(header, rows):
    lines = ["| " + " | ".join(header) + " |", "|---|" + "---:|" * (len(header) - 1)]
    return lines + ["| " + " | ".join(map(str, row)) + " |" for row in rows]


def counts_table(label, named):
    """`named`: pairs of a row's name and a function that gives the counts for a way to call."""
    header = [label] + [f"{how}: {part}" for how in ("one call", "kept") for part in ("won", "tied", "lost", "of these by little")]
    return table(header, [[name, *count(ONE_CALL), *count(REUSED)] for name, count in named])


def summary(runs):
    return counts_table("cells", [(run.title(), run.counts) for run in runs])


def worst(run, ours, count=10):
    lost = sorted((cell for cell in run.cells if cell.part(ours) == "lost" and not cell.is_lost_by_little(ours)),
                  key=lambda cell: cell.ratio(ours))
    return [f"{cell.kind} {grid_plots.name_of(cell.distribution)} {grid_plots.size_name(cell.num_keys)} "
            f"{cell.ratio(ours):.2f} ({cell.best_peer})" for cell in lost[:count]]


def reasons(run):
    found = {}
    for (kind, _, _), why in run.left_out.items():
        found.setdefault(why, []).append(kind)
    lines = [f"{len(kinds)} cells have no result: {why}." for why, kinds in found.items()]
    wrong = [f"{name} {cell.kind} {grid_plots.name_of(cell.distribution)} {grid_plots.size_name(cell.num_keys)}"
             for cell in run.cells for name in cell.wrong]
    return lines + ([f"Results of peers that were wrong, and do not count: {'; '.join(wrong)}."] if wrong else [])


def section(run, arguments, pictures):
    lines = [f"## {run.title()}", "", "\n".join(f"- {text}" for text in run.captions()), ""]
    lines += counts_table("type", [(kind, lambda ours, kind=kind: run.counts(ours, kind)) for kind in run.kinds()]) + [""]
    for ours, how in ((ONE_CALL, "one call"), (REUSED, "kept")):
        if worst(run, ours):
            lines += [f"The worst cells, {how}: {'; '.join(worst(run, ours))}.", ""]
    lines += [line for why in reasons(run) for line in (why, "")]
    for kind, cells in run.kinds().items():
        name = kind.replace("(", "-").replace(")", "")
        path = arguments.plots / f"cpu-grid-{run.name()}-{name}.svg"
        title = f"{kind}: ratio to the fastest peer, by {CLOCK_WORDS[run.clock]}. {run.title()}, {run.meta['date']}"
        pictures[path] = grid_plots.draw(cells, title)
        lines += [f"![Ratios of {kind}]({os.path.relpath(path, arguments.page.parent)})", ""]
    return lines


def page(runs, arguments):
    """Returns the page, and the pictures by their paths."""
    pictures = {}
    lines = [HEAD.format(mark=MARK, clock=CLOCK_WORDS[arguments.clock], goal=GOAL, few=grid_results.FEW_KEYS,
                         ns=round(grid_results.FEW_MS * 1e6)), *summary(runs), ""]
    for run in runs:
        lines += section(run, arguments, pictures)
    return "\n".join(lines).rstrip() + "\n", pictures


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--results", type=pathlib.Path, default=REPOSITORY / "bench/results")
    parser.add_argument("--page", type=pathlib.Path, default=REPOSITORY / "docs/cpu-grid.md")
    parser.add_argument("--plots", type=pathlib.Path, default=REPOSITORY / "docs/plots")
    parser.add_argument("--clock", choices=grid_results.CLOCKS, default="wall")
    parser.add_argument("--summary", action="store_true")
    parser.add_argument("--check", action="store_true")
    arguments = parser.parse_args()
    arguments.results = arguments.results.resolve()
    runs = grid_results.runs(arguments.results, arguments.clock)
    if not runs:
        sys.exit(f"no cpu-grid*.json in the folders of {arguments.results}")
    if arguments.summary:
        return print("\n".join(summary(runs)))
    text, pictures = page(runs, arguments)
    there = set(arguments.plots.glob("cpu-grid-*.svg"))
    if arguments.check:
        for path, wanted in ({arguments.page: text} | pictures).items():
            if not path.exists() or path.read_text() != wanted:
                sys.exit(f"{path} is not what the files say: run scripts/grid_page.py")
        if there - set(pictures):
            sys.exit(f"no file of results makes {min(there - set(pictures))}: run scripts/grid_page.py")
        return None
    for path in there - set(pictures):
        path.unlink()
    for path, picture in pictures.items():
        path.write_text(picture)
    return arguments.page.write_text(text)


if __name__ == "__main__":
    main()
