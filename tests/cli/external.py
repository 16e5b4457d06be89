# SPDX-License-Identifier: Apache-2.0
"""Shared by the tests of sorts that do not fit in memory: small worlds, folders to watch, calls that fail.

A test's folder has three others: in, out, temp. --test-world CHUNK,BLOCK,FANIN makes a few keys larger than memory.
SPANSORT_TEST_KILLS is the number of random kills.
"""
import ctypes
import os
import shutil
import signal
import subprocess
import tempfile
import time

import numpy as np

from support import BIN, CommandTest, IS_FULL, IS_SMALL, SEED, build_faults, run

LONGEST_S = 30  # what takes longer hangs
OLD = b"the old output"


def world(chunk, block, fan_in):
    """Elements of a chunk, elements of a block, runs merged at a time."""
    return ["--test-world", f"{chunk},{block},{fan_in}"]


def spread(last, most):
    """1 to last; where these are more than `most`, as many of them, the ends among them."""
    if IS_FULL or last <= most:
        return list(range(1, last + 1))
    return sorted({1 + round(i * (last - 1) / (most - 1)) for i in range(most)})


def private_mounts():
    """What this process mounts from now on only it and its children see, and it ends with it. Says whether it can."""
    new_namespace, recursive_private = 0x00020000, 0x4000 | 1 << 18
    libc = ctypes.CDLL(None, use_errno=True)
    return (libc.unshare(new_namespace) == 0
            and libc.mount(b"none", b"/", None, ctypes.c_ulong(recursive_private), None) == 0)


class ExternalTest(CommandTest):
    def setUp(self):
        super().setUp()
        for name in ("in", "out", "temp"):
            os.mkdir(self.path(name))
        self.output = self.path("out/y.bin")

    def keys(self, num_keys, dtype="<u8"):
        """Into in/x.bin; a third of them are ties. The sorted bytes are self.sorted_bytes."""
        keys = self.rng.integers(0, 2**32, num_keys, dtype=np.uint64)
        keys[self.rng.random(num_keys) < 0.3] %= 5
        self.input = self.write("in/x.bin", keys.astype(dtype).tobytes())
        self.sorted_bytes = np.sort(keys.astype(dtype)).tobytes()
        self.flags = ["--type", np.dtype(dtype).kind + str(8 * np.dtype(dtype).itemsize), "-T", self.path("temp")]

    def old_output(self):
        self.write("out/y.bin", OLD)

    def arguments(self, *flags):
        return ["sort", self.input, "-o", self.output, *self.flags, *flags]

    def sort(self, *flags, **rest):
        return run(*self.arguments(*flags), **({"timeout": LONGEST_S} | rest))

    def remove_left(self):
        """So that one case does not disturb the next."""
        for folder in ("out", "temp"):
            for name in set(os.listdir(self.path(folder))) - {"y.bin"}:
                os.remove(self.path(f"{folder}/{name}"))

    def left_behind(self):
        """Names in out/ and temp/ beside the output."""
        return sorted(set(os.listdir(self.path("out"))) - {"y.bin"}) + os.listdir(self.path("temp"))

    def assert_sorted(self, done, case=""):
        self.assertEqual((done.returncode, done.stderr), (0, ""), case)
        self.assertTrue(self.read("out/y.bin") == self.sorted_bytes, f"{case}: the output is not the sorted input")
        self.assertEqual(self.left_behind(), [], case)

    def assert_old(self, done, status, words, case=""):
        """The status, a message with all the words, the old output and nothing else."""
        self.assertEqual(done.returncode, status, f"{case}: {done.stderr}")
        self.assertTrue(done.stderr.startswith("spansort: "), f"{case}: {done.stderr!r}")
        for word in words:
            self.assertIn(word, done.stderr, case)
        self.assertEqual(self.read("out/y.bin"), OLD, case)
        self.assertEqual(self.left_behind(), [], case)


class FaultTest(ExternalTest):
    """With the library that makes file calls fail."""

    @classmethod
    def setUpClass(cls):
        folder = tempfile.mkdtemp(prefix="spansort-faults-")
        cls.addClassCleanup(shutil.rmtree, folder)
        cls.library = build_faults(folder)

    def with_fault(self, fault, folders=("in", "out", "temp")):
        """The environment in which `fault` strikes calls for files in the folders, and calls are counted."""
        return {"LD_PRELOAD": self.library, "SPANSORT_FAULT": fault, "SPANSORT_FAULT_COUNT": self.path("calls"),
                "SPANSORT_FAULT_IN": ":".join(map(self.path, folders))}

    def counts(self):
        """Calls of each name that the last command made; "killed" is the name of the one at which it was killed."""
        found = {}
        for line in self.read("calls").decode().splitlines():
            name, count = line.split()
            found["killed" if count == "killed" else name] = name if count == "killed" else int(count)
        return found

    def count_calls(self, *flags, folders=("in", "out", "temp"), also=""):
        """Calls of each name in an undisturbed sort."""
        self.old_output()
        self.assert_sorted(self.sort(*flags, env=self.with_fault("count" + also, folders)))
        return self.counts()

    def sort_stopped(self, fault, change, *flags, folders=("in", "out", "temp")):
        """Calls change(process id) while the command is stopped by a fault stop:CALL:N."""
        command = subprocess.Popen([BIN, *self.arguments(*flags)], stderr=subprocess.PIPE, text=True,
                                   env=os.environ | {"LC_ALL": "C"} | self.with_fault(fault, folders))
        try:
            self.wait_until_stopped(command, fault)
            change(command.pid)
            command.send_signal(signal.SIGCONT)
            command.stderr_text = command.communicate(timeout=LONGEST_S)[1]
        finally:
            command.kill()
            command.wait()
        return subprocess.CompletedProcess(command.args, command.returncode, b"", command.stderr_text)

    def wait_until_stopped(self, command, fault):
        end = time.monotonic() + LONGEST_S
        while time.monotonic() < end:
            with open(f"/proc/{command.pid}/stat", encoding="ascii", errors="replace") as file:
                state = file.read().rpartition(")")[2].split()[0]
            if state == "T":
                return
            self.assertNotEqual(state, "Z", f"{fault}: it ended before it was stopped")
            time.sleep(0.005)
        self.fail(f"{fault}: neither stopped nor ended")


def random_worlds(rng, count):
    """Worlds in which some hundred keys need several merge passes."""
    for _ in range(count):
        chunk = int(rng.choice([2, 3, 17, 64, 100, 333, 1000]))
        yield chunk, int(rng.choice([1, 7, 64])), int(rng.choice([2, 3, 8]))


def keys_of(small):
    """So many keys of a small world are several passes, and no matter of seconds."""
    return 40 * small[0] + 3


__all__ = ["BIN", "ExternalTest", "FaultTest", "IS_FULL", "IS_SMALL", "LONGEST_S", "OLD", "SEED", "private_mounts",
           "keys_of", "random_worlds", "run", "spread", "world"]
