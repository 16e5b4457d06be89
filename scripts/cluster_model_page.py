#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes the tables of docs/design/0008-cluster-model.md from the JSON file that cluster_model.py made, or draws them.

usage: scripts/cluster_model_page.py bench/results/<machine>/cluster-model.json [--check]
       scripts/cluster_model_page.py bench/results/<machine>/cluster-model.json --plot docs/plots/cluster-model.svg
--check: change nothing; exit 1 if the page does not say what the file says. --plot needs matplotlib.
"""
import argparse
import json
import pathlib
import sys

from cluster_model import SIZES, STRONG_LOG2, WEAK_LOG2
from mpi_results import LSD, count_text

PAGE = pathlib.Path(__file__).resolve().parent.parent / "docs" / "design" / "0008-cluster-model.md"
BEGIN = "<!-- cluster-model: made by scripts/cluster_model_page.py from bench/results -->"
END = "<!-- end cluster-model -->"
SHOWN_NETWORKS = ("100 Gbit/s", "400 Gbit/s, 2:1")
STYLE = {
    "font.size": 10, "axes.spines.top": False, "axes.spines.right": False, "axes.axisbelow": True,
    "legend.frameon": False, "svg.hashsalt": "spansort", "svg.fonttype": "none", "figure.constrained_layout.use": True,
}


def seconds_text(seconds):
    if seconds >= 9.95:
        return f"{seconds:.0f} s"
    if seconds >= 0.995:
        return f"{seconds:.1f} s"
    return f"{seconds * 1e3:.0f} ms" if seconds >= 0.00995 else f"{seconds * 1e3:.1f} ms"


def bytes_text(count):
    for unit in ("B", "KiB", "MiB", "GiB"):
        if count < 1024 or unit == "GiB":
            return f"{count:.0f} {unit}" if count >= 10 or unit == "B" else f"{count:.1f} {unit}"
        count /= 1024
    return None


def markdown(header, rows):
    lines = [header, ["---"] * len(header)] + rows
    return ["| " + " | ".join(str(cell) for cell in line) + " |" for line in lines]


def total(parts):
    return sum(parts.values())


def time_rows(document, scaling, network):
    rows = []
    for case in document["cases"]:
        if case["scaling"] != scaling:
            continue
        one = case["networks"][network]
        given = one["as given"]
        cells = [seconds_text(given[part]) for part in ("local", "planner", "index", "exchange")]
        cells += [seconds_text(total(one[which])) for which in ("as given", "balanced", LSD, "summed")]
        rows.append([case["num_nodes"], count_text(case["part_pairs"]), *cells])
    return rows


def plan_rows(document):
    rows = []
    for case in document["cases"]:
        if case["scaling"] != "weak":
            continue
        for sizes in SIZES:
            plan = case["plans"][sizes]
            rows.append([case["num_nodes"], sizes, case["radix_bits"], len(plan["passes"]),
                         f"{plan['partitioned_times']:.2f}", bytes_text(plan["summed_bytes"]),
                         bytes_text(plan["expected_summed_bytes"]), f"{plan['planner_cells'] / 1e3:.0f}",
                         seconds_text(plan["planner_ms"] / 1e3) + ("" if plan["is_planned"] else " (extrapolated)")])
    return rows


def exchange_rows(document):
    rows = []
    for case in document["cases"]:
        if not any("exchange_simulated" in one for one in case["networks"].values()):
            continue
        cells = [case["scaling"], case["num_nodes"], bytes_text(case["pair_message_bytes"])]
        for name in SHOWN_NETWORKS:
            one = case["networks"][name]
            simulated = one["exchange_simulated"]
            cells += [seconds_text(seconds) for seconds in (one["exchange_by_formula_s"], simulated["seconds"],
                                                            simulated["blocking_seconds"])]
        rows.append(cells)
    return rows


def tables(document, path):
    meta = document["meta"]
    rates = meta["rates_of_a_core"]
    parts = [f"Local rates, measured on one core ({meta['device']}, commit {meta['commit']}): histogram "
             f"{rates['histogram'] / 1e9:.1f} GB/s, partition {rates['partition'] / 1e9:.1f} GB/s read plus written, "
             f"local sort {rates['sorted_pairs'] / 1e6:.0f} million pairs a second. All below is computed "
             f"from them (`{path}`)."]
    header = ["nodes", "sizes", "digit bits", "passes", "times a key is partitioned", "counts summed",
              "by formula", "thousand buckets", "planner"]
    title = f"Plans of `distributed_rmg`, {count_text(1 << WEAK_LOG2)} pairs a node:"
    parts.append("\n".join([title, "", *markdown(header, plan_rows(document))]))
    header = ["nodes", "pairs a node", "rmg: local", "planner", "index", "exchange", "rmg", "rmg, balanced",
              "lsd, r = 16", "borders alone"]
    for scaling, title in (("weak", f"Weak scaling, {count_text(1 << WEAK_LOG2)} pairs (4 GiB) a node"),
                           ("strong", f"Strong scaling, {count_text(1 << STRONG_LOG2)} pairs (1 TiB)")):
        for network in SHOWN_NETWORKS:
            rows = time_rows(document, scaling, network)
            parts.append("\n".join([f"{title}, {network}:", "", *markdown(header, rows)]))
    header = ["scaling", "nodes", "bytes of a pair of nodes"]
    header += [text for name in SHOWN_NETWORKS for text in (f"{name}: formula", "simulated", "blocking")]
    parts.append("\n".join(["The exchange alone:", ""] + markdown(header, exchange_rows(document))))
    return "\n\n".join(parts)


def write_page(path, is_check):
    document = json.loads(pathlib.Path(path).read_text())
    if not document["meta"].get("computed") or document["meta"]["model"] != "cluster":
        sys.exit(f"{path}: not a result of scripts/cluster_model.py")
    text = PAGE.read_text()
    before, rest = text.split(BEGIN)
    _, after = rest.split(END)
    wanted = f"{before}{BEGIN}\n{tables(document, path)}\n{END}{after}"
    if is_check:
        sys.exit(0 if wanted == text else f"{PAGE.name} does not show {path}; run {sys.argv[0]}")
    PAGE.write_text(wanted)


def plot(path, picture):
    import matplotlib  # the computation itself needs no more than Python

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    plt.rcParams.update(STYLE)
    document = json.loads(pathlib.Path(path).read_text())
    figure, panels = plt.subplots(1, 2, figsize=(11, 4.6))
    for axes, scaling in zip(panels, ("weak", "strong")):
        cases = [case for case in document["cases"] if case["scaling"] == scaling]
        nodes = [case["num_nodes"] for case in cases]
        for network, dash in (("100 Gbit/s", "-"), ("400 Gbit/s, 2:1", "--")):
            for algorithm, color, name in (("as given", "#0b6e99", "rmg"), ("balanced", "#e0a030", "rmg, balanced"),
                                           (LSD, "#b0569a", "lsd, r = 16"), ("summed", "#5aa469", "borders alone")):
                axes.plot(nodes, [total(case["networks"][network][algorithm]) for case in cases], dash, marker="o",
                          markersize=3, color=color, label=f"{name}; {network}")
        axes.set_xscale("log", base=2)
        axes.set_yscale("log")
        axes.yaxis.set_major_formatter(matplotlib.ticker.FuncFormatter(lambda seconds, _: f"{seconds:g}"))
        axes.set_xticks(nodes, [str(count) for count in nodes])
        axes.minorticks_off()
        axes.set_xlabel("nodes")
        axes.set_ylabel("seconds, computed")
        axes.grid(color="#e5e8ea")
    panels[0].set_title(f"weak scaling, {count_text(1 << WEAK_LOG2)} pairs a node")
    panels[1].set_title(f"strong scaling, {count_text(1 << STRONG_LOG2)} pairs")
    panels[1].legend(fontsize=8)
    figure.suptitle("Computed, not measured: 16-byte pairs, uniform keys, nodes of 64 cores", fontsize=10)
    is_svg = picture.endswith(".svg")
    figure.savefig(picture, dpi=110, metadata={"Date": None} if is_svg else None)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("file")
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--plot")
    arguments = parser.parse_args()
    if arguments.plot:
        plot(arguments.file, arguments.plot)
    else:
        write_page(arguments.file, arguments.check)


if __name__ == "__main__":
    main()
