# SPDX-License-Identifier: Apache-2.0
"""Fixed-width records: gen --records, sort --record --key against Python's sorted() and NumPy's lexsort()."""
import hashlib
import os

import numpy as np

from support import IS_SMALL, TYPES, CommandTest, main, random_bits, run, tie_ranks

NUM_RECORDS = 1003 if IS_SMALL else 10007
KEY = ["--record", "100", "--key", "0:10"]


def split(data, record_bytes=100):
    return [data[i:i + record_bytes] for i in range(0, len(data), record_bytes)]


def ranks_of(keys, key_type, descending):
    """Numbers that order a column as a field of that type does: NaN last, either way."""
    ranks = tie_ranks(keys, key_type).astype(np.int64)
    if not descending:
        return ranks
    is_nan = np.isnan(keys.view(TYPES[key_type][1])) if key_type in ("f16", "f32", "f64") else np.zeros(len(keys), bool)
    return np.where(is_nan, len(keys), -ranks)


class Generated(CommandTest):
    def test_layout_and_seed(self):
        self.assert_ok("gen", "70000", "--records", "-o", self.path("a.dat"), "--seed", "3")
        self.assert_ok("gen", "70000", "--records", "-o", self.path("b.dat"), "--seed", "3")
        self.assert_ok("gen", "70000", "--records", "-o", self.path("c.dat"), "--seed", "4")
        records = split(self.read("a.dat"))
        self.assertEqual(len(records), 70000)
        for number in (0, 1, 65535, 65536, 69999):
            record = records[number]
            self.assertEqual(record[10:12] + record[44:48] + record[96:], bytes.fromhex("0011 8899aabb ccddeeff"))
            self.assertEqual(record[12:44], b"%032X" % number)
            self.assertRegex(record[48:96], rb"\A(([0-9A-F])\2{3}){12}\Z")
        self.assertEqual(len({record[:10] for record in records}), 70000)
        self.assertEqual(self.read("a.dat"), self.read("b.dat"))
        self.assertNotEqual(self.read("a.dat"), self.read("c.dat"))

    def test_bytes_are_the_same_everywhere(self):
        done = self.assert_ok("gen", "1000", "--records", "-o", "-", "--seed", "1")
        self.assertEqual(hashlib.sha256(done.stdout).hexdigest(), EXPECTED_SHA256)

    def test_no_records(self):
        self.assert_ok("gen", "0", "--records", "-o", self.path("a.dat"))
        self.assertEqual(self.read("a.dat"), b"")

    def test_what_records_have_not(self):
        output = ["-o", self.path("a.dat")]
        self.assert_refused(2, ["--type"], "gen", "10", "--records", "--type", "u8", *output)
        self.assert_refused(2, ["--distribution"], "gen", "10", "--records", "--distribution", "zero", *output)
        self.assert_refused(2, ["N"], "gen", "-1", "--records", *output)
        self.assert_refused(2, ["100 bytes"], "gen", "999999999999999999", "--records", *output)


class Sorted(CommandTest):
    def setUp(self):
        super().setUp()
        self.assert_ok("gen", NUM_RECORDS, "--records", "-o", self.path("in.dat"))
        self.records = split(self.read("in.dat"))
        self.flags = [self.path("in.dat"), "-o", self.path("out.dat")]

    def test_by_bytes(self):
        for flags, descending in (([], False), (["-r"], True), (["--verify"], False), (["--devices", "host:3"], False)):
            self.assert_ok("sort", *self.flags, *KEY, *flags)
            expected = sorted(self.records, key=lambda record: record[:10], reverse=descending)
            self.assertEqual(self.read("out.dat"), b"".join(expected), flags)

    def test_ties_keep_their_order(self):
        for flags in ([], ["-r"]):
            self.assert_ok("sort", *self.flags, "--record", "100", "--key", "50:1", "--key", "60:1:r", *flags)
            ordered = sorted(self.records, key=lambda record: (record[50], -record[60]))
            if flags:
                ordered = sorted(self.records, key=lambda record: (-record[50], record[60]))
            self.assertEqual(self.read("out.dat"), b"".join(ordered))

    def test_in_place_and_streams(self):
        expected = b"".join(sorted(self.records, key=lambda record: record[:10]))
        with open(self.path("in.dat"), "rb") as file:
            done = self.assert_ok("sort", "-", *KEY, stdin=file)
        self.assertEqual(done.stdout, expected)
        self.assert_ok("sort", self.path("in.dat"), "-o", self.path("in.dat"), *KEY)
        self.assertEqual(self.read("in.dat"), expected)

    def test_unique_keeps_the_first(self):
        for flags in ([], ["-r", "--verify"]):
            self.assert_ok("sort", *self.flags, "--record", "100", "--key", "0:1", "-u", *flags)
            first = {}
            for record in self.records:
                first.setdefault(record[:1], record)
            expected = [first[key] for key in sorted(first, reverse=bool(flags))]
            self.assertEqual(self.read("out.dat"), b"".join(expected))

    def test_few_records(self):
        for count in (0, 1, 2):
            path = self.write("few.dat", b"".join(self.records[:count]))
            self.assert_ok("sort", path, "-o", self.path("out.dat"), *KEY, "--verify")
            self.assertEqual(self.read("out.dat"), b"".join(sorted(self.records[:count], key=lambda r: r[:10])))

    def test_names_of_npy_files_are_refused(self):
        self.assert_refused(2, ["out.npy"], "sort", self.path("in.dat"), "-o", self.path("out.npy"), *KEY)
        self.assert_refused(2, ["out.npy"], "gen", "10", "--records", "-o", self.path("out.npy"))
        path = self.write("in.npy", b"".join(self.records))
        self.assert_refused(3, ["in.npy"], "sort", path, "-o", self.path("out.dat"), *KEY)

    def test_odd_length(self):
        path = self.write("odd.dat", b"x" * 250)
        self.assert_refused(3, ["odd.dat", "250", "100"], "sort", path, "-o", self.path("out.dat"), *KEY)
        self.assert_refused(3, ["250", "100"], "sort", "-", "-o", self.path("out.dat"), *KEY, stdin=b"x" * 250)


class Checked(CommandTest):
    """check and sort -c."""

    def setUp(self):
        super().setUp()
        self.assert_ok("gen", NUM_RECORDS, "--records", "-o", self.path("in.dat"))
        records = sorted(split(self.read("in.dat")), key=lambda record: record[:10])
        self.sorted = self.write("sorted.dat", b"".join(records))
        records[500], records[700] = records[700], records[500]
        self.disordered = self.write("disordered.dat", b"".join(records))
        self.after = records[500][:10].hex(), records[501][:10].hex()

    def test_in_order(self):
        done = self.assert_ok("check", self.sorted, *KEY)
        lines = done.stdout.decode().splitlines()
        self.assertEqual(lines[:3], [f"keys: {NUM_RECORDS}", "type: record of 100 bytes by 0:10", "duplicates: 0"])
        unsorted = run("check", self.path("in.dat"), *KEY).stdout.decode().splitlines()
        self.assertEqual(lines[3:], unsorted[3:], "the same checksum")
        self.assertEqual(self.assert_ok("sort", "-c", self.sorted, *KEY).stdout, b"")

    def test_disorder(self):
        done = run("check", self.disordered, *KEY)
        self.assertEqual(done.returncode, 1)
        before, first = self.after
        self.assertIn(f"disordered.dat:501: disorder: 0x{first} after 0x{before}", done.stderr)
        self.assertEqual(run("sort", "-c", self.disordered, *KEY).returncode, 1)
        self.assertEqual(run("check", self.sorted, "-r", *KEY).returncode, 1)

    def test_duplicates_and_another_byte(self):
        content = self.read("sorted.dat")
        path = self.write("twice.dat", content[:100] + content)
        self.assertIn(b"duplicates: 1\n", self.assert_ok("check", path, *KEY).stdout)
        self.assertEqual(run("check", path, "-u", *KEY).returncode, 1)
        changed = self.write("changed.dat", content[:-1] + b"x")
        self.assertNotEqual(self.assert_ok("check", changed, *KEY).stdout,
                            self.assert_ok("check", self.sorted, *KEY).stdout)


class Fields(CommandTest):
    """Several fields of all types against NumPy."""

    def columns(self, types):
        return [random_bits(key_type, NUM_RECORDS, self.rng) for key_type in types]

    def test_fields_of_two_types(self):
        for types in (("u32", "f64"), ("f32", "i16"), ("f16", "u8"), ("i64", "f32"), ("u16", "i8"), ("i32", "u64")):
            for directions in ((False, True), (True, False)):
                with self.subTest(types=types, directions=directions):
                    self.check_two(types, directions)

    def check_two(self, types, directions):
        first, second = self.columns(types)
        dtype = np.dtype([("a", first.dtype), ("b", second.dtype), ("n", "<u4")])
        records = np.empty(NUM_RECORDS, dtype)
        # Few values of the first, so that the second decides.
        records["a"] = first[self.rng.integers(0, 20, NUM_RECORDS)]
        records["b"] = second
        records["n"] = np.arange(NUM_RECORDS)
        path = self.write("in.dat", records.tobytes())
        keys = [f"{dtype.fields[column][1]}:{dtype[column].itemsize}:{key_type}" + (":r" if descending else "")
                for column, key_type, descending in zip("ab", types, directions)]
        ranks = [ranks_of(np.ascontiguousarray(records[column]), key_type, descending)
                 for column, key_type, descending in zip("ab", types, directions)]
        expected = records[np.lexsort(ranks[::-1])].tobytes()
        for flags in (["--key", ",".join(keys)], ["--key", keys[0], "--key", keys[1]]):
            self.assert_ok("sort", path, "-o", self.path("out.dat"), "--record", dtype.itemsize, *flags)
            self.assertEqual(self.read("out.dat"), expected)


class WrongFlags(CommandTest):
    def refused(self, words, *flags):
        path = self.path("in.dat")
        if not os.path.exists(path):
            self.write("in.dat", b"x" * 1000)
        self.assert_refused(2, words, "sort", path, "-o", self.path("out.dat"), *flags)

    def test_flags_that_need_each_other(self):
        self.refused(["--record"], "--key", "0:10")
        self.refused(["--key"], "--record", "100")
        self.refused(["--type"], *KEY, "--type", "u8")
        self.refused(["--summary"], *KEY, "--summary", self.path("s.json"))

    def test_wrong_records(self):
        for size in ("0", "65537", "-1", "ten", "1K", ""):
            self.refused(["--record"], "--record", size, "--key", "0:1")

    def test_wrong_keys(self):
        for key, word in (("91:10", "beyond"), ("0:0", "1 to 256"), ("0:4:u64", "u64 has 8"), ("0:4:u33", "u33"),
                          ("0", "size"), ("x:4", "offset"), ("0:4,", "comma"), ("0:4:u32:q", "'q'"), ("0:300", "300"),
                          (",".join(["0:1"] * 17), "at most 16")):
            self.refused(["--key", word], "--record", "100", "--key", key)


# Of the first 1,000 records of seed 1, noted when they were first made: they must never change.
EXPECTED_SHA256 = "a65b2df789bb9a76fc6829ab6f54a1dcfe2d4f75cb109ca623ca387cab4296a1"

if __name__ == "__main__":
    main()
