# SPDX-License-Identifier: Apache-2.0
"""Reads the JSON files of ./dev bench gpu: all files of a folder are one machine's. For bench_gpu_table.py and bench_gpu_plots.py."""
import json
import pathlib
import sys


class Machine:
    """The cases of one machine, from one or several files."""

    def __init__(self, name):
        self.name = name
        self.files = []
        self.metas = []
        self.cases = {}
        self.left_out = {}

    def add(self, path, document):
        self.files.append(path)
        self.metas.append(document["meta"])
        for case in document["cases"]:
            key = (case["suite"], case["name"])
            if not case["verified"]:
                sys.exit(f"{path}: {' '.join(key)}: the result was wrong")
            if key in self.cases:
                sys.exit(f"{path}: {' '.join(key)} is in another file of this machine too")
            self.cases[key] = case
        for case in document["left_out"]:
            self.left_out[case["suite"], case["name"]] = case["reason"]

    def suite(self, name):
        return [case for (suite, _), case in self.cases.items() if suite == name]

    def missing(self):
        return [key for key in self.left_out if key not in self.cases]

    def one(self, field):
        """A field of the metadata on which all files agree."""
        found = {str(meta[field]) for meta in self.metas}
        if len(found) != 1:
            sys.exit(f"{self.name}: the files differ in '{field}': {', '.join(sorted(found))}")
        return self.metas[0][field]

    def any(self, field):
        """What the files say of a field of the metadata, which may differ between machines of one kind."""
        return " or ".join(dict.fromkeys(str(meta[field]) for meta in self.metas))


def read_machines(paths):
    machines = {}
    for path in paths:
        if path.endswith(".trace.json"):
            continue
        name = pathlib.Path(path).resolve().parent.name
        machines.setdefault(name, Machine(name)).add(path, json.loads(pathlib.Path(path).read_text()))
    return list(machines.values())


def count_text(num_keys):
    """2^28, 2e9, 12345."""
    if num_keys & (num_keys - 1) == 0:
        return f"2^{num_keys.bit_length() - 1}"
    mantissa, exponent = f"{num_keys:.2e}".split("e")
    short = f"{float(mantissa):g}e{int(exponent)}"
    return short if float(short) == num_keys else str(num_keys)


def gpus_text(num_gpus):
    return f"{num_gpus} GPU" + ("" if num_gpus == 1 else "s")
