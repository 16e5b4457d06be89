#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes the tables of docs/larger-than-memory.md from the JSON file that ./dev bench files made.

usage: scripts/bench_files_table.py bench/results/<machine>/files.json [--check]
--check: change nothing; exit 1 if docs/larger-than-memory.md does not say what the file says.
"""
import json
import pathlib
import statistics
import sys

BEGIN = "<!-- files-table: made by scripts/bench_files_table.py from bench/results -->"
END = "<!-- end files-table -->"
SIZES = (("TiB", 1 << 40), ("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10))


def markdown(header, rows):
    lines = [header, ["---"] * len(header)] + rows
    return ["| " + " | ".join(str(cell) for cell in line) + " |" for line in lines]


def size_text(num_bytes):
    for unit, size in SIZES:
        if num_bytes >= size:
            return f"{num_bytes / size:.{0 if num_bytes >= 100 * size else 1}f} {unit}"
    return f"{num_bytes} B"


def seconds(milliseconds):
    return f"{milliseconds / 1e3:.2f}" if milliseconds < 100e3 else f"{milliseconds / 1e3:.0f}"


def runs_text(result):
    return ", ".join(seconds(run["elapsed_ms"]) for run in result["runs"])


def count_text(num_keys):
    power = num_keys.bit_length() - 1
    return f"2^{power}" if num_keys == 1 << power else str(num_keys)


def result_of(case, name):
    """The only result whose name begins so; None where it was not measured."""
    found = [result for result in case["results"] if result["name"].startswith(name)]
    if len(found) > 1:
        sys.exit(f"{case['suite']}: several results begin with '{name}'")
    return found[0] if found else None


def median_of(result, field):
    return statistics.median(run[field] for run in result["runs"])


def peak_text(result, meta):
    """A child's peak begins with that of the program that started it."""
    least = "at most " if result["peak_bytes"] <= meta["least_peak_bytes"] else ""
    return least + size_text(result["peak_bytes"])


def io_cells(result):
    return [size_text(median_of(result, field)) for field in ("disk_read_bytes", "disk_written_bytes")]


def head(document, path):
    meta = document["meta"]
    loads = [case[field] for case in document["cases"] for field in ("load_average_before", "load_average_after")]
    disk = " ".join(filter(None, [meta["disk"]["device"], meta["disk"].get("model"), meta["disk"]["file_system"]]))
    lines = [f"{meta['device']}, {meta['num_threads']} threads, {size_text(meta['memory_bytes'])} of memory, "
             f"disk {disk}, Linux {meta['kernel']}, {meta['date']}, commit {meta['commit']}, "
             f"seed {meta['seed']}; load average {min(loads):.1f} to {max(loads):.1f} (`{path}`)."]
    if meta["not_measured"]:
        lines.append(f"Not at hand and not measured: {', '.join(meta['not_measured'])}.")
    return lines


def measured(case):
    return [result for result in case["results"] if "failed" not in result]


def reason_of(failure):
    """The line that names the error, of all that a program printed."""
    lines = failure.splitlines()
    return next((line for line in lines if "error" in line.lower()), lines[-1])


def failures(case):
    return [line for result in case["results"] if "failed" in result
            for line in ("", f"{result['name']}{version_text(result)} failed: {reason_of(result['failed'])}")]


def larger_table(case, meta):
    rows = []
    for result in case["results"]:
        io = ["2 x", "2 x"] if result.get("is_floor") else io_cells(result)
        peak = "" if result.get("is_floor") else peak_text(result, meta)
        rows.append([result["name"], seconds(result["median_ms"]), runs_text(result),
                     f"{result['median_ms'] / case['floor_ms']:.2f}", peak, *io])
    title = (f"{count_text(case['num_keys'])} keys, {size_text(case['size_bytes'])}, larger than the memory allowed. "
             "Floor: two reads and two writes of the disk of as many bytes, the faster of the two ways.")
    header = ["", "s, median", "all runs", "over the floor", "peak memory", "read", "written"]
    return [title, "", *markdown(header, rows)]


def sum_of_parts_ms(case):
    """Reading, sorting and writing one after the other; the sort as spansort reports it."""
    ours = result_of(case, "spansort")
    phases = [sum(ms for name, ms in run["phases_ms"].items() if name not in ("read", "write")) for run in ours["runs"]]
    parts = [result_of(case, name)["median_ms"] for name in ("dd, reading", "dd, writing")]
    return statistics.median(phases), sum(parts) + statistics.median(phases)


def fits_table(case, meta):
    in_memory_ms, parts_ms = sum_of_parts_ms(case)
    rows = [[result["name"] + version_text(result), seconds(result["median_ms"]), runs_text(result),
             f"{result['median_ms'] / parts_ms:.2f}", peak_text(result, meta)] for result in measured(case)]
    alone = ["spansort, its sort in memory alone", seconds(in_memory_ms), "", f"{in_memory_ms / parts_ms:.2f}", ""]
    rows.insert(1, alone)
    rows.append(["reading + sort in memory + writing", seconds(parts_ms), "", "1.00", ""])
    title = f"{count_text(case['num_keys'])} keys, {size_text(case['size_bytes'])}, which fit in memory."
    header = ["", "s, median", "all runs", "over reading + sorting + writing", "peak memory"]
    return [title, "", *markdown(header, rows), *failures(case)]


def version_text(result):
    version = result.get("version", "").split()
    return f" ({version[-1]})" if version else ""


def peers_table(case, meta):
    ours = result_of(case, "spansort")
    rows = [[result["name"] + version_text(result), size_text(result.get("input_bytes", case["size_bytes"])),
             seconds(result["median_ms"]), runs_text(result), f"{result['median_ms'] / ours['median_ms']:.1f}",
             peak_text(result, meta), *io_cells(result)] for result in measured(case)]
    title = f"{count_text(case['num_keys'])} keys, larger than the memory allowed, next to others that sort such files."
    header = ["", "input", "s, median", "all runs", "over spansort", "peak memory", "read", "written"]
    return [title, "", *markdown(header, rows), *failures(case)]


TABLES = {"larger": larger_table, "fits": fits_table, "peers": peers_table}


def section(path):
    document = json.loads(pathlib.Path(path).read_text())
    parts = [head(document, path)] + [TABLES[case["suite"]](case, document["meta"]) for case in document["cases"]]
    return "\n\n".join("\n".join(part) for part in parts)


def main():
    sources = [argument for argument in sys.argv[1:] if argument != "--check"]
    if len(sources) != 1:
        sys.exit(__doc__)
    page = pathlib.Path(__file__).resolve().parent.parent / "docs" / "larger-than-memory.md"
    text = page.read_text()
    before, rest = text.split(BEGIN)
    _, after = rest.split(END)
    wanted = f"{before}{BEGIN}\n{section(sources[0])}\n{END}{after}"
    if "--check" in sys.argv:
        sys.exit(0 if wanted == text else f"docs/larger-than-memory.md does not show {sources[0]}; run {sys.argv[0]}")
    page.write_text(wanted)


if __name__ == "__main__":
    main()
