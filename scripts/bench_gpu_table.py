#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes the GPU tables of docs/benchmarks.md from the JSON files that ./dev bench gpu made, one folder a machine.

usage: scripts/bench_gpu_table.py bench/results/<gpu>x<count>/*.json ... [--check]
--check: change nothing; exit 1 if the page does not say what the files say.
"""
import pathlib
import sys

from gpu_results import count_text, gpus_text, read_machines

BEGIN = "<!-- gpu-table: made by scripts/bench_gpu_table.py from bench/results -->"
END = "<!-- end gpu-table -->"
SMALL_SIZES = [2**power for power in (10, 12, 14, 16, 18, 20, 22, 24, 26, 28)]


def markdown(header, rows):
    lines = [header, ["---"] * len(header)] + rows
    return ["| " + " | ".join(str(cell) for cell in line) + " |" for line in lines]


def head(machine):
    meta = machine.metas[0]
    gpus = max(m["num_gpus"] for m in machine.metas)
    return [f"**{gpus} x {machine.one('device')}** ({machine.any('host')}, {machine.any('host_threads')} threads, "
            f"driver {machine.any('driver')}, CUDA {meta['runtime_cuda'] // 1000}.{meta['runtime_cuda'] % 1000 // 10}, "
            f"{', '.join(dict.fromkeys(m['date'] + ', commit ' + m['commit'] for m in machine.metas))}; "
            f"`bench/results/{machine.name}/`)"]


def host_table(machine):
    rows = []
    for case in machine.suite("host"):
        copies = case["bare_copies"]["median_ms"]
        algorithm = case["algorithm"] + ("" if case.get("may_pack", True) else ", never packed")
        rows.append([case["type"], count_text(case["num_keys"]), case["memory"], case["num_gpus"], algorithm,
                     f"{case['median_ms']:.1f}", f"{copies:.1f}", f"{case['ratio_to_bare_copies']:.2f}",
                     f"{case['giga_keys_per_s']:.1f}", f"{case['first_call_ms']:.0f}"])
    title = "Host memory to host memory, uniform keys, median ms. Bare copies: everything in, then everything out, nothing sorted."
    header = ["type", "n", "memory", "GPUs", "algorithm", "spansort", "bare copies", "ratio", "G keys/s", "first call"]
    return [title, ""] + markdown(header, rows) if rows else []


def resident_table(machine):
    rows = [[case["type"], count_text(case["num_keys"]), case["num_gpus"], case["sizes"], f"{case['median_ms']:.2f}",
             f"{case['giga_keys_per_s']:.1f}"] for case in machine.suite("resident")]
    header = ["type", "n", "GPUs", "sizes of the shards", "ms", "G keys/s"]
    return ["Keys on the GPUs already, uniform.", ""] + markdown(header, rows) if rows else []


def local_table(machine):
    rows = [[case["type"], case["distribution"], count_text(case["num_keys"]), f"{case['giga_keys_per_s']:.1f}",
             f"{case['cub_giga_keys_per_s']:.1f}", f"{case['ratio_to_cub']:.2f}"] for case in machine.suite("local")]
    header = ["type", "input", "n", "spansort", "CUB", "ratio"]
    title = "One GPU, keys (values) on it already, 10^9 keys per second of a call that waits."
    return [title, ""] + markdown(header, rows) if rows else []


def size_table(machine):
    cases = {(case["type"], case["num_keys"]): case for case in machine.suite("sizes")}
    types = list(dict.fromkeys(kind for kind, _ in cases))
    sizes = sorted({num_keys for _, num_keys in cases})

    def cell(kind, num_keys):
        case = cases.get((kind, num_keys))
        return f"{1e3 * case['median_ms']:.0f} ({case['ratio_to_cub']:.2f})" if case else ""

    rows = [[kind] + [cell(kind, num_keys) for num_keys in sizes] for kind in types]
    title = ("One GPU, uniform keys (values) on it already: microseconds of a call that waits, and in brackets the time of CUB's "
             "call over it. Floats are random bits where nothing else is said. argsort: CUB sorts pairs, and writes the positions before.")
    return [title, ""] + markdown(["type"] + [count_text(n) for n in sizes], rows) if cases else []


def distribution_line(machine):
    cases = machine.suite("distributions")
    uniform = next((case for case in cases if case["distribution"] == "uniform"), None)
    if uniform is None:
        return []
    others = [f"{case['distribution']} {case['median_ms'] / uniform['median_ms']:.2f}" for case in cases
              if case is not uniform]
    return [f"Other inputs, {count_text(uniform['num_keys'])} {uniform['type']} host to host on "
            f"{gpus_text(uniform['num_gpus'])}, time over that of uniform keys ({uniform['median_ms']:.1f} ms): {', '.join(others)}."]


def small_table(machine):
    cases = {(case["type"], case["num_keys"]): case for case in machine.suite("small") if case["memory"] == "host"}
    fields = ("cpu_median_ms", "gpu_pinned_median_ms", "gpu_pageable_median_ms", "auto_median_ms")
    types = list(dict.fromkeys(kind for kind, _ in cases))
    rows = [[kind, count_text(n)] + [f"{1e3 * cases[kind, n][key]:.0f}" if key in cases[kind, n] else "" for key in fields]
            for kind in types for n in SMALL_SIZES if (kind, n) in cases]
    header = ["type", "n", "CPU", "GPU, pinned", "GPU, pageable", "auto"]
    title = "Inputs in host memory, the CPU, one GPU, and what a sorter chooses by itself, microseconds of a call."
    return [title, ""] + markdown(header, rows) if cases else []


def segment_table(machine):
    cases = machine.suite("segments")
    rows = []
    for case in cases:
        better = min(case["cub_segmented_sort_median_ms"], case["cub_segmented_radix_sort_median_ms"])
        kind, what = case["name"].split(",")[0].split(" ", 1)
        rows.append([kind, what, case["num_segments"], count_text(case["num_keys"]), f"{case['median_ms']:.3f}", f"{better:.3f}",
                     f"{case['ratio_to_better_cub']:.2f}"])
    header = ["type", "lengths", "segments", "n", "spansort", "CUB", "ratio"]
    title = ("One GPU, segments of uniform keys (values) on it already: milliseconds of the work on the GPU, and of the faster of "
             "CUB's two segmented sorts.")
    return [title, ""] + markdown(header, rows) if cases else []


def missing_line(machine):
    """Names what was left out, of a suite with much of it the number."""
    missing = machine.missing()
    suites = list(dict.fromkeys(suite for suite, _ in missing))
    parts = []
    for suite in suites:
        names = [name for of, name in missing if of == suite]
        parts.append(f"{len(names)} cases of suite {suite}" if len(names) > 12 else "; ".join(f"{suite} {name}" for name in names))
    return ["Not measured: " + "; ".join(parts) + "."] if missing else []


def section(machine):
    parts = [head(machine), host_table(machine), distribution_line(machine), resident_table(machine),
             size_table(machine), local_table(machine), segment_table(machine), small_table(machine), missing_line(machine)]
    return "\n\n".join("\n".join(part) for part in parts if part)


def main():
    sources = [argument for argument in sys.argv[1:] if argument != "--check"]
    if not sources:
        sys.exit(__doc__)
    machines = read_machines(sources)
    page = pathlib.Path(__file__).resolve().parent.parent / "docs/benchmarks.md"
    text = page.read_text()
    before, rest = text.split(BEGIN)
    _, after = rest.split(END)
    wanted = f"{before}{BEGIN}\n" + "\n\n".join(section(machine) for machine in machines) + f"\n{END}{after}"
    if "--check" in sys.argv:
        sys.exit(0 if wanted == text else f"docs/benchmarks.md does not show {' '.join(sources)}; run {sys.argv[0]}")
    page.write_text(wanted)


if __name__ == "__main__":
    main()
