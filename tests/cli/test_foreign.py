# SPDX-License-Identifier: Apache-2.0
"""Files that are no keys, and names that promise another format: refused with what is to be done instead."""
import bz2
import gzip
import lzma
import os
import sqlite3
import subprocess
import zipfile

import numpy as np

from support import BIN, CommandTest, main, run

CSV = b"id,price\n" + b"".join(b"%d,%d.5\n" % (i, i * 7 % 100) for i in range(500))
NUMBERS = b"".join(b"%d\n" % (i * 7919 % 1000) for i in range(400))
ZSTD = b"\x28\xb5\x2f\xfd" + bytes(200)

# Name -> (content, words of the message).
FOREIGN = {
    "table.csv": (CSV, ["text", "loadtxt", "sort -g"]),
    "numbers": (NUMBERS, ["text"]),
    "few": (b"3\n1\n2\n", ["text"]),
    "windows": (b"1.5\r\n2.5\r\n", ["text"]),
    "utf8": ("größe;gewicht\n1;2\n".encode() * 20, ["text"]),
    "x.gz": (gzip.compress(NUMBERS), ["gzip", "zcat"]),
    "x.bz2": (bz2.compress(NUMBERS), ["bzip2", "bzcat"]),
    "x.xz": (lzma.compress(NUMBERS), ["xz", "xzcat"]),
    "x.zst": (ZSTD, ["zstd", "zstdcat"]),
    "x.parquet": (b"PAR1" + bytes(100) + b"PAR1", ["Parquet", "read_parquet"]),
    "x.arrow": (b"ARROW1\0\0" + bytes(96), ["Arrow", "read_feather"]),
    "x.h5": (b"\x89HDF\r\n\x1a\n" + bytes(100), ["HDF5", "h5py"]),
}
VERBS = (["check"], ["summary"], ["plan"], ["sort", "-c"], ["sort", "-o", "out.bin"], ["argsort", "-o", "out.bin"],
         ["sort", "-m", "-o", "out.bin"])


class ForeignInput(CommandTest):
    def test_every_verb_refuses_every_format(self):
        for name, (content, words) in FOREIGN.items():
            path = self.write(name, content)
            for verb in VERBS:
                with self.subTest(name=name, verb=verb):
                    args = [self.path(a) if a == "out.bin" else a for a in verb]
                    self.assert_refused(3, [name, "--raw", *words], *args, path, "--type", "u8")

    def test_the_type_is_not_asked_for_first(self):
        self.assert_refused(3, ["text"], "sort", self.write("table.csv", CSV), "-o", self.path("out.npy"))

    def test_standard_input(self):
        for name, (content, words) in FOREIGN.items():
            with self.subTest(name=name):
                path = self.write(name, content)
                self.assert_refused(3, ["standard input", *words], "check", "-", "--type", "u8", stdin=content)
                with open(path, "rb") as file:
                    self.assert_refused(3, ["standard input", *words], "check", "-", "--type", "u8", stdin=file)

    def test_what_was_looked_at_is_not_lost(self):
        keys = self.rng.integers(0, 2**32, 10000).astype("<u4")
        done = self.assert_ok("sort", "-", "--type", "u32", stdin=keys.tobytes())
        self.assertEqual(done.stdout, np.sort(keys).tobytes())
        with open(self.write("x.bin", b"skipped!" + keys.tobytes()), "rb", buffering=0) as file:
            file.seek(8)
            done = self.assert_ok("sort", "-", "--type", "u32", stdin=file)
        self.assertEqual(done.stdout, np.sort(keys).tobytes())

    def test_a_fifo_is_not_closed_on_its_writer(self):
        fifo = self.path("fifo")
        os.mkfifo(fifo)
        sorting = subprocess.Popen([BIN, "sort", fifo, "--type", "u8", "-o", self.path("out.bin")])
        with open(fifo, "wb") as file:
            file.write(b"\3\1\2")
        self.assertEqual(sorting.wait(timeout=60), 0)
        self.assertEqual(self.read("out.bin"), b"\1\2\3")

    def test_npz_and_other_archives(self):
        np.savez(self.path("x.npz"), a=np.arange(3))
        self.assert_refused(3, ["x.npz", ".npz", "np.load", "np.save"], "check", self.path("x.npz"), "--type", "u8")
        with zipfile.ZipFile(self.path("x.zip"), "w") as archive:
            archive.writestr("x.txt", "1\n2\n")
        self.assert_refused(3, ["zip archive", "unzip"], "check", self.path("x.zip"), "--type", "u8")
        sqlite3.connect(self.path("x.db")).execute("create table t(a)").connection.commit()
        self.assert_refused(3, ["SQLite"], "check", self.path("x.db"), "--type", "u8")

    def test_raw_insists(self):
        for name, (content, _) in FOREIGN.items():
            with self.subTest(name=name):
                done = self.assert_ok("sort", self.write(name, content), "--type", "u8", "--raw", "-o", "-")
                self.assertEqual(done.stdout, bytes(sorted(content)))
                self.assertEqual(run("check", "-", "--type", "u8", "--raw", stdin=content).returncode, 1)

    def test_records_may_be_lines(self):
        lines = b"".join(b"%07d\n" % (i * 7919 % 10007) for i in range(1000))
        path, flags = self.write("lines.txt", lines), ["--record", "8", "--key", "0:7"]
        self.assert_ok("sort", path, "-o", self.path("sorted.txt"), *flags)
        self.assertEqual(self.read("sorted.txt"), b"".join(sorted(lines.splitlines(True))))
        self.assertEqual(run("check", path, *flags).returncode, 1)
        gz = self.write("lines.gz", gzip.compress(lines))
        self.assert_refused(3, ["gzip"], "sort", gz, "-o", self.path("out.bin"), *flags)

    def test_keys_that_happen_to_be_printable(self):
        for content in (b"\n", b"a\n", b"AB\nC", b"hello", bytes(range(32, 127)) * 20, b"12345678" * 8):
            self.assert_ok("sort", self.write("x.bin", content), "--type", "u8", "-o", self.path("out.bin"))


class ForeignOutput(CommandTest):
    def test_names(self):
        keys = self.save("x.npy", np.arange(10, dtype="<u4"))
        for name, word in (("out.parquet", "Parquet"), ("out.csv", "text"), ("out.txt", "text"), ("out.npz", "NumPy"),
                           ("out.gz", "gzip"), ("out.bin.zst", "zstd"), ("OUT.CSV", "text"), ("out.h5", "HDF5"),
                           ("out.NPY", ".npy")):
            with self.subTest(name=name):
                out = self.path(name)
                self.assert_refused(2, ["-o", name, word, ".npy"], "sort", keys, "-o", out)
                self.assert_refused(2, ["-o", name, word], "argsort", keys, "-o", out)
                self.assert_refused(2, ["-o", name, word], "gen", "10", "--type", "u8", "-o", out)
                self.assert_refused(2, ["--outliers", name, word], "summary", keys, "--outliers", out)
                self.assert_ok("sort", keys, "-o", out, "--raw")
                os.remove(out)
        self.assert_ok("sort", keys, "-o", self.path("out.npy"))
        self.assert_ok("sort", keys, "-o", self.path("out.u32"))


if __name__ == "__main__":
    main()
