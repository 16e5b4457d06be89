#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Prints tables of a JSON file that ./dev bench python made, and draws it.

usage: scripts/bench_python_table.py FILE.json [--svg FILE.svg]
A cell is Spansort's time by the median of its runs, and how many times as long each peer takes. The picture has a panel an
operation: how many times as fast as the best peer, by size, a line a type.
"""
import argparse
import json
import pathlib


def parse():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("file")
    parser.add_argument("--svg")
    return parser.parse_args()


def count_text(num_keys):
    power = num_keys.bit_length() - 1
    return f"2^{power}" if num_keys == 1 << power else str(num_keys)


def time_text(microseconds):
    for unit, size in (("s", 1e6), ("ms", 1e3)):
        if microseconds >= size:
            return f"{microseconds / size:.3g} {unit}"
    return f"{microseconds:.3g} us"


def medians(cell):
    return {result["name"]: result["median_us"] for result in cell["results"]}


def best_ratio(cell):
    """How many times as fast as the fastest of the others."""
    times = medians(cell)
    return min(value for name, value in times.items() if not name.startswith("spansort")) / times["spansort"]


def operations_of(document):
    return list(dict.fromkeys(cell["operation"] for cell in document["cells"]))


def tables(document):
    peers = ", ".join(f"{name} {version}" for name, version in document["peers"].items())
    yield (f"**{document['device']}**, {document['num_threads']} threads, {document['date']}, commit {document['commit']}; "
           f"Python {document['python']}, {peers}; load {document['load_average_before']:.1f} at the begin")
    for operation in operations_of(document):
        cells = [cell for cell in document["cells"] if cell["operation"] == operation]
        names = list(dict.fromkeys(name for cell in cells for name in medians(cell) if name != "spansort"))
        yield f"\n| {operation} | n | Spansort | " + " | ".join(names) + " |"
        yield "| --- | ---: " + "| ---: " * (len(names) + 1) + "|"
        for cell in cells:
            times = medians(cell)
            ratios = [f"{times[name] / times['spansort']:.2f}" if name in times else "" for name in names]
            head = [cell["dtype"], count_text(cell["num_keys"]), time_text(times["spansort"])]
            yield "| " + " | ".join(head + ratios) + " |"


def draw(document, path):
    import matplotlib

    matplotlib.use("svg")
    matplotlib.rcParams["svg.hashsalt"] = "spansort"
    import matplotlib.pyplot as plt

    names = operations_of(document)
    figure, panels = plt.subplots(1, len(names), figsize=(2.4 * len(names) + 1, 3), sharey=True, squeeze=False)
    for axes, operation in zip(panels[0], names):
        for dtype in dict.fromkeys(cell["dtype"] for cell in document["cells"]):
            cells = [cell for cell in document["cells"] if (cell["operation"], cell["dtype"]) == (operation, dtype)]
            axes.plot([cell["num_keys"] for cell in cells], [best_ratio(cell) for cell in cells], marker="o", label=dtype)
        axes.axhline(1, color="0.5", linewidth=1)
        axes.set(title=operation, xlabel="elements")
        axes.set_xscale("log", base=2)
        axes.set_yscale("log", base=2)
    panels[0][0].set_ylabel("times as fast as the best peer")
    panels[0][-1].legend(fontsize="small")
    figure.suptitle(f"{document['device']}, {document['num_threads']} threads, {document['date']}", fontsize="small")
    figure.tight_layout()
    figure.savefig(path, metadata={"Date": None})


def main():
    arguments = parse()
    document = json.loads(pathlib.Path(arguments.file).read_text(encoding="utf-8"))
    print("\n".join(tables(document)))
    if arguments.svg:
        draw(document, arguments.svg)


if __name__ == "__main__":
    main()
