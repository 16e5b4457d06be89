#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Draws the JSON files that ./dev bench gpu made, one folder a machine, as SVG. Needs matplotlib.

usage: scripts/bench_gpu_plots.py bench/results/<gpu>x<count>/*.json ... [--out docs/plots]
Makes, where the suite was measured: <machine>-host.svg, -resident.svg, -phases.svg, -timeline.svg, -distributions.svg,
-local.svg, -small.svg, -sizes.svg, -entropy.svg.
"""
import argparse
import pathlib

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt

from gpu_results import count_text, gpus_text, read_machines

OURS, THEIRS, COPY_IN, COPY_OUT = "#0b6e99", "#b0b7bd", "#c9ced3", "#9aa2a9"
OTHER = "#63b1cf"
PHASE_COLORS = ["#6b7883", "#e0a030", "#5aa469", "#b0569a", "#0b6e99", "#a9b2ba", "#8c6d46", "#d1605e"]
ENTROPIES = {"uniform": 1, "entropy:2": 2, "entropy:3": 3, "entropy:4": 4, "entropy:8": 8, "entropy:16": 16}
STYLE = {
    "font.size": 10, "axes.spines.top": False, "axes.spines.right": False, "axes.axisbelow": True,
    "legend.frameon": False, "svg.hashsalt": "spansort", "svg.fonttype": "none", "figure.constrained_layout.use": True,
}


def title_of(machine, what):
    gpus = max(meta["num_gpus"] for meta in machine.metas)
    return f"{what}\n{gpus} x {machine.metas[0]['device']}"


def label(axes, bars, texts):
    axes.bar_label(bars, labels=texts, padding=2, fontsize=8)


# ---- host to host

def host_cases(machine):
    """{number of GPUs: {algorithm: case}} of pinned uniform u32."""
    found = {}
    for case in machine.suite("host"):
        if case["type"] == "u32" and case["memory"] == "pinned" and case.get("may_pack", True):
            found.setdefault(case["num_gpus"], {})[case["algorithm"]] = case
    return dict(sorted(found.items()))


def median(values):
    return sorted(values)[len(values) // 2]


def plot_host(machine):
    by_count = host_cases(machine)
    if not by_count:
        return None
    figure, axes = plt.subplots(figsize=(7, 4))
    width = 0.26
    for place, cases in enumerate(by_count.values()):
        any_case = next(iter(cases.values()))
        # The copies were timed anew before each case: the fastest is the floor.
        copies = min((case["bare_copies"] for case in cases.values()), key=lambda c: c["median_ms"])
        time_in = median(copies["in_runs_ms"])
        first = place == 0
        axes.bar(place - width, time_in, width, color=COPY_IN, label="bare copies: in" if first else None)
        bars = axes.bar(place - width, copies["median_ms"] - time_in, width, bottom=time_in, color=COPY_OUT,
                        label="bare copies: out" if first else None)
        label(axes, bars, [f"{copies['median_ms']:.0f}"])
        for offset, algorithm, color in ((0, "rmg", OTHER), (width, "auto", OURS)):
            if algorithm not in cases:
                continue
            case = cases[algorithm]
            bars = axes.bar(place + offset, case["median_ms"], width, color=color,
                            label=f"spansort, {algorithm}" if first else None)
            label(axes, bars, [f"{case['median_ms']:.0f}\n{case['ratio_to_bare_copies']:.2f} x"])
    axes.set_xticks(range(len(by_count)), [gpus_text(count) for count in by_count])
    axes.set_ylabel("ms, median")
    axes.margins(y=0.45)  # the legend stands above all bars
    axes.legend(loc="upper right")
    axes.set_title(title_of(machine, f"{count_text(any_case['num_keys'])} uniform u32, host memory to host memory"))
    return figure


# ---- data on the GPUs

def plot_resident(machine):
    cases = [case for case in machine.suite("resident") if case["type"] == "u32"]
    if not cases:
        return None
    figure, axes = plt.subplots(figsize=(7, 3.5))
    counts = sorted({case["num_gpus"] for case in cases})
    width = 0.38
    for offset, sizes, color in ((-width / 2, "as given", OURS), (width / 2, "balanced", OTHER)):
        chosen = [case for case in cases if case["sizes"] == sizes]
        bars = axes.bar([counts.index(case["num_gpus"]) + offset for case in chosen],
                        [case["giga_keys_per_s"] for case in chosen], width, color=color, label=f"shards {sizes}")
        label(axes, bars, [f"{case['giga_keys_per_s']:.0f}\n{case['median_ms']:.1f} ms" for case in chosen])
    axes.set_xticks(range(len(counts)), [gpus_text(count) for count in counts])
    axes.set_ylabel("10$^9$ keys per second")
    axes.margins(y=0.15)
    axes.legend(loc="upper left")
    axes.set_title(title_of(machine, f"{count_text(cases[0]['num_keys'])} uniform u32, on the GPUs already"))
    return figure


# ---- where the time goes

def phase_colors(cases):
    names = []
    for case in cases:
        for entry in case["phases_by_rank"]:
            if entry["phase"] not in names:
                names.append(entry["phase"])
    order = ["copy in", "histogram", "partition", "exchange", "local sort", "copy out"]
    names.sort(key=lambda name: order.index(name) if name in order else len(order))
    return {name: PHASE_COLORS[i % len(PHASE_COLORS)] for i, name in enumerate(names)}


def plot_phases(machine):
    """Busy time of each phase, averaged over the devices, stacked (figure 6 of the paper)."""
    cases = sorted(machine.suite("breakdown"), key=lambda case: case["num_gpus"])
    if not cases:
        return None
    figure, axes = plt.subplots(figsize=(7, 4.2))
    bottoms = [0.0] * len(cases)
    for phase, color in phase_colors(cases).items():
        heights = [sum(entry["busy_ms"] for entry in case["phases_by_rank"] if entry["phase"] == phase) / case["num_gpus"]
                   for case in cases]
        bars = axes.bar(range(len(cases)), heights, 0.5, bottom=bottoms, color=color, label=phase)
        largest = max(case["median_ms"] for case in cases)
        axes.bar_label(bars, labels=[f"{height:.1f}" if height > 0.035 * largest else "" for height in heights],
                       label_type="center", fontsize=8)
        bottoms = [bottom + height for bottom, height in zip(bottoms, heights)]
    for place, case in enumerate(cases):
        axes.plot([place - 0.33, place + 0.33], [case["median_ms"]] * 2, color="black", linewidth=1.6,
                  label="whole call" if place == 0 else None)
        axes.text(place + 0.35, case["median_ms"], f"{case['median_ms']:.0f} ms", va="center", fontsize=9)
    axes.set_xticks(range(len(cases)), [gpus_text(case["num_gpus"]) for case in cases])
    axes.set_xlim(-0.6, len(cases) - 0.2)
    axes.set_ylabel("ms at work per GPU; phases may overlap")
    axes.legend(loc="upper right")
    axes.set_title(title_of(machine, f"Phases of {count_text(cases[0]['num_keys'])} uniform u32, host to host"))
    return figure


def plot_timeline(machine):
    """When each device was in which phase (figure 7 of the paper), for the most GPUs that were measured."""
    cases = machine.suite("breakdown")
    if not cases:
        return None
    case = max(cases, key=lambda c: c["num_gpus"])
    colors = phase_colors([case])
    num_ranks, lanes = case["num_gpus"], len(colors)
    figure, axes = plt.subplots(figsize=(8, 0.9 + 0.9 * num_ranks))
    lane_height = 0.84 / lanes
    for entry in case["phases_by_rank"]:
        lane = list(colors).index(entry["phase"])
        y = entry["rank"] - 0.42 + lane * lane_height
        length = entry["end_ms"] - entry["begin_ms"]
        color = colors[entry["phase"]]
        # Pale: from first start to last end. Full: as much of it as there was work.
        axes.barh(y, length, lane_height, left=entry["begin_ms"], align="edge", color=color, alpha=0.35)
        axes.barh(y, min(entry["busy_ms"], length), lane_height, left=entry["begin_ms"], align="edge", color=color)
    for name, color in colors.items():
        axes.barh(0, 0, color=color, label=name)
    axes.axvline(case["median_ms"], color="black", linewidth=1, linestyle=":")
    axes.set_yticks(range(num_ranks), [case["report"]["ranks"][rank]["device"] for rank in range(num_ranks)])
    axes.set_ylim(num_ranks - 0.5, -0.5)
    axes.set_xlim(0, None)
    axes.set_xlabel("ms; pale: from a phase's first start to its last end, full: time at work in it")
    axes.legend(loc="upper left", bbox_to_anchor=(1, 1))
    axes.set_title(title_of(machine, f"{count_text(case['num_keys'])} uniform u32, host to host, {gpus_text(num_ranks)}"))
    return figure


# ---- inputs, CUB, sizes

def plot_distributions(machine):
    cases = machine.suite("distributions")
    uniform = next((case for case in cases if case["distribution"] == "uniform"), None)
    if uniform is None:
        return None
    figure, axes = plt.subplots(figsize=(9, 3.8))
    ratios = [case["median_ms"] / uniform["median_ms"] for case in cases]
    bars = axes.bar(range(len(cases)), ratios, 0.7, color=[THEIRS if case is uniform else OURS for case in cases])
    fits_inside = min(ratios) > 0.2
    axes.bar_label(bars, labels=[f"{ratio:.2f}" for ratio in ratios], padding=-13 if fits_inside else 2, fontsize=8,
                   color="white" if fits_inside else "black")
    axes.axhline(1, color="black", linewidth=0.8, linestyle=":", zorder=0)
    axes.set_xticks(range(len(cases)), [case["distribution"] for case in cases], rotation=40, ha="right")
    axes.set_ylabel("time over that of uniform keys")
    axes.set_title(title_of(machine, f"{count_text(uniform['num_keys'])} u32, host to host, {gpus_text(uniform['num_gpus'])}; "
                                     f"uniform: {uniform['median_ms']:.0f} ms"))
    return figure


def plot_local(machine):
    """A panel for each type that was raced with several inputs, and one for uniform keys of the others."""
    cases = machine.suite("local")
    if not cases:
        return None
    by_type = {}
    for case in cases:
        by_type.setdefault(case["type"], []).append(case)
    panels = [(kind, [(case["distribution"], case) for case in of]) for kind, of in by_type.items() if len(of) > 1]
    others = [(kind, of[0]) for kind, of in by_type.items() if len(of) == 1]
    if others:
        panels.append((others[0][1]["distribution"], others))
    heights = [len(bars) for _, bars in panels]
    columns = 2 if len(panels) > 1 else 1
    rows = [max(heights[at:at + columns]) for at in range(0, len(panels), columns)]
    figure, grid = plt.subplots(len(rows), columns, figsize=(11, 1 + 0.3 * sum(rows) + 0.5 * len(rows)), squeeze=False,
                                gridspec_kw={"height_ratios": rows})
    for axes in list(grid.flat)[len(panels):]:
        axes.set_visible(False)
    width = 0.4
    for axes, (title, bars) in zip(grid.flat, panels):
        places = range(len(bars))
        ours = axes.barh([place - width / 2 for place in places], [c["giga_keys_per_s"] for _, c in bars], width, color=OURS,
                         label="spansort")
        axes.barh([place + width / 2 for place in places], [c["cub_giga_keys_per_s"] for _, c in bars], width, color=THEIRS,
                  label="CUB")
        # Sorted input is faster by an order of magnitude: a linear axis would show nothing else.
        axes.set_xscale("log")
        axes.xaxis.set_major_locator(matplotlib.ticker.LogLocator(subs=(1, 2, 5)))
        axes.xaxis.set_major_formatter(matplotlib.ticker.FuncFormatter(lambda rate, _: f"{rate:g}"))
        axes.xaxis.set_minor_formatter(matplotlib.ticker.NullFormatter())
        label(axes, ours, [f"{c['ratio_to_cub']:.2f}x" if c["ratio_to_cub"] < 10 else f"{c['ratio_to_cub']:.0f}x" for _, c in bars])
        axes.set_yticks(places, [name for name, _ in bars])
        axes.invert_yaxis()
        axes.margins(x=0.15, y=0.02)
        axes.set_title(title)
    for axes in grid[-1]:
        axes.set_xlabel("10$^9$ keys per second")
    grid.flat[0].legend(loc="lower right", fontsize=8)
    figure.suptitle(title_of(machine, f"{count_text(cases[0]['num_keys'])} keys on one GPU; beside the bars: spansort over CUB"))
    return figure


def plot_small(machine):
    cases = [case for case in machine.suite("small") if case["memory"] == "host"]
    if not cases:
        return None
    types = list(dict.fromkeys(case["type"] for case in cases))
    figure, grid = plt.subplots(1, len(types), figsize=(1.5 + 4.5 * len(types), 4), sharey=True, squeeze=False)
    lines = [("cpu_median_ms", "CPU", "#e0a030", "-"), ("gpu_pinned_median_ms", "GPU, pinned", OURS, "-"),
             ("gpu_pageable_median_ms", "GPU, pageable", OTHER, "-"), ("auto_median_ms", "auto", "#202020", ":")]
    for axes, kind in zip(grid.flat, types):
        of_type = [case for case in cases if case["type"] == kind]
        for field, name, color, style in lines:
            known = [case for case in of_type if field in case]
            axes.plot([case["num_keys"] for case in known], [1e3 * case[field] for case in known], style, marker="o",
                      markersize=3, color=color, label=name)
        over_sizes(axes)
        axes.set_title(kind)
    grid.flat[0].set_ylabel("us of a call that waits")
    grid.flat[0].legend(loc="upper left")
    figure.suptitle(title_of(machine, "Small inputs in host memory"))
    return figure


def over_sizes(axes):
    """Sizes across, on logarithmic axes."""
    axes.set_xscale("log", base=2)
    axes.set_yscale("log")
    axes.yaxis.set_major_formatter(matplotlib.ticker.FuncFormatter(lambda time, _: f"{time:g}"))
    axes.set_xlabel("n")
    axes.grid(color="#e5e8ea")


def plot_sizes(machine):
    """Time over n, a picture a type: the call that waits, and the work on the GPU alone."""
    cases = machine.suite("sizes")
    if not cases:
        return None
    types = [kind for kind in ("u32", "u64", "u32(u32)", "u64(u64)", "u8", "argsort(f32)")
             if any(case["type"] == kind for case in cases)]
    figure, all_axes = plt.subplots(2, 3, figsize=(12, 7), sharex=True, sharey=True)
    lines = [("cub_median_ms", "CUB", THEIRS, "-"), ("median_ms", "spansort", OURS, "-"),
             ("cub_kernels_median_ms", "CUB, kernels alone", THEIRS, ":"), ("kernels_median_ms", "spansort, kernels alone", OURS, ":")]
    for axes, kind in zip(all_axes.flat, types):
        chosen = [case for case in cases if case["type"] == kind]
        for field, name, color, style in lines:
            axes.plot([case["num_keys"] for case in chosen], [1e3 * case[field] for case in chosen], style, marker="o",
                      markersize=3, color=color, label=name)
        over_sizes(axes)
        axes.set_title(kind)
    all_axes.flat[0].legend(loc="upper left")
    for row in all_axes:
        row[0].set_ylabel("us")
    figure.suptitle(title_of(machine, "Uniform keys on one GPU, a call that waits"))
    return figure


def plot_entropy(machine):
    """Rate over the number of random words of which a key is the AND: 1 is uniform, more have less entropy."""
    cases = [case for case in machine.suite("local") if case["distribution"] in ENTROPIES]
    if len({case["distribution"] for case in cases}) < 3:
        return None
    figure, all_axes = plt.subplots(1, 4, figsize=(13, 3.6))
    for axes, kind in zip(all_axes, ("u32", "u64", "u32(u32)", "u64(u64)")):
        chosen = {case["distribution"]: case for case in cases if case["type"] == kind}
        words = [ENTROPIES[name] for name in ENTROPIES if name in chosen]
        for field, name, color in (("cub_giga_keys_per_s", "CUB", THEIRS), ("giga_keys_per_s", "spansort", OURS)):
            axes.plot(words, [chosen[name][field] for name in ENTROPIES if name in chosen], marker="o", markersize=4, color=color,
                      label=name)
        axes.set_xscale("log", base=2)
        axes.set_ylim(bottom=0)
        axes.set_xlabel("random words of which a key is the AND")
        axes.set_title(kind)
        axes.grid(color="#e5e8ea")
    all_axes[0].set_ylabel("10$^9$ keys per second")
    all_axes[0].legend(loc="lower right")
    figure.suptitle(title_of(machine, f"{count_text(cases[0]['num_keys'])} keys on one GPU"))
    return figure


PLOTS = {
    "host": plot_host, "resident": plot_resident, "phases": plot_phases, "timeline": plot_timeline,
    "distributions": plot_distributions, "local": plot_local, "small": plot_small,
    "sizes": plot_sizes, "entropy": plot_entropy,
}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", nargs="+")
    parser.add_argument("--out", default=str(pathlib.Path(__file__).resolve().parent.parent / "docs" / "plots"))
    parser.add_argument("--format", default="svg", help="svg; png to look at")
    arguments = parser.parse_args()
    folder = pathlib.Path(arguments.out)
    folder.mkdir(parents=True, exist_ok=True)
    plt.rcParams.update(STYLE)
    for machine in read_machines(arguments.files):
        for name, plot in PLOTS.items():
            figure = plot(machine)
            if figure is None:
                continue
            path = folder / f"{machine.name}-{name}.{arguments.format}"
            # No date: the same files give the same picture.
            figure.savefig(path, dpi=110, metadata={"Date": None} if arguments.format == "svg" else None)
            plt.close(figure)
            print(path)


if __name__ == "__main__":
    main()
