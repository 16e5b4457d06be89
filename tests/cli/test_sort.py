# SPDX-License-Identifier: Apache-2.0
"""sort and argsort on good input: every type, raw and .npy, streams, in place, aliases, all ways to the same bytes."""
import functools
import json
import os
import re
import subprocess
import threading

import numpy as np

from support import (BIN, IS_FULL, IS_SMALL, TYPES, VARIED_TYPES, CommandTest, expected_argsort, expected_sort, in_turn,
                     main, random_bits, tie_ranks)

NUM_KEYS = 2003 if IS_SMALL else 20011


def for_every_type(test):
    """Calls test(self, key_type, keys) for all twelve, each a subtest; for four of different width at small scale."""
    @functools.wraps(test)
    def run_all(self):
        for key_type in VARIED_TYPES:
            with self.subTest(type=key_type):
                test(self, key_type, random_bits(key_type, NUM_KEYS, self.rng))
    return run_all


class EveryType(CommandTest):
    @for_every_type
    def test_raw(self, key_type, keys):
        path = self.write("x.bin", keys.tobytes())
        for descending in (False, True):
            flags = ["-r"] if descending else []
            self.assert_ok("sort", path, "-o", self.path("y.bin"), "--type", key_type, *flags)
            expected = expected_sort(keys, key_type, descending)
            self.assertEqual(self.read("y.bin"), expected.tobytes())

    @for_every_type
    def test_npy_bytes_are_those_of_numpy(self, key_type, keys):
        dtype = TYPES[key_type][1]
        path = self.save("x.npy", keys.view(dtype))
        self.assert_ok("sort", path, "-o", self.path("y.npy"), "--type", key_type, "--verify")
        self.save("expected.npy", expected_sort(keys, key_type).view(dtype))
        self.assertEqual(self.read("y.npy"), self.read("expected.npy"))
        if key_type != "bf16":
            np.testing.assert_array_equal(np.sort(keys.view(dtype)), np.load(self.path("y.npy")))

    @for_every_type
    def test_big_endian_stays_big_endian(self, key_type, keys):
        dtype = np.dtype(TYPES[key_type][1]).newbyteorder(">")
        path = self.save("x.npy", keys.view(TYPES[key_type][1]).astype(dtype))
        self.assert_ok("sort", path, "-o", self.path("y.npy"), "--type", key_type)
        sorted_keys = np.load(self.path("y.npy"))
        self.assertEqual(sorted_keys.dtype, dtype)
        native = sorted_keys.view(keys.dtype.newbyteorder(">")).astype(keys.dtype)
        np.testing.assert_array_equal(native, expected_sort(keys, key_type))

    @for_every_type
    def test_all_devices_and_algorithms_give_the_same_bytes(self, key_type, keys):
        ways = [["--devices", "cpu"], ["--devices", "host:3"], ["--devices", "host:64"],
                ["--devices", "cpu", "--algorithm", "single"], ["--devices", "cpu", "--algorithm", "rmg"],
                ["--devices", "host:3", "--algorithm", "rmg"], ["--devices", "host:64", "--algorithm", "rmg"], []]
        path = self.write("x.bin", keys.tobytes())
        for flags in ([], ["-r"]):
            expected = expected_sort(keys, key_type, bool(flags)).tobytes()
            for way in in_turn(ways, list(TYPES).index(key_type) + len(flags)):
                self.assert_ok("sort", path, "-o", self.path("y.bin"), "--type", key_type, *flags, *way)
                self.assertEqual(self.read("y.bin"), expected, f"{way} {flags}")

    @for_every_type
    def test_argsort(self, key_type, keys):
        path = self.write("x.bin", keys.tobytes())
        for flags in ([], ["-r"]):
            expected = expected_argsort(keys, key_type, bool(flags))
            ways = ([], ["--devices", "host:3"], ["--algorithm", "rmg", "--devices", "host:64"])
            for way in in_turn(ways, list(TYPES).index(key_type) + len(flags)):
                self.assert_ok("argsort", path, "-o", self.path("y.npy"), "--type", key_type, "--verify", *flags, *way)
                order = np.load(self.path("y.npy"))
                self.assertEqual(order.dtype, np.dtype("<i8"))
                np.testing.assert_array_equal(order, expected)

    @for_every_type
    def test_unique(self, key_type, keys):
        path = self.write("x.bin", keys.tobytes())
        for flags in ([], ["-r"]):
            self.assert_ok("sort", path, "-u", "-o", self.path("y.bin"), "--type", key_type, "--verify", *flags)
            ordered = expected_sort(keys, key_type, bool(flags))
            ranks = tie_ranks(ordered, key_type)
            is_first = np.concatenate([[True], ranks[1:] != ranks[:-1]])
            self.assertEqual(self.read("y.bin"), ordered[is_first].tobytes())
            self.assert_ok("check", self.path("y.bin"), "-u", "--type", key_type, *flags)
        self.assert_ok("argsort", path, "-u", "-o", self.path("y.npy"), "--type", key_type)
        _, first = np.unique(tie_ranks(keys, key_type), return_index=True)
        np.testing.assert_array_equal(np.load(self.path("y.npy")), first)

    def test_few_keys(self):
        for key_type in TYPES if IS_FULL else ("u8", "bf16", "i32", "f64"):
            for num_keys in (0, 1, 2, 3):
                keys = random_bits(key_type, 8, self.rng)[:num_keys]
                path = self.save("x.npy", keys.view(TYPES[key_type][1]))
                for way in ([], ["--devices", "host:3", "--algorithm", "rmg"]):
                    self.assert_ok("sort", path, "-o", self.path("y.npy"), "--type", key_type, "--verify", *way)
                    np.testing.assert_array_equal(np.load(self.path("y.npy")).view(keys.dtype),
                                                  expected_sort(keys, key_type))
                    self.assert_ok("argsort", path, "-o", self.path("z.npy"), "--type", key_type, "--verify", *way)
                    np.testing.assert_array_equal(np.load(self.path("z.npy")), expected_argsort(keys, key_type))


class Names(CommandTest):
    """Where output goes and under which name the input is found again."""

    def setUp(self):
        super().setUp()
        self.keys = self.rng.integers(0, 1000, 5003, dtype="<u4")
        self.sorted_bytes = np.sort(self.keys).tobytes()
        self.input = self.write("x.bin", self.keys.tobytes())
        self.type = ["--type", "u32"]

    def test_in_place(self):
        self.assert_ok("sort", self.input, "-o", self.input, *self.type)
        self.assertEqual(self.snapshot(), {"x.bin": self.sorted_bytes})

    def test_hard_link_of_the_input(self):
        os.link(self.input, self.path("link"))
        self.assert_ok("sort", self.input, "-o", self.path("link"), *self.type)
        self.assertEqual(self.snapshot(), {"x.bin": self.keys.tobytes(), "link": self.sorted_bytes})

    def test_symbolic_link_as_output_stays_and_its_target_is_replaced(self):
        os.mkdir(self.path("d"))
        os.symlink("../x.bin", self.path("d/link"))
        os.symlink("d/link", self.path("link"))
        self.assert_ok("sort", self.input, "-o", self.path("link"), *self.type)
        self.assertEqual(os.readlink(self.path("link")), "d/link")
        self.assertEqual(os.readlink(self.path("d/link")), "../x.bin")
        self.assertEqual(self.read("x.bin"), self.sorted_bytes)

    def test_dangling_link_as_output(self):
        os.symlink("new.bin", self.path("link"))
        self.assert_ok("sort", self.input, "-o", self.path("link"), *self.type)
        self.assertTrue(os.path.islink(self.path("link")))
        self.assertEqual(self.read("new.bin"), self.sorted_bytes)

    def test_permissions(self):
        self.write("old.bin", b"old")
        os.chmod(self.path("old.bin"), 0o604)
        self.assert_ok("sort", self.input, "-o", self.path("old.bin"), *self.type)
        self.assertEqual(os.stat(self.path("old.bin")).st_mode & 0o7777, 0o604)
        for mask in (0o022, 0o077, 0o000):
            self.assert_ok("sort", self.input, "-o", self.path(f"new{mask}"), *self.type, umask=mask)
            self.assertEqual(os.stat(self.path(f"new{mask}")).st_mode & 0o7777, 0o666 & ~mask)

    def test_longest_name_and_odd_characters(self):
        for name in ("n" * 255, "with blank", "-", "new\nline", "\udcff\udcfe", "--type"):
            with self.subTest(name=name):
                self.assert_ok("sort", self.input, "-o", self.folder + "/" + name, *self.type)
                self.assertEqual(self.read(name), self.sorted_bytes)

    def test_relative_names(self):
        for name in ("y.bin", "./y.bin", "../" + os.path.basename(self.folder) + "/y.bin"):
            self.assert_ok("sort", "x.bin", "-o", name, *self.type, cwd=self.folder)
            self.assertEqual(self.read("y.bin"), self.sorted_bytes)
            os.remove(self.path("y.bin"))

    def test_format_follows_the_name(self):
        self.assert_ok("sort", self.input, "-o", self.path("y.npy"), *self.type)
        np.testing.assert_array_equal(np.load(self.path("y.npy")), np.sort(self.keys))
        self.assert_ok("sort", self.path("y.npy"), "-o", self.path("z.bin"))
        self.assertEqual(self.read("z.bin"), self.sorted_bytes)
        # A .npy file under another name, sorted in place, stays what it is.
        os.rename(self.save("x.npy", self.keys), self.path("array"))
        self.assert_ok("sort", self.path("array"), "-o", self.path("array"))
        np.testing.assert_array_equal(np.load(self.path("array")), np.sort(self.keys))

    def test_longest_header_and_versions(self):
        for version in ((1, 0), (2, 0), (3, 0)):
            with open(self.path("v.npy"), "wb") as file:
                np.lib.format.write_array(file, self.keys, version=version)
            self.assert_ok("sort", self.path("v.npy"), "-o", self.path("y.npy"))
            np.testing.assert_array_equal(np.load(self.path("y.npy")), np.sort(self.keys))

    def test_fortran_order_of_one_dimension_is_harmless(self):
        text = b"{'descr': '<u4', 'fortran_order': True, 'shape': (%d,), }\n" % len(self.keys)
        path = self.write("f.npy", b"\x93NUMPY\x01\x00" + len(text).to_bytes(2, "little") + text + self.keys.tobytes())
        self.assert_ok("sort", path, "-o", self.path("y.npy"))
        np.testing.assert_array_equal(np.load(self.path("y.npy")), np.sort(self.keys))


class Streams(CommandTest):
    def setUp(self):
        super().setUp()
        self.keys = random_bits("f32", 3_000_017 if not IS_SMALL else 300_017, self.rng)
        self.sorted_keys = expected_sort(self.keys, "f32")

    def test_raw_pipe(self):
        for output in (["-o", "-"], [], ["-o", "/dev/stdout"]):
            done = self.assert_ok("sort", "-", *output, "--type", "f32", stdin=self.keys.tobytes())
            self.assertEqual(done.stdout, self.sorted_keys.tobytes())
        done = self.assert_ok("sort", "/dev/stdin", "-o", "-", "--type", "f32", stdin=self.keys.tobytes())
        self.assertEqual(done.stdout, self.sorted_keys.tobytes())

    def test_npy_pipe(self):
        path = self.save("x.npy", self.keys.view("<f4"))
        self.save("y.npy", self.sorted_keys.view("<f4"))
        done = self.assert_ok("sort", "-", "-o", "-", stdin=self.read("x.npy"))
        self.assertEqual(done.stdout, self.read("y.npy"))
        with open(path, "rb") as file:
            self.assertEqual(self.assert_ok("sort", "-", stdin=file).stdout, self.read("y.npy"))

    def test_redirected_file_is_read_from_its_offset(self):
        path = self.write("x.bin", b"skip" + self.keys.tobytes())
        with open(path, "rb") as file:
            file.seek(4)
            os.lseek(file.fileno(), 4, os.SEEK_SET)
            done = self.assert_ok("sort", "-", "--type", "f32", stdin=file)
        self.assertEqual(done.stdout, self.sorted_keys.tobytes())

    def test_fifo_in_and_out(self):
        os.mkfifo(self.path("in"))
        os.mkfifo(self.path("out"))
        command = subprocess.Popen([BIN, "sort", self.path("in"), "-o", self.path("out"), "--type", "f32"])

        def feed():
            with open(self.path("in"), "wb") as file:
                file.write(self.keys.tobytes())
        writer = threading.Thread(target=feed)
        writer.start()
        with open(self.path("out"), "rb") as file:
            self.assertEqual(file.read(), self.sorted_keys.tobytes())
        writer.join()
        self.assertEqual(command.wait(), 0)
        self.assertEqual(sorted(os.listdir(self.folder)), ["in", "out"])

    def test_slow_pipe_with_odd_pieces(self):
        data = self.keys[:5001].tobytes()
        with subprocess.Popen([BIN, "sort", "-", "--type", "f32"], stdin=subprocess.PIPE,
                              stdout=subprocess.PIPE) as command:
            for begin in range(0, len(data), 1237):
                command.stdin.write(data[begin:begin + 1237])
                command.stdin.flush()
            command.stdin.close()
            self.assertEqual(command.stdout.read(), expected_sort(self.keys[:5001], "f32").tobytes())

    def test_closed_reader_is_quiet(self):
        command = subprocess.Popen([BIN, "sort", "-", "--type", "f32"], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                   stderr=subprocess.PIPE)
        command.stdout.close()
        command.stdin.write(self.keys.tobytes())
        command.stdin.close()
        message = command.stderr.read()
        command.stderr.close()
        self.assertEqual((command.wait(), message), (-13, b""))

    def test_file_without_a_size(self):
        self.assertEqual(os.stat("/proc/version").st_size, 0)
        with open("/proc/version", "rb") as file:
            expected = bytes(sorted(file.read()))
        self.assertEqual(self.assert_ok("sort", "/proc/version", "--type", "u8", "--raw", "-o", "-").stdout, expected)

    def test_empty(self):
        self.assertEqual(self.assert_ok("sort", "-", "--type", "u64").stdout, b"")
        self.assertEqual(self.assert_ok("sort", "/dev/null", "--type", "u64", "-o", "-").stdout, b"")


class Reports(CommandTest):
    def setUp(self):
        super().setUp()
        self.input = self.save("x.npy", self.rng.random(100_003).astype("<f4"))

    def test_report_and_trace(self):
        self.assert_ok("sort", self.input, "-o", self.path("y.npy"), "--report", self.path("r.json"), "--trace",
                       self.path("t.json"), "--devices", "host:3", "--algorithm", "rmg")
        report = json.loads(self.read("r.json"))
        phases = [phase["name"] for phase in report["phases"]]
        self.assertEqual((phases[0], phases[-1]), ("read", "write"))
        self.assertIn("rmg", json.dumps(report))
        json.loads(self.read("t.json"))

    def test_report_on_standard_output(self):
        done = self.assert_ok("sort", self.input, "-o", self.path("y.npy"), "--report", "-")
        json.loads(done.stdout)
        self.assert_refused(2, ["--report", "twice"], "sort", self.input, "-o", "-", "--report", "-")

    def test_progress_is_silent_without_a_terminal_and_draws_when_asked(self):
        self.assert_ok("sort", self.input, "-o", self.path("y.npy"))
        self.assert_ok("sort", self.input, "-o", self.path("y.npy"), "--progress", "never")
        slow = subprocess.Popen([BIN, "sort", "-", "--type", "u8", "-o", self.path("z"), "--progress", "always"],
                                stdin=subprocess.PIPE, stderr=subprocess.PIPE)
        threading.Event().wait(0.8)  # the bar waits for a moment
        _, drawn = slow.communicate(b"\x05" * (1 << 20))
        self.assertEqual(slow.returncode, 0)
        self.assertIn(b"%", drawn)
        line, _, end = drawn.rpartition(b"\r\x1b[K")
        self.assertIn(b"%", line)
        self.assertRegex(end, b"^spansort: sorted [^\n]*\n$", "the line is cleared, and the end told")

    def test_device_memory_that_sorts_in_parts(self):
        keys = self.rng.integers(0, 2**64, 150_000 if IS_SMALL else 1_000_000, dtype="<u8")
        path = self.save("large.npy", keys)
        self.save("expected.npy", np.sort(keys))
        flags = ["--devices", "host:3", "--algorithm", "out_of_core", "--report", self.path("r.json")]
        refused = self.assert_refused(6, ["device_memory_bytes"], "sort", path, "-o", self.path("y.npy"), *flags,
                                      "--device-memory", "1K")
        needed = int(re.search(r"needs (\d+) bytes", refused.stderr)[1])
        for memory in (f"{needed}", f"{needed // 1024 + 512}K", "60%"):
            self.assert_ok("sort", path, "-o", self.path("y.npy"), *flags, "--device-memory", memory, "--verify")
            self.assertEqual(self.read("y.npy"), self.read("expected.npy"))
            self.assertEqual(json.loads(self.read("r.json"))["algorithm"], "out_of_core")

    def test_memory_limit_that_fits(self):
        self.assert_ok("sort", self.input, "-o", self.path("y.npy"), "-S", "1G")
        self.assert_ok("sort", self.input, "-o", self.path("y.npy"), "-S", "90%")


if __name__ == "__main__":
    main()
