# SPDX-License-Identifier: Apache-2.0
"""The soak for a few seconds; and every kind of fault that it is there for, planted into it: found, and found again by
the line that it prints."""
import contextlib
import fcntl
import os
import pathlib
import re
import signal
import subprocess
import sys
import tempfile
import time
import unittest

SOAK = os.environ["SPANSORT_SOAK"]
SEED = os.environ.get("SPANSORT_TEST_SEED", "1")
IS_SMALL = os.environ.get("SPANSORT_TEST_SCALE") == "small"
# Planted is what is found in which words.
PLANTED = {"wrong": r"expected [0-9a-f]+, found [0-9a-f]+", "file": "left behind: forgotten",
           "descriptor": "held back.* descriptors", "crash": "ended by signal 6"}
COUNTED = {"leak": "held back.* allocations", "thread": "held back.* threads"}  # not under the sanitizers


def soak(*arguments, timeout=300):
    done = subprocess.run([SOAK, *arguments], capture_output=True, text=True, timeout=timeout, check=False)
    return done.returncode, done.stdout + done.stderr


def num_failed(said):
    return int(re.search(r"(\d+) failed\n", said).group(1))


class Soak(unittest.TestCase):
    def test_random_cases(self):
        cases = 30 if IS_SMALL else 600
        status, said = soak("--cases", str(cases), "--seed", SEED, "--keys", "30000" if IS_SMALL else "300000")
        self.assertEqual((status, num_failed(said)), (0, 0), said)
        self.assertIn(f"\n{cases} cases in ", said)

    def test_the_same_case_is_drawn_from_the_same_seed(self):
        line = ("--case", "3:7", "--plant", "wrong")
        self.assertEqual(soak(*line), soak(*line))


class Planted(unittest.TestCase):
    def assert_found(self, kind, words):
        status, said = soak("--cases", "12", "--seed", "3", "--keys", "2000", "--plant", kind)
        self.assertEqual(status, 1, said)
        self.assertGreater(num_failed(said), 0)
        self.assertRegex(said, words)
        return re.search(r"replay: (.*)\n", said).group(1).split()

    def assert_found_and_replayed(self, kind, words):
        replay = self.assert_found(kind, words)
        done = subprocess.run(replay, capture_output=True, text=True, timeout=60, check=False)
        self.assertNotEqual(done.returncode, 0)
        if kind != "crash":
            self.assertRegex(done.stdout, words)
        without = subprocess.run(replay[:replay.index("--plant")], capture_output=True, text=True, timeout=60,
                                 check=False)
        self.assertEqual(without.returncode, 0, without.stdout + without.stderr)

    def test_faults(self):
        for kind, words in PLANTED.items():
            with self.subTest(kind):
                self.assert_found_and_replayed(kind, words)

    @unittest.skipIf(IS_SMALL, "sanitizers count allocations and threads of their own")
    def test_what_is_held_back(self):
        for kind, words in COUNTED.items():
            with self.subTest(kind):
                self.assert_found_and_replayed(kind, words)

    def test_a_case_that_hangs(self):
        status, said = soak("--cases", "4", "--seed", "3", "--keys", "2000", "--plant", "hang", "--case-seconds", "2")
        self.assertEqual((status, num_failed(said)), (1, 1), said)
        # A case may compute before it hangs, and is then found at the second look, after 2 seconds more.
        self.assertRegex(said, r"case 3 has run for \d+ seconds")


class FoldersOfRunsThatWereKilled(unittest.TestCase):
    def setUp(self):
        inside = tempfile.TemporaryDirectory(ignore_cleanup_errors=True)  # a killed worker may yet write
        self.addCleanup(inside.cleanup)
        self.inside = pathlib.Path(inside.name)

    def start(self):
        """A run of two workers, which ends with the test, and its folder, with one of each worker in it."""
        before = set(self.inside.iterdir())
        run = subprocess.Popen([SOAK, "--seconds", "1000", "--keys", "2000", "--workers", "2", "--command", "none",
                                "--folder", self.inside], stdout=subprocess.DEVNULL, start_new_session=True)
        self.addCleanup(run.wait)
        self.addCleanup(self.signal_all, run, signal.SIGKILL)
        deadline = time.monotonic() + 60
        while time.monotonic() < deadline:
            for folder in set(self.inside.iterdir()) - before:
                if len(list(folder.iterdir())) == 2:
                    return run, folder
            time.sleep(0.01)
        raise AssertionError("no folder of a run")

    @staticmethod
    def signal_all(run, number):
        with contextlib.suppress(ProcessLookupError):
            os.killpg(run.pid, number)

    def run_once(self):
        status, said = soak("--cases", "1", "--keys", "2000", "--command", "none", "--folder", str(self.inside))
        self.assertEqual(status, 0, said)

    def test_go_with_the_next_and_others_stay(self):
        killed, left = self.start()
        _, held = self.start()
        self.signal_all(killed, signal.SIGSTOP)
        killed.kill()
        killed.wait()
        self.run_once()
        self.assertTrue(left.is_dir(), "its workers are there")
        self.signal_all(killed, signal.SIGKILL)
        folder = os.open(left, os.O_RDONLY)
        fcntl.flock(folder, fcntl.LOCK_EX)  # until the workers have ended
        os.close(folder)
        self.assertTrue(left.is_dir())
        self.run_once()
        self.assertEqual(list(self.inside.iterdir()), [held])

    def test_folders_that_are_no_run_stay(self):
        link = self.inside / "spansort-soak-1-abcdef"
        target = self.inside / "target"
        target.mkdir()
        link.symlink_to(target)
        unlike = self.inside / "spansort-soak-abcdef"  # without the number of a process
        unlike.mkdir()
        self.run_once()
        self.assertEqual(set(self.inside.iterdir()), {link, target, unlike})


class Flags(unittest.TestCase):
    def test_help(self):
        status, said = soak("--help")
        self.assertEqual(status, 0)
        self.assertIn("--case SEED:N", said)

    def test_flags_that_are_none(self):
        for flags in (["--hours"], ["--hours", "x"], ["--plant", "roses"], ["--case", "7"], ["--roses", "1"]):
            self.assertEqual(soak(*flags)[0], 2, flags)


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], *sys.argv[1:]])
