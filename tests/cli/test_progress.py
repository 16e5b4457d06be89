# SPDX-License-Identifier: Apache-2.0
"""What a sort says on standard error: a bar that moves also while the disk blocks, and one line when it is done."""
import fcntl
import os
import re
import signal
import struct
import subprocess
import tempfile
import termios
import time

import numpy as np

from support import BIN, CommandTest, build_faults, main, run

CLEAR = "\r\x1b[K"


class Finish(CommandTest):
    def setUp(self):
        super().setUp()
        self.keys = np.array([3, 1, 2, 1] * 500, "<u4")
        self.input = self.save("x.npy", self.keys)

    def told(self, *args):
        done = run(*args, "--progress", "always")
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stderr.rpartition(CLEAR)[2]

    def test_keys_time_rate_choice_and_verification(self):
        line = self.told("sort", self.input, "-o", self.path("y.npy"), "--devices", "host:2", "--threads", "1")
        self.assertRegex(line, r"^spansort: sorted 2,000 u32 keys in [0-9.]+ s, [0-9.]+ [kMG]? ?keys/s, "
                               r"[0-9.]+ [kMG]?B/s; \w+ on host:0 ... host:1, 2 threads; not verified\n$")
        self.assertRegex(self.told("sort", self.input, "-o", self.path("y.npy"), "--verify"), "; verified\n$")

    def test_every_kind_of_sort(self):
        out = self.path("out.bin")
        self.assertIn("found the order of 2,000 u32 keys in", self.told("argsort", self.input, "-o", out))
        self.assertIn("sorted 2,000 u32 keys, kept 3 in", self.told("sort", self.input, "-o", out, "-u"))
        self.assertIn("2,000 u32 keys, kept 10 in", self.told("sort", self.input, "-o", out, "--head", "10"))
        self.assertRegex(self.told("sort", self.input, "-o", out, "--test-world", "500,50,2"),
                         r"; external, \d+ runs, [0-9.]+ KiB spilled; not verified\n$")
        raw = self.write("x.bin", self.keys.tobytes())
        self.assertIn("sorted 1,000 records of 8 bytes in",
                      self.told("sort", raw, "--record", "8", "--key", "0:4:u32", "-o", out))
        rising = self.save("rising.npy", np.arange(100, dtype="<i8"))
        self.assertIn("merged 200 i64 keys in", self.told("sort", "-m", rising, rising, "-o", out))
        self.assertIn("sorted 0 u8 keys in", self.told("sort", self.write("empty", b""), "--type", "u8", "-o", out))

    def test_silence_where_nobody_reads(self):
        for flags in ([], ["--progress", "auto"], ["--progress", "never"]):
            self.assert_ok("sort", self.input, "-o", self.path("y.npy"), *flags)
        self.assertEqual(run("sort", self.input, "--dry-run", "--progress", "always").stderr, "")

    def test_a_terminal_is_told(self):
        leader, follower = os.openpty()
        try:
            for flags, told in (([], True), (["--progress", "never"], False)):
                done = subprocess.run([BIN, "sort", self.input, "-o", self.path("y.npy"), *flags], stderr=follower,
                                      timeout=60, check=True)
                self.assertEqual(done.returncode, 0)
                os.set_blocking(leader, False)
                try:
                    text = os.read(leader, 1 << 16).decode()
                except BlockingIOError:
                    text = ""
                self.assertEqual("sorted 2,000 u32 keys" in text, told, text)
        finally:
            os.close(leader)
            os.close(follower)


class Bar(CommandTest):
    @classmethod
    def setUpClass(cls):
        cls.tools = tempfile.TemporaryDirectory()
        cls.addClassCleanup(cls.tools.cleanup)
        cls.library = build_faults(cls.tools.name)

    def begin(self, fault, *args, stderr=subprocess.PIPE, **rest):
        env = os.environ | {"LD_PRELOAD": self.library, "SPANSORT_FAULT": fault, "SPANSORT_FAULT_IN": self.folder}
        return subprocess.Popen([BIN, *args], stderr=stderr, env=env, **rest)

    def start(self, fault, *args, **rest):
        return self.begin(fault, "sort", *args, **rest)

    def keys(self, name="x.npy", num_keys=2000):
        return self.save(name, self.rng.integers(0, 2**32, num_keys).astype("<u4"))

    def test_it_moves_while_the_disk_blocks(self):
        """The one write of the sort takes 1.5 s; in the middle of it lines come, a tenth of a second apart."""
        sorting = self.start("wait:write:1:1500,wait:pwrite:1:1500", self.keys(), "-o", self.path("y.npy"),
                             "--progress", "always")
        lines = [line for line in sorting.communicate()[1].decode().split("\r") if "%" in line]
        self.assertEqual(sorting.returncode, 0)
        self.assertGreaterEqual(len(lines), 6, "of 13")
        seconds = [float(re.search(r"([0-9.]+) s", line)[1]) for line in lines]
        self.assertEqual(seconds, sorted(seconds))
        self.assertGreater(seconds[-1], 1)

    def verbs(self):
        """Verbs that read or write files: phase, call that takes its time, its milliseconds, flags."""
        keys = self.save("sorted.npy", np.arange(20_000, dtype="<u4"))
        large = self.save("large.npy", np.arange(6_000_000, dtype="<u8"))
        order = self.save("order.npy", np.arange(20_000, dtype="<i8")[::-1])
        records = self.write("records.bin", bytes(8000))
        little = ("-S", "40M", "-j", "2")
        reading, block, writing = ("read:1+", 250), ("pread:4+", 8), ("write:1", 600)
        return [("write", *writing, ("gen", "2000", "--type", "u32", "-o", self.path("made.npy"))),
                ("write", *writing, ("gen", "2000", "--records", "-o", self.path("made.dat"))),
                ("check", *reading, ("check", keys)),
                ("check", *reading, ("check", records, "--record", "8", "--key", "0:4:u32")),
                ("check", *reading, ("sort", "-c", keys)),
                ("(read|summarize)", *reading, ("summary", keys, "--json", self.path("held.json"))),
                ("read", *block, ("summary", large, *little, "--outliers", self.path("o.npy"))),
                ("read", *block, ("plan", large, "--devices", "host:3", "-j", "2")),
                ("(read|take)", *reading, ("take", keys, "--order", order, "-o", self.path("taken.npy"))),
                ("take", *block, ("take", large, "--order", large, *little, "-o", self.path("taken.npy")))]

    def test_every_verb_that_takes_its_time(self):
        for phase, call, ms, args in self.verbs():
            with self.subTest(args=args):
                fault = f"wait:{call}:{ms}"
                working = self.begin(fault, *args, "--progress", "always", stdout=subprocess.DEVNULL)
                text = working.communicate()[1].decode()
                self.assertEqual(working.returncode, 0, text)
                self.assertRegex(text, rf"\r\[[#-]{{10,30}}\] +\d+ %  [0-9.]+ s  {phase}  ")
                shares = [int(share) for share in re.findall(r"(\d+) %", text)]
                self.assertGreater(len(shares), 3, text)
                self.assertEqual(shares, sorted(shares))
                self.assertEqual(text.rpartition(CLEAR)[2], "", "nothing after the bar")

    def test_a_terminal_sees_the_bar_of_every_verb_and_an_interrupt_clears_it(self):
        for _, call, _, args in self.verbs():
            with self.subTest(args=args):
                before = sorted(os.listdir(self.folder))
                leader, follower = os.openpty()
                fcntl.ioctl(follower, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 100, 0, 0))
                working = self.begin(f"wait:{call}:3000", *args, stderr=follower, stdout=subprocess.DEVNULL)
                os.close(follower)
                drawn = os.read(leader, 1 << 16)
                working.send_signal(signal.SIGINT)
                self.assertEqual(working.wait(timeout=60), -signal.SIGINT)
                try:
                    while part := os.read(leader, 1 << 16):
                        drawn += part
                except OSError:
                    pass
                os.close(leader)
                self.assertRegex(drawn.decode(), r"^\r\[[#-]{10,30}\] +\d+ %")
                self.assertTrue(drawn.decode().endswith(CLEAR), drawn)
                self.assertEqual(sorted(os.listdir(self.folder)), before, "nothing is left behind")

    def test_of_a_pipe_the_reader_shows_its_bar(self):
        keys = self.save("sorted.npy", np.arange(50_000, dtype="<u4"))
        order = self.save("order.npy", np.arange(50_000, dtype="<i8"))
        for args in (("gen", "50000", "--type", "u32", "-o", "-"), ("take", keys, "--order", order, "-o", "-"),
                     ("sort", keys)):
            for flags, is_shown in (([], False), (["--progress", "always"], True)):
                leader, follower = os.openpty()
                with subprocess.Popen([BIN, *args, *flags], stdout=subprocess.PIPE, stderr=follower) as working:
                    time.sleep(0.6)  # the pipe is full
                    working.communicate()
                    self.assertEqual(working.returncode, 0)
                os.set_blocking(leader, False)
                try:
                    drawn = os.read(leader, 1 << 16)
                except BlockingIOError:
                    drawn = b""
                os.close(follower)
                os.close(leader)
                self.assertEqual(b"%" in drawn, is_shown, (args, drawn))
                if not is_shown:
                    self.assertEqual(drawn, b"")

    def test_quiet_checks_and_wrong_words(self):
        path = self.save("sorted.npy", np.arange(20_000, dtype="<u4"))
        for args in (("sort", "-C", path, "--progress", "always"), ("sort", "--check=quiet", path), ("check", path)):
            checking = self.begin("wait:read:1+:150", *args, stdout=subprocess.DEVNULL)
            self.assertEqual(checking.communicate()[1], b"", "quiet, or no terminal")
        for args in (("gen", "5", "--type", "u8", "-o", self.path("y")), ("check", path), ("sort", "-c", path),
                     ("summary", path), ("plan", path), ("take", path, "--order", path, "-o", self.path("y"))):
            self.assert_refused(2, ["--progress: 'sometimes' is unknown; auto, always or never expected"], *args,
                                "--progress", "sometimes")

    def test_rate_and_time_left(self):
        path = self.keys(num_keys=200_000)
        sorting = self.start("wait:pread:1+:40", path, "-o", self.path("y.npy"), "--progress", "always", "--test-world",
                             "20000,2000,4", "-T", self.folder)
        text = sorting.communicate()[1].decode()
        self.assertEqual(sorting.returncode, 0, text)
        self.assertRegex(text, r"\r\[[#-]{10,30}\] +\d+ %  [0-9.]+ s  \w[\w ]*  [0-9.]+ [kMG]?B/s  \d+ s left")

    def test_a_long_path_does_not_break_the_line(self):
        folder = self.path("a-long-name-" * 8)
        os.mkdir(folder)
        path = os.path.join(folder, "größe.npy")
        np.save(path, np.arange(1000, dtype="<u4")[::-1])
        for columns in (30, 60, 100):
            leader, follower = os.openpty()
            fcntl.ioctl(follower, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
            sorting = self.start("wait:write:1:600,wait:pwrite:1:600", path, "-o", self.path("y.npy"), "--progress",
                                 "always", stderr=follower)
            self.assertEqual(sorting.wait(timeout=60), 0)
            os.close(follower)
            text = b""
            try:
                while part := os.read(leader, 1 << 16):
                    text += part
            except OSError:
                pass
            os.close(leader)
            drawn = text.decode().rpartition(CLEAR)[0]
            lines = [line.removesuffix("\x1b[K") for line in drawn.split("\r") if "%" in line]
            self.assertGreater(len(lines), 1, text)
            for line in lines:
                self.assertLess(len(line), columns)
                self.assertTrue(line.isascii() and line.isprintable(), line)
            if columns == 100:
                self.assertRegex(lines[0], r"  \.\.\..*\.npy$")

    def test_interrupts_leave_a_clean_line(self):
        for number in (signal.SIGINT, signal.SIGTERM):
            sorting = self.start("wait:write:1:5000,wait:pwrite:1:5000", self.keys(), "-o", self.path("y.npy"),
                                 "--progress", "always")
            drawn = b""
            while b"%" not in drawn:
                drawn += os.read(sorting.stderr.fileno(), 1 << 16)
            sorting.send_signal(number)
            drawn += sorting.communicate()[1]
            self.assertEqual(sorting.returncode, -number)
            self.assertTrue(drawn.decode().endswith(CLEAR), drawn)

    def test_a_failure_is_said_on_a_clean_line(self):
        sorting = self.start("wait:write:1:500,wait:pwrite:1:500,write:1:5,pwrite:1:5", self.keys(), "-o",
                             self.path("y.npy"), "--progress", "always")
        drawn = sorting.communicate()[1].decode()
        self.assertEqual(sorting.returncode, 4)
        self.assertRegex(drawn.rpartition(CLEAR)[2], "^spansort: cannot write ")


if __name__ == "__main__":
    main()
