# SPDX-License-Identifier: Apache-2.0
"""The files of `spansort bench cpu`, those of the same machine, threads and vectors taken together, cell by cell."""
import json
import sys

ONE_CALL = "spansort, one call"
REUSED = "spansort, reused sorter"
OURS = (ONE_CALL, REUSED)
GOAL = 1.2
# Up to so many keys the best peers run at the machine's limit, and a difference of so many nanoseconds counts as none.
FEW_KEYS = 512
FEW_MS = 30e-6
CLOCKS = {"wall": "runs_ms", "cpu": "cpu_ms"}
PARTS = ("won", "tied", "lost")


class Cell:
    """A type, a distribution and a size: least times in milliseconds, ours and the best peer's."""

    def __init__(self, case, clock):
        self.kind, self.distribution, self.num_keys = case["type"], case["distribution"], case["num_keys"]
        times = {result["name"]: min(result[CLOCKS[clock]]) for result in case["results"]
                 if result.get(CLOCKS[clock]) and result["verified"]}
        self.wrong = [result["name"] for result in case["results"] if not result.get("verified", True)]
        self.times = times
        peers = {name: ms for name, ms in times.items() if name not in OURS}
        self.best_peer = min(peers, key=peers.get) if peers else None

    def ratio(self, ours):
        """How many times faster than the best peer, None where one of them was not measured."""
        if self.best_peer is None or ours not in self.times:
            return None
        return self.times[self.best_peer] / self.times[ours]

    def part(self, ours):
        ratio = self.ratio(ours)
        return None if ratio is None else "won" if ratio >= GOAL else "tied" if ratio >= 1 else "lost"

    def is_lost_by_little(self, ours):
        """Whether it is lost on few keys, by a time that is near the machine's limit."""
        return (self.part(ours) == "lost" and self.num_keys <= FEW_KEYS
                and self.times[ours] - self.times[self.best_peer] <= FEW_MS)


class Run:
    """All files of a machine's folder that have the same number of threads and the same vectors."""

    def __init__(self, machine, documents, clock):
        self.machine, self.documents, self.clock = machine, documents, clock
        cells = {}
        for document in documents:
            for case in document["cases"]:
                cell = Cell(case, clock)
                name = (cell.kind, cell.distribution, cell.num_keys)
                if cell.times or name not in cells:
                    cells[name] = cell
        self.cells = list(cells.values())
        left = {(case["type"], case["distribution"], case["num_keys"]): case["reason"]
                for document in documents for case in document["left_out"]}
        self.left_out = {name: reason for name, reason in left.items() if name not in cells}

    @property
    def meta(self):
        return self.documents[-1]["meta"]

    def name(self):
        """Part of the names of its pictures: zen5-2-cores-2-threads-avx-512."""
        return f"{self.machine}-{self.meta['num_threads']}-threads-{self.meta['vector_target'].lower()}"

    def title(self):
        threads = self.meta["num_threads"]
        forced = "" if self.meta.get("vectors_forced", "") == "" else " (forced)"
        model = f"{self.meta['devices'][0]['model']} ({self.machine})"
        return f"{model}, {threads} thread{'s' * (threads > 1)}, {self.meta['vector_target']}{forced}"

    def captions(self):
        lines = []
        for document in self.documents:
            meta = document["meta"]
            text = f"`{document['path']}`: {meta['date']}, commit {meta['commit']}, load {meta['load_average_at_start']:.1f} at the start"
            lines.append(text + (f". {meta['notes']}" if meta["notes"] else ""))
        return lines

    def kinds(self):
        """Types and operations, keys first, each with its cells."""
        found = {}
        for cell in self.cells:
            found.setdefault(cell.kind, []).append(cell)
        return dict(sorted(found.items(), key=lambda item: (item[0].startswith("argsort"), "(" in item[0])))

    def counts(self, ours, kind=None):
        """Cells won, tied, lost, and how many of the lost ones by little."""
        cells = [cell for cell in self.cells if kind in (None, cell.kind)]
        parts = [cell.part(ours) for cell in cells]
        return [parts.count(part) for part in PARTS] + [sum(cell.is_lost_by_little(ours) for cell in cells)]


def load(path, results):
    document = json.loads(path.read_text())
    document["path"] = path.relative_to(results.parent.parent) if results.parent.parent in path.parents else path
    for case in document["cases"]:
        for result in case["results"]:
            # A peer's wrong results are told and not counted.
            if result["name"] in OURS and not result.get("verified", "refused" in result):
                sys.exit(f"{path}: {case['type']} {case['distribution']} {case['num_keys']}: {result['name']} was wrong")
    return document


def runs(results, clock="wall"):
    """All runs below a folder of results, in the order of their names."""
    found = {}
    for path in sorted(results.glob("*/cpu-grid*.json")):
        document = load(path, results)
        meta = document["meta"]
        found.setdefault((path.parent.name, meta["num_threads"], meta["vector_target"]), []).append(document)
    for documents in found.values():
        documents.sort(key=lambda document: (document["meta"]["date"], document["path"].stem))
    return [Run(machine, documents, clock) for (machine, _, _), documents in sorted(found.items())]
