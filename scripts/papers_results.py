# SPDX-License-Identifier: Apache-2.0
"""The files of `spansort bench papers`, those of a machine taken together, and what their cases are called."""
import json
import pathlib
import sys

from gpu_results import count_text

REPOSITORY = pathlib.Path(__file__).resolve().parent.parent


class Run:
    """One JSON file."""

    def __init__(self, path, results):
        self.path = path.relative_to(results.parent.parent) if results.is_relative_to(REPOSITORY) else path
        self.document = json.loads(path.read_text())
        self.meta = self.document["meta"]
        for case in self.document["cases"]:
            case["run"] = self
            for result in case["results"]:
                if not result.get("verified", "refused" in result):
                    sys.exit(f"{path}: {case['figure']}: {result['name']} was wrong")

    def models(self):
        models = [device["model"] for device in self.meta["devices"]]
        counts = {model: models.count(model) for model in models}
        return ", ".join(model if count == 1 else f"{count} x {model}" for model, count in counts.items())

    def caption(self):
        meta = self.meta
        text = f"`{self.path}`: {self.models()}, {meta['num_threads']} threads, {meta['date']}, commit {meta['commit']}"
        return text + (f". {meta['notes']}" if meta["notes"] else "")


def is_measured(case):
    return any("runs_ms" in result for result in case["results"])


def name_of(case):
    return (case["figure"], case["type"], case["distribution"], case["num_keys"], case.get("radix_bits"),
            case.get("device_memory_bytes"))


# A figure shows these of another one's cases where it has none with the same input, as in earlier files.
ALSO_IN = {
    "satish-fig8": ("satish-fig3-4", ("u32(u32)",), {"single", "satish_radix", "satish_merge", "cub", "thrust", "gnu_parallel", "tbb",
                                                     "std_par", "std_sort", "vqsort"}),
    "rmg-memory": ("rmg-fig6-7", ("u32",), {"rmg", "p2p_merge", "het_merge"}),
}


def in_figure(case, figure):
    other, types, names = ALSO_IN[figure]
    if case["figure"] != other or case["type"] not in types:
        return None
    return case | {"figure": figure, "place": -1, "results": [one for one in case["results"] if one["name"] in names]}


def with_other_devices(case, earlier):
    """Adds what an earlier run has of devices that this one left out."""
    devices = {result["devices"] for result in case["results"]}
    kept = [result for result in (earlier or {}).get("results", []) if result["devices"] not in devices]
    if not kept:
        return case
    return case | {"results": case["results"] + kept, "more_runs": [earlier["run"], *earlier.get("more_runs", ())]}


class Machine:
    """All files of a machine's folder."""

    def __init__(self, name, runs):
        self.name = name
        self.runs = sorted(runs, key=lambda run: (run.meta["date"], run.path.name))
        found = {}
        for run in self.runs:
            for case in run.document["cases"]:
                if is_measured(case) or name_of(case) not in found:
                    found[name_of(case)] = with_other_devices(case, found.get(name_of(case)))
        self.all_cases = list(found.values())
        left_out = {name_of(case): case for run in self.runs for case in run.document["left_out"]}
        self.all_left_out = [case for name, case in left_out.items() if name not in found]

    def cases(self, figure):
        # A file without places has its cases in order.
        own = sorted((case for case in self.all_cases if case["figure"] == figure), key=lambda case: case.get("place", 0))
        names = {name_of(case) for case in own}
        more = [in_figure(case, figure) for case in self.all_cases if figure in ALSO_IN]
        return [case for case in more if case and name_of(case) not in names and is_measured(case)] + own

    def left_out(self, figure):
        return [case for case in self.all_left_out if case["figure"] == figure]

    def models(self):
        return self.runs[-1].models()

    def captions(self, cases, left_out):
        """The files that have a part in a figure."""
        wanted = [run for run in self.runs if any(run in (case["run"], *case.get("more_runs", ())) for case in cases)]
        return [run.caption() for run in wanted or (self.runs if left_out else [])]


def contender(result):
    return f"{result['name']}, {result['devices']}"


def contenders(cases):
    names = []
    for case in cases:
        names += [name for name in map(contender, case["results"]) if name not in names]
    return names


def row_label(case):
    words = [case["type"], case["distribution"], count_text(case["num_keys"])]
    if "radix_bits" in case:
        words.append(f"{case['radix_bits']} bits")
    if "device_memory_bytes" in case:
        words.append(f"in {case['device_memory_bytes'] >> 20} MiB a device")
    return " ".join(words)


def input_bytes(case):
    bits = [int(word.strip("uif)")) for word in case["type"].split("(")]
    return case["num_keys"] * sum(bits) // 8
