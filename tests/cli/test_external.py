# SPDX-License-Identifier: Apache-2.0
"""Sorts through temporary files give the bytes of sorts in memory: every type, order, flag, format and world size."""
import os
import subprocess

import numpy as np

from external import BIN, ExternalTest, FaultTest, IS_FULL, IS_SMALL, keys_of, random_worlds, run, world
from support import TYPES, expected_argsort, expected_sort, main, random_bits, special_bits, tie_ranks

NUM_KEYS = 307 if IS_SMALL else 1003
WORLDS_A_TYPE = 40 if IS_FULL else 2 if IS_SMALL else 4


class SameBytes(ExternalTest):
    def for_every_type(self, test):
        """Calls test(type, keys, flags) in several worlds, ascending and descending by turns."""
        for key_type in TYPES:
            for number, small in enumerate(random_worlds(self.rng, WORLDS_A_TYPE)):
                keys = random_bits(key_type, min(NUM_KEYS, keys_of(small)), self.rng)
                self.input = self.write("in/x.bin", keys.tobytes())
                descending = number % 2 == 1
                with self.subTest(type=key_type, world=small, descending=descending):
                    self.flags = ["--type", key_type, "-T", self.path("temp"), *world(*small)]
                    test(key_type, keys, ["-r"] if descending else [])
                    self.assertEqual(self.left_behind(), [])

    def test_sort(self):
        def test(key_type, keys, flags):
            self.assert_ok(*self.arguments(*flags))
            self.assertTrue(self.read("out/y.bin") == expected_sort(keys, key_type, bool(flags)).tobytes())
        self.for_every_type(test)

    def test_special_values(self):
        for key_type in TYPES:
            keys = self.rng.permutation(np.repeat(special_bits(key_type), 7))
            self.input = self.write("in/x.bin", keys.tobytes())
            for flags in ([], ["-r"]):
                with self.subTest(type=key_type, flags=flags):
                    self.flags = ["--type", key_type, "-T", self.path("temp"), *world(10, 3, 2)]
                    self.assert_ok(*self.arguments(*flags, "--verify"))
                    self.assertEqual(self.read("out/y.bin"), expected_sort(keys, key_type, bool(flags)).tobytes())

    def test_argsort(self):
        def test(key_type, keys, flags):
            self.assert_ok("argsort", self.input, "-o", self.output, *self.flags, *flags, "--verify")
            found = np.frombuffer(self.read("out/y.bin"), "<i8")
            np.testing.assert_array_equal(found, expected_argsort(keys, key_type, bool(flags)))
        self.for_every_type(test)

    def test_unique(self):
        def test(key_type, keys, flags):
            self.assert_ok(*self.arguments(*flags, "-u", "--verify"))
            ordered = expected_sort(keys, key_type, bool(flags))
            ranks = tie_ranks(ordered, key_type)
            is_first = np.concatenate([[True], ranks[1:] != ranks[:-1]])
            self.assertTrue(self.read("out/y.bin") == ordered[is_first].tobytes())
        self.for_every_type(test)

    def test_unique_npy(self):
        keys = random_bits("i16", NUM_KEYS, self.rng)
        self.input = self.save("in/x.npy", keys.view("<i2"))
        for small in ((17, 7, 2), (100, 7, 3), (333, 64, 8)):
            with self.subTest(world=small):
                self.assert_ok("sort", self.input, "-o", self.path("out/y.npy"), "-u", "-T", self.path("temp"),
                               *world(*small))
                np.testing.assert_array_equal(np.load(self.path("out/y.npy")), np.unique(keys.view("<i2")))

    def test_unique_argsort(self):
        keys = random_bits("f32", NUM_KEYS, self.rng)
        keys[::3] &= 0x80000001
        self.input = self.write("in/x.bin", keys.tobytes())
        for small in ((17, 1, 2), (17, 7, 3), (100, 7, 3), (333, 64, 8), (1000, 1, 2)):
            with self.subTest(world=small):
                self.assert_ok("argsort", self.input, "-o", self.output, "--type", "f32", "-u", "-T",
                               self.path("temp"), *world(*small))
                first = np.unique(tie_ranks(keys, "f32"), return_index=True)[1]
                np.testing.assert_array_equal(np.frombuffer(self.read("out/y.bin"), "<i8"), first)

    def test_npy_of_both_byte_orders(self):
        for key_type in ("u16", "f32", "i64"):
            for order in "<>":
                with self.subTest(type=key_type, order=order):
                    keys = random_bits(key_type, NUM_KEYS, self.rng)
                    dtype = np.dtype(TYPES[key_type][1]).newbyteorder(order)
                    self.input = self.save("in/x.npy", keys.view(TYPES[key_type][1]).astype(dtype))
                    self.assert_ok("sort", self.input, "-o", self.path("out/y.npy"), "-T", self.path("temp"),
                                   *world(100, 7, 2))
                    ordered = expected_sort(keys, key_type).view(TYPES[key_type][1]).astype(dtype)
                    self.save("out/expected.npy", ordered)
                    self.assertTrue(self.read("out/y.npy") == self.read("out/expected.npy"))
                    # Another format on the way out.
                    self.assert_ok("sort", self.input, "-o", self.output, "-T", self.path("temp"), *world(100, 7, 2))
                    self.assertTrue(self.read("out/y.bin") == expected_sort(keys, key_type).tobytes())

    def test_every_small_number_of_keys(self):
        for num_keys in range(20):
            for small in ((2, 1, 2), (4, 3, 2), (19, 64, 3)):
                with self.subTest(num_keys=num_keys, world=small):
                    self.keys(num_keys, "<u4")
                    self.assert_sorted(self.sort("--verify", *world(*small)))

    def test_all_keys_equal_and_in_order_and_in_reverse(self):
        for keys in (np.zeros(NUM_KEYS), np.arange(NUM_KEYS), np.arange(NUM_KEYS)[::-1],
                     np.repeat(np.arange(10), NUM_KEYS // 10)):
            keys = keys.astype("<u4")
            self.input = self.write("in/x.bin", keys.tobytes())
            self.flags = ["--type", "u32", "-T", self.path("temp")]
            self.sorted_bytes = np.sort(keys).tobytes()
            for small in ((17, 1, 2), (100, 7, 100), (64, 64, 3)):
                with self.subTest(first=keys[:3], world=small):
                    self.assert_sorted(self.sort("--verify", *world(*small)))
                    self.assert_ok("argsort", self.input, "-o", self.path("out/order"), *self.flags, *world(*small))
                    order = np.frombuffer(self.read("out/order"), "<i8")
                    np.testing.assert_array_equal(order, np.argsort(keys, kind="stable"))
                    os.remove(self.path("out/order"))

    def test_devices(self):
        self.keys(NUM_KEYS)
        for way in (["--devices", "cpu"], ["--devices", "host:3"], ["--devices", "host:3", "--algorithm", "rmg"]):
            self.assert_sorted(self.sort(*way, *world(100, 7, 3)), way)


class Streams(ExternalTest):
    def setUp(self):
        super().setUp()
        self.keys(NUM_KEYS, "<u4")
        self.small = world(100, 7, 3)

    def test_in_and_out(self):
        done = self.assert_ok("sort", "-", *self.flags, *self.small, stdin=self.read("in/x.bin"))
        self.assertEqual(done.stdout, self.sorted_bytes)
        done = self.assert_ok("sort", self.input, "-o", "-", *self.flags, *self.small)
        self.assertEqual(done.stdout, self.sorted_bytes)
        self.assert_sorted(run("sort", "-", "-o", self.output, *self.flags, *self.small, stdin=self.read("in/x.bin")))

    def test_npy(self):
        keys = np.frombuffer(self.read("in/x.bin"), "<u4")
        self.save("in/x.npy", keys)
        self.save("in/y.npy", np.sort(keys))
        flags = ["-T", self.path("temp"), *self.small]
        done = self.assert_ok("sort", "-", *flags, stdin=self.read("in/x.npy"))
        self.assertTrue(done.stdout == self.read("in/y.npy"))

    def test_empty(self):
        self.assertEqual(self.assert_ok("sort", "-", *self.flags, *self.small).stdout, b"")

    def test_argsort(self):
        done = self.assert_ok("argsort", "-", *self.flags, *self.small, stdin=self.read("in/x.bin"))
        order = np.argsort(np.frombuffer(self.read("in/x.bin"), "<u4"), kind="stable")
        np.testing.assert_array_equal(np.frombuffer(done.stdout, "<i8"), order)

    def test_closed_reader_is_quiet(self):
        self.keys(200_000, "<u4")
        command = subprocess.Popen([BIN, "sort", self.input, "-o", "-", *self.flags, *world(20_000, 1000, 4)],
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self.assertEqual(command.stdout.read(4), self.sorted_bytes[:4])
        command.stdout.close()
        message = command.stderr.read()
        command.stderr.close()
        self.assertEqual((command.wait(timeout=30), message), (-13, b""))
        self.assertEqual(self.left_behind(), [])

    def test_stream_that_is_not_whole(self):
        self.old_output()
        done = run("sort", "-", "-o", self.output, *self.flags, *self.small, stdin=self.read("in/x.bin") + b"?")
        self.assert_old(done, 3, ["standard input", "multiple of 4"])


class Folders(ExternalTest):
    """Where output and temporary files go, and under which name the input is found again."""

    def setUp(self):
        super().setUp()
        self.keys(NUM_KEYS, "<u4")
        self.plain = ["--type", "u32", *world(100, 7, 3)]
        self.flags = [*self.plain, "-T", self.path("temp")]
        self.content = self.read("in/x.bin")

    def test_output_is_the_input_by_another_name(self):
        os.symlink("x.bin", self.path("in/symlink"))
        os.symlink("in", self.path("folder-link"))
        for name in ("in/x.bin", "in/./x.bin", "in/../in/x.bin", "in/symlink", "folder-link/x.bin"):
            with self.subTest(name=name):
                self.write("in/x.bin", self.content)
                self.assert_ok("sort", self.input, "-o", self.path(name), *self.flags)
                self.assertTrue(self.read("in/x.bin") == self.sorted_bytes)
                self.assertEqual(sorted(os.listdir(self.path("in"))), ["symlink", "x.bin"])
                self.assertTrue(os.path.islink(self.path("in/symlink")))

    def test_output_is_a_hard_link_of_the_input(self):
        os.link(self.input, self.path("in/link"))
        self.assert_ok("sort", self.input, "-o", self.path("in/link"), *self.flags)
        self.assertTrue(self.read("in/link") == self.sorted_bytes)
        self.assertTrue(self.read("in/x.bin") == self.content)

    def test_input_is_standard_input_of_the_output(self):
        with open(self.input, "rb") as file:
            self.assert_ok("sort", "-", "-o", self.input, *self.flags, stdin=file)
        self.assertTrue(self.read("in/x.bin") == self.sorted_bytes)

    def test_folder_that_cannot_be(self):
        self.old_output()
        os.symlink("loop", self.path("loop"))
        for name, words in (("missing", "No such file or directory"), ("in/x.bin", "Not a directory"),
                            ("in/x.bin/below", "Not a directory"), ("loop", "Too many levels")):
            with self.subTest(name=name):
                self.flags = [*self.plain, "-T", self.path(name)]
                self.assert_old(self.sort(), 4, [self.path(name), words, "-T"])
                self.flags = self.plain
                self.assert_old(self.sort(env={"TMPDIR": self.path(name)}), 4, [self.path(name), words])

    def test_link_to_a_folder(self):
        os.symlink("temp", self.path("link"))
        self.flags = [*self.plain, "-T", self.path("link")]
        self.assert_sorted(self.sort())
        self.assertTrue(os.path.islink(self.path("link")))

    def test_folder_of_the_output_and_relative_one(self):
        for folder in (self.path("out"), "temp"):
            self.flags = [*self.plain, "-T", folder]
            self.assert_sorted(self.sort(cwd=self.folder))


class FoldersUsed(FaultTest):
    """Nameless files are seen by the calls for them."""

    def setUp(self):
        super().setUp()
        self.keys(NUM_KEYS, "<u4")
        os.mkdir(self.path("temp2"))
        self.plain = ["--type", "u32", *world(100, 7, 3)]

    def writes_in(self, folder, flags, **env):
        self.flags = self.plain + flags
        self.assert_sorted(self.sort(env=self.with_fault("count", [folder]) | env))
        return self.counts()["pwrite"] + self.counts()["write"]

    def test_default_is_tmpdir(self):
        self.assertGreater(self.writes_in("temp", [], TMPDIR=self.path("temp")), 0)

    def test_flag_goes_before_tmpdir(self):
        self.assertEqual(self.writes_in("temp", ["-T", self.path("temp2")], TMPDIR=self.path("temp")), 0)
        self.assertGreater(self.writes_in("temp2", ["-T", self.path("temp2")], TMPDIR=self.path("temp")), 0)

    def test_two_folders_share_the_blocks(self):
        both = ["-T", self.path("temp"), "-T", self.path("temp2")]
        first, second = self.writes_in("temp", both), self.writes_in("temp2", both)
        self.assertGreater(first, 0)
        self.assertGreater(second, 0)
        self.assertLess(abs(first - second), max(first, second) / 2, "evenly")
        self.assertEqual(os.listdir(self.path("temp2")), [])

    def test_what_fits_in_memory_needs_no_folder(self):
        self.flags = ["--type", "u32", "-T", self.path("temp")]
        self.assert_sorted(self.sort(env=self.with_fault("count", ["temp"])))
        self.assertEqual(self.counts()["pwrite"] + self.counts()["write"], 0)


class TestWorld(ExternalTest):
    def test_wrong(self):
        self.keys(10)
        self.old_output()
        for text in ("", "1", "1,2", "a,b,c", "1,2,3,4", "-1,1,2"):
            if text:
                self.assert_old(self.sort("--test-world", text), 2, ["--test-world"])

    def test_unknown_to_help(self):
        self.assertNotIn(b"test-world", run("sort", "--help").stdout)


if __name__ == "__main__":
    main()
