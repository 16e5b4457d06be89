# SPDX-License-Identifier: Apache-2.0
"""take: NumPy's x[order] for rows of any dtype, raw keys and records, held in memory or larger than the ceiling."""
import io
import os

import numpy as np

from support import CommandTest, TYPES, VARIED_TYPES, is_sanitized, main, random_bits, run, run_for_peak, some

NUM_ROWS = 5003


def saved(array):
    """The bytes of a .npy file."""
    content = io.BytesIO()
    np.save(content, array)
    return content.getvalue()


class TakeTest(CommandTest):
    def setUp(self):
        super().setUp()
        self.out = self.path("out.npy")

    def assert_taken(self, data, order, *flags):
        path, order_path = self.save("x.npy", data), self.save("order.npy", order)
        self.assert_ok("take", path, "--order", order_path, "-o", self.out, *flags)
        found = np.load(self.out)
        expected = data[order.astype("i8")]
        self.assertEqual((found.dtype, found.shape), (data.dtype, expected.shape))
        self.assertEqual(found.tobytes(), expected.tobytes())

    def order(self, count=NUM_ROWS, num_rows=NUM_ROWS, dtype="i8"):
        return self.rng.integers(0, num_rows, count).astype(dtype)


class Take(TakeTest):
    def test_every_type(self):
        for key_type in VARIED_TYPES:
            with self.subTest(type=key_type):
                bits = random_bits(key_type, NUM_ROWS, self.rng)
                self.assert_taken(bits.view(TYPES[key_type][1]), self.order())
                raw, order = self.write("x.bin", bits.tobytes()), self.order()
                self.assert_ok("take", raw, "--type", key_type, "--order", self.write("o.bin", order.tobytes()), "-o",
                               self.path("y.bin"))
                self.assertEqual(self.read("y.bin"), bits[order].tobytes())

    def test_rows_of_every_dtype(self):
        table = np.zeros(NUM_ROWS, [("sym", "S5"), ("price", "<f8"), ("size", ">i4", (3,))])
        table["price"] = self.rng.normal(size=NUM_ROWS)
        table["sym"] = self.rng.integers(0, 99, NUM_ROWS).astype("S5")
        cases = {
            "matrix": self.rng.normal(size=(NUM_ROWS, 7)), "cube": self.rng.integers(0, 9, (NUM_ROWS, 2, 3)),
            "table": table, "dates": np.arange(NUM_ROWS).astype("datetime64[s]"),
            "bool": self.rng.random(NUM_ROWS) < 0.5,
            "text": self.rng.integers(0, 99, NUM_ROWS).astype("U7"), "complex": self.rng.normal(size=NUM_ROWS) * 1j,
            "big-endian": self.rng.normal(size=NUM_ROWS).astype(">f4"), "void": np.zeros(NUM_ROWS, "V3"),
            "longdouble": np.arange(NUM_ROWS).astype("g"), "column": np.arange(NUM_ROWS).reshape(-1, 1),
        }
        for name, data in cases.items():
            with self.subTest(name=name):
                self.assert_taken(data, self.order(count=2 * NUM_ROWS))

    def test_every_type_of_indices(self):
        data = self.rng.normal(size=NUM_ROWS)
        for dtype in ("<i8", "<u8", "<i4", "<u4", ">i8", ">u4"):
            self.assert_taken(data, self.order(dtype=dtype))
        path = self.save("x.npy", data)
        for name in ("i64", "u64", "i32", "u32"):
            order = self.order(dtype=TYPES[name][1])
            raw = self.write("o.bin", order.tobytes())
            self.assert_ok("take", path, "--order", raw, "--index", name, "-o", self.out)
            np.testing.assert_array_equal(np.load(self.out), data[order])

    def test_counts(self):
        data = np.arange(10.0)
        for order in ([], [9], [0] * 1000):
            self.assert_taken(data, np.array(order, "u4"))
        self.assert_taken(np.zeros((0, 3)), np.array([], "i8"))

    def test_after_an_argsort(self):
        prices, names = self.rng.normal(size=NUM_ROWS), self.rng.integers(0, 999, NUM_ROWS).astype("S8")
        self.save("prices.npy", prices)
        self.save("names.npy", names)
        self.assert_ok("argsort", self.path("prices.npy"), "-o", self.path("order.npy"))
        self.assert_ok("take", self.path("names.npy"), "--order", self.path("order.npy"), "-o", self.out)
        np.testing.assert_array_equal(np.load(self.out), names[np.argsort(prices, kind="stable")])
        self.assert_ok("take", self.path("prices.npy"), "--order", self.path("order.npy"), "-o", self.path("s.npy"))
        self.assert_ok("check", self.path("s.npy"))

    def test_records(self):
        records = self.rng.integers(0, 256, (NUM_ROWS, 100), dtype="u1")
        order = self.order()
        path, order_path = self.write("x.dat", records.tobytes()), self.save("order.npy", order)
        self.assert_ok("take", path, "--record", "100", "--order", order_path, "-o", self.path("y.dat"))
        self.assertEqual(self.read("y.dat"), records[order].tobytes())
        self.assert_refused(2, [".npy"], "take", path, "--record", "100", "--order", order_path, "-o", self.out)
        self.assert_refused(3, ["x.dat", "multiple"], "take", path, "--record", "7", "--order", order_path, "-o",
                            self.path("y.dat"))

    def test_streams(self):
        data, order = self.rng.normal(size=(NUM_ROWS, 2)), self.order(dtype="u4")
        path, order_path = self.save("x.npy", data), self.save("o.npy", order)
        expected = data[order]
        done = self.assert_ok("take", "-", "--order", order_path, "-o", "-", stdin=self.read("x.npy"))
        np.testing.assert_array_equal(np.load(io.BytesIO(done.stdout)), expected)
        self.assert_ok("take", path, "--order", "-", "--index", "u32", "-o", self.out, stdin=order.tobytes())
        np.testing.assert_array_equal(np.load(self.out), expected)
        self.assert_ok("take", path, "--order", "-", "--index", "u32", "-o", self.out, stdin=self.read("o.npy"))
        np.testing.assert_array_equal(np.load(self.out), expected)
        raw = data[:, 0].tobytes()
        done = self.assert_ok("take", "-", "--type", "f64", "--order", order_path, "-o", "-", stdin=raw)
        self.assertEqual(done.stdout, data[order, 0].tobytes())
        self.assert_refused(2, ["standard input"], "take", "-", "--order", "-", "-o", self.out)

    def test_inputs_may_be_the_output(self):
        data, order = self.rng.normal(size=NUM_ROWS), self.order()
        path, order_path = self.save("x.npy", data), self.save("o.npy", order)
        self.assert_ok("take", path, "--order", order_path, "-o", path)
        np.testing.assert_array_equal(np.load(path), data[order])
        self.save("x.npy", data)
        self.assert_ok("take", path, "--order", order_path, "-o", order_path)
        np.testing.assert_array_equal(np.load(order_path), data[order])

    def test_raw_output(self):
        data, order = self.rng.normal(size=(NUM_ROWS, 3)), self.order()
        order_path = self.save("o.npy", order)
        self.assert_ok("take", self.save("x.npy", data), "--order", order_path, "-o", self.path("y.bin"))
        self.assertEqual(self.read("y.bin"), data[order].tobytes())
        self.assert_refused(2, ["big-endian", ".npy"], "take", self.save("x.npy", data.astype(">f8")), "--order",
                            order_path, "-o", self.path("y.bin"))
        raw = self.write("x.bin", data[:, 0].tobytes())
        self.assert_ok("take", raw, "--type", "f64", "--order", order_path, "-o", self.out)
        np.testing.assert_array_equal(np.load(self.out), data[order, 0])


class LargerThanMemory(TakeTest):
    """-S below the size of the data: elements are read in the order in which they lie."""

    def setUp(self):
        super().setUp()
        if is_sanitized():
            self.skipTest("a sanitizer's own memory is above the ceilings here")

    def test_same_results(self):
        num_rows = 1_500_000
        data = self.rng.integers(0, 2**63, (num_rows, 4))  # 48 MB
        for order in (self.rng.permutation(num_rows), np.arange(num_rows)[::-1], self.order(1000, num_rows),
                      np.full(100_000, num_rows - 1), np.arange(0, num_rows, 1000), np.array([], "i8")):
            for dtype in some(("i8", "u4")):
                self.assert_taken(data, order.astype(dtype), "-S", "40M")

    def test_memory(self):
        num_rows = 800_000
        path = self.write("x.dat", self.rng.bytes(100 * num_rows))
        order = self.save("o.npy", self.rng.permutation(num_rows))
        flags = ["--record", "100", "--order", order, "-o", self.path("y.dat")]
        done = self.assert_refused(6, ["x.dat", "would do"], "take", path, *flags, "-S", "1M")
        # The process itself takes more where a build counts the lines that run, and each thread 1 MiB.
        enough = int(done.stderr.split(";")[1].split()[0])
        self.assertLessEqual(enough, (34 + os.cpu_count()) << 20, "a minimum that is of use")
        for ceiling in (enough + (1 << 20), enough + (28 << 20)):
            done = run_for_peak("take", path, *flags, "-S", ceiling)
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertLessEqual(int(done.stdout.splitlines()[-1]), 1.05 * ceiling)

    def test_bad_index_in_the_last_part(self):
        num_rows = 1_500_000
        path = self.save("x.npy", np.zeros((num_rows, 4)))
        order = np.arange(num_rows)
        order[-2] = num_rows
        self.write("out.npy", b"old")
        self.assert_refused(3, ["o.npy", f"index {num_rows} at position {num_rows - 2}", "out of range"], "take", path,
                            "--order", self.save("o.npy", order), "-o", self.out, "-S", "40M")


class Refused(TakeTest):
    def test_indices(self):
        path = self.save("x.npy", np.arange(10.0))
        self.write("out.npy", b"old")
        for order, words in (([1, 10, 11], ["index 10 at position 1", "out of range", "10 elements"]),
                             ([1, 2, -1], ["index -1 at position 2", "negative"])):
            for dtype in ("i8", "i4"):
                order_path = self.save("o.npy", np.array(order, dtype))
                self.assert_refused(3, ["o.npy", *words], "take", path, "--order", order_path, "-o", self.out)
        many = np.arange(10).repeat(100_000)
        many[500_000] = 2**40
        self.assert_refused(3, ["index 1099511627776 at position 500000"], "take", path, "--order",
                            self.save("o.npy", many), "-o", self.out)
        for values, found in ((np.arange(3.0), "f64"), (np.zeros(3, "u1"), "u8"), (np.zeros(3, "i2"), "i16"),
                              (np.zeros(3, bool), "bool"), (np.zeros(3, "M8[s]"), "datetime64[s]"),
                              (np.zeros(3, "m8[D]"), "timedelta64[D]"), (np.zeros(3, "S3"), "S3"),
                              (np.zeros(3, [("a", "i4")]), "record of 4 bytes")):
            done = self.assert_refused(3, ["o.npy: indices of type i64, u64, i32 or u32 are expected, found " + found],
                                       "take", path, "--order", self.save("o.npy", values), "-o", self.out)
            self.assertNotIn("sort", done.stderr.partition("o.npy")[2])
        for shape in ((3, 2), (1, 2, 2)):
            done = self.assert_refused(3, [f"an array of shape {shape}", "one row of indices", "order.ravel()"], "take",
                                       path, "--order", self.save("o.npy", np.zeros(shape, "i8")), "-o", self.out)
            self.assertNotIn("--axis", done.stderr)
        self.assert_refused(3, ["standard input", "shape (2, 2)", "one row"], "take", path, "--order", "-", "-o",
                            self.out, stdin=saved(np.zeros((2, 2), "i8")))
        for shape in ((3, 1), (1, 3)):
            order = self.save("o.npy", np.array([2, 0, 1]).reshape(shape))
            self.assert_ok("take", path, "--order", order, "-o", self.path("taken.npy"))
            self.assertEqual(np.load(self.path("taken.npy")).tolist(), [2, 0, 1])

    def test_data(self):
        order = self.save("o.npy", np.arange(2))
        self.assert_refused(3, ["fortran"], "take", self.save("x.npy", np.asfortranarray(np.zeros((3, 2)))), "--order",
                            order, "-o", self.out)
        self.assert_refused(3, ["x.npy", "single value"], "take", self.save("x.npy", np.float64(1)), "--order", order,
                            "-o", self.out)
        path = self.save("x.npy", np.zeros((1000, 2)))
        os.truncate(path, os.path.getsize(path) - 1)
        self.assert_refused(3, ["x.npy", "header claims"], "take", path, "--order", order, "-o", self.out)
        with open(self.path("objects.npy"), "wb") as file:
            np.save(file, np.array([{}, None], object), allow_pickle=True)
        self.assert_refused(3, ["objects.npy"], "take", self.path("objects.npy"), "--order", order, "-o", self.out)
        missing = self.path("missing")
        self.assert_refused(4, ["missing"], "take", missing, "--type", "u8", "--order", order, "-o", self.out)
        self.assert_refused(4, ["missing"], "take", order, "--order", self.path("missing"), "-o", self.out)
        self.assert_refused(2, ["--type", "--record"], "take", self.write("x.bin", bytes(8)), "--order", order, "-o",
                            self.out)
        self.assert_refused(3, ["x.zip"], "take", self.write("x.zip", b"PK\x03\x04" + bytes(28)), "--type", "u8",
                            "--order", order, "-o", self.out)

    def test_flags(self):
        path = self.save("x.npy", np.arange(10.0))
        order = self.save("o.npy", np.arange(3))
        for flags, words in (([], ["--order"]), (["--order", order], ["-o"]),
                             (["--order", order, "-o", self.out, "--index", "f32"], ["--index", "u32"]),
                             (["--order", order, "-o", self.out, "--record", "0"], ["--record"]),
                             (["--order", order, "-o", self.out, "--record", "8"], ["--record", ".npy"]),
                             (["--order", order, "-o", self.out, "--threads", "0"], ["--threads"]),
                             (["--order", order, "-o", self.path("out.csv")], ["-o", "out.csv"]),
                             (["--order", order, "-o", self.out, "-S", "x"], ["-S"])):
            self.assert_refused(2, words, "take", path, *flags)
        self.assertIn(b"Usage: spansort take", run("take", "--help").stdout)


if __name__ == "__main__":
    main()
