# SPDX-License-Identifier: Apache-2.0
"""One allocation of one rank fails in the midst of a call over MPI, or all from it on: no rank crashes or waits for
ever; a call that returns is right; a failure that all ranks know of leaves the arrays as they were; the one in trouble
throws what happened, all others an error of the library's.

Environment: MPIEXEC, and FAILING_MEMORY_RANK, the program of programs/failing_memory_rank.cpp. SPANSORT_TEST_CASES: how
many jobs run, each of calls that go on until ranks cannot; SPANSORT_TEST_SEED: which. Prints what was seen.
"""
import collections
import os
import pathlib
import random
import subprocess
import tempfile
import unittest

NUM_RANKS = 3
NUM_JOBS = int(os.environ.get("SPANSORT_TEST_CASES", "4"))
SEED = os.environ.get("SPANSORT_TEST_SEED", "1")
OPERATIONS = ("keys", "pairs", "argsort")
DEVICES = ("cpu", "host:2")
# Allocations of a rank in a call, about; far more than there are is a call that returns. Those of the meeting come
# first: whoever is lost there is missed after a minute alone. SPANSORT_TEST_FULL=1: they fail, too.
MOST_ALLOCATIONS = 1500
FIRST_ALLOCATION = 0 if os.environ.get("SPANSORT_TEST_FULL") == "1" else 100
CALLS_OF_A_JOB = 60


class FailingMemory(unittest.TestCase):
    def check_call(self, about, told, seen):
        """What all ranks have written down of one call. Returns whether its fault has struck."""
        knowing = {fields[2] for fields in told}
        for rank, (how, state, _, memory, message) in enumerate(told):
            self.assertIn(how, ("returned", "bad_alloc", "error"), about)
            if how == "returned":
                self.assertEqual(state, "sorted", about)
            elif knowing == {"all"}:
                self.assertEqual(state, "untouched", about)
            if how == "bad_alloc":
                self.assertEqual(memory, "failed", f"rank {rank} has had all its memory: {about}")
            if how == "error":
                self.assertNotEqual(message, "", about)
        threw = sum(fields[0] != "returned" for fields in told)
        if "alone" in knowing:
            seen["calls whose ranks ended the job"] += 1
        else:
            self.assertIn(threw, (0, NUM_RANKS), about)
            seen["calls that failed on all ranks together" if threw else "calls that returned"] += 1
        seen["parts left half done"] += sum(fields[1] == "half" for fields in told)
        return any(fields[3] == "failed" for fields in told)

    def run_job(self, operation, devices, first, how_long, seen):
        about = f"{operation} {devices} from {first} {how_long}"
        with tempfile.TemporaryDirectory() as folder:
            command = [os.environ["MPIEXEC"], "-n", str(NUM_RANKS), os.environ["FAILING_MEMORY_RANK"], folder,
                       operation, devices, str(first), str(first + CALLS_OF_A_JOB), how_long]
            done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
            number = first
            while (paths := [pathlib.Path(folder, f"{number}.{rank}") for rank in range(NUM_RANKS)])[0].exists():
                told = [(path.read_text() + " ").split(" ", 4) if path.exists() else ["missing"] * 5 for path in paths]
                self.check_call(f"call {number} of {about}: {told}\n{done.stderr}", told, seen)
                number += 1
        self.assertGreater(number, first, f"no rank has ended its first call: {about}\n{done.stderr}")
        if done.returncode == 0:
            self.assertEqual(number, first + CALLS_OF_A_JOB + 1, about)

    def test_one_allocation_of_a_rank(self):
        draw = random.Random(SEED)
        seen = collections.Counter()
        for job in range(NUM_JOBS):
            first = draw.randrange(NUM_RANKS * FIRST_ALLOCATION, NUM_RANKS * MOST_ALLOCATIONS)
            how_long = draw.choice(["once", "once", "lasting"])
            self.run_job(OPERATIONS[job % 3], DEVICES[job // 3 % 2], first, how_long, seen)
        print(f"seed {SEED}, {NUM_JOBS} jobs:", ", ".join(f"{count} {what}" for what, count in seen.items()))
        self.assertGreater(seen["calls whose ranks ended the job"] + seen["calls that failed on all ranks together"], 0)


if __name__ == "__main__":
    unittest.main()
