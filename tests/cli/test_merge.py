# SPDX-License-Identifier: Apache-2.0
"""sort -m, --head and --dry-run."""
import os
import re

import numpy as np

from support import CommandTest, expected_sort, is_sanitized, main, random_bits


class Merge(CommandTest):
    def parts(self, key_type, sizes, descending=False):
        """Sorted files, and all of their keys."""
        keys = [random_bits(key_type, size, self.rng) for size in sizes]
        names = [self.write(f"part{i}", expected_sort(part, key_type, descending).tobytes())
                 for i, part in enumerate(keys)]
        return names, np.concatenate(keys)

    def test_same_bytes_as_a_sort(self):
        """Sorted by this program, files have their ties in the order of bits, and so has the merge."""
        worlds = [[], ["--test-world", "100,7,2"], ["--test-world", "5000,64,3"]]
        for key_type in ("u8", "i32", "f32", "f64", "u64"):
            for descending in (False, True):
                for world in worlds:
                    names, keys = self.parts(key_type, [1000, 0, 1, 777, 2500], descending)
                    flags = ["--type", key_type, "--verify", *(["-r"] if descending else []), *world]
                    self.assert_ok("sort", "-m", *names, "-o", self.path("y"), *flags)
                    self.assertEqual(self.read("y"), expected_sort(keys, key_type, descending).tobytes(), flags)

    def test_unique_and_head(self):
        names, keys = self.parts("u16", [3000, 2000, 4000])
        self.assert_ok("sort", "-m", *names, "-o", self.path("y"), "--type", "u16", "-u", "--test-world", "200,10,2")
        self.assertEqual(self.read("y"), np.unique(keys).tobytes())
        self.assert_ok("sort", "-m", *names, "-o", self.path("y"), "--type", "u16", "--head", "1234")
        self.assertEqual(self.read("y"), np.sort(keys)[:1234].tobytes())

    def test_npy_of_both_byte_orders(self):
        low, high = self.rng.integers(0, 1000, 500), self.rng.integers(0, 1000, 600)
        names = [self.save("a.npy", np.sort(low).astype("<i8")), self.save("b.npy", np.sort(high).astype(">i8"))]
        self.assert_ok("sort", "-m", *names, "-o", self.path("y.npy"), "--verify")
        np.testing.assert_array_equal(np.load(self.path("y.npy")), np.sort(np.concatenate([low, high])))

    def test_equal_records_in_the_order_of_the_files(self):
        names = [self.write(f"r{i}", b"".join(b"%04d%c" % (key, 65 + i) for key in sorted(keys)))
                 for i, keys in enumerate(([3, 1, 2, 2], [2, 3, 9], [1, 9, 9]))]
        self.assert_ok("sort", "-m", *names, "-o", self.path("y"), "--record", "5", "--key", "0:4")
        self.assertEqual(self.read("y"), b"0001A0001C0002A0002A0002B0003A0003B0009B0009C0009C")

    def test_floats_in_order_by_value_alone(self):
        """Zeros of both signs and NaN in any order of bits, as other programs leave them, stay as they are."""
        for dtype in ("<f4", "<f8"):
            parts = []
            for _ in range(3):
                zeros = np.where(self.rng.random(3000) < 0.5, np.array(-0.0, dtype), np.array(0.0, dtype))
                nans = (np.full(3000, np.nan, dtype).view(dtype.replace("f", "u")) | self.rng.integers(0, 99, 3000)
                        .astype(dtype.replace("f", "u"))).view(dtype)
                others = self.rng.normal(size=1000).astype(dtype)
                parts.append(np.sort(np.concatenate([zeros, nans, others]), kind="stable"))
            names = [self.write(f"part{i}", part.tobytes()) for i, part in enumerate(parts)]
            whole = np.concatenate(parts)
            expected = whole[np.argsort(whole, kind="stable")].tobytes()
            flags = ["--type", "f" + str(8 * np.dtype(dtype).itemsize)]
            for world in ("100,8,2", "1000,100,3", "100000,500,9"):
                with self.subTest(dtype=dtype, world=world):
                    small = ["--test-world", world, "--verify"]
                    self.assert_ok("sort", "-m", *names, "-o", self.path("y"), *flags, *small)
                    self.assertTrue(self.read("y") == expected)
            words = ["part", "order of their bits", "into a file"]
            self.assert_refused(3, words, "sort", "-m", *names, "-o", "-", *flags)

    def test_standard_input_is_one_of_the_inputs(self):
        for key_type, flags in (("u32", []), ("f64", ["--test-world", "100,10,2"]), ("i16", ["-r"])):
            names, keys = self.parts(key_type, [1000, 900, 0, 800], "-r" in flags)
            expected = expected_sort(keys, key_type, "-r" in flags).tobytes()
            for at in range(len(names)):
                with self.subTest(key_type=key_type, at=at), open(names[at], "rb") as file:
                    inputs = [*names[:at], "-", *names[at + 1:]]
                    for stdin in (file, self.read(f"part{at}")):
                        self.assert_ok("sort", "-m", *inputs, "-o", self.path("y"), "--type", key_type, "--verify",
                                       "-T", self.folder, *flags, stdin=stdin)
                        self.assertEqual(self.read("y"), expected)
        self.assertEqual(sorted(os.listdir(self.folder)), ["part0", "part1", "part2", "part3", "y"])

    def test_standard_input_may_be_npy_or_records(self):
        rows = np.sort(self.rng.integers(0, 99, 500).astype("<i8"))
        path = self.save("a.npy", rows)
        done = self.assert_ok("sort", "-m", "-", path, stdin=self.read("a.npy"))
        self.write("y.npy", done.stdout)
        np.testing.assert_array_equal(np.load(self.path("y.npy")), np.repeat(rows, 2))
        records = self.write("r", b"0001A0003A")
        self.assert_ok("sort", "-m", records, "-", "-o", self.path("y"), "--record", "5", "--key", "0:4",
                       stdin=b"0001B0002B")
        self.assertEqual(self.read("y"), b"0001A0001B0002B0003A")

    def test_report(self):
        names, _ = self.parts("u32", [1000, 900, 800])
        self.assert_ok("sort", "-m", *names, "-o", self.path("y"), "--type", "u32", "--report", self.path("report"))
        report = self.read("report").decode()
        for words in ('"operation": "merge"', '"algorithm": "external"', "3 sorted inputs", '"spilled_bytes": 0'):
            self.assertIn(words, report)

    def test_folder_is_needed_only_where_something_is_spilled(self):
        names, keys = self.parts("u32", [1000, 900, 800])
        flags = ["-o", self.path("y"), "--type", "u32", "-T", self.path("missing")]
        self.assert_ok("sort", "-m", *names, *flags)
        self.assertEqual(self.read("y"), np.sort(keys).tobytes())
        self.assert_refused(4, ["missing", "-T"], "sort", "-m", *names, *flags, "--test-world", "100,10,2")

    def test_output_may_be_an_input(self):
        names, keys = self.parts("u32", [1000, 900])
        self.assert_ok("sort", "-m", *names, "-o", names[0], "--type", "u32")
        self.assertEqual(self.read("part0"), np.sort(keys).tobytes())

    def test_refusals(self):
        names, _ = self.parts("u32", [1000, 1000])
        keys = np.arange(1000, dtype="<u4")
        keys[[500, 501]] = keys[[501, 500]]
        bad = self.write("bad", keys.tobytes())
        self.assert_refused(3, ["bad", "is not sorted", "index 501"], "sort", "-m", names[0], bad, "-o", self.path("y"),
                            "--type", "u32")
        self.assert_refused(3, ["u64", "u32", "one type"], "sort", "-m", self.save("a.npy", keys),
                            self.save("b.npy", keys.astype("<u8")), "-o", self.path("y"))
        self.assert_refused(3, ["standard input", "is not sorted", "index 501"], "sort", "-m", names[0], "-", "-o",
                            self.path("y"), "--type", "u32", stdin=keys.tobytes())
        self.assert_refused(2, ["standard input", "not two"], "sort", "-m", "-", names[0], "-", "-o", self.path("y"),
                            "--type", "u32", stdin=keys.tobytes())
        self.assert_refused(4, ["missing", "-T"], "sort", "-m", "-", names[0], "-o", self.path("y"), "--type", "u32",
                            "-T", self.path("missing"))
        self.assert_refused(2, ["standard input", "--type"], "sort", "-m", "-", names[0], "-o", self.path("y"))
        self.assert_refused(2, ["one input", "-m"], "sort", *names, "-o", self.path("y"), "--type", "u32")
        self.assert_refused(2, ["-c", "-m"], "sort", "-m", "-c", *names, "--type", "u32")
        self.assert_refused(4, ["missing"], "sort", "-m", names[0], self.path("missing"), "-o", self.path("y"),
                            "--type", "u32")


class Head(CommandTest):
    def test_is_the_begin_of_the_sort(self):
        keys = random_bits("f32", 20_000, self.rng)
        path = self.write("x", keys.tobytes())
        for world in ([], ["--test-world", "1000,20,3"]):
            for count in (0, 1, 400, 501, 19_999, 20_000, 1 << 40):
                for flags in ([], ["-r"], ["--verify"]):
                    expected = expected_sort(keys, "f32", flags == ["-r"])[:count]
                    self.assert_ok("sort", path, "-o", self.path("y"), "--type", "f32", "--head", count, *flags, *world)
                    self.assertEqual(self.read("y"), expected.tobytes(), (count, flags, world))

    def test_of_argsort(self):
        keys = self.rng.integers(0, 50, 5000, dtype="<i4")
        path = self.save("x.npy", keys)
        self.assert_ok("argsort", path, "-o", self.path("y.npy"), "--head", 70)
        np.testing.assert_array_equal(np.load(self.path("y.npy")), np.argsort(keys, kind="stable")[:70])

    def test_unique(self):
        keys = self.rng.integers(0, 3000, 20_000, dtype="<u4")
        path = self.write("x", keys.tobytes())
        self.assert_ok("sort", path, "-o", self.path("y"), "--type", "u32", "--head", 100, "-u")
        self.assertEqual(self.read("y"), np.unique(keys)[:100].tobytes())


    def test_needs_no_temporary_folder(self):
        keys = self.rng.integers(0, 3000, 20_000, dtype="<u4")
        path = self.write("x", keys.tobytes())
        small = [path, "-o", self.path("y"), "--type", "u32", "-T", self.path("missing"), "--test-world", "1000,20,3"]
        plan = self.assert_ok("sort", *small, "--head", 100, "--dry-run").stdout.decode()
        self.assertIn("no temporary files", plan)
        self.assertIn("up to 400 bytes", plan)
        self.assert_ok("sort", *small, "--head", 100)
        self.assertEqual(self.read("y"), np.sort(keys)[:100].tobytes())
        # Half of what is sorted at a time is the most that is kept.
        self.assert_refused(4, ["missing", "-T"], "sort", *small, "--head", 501)


class DryRun(CommandTest):
    def test_folder_that_cannot_be(self):
        path = self.write("x", bytes(8000))
        small = ["-o", self.path("y"), "--type", "u64", "-T", self.path("missing"), "--test-world", "100,10,3"]
        self.assert_refused(4, ["missing", "-T"], "sort", path, *small, "--dry-run")
        self.assert_refused(4, ["missing", "-T"], "argsort", path, *small, "--dry-run")

    def test_says_what_then_happens(self):
        if is_sanitized():
            self.skipTest("sanitizers take memory of their own")
        path = self.write("x", random_bits("u64", 3_000_000, self.rng).tobytes())
        flags = [path, "-o", self.path("y"), "--type", "u64", "-S", "48M", "-T", self.folder]
        before = self.snapshot()
        plan = self.assert_ok("sort", *flags, "--dry-run").stdout.decode()
        self.assertEqual(self.snapshot(), before)
        self.assert_ok("sort", *flags, "--report", self.path("report"))
        report = self.read("report").decode()

        def number(pattern, text):
            return int(re.search(pattern, text).group(1))
        merges = number(r"merges +(\d+),", plan)
        self.assertEqual(number(r'"num_passes": (\d+)', report), 1 + merges)
        # What the process itself takes differs from run to run, and a run's length with it.
        runs = number(r"runs +(\d+) of", plan)
        self.assertAlmostEqual(number(r'"picked": "(\d+) runs', report), runs, delta=1 + runs // 10)
        self.assertAlmostEqual(number(r'"spilled_bytes": (\d+)', report), merges * 24_000_000, delta=merges * 2_400_000)

    def test_refuses_what_the_sort_would(self):
        path = self.write("x", bytes(105))
        records = ["--record", "10", "--key", "0:4", "--dry-run"]
        self.assert_refused(3, ["105 bytes", "multiple of 10"], "sort", path, "-o", self.path("y"), *records)
        path = self.write("x", bytes(100))
        self.assert_refused(2, [".npy"], "sort", path, "-o", self.path("y.npy"), *records)

    def test_in_memory(self):
        path = self.write("x", bytes(8000))
        plan = self.assert_ok("sort", path, "-o", self.path("y"), "--type", "u64", "--dry-run").stdout.decode()
        self.assertIn("in memory; no temporary files", plan)
        self.assertFalse(os.path.exists(self.path("y")))


if __name__ == "__main__":
    main()
