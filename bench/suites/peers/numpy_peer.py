# SPDX-License-Identifier: Apache-2.0
"""NumPy as a peer of `spansort bench`: numpy.json beside describes it, CONTRIBUTING.md the protocol."""
import sys
import time

import numpy

NAMES = {"u8": "u1", "u16": "u2", "u32": "u4", "u64": "u8", "i32": "i4", "i64": "i8", "f16": "f2", "f32": "f4",
         "f64": "f8"}


class Peer:
    def load(self, kind, num_keys, num_arrays, path):
        """All arrays are sorted by one call, each along its row."""
        self.is_argsort = kind.startswith("argsort(")
        name = kind.removeprefix("argsort(").removesuffix(")")
        if name not in NAMES:
            return f"no {kind} in NumPy"
        self.keys = numpy.fromfile(path, "<" + NAMES[name]).reshape(int(num_arrays), int(num_keys))
        self.result = numpy.empty_like(self.keys)
        return "ok"

    def sort(self):
        if not self.is_argsort:
            numpy.copyto(self.result, self.keys)
        cpu, wall = time.process_time(), time.perf_counter()
        if self.is_argsort:
            self.result = self.keys.argsort(axis=1, kind="stable")
        else:
            self.result.sort(axis=1)
        wall = time.perf_counter() - wall
        return f"{wall:.9f} {time.process_time() - cpu:.9f}"

    def store(self, path):
        self.result.tofile(path)
        return "ok"


def main():
    peer = Peer()
    for line in sys.stdin:
        verb, *words = line.split()
        known = {"load": peer.load, "sort": peer.sort, "store": peer.store}
        print(known[verb](*words) if verb in known else f"no request {verb}", flush=True)


if __name__ == "__main__":
    main()
