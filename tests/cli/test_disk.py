# SPDX-License-Identifier: Apache-2.0
"""Output that cannot be written: full disks, failing calls, missing permission. The old output stays, alone."""
import errno
import os
import resource
import shutil
import subprocess
import tempfile
import unittest

import numpy as np

from support import BIN, CommandTest, IS_SMALL, build_faults, is_sanitized, main, run

OLD = b"the old output"


class OutputTest(CommandTest):
    num_keys = 100_003

    def setUp(self):
        super().setUp()
        self.keys = self.rng.integers(0, 2**32, self.num_keys, dtype="<u4")
        self.sorted_bytes = np.sort(self.keys).tobytes()
        self.input = self.write("x.bin", self.keys.tobytes())

    def sort(self, output, **rest):
        return run("sort", self.input, "-o", output, "--type", "u32", **rest)


class UnwritableNames(OutputTest):
    def refused(self, words, output):
        for command in (["sort", self.input], ["argsort", self.input], ["gen", 10]):
            self.assert_refused(4, words, *command, "-o", output, "--type", "u32")

    def test_names(self):
        self.refused(["Is a directory"], self.folder)
        self.refused(["Is a directory"], self.folder + "/")
        self.refused(["No such file or directory"], self.path("missing/y"))
        self.refused(["Not a directory"], self.input + "/y")
        self.refused(["Is a directory"], self.path("y/"))
        self.refused(["File name too long"], self.path("n" * 256))
        os.symlink("loop", self.path("loop"))
        self.refused(["Too many levels of symbolic links"], self.path("loop"))

    def test_full_device(self):
        self.refused(["/dev/full", "No space left on device", "bytes are needed"], "/dev/full")
        with open("/dev/full", "wb") as full:
            self.assert_refused(4, ["standard output", "No space left"], "sort", self.input, "-o", "-", "--type", "u32",
                                stdout=full)
            self.assert_refused(4, ["standard output", "No space left"], "devices", stdout=full)
            self.assert_refused(4, ["standard output", "No space left"], "--help", stdout=full)

    def test_null_device(self):
        self.assertEqual(self.sort("/dev/null").returncode, 0)

    def test_closed_standard_output_is_not_mistaken_for_a_file(self):
        done = subprocess.run(["/bin/sh", "-c", '"$0" sort "$1" -o - --type u32 >&-', BIN, self.input],
                              stderr=subprocess.PIPE)
        self.assertEqual(done.returncode, 4, done.stderr)
        self.assertEqual(self.read("x.bin"), self.keys.tobytes())

    def test_report_and_trace_that_cannot_be_written(self):
        for flag in ("--report", "--trace"):
            done = run("sort", self.input, "-o", self.path("y"), "--type", "u32", flag, self.path("missing/r.json"))
            self.assertEqual(done.returncode, 4, done.stderr)
            self.assertIn("missing/r.json", done.stderr)
            self.assertFalse(os.path.exists(self.path("y")), "it is refused before the sort")
            done = run("sort", self.input, "-o", self.path("y"), "--type", "u32", flag, "/dev/full")
            self.assertEqual(done.returncode, 4, done.stderr)
            self.assertEqual(self.read("y"), self.sorted_bytes, "the sort itself is done")
            os.remove(self.path("y"))

    def test_limit_on_file_size(self):
        old = self.write("y", OLD)

        def limit():
            resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, 100_000))
        self.assert_refused(4, ["File too large", "400012 bytes are needed", "ulimit"], "sort", self.input, "-o", old,
                            "--type", "u32", preexec_fn=limit)


@unittest.skipUnless(os.geteuid() == 0 and shutil.which("setpriv"), "only the superuser can become somebody else")
class Permissions(OutputTest):
    """As the user nobody: permission bits do not bind the superuser."""

    def setUp(self):
        super().setUp()
        os.chmod(self.folder, 0o755)
        self.command = self.path("spansort")
        shutil.copy(BIN, self.command)

    def sort_as_nobody(self, source, output):
        return subprocess.run(["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", self.command, "sort",
                               source, "-o", output, "--type", "u32"], stderr=subprocess.PIPE, text=True)

    def refused(self, source, output):
        before = self.snapshot()
        done = self.sort_as_nobody(source, output)
        self.assertEqual(done.returncode, 4, done.stderr)
        self.assertIn("Permission denied", done.stderr)
        self.assertEqual(self.snapshot(), before)

    def test_unreadable_input(self):
        os.chmod(self.input, 0o600)
        self.refused(self.input, "/dev/null")

    def test_unwritable_directory(self):
        self.refused(self.input, self.path("y"))

    def test_unwritable_file_in_a_writable_directory(self):
        os.chmod(self.folder, 0o777)
        os.chmod(self.write("y", OLD), 0o644)
        self.refused(self.input, self.path("y"))

    def test_directory_that_cannot_be_listed_is_enough(self):
        os.mkdir(self.path("d"))
        os.chmod(self.path("d"), 0o333)
        done = self.sort_as_nobody(self.input, self.path("d/y"))
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(self.read("d/y"), self.sorted_bytes)


class SmallDisks(OutputTest):
    def setUp(self):
        super().setUp()
        self.disk = tempfile.mkdtemp(prefix="spansort-disk-")
        self.addCleanup(shutil.rmtree, self.disk, ignore_errors=True)
        mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=1m", "none", self.disk], stderr=subprocess.PIPE)
        if mounted.returncode != 0:
            self.skipTest("a small tmpfs cannot be mounted: " + mounted.stderr.decode().strip())
        self.addCleanup(subprocess.run, ["umount", "-l", self.disk], check=True)
        self.output = os.path.join(self.disk, "y")

    def remount(self, options):
        subprocess.run(["mount", "-o", "remount," + options, self.disk], check=True)

    def old_output(self):
        with open(self.output, "wb") as file:
            file.write(OLD)

    def content(self):
        self.assertEqual(os.listdir(self.disk), ["y"], "nothing is left behind")
        with open(self.output, "rb") as file:
            return file.read()

    def test_every_size_from_too_small_to_enough(self):
        needed = len(self.sorted_bytes)
        statuses = []
        for size in range(8192, needed + 100_000, (needed + 100_000) // (8 if IS_SMALL else 64)):
            self.remount(f"size={size}")
            self.old_output()
            for source in (self.input, "-"):
                done = run("sort", source, "-o", self.output, "--type", "u32", stdin=self.keys.tobytes())
                statuses.append(done.returncode)
                if done.returncode == 0:
                    self.assertEqual(self.content(), self.sorted_bytes)
                    self.old_output()
                    continue
                self.assertEqual(done.returncode, 4, done.stderr)
                self.assertRegex(done.stderr, rf"{self.output}: No space left on device; {needed} bytes are needed, "
                                              r"\d+ are free in .*: free some space or choose another place for it")
                self.assertEqual(self.content(), OLD)
        self.assertEqual({0, 4}, set(statuses), "both outcomes were met")

    def test_generated_and_argsorted(self):
        self.old_output()
        zeros = self.write("z", bytes(200_000))
        for command in (["gen", 1_000_000, "--type", "u32"], ["argsort", zeros, "--type", "u8"]):
            done = run(*command, "-o", self.output)
            self.assertEqual(done.returncode, 4, done.stderr)
            self.assertIn("No space left on device", done.stderr)
            self.assertEqual(self.content(), OLD)

    @unittest.skipIf(is_sanitized(), "sanitizers need more memory than the ceiling is")
    def test_a_stream_into_full_temporary_files(self):
        self.old_output()
        done = run("sort", "-", "-o", self.output, "--type", "u32", "-S", "36M", "-T", self.disk, stdin=bytes(40 << 20))
        self.assertEqual(done.returncode, 4, done.stderr)
        self.assertIn("No space left on device", done.stderr)
        # Nobody knows how much a stream needs.
        self.assertNotIn("bytes are needed", done.stderr)
        self.assertEqual(self.content(), OLD)

    def test_read_only_disk(self):
        self.old_output()
        self.remount("ro")
        for name in (self.output, self.disk + "/new"):
            done = self.sort(name)
            self.assertEqual(done.returncode, 4, done.stderr)
            self.assertIn("Read-only file system", done.stderr)
        self.assertEqual(self.content(), OLD)


class FailingCalls(OutputTest):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.mkdtemp(prefix="spansort-faults-")
        cls.addClassCleanup(shutil.rmtree, folder)
        cls.library = build_faults(folder)

    def sort_with(self, fault, output):
        return self.sort(output, env={"LD_PRELOAD": self.library, "SPANSORT_FAULT": fault})

    def test_the_faults_work(self):
        self.assertEqual(self.sort_with("nothing", self.path("y")).returncode, 0)
        done = self.sort_with(f"fsync:1:{errno.EIO}", self.path("y"))
        self.assertEqual(done.returncode, 4)

    def test_each_call_fails(self):
        calls = [f"write:1:{errno.ENOSPC}", f"write:1:{errno.EDQUOT}", f"write:1:{errno.EIO}", f"fsync:1:{errno.EIO}",
                 f"fsync:1:{errno.ENOSPC}", f"close:1:{errno.EIO}", f"close:1:{errno.EDQUOT}",
                 f"renameat:1:{errno.EIO}", f"renameat:1:{errno.EPERM}"]
        named = [call + ",no-tmpfile" for call in calls]
        nameless = calls + [f"linkat:1:{errno.EIO}", f"linkat:1:{errno.ENOSPC}"]
        for fault in nameless + named:
            with self.subTest(fault=fault):
                old = self.write("y", OLD)
                done = self.sort_with(fault, old)
                self.assertEqual(done.returncode, 4, done.stderr)
                self.assertIn(os.strerror(int(fault.split(",")[0].split(":")[2])), done.stderr)
                self.assertIn("/y", done.stderr)
                self.assertEqual(self.snapshot(), {"x.bin": self.keys.tobytes(), "y": OLD})

    def counted(self, *flags):
        """Returns how often the sort made each call."""
        count = self.path("count")
        done = run("sort", self.input, "-o", self.path("y"), "--type", "u32", *flags,
                   env={"LD_PRELOAD": self.library, "SPANSORT_FAULT_COUNT": count})
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(self.read("y"), self.sorted_bytes)
        with open(count, encoding="ascii") as file:
            return {name: int(number) for name, number in map(str.split, file)}

    def test_only_a_sort_that_is_told_so_leaves_the_disk_alone(self):
        self.assertEqual(self.counted()["fsync"], 2, "the file and its folder")
        unsynced = self.counted("--no-sync")
        self.assertEqual(unsynced["fsync"] + unsynced["sync_file_range"], 0)

    def test_without_sync_the_output_is_whole_or_not_there_all_the_same(self):
        for fault in (f"write:1:{errno.ENOSPC}", f"close:1:{errno.EIO}", f"linkat:1:{errno.EIO}",
                      f"renameat:1:{errno.EIO}", f"renameat:1:{errno.EIO},no-tmpfile"):
            with self.subTest(fault=fault):
                old = self.write("y", OLD)
                done = run("sort", self.input, "-o", old, "--type", "u32", "--no-sync",
                           env={"LD_PRELOAD": self.library, "SPANSORT_FAULT": fault})
                self.assertEqual(done.returncode, 4, done.stderr)
                self.assertEqual(self.snapshot(), {"x.bin": self.keys.tobytes(), "y": OLD})

    def test_directory_that_cannot_be_synced_is_reported(self):
        done = self.sort_with(f"fsync:2:{errno.EIO}", self.path("y"))
        self.assertEqual(done.returncode, 4, done.stderr)
        self.assertIn("written and in place", done.stderr)
        self.assertEqual(self.read("y"), self.sorted_bytes)

    def test_name_that_is_taken_is_not_overwritten(self):
        self.assertEqual(self.sort_with(f"linkat:1:{errno.EEXIST}", self.path("y")).returncode, 0)
        self.assertEqual(self.read("y"), self.sorted_bytes)

    def test_no_nameless_files(self):
        os.chmod(self.write("y", OLD), 0o640)
        for name, mode in (("y", 0o640), ("new", 0o666 & ~self.umask())):
            done = self.sort_with("no-tmpfile", self.path(name))
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertEqual(self.read(name), self.sorted_bytes)
            self.assertEqual(os.stat(self.path(name)).st_mode & 0o7777, mode)
        self.assertEqual(sorted(os.listdir(self.folder)), ["new", "x.bin", "y"])

    def umask(self):
        mask = os.umask(0)
        os.umask(mask)
        return mask

    def test_short_and_interrupted_reads_and_writes(self):
        self.input = self.write("x.bin", self.keys[:5003].tobytes())
        expected = np.sort(self.keys[:5003]).tobytes()
        self.assertEqual(self.sort_with("short", self.path("y")).returncode, 0)
        self.assertEqual(self.read("y"), expected)
        done = run("sort", "-", "--type", "u32", stdin=self.keys[:5003].tobytes(),
                   env={"LD_PRELOAD": self.library, "SPANSORT_FAULT": "short"})
        self.assertEqual((done.returncode, done.stdout), (0, expected))


if __name__ == "__main__":
    main()
