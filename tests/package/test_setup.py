# SPDX-License-Identifier: Apache-2.0
# `./dev setup` on a system where every package is missing: what it says before apt installs anything, and that it can
# be stopped. Programs of the system that it would call are replaced by some that write down how they were called.
import os
import pathlib
import pty
import subprocess
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]

STUBS = {
    "dpkg-query": "exit 1",
    "sudo": 'exec "$@"',
    "apt-get": """case " $* " in
  *' --print-uris '*)
    echo "'http://archive/a.deb' a.deb 3000000 SHA256:1"
    echo "'http://archive/b.deb' b.deb 4000000 SHA256:2" ;;
  *) echo "$@" >>"$CALLS" ;;
esac""",
}


class Setup(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        for name, body in STUBS.items():
            (self.folder / name).write_text(f"#!/bin/sh\n{body}\n")
            (self.folder / name).chmod(0o755)
        self.calls = self.folder / "calls"
        self.calls.touch()
        self.environment = {**os.environ, "PATH": f"{self.folder}:{os.environ['PATH']}", "CALLS": str(self.calls)}

    def setup_command(self, *arguments):
        done = subprocess.run([ROOT / "dev", "setup", *arguments], env=self.environment, stdin=subprocess.DEVNULL,
                              capture_output=True, text=True, timeout=60)
        return done.returncode, done.stdout + done.stderr

    def test_names_and_size_come_before_the_installation(self):
        status, output = self.setup_command()
        self.assertEqual(status, 0, output)
        words = ("libtbb-dev", "2 packages, a download of 7 MB", "install -y")
        names, size, install = (output.find(each) for each in words)
        self.assertTrue(0 <= names < size < install, output)
        self.assertIn("as root", output)
        calls = self.calls.read_text().splitlines()
        self.assertEqual(calls[0], "update")
        self.assertTrue(calls[1].startswith("install -y --no-install-recommends g++ cmake"), calls)

    def test_dry_run_installs_nothing(self):
        status, output = self.setup_command("--dry-run")
        self.assertEqual(status, 0, output)
        self.assertIn("7 MB", output)
        self.assertIn("nothing was installed", output)
        self.assertEqual(self.calls.read_text(), "")

    def test_an_unknown_argument_installs_nothing(self):
        status, output = self.setup_command("--dryrun")
        self.assertEqual(status, 1, output)
        self.assertEqual(self.calls.read_text(), "")

    def test_on_a_terminal_it_can_be_stopped(self):
        pid, terminal = pty.fork()
        if pid == 0:
            os.execve(ROOT / "dev", ["dev", "setup"], self.environment)
        output = b""
        while b"Ctrl-C stops" not in output:
            output += os.read(terminal, 4096)
        os.write(terminal, b"\x03")
        try:
            while os.read(terminal, 4096):
                pass
        except OSError:  # the terminal's other end is closed
            pass
        status = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
        os.close(terminal)
        self.assertIn(status, (-2, 130))
        self.assertEqual(self.calls.read_text(), "")


if __name__ == "__main__":
    unittest.main()
