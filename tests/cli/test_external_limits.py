# SPDX-License-Identifier: Apache-2.0
"""Sorts through temporary files where there is too little of something: disk space, memory, descriptors, file size,
permission. They end well or with the documented status, and never at the old output's cost."""
import os
import re
import resource
import shutil
import signal
import subprocess
import unittest

from external import BIN, IS_FULL, IS_SMALL, ExternalTest, private_mounts, run, world
from support import is_sanitized, main, run_for_peak

MEBIBYTE = 1 << 20
LARGE_BYTES = (96 if IS_FULL else 16 if IS_SMALL else 64) * MEBIBYTE  # a sort in memory would take twice as much
NUM_SIZES = 64 if IS_FULL else 8 if IS_SMALL else 24
MOST_DESCRIPTORS = 64
ENOUGH_DESCRIPTORS = 7  # with one folder for temporary files, the three standard ones included; one more with two
SLACK = MEBIBYTE // 2  # what the process itself takes differs a little from run to run


@unittest.skipUnless(os.geteuid() == 0, "only the superuser mounts")
class SmallDisks(ExternalTest):
    """out/ and temp/ are file systems of their own."""

    @classmethod
    def setUpClass(cls):
        if not private_mounts():
            raise unittest.SkipTest("no private mounts here")

    def setUp(self):
        super().setUp()
        for name in ("out", "temp"):
            subprocess.run(["mount", "-t", "tmpfs", "-o", "size=16m", "none", self.path(name)], check=True)
            self.addCleanup(subprocess.run, ["umount", "-l", self.path(name)], check=True)
        self.keys(50_000)
        self.flags += world(8192, 512, 3)  # 7 runs, merged at most 3 at a time

    def remount(self, name, options):
        subprocess.run(["mount", "-o", f"remount,{options}", self.path(name)], check=True)

    def sweep(self, names, *flags):
        """Sorts with the file systems at many sizes, up to more than enough; the statuses met."""
        needed = len(self.sorted_bytes)
        most = 2 * needed + (1 << 18) if "temp" in names else needed + (1 << 16)
        statuses = []
        for size in range(8192, most, most // NUM_SIZES):
            for name in names:
                self.remount(name, f"size={size}")
            self.old_output()
            with self.subTest(names=names, size=size, flags=flags):
                done = self.sort(*flags)
                statuses.append(done.returncode)
                if done.returncode == 0:
                    self.assert_sorted(done)
                    continue
                self.assert_old(done, 4, ["bytes are needed", "are free"])
                self.assertTrue(any(self.path(name) in done.stderr for name in names), done.stderr)
                self.assertIn("-T" if self.path("temp") in done.stderr else "another place", done.stderr)
        self.assertEqual({0, 4}, set(statuses), "both outcomes were met")
        self.assertEqual(statuses[-1], 0, "twice the input is enough")

    def test_temporary_files(self):
        self.sweep(["temp"])

    def test_output(self):
        self.sweep(["out"])

    def test_both(self):
        self.sweep(["temp", "out"])

    def test_stream_whose_size_nobody_knows(self):
        """No check before the work: the disk is full in the middle of it."""
        content = self.read("in/x.bin")
        statuses = set()
        for size in (8192, 100_000, 200_000, 400_000, 600_000, 1 << 20):
            self.remount("temp", f"size={size}")
            self.old_output()
            done = run("sort", "-", "-o", self.output, *self.flags, stdin=content, timeout=30)
            statuses.add(done.returncode)
            if done.returncode == 0:
                self.assert_sorted(done)
            else:
                self.assert_old(done, 4, ["No space left", "are free", self.path("temp"), "-T"])
        self.assertEqual(statuses, {0, 4})

    def test_two_folders_of_which_one_is_full(self):
        os.mkdir(self.path("temp2"))
        self.remount("temp", "size=64k")
        self.flags += ["-T", self.path("temp2")]
        self.old_output()
        done = self.sort()
        if done.returncode != 0:
            self.assert_old(done, 4, ["bytes are needed", "are free", self.path("temp")])
        else:
            self.assert_sorted(done)

    def test_read_only(self):
        self.old_output()
        self.remount("temp", "ro")
        self.assert_old(self.sort(), 4, [self.path("temp"), "Read-only file system", "-T"])
        self.remount("temp", "rw")
        self.remount("out", "ro")
        self.assert_old(self.sort(), 4, ["out/y.bin", "Read-only file system"])

    def test_few_files(self):
        """No inode is left in the folder."""
        for name in ("temp", "out"):
            with self.subTest(name=name):
                self.old_output()
                self.remount(name, "nr_inodes=2")
                if name == "temp":
                    self.write("temp/one", b"")
                done = self.sort()
                self.remount(name, "nr_inodes=1000")
                if name == "temp":
                    os.remove(self.path("temp/one"))
                self.assert_old(done, 4, ["No space left on device", self.path(name)])


class FewDescriptors(ExternalTest):
    def sort_with(self, most):
        self.old_output()
        return self.sort(preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (most, most)))

    def test_limits(self):
        """However many runs are merged, and in passes: their blocks lie in one file a folder."""
        self.keys(3000)
        one, two = self.flags, [*self.flags, "-T", self.path("temp2")]
        os.mkdir(self.path("temp2"))
        for most in range(3, MOST_DESCRIPTORS + 1) if IS_FULL else (*range(3, 17), MOST_DESCRIPTORS):
            for flags, enough in ((one, ENOUGH_DESCRIPTORS), (two, ENOUGH_DESCRIPTORS + 1)):
                with self.subTest(most=most, flags=flags):
                    self.flags = [*flags, *world(50, 7, 3)]
                    done = self.sort_with(most)
                    if done.returncode == 127:
                        continue  # the program has not begun
                    if most >= enough:
                        self.assert_sorted(done)
                    else:
                        self.assert_old(done, 4, ["Too many open files"])


class SmallFiles(ExternalTest):
    """A limit on the size of files that a process writes (ulimit -f)."""

    def test_limits(self):
        self.keys(50_000)
        self.flags += world(8192, 512, 3)
        statuses = set()
        for most in (0, 4096, 100_000, 399_999, 400_000, 1_000_000, 4_000_000):
            with self.subTest(most=most):
                self.old_output()
                done = self.sort(preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (most, most)))
                statuses.add(done.returncode)
                if done.returncode == 0:
                    self.assert_sorted(done)
                else:
                    self.assert_old(done, 4, ["File too large", "ulimit", self.folder])
        self.assertEqual(statuses, {0, 4})


@unittest.skipUnless(os.geteuid() == 0 and shutil.which("setpriv"), "only the superuser can become somebody else")
class Permissions(ExternalTest):
    def test_folder_of_somebody_else(self):
        self.keys(1000)
        self.flags += world(100, 7, 3)
        os.chmod(self.folder, 0o755)
        os.chmod(self.path("out"), 0o777)
        os.chmod(self.path("temp"), 0o755)
        command = shutil.copy(BIN, self.path("spansort"))
        done = subprocess.run(["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", command,
                               *self.arguments()], stderr=subprocess.PIPE, text=True, timeout=30)
        self.assertEqual(done.returncode, 4, done.stderr)
        for word in ("Permission denied", self.path("temp"), "-T"):
            self.assertIn(word, done.stderr)
        self.assertEqual(os.listdir(self.path("out")) + os.listdir(self.path("temp")), [])


@unittest.skipIf(is_sanitized(), "sanitizers take memory and addresses of their own")
class MemoryTest(ExternalTest):
    def setUp(self):
        super().setUp()
        self.input = self.path("in/x.bin")
        self.flags = ["--type", "u64", "-T", self.path("temp")]
        self.generate(LARGE_BYTES)

    def generate(self, num_bytes):
        self.num_bytes = num_bytes
        self.assert_ok("gen", num_bytes // 8, "--type", "u64", "-o", self.input)

    def minimum(self):
        """Of -S, as the error says when it is less."""
        done = self.sort("-S", "1")
        self.assertEqual(done.returncode, 6, done.stderr)
        needed = re.search(r"(\d+) would do", done.stderr)
        self.assertIsNotNone(needed, done.stderr)
        return int(needed.group(1))


class Ceiling(MemoryTest):
    def peak(self, *arguments, **rest):
        done = run_for_peak(*arguments, **rest)
        self.assertEqual(done.returncode, 0, done.stderr)
        return int(done.stdout.splitlines()[-1])

    def test_peak_is_below_the_ceiling(self):
        least = self.minimum()
        self.assertLessEqual(least, 36 * MEBIBYTE, "a minimum that is of use")
        ceilings = (least + SLACK, least + 2 * MEBIBYTE, 48 * MEBIBYTE, 2 * least, 80 * MEBIBYTE)
        for number, ceiling in enumerate(ceilings):
            # At the minimum pieces are of a few kilobytes.
            self.generate(LARGE_BYTES if ceiling > least + MEBIBYTE and not IS_SMALL else 2 * MEBIBYTE)
            for flags in ([], ["--verify"]) if IS_FULL else (["--verify"],) if number % 2 == 0 else ([],):
                with self.subTest(ceiling=ceiling, flags=flags):
                    peak = self.peak(*self.arguments("-S", str(ceiling), *flags))
                    self.assertLessEqual(peak, 1.05 * ceiling)
                    self.assert_ok("check", self.output, "--type", "u64")
                    self.assertEqual(os.path.getsize(self.output), self.num_bytes)

    def test_peak_of_argsort_and_streams(self):
        with open(self.input, "rb") as file:
            least = 2 * self.minimum()
            stream = ["sort", "-", "-o", self.output, *self.flags, "-S", str(least)]
            self.assertLessEqual(self.peak(*stream, stdin=file), 1.05 * least)
        argsort = ["argsort", self.input, "-o", self.output, *self.flags, "-S", str(least)]
        self.assertLessEqual(self.peak(*argsort), 1.05 * least)

    def test_below_the_minimum(self):
        self.old_output()
        # The error says what would do in whole mebibytes and one more, and a process that has just been built or is
        # alone on its machine has more of its own pages in memory.
        least = min(self.minimum() for _ in range(3))
        for ceiling in (1, MEBIBYTE, least // 2, least - 3 * MEBIBYTE - SLACK):
            self.assert_old(self.sort("-S", str(ceiling)), 6, ["bytes of memory (-S)", "would do"], ceiling)


class Addresses(MemoryTest):
    def test_limits(self):
        """Of any size: it finishes, or says that memory is not there."""
        statuses = []
        ceiling = str(self.minimum() + 4 * MEBIBYTE)
        for megabytes in (*range(24, 320, 8 if IS_FULL else 48), 400, 600, 800, 1200, 2000, 3000):
            with self.subTest(megabytes=megabytes):
                self.old_output()
                limit = megabytes * MEBIBYTE

                def narrow():
                    resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
                # Where a build that counts lines has just enough, its pieces are of a few kilobytes.
                done = self.sort("-S", ceiling, timeout=240, preexec_fn=narrow)
                if done.returncode in (127, -signal.SIGSEGV) and run("--version", preexec_fn=narrow).returncode != 0:
                    continue  # neither the loader nor the kernel can begin the program
                statuses.append(done.returncode)
                if done.returncode == 0:
                    self.assertEqual(os.path.getsize(self.output), self.num_bytes)
                    self.assertEqual(self.left_behind(), [])
                else:
                    # Threads need addresses for their stacks.
                    is_thread = "refuses threads" in done.stderr or "no thread for" in done.stderr
                    self.assert_old(done, 5 if is_thread else 6, [] if is_thread else ["memory"])
        self.assertIn(0, statuses)


def own_group():
    """The folder of this process' memory control group; None where there is none."""
    with open("/proc/self/cgroup", encoding="ascii") as file:
        for line in file:
            _, controllers, path = line.rstrip("\n").split(":", 2)
            if "memory" in controllers.split(","):
                return "/sys/fs/cgroup/memory" + path, "memory.limit_in_bytes"
            if controllers == "" and os.path.exists(f"/sys/fs/cgroup{path}/memory.max"):
                return "/sys/fs/cgroup" + path, "memory.max"
    return None, None


class ControlGroup(MemoryTest):
    """The kernel ends what takes more; page cache counts too."""

    def setUp(self):
        super().setUp()
        parent, limit_name = own_group()
        if parent is None:
            self.skipTest("no memory control group")
        self.group = os.path.join(parent, f"spansort-test-{os.getpid()}")
        try:
            os.mkdir(self.group)
        except OSError as failure:
            self.skipTest(f"control groups are not to be changed: {failure}")
        self.addCleanup(os.rmdir, self.group)
        self.limit = os.path.join(self.group, limit_name)
        if not os.access(self.limit, os.W_OK):
            self.skipTest("memory is not limited by control groups here")

    def enter(self):
        with open(os.path.join(self.group, "cgroup.procs"), "w", encoding="ascii") as file:
            file.write(str(os.getpid()))

    def test_limits(self):
        # Writing takes long in a group this small: the kernel makes it wait for the disk.
        least = self.minimum()
        for number in range(20) if IS_FULL else (0, 2, 4):
            ceiling = least + (2 + number * number) * MEBIBYTE
            with self.subTest(ceiling=ceiling):
                with open(self.limit, "w", encoding="ascii") as file:
                    file.write(str(int(1.1 * ceiling)))
                self.old_output()
                done = self.sort("-S", str(ceiling), preexec_fn=self.enter, timeout=120)
                self.assertEqual(done.returncode, 0, done.stderr)
                self.assert_ok("check", self.output, "--type", "u64")
                self.assertEqual(os.path.getsize(self.output), self.num_bytes)

    def test_default_ceiling_keeps_to_the_group(self):
        """Without -S: a part of what the group has left."""
        with open(self.limit, "w", encoding="ascii") as file:
            file.write(str(80 * MEBIBYTE))
        self.old_output()
        done = self.sort(preexec_fn=self.enter, timeout=120)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assert_ok("check", self.output, "--type", "u64")


if __name__ == "__main__":
    main()
