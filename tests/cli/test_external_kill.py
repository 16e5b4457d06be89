# SPDX-License-Identifier: Apache-2.0
"""Sorts through temporary files that are ended by signals, after every file call of a small one and at random times
of a larger one: the output is the old one or the new one, whole, and no file is left."""
import os
import random
import signal
import subprocess
import time

from external import BIN, IS_FULL, IS_SMALL, OLD, SEED, FaultTest, ExternalTest, spread, world
from support import is_sanitized, main

NUM_KILLS = int(os.environ.get("SPANSORT_TEST_KILLS", 4 if IS_SMALL else 12))
MOST_PLACES = 20 if IS_SMALL else 150
NUM_BYTES = (16 if IS_SMALL else 100) << 20
CEILING = "36M"


class EveryCall(FaultTest):
    def setUp(self):
        super().setUp()
        self.keys(60, "<u4")
        self.flags += world(16, 7, 2)

    def end_at_each_call(self, number, also, allowed, flags=()):
        """allowed(call) says how many files may be left in out/ and temp/ when the process ends before such a call."""
        counts = self.count_calls(*flags, also=also)
        found = {"old": 0, "new": 0}
        for nth in spread(counts["total"], MOST_PLACES):
            with self.subTest(nth=nth, of=counts["total"]):
                self.old_output()
                done = self.sort(*flags, env=self.with_fault(f"kill:{nth}:{int(number)}{also}"))
                call = self.counts().get("killed")
                self.assertIn(done.returncode, (-number,) if call else (0,), f"{call}: {done.stderr}")
                found[self.which_output(call)] += 1
                left = self.left_behind()
                self.remove_left()
                self.assertLessEqual(len(left), allowed(call), f"{call}: {left}")
                self.assertTrue(all(name.startswith(".spansort-") for name in left), left)
        self.assertGreater(min(found.values()), 0, "both outcomes were met")

    def which_output(self, call):
        content = self.read("out/y.bin")
        self.assertIn(content, (OLD, self.sorted_bytes), call)
        return "old" if content == OLD else "new"

    # Between linkat and renameat the new file has a name beside the old one's: no call of Linux can do without.
    @staticmethod
    def named_for_a_moment(call):
        return 1 if call in ("close", "renameat") else 0

    def test_kill(self):
        self.end_at_each_call(signal.SIGKILL, "", self.named_for_a_moment)

    def test_kill_verified(self):
        self.end_at_each_call(signal.SIGKILL, "", self.named_for_a_moment, ["--verify"])

    def test_terminate(self):
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP) if IS_FULL else (signal.SIGTERM,):
            self.end_at_each_call(number, "", lambda call: 0)

    def test_kill_where_files_need_a_name(self):
        """The output has a name from the start then, temporary files until they are unlinked, which is at once."""
        self.end_at_each_call(signal.SIGKILL, ",no-tmpfile", lambda call: 2 if call == "unlinkat" else 1)

    def test_terminate_where_files_need_a_name(self):
        self.end_at_each_call(signal.SIGTERM, ",no-tmpfile", lambda call: 1 if call == "unlinkat" else 0)

    def test_output_that_is_the_input(self):
        content = self.read("in/x.bin")
        flags = ["sort", self.input, "-o", self.input, *self.flags]
        self.assert_ok(*flags, env=self.with_fault("count"))
        for nth in spread(self.counts()["total"], MOST_PLACES // 3):
            with self.subTest(nth=nth):
                self.write("in/x.bin", content)
                subprocess.run([BIN, *flags], env=os.environ | self.with_fault(f"kill:{nth}"), timeout=30)
                self.assertIn(self.read("in/x.bin"), (content, self.sorted_bytes))
                left = set(os.listdir(self.path("in"))) - {"x.bin"}
                self.assertLessEqual(len(left), self.named_for_a_moment(self.counts().get("killed")))
                for name in left:
                    os.remove(self.path("in/" + name))


class RandomTimes(ExternalTest):
    """The spill is larger than the ceiling by far, so that all steps take their time."""

    def setUp(self):
        super().setUp()
        self.random = random.Random(SEED)
        self.input = self.path("in/x.bin")
        self.flags = ["--type", "u64", "-T", self.path("temp")]
        self.flags += world(1 << 18, 1 << 13, 8) if is_sanitized() else ["-S", CEILING]
        self.assert_ok("gen", NUM_BYTES // 8, "--type", "u64", "-o", self.input, "--seed", SEED)
        begin = time.monotonic()
        self.assert_ok(*self.arguments("--verify"))
        self.duration = time.monotonic() - begin
        os.rename(self.output, self.path("sorted"))
        self.old_output()

    def is_sorted(self, path):
        """Compares a piece at a time."""
        with open(self.path("sorted"), "rb") as expected, open(path, "rb") as found:
            while piece := expected.read(1 << 20):
                if found.read(1 << 20) != piece:
                    return False
            return found.read(1) == b""

    def end_after(self, delay, number):
        """Returns "old" or "new": what the output is afterwards."""
        begin = time.monotonic()
        command = subprocess.Popen([BIN, *self.arguments()], stderr=subprocess.DEVNULL)
        try:
            command.wait(timeout=delay)
            self.duration = time.monotonic() - begin  # other programs no longer slow it down as they did
        except subprocess.TimeoutExpired:
            command.send_signal(number)
        status = command.wait(timeout=60)
        case = f"signal {number} after {delay} s"
        self.assertIn(status, (0, -number), case)
        self.assertEqual(self.left_behind(), [], case)
        if os.path.getsize(self.output) == len(OLD):
            self.assertEqual((self.read("out/y.bin"), status), (OLD, -number), case)
            return "old"
        self.assertTrue(self.is_sorted(self.output), f"neither old nor new: {case}")
        self.old_output()
        return "new"

    def test_signals(self):
        for signals in ([signal.SIGKILL], [signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGQUIT]):
            found = [self.end_after(self.random.uniform(0, 1.2) * self.duration, self.random.choice(signals))
                     for _ in range(NUM_KILLS)]
            self.assertIn("old", found, "some were ended in time")


if __name__ == "__main__":
    main()
