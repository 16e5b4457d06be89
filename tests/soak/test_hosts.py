# SPDX-License-Identifier: Apache-2.0
"""The loop of hosts.py for two jobs, one of which loses a host, that it sees a host that stays, and that the hosts of a
loop that was killed go with the next one's."""
import contextlib
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import time
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
# It makes hosts, has a process run on the first, says who all are, and waits.
MAKES_HOSTS = """
import subprocess, sys, time, network
hosts = network.Hosts(2, 0, 1)
sleeper = subprocess.Popen([*hosts.inside(0), "sleep", "1000"], start_new_session=True)
print(sleeper.pid, hosts.switch, *hosts.names, flush=True)
time.sleep(1000)
"""


def hosts(*arguments, **environment):
    done = subprocess.run([sys.executable, "-B", LOOP, *map(str, arguments)], capture_output=True, text=True,
                          timeout=600, env=dict(os.environ, **environment), check=False)
    return done.returncode, done.stdout + done.stderr


def namespaces():
    said = subprocess.run(["ip", "netns", "list"], capture_output=True, text=True, check=True).stdout
    return {line.split()[0] for line in said.splitlines()}


def is_running(pid):
    """What has ended may wait for its parent."""
    try:
        state = pathlib.Path(f"/proc/{pid}/stat").read_text(encoding="ascii").rpartition(")")[2].split()[0]
    except FileNotFoundError:
        return False
    return state != "Z"


@unittest.skipIf(WHY_NOT, WHY_NOT)
class HostsOfAProcessThatWasKilled(unittest.TestCase):
    def maker(self):
        """A process with hosts, which ends with the test; the process that runs on one; the names of the hosts."""
        maker = subprocess.Popen([sys.executable, "-B", "-c", MAKES_HOSTS], stdout=subprocess.PIPE, text=True,
                                 cwd=pathlib.Path(network.__file__).parent)
        self.addCleanup(network.remove_hosts_of_ended_processes)
        for clean_up in (maker.stdout.close, maker.wait, maker.kill):
            self.addCleanup(clean_up)
        sleeper, *names = maker.stdout.readline().split()
        self.assertEqual(len(names), 3)
        return maker, int(sleeper), set(names)

    def test_go_with_the_next_and_others_stay(self):
        killed, sleeper, left = self.maker()
        _, sleeper_of_other, stay = self.maker()
        killed.kill()
        killed.wait()
        self.assertLessEqual(left, namespaces())
        self.assertTrue(is_running(sleeper))
        with contextlib.closing(network.Hosts(1, 0, 0)) as hosts:
            found = namespaces()
            self.assertEqual(left & found, set())
            self.assertLessEqual({hosts.switch, *hosts.names, *stay}, found)
            self.assertTrue(is_running(sleeper_of_other))
            deadline = time.monotonic() + 10
            while is_running(sleeper) and time.monotonic() < deadline:
                time.sleep(0.01)
            self.assertFalse(is_running(sleeper))


@unittest.skipIf(WHY_NOT, WHY_NOT)
class Hosts(unittest.TestCase):
    def test_jobs(self):
        left = tempfile.mkdtemp(prefix="spansort-hosts-0-")  # as a killed loop leaves it
        status, said = hosts("--count", 2)
        self.assertEqual(status, 0, said)
        self.assertRegex(said, r"\n2 jobs, 1 of them cut, 0 failed\n")
        self.assertFalse(os.path.exists(left))

    def test_host_that_stays_is_seen(self):
        status, said = hosts("--count", 1, "--cut-every", 1, SPANSORT_HOSTS_STAY="1")
        self.assertEqual(status, 1, said)
        self.assertIn("failed: job 0 of seed 1, over MPI", said)
        self.assertIn("the output is new", said)


if __name__ == "__main__":
    support.main()
