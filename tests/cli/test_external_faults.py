# SPDX-License-Identifier: Apache-2.0
"""Sorts through temporary files whose calls fail, whose blocks rot, whose input changes: the documented status, a
message with the place, the old output as it was and nothing left behind; never a wrong output, never a hang."""
import errno
import os
import shutil
import subprocess

import numpy as np

from external import BIN, IS_FULL, IS_SMALL, OLD, FaultTest, run, spread, world
from support import main

ERRORS = (errno.ENOSPC, errno.EIO, errno.EDQUOT)
# A failure of the others may be survived; one of these may not.
FATAL = ("read", "write", "pread", "pwrite", "fsync", "linkat", "renameat")
PLACES_A_CALL = 6 if IS_SMALL else 14


class Failures(FaultTest):
    def setUp(self):
        super().setUp()
        self.keys(300, "<u4")
        self.flags += world(60, 7, 2)

    def assert_fails(self, name, fault, code, *flags, also=""):
        """Exit 4 with a message about the place; where the call is one that can be done without, perhaps success."""
        case = f"{fault}{also}"
        self.old_output()
        done = self.sort(*flags, env=self.with_fault(fault + also))
        left = self.left_behind()
        self.remove_left()
        # What cannot be removed stays; there is a message about it.
        self.assertLessEqual(len(left), 1 if name == "unlinkat" and done.returncode == 4 else 0, f"{case}: {left}")
        if done.returncode == 0 and name not in FATAL:
            self.assert_sorted(done, case)
            return
        if "written and in place" in done.stderr:
            self.assertEqual((done.returncode, name), (4, "fsync"), case)
            self.assertTrue(self.read("out/y.bin") == self.sorted_bytes, case)
            self.assertEqual(self.left_behind(), [], case)
            return
        self.assert_old(done, 4, [os.strerror(code), self.folder], case)
        if self.path("temp") in done.stderr and code in (errno.ENOSPC, errno.EDQUOT):
            self.assertIn("-T", done.stderr, f"{case}: how temporary files go elsewhere")

    def fail_each(self, also=""):
        counts = self.count_calls(also=also)
        self.assertGreater(counts["total"], 50, counts)
        for name in counts:
            if name == "total":
                continue
            for nth in spread(counts[name], PLACES_A_CALL):
                for code in ERRORS if IS_FULL else [ERRORS[nth % len(ERRORS)]]:
                    lasting = "+" if nth % 2 else ""
                    with self.subTest(call=name, nth=nth, code=errno.errorcode[code], lasting=lasting):
                        self.assert_fails(name, f"{name}:{nth}{lasting}:{code}", code, also=also)

    def test_each_call(self):
        self.fail_each()

    def test_each_call_where_files_need_a_name(self):
        self.fail_each(",no-tmpfile")

    def test_no_call_for_the_output_can_be_done_without(self):
        self.count_calls(folders=["out"])
        for name, count in self.counts().items():
            if name not in (*FATAL, "close"):
                continue
            for nth in spread(count, PLACES_A_CALL):
                with self.subTest(call=name, nth=nth):
                    self.old_output()
                    done = self.sort(env=self.with_fault(f"{name}:{nth}:{errno.EIO}", ["out"]))
                    self.assertEqual(done.returncode, 4, done.stderr)
                    self.assertIn("out/y.bin", done.stderr)
                    self.assertEqual(self.read("out/y.bin") != OLD, "written and in place" in done.stderr)

    def test_header_whose_count_comes_last(self):
        """How many keys -u leaves is known when they have been written; the header is written once more then."""
        output = self.path("out/y.npy")
        arguments = ["sort", self.input, "-o", output, *self.flags, "-u"]
        done = run(*arguments, env=self.with_fault("count", ["out"]))
        self.assertEqual(done.returncode, 0, done.stderr)
        keys = np.unique(np.frombuffer(self.sorted_bytes, "<u4"))
        np.testing.assert_array_equal(np.load(output), keys)
        os.remove(output)
        self.assertEqual(self.counts()["pwrite"], 1)
        for fault in (f"pwrite:1:{errno.EIO}", "kill:1", f"fsync:1:{errno.ENOSPC}"):
            with self.subTest(fault=fault):
                self.assertIn(run(*arguments, env=self.with_fault(fault, ["out"])).returncode, (4, -9))
                self.assertEqual(os.listdir(self.path("out")), [])

    def test_quota_is_no_success(self):
        for name in ("pwrite", "write"):
            for code in ERRORS:
                with self.subTest(call=name, code=code):
                    if self.count_calls()[name] != 0:
                        self.assert_fails(name, f"{name}:1+:{code}", code)

    def test_open_without_the_right_or_a_descriptor(self):
        num_opens = self.count_calls()["open"]
        for code in (errno.EACCES, errno.EMFILE, errno.ENFILE, errno.EROFS):
            for nth in range(1, num_opens + 1):
                with self.subTest(nth=nth, code=errno.errorcode[code]):
                    self.assert_fails("open", f"open:{nth}+:{code}", code)

    def test_interrupted_calls_are_repeated(self):
        for name in ("pread", "pwrite", "read", "write", "open"):
            for nth in (1, 3):
                with self.subTest(call=name, nth=nth):
                    self.assert_sorted(self.sort(env=self.with_fault(f"{name}:{nth}:{errno.EINTR}")))

    def test_a_file_system_that_is_busy_is_asked_again(self):
        for name in ("pread", "pwrite"):
            for nth in (1, 3):
                with self.subTest(call=name, nth=nth):
                    fault = self.with_fault(f"{name}:{nth}:{errno.EAGAIN}", ["temp"])
                    self.assert_sorted(self.sort(env=fault))

    def test_short_transfers(self):
        for also in ("", ",no-direct", ",no-tmpfile"):
            for flags in (world(60, 7, 2), world(200, 200, 2)):
                with self.subTest(also=also, flags=flags):
                    self.flags = self.flags[:4] + flags
                    self.assert_sorted(self.sort("--verify", env=self.with_fault("short" + also)))

    def test_short_transfers_of_streams(self):
        done = run("sort", "-", *self.flags, stdin=self.read("in/x.bin"), env=self.with_fault("short"), timeout=30)
        self.assertEqual((done.returncode, done.stdout), (0, self.sorted_bytes))

    def test_no_direct_transfers_and_no_nameless_files(self):
        for fault in ("no-direct", "no-tmpfile", "no-direct,no-tmpfile"):
            with self.subTest(fault=fault):
                self.assert_sorted(self.sort("--verify", env=self.with_fault(fault)))
                self.assertEqual(os.listdir(self.path("temp")), [])

    def test_argsort(self):
        for fault in (f"pwrite:2:{errno.ENOSPC}", f"pread:3:{errno.EIO}", f"read:1:{errno.EIO}"):
            self.old_output()
            done = run("argsort", self.input, "-o", self.output, *self.flags, env=self.with_fault(fault), timeout=30)
            self.assert_old(done, 4, [self.folder], fault)

    def test_the_library_knows_all_calls_of_the_command(self):
        """What the command imports to touch files is either counted or changes nothing."""
        reader = shutil.which("nm")
        if reader is None:
            self.skipTest("no nm to list the calls")
        defined = self.symbols(reader, "--defined-only", self.library)
        used = self.symbols(reader, "--undefined-only", BIN)
        touching = {"open", "openat", "creat", "read", "readv", "pread", "preadv", "preadv2", "write", "writev",
                    "pwrite", "pwritev", "pwritev2", "ftruncate", "fallocate", "posix_fallocate", "fsync",
                    "fdatasync", "syncfs", "sync_file_range", "link", "linkat", "rename", "renameat", "renameat2",
                    "unlink", "unlinkat", "close", "mkstemp", "mkostemp", "tmpfile", "copy_file_range", "sendfile",
                    "splice", "truncate"}
        touching |= {name + "64" for name in touching} | {f"__{name}_chk" for name in touching} | {"__open_2"}
        self.assertEqual(used & touching - defined, set())

    @staticmethod
    def symbols(reader, which, path):
        lines = subprocess.run([reader, "-D", which, path], check=True, capture_output=True, text=True).stdout
        return {line.split()[-1].split("@")[0] for line in lines.splitlines() if line}


class RottenBlocks(FaultTest):
    """Temporary files that do not give back what was written."""

    def setUp(self):
        super().setUp()
        # No zeros: what was never written reads as such.
        keys = self.rng.integers(2**56, 2**64, 300, dtype=np.uint64)
        self.input = self.write("in/x.bin", keys.tobytes())
        self.sorted_bytes = np.sort(keys).tobytes()
        self.flags = ["--type", "u64", "-T", self.path("temp"), *world(60, 7, 2)]

    def assert_found(self, fault, *flags):
        self.old_output()
        done = self.sort(*flags, env=self.with_fault(fault, ["temp"]))
        self.assert_old(done, 8, ["spill block", "damaged", self.path("temp")], fault)

    def test_wrong_bit_on_the_way_back(self):
        for nth in spread(self.count_calls(folders=["temp"])["pread"], 3 * PLACES_A_CALL):
            with self.subTest(nth=nth):
                self.assert_found(f"flip:{nth}+")

    def test_wrong_bit_in_the_file(self):
        for nth in spread(self.count_calls(folders=["temp"])["pwrite"], PLACES_A_CALL):
            with self.subTest(nth=nth):
                self.assert_found(f"rot:{nth}")

    def test_write_that_never_happened(self):
        for nth in spread(self.count_calls(folders=["temp"])["pwrite"], PLACES_A_CALL):
            with self.subTest(nth=nth):
                self.assert_found(f"lose:{nth}")

    def test_every_byte_of_a_block(self):
        for byte in range(0, 7 * 8, 1 if IS_FULL else 5):
            with self.subTest(byte=byte):
                self.assert_found(f"flip:2+:{byte}")

    def test_two_folders(self):
        os.mkdir(self.path("temp2"))
        self.flags += ["-T", self.path("temp2")]
        self.old_output()
        done = self.sort(env=self.with_fault("flip:1+", ["temp2"]))
        self.assert_old(done, 8, ["spill block", self.path("temp2")])

    def test_output_stream(self):
        done = run("sort", self.input, "-o", "-", *self.flags, env=self.with_fault("flip:1+", ["temp"]))
        self.assertEqual(done.returncode, 8, done.stderr)
        self.assertTrue(self.sorted_bytes.startswith(done.stdout))


class ChangingInput(FaultTest):
    """Another process changes the input while it is read; the sort is stopped meanwhile, so that this is certain."""

    def setUp(self):
        super().setUp()
        self.keys(1000, "<u4")
        self.flags += world(200, 20, 2)
        counts = self.count_calls(folders=["in"])
        self.call = max(("read", "pread"), key=counts.get)
        self.num_reads = counts[self.call]
        self.content = self.read("in/x.bin")

    def assert_refused_after(self, change):
        for nth in spread(self.num_reads, 5):
            with self.subTest(read=nth, of=self.num_reads):
                self.write("in/x.bin", self.content)
                self.old_output()
                done = self.sort_stopped(f"stop:{self.call}:{nth}", lambda _: change(), folders=["in"])
                self.assert_old(done, 3, ["in/x.bin", "input changed while it was read"])

    def test_truncated(self):
        for size in (0, 4, 2000, 3996, 3999):
            with self.subTest(size=size):
                self.assert_refused_after(lambda: os.truncate(self.input, size))

    def test_appended(self):
        def append():
            with open(self.input, "ab") as file:
                file.write(b"more")
        self.assert_refused_after(append)

    def test_overwritten(self):
        def overwrite():
            with open(self.input, "r+b") as file:
                file.write(b"new!")
        self.assert_refused_after(overwrite)

    def test_touched(self):
        self.assert_refused_after(lambda: os.utime(self.input))

    def test_truncated_and_as_long_again(self):
        def replace():
            os.truncate(self.input, 0)
            os.truncate(self.input, len(self.content))
        self.assert_refused_after(replace)

    def test_npy(self):
        self.input = self.save("in/x.npy", np.frombuffer(self.content, "<u4"))
        self.flags = self.flags[2:]
        self.old_output()
        done = self.sort_stopped(f"stop:{self.call}:3", lambda _: os.truncate(self.input, 2000), folders=["in"])
        self.assert_old(done, 3, ["in/x.npy", "input changed while it was read"])

    def test_replaced_by_another_file_is_no_change(self):
        """What was opened is sorted, as long as it is the same file."""
        self.write("in/other", b"another file")
        done = self.sort_stopped(f"stop:{self.call}:2", lambda _: os.rename(self.path("in/other"), self.input),
                                 folders=["in"])
        self.assert_sorted(done)

    def test_removed_is_no_change(self):
        self.assert_sorted(self.sort_stopped(f"stop:{self.call}:2", lambda _: os.remove(self.input), folders=["in"]))

    def test_changed_after_it_was_read(self):
        """The merge needs the input no more."""
        num_reads = self.count_calls(folders=["temp"])["pread"]
        done = self.sort_stopped(f"stop:pread:{num_reads}", lambda _: os.truncate(self.input, 4), folders=["temp"])
        self.assert_sorted(done)


class Visible(FaultTest):
    """What others see of a sort while it runs."""

    def setUp(self):
        super().setUp()
        self.keys(1000, "<u4")
        self.flags += world(200, 20, 2)
        before = os.umask(0)
        self.addCleanup(os.umask, before)

    def test_spilled_blocks_have_no_name_and_no_permissions_for_others(self):
        def look(process):
            found = self.open_files(process, self.path("temp"))
            self.assertGreater(len(found), 0)
            for status in found:
                self.assertEqual((status.st_nlink, status.st_mode & 0o7777), (0, 0o600))
        for fault in ("stop:pwrite:3", "stop:pwrite:3,no-tmpfile"):
            with self.subTest(fault=fault):
                self.assert_sorted(self.sort_stopped(fault, look, folders=["temp"]))

    @staticmethod
    def open_files(process, folder):
        """Those that are regular and in the folder, whether they have a name or not."""
        links = [f"/proc/{process}/fd/{name}" for name in os.listdir(f"/proc/{process}/fd")]
        return [os.stat(link) for link in links
                if os.readlink(link).startswith(folder + "/") and os.path.isfile(link)]

    def test_names_are_for_the_owner_only(self):
        """Where files need a name, they have it for a moment (temporary files) or until they are done (the output)."""
        def look(_):
            for folder in ("out", "temp"):
                for name in set(os.listdir(self.path(folder))) - {"y.bin"}:
                    self.assertEqual(os.stat(self.path(f"{folder}/{name}")).st_mode & 0o7777, 0o600, name)
                    self.assertGreaterEqual(len(name), 20, "not to be guessed")
        counts = self.count_calls(also=",no-tmpfile")
        for call in ("open", "unlinkat", "pwrite", "write"):
            for nth in spread(counts[call], 4):
                with self.subTest(call=call, nth=nth):
                    self.old_output()
                    os.chmod(self.output, 0o600)
                    self.assert_sorted(self.sort_stopped(f"stop:{call}:{nth},no-tmpfile", look))


if __name__ == "__main__":
    main()
