# SPDX-License-Identifier: Apache-2.0
"""Files that fit in memory and are large enough to be read, sorted and written side by side: calls that fail, inputs
that change and signals, at many moments. The old output or the whole new one, nothing left behind, never a hang."""
import errno
import os
import random
import shutil
import signal
import subprocess
import tempfile
import time

import numpy as np

from support import BIN, CommandTest, IS_FULL, IS_SMALL, SEED, build_faults, main, run

OLD = b"the old output"
PLACES = 3 if IS_SMALL else 40 if IS_FULL else 8


def spread(count, places):
    """Numbers from 1 to `count`, the first and the last and some between."""
    return sorted({1 + round(i * (count - 1) / max(places - 1, 1)) for i in range(places)} if count else ())


class WholeFile(CommandTest):
    num_keys = 3_000_000  # 12 MB: six blocks for the threads that read

    @classmethod
    def setUpClass(cls):
        folder = tempfile.mkdtemp(prefix="spansort-faults-")
        cls.addClassCleanup(shutil.rmtree, folder)
        cls.library = build_faults(folder)
        cls.counts = os.path.join(folder, "counts")
        cls.keys = np.random.default_rng(SEED).integers(0, 2**32, cls.num_keys, dtype="<u4")
        cls.content = cls.keys.tobytes()
        cls.sorted_bytes = np.sort(cls.keys).tobytes()

    def setUp(self):
        super().setUp()
        self.input = self.write("x.bin", self.content)
        self.output = self.write("y.bin", OLD)

    def arguments(self, *flags, output=None):
        return ["sort", self.input, "-o", output or self.output, "--type", "u32", *flags]

    def with_fault(self, fault):
        return {"LD_PRELOAD": self.library, "SPANSORT_FAULT": fault, "SPANSORT_FAULT_IN": self.folder,
                "SPANSORT_FAULT_COUNT": self.counts}

    def last_counts(self):
        with open(self.counts, encoding="ascii") as file:
            return {name: int(number) for name, number in map(str.split, file)}

    def count_calls(self, *flags, also="nothing"):
        done = run(*self.arguments(*flags), env=self.with_fault(also))
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertTrue(self.read("y.bin") == self.sorted_bytes)
        self.write("y.bin", OLD)
        return self.last_counts()

    def was_killed_between_two_names(self):
        """Nobody can remove the new file when SIGKILL comes between its first name and that of the output."""
        with open(self.counts, encoding="ascii") as file:
            return file.read().endswith(("close killed\n", "renameat killed\n"))

    def assert_old_or_new(self, done, fault):
        """The whole old output or the whole new one, which alone may be called a success; the input is as it was."""
        if done.returncode == -signal.SIGKILL and self.was_killed_between_two_names():
            for name in os.listdir(self.folder):
                if name.startswith(".spansort-"):
                    os.remove(self.path(name))
        found = self.snapshot()
        self.assertEqual(sorted(found), ["x.bin", "y.bin"], f"{fault}: nothing is left behind")
        self.assertTrue(found["x.bin"] == self.content, fault)
        is_new = found["y.bin"] == self.sorted_bytes
        self.assertTrue(is_new or found["y.bin"] == OLD, fault)
        if done.returncode == 0:
            self.assertTrue(is_new, fault)
        self.write("y.bin", OLD)
        return is_new

    def test_ways_to_sort(self):
        for flags, expected in ((["-r"], np.sort(self.keys)[::-1]), (["-u"], np.unique(self.keys)),
                                (["--verify"], None), (["--threads", "1", "--no-sync"], None),
                                (["--devices", "host:2"], None)):
            with self.subTest(flags=flags):
                self.assert_ok(*self.arguments(*flags))
                self.assertTrue(self.read("y.bin") == (self.sorted_bytes if expected is None else expected.tobytes()))
        self.assertTrue(run(*self.arguments(output="-")).stdout == self.sorted_bytes)
        self.assert_ok("argsort", self.input, "-o", self.output, "--type", "u32", "--verify")
        self.assertTrue(np.array_equal(np.fromfile(self.output, "<i8"), np.argsort(self.keys, kind="stable")))

    def test_in_place(self):
        self.assert_ok(*self.arguments(output=self.input))
        self.assertTrue(self.read("x.bin") == self.sorted_bytes)

    def test_standard_input_that_is_a_file_is_read_from_where_it_stands_to_its_end(self):
        with open(self.input, "rb", buffering=0) as file:
            file.seek(400)
            done = run("sort", "-", "-o", self.output, "--type", "u32", stdin=file)
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertEqual(file.tell(), len(self.content), "who reads on finds the end")
        self.assertTrue(self.read("y.bin") == np.sort(self.keys[100:]).tobytes())

    def test_each_call_fails(self):
        counts = self.count_calls()
        self.assertGreater(counts["pread"], 4, "several blocks are read")
        for name in ("read", "pread", "write", "fsync", "linkat", "renameat", "close"):
            # The command's looks before it sorts may fail: the first one is no read of the sort.
            for nth in spread(counts[name], PLACES)[1 if name == "pread" else 0:]:
                for lasting in ("", "+"):
                    fault = f"{name}:{nth}{lasting}:{errno.EIO}"
                    with self.subTest(fault=fault):
                        done = run(*self.arguments(), env=self.with_fault(fault))
                        if done.returncode == 0 and self.last_counts()[name] < nth:
                            self.assertTrue(self.assert_old_or_new(done, fault), "it wrote more at a time")
                            continue
                        self.assertEqual(done.returncode, 4, done.stderr)
                        self.assertIn(os.strerror(errno.EIO), done.stderr)
                        self.assertIn("x.bin" if name in ("read", "pread") else "y.bin", done.stderr)
                        self.assertEqual(self.assert_old_or_new(done, fault), "written and in place" in done.stderr)

    def test_a_disk_that_is_full_says_so(self):
        for nth in spread(self.count_calls()["write"], PLACES):
            with self.subTest(write=nth):
                done = run(*self.arguments(), env=self.with_fault(f"write:{nth}+:{errno.ENOSPC}"))
                if done.returncode == 0 and self.last_counts()["write"] < nth:
                    self.write("y.bin", OLD)
                    continue
                self.assertEqual(done.returncode, 4, done.stderr)
                self.assertIn(f"{len(self.content)} bytes are needed", done.stderr)
                self.assertFalse(self.assert_old_or_new(done, nth))

    def test_killed_before_any_call(self):
        for also in ("", ",no-tmpfile"):
            number = signal.SIGTERM if also else signal.SIGKILL
            for nth in spread(self.count_calls(also="nothing" + also)["total"], 2 * PLACES):
                fault = f"kill:{nth}:{int(number)}{also}"
                with self.subTest(fault=fault):
                    done = run(*self.arguments(), env=self.with_fault(fault))
                    self.assertIn(done.returncode, (-number, 0), done.stderr)
                    self.assert_old_or_new(done, fault)

    def test_input_that_changes_meanwhile(self):
        for change in ("shorter", "longer"):
            with self.subTest(change=change):
                command = subprocess.Popen([BIN, *self.arguments()], stderr=subprocess.PIPE, text=True,
                                           env=os.environ | {"LC_ALL": "C"} | self.with_fault("stop:pread:2"))
                self.wait_until_stopped(command)
                os.truncate(self.input, len(self.content) - 4 if change == "shorter" else len(self.content) + 4)
                command.send_signal(signal.SIGCONT)
                message = command.communicate(timeout=120)[1]
                self.assertEqual(command.returncode, 3, message)
                self.assertIn("input changed while it was read", message)
                self.assertEqual(self.read("y.bin"), OLD)
                self.write("x.bin", self.content)

    def wait_until_stopped(self, command):
        for _ in range(2000):
            with open(f"/proc/{command.pid}/stat", encoding="ascii") as file:
                if file.read().rpartition(")")[2].split()[0] == "T":
                    return
            time.sleep(0.01)
        self.fail("it was to stop")

    def test_signals_at_random_moments(self):
        chance = random.Random(SEED)
        begin = time.monotonic()
        self.assert_ok(*self.arguments())
        duration = time.monotonic() - begin
        self.write("y.bin", OLD)
        for _ in range(PLACES):
            number = chance.choice([signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGKILL])
            command = subprocess.Popen([BIN, *self.arguments()], stderr=subprocess.PIPE)
            time.sleep(chance.uniform(0, duration))
            command.send_signal(number)
            message = command.communicate(timeout=120)[1]
            self.assertIn(command.returncode, (0, -number), message)
            self.assert_old_or_new(command, f"signal {number}")


if __name__ == "__main__":
    main()
