# SPDX-License-Identifier: Apache-2.0
"""Arrays of several dimensions, sorted along an axis as numpy.sort and numpy.argsort do it, or as one sequence."""
import io
import json

import numpy as np

from support import CommandTest, IS_SMALL, TYPES, VARIED_TYPES, expected_argsort, expected_sort, main, random_bits, run

MATRICES = ((70, 33), (3, 1500), (1500, 3), (0, 4), (4, 0), (1, 9), (257, 256))
SHAPES = MATRICES if IS_SMALL else (*MATRICES, (2, 3, 5), (4, 1, 70, 6), (2, 3, 4, 5, 3))


def saved(array):
    file = io.BytesIO()
    np.save(file, array)
    return file.getvalue()


def along(array, axis, function, dtype):
    """Applies `function` to each row along the axis; empty arrays stay what they are."""
    if array.size == 0:
        return array.astype(dtype)
    rows = np.moveaxis(array, axis, -1)
    flat = rows.reshape(-1, rows.shape[-1])
    result = np.stack([function(np.ascontiguousarray(row)) for row in flat]).astype(dtype)
    return np.moveaxis(result.reshape(rows.shape), -1, axis)


class AxisTest(CommandTest):
    def same(self, name, expected):
        found = np.load(self.path(name))
        self.assertEqual(found.dtype, expected.dtype)
        self.assertEqual(found.shape, expected.shape)
        self.assertEqual(found.tobytes(), np.ascontiguousarray(expected).tobytes())

    def check(self, bits, key_type, axis, descending, *flags):
        """Sorts and orders an array of such bits as NumPy does."""
        dtype = TYPES[key_type][1]
        path = self.save("in.npy", bits.view(dtype))
        flags = [*flags, "--axis", axis, "--type", key_type, *(["-r"] if descending else [])]
        self.assert_ok("sort", path, "-o", self.path("out.npy"), *flags)
        expected = along(bits, axis, lambda row: expected_sort(row, key_type, descending), bits.dtype)
        self.same("out.npy", expected.view(dtype))
        self.assert_ok("argsort", path, "-o", self.path("order.npy"), *flags)
        self.same("order.npy", along(bits, axis, lambda row: expected_argsort(row, key_type, descending), "<i8"))
        self.assert_ok("check", self.path("out.npy"), "--type", key_type, "--axis", axis,
                       *(["-r"] if descending else []))


class Types(AxisTest):
    def test_types(self):
        for key_type in VARIED_TYPES:
            for axis in (0, -1):
                with self.subTest(key_type=key_type, axis=axis):
                    self.check(random_bits(key_type, 70 * 33, self.rng).reshape(70, 33), key_type, axis, axis == 0,
                               "--verify")


class Shapes(AxisTest):
    def test_shapes(self):
        for shape in SHAPES:
            for axis in range(-1, len(shape)):
                with self.subTest(shape=shape, axis=axis):
                    bits = random_bits("f32", int(np.prod(shape)), self.rng).reshape(shape)
                    self.check(bits, "f32", axis, False)
                    self.check(np.asfortranarray(bits), "f32", axis, True, "--verify")

    def test_long_rows(self):
        bits = random_bits("f64", 3 * 300_000, self.rng).reshape(3, 300_000)
        self.check(bits, "f64", 1, False, "--verify")
        self.check(bits.T, "f64", 0, True)

    def test_little_memory_and_streams(self):
        array = self.rng.integers(0, 99, (40_000, 50)).astype("<u4")
        path = self.save("in.npy", array)
        expected = np.sort(array, axis=1)
        self.assert_ok("sort", path, "-o", self.path("out.npy"), "--axis", 1, "-S", "40M")
        self.same("out.npy", expected)
        done = self.assert_ok("sort", "-", "--axis", -1, stdin=self.read("in.npy"))
        self.assertTrue(done.stdout == saved(expected))
        self.assert_ok("sort", path, "-o", path, "--axis", 1)
        self.same("in.npy", expected)
        done = run("sort", path, "-o", self.path("out.npy"), "--axis", 0, "-S", "10M")
        self.assertEqual(done.returncode, 6, done.stderr)
        for word in ("in.npy", "2000000 elements", "-S", "transposed"):
            self.assertIn(word, done.stderr)

    def test_dates_bool_and_byte_order(self):
        dates = self.rng.integers(-9, 9, (40, 30)).astype("<i8")
        dates[dates == 3] = np.iinfo("i8").min
        for array in (dates.view("<M8[s]"), dates.astype(">i8"), dates > 0, dates.astype(">f4")):
            for axis in (0, 1):
                path = self.save("in.npy", array)
                self.assert_ok("sort", path, "-o", self.path("out.npy"), "--axis", axis)
                self.assertEqual(self.read("out.npy"), saved(np.sort(array, axis=axis, kind="stable")))
                self.assert_ok("argsort", path, "-o", self.path("out.npy"), "--axis", axis, "--index", "u32")
                self.same("out.npy", np.argsort(array, axis=axis, kind="stable").astype("<u4"))

    def test_raw_output(self):
        array = self.rng.random((20, 30))
        self.assert_ok("sort", self.save("in.npy", array), "-o", self.path("out.bin"), "--axis", 1)
        self.assertEqual(self.read("out.bin"), np.sort(array).tobytes())

    def test_reports(self):
        path = self.save("in.npy", self.rng.random((70, 33)).astype("<f4"))
        report = self.path("report.json")
        for verb, axis, rows in (("sort", 0, "33 rows of 70 keys"), ("argsort", 1, "70 rows of 33 keys")):
            with self.subTest(verb=verb):
                self.assert_ok(verb, path, "-o", self.path("out.npy"), "--axis", axis, "-r", "--report", report)
                told = json.loads(self.read("report.json"))
                expected = {"operation": verb, "algorithm": "rows", "picked": f"{rows}, each by itself",
                            "key_type": "f32", "num_keys": 70 * 33, "descending": True, "num_passes": 1}
                self.assertEqual({name: told[name] for name in expected}, expected)
                self.assertEqual([phase["name"] for phase in told["phases"]], ["read", "sort rows", "write"])
                # Each is the time from its first block to its last, so that they overlap.
                for phase in told["phases"]:
                    self.assertLessEqual(phase["elapsed_ms"], told["elapsed_ms"])

    def test_one_row_goes_the_usual_way(self):
        keys = self.rng.random(1000)
        for array, axis in ((keys, 0), (keys, -1), (keys.reshape(-1, 1), 0), (keys.reshape(1, -1), 1)):
            path = self.save("in.npy", array)
            for way in ([], ["--test-world", "128,16,3"]):
                self.assert_ok("sort", path, "-o", self.path("out.npy"), "--axis", axis, *way)
                self.assertEqual(self.read("out.npy"), saved(np.sort(array, axis=axis)))
        done = self.assert_ok("sort", "-", "--axis", 0, stdin=saved(keys))
        self.assertEqual(done.stdout, saved(np.sort(keys)))
        self.assert_ok("sort", self.save("in.npy", keys.reshape(-1, 1)), "-o", self.path("out.npy"), "--axis", 1)
        self.assertEqual(self.read("out.npy"), saved(keys.reshape(-1, 1)))


class Flat(AxisTest):
    def test_none_is_one_sequence(self):
        array = self.rng.integers(0, 50, (40, 30))
        path = self.save("in.npy", array)
        for way in ([], ["--test-world", "128,16,3"], ["--verify"]):
            self.assert_ok("sort", path, "-o", self.path("out.npy"), "--axis", "none", *way)
            self.assertEqual(self.read("out.npy"), saved(np.sort(array, axis=None)))
            self.assert_ok("argsort", path, "-o", self.path("out.npy"), "--axis", "none", *way)
            self.assertEqual(self.read("out.npy"), saved(np.argsort(array, axis=None, kind="stable")))
        self.assert_ok("sort", path, "-o", self.path("out.npy"), "--axis", "none", "-u")
        self.assertEqual(self.read("out.npy"), saved(np.unique(array)))
        words = np.array([["b", "a"], ["aa", ""]], "S2")
        self.assert_ok("sort", self.save("in.npy", words), "-o", self.path("out.npy"), "--axis", "none")
        self.assertEqual(self.read("out.npy"), saved(np.sort(words, axis=None)))

    def test_fortran_order(self):
        array = np.asfortranarray(self.rng.integers(0, 50, (40, 30)))
        path = self.save("in.npy", array)
        self.assert_ok("sort", path, "-o", self.path("out.npy"), "--axis", "none")
        self.assertEqual(self.read("out.npy"), saved(np.sort(array, axis=None)))
        self.assert_refused(2, ["Fortran", "ascontiguousarray"], "argsort", path, "-o", self.path("out.npy"), "--axis",
                            "none")

    def test_statistics_are_of_all_elements(self):
        array = self.rng.random((30, 20))
        self.assert_ok("summary", self.save("in.npy", array), "--json", self.path("s.json"))
        with open(self.path("s.json"), encoding="utf-8") as file:
            self.assertEqual(json.load(file)["med"], np.median(array))


class Checked(AxisTest):
    def test_disorder(self):
        array = np.sort(self.rng.integers(0, 1000, (40, 30)), axis=0)
        array[20, 3] = 5000
        path = self.save("in.npy", array)
        for verb in (["check", path], ["sort", "-c", path]):
            done = run(*verb, "--axis", 0)
            self.assertEqual(done.returncode, 1)
            self.assertIn(f"in.npy:{21 * 30 + 3}: disorder: {array[21, 3]} after 5000", done.stderr)

    def test_duplicates_are_those_of_rows(self):
        path = self.save("in.npy", np.array([[1, 1, 2], [2, 3, 3]]))
        self.assertIn(b"duplicates: 2\n", self.assert_ok("check", path, "--axis", 1).stdout)
        self.assertEqual(run("check", path, "--axis", 1, "-u").returncode, 1)
        self.assertIn(b"duplicates: 0\n", self.assert_ok("check", path, "--axis", 0).stdout)
        self.assertIn(b"keys: 6\n", self.assert_ok("check", path, "--axis", "none").stdout)


class Refused(AxisTest):
    def test_no_axis(self):
        path = self.save("in.npy", np.zeros((3, 4)))
        for verb in (["sort", path, "-o", self.path("out.npy")], ["argsort", path, "-o", self.path("out.npy")],
                     ["check", path]):
            self.assert_refused(3, ["(3, 4)", "--axis 1", "--axis 0", "--axis none"], *verb)

    def test_what_is_no_axis(self):
        path = self.save("in.npy", np.zeros((3, 4)))
        for axis, words in (("2", ["axis 2", "(3, 4)"]), ("-3", ["axis -3"]), ("x", ["--axis", "'x'"]),
                            ("", ["in.npy"]), ("1.0", ["--axis"])):
            self.assert_refused(2 if axis else 3, words, "sort", path, "-o", self.path("out.npy"), "--axis", axis)
        raw = self.write("x.bin", bytes(8))
        self.assert_refused(2, ["--axis"], "sort", raw, "--type", "u8", "-o", self.path("out"), "--axis", "0")
        self.assert_refused(2, ["--axis"], "sort", raw, "--record", 2, "--key", "0:1", "-o", self.path("out"), "--axis",
                            "0")

    def test_what_rows_have_not(self):
        path = self.save("in.npy", np.zeros((3, 4)))
        for flags in (["-u"], ["--head", 2], ["--summary", self.path("s.json")], ["--dry-run"]):
            self.assert_refused(2, ["in.npy"], "sort", path, "-o", self.path("out.npy"), "--axis", 1, *flags)
        self.assert_refused(2, ["axis"], "sort", "-m", path, path, "-o", self.path("out.npy"), "--axis", 1)
        words = self.save("words.npy", np.array([["b", "a"], ["aa", ""]], "S2"))
        self.assert_refused(2, ["--axis none"], "sort", words, "-o", self.path("out.npy"), "--axis", 1)
        for dtype in ("S2", "U2", [("a", "i4"), ("b", "i4")]):
            words = self.save("words.npy", np.zeros((2, 2), dtype))
            done = self.assert_refused(3, ["shape (2, 2)", "--axis none sorts all elements as one"], "sort", words,
                                       "-o", self.path("out.npy"))
            self.assertNotIn("each row", done.stderr)

    def test_wrong_input(self):
        content = saved(np.zeros((30, 40)))
        for wrong in (content[:-1], content + b"x"):
            path = self.write("in.npy", wrong)
            self.assert_refused(3, ["header claims"], "sort", path, "-o", self.path("out.npy"), "--axis", 1)
            self.assert_refused(3, ["header claims"], "sort", "-", "-o", self.path("out.npy"), "--axis", 1, stdin=wrong)


if __name__ == "__main__":
    main()
