# SPDX-License-Identifier: Apache-2.0
"""A sort that is killed at a random moment: the old output whole or the new one complete, and no temporary file.

SPANSORT_TEST_FULL=1 takes a larger file and more moments.
"""
import hashlib
import os
import random
import shutil
import signal
import subprocess
import tempfile
import time

from support import BIN, CommandTest, IS_FULL, IS_SMALL, SEED, build_faults, main

NUM_KEYS = 25_000_000 if IS_FULL else 2_000_000 if IS_SMALL else 8_000_000  # of 8 bytes
NUM_KILLS = 40 if IS_FULL else 4 if IS_SMALL else 10


def digest(path):
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "blake2b").hexdigest()


class Killed(CommandTest):
    def setUp(self):
        super().setUp()
        self.random = random.Random(SEED)
        self.target = self.path("x.npy")
        self.assert_ok("gen", NUM_KEYS, "--type", "u64", "-o", self.target, "--seed", SEED)
        self.original = self.target + ".original"
        # The copy lies elsewhere: the folder must hold nothing but the target.
        keep = tempfile.mkdtemp(prefix="spansort-keep-")
        self.addCleanup(shutil.rmtree, keep)
        self.original = shutil.copy(self.target, keep)
        self.sorted = os.path.join(keep, "sorted.npy")
        begin = time.monotonic()
        self.assert_ok("sort", self.target, "-o", self.sorted)
        self.duration = time.monotonic() - begin
        self.allowed = {digest(self.original): "old", digest(self.sorted): "new"}
        self.assertEqual(len(self.allowed), 2)

    def kill_after(self, delay, number, env=None):
        """Returns "old" or "new": what the target is afterwards."""
        command = subprocess.Popen([BIN, "sort", self.target, "-o", self.target], stderr=subprocess.PIPE,
                                   env=dict(os.environ, **(env or {})))
        time.sleep(delay)
        command.send_signal(number)
        message = command.communicate(timeout=120)[1]
        status = command.returncode
        self.assertIn(status, (0, -number), message)
        self.assertEqual(os.listdir(self.folder), ["x.npy"], f"signal {number} after {delay} s")
        found = self.allowed.get(digest(self.target))
        self.assertIsNotNone(found, f"neither old nor new: signal {number} after {delay} s")
        if status == 0:
            self.assertEqual(found, "new")
        if found == "new":
            shutil.copy(self.original, self.target)
        return found

    def kill_often(self, signals, count, env=None):
        found = [self.kill_after(self.random.uniform(0, 1.2) * self.duration, self.random.choice(signals), env)
                 for _ in range(count)]
        self.assertIn("old", found, "some were killed in time")

    def test_kill(self):
        self.kill_often([signal.SIGKILL], NUM_KILLS)

    def test_other_signals(self):
        self.kill_often([signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGQUIT], NUM_KILLS)

    def test_signals_where_files_need_a_name(self):
        env = {"LD_PRELOAD": build_faults(os.path.dirname(self.original)), "SPANSORT_FAULT": "no-tmpfile"}
        self.kill_often([signal.SIGTERM, signal.SIGINT, signal.SIGHUP], NUM_KILLS, env)


if __name__ == "__main__":
    main()
