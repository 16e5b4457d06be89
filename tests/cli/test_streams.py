# SPDX-License-Identifier: Apache-2.0
"""Commands that read or write any number of keys in little memory: gen, check, sort -c."""
import os
import resource
import subprocess
import threading

import numpy as np

from support import BIN, CommandTest, IS_SMALL, is_counted, is_sanitized, main, random_bits, run

# Ceiling on what gen and check may take, whatever the number of keys.
MEMORY_KB = (80 if is_counted() else 64) << 10
NUM_LARGE = (9 if IS_SMALL else 16) * 1_000_000


def peak_kb(*args, stdin=None, stdout=subprocess.DEVNULL):
    """Runs the command, which is to succeed, and returns its peak memory."""
    command = subprocess.Popen([BIN, *map(str, args)], stdin=stdin or subprocess.DEVNULL, stdout=stdout)
    _, status, usage = os.wait4(command.pid, 0)
    command.returncode = os.waitstatus_to_exitcode(status)
    assert command.returncode == 0, f"{args}: status {command.returncode}"
    return usage.ru_maxrss


class ConstantMemory(CommandTest):
    def setUp(self):
        super().setUp()
        if is_sanitized():
            self.skipTest("sanitizers take memory of their own")

    def test_gen_and_check_of_files(self):
        for name in ("x.npy", "x.bin"):
            path = self.path(name)
            used_kb = peak_kb("gen", NUM_LARGE, "--type", "u64", "--distribution", "sorted", "-o", path)
            self.assertLess(used_kb, MEMORY_KB)
            self.assertGreaterEqual(os.path.getsize(path), 8 * NUM_LARGE)
            self.assertLess(peak_kb("check", path, "--type", "u64"), MEMORY_KB)
            self.assertLess(peak_kb("sort", "-c", path, "--type", "u64"), MEMORY_KB)

    def test_gen_and_check_of_streams(self):
        flags = ("--type", "u64", "--distribution", "sorted")
        with subprocess.Popen([BIN, "gen", str(NUM_LARGE), *flags, "-o", "-"], stdout=subprocess.PIPE) as gen:
            self.assertLess(peak_kb("check", "-", "--type", "u64", stdin=gen.stdout), MEMORY_KB)
        self.assertEqual(gen.returncode, 0)
        # What gen itself takes, as a stream.
        reading, writing = os.pipe()
        reader = threading.Thread(target=lambda: subprocess.run(["cat"], stdin=reading, stdout=subprocess.DEVNULL))
        reader.start()
        peak = peak_kb("gen", NUM_LARGE, *flags, "-o", "-", stdout=writing)
        os.close(writing)
        reader.join()
        os.close(reading)
        self.assertLess(peak, MEMORY_KB)

    def test_more_than_the_address_space_allows(self):
        def limit():
            resource.setrlimit(resource.RLIMIT_AS, (1 << 30, 1 << 30))
        path = self.write("x.bin", b"")
        os.truncate(path, 2 << 30)
        if IS_SMALL:
            os.truncate(path, 1 << 30)
        done = self.assert_ok("check", path, "--type", "u64", preexec_fn=limit)
        self.assertIn(f"keys: {os.path.getsize(path) // 8}\n".encode(), done.stdout)


class Pieces(CommandTest):
    """gen and check work on pieces of 16 MiB; what they say must not depend on that."""

    NUM_KEYS = 3_000_000  # of 8 bytes: two pieces

    def test_gen_is_the_same_in_a_file_and_a_stream(self):
        for distribution in ("uniform", "sorted", "bucket-sorted", "zipf:1"):
            flags = (self.NUM_KEYS, "--type", "f64", "--distribution", distribution, "--seed", "5", "-o")
            self.assert_ok("gen", *flags, self.path("x.npy"))
            stream = self.assert_ok("gen", *flags, "-").stdout
            self.assertEqual(np.load(self.path("x.npy")).tobytes(), stream)
            ordered = run("check", self.path("x.npy"))
            self.assertEqual(ordered.returncode, 0 if distribution == "sorted" else 1)
            self.assertEqual(run("check", "-", "--type", "f64", stdin=stream).stdout, ordered.stdout)

    def test_disorder_at_the_bound_of_pieces(self):
        bound = (16 << 20) // 8
        for at in (bound - 1, bound, bound + 1):
            keys = np.arange(self.NUM_KEYS, dtype="<u8")
            keys[at] = 7
            path = self.save("x.npy", keys)
            done = run("check", path)
            self.assertEqual((done.returncode, done.stderr),
                             (1, f"spansort: {path}:{at}: disorder: 7 after {at - 1}\n"))
        keys = np.arange(self.NUM_KEYS, dtype="<u8")
        keys[bound] = keys[bound - 1]
        path = self.save("x.npy", keys)
        self.assertIn(b"duplicates: 1\n", self.assert_ok("check", path).stdout)
        self.assertIn(f":{bound}: disorder: {bound - 1} after {bound - 1}", run("check", path, "-u").stderr)


class SortCheck(CommandTest):
    def test_says_what_check_says_and_writes_nothing(self):
        for key_type in ("u8", "i32", "u64", "bf16", "f64"):
            keys = random_bits(key_type, 500, self.rng)
            path = self.write("x.bin", keys.tobytes())
            for flags in ([], ["-r"], ["-u"], ["-r", "-u"]):
                check = run("check", path, "--type", key_type, *flags)
                for name in ("-c", "--check"):
                    done = run("sort", path, name, "--type", key_type, *flags)
                    self.assertEqual((done.returncode, done.stderr, done.stdout), (1, check.stderr, b""))
                self.assert_ok("sort", path, "--type", key_type, "-o", self.path("y.bin"), *flags)
                done = self.assert_ok("sort", "-c", self.path("y.bin"), "--type", key_type, *flags)
                self.assertEqual(done.stdout, b"")
                stream = run("sort", "-c", "-", "--type", key_type, *flags, stdin=self.read("y.bin"))
                self.assertEqual((stream.returncode, stream.stderr), (0, ""))

    def test_what_it_refuses(self):
        path = self.save("x.npy", np.arange(3, dtype="<u4"))
        for flags in (["-o", self.path("y.npy")], ["-o", path], ["-o", "-"], ["--report", self.path("r.json")],
                      ["--trace", self.path("t.json")], ["--summary", self.path("s.json")], ["--head", "3"],
                      ["-T", self.folder], ["--dry-run"], ["--verify"]):
            self.assert_refused(2, ["-c", flags[0]], "sort", "-c", path, *flags)
        self.assert_refused(2, ["--type"], "sort", "-c", self.write("x.bin", b"1234"))
        self.assert_refused(3, ["not a multiple"], "sort", "-c", self.write("x.bin", b"12345"), "--type", "u16")
        self.assert_refused(4, ["No such file"], "sort", "-c", self.path("missing"), "--type", "u16")


if __name__ == "__main__":
    main()
