# SPDX-License-Identifier: Apache-2.0
"""Every allocation of a run fails, in turns: alone, and with all that follow. The command ends with status 0 and the
new output, or with status 6 and the old one, and leaves nothing behind. It never crashes, hangs or calls that
internal."""
import os
import random
import shutil
import signal
import subprocess
import tempfile
import unittest

import numpy as np

from support import CommandTest, IS_FULL, SEED, is_counted, is_sanitized, main, run

OLD = b"the old output"
PLACES = 4000 if IS_FULL else 8


def build_no_memory(folder):
    if is_sanitized():
        raise unittest.SkipTest("sanitizers have allocators of their own")
    compiler = shutil.which(os.environ.get("CC", "cc"))
    if compiler is None:
        raise unittest.SkipTest("no C compiler for the library that refuses memory")
    library = os.path.join(folder, "no_memory.so")
    source = os.path.join(os.path.dirname(os.path.abspath(__file__)), "no_memory.c")
    subprocess.run([compiler, "-shared", "-fPIC", "-O1", "-o", library, source, "-ldl"], check=True)
    return library


class NoMemory(CommandTest):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.mkdtemp(prefix="spansort-no-memory-")
        cls.addClassCleanup(shutil.rmtree, folder)
        cls.library = build_no_memory(folder)
        cls.number = os.path.join(folder, "number")

    def setUp(self):
        super().setUp()
        self.keys = self.rng.integers(0, 2**32, 5000, dtype="<u4")
        self.input = self.write("x.bin", self.keys.tobytes())
        self.output = self.write("y.bin", OLD)

    def run_with(self, which, *command):
        return run(*command, env={"LD_PRELOAD": self.library, "SPANSORT_NO_MEMORY": which,
                                  "SPANSORT_ALLOCATIONS": self.number}, timeout=60)

    def count(self, *command):
        done = self.run_with("0", *command)
        self.assertEqual(done.returncode, 0, done.stderr)
        with open(self.number, encoding="ascii") as file:
            return int(file.read())

    def places(self, count):
        """Some of all, and the last: those around the moment in which the output gets its name."""
        rng = random.Random(SEED)
        some = rng.sample(range(1, count + 1), min(count, PLACES))
        return sorted(set(some) | set(range(max(1, count - PLACES), count + 1)))

    def assert_old_or_new(self, done, new, where):
        found = self.snapshot()
        self.assertEqual(sorted(n for n in found if n not in ("r.json",)), ["x.bin", "y.bin"], where)
        # GCC's counting crashes as it writes the counts where memory has ended, after all that the command does itself.
        if is_counted() and done.returncode == -signal.SIGSEGV:
            self.assertIn(found["y.bin"], (OLD, new), (where, done.stderr))
            return
        self.assertIn(done.returncode, (0, 6), (where, done.stderr))
        self.assertEqual(found["y.bin"], new if done.returncode == 0 else OLD, (where, done.stderr))

    def try_all(self, new, *command):
        count = self.count(*command)
        self.assertEqual(self.read("y.bin"), new)
        for nth in self.places(count):
            for which in (f"{nth}", f"{nth}+"):
                self.write("y.bin", OLD)
                done = self.run_with(which, *command)
                self.assert_old_or_new(done, new, f"allocation {which} of {count}")

    def test_sort(self):
        self.try_all(np.sort(self.keys).tobytes(), "sort", self.input, "-o", self.output, "--type", "u32",
                     "--threads", "1")

    def test_one_thread_does_not_ask_for_the_machine(self):
        """A failed allocation inside hwloc ends the process, so only who wants several threads asks it."""
        hook = {"LD_PRELOAD": self.library, "SPANSORT_NO_TOPOLOGY": "1"}
        for way in ([], ["--test-world", "500,50,3"], ["--algorithm", "rmg"]):
            command = ("sort", self.input, "-o", self.output, "--type", "u32", *way)
            self.assertEqual(run(*command, "--threads", "1", env=hook).returncode, 0, way)
            self.assertEqual(self.read("y.bin"), np.sort(self.keys).tobytes())
        if os.cpu_count() > 1:
            self.assertEqual(run(*command, "--threads", "2", env=hook).returncode, -signal.SIGABRT)

    def test_argsort(self):
        self.try_all(np.argsort(self.keys, kind="stable").astype("<i8").tobytes(), "argsort", self.input, "-o",
                     self.output, "--type", "u32", "--threads", "1")


if __name__ == "__main__":
    main()
