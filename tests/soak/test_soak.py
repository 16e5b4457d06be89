# SPDX-License-Identifier: Apache-2.0
"""The soak for a few seconds; and every kind of fault that it is there for, planted into it: found, and found again by
the line that it prints."""
import os
import re
import subprocess
import sys
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
