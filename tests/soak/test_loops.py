# SPDX-License-Identifier: Apache-2.0
"""The loops of loops.py for seconds, and that they see what they are there for: a command that empties the output first
and then writes it, as others do."""
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

LOOPS = pathlib.Path(__file__).with_name("loops.py")
BIN = os.environ["SPANSORT_BIN"]

# Given the real command's path: cuts off what it will write to, waits, and then works as that does.
EMPTIES_FIRST = """#!/bin/sh
for last in "$@"; do
  if [ "$before" = -o ]; then output=$last; fi
  before=$last
done
case $1 in
  sort|argsort) case $output in */out/y) head -c 3 "$output" >"$output.part"; cat "$output.part" >"$output"
    rm "$output.part"; sleep 0.3;; esac;;
esac
exec '{}' "$@"
"""


def loops(*arguments, command=BIN):
    done = subprocess.run([sys.executable, "-B", LOOPS, *map(str, arguments)], capture_output=True, text=True,
                          timeout=600, env=dict(os.environ, SPANSORT_BIN=command), check=False)
    return done.returncode, done.stdout + done.stderr


class Loops(unittest.TestCase):
    def assert_none_failed(self, status, said):
        self.assertEqual(status, 0, said)
        self.assertRegex(said, r"\n\d+ [a-z ]+, 0 failed\n")

    def test_kills(self):
        self.assert_none_failed(*loops("kills", "--count", 13, "--megabytes", 8, "--ceiling", "36M"))

    def test_disks(self):
        left = tempfile.mkdtemp(prefix="spansort-loops-0-")  # as a killed loop leaves it
        self.assert_none_failed(*loops("disks", "--kind", "stream", "--sizes", 4, "--megabytes", 1, "--ceiling", "36M"))
        self.assertFalse(os.path.exists(left))

    def test_ceilings(self):
        status, said = loops("ceilings", "--kind", "external", "--sizes", 1, "--megabytes", 60)
        if "no control group" in said:
            self.skipTest(said)
        self.assert_none_failed(status, said)


class Planted(unittest.TestCase):
    def test_an_output_that_is_emptied_first(self):
        with tempfile.TemporaryDirectory() as folder:
            command = pathlib.Path(folder, "spansort")
            command.write_text(EMPTIES_FIRST.format(BIN))
            command.chmod(0o755)
            status, said = loops("kills", "--kind", "keys", "--count", 8, "--megabytes", 1, command=str(command))
        self.assertEqual(status, 1, said)
        self.assertRegex(said, "the output is neither old nor new")
        self.assertGreater(int(re.search(r", (\d+) failed\n", said).group(1)), 0)


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], *sys.argv[1:]])
