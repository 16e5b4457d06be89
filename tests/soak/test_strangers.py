# SPDX-License-Identifier: Apache-2.0
"""The loop of strangers.py for two jobs, and that it sees a node rank 0 that grows while its port is open."""
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

LOOP = pathlib.Path(__file__).with_name("strangers.py")


def strangers(*arguments, **environment):
    done = subprocess.run([sys.executable, "-B", LOOP, *map(str, arguments)], capture_output=True, text=True,
                          timeout=600, env=dict(os.environ, **environment), check=False)
    return done.returncode, done.stdout + done.stderr


class Strangers(unittest.TestCase):
    def test_jobs(self):
        left = tempfile.mkdtemp(prefix="spansort-strangers-0-")  # as a killed loop leaves it
        status, said = strangers("--count", 2, "--late-ms", 200)
        self.assertEqual(status, 0, said)
        self.assertRegex(said, r"\n2 jobs, 0 failed\n")
        # Some have been heard, and not only turned away.
        self.assertGreater(int(re.search(r"(\d+) of them with a rank's own greeting", said).group(1)), 0, said)
        self.assertFalse(os.path.exists(left))

    def test_growth_is_seen(self):
        status, said = strangers("--count", 1, "--late-ms", 50, SPANSORT_MEETING_GROWS="3000000")
        self.assertEqual(status, 1, said)
        self.assertRegex(said, r"failed: job 0 on the loopback: node rank 0 grew by \d{7} bytes")


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], *sys.argv[1:]])
