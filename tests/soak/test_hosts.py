# SPDX-License-Identifier: Apache-2.0
"""The loop of hosts.py for two jobs, one of which loses a host, and that it sees a host that stays."""
import contextlib
import os
import pathlib
import shutil
import subprocess
import sys
import unittest

import network

sys.path.insert(0, str(pathlib.Path(__file__).parent.parent / "cli"))
import support  # noqa: E402

LOOP = pathlib.Path(__file__).with_name("hosts.py")


def why_not():
    """What is missing for hosts on this machine, "" for nothing."""
    missing = [name for name in ("ip", "tc", "unshare", "mpirun") if shutil.which(name) is None]
    if missing:
        return "without " + ", ".join(missing)
    try:
        with contextlib.closing(network.Hosts(1, 100, 1)):
            return ""
    except (OSError, subprocess.CalledProcessError) as failure:
        return f"no namespace, interface or token bucket: {failure}"


WHY_NOT = why_not()


def hosts(*arguments, **environment):
    done = subprocess.run([sys.executable, "-B", LOOP, *map(str, arguments)], capture_output=True, text=True,
                          timeout=600, env=dict(os.environ, **environment), check=False)
    return done.returncode, done.stdout + done.stderr


@unittest.skipIf(WHY_NOT, WHY_NOT)
class Hosts(unittest.TestCase):
    def test_jobs(self):
        status, said = hosts("--count", 2)
        self.assertEqual(status, 0, said)
        self.assertRegex(said, r"\n2 jobs, 1 of them cut, 0 failed\n")

    def test_host_that_stays_is_seen(self):
        status, said = hosts("--count", 1, "--cut-every", 1, SPANSORT_HOSTS_STAY="1")
        self.assertEqual(status, 1, said)
        self.assertIn("failed: job 0 of seed 1, over MPI", said)
        self.assertIn("the output is new", said)


if __name__ == "__main__":
    support.main()
