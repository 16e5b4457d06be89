# SPDX-License-Identifier: Apache-2.0
"""Shared by the tests of the command over MPI: running it under mpirun. Environment: MPIEXEC, and that of tests/cli."""
import os
import pathlib
import shlex
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parent.parent / "cli"))
import support  # noqa: E402
from support import BIN, TYPES, main, random_bits  # noqa: E402, F401

MPIEXEC = os.environ.get("MPIEXEC", "mpirun")
ENVIRONMENT = dict(os.environ, LC_ALL="C", OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1",
                   OMPI_MCA_rmaps_base_oversubscribe="1", OMPI_MCA_mpi_yield_when_idle="1",
                   OMPI_MCA_hwloc_base_binding_policy="none", OMPI_MCA_btl="^tcp",  # which warns of a lack of networks
                   # Open MPI 5 reads the settings of its launcher.
                   PRTE_MCA_rmaps_default_mapping_policy=":oversubscribe", PRTE_MCA_hwloc_default_binding_policy="none")


def mpirun(*args, num_ranks=3, **rest):
    """Runs the command on so many ranks. An argument ":" begins those of one rank more, as mpirun has it. The mpirun of
    Open MPI 5.0.7 crashes when it is given several programs, so a shell chooses among them."""
    parts = [[]]
    for argument in map(str, args):
        if argument == ":":
            parts.append([])
        else:
            parts[-1].append(argument)
    launch = [MPIEXEC, "-n", str(num_ranks + len(parts) - 1)]
    if len(parts) == 1:
        launch += [BIN, *parts[0]]
    else:
        others = [f"{num_ranks + i}) exec {shlex.join([BIN, *part])};;" for i, part in enumerate(parts[1:])]
        script = f"case $OMPI_COMM_WORLD_RANK in {' '.join(others)} *) exec {shlex.join([BIN, *parts[0]])};; esac"
        launch += ["sh", "-c", script]
    return subprocess.run(launch, env=ENVIRONMENT, capture_output=True, text=True, timeout=120, **rest)


class ClusterTest(support.CommandTest):
    def messages(self, done):
        """The lines of the command's, without mpirun's own."""
        return [line for line in done.stderr.splitlines() if line.startswith("spansort: ")]

    def run_ok(self, *args, **rest):
        done = mpirun(*args, **rest)
        self.assertEqual(done.returncode, 0, f"{args}: {done.stderr}")
        self.assertEqual(done.stderr, "", f"{args}")
        return done

    def refused(self, status, words, *args, **rest):
        """The status, one message that has all the words, and every file as it was."""
        before = self.snapshot()
        done = mpirun(*args, **rest)
        self.assertEqual(done.returncode, status, f"{args}: {done.stderr}")
        self.assertEqual(len(self.messages(done)), 1, f"{args}: {done.stderr}")
        for word in words:
            self.assertIn(word, done.stderr, f"{args}")
        self.assertEqual(self.snapshot(), before, f"{args}: files changed")
        return done

    def keys(self, key_type, num_keys):
        return random_bits(key_type, num_keys, self.rng).view(TYPES[key_type][1])
