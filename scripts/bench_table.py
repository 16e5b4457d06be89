#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes the table of CPU results of docs/benchmarks.md from the JSON files that ./dev bench cpu made on one machine.

usage: scripts/bench_table.py bench/results/<machine>/cpu*.json [--check]
--check: change nothing; exit 1 if the page does not say what the files say.
"""
import json
import pathlib
import sys

BEGIN = "<!-- cpu-table: made by scripts/bench_table.py from bench/results -->"
END = "<!-- end cpu-table -->"
OURS = "spansort, reused sorter"
ONE_CALL = "spansort, one call"
# The second name is that of older files.
RMG = ("spansort rmg host:2", "spansort rmg cpu:2")


def rate(results, *names):
    return next((r["million_keys_per_s"] for r in results if r["name"] in names), None)


def row(case):
    results = case["results"]
    peers = [r for r in results if not r["name"].startswith("spansort")]
    best = max(peers, key=lambda r: r["million_keys_per_s"])
    ours = rate(results, OURS)
    power = case["num_keys"].bit_length() - 1
    cells = [case["type"], case["distribution"], f"2^{power}", f"{ours:.0f}", f"{rate(results, ONE_CALL):.0f}",
             f"{rate(results, *RMG):.0f}", f"{best['million_keys_per_s']:.0f} ({best['name']})",
             f"{ours / best['million_keys_per_s']:.1f}"]
    return "| " + " | ".join(cells) + " |"


def table(documents, sources):
    meta = documents[0]["meta"]
    cases = [case for document in documents for case in document["cases"] if len(case["results"]) > 3]
    lines = [
        f"Million keys (pairs) per second, median; {meta['device']}, {meta['num_threads']} threads, "
        f"{meta['vector_target']}, {meta['date']}, commit {meta['commit']} (`{sources}`).",
        "",
        "| type | input | n | spansort | one call, buffers new | rmg, host:2 | best packaged peer | ratio |",
        "|---|---|---|---|---|---|---|---|",
    ]
    return "\n".join(lines + [row(case) for case in cases])


def main():
    sources = [argument for argument in sys.argv[1:] if argument != "--check"]
    if not sources:
        sys.exit(__doc__)
    documents = [json.loads(pathlib.Path(source).read_text()) for source in sources]
    if len({(d["meta"]["device"], d["meta"]["commit"]) for d in documents}) != 1:
        sys.exit("these files are of different machines or commits: " + " ".join(sources))
    page = pathlib.Path(__file__).resolve().parent.parent / "docs/benchmarks.md"
    text = page.read_text()
    before, rest = text.split(BEGIN)
    _, after = rest.split(END)
    wanted = f"{before}{BEGIN}\n{table(documents, ' '.join(sources))}\n{END}{after}"
    if "--check" in sys.argv:
        sys.exit(0 if wanted == text else f"docs/benchmarks.md does not show {' '.join(sources)}; run {sys.argv[0]}")
    page.write_text(wanted)


if __name__ == "__main__":
    main()
