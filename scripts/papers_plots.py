# SPDX-License-Identifier: Apache-2.0
"""The plots of docs/results.md, for scripts/papers_page.py. They need matplotlib."""
from gpu_results import count_text
from papers_results import contender, contenders, input_bytes, row_label

OVER_SIZE = ("satish-fig3-4", "satish-fig8", "onesweep-fig9-11", "rmg-fig5", "rmg-large-data")
COLORS = ["#0b6e99", "#e0a030", "#5aa469", "#b0569a", "#d1605e", "#8c6d46", "#6b7883", "#63b1cf", "#a8c256", "#3d3d5c", "#f29e8e",
          "#7d5ba6", "#2f4b3c", "#c9ced3"]
STYLE = {"font.size": 9, "axes.spines.top": False, "axes.spines.right": False, "axes.axisbelow": True, "legend.frameon": False,
         "svg.hashsalt": "spansort", "svg.fonttype": "none", "figure.constrained_layout.use": True}


def panel_of(case, figure):
    """Cases that share a panel: of a type and, where the panel's axis is not the size, of a size."""
    size = "" if figure in OVER_SIZE else f", {count_text(case['num_keys'])}"
    return case["type"] + size + (", devices of less memory" if "device_memory_bytes" in case else "")


def draw_lines(plt, cases, figure):
    """Draws a panel a type, rates over the size; or a panel a type and size, over distributions or digit widths."""
    unit = "median_ms" if figure in ("rmg-table2", "rmg-fig8") else "mega_keys_per_s"
    kinds = list(dict.fromkeys(panel_of(case, figure) for case in cases))
    sheet, panels = plt.subplots(1, len(kinds), figsize=(4.2 * len(kinds) + 2.4, 4), squeeze=False)
    names = contenders(cases)
    algorithms = list(dict.fromkeys(name.split(", ", 1)[0] for name in names))
    devices = list(dict.fromkeys(name.split(", ", 1)[1] for name in names))
    for panel, kind in zip(panels[0], kinds):
        of_kind = [case for case in cases if panel_of(case, figure) == kind]
        labels = [f"{case['radix_bits']} bits" if "radix_bits" in case else case["distribution"] for case in of_kind]
        places = [case["num_keys"] for case in of_kind] if figure in OVER_SIZE else range(len(of_kind))
        for name in names:
            algorithm, device = name.split(", ", 1)
            points = [(place, result[unit]) for place, case in zip(places, of_kind) for result in case["results"]
                      if contender(result) == name and unit in result]
            if points:
                panel.plot(*zip(*points), marker=".", linewidth=1.2, color=COLORS[algorithms.index(algorithm) % len(COLORS)],
                           linestyle=["-", "--", ":", "-."][devices.index(device) % 4], label=name)
        if figure in OVER_SIZE:
            panel.set_xscale("log", base=2)
        else:
            panel.set_xticks(list(places), labels, rotation=30)
        panel.set_title(kind)
        panel.set_ylim(bottom=0)
        panel.set_ylabel("ms, median" if unit == "median_ms" else "10^6 a second")
    handles = {label: handle for panel in panels[0] for handle, label in zip(*panel.get_legend_handles_labels())}
    sheet.legend(handles.values(), handles.keys(), loc="outside right center", fontsize=7)
    return sheet


def draw_groups(plt, cases):
    """A group of bars a case, a bar a contender: medians."""
    names = contenders(cases)
    algorithms = list(dict.fromkeys(name.split(", ", 1)[0] for name in names))
    devices = list(dict.fromkeys(name.split(", ", 1)[1] for name in names))
    sheet, panel = plt.subplots(figsize=(2.4 + 1.1 * len(cases), 4))
    width = 0.8 / len(names)
    for index, name in enumerate(names):
        bars = [(place - 0.4 + (index + 0.5) * width, result["median_ms"]) for place, case in enumerate(cases)
                for result in case["results"] if contender(result) == name and "median_ms" in result]
        if bars:
            algorithm, device = name.split(", ", 1)
            panel.bar(*zip(*bars), width, color=COLORS[algorithms.index(algorithm) % len(COLORS)], label=name,
                      alpha=1 - 0.8 * devices.index(device) / len(devices))
    panel.set_xticks(range(len(cases)), [f"{case['type']}\n{case['distribution']}" for case in cases], fontsize=7)
    panel.set_ylabel(f"ms, median, {count_text(cases[0]['num_keys'])} keys")
    sheet.legend(loc="outside right center", fontsize=7)
    return sheet


def draw_memory(plt, cases):
    """A panel a case: the workspace over the input, and as dots what the GPUs count."""
    names = [name for name in contenders(cases)
             if any(contender(result) == name and "workspace_bytes" in result for case in cases for result in case["results"])]
    sheet, panels = plt.subplots(1, len(cases), figsize=(3.2 * len(cases) + 2, 1.2 + 0.2 * len(names)), squeeze=False,
                                 sharey=True)
    for panel, case in zip(panels[0], cases):
        for field, draw_one in (("workspace_bytes", lambda x, y: panel.barh(y, x, color=COLORS[0])),
                                ("gpu_bytes_counted", lambda x, y: panel.plot(x, y, "o", color=COLORS[4], markersize=4))):
            points = [(result[field] / input_bytes(case), names.index(contender(result))) for result in case["results"]
                      if field in result]
            if points:
                draw_one(*zip(*points))
        panel.set_yticks(range(len(names)), names, fontsize=7)
        panel.set_xlabel("times the input; dots: by the GPUs' count" if any(
            "gpu_bytes_counted" in result for result in case["results"]) else "times the input")
        panel.set_title(row_label(case))
    panels[0][0].invert_yaxis()
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
        special = {"rmg-fig6-7": draw_phases, "rmg-data-types": draw_groups, "rmg-memory": draw_memory}
        sheet = special[figure](plt, cases) if figure in special else draw_lines(plt, cases, figure)
        sheet.suptitle(title, fontsize=10)
        sheet.savefig(path, metadata={"Date": None})
        plt.close(sheet)
