# SPDX-License-Identifier: Apache-2.0
"""`spansort sort --mpi` on three node ranks, of which one is killed or stopped as it enters a phase: every other ends
with status 7 and names it and the phase, the old output is intact, and nothing else is left in the folder.

Environment: MPIEXEC, SPANSORT_BIN. The victim stops itself (--test-fault); what runs above it, this script called as
`test_command_failure.py --watch FOLDER FATE PROGRAM ...`, then kills it or not, and writes down how it ended and when.
SPANSORT_TEST_FULL=1: each of the ranks in each of the phases; otherwise one for each phase, taken in turns.
"""
import json
import os
import pathlib
import re
import signal
import subprocess
import sys
import time
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).parent.parent / "cli"))
import numpy as np  # noqa: E402
import support  # noqa: E402
from support import BIN  # noqa: E402

NUM_RANKS = 3
SILENCE_S = 2
# For ranks that end at once. It is long because a loaded machine is slow: what they say tells whether they waited for
# silence, and mpirun ends those that wait for more than a second.
SOON_S = 10.0
OLD_OUTPUT = b"the old output"
PHASES = ["opening devices", "settings", "reading", "sizes", "taking memory", "scatter", "histogram", "partition",
          "exchange", "local sort", "verifying", "making the output", "writing", "replacing the output"]
PHASES_IN_PARTS = ["reading", "taking memory", "sorting runs", "making the output", "finding splitters", "reading runs",
                   "exchange", "sorting ranges", "verifying", "writing", "replacing the output"]
IS_FULL = os.environ.get("SPANSORT_TEST_FULL") == "1"


def watch(folder, fate, command):
    """Runs `command`; kills it when it stops, where that is its fate. Records its end, or that it was stopped, and ends
    as it did, so that mpirun sees the same."""
    # mpirun's signal is for the command. A handler, unlike SIG_IGN, is not inherited by it.
    signal.signal(signal.SIGTERM, lambda *_: None)
    path = pathlib.Path(folder, os.environ["OMPI_COMM_WORLD_RANK"])
    pid = os.spawnv(os.P_NOWAIT, command[0], command)
    while True:
        _, status = os.waitpid(pid, os.WUNTRACED)
        is_stopped = os.WIFSTOPPED(status)
        if is_stopped and fate == "KILL":
            os.kill(pid, signal.SIGKILL)
            continue
        code = 0 if is_stopped else os.waitstatus_to_exitcode(status)
        record = {"status": "stopped" if is_stopped else code, "time_s": time.monotonic()}
        # The end of a rank that was stopped is mpirun's doing and of no interest.
        if not path.exists():
            path.with_suffix(".new").write_text(json.dumps(record))
            path.with_suffix(".new").rename(path)
        if not is_stopped:
            break
    if code < 0:
        os.kill(os.getpid(), -code)
    sys.exit(code)


def open_mpi_version():
    text = subprocess.run([os.environ.get("MPIEXEC", "mpirun"), "--version"], capture_output=True, text=True).stdout
    found = re.search(r"Open MPI\) (\d+)", text)
    return int(found.group(1)) if found else 0


class FailureOfARank(support.CommandTest):
    def setUp(self):
        super().setUp()
        self.outcomes = pathlib.Path(self.path("outcomes"))
        self.data = pathlib.Path(self.path("data"))
        self.outcomes.mkdir()
        self.data.mkdir()
        np.save(self.data / "x.npy", self.rng.integers(0, 2**32, 300_000, dtype="<u4"))
        (self.data / "y.npy").write_bytes(OLD_OUTPUT)
        self.input = (self.data / "x.npy").read_bytes()

    def run_command(self, fate, *arguments):
        environment = dict(os.environ, OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1",
                           OMPI_MCA_mpi_yield_when_idle="1")
        for old in self.outcomes.iterdir():
            old.unlink()
        launch = [os.environ.get("MPIEXEC", "mpirun"), "--oversubscribe", "-n", str(NUM_RANKS), sys.executable, "-B",
                  __file__, "--watch", str(self.outcomes), fate, BIN]
        done = subprocess.run([*launch, *map(str, arguments)], env=environment, capture_output=True, text=True,
                              timeout=60)
        self.assertNotEqual(done.returncode, 0, done.stderr)
        return {int(path.name): json.loads(path.read_text()) for path in self.outcomes.glob("[0-9]")}, done.stderr

    def check_files(self, about):
        self.assertEqual(sorted(path.name for path in self.data.iterdir()), ["x.npy", "y.npy"], about)
        self.assertEqual((self.data / "y.npy").read_bytes()[:100], OLD_OUTPUT, about)
        self.assertTrue((self.data / "x.npy").read_bytes() == self.input, about)

    def check(self, fate, victim, phase, *flags, command="sort", output="-o"):
        (self.data / "y.npy").write_bytes(OLD_OUTPUT)
        outcomes, messages = self.run_command(fate, command, "--mpi", self.data / "x.npy", output, self.data / "y.npy",
                                              "--heartbeat-timeout", SILENCE_S, "--test-fault",
                                              f"stop:{phase}:{victim}", *flags)
        about = f"{fate} node rank {victim} in {phase} {flags}: {outcomes}\n{messages}"
        self.assertEqual(sorted(outcomes), list(range(NUM_RANKS)), about)
        self.assertEqual(outcomes[victim]["status"], -signal.SIGKILL if fate == "KILL" else "stopped", about)
        soonest_s, latest_s = (-SOON_S, SOON_S) if fate == "KILL" else (SILENCE_S / 2, SILENCE_S + 5)
        for rank in set(range(NUM_RANKS)) - {victim}:
            self.assertEqual(outcomes[rank]["status"], 7, about)
            took_s = outcomes[rank]["time_s"] - outcomes[victim]["time_s"]
            self.assertTrue(soonest_s <= took_s <= latest_s, f"node rank {rank} took {took_s} s: {about}")
            reason = "it ended without a word" if fate == "KILL" else "nothing was heard of it for"
            self.assertIn(f"spansort: node rank {rank}: node rank {victim} failed in phase '{phase}': {reason}",
                          messages, about)
        self.check_files(about)

    def for_all_phases(self, fate, phases, *flags, first=0, **rest):
        for number, phase in enumerate(phases):
            for victim in range(NUM_RANKS) if IS_FULL else [(number + first) % NUM_RANKS]:
                with self.subTest(fate=fate, phase=phase, victim=victim):
                    self.check(fate, victim, phase, *flags, **rest)

    def test_killed(self):
        self.for_all_phases("KILL", PHASES, "--verify")

    def test_stopped(self):
        # Silence is noticed alike in all phases; it takes long.
        self.for_all_phases("STOP", PHASES if IS_FULL else PHASES[::3], "--verify", first=1)

    def test_other_algorithm(self):
        lsd = ["--algorithm", "distributed_lsd", "--radix-bits", "8"]
        self.for_all_phases("KILL", ["index", "local sort"], *lsd)
        self.for_all_phases("STOP", ["exchange"], *lsd, first=2)
        sample_sort = ["--algorithm", "distributed_sample_sort"]
        self.for_all_phases("KILL", ["local sort", "index", "exchange", "merge"], *sample_sort)

    def test_in_parts(self):
        world = ["--test-world", "9000,64,2"]
        self.for_all_phases("KILL", PHASES_IN_PARTS, *world, "--verify", "-T", self.data, first=1)
        self.for_all_phases("KILL", ["sorting ranges", "writing"], *world, "-u", "-T", self.data)
        self.for_all_phases("STOP", PHASES_IN_PARTS if IS_FULL else ["exchange"], *world)

    def test_argsort(self):
        self.for_all_phases("KILL", ["exchange", "writing"], first=1, command="argsort")
        self.for_all_phases("KILL", ["verifying", "fetching values"], "--verify", command="argsort")

    def test_summary(self):
        # Short whiskers: else there would be no outliers to collect.
        phases = ["reading", "select", "count", "collect", "mean", "counting"]
        self.for_all_phases("KILL", phases, "--whis", "0.1", command="summary", output="--json")
        self.for_all_phases("STOP", ["select", "counting"], command="summary", output="--json")

    def test_outliers(self):
        phases = ["collecting outliers", "making the output", "writing", "replacing the output"]
        self.for_all_phases("KILL", phases, "--whis", "0.1", command="summary", output="--outliers")

    def test_failure_of_its_own(self):
        """A rank fails where the others do not wait to hear of it: its own status and message; theirs are as ever."""
        # What fails while the result is being written counts as the device's failure.
        for number, (phase, status) in enumerate([("settings", 6), ("exchange", 5), ("replacing the output", 6)]):
            victim = number % NUM_RANKS
            with self.subTest(phase=phase, victim=victim):
                outcomes, messages = self.run_command("none", "sort", "--mpi", self.data / "x.npy", "-o",
                                                      self.data / "y.npy", "--test-fault", f"fail:{phase}:{victim}")
                statuses = [outcomes[r]["status"] for r in range(NUM_RANKS)]
                self.assertEqual(statuses, [status if r == victim else 7 for r in range(NUM_RANKS)], messages)
                self.assertIn(f"spansort: node rank {victim}: the failure that a test asked for", messages)
                for rank in set(range(NUM_RANKS)) - {victim}:
                    self.assertIn(
                        f"spansort: node rank {rank}: node rank {victim} failed in phase '{phase}': the failure",
                        messages)
                self.check_files(messages)

    def test_mpirun_is_told_to_end(self):
        """While the temporary file has a name: it is removed within the second that mpirun leaves."""
        environment = dict(os.environ, OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1")
        for number in (signal.SIGTERM, signal.SIGINT):
            with self.subTest(number=number):
                launch = [os.environ.get("MPIEXEC", "mpirun"), "--oversubscribe", "-n", str(NUM_RANKS), BIN, "sort",
                          "--mpi", self.data / "x.npy", "-o", self.data / "y.npy", "--test-fault", "wait:writing:1"]
                command = subprocess.Popen(launch, env=environment, stdout=subprocess.DEVNULL,
                                           stderr=subprocess.DEVNULL)
                deadline = time.monotonic() + 30
                while len(list(self.data.iterdir())) != 3 and time.monotonic() < deadline:
                    time.sleep(0.01)
                self.assertEqual(len(list(self.data.iterdir())), 3, "no temporary file was made")
                time.sleep(0.2)
                command.send_signal(number)
                self.assertNotEqual(command.wait(timeout=30), 0)
                if open_mpi_version() >= 5:  # its mpirun may kill ranks before they have removed the temporary file
                    for left in self.data.glob(".spansort-*"):
                        left.unlink()
                self.check_files(f"signal {number}")

    def test_failure_that_all_hear_of(self):
        """Told by the rank itself, with its status, which all have."""
        (self.data / "x.npy").write_bytes(self.input[:-4])
        self.input = self.input[:-4]
        outcomes, messages = self.run_command("none", "sort", "--mpi", self.data / "x.npy", "-o", self.data / "y.npy")
        self.assertEqual([outcomes[r]["status"] for r in range(NUM_RANKS)], [3] * NUM_RANKS, messages)
        self.assertEqual(messages.count("spansort: "), 1, messages)
        self.check_files(messages)


if __name__ == "__main__":
    if sys.argv[1:2] == ["--watch"]:
        watch(sys.argv[2], sys.argv[3], sys.argv[4:])
    support.main()
