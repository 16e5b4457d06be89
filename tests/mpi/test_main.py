# SPDX-License-Identifier: Apache-2.0
"""A test of test_mpi that fails on one rank alone: the job says where, and ends on all ranks with a failure, also where
the others wait in the test for the one that has left it. Environment: MPIEXEC, and TEST_MPI, that program."""
import os
import subprocess
import unittest

# The program waits for 10 s, and a loaded machine takes a while to begin.
LONGEST_S = 40


def run(*tests):
    """Returns the exit status and what all said. Raises TimeoutExpired where the job hangs."""
    names = ":".join(f"DeliberateFailure.DISABLED_{test}" for test in tests)
    command = [os.environ["MPIEXEC"], "-n", "3", os.environ["TEST_MPI"], "--gtest_color=no",
               "--gtest_also_run_disabled_tests", f"--gtest_filter={names}"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=LONGEST_S, check=False)
    return done.returncode, done.stdout + done.stderr


class Main(unittest.TestCase):
    def test_others_wait_for_rank_1(self):
        status, said = run("Rank1Leaves", "NobodyFails")
        self.assertNotEqual(status, 0, said)
        self.assertIn("rank 1: DeliberateFailure.DISABLED_Rank1Leaves: ", said)
        self.assertIn("not all ranks have ended it: the job ends", said)
        self.assertNotIn("NobodyFails (", said)

    def test_others_wait_for_rank_0(self):
        status, said = run("Rank0Leaves")
        self.assertNotEqual(status, 0, said)
        self.assertIn("rank 0 leaves the test", said)
        self.assertIn("not all ranks have ended it: the job ends", said)

    def test_all_go_on(self):
        """Who fails and goes on holds up nobody: the other tests are run, too."""
        status, said = run("Rank1FailsAndGoesOn", "NobodyFails")
        self.assertNotEqual(status, 0, said)
        self.assertIn("rank 1: DeliberateFailure.DISABLED_Rank1FailsAndGoesOn: ", said)
        self.assertNotIn("the job ends", said)
        self.assertIn("[       OK ] DeliberateFailure.DISABLED_NobodyFails (", said)

    def test_nobody_fails(self):
        status, said = run("NobodyFails")
        self.assertEqual(status, 0, said)
        self.assertIn("1 test", said)


if __name__ == "__main__":
    unittest.main()
