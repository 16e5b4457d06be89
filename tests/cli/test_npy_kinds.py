# SPDX-License-Identifier: Apache-2.0
"""What .npy arrays hold besides plain numbers: bool, dates, strings, structures, bfloat16; one long dimension.

The oracle is NumPy's own stable sort.
"""
import io
import os

import numpy as np

from support import CommandTest, IS_SMALL, expected_sort, main, random_bits, run

NUM_KEYS = 700 if IS_SMALL else 3_001
EXTERNAL = ["--test-world", "128,16,3"]
# The ways to sort: in memory, on several devices, and in temporary files.
WAYS = ([], ["--verify"], ["--devices", "host:3"], EXTERNAL, [*EXTERNAL, "--verify"])


def reverse_stable(order, keys, is_last):
    """The stable descending order, from dense ranks; what is_last says stays behind."""
    ranks = np.unique(keys, return_inverse=True)[1].astype(np.int64)
    return np.argsort(np.where(is_last, len(keys), -ranks), kind="stable")


def order_of(keys, descending=False):
    """The stable order as NumPy has it; its descending one puts NaT last all the same."""
    if not descending:
        return np.argsort(keys, kind="stable")
    is_last = np.isnat(keys) if keys.dtype.kind in "Mm" else np.zeros(len(keys), bool)
    return reverse_stable(None, keys, is_last)


def some_times(dtype, count, rng):
    """Few values, so that there are ties, extremes among them, and NaT."""
    limit = np.iinfo("i8")
    values = np.concatenate([rng.integers(-50, 50, 30), rng.integers(limit.min + 1, limit.max, 30),
                             [limit.min + 1, limit.max, 0, -1], np.full(8, limit.min)])
    return values[rng.integers(0, len(values), count)].astype("<i8").view(dtype)


def some_strings(dtype, count, rng):
    """Strings of all lengths over few and odd characters; those of U beyond the Basic Multilingual Plane, too."""
    is_bytes = np.dtype(dtype).kind == "S"
    letters = ["a", "b", "\x01", *(["\x7f", "\xff"] if is_bytes else ["é", "中", "\U0001f600"])]
    width = np.dtype(dtype).itemsize // (1 if is_bytes else 4)
    words = ["".join(rng.choice(letters, rng.integers(0, width + 1))) for _ in range(60)] + [""]
    words = [word.encode("latin1") if is_bytes else word for word in words]
    return np.array(words, dtype)[rng.integers(0, len(words), count)]


class NpyTest(CommandTest):
    def load(self, name):
        return np.load(self.path(name))

    def assert_array(self, name, expected):
        """The same bytes as those that NumPy saves: dtype, shape and content."""
        self.save("expected.npy", expected)
        self.assertTrue(self.read(name) == self.read("expected.npy"),
                        f"{np.load(self.path(name))[:10]} instead of {expected[:10]}")

    def check_order(self, keys, ways=WAYS):
        path = self.save("in.npy", keys)
        for descending in (False, True):
            flags = ["-r"] if descending else []
            order = order_of(keys, descending)
            for way in ways:
                with self.subTest(dtype=keys.dtype, flags=[*flags, *way]):
                    self.assert_ok("sort", path, "-o", self.path("out.npy"), *flags, *way)
                    self.assert_array("out.npy", keys[order])
                    self.assert_ok("argsort", path, "-o", self.path("order.npy"), *flags, *way)
                    self.assert_array("order.npy", order)
            self.assert_ok("check", self.path("out.npy"), *flags)
        done = self.assert_ok("sort", "-", stdin=self.read("in.npy"))
        self.assertTrue(done.stdout == self.read_saved(np.sort(keys, kind="stable")))
        return path

    def read_saved(self, array):
        file = io.BytesIO()
        np.save(file, array)
        return file.getvalue()

    def check_unique_and_head(self, keys):
        path = self.save("in.npy", keys)
        for way in ([], EXTERNAL):
            self.assert_ok("sort", path, "-o", self.path("out.npy"), "-u", *way)
            self.assert_array("out.npy", np.unique(keys))
            self.assert_ok("sort", path, "-o", self.path("out.npy"), "--head", 17, *way)
            self.assert_array("out.npy", np.sort(keys, kind="stable")[:17])
            self.assert_ok("argsort", path, "-o", self.path("out.npy"), "--head", 17, *way)
            self.assert_array("out.npy", np.argsort(keys, kind="stable")[:17])

    def check_empty(self, dtype):
        path = self.save("empty.npy", np.empty(0, dtype))
        for verb, expected in (("sort", np.empty(0, dtype)), ("argsort", np.empty(0, "<i8"))):
            self.assert_ok(verb, path, "-o", self.path("out.npy"))
            self.assert_array("out.npy", expected)


class Times(NpyTest):
    def test_order(self):
        for dtype in ("<M8[ns]", "<m8[s]", ">M8[D]", "<M8[25us]", "<m8"):
            self.check_order(some_times(dtype[:1].replace(">", "<") + dtype[1:], NUM_KEYS, self.rng).astype(dtype))

    def test_unique_head_and_empty(self):
        for dtype in ("<M8[ns]", "<m8[D]"):
            self.check_unique_and_head(some_times(dtype, NUM_KEYS, self.rng))
            self.check_empty(dtype)

    def test_all_nat(self):
        keys = np.full(50, "NaT", "<M8[s]")
        self.check_order(keys, ways=([],))

    def test_in_place_and_raw(self):
        keys = some_times("<M8[ns]", NUM_KEYS, self.rng)
        path = self.save("in.npy", keys)
        self.assert_ok("sort", path, "-o", self.path("raw.bin"))
        self.assertEqual(self.read("raw.bin"), np.sort(keys).tobytes())
        self.assert_ok("sort", path, "-o", path)
        self.assert_array("in.npy", np.sort(keys))

    def test_check_names_the_disorder(self):
        keys = np.array(["2020-01-02", "NaT", "2020-01-01"], "<M8[D]")
        done = run("check", self.save("in.npy", keys))
        self.assertEqual(done.returncode, 1)
        self.assertIn("in.npy:2: disorder: 18262 after NaT", done.stderr)
        self.assertIn(b"type: datetime64[D]\n", done.stdout)

    def test_merge(self):
        keys = [np.sort(some_times("<M8[ns]", 400, self.rng)) for _ in range(3)]
        names = [self.save(f"{i}.npy", part) for i, part in enumerate(keys)]
        self.assert_ok("sort", "-m", *names, "-o", self.path("out.npy"))
        self.assert_array("out.npy", np.sort(np.concatenate(keys)))
        other = self.save("other.npy", keys[0].view("<M8[s]"))
        self.assert_refused(3, ["datetime64[s]", "datetime64[ns]"], "sort", "-m", names[0], other, "-o",
                            self.path("out.npy"))

    def test_statistics_are_refused(self):
        path = self.save("in.npy", some_times("<M8[ns]", 10, self.rng))
        self.assert_refused(3, ["datetime64[ns]", "view('i8')"], "summary", path)
        self.assert_refused(2, ["--summary"], "sort", path, "-o", self.path("out.npy"), "--summary", self.path("s"))


class Booleans(NpyTest):
    def test_order(self):
        self.check_order(self.rng.random(NUM_KEYS) < 0.3)
        self.check_empty("?")

    def test_unique(self):
        self.assert_ok("sort", self.save("in.npy", self.rng.random(NUM_KEYS) < 0.3), "-o", self.path("out.npy"), "-u")
        self.assert_array("out.npy", np.array([False, True]))


class Strings(NpyTest):
    def test_order(self):
        for dtype in ("S1", "S7", "S8", "S20", "<U1", "<U5", ">U3"):
            self.check_order(some_strings(dtype, NUM_KEYS, self.rng), ways=([], EXTERNAL, ["--verify"]))

    def test_long_strings(self):
        for dtype in ("S256", "S257", "S4096", "<U1024"):
            self.check_order(some_strings(dtype, 100, self.rng), ways=([],))
        path = self.save("in.npy", some_strings("S4097", 3, self.rng))
        self.assert_refused(2, ["in.npy", "256 bytes"], "sort", path, "-o", self.path("out.npy"))

    def test_unique_head_and_empty(self):
        for dtype in ("S3", "<U3"):
            self.check_unique_and_head(some_strings(dtype, NUM_KEYS, self.rng))
            self.check_empty(dtype)

    def test_what_strings_have_not(self):
        path = self.save("in.npy", some_strings("S3", 10, self.rng))
        self.assert_refused(2, ["S3", "no fields"], "sort", path, "-o", self.path("out.npy"), "--key", "a")
        self.assert_refused(3, ["S3", "u32"], "sort", path, "-o", self.path("out.npy"), "--type", "u32")
        self.assert_refused(3, ["in.npy"], "summary", path)


class Structures(NpyTest):
    DTYPE = np.dtype([("sym", "S4"), ("price", "<f8"), ("at", "<M8[s]"), ("size", ">i4"), ("name", "<U3"),
                      ("more", [("a", "i1"), ("b", "<f2")]), ("rgb", "u1", (3,)), ("is", "?"), ("z", "<c8")])

    def make(self, count=NUM_KEYS, dtype=DTYPE):
        records = np.zeros(count, dtype)
        records["sym"] = some_strings("S4", count, self.rng)
        records["price"] = random_bits("f64", count, self.rng).view("<f8")[self.rng.integers(0, count, count) % 40]
        records["at"] = some_times("<M8[s]", count, self.rng)
        records["size"] = self.rng.integers(-3, 3, count)
        records["name"] = some_strings("<U3", count, self.rng)
        records["more"]["a"] = self.rng.integers(-3, 3, count)
        records["more"]["b"] = random_bits("f16", count, self.rng).view("<f2")[self.rng.integers(0, count, count) % 30]
        records["rgb"] = self.rng.integers(0, 256, (count, 3))
        records["is"] = self.rng.random(count) < 0.5
        records["z"] = self.rng.random(count)
        return records

    def order(self, records, keys, flags):
        """The stable order by keys such as "price:r", from the ranks of the fields."""
        columns = []
        for key in keys.split(","):
            name, _, direction = key.partition(":")
            column = records
            for part in name.split("."):
                column = column[part]
            column = np.ascontiguousarray(column)
            ranks = np.unique(column, return_inverse=True)[1].astype(np.int64)
            is_last = np.zeros(len(column), bool)
            if column.dtype.kind in "fMm":
                is_last = np.isnat(column) if column.dtype.kind in "Mm" else np.isnan(column)
            if (direction == "r") != ("-r" in flags):
                ranks = -ranks
            columns.append(np.where(is_last, len(column), ranks))
        return np.lexsort(columns[::-1])

    def test_keys(self):
        records = self.make()
        path = self.save("in.npy", records)
        for keys in ("sym,price:r", "price", "at:r,sym", "at,size", "size:r,name", "more.a,more.b:r", "is,name:r",
                     "name,at,price,size,sym", "size,size:r,sym"):
            for flags in ([], ["-r"], EXTERNAL, ["--verify", *EXTERNAL]):
                with self.subTest(keys=keys, flags=flags):
                    expected = records[self.order(records, keys, flags)]
                    self.assert_ok("sort", path, "-o", self.path("out.npy"), "--key", keys, *flags)
                    self.assertTrue(self.read("out.npy") == self.read_saved(expected))
                    self.assert_ok("argsort", path, "-o", self.path("order.npy"), "--key", keys, *flags)
                    self.assert_array("order.npy", self.order(records, keys, flags))
                    self.assert_ok("check", self.path("out.npy"), "--key", keys, *[f for f in flags if f == "-r"])

    def test_several_flags_stream_and_in_place(self):
        records = self.make()
        path = self.save("in.npy", records)
        expected = self.read_saved(records[self.order(records, "sym,price:r", [])])
        flags = ["--key", "sym", "--key", "price:r"]
        self.assertTrue(self.assert_ok("sort", "-", *flags, stdin=self.read("in.npy")).stdout == expected)
        self.assert_ok("sort", path, "-o", self.path("raw.bin"), *flags)
        self.assertEqual(self.read("raw.bin"), records[self.order(records, "sym,price:r", [])].tobytes())
        self.assert_ok("sort", path, "-o", path, *flags)
        self.assertTrue(self.read("in.npy") == expected)

    def test_unique_and_head(self):
        records = self.make()
        path = self.save("in.npy", records)
        order = self.order(records, "size,is", [])
        for way in ([], EXTERNAL):
            self.assert_ok("sort", path, "-o", self.path("out.npy"), "--key", "size,is", "--head", 20, *way)
            self.assert_array("out.npy", records[order[:20]])
            self.assert_ok("sort", path, "-o", self.path("out.npy"), "--key", "size,is", "-u", *way)
            first = {}
            for i in order:
                first.setdefault((records["size"][i], records["is"][i]), i)
            self.assert_array("out.npy", records[list(first.values())])
            self.assert_ok("argsort", path, "-o", self.path("out.npy"), "--key", "size,is", "-u", *way)
            self.assert_array("out.npy", np.array(list(first.values())))

    def test_no_key_is_all_fields_as_in_numpy(self):
        dtype = np.dtype([("b", "<i2"), ("a", "S2"), ("c", [("x", "<u2")])])
        records = np.zeros(NUM_KEYS, dtype)
        records["b"] = self.rng.integers(-2, 2, NUM_KEYS)
        records["a"] = some_strings("S2", NUM_KEYS, self.rng)
        records["c"]["x"] = self.rng.integers(0, 500, NUM_KEYS)
        self.assert_ok("sort", self.save("in.npy", records), "-o", self.path("out.npy"))
        self.assert_array("out.npy", np.sort(records, kind="stable"))

    def test_padding_stays(self):
        dtype = np.dtype([("a", "i1"), ("b", "<f8"), ("c", "<i2")], align=True)
        records = np.zeros(NUM_KEYS, dtype)
        records["a"] = self.rng.integers(-3, 3, NUM_KEYS)
        records["b"] = self.rng.random(NUM_KEYS)
        self.assert_ok("sort", self.save("in.npy", records), "-o", self.path("out.npy"), "--key", "a,b:r")
        loaded = self.load("out.npy")
        np.testing.assert_array_equal(loaded, records[np.lexsort((-records["b"], records["a"]))])
        self.assertEqual(loaded.dtype, np.load(self.path("in.npy")).dtype)

    def test_merge(self):
        parts = [self.make(300) for _ in range(3)]
        parts = [part[self.order(part, "sym,at:r", [])] for part in parts]
        names = [self.save(f"{i}.npy", part) for i, part in enumerate(parts)]
        self.assert_ok("sort", "-m", *names, "-o", self.path("out.npy"), "--key", "sym,at:r")
        whole = np.concatenate(parts).astype(self.DTYPE)  # NumPy makes the byte order native
        self.assert_array("out.npy", whole[self.order(whole, "sym,at:r", [])])

    def test_empty(self):
        self.check_empty_records()

    def check_empty_records(self):
        self.assert_ok("sort", self.save("in.npy", np.empty(0, self.DTYPE)), "-o", self.path("out.npy"), "--key", "sym")
        self.assert_array("out.npy", np.empty(0, self.DTYPE))

    def refused(self, status, words, *flags):
        path = self.path("in.npy")
        if not os.path.exists(path):
            self.save("in.npy", self.make(10))
        self.assert_refused(status, ["in.npy", *words], "sort", path, "-o", self.path("out.npy"), *flags)

    def test_refusals(self):
        self.refused(2, ["'nothing'", "'sym' 'price'"], "--key", "nothing")
        self.refused(2, ["'more.c'"], "--key", "more.c")
        self.refused(2, ["'rgb'", "subarray"], "--key", "rgb")
        self.refused(2, ["'z'", "complex"], "--key", "z")
        self.refused(2, ["'rgb'", "subarray"])  # all fields
        self.refused(3, ["u32"], "--key", "sym", "--type", "u32")

    def test_wrong_flags(self):
        self.save("in.npy", self.make(10))
        for key in ("", "sym,", "sym:x", ":r", "sym:r:r", "sym,,price"):
            done = run("sort", self.path("in.npy"), "-o", self.path("out.npy"), "--key", key)
            self.assertEqual(done.returncode, 2, key)
            self.assertIn("--key", done.stderr)
        plain = self.save("plain.npy", np.arange(4))
        self.assert_refused(2, ["i64", "no fields"], "sort", plain, "-o", self.path("out.npy"), "--key", "sym")
        self.assert_refused(2, ["--record"], "sort", plain, "-o", self.path("out.npy"), "--key", "0:4:u32")
        self.assert_refused(2, ["--record"], "sort", plain, "-o", self.path("out.npy"), "--key", "0:4")


class Indices(NpyTest):
    """argsort of raw records, and the types of indices."""

    def setUp(self):
        super().setUp()
        self.records = np.zeros(NUM_KEYS, [("a", "S10"), ("b", "<f4"), ("c", "S86")])
        self.records["a"] = some_strings("S10", NUM_KEYS, self.rng)
        self.records["b"] = self.rng.integers(0, 9, NUM_KEYS)
        self.input = self.write("in.dat", self.records.tobytes())

    def test_raw_records(self):
        by_bytes = np.argsort(self.records["a"], kind="stable")
        by_both = np.lexsort((self.records["a"], -self.records["b"]))
        for key, order in (("0:10", by_bytes), ("10:4:f32:r,0:10", by_both)):
            for way in WAYS:
                self.assert_ok("argsort", self.input, "-o", self.path("out.npy"), "--record", 100, "--key", key, *way)
                self.assert_array("out.npy", order)
                self.assert_ok("argsort", self.input, "-o", self.path("out.raw"), "--record", 100, "--key", key, *way)
                self.assertEqual(self.read("out.raw"), order.tobytes())
        flags = ["--record", 100, "--key", "0:10", "-r"]
        descending = reverse_stable(None, self.records["a"], np.zeros(NUM_KEYS, bool))
        self.assertEqual(self.assert_ok("argsort", "-", *flags, stdin=self.read("in.dat")).stdout, descending.tobytes())

    def test_types(self):
        keys = self.rng.integers(0, 50, NUM_KEYS)
        path = self.save("in.npy", keys)
        order = np.argsort(keys, kind="stable")
        for name, dtype in (("u32", "<u4"), ("i32", "<i4"), ("u64", "<u8"), ("i64", "<i8")):
            for way in ([], EXTERNAL, ["--verify"], ["-u"], ["--head", "9"]):
                expected = np.unique(keys, return_index=True)[1] if "-u" in way else order
                expected = (expected[:9] if "--head" in way else expected).astype(dtype)
                self.assert_ok("argsort", path, "-o", self.path("out.npy"), "--index", name, *way)
                self.assert_array("out.npy", expected)
                self.assert_ok("argsort", path, "-o", self.path("out.raw"), "--index", name, *way)
                self.assertEqual(self.read("out.raw"), expected.tobytes())
            self.assert_ok("argsort", self.input, "-o", self.path("out.npy"), "--index", name, "--record", 100, "--key",
                           "0:10")
            self.assert_array("out.npy", np.argsort(self.records["a"], kind="stable").astype(dtype))

    def test_more_keys_than_an_index_counts(self):
        path = self.path("large.npy")
        for count, name in ((2**32 + 1, "u32"), (2**31 + 1, "i32")):
            with open(path, "wb") as file:
                np.lib.format.write_array_header_1_0(file, {"descr": "|u1", "fortran_order": False, "shape": (count,)})
                file.truncate(file.tell() + count)  # a file of holes
            done = run("argsort", path, "-o", self.path("out.npy"), "--index", name, "--dry-run", "-T", self.folder)
            self.assertEqual(done.returncode, 2, done.stderr)
            self.assertIn("--index", done.stderr)
            self.assertIn(str(count), done.stderr)

    def test_wrong_type(self):
        self.assert_refused(2, ["--index", "'u16'"], "argsort", self.save("in.npy", np.arange(3)), "-o",
                            self.path("out.npy"), "--index", "u16")


class Bfloat16(NpyTest):
    """ml_dtypes saves its bfloat16 as '<V2'."""

    def save_as(self, name, bits, descr):
        array = np.array(bits, "<u2")
        with open(self.path(name), "wb") as file:
            np.lib.format.write_array_header_1_0(file, {"descr": descr, "fortran_order": False, "shape": array.shape})
            file.write(array.tobytes())
        return self.path(name)

    def test_order(self):
        bits = random_bits("bf16", NUM_KEYS, self.rng)
        path = self.save_as("in.npy", bits, "<V2")
        for flags in ([], ["--type", "bf16"], ["-r"], EXTERNAL):
            self.assert_ok("sort", path, "-o", self.path("out.npy"), *flags)
            self.save_as("expected.npy", expected_sort(bits, "bf16", "-r" in flags), "<V2")
            self.assertTrue(self.read("out.npy") == self.read("expected.npy"))
        self.assertIn(b"type: bf16\n", self.assert_ok("check", self.path("expected.npy"), ).stdout)

    def test_raw_bytes_need_the_type(self):
        path = self.save_as("in.npy", [3, 1, 2], "|V2")
        self.assert_refused(3, ["'|V2'", "--type bf16"], "sort", path, "-o", self.path("out.npy"))
        self.assert_ok("sort", path, "-o", self.path("out.npy"), "--type", "bf16")
        self.assertEqual(self.read("out.npy"), self.read_saved(np.array([1, 2, 3], "<u2").view("V2")))


class Shapes(NpyTest):
    """One long dimension; the others are 1."""

    def test_shape_is_kept(self):
        for keys in (self.rng.random(NUM_KEYS), some_times("<M8[s]", NUM_KEYS, self.rng),
                     some_strings("S3", NUM_KEYS, self.rng)):
            for shape in ((-1, 1), (1, -1), (1, 1, -1, 1)):
                array = keys.reshape(shape)
                axis = shape.index(-1)
                path = self.save("in.npy", array)
                for way in ([], EXTERNAL):
                    self.assert_ok("sort", path, "-o", self.path("out.npy"), *way)
                    self.assert_array("out.npy", np.sort(array, axis=axis, kind="stable"))
                    self.assert_ok("argsort", path, "-o", self.path("out.npy"), *way)
                    self.assert_array("out.npy", np.argsort(array, axis=axis, kind="stable"))
        self.assert_ok("sort", self.save("in.npy", np.array([[2, 1, 2]]).T), "-o", self.path("out.npy"), "-u")
        self.assert_array("out.npy", np.array([[1], [2]]))
        self.assert_ok("sort", self.save("in.npy", np.array([[2.0]])), "-o", self.path("out.npy"))
        self.assert_array("out.npy", np.array([[2.0]]))

    def test_summary_of_a_column(self):
        done = self.assert_ok("summary", self.save("in.npy", np.arange(5.0).reshape(-1, 1)))
        self.assertIn(b"5", done.stdout)

    def test_no_dimension(self):
        self.assert_refused(3, ["0-d"], "sort", self.save("in.npy", np.array(3)), "-o", self.path("out.npy"))


class NoOrder(NpyTest):
    def test_refusals(self):
        for array, words in ((np.zeros(3, "c8"), ["complex"]), (np.zeros(3, "longdouble"), ["long double"]),
                             (np.zeros(3, "V5"), ["raw bytes"])):
            path = self.save("in.npy", array)
            for verb in (["sort", path, "-o", self.path("out.npy")], ["argsort", path, "-o", self.path("out.npy")],
                         ["check", path], ["summary", path]):
                self.assert_refused(3, ["in.npy", *words], *verb)


if __name__ == "__main__":
    main()
