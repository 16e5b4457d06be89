# SPDX-License-Identifier: Apache-2.0
"""A rank of three is killed, stopped, or leaves by an exception: every other ends with status 7 and names it, in time.

Environment: MPIEXEC, and FAILING_RANK, the program of programs/failing_rank.cpp. Every rank runs below this script,
called as `test_failure.py --watch FOLDER PROGRAM ...`, which writes down how and when the program ended
and ends likewise.
SPANSORT_TEST_FULL=1: what the others do while each rank is stopped is all of what they can do; otherwise it is taken in
turns, for silence takes long.
"""
import json
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import time
import unittest

IS_FULL = os.environ.get("SPANSORT_TEST_FULL") == "1"
NUM_RANKS = 3
SILENCE_MS = 1500
# For ranks that end at once. It is long because a loaded machine is slow: what they say tells whether they waited for
# silence, and mpirun ends those that wait for more than a second.
SOON_S = 10.0


def watch(folder, command):
    """Runs `command` and records its end, or that it was stopped; then ends as it did, so that mpirun sees the same."""
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    rank = os.environ["OMPI_COMM_WORLD_RANK"]
    pid = os.spawnv(os.P_NOWAIT, command[0], command)
    while True:
        _, status = os.waitpid(pid, os.WUNTRACED)
        stopped = os.WIFSTOPPED(status)
        code = 0 if stopped else os.waitstatus_to_exitcode(status)
        record = {"status": "stopped" if stopped else code, "time_s": time.monotonic()}
        path = pathlib.Path(folder, rank)
        path.with_suffix(".new").write_text(json.dumps(record))
        # The end of a rank that was stopped is mpirun's doing and of no interest.
        if not path.exists():
            path.with_suffix(".new").rename(path)
        if not stopped:
            break
    if code < 0:
        os.kill(os.getpid(), -code)
    sys.exit(code)


def run(fate, victim, others):
    """The outcome of every rank, mpirun's exit status, and what all wrote to standard error."""
    environment = dict(os.environ, OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1")
    with tempfile.TemporaryDirectory() as folder:
        command = [os.environ["MPIEXEC"], "--oversubscribe", "-n", str(NUM_RANKS), sys.executable, "-B", __file__,
                   "--watch", folder, os.environ["FAILING_RANK"], fate, str(victim), others, str(SILENCE_MS)]
        done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=60)
        outcomes = {int(path.name): json.loads(path.read_text()) for path in pathlib.Path(folder).glob("[0-9]")}
    return outcomes, done.returncode, done.stderr


class FailureOfARank(unittest.TestCase):
    def check(self, fate, victim, others, victim_status, reason, soonest_s, latest_s):
        outcomes, status, messages = run(fate, victim, others)
        about = f"{fate} rank {victim}, others: {others}: {outcomes}\n{messages}"
        self.assertEqual(sorted(outcomes), list(range(NUM_RANKS)), about)
        self.assertNotEqual(status, 0, about)
        self.assertEqual(outcomes[victim]["status"], victim_status, about)
        for rank in set(range(NUM_RANKS)) - {victim}:
            self.assertEqual(outcomes[rank]["status"], 7, about)
            took_s = outcomes[rank]["time_s"] - outcomes[victim]["time_s"]
            self.assertTrue(soonest_s <= took_s <= latest_s, f"rank {rank} took {took_s} s: {about}")
            self.assertIn(f"rank {rank}: node rank {victim} failed in phase 'being the victim': {reason}", messages,
                          about)

    def for_every_victim(self, *arguments, some=False):
        """`some`: one occupation of the others for each victim."""
        for victim in range(NUM_RANKS):
            occupations = ("gather", "compute", "throw") if victim == 1 else ("gather", "compute")
            for others in (("gather", "throw", "compute")[victim],) if some else occupations:
                with self.subTest(victim=victim, others=others):
                    self.check(arguments[0], victim, others, *arguments[1:])

    def test_killed(self):
        self.for_every_victim("kill", -signal.SIGKILL, "it ended without a word", -SOON_S, SOON_S)

    def test_ended_with_status_0_but_without_goodbye(self):
        self.for_every_victim("exit", 0, "it ended without a word", -SOON_S, SOON_S)

    def test_stopped(self):
        limit_s = SILENCE_MS / 1000
        self.for_every_victim("stop", "stopped", "nothing was heard of it for 1.5 s", limit_s / 2, limit_s + 3,
                              some=not IS_FULL)

    def test_exception(self):
        self.for_every_victim("throw", 4, "the disk is full", -SOON_S, SOON_S)


class NoFailure(unittest.TestCase):
    def test_ranks_that_end_at_different_times(self):
        for late in range(NUM_RANKS):
            outcomes, status, messages = run("none", late, "throw")
            self.assertEqual(status, 0, f"{outcomes} {messages}")
            self.assertEqual([outcomes[r]["status"] for r in range(NUM_RANKS)], [0] * NUM_RANKS, messages)


if __name__ == "__main__":
    if sys.argv[1:2] == ["--watch"]:
        watch(sys.argv[2], sys.argv[3:])
    unittest.main()
