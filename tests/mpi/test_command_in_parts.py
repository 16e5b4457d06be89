# SPDX-License-Identifier: Apache-2.0
"""`mpirun spansort sort --mpi` of files that the node ranks' memory does not hold: the bytes of one machine, the
ceiling of each rank, and the ends of failures. --test-world CHUNK,BLOCK,FANIN shrinks what a rank sorts at a time."""
import json
import math
import os
import re
import resource
import shutil
import subprocess
import sys
import tempfile
import unittest

import numpy as np

import cluster_support
import support
from cluster_support import BIN, ENVIRONMENT, MPIEXEC, ClusterTest, mpirun

WORLD = ("--test-world", "700,16,2")
# This is WORLD with so few elements at a time that ranges and send buffers are far shorter than a run of blocks.
NARROW = ("--test-world", "12,3,2")


class SameBytes(ClusterTest):
    def check(self, command, input_path, *flags, local=(), name="y.npy", num_ranks=3, world=WORLD):
        """`flags` for both, `local` for one machine only."""
        expected = self.path("z" + name)
        self.assert_ok(command, input_path, "-o", expected, *local)
        self.run_ok(command, "--mpi", input_path, "-o", self.path(name), *flags, *world, num_ranks=num_ranks)
        self.assertEqual(self.read(name), self.read("z" + name), f"{command} {input_path} {flags} on {num_ranks}")

    def test_types(self):
        for key_type, local, num_ranks in (("f16", [], 1), ("i8", ["-r"], 2), ("u32", ["-u"], 4),
                                           ("f64", ["-u", "-r"], 5)):
            with self.subTest(key_type=key_type, local=local):
                flags = [*local, "--verify"] if num_ranks % 2 == 0 else local
                self.check("sort", self.save("x.npy", self.keys(key_type, 6_011)), *flags, local=local,
                           num_ranks=num_ranks)

    def test_argsort(self):
        for number, (key_type, flags) in enumerate((("f32", []), ("u8", ["-u", "--verify"]),
                                                    ("f64", ["-r", "--verify"]))):
            with self.subTest(key_type=key_type, flags=flags):
                local = [flag for flag in flags if flag != "--verify"]
                self.check("argsort", self.save("x.npy", self.keys(key_type, 5_007)), *flags, local=local,
                           num_ranks=2 + number)

    def test_records(self):
        records = self.rng.integers(0, 4, (4_003, 10), "u1")
        source = self.write("x.bin", records.tobytes())
        form = ["--record", "10", "--key", "2:3,7:1:u8:r"]
        for command, flags in (("sort", ["--verify"]), ("argsort", []), ("sort", ["-u"])):
            with self.subTest(command=command, flags=flags):
                local = [flag for flag in flags if flag != "--verify"]
                self.check(command, source, *form, *flags, local=[*form, *local], name="y.bin")
        fields = np.zeros(2_001, [("a", "<f4"), ("b", "S3")])
        fields["a"] = self.rng.integers(0, 9, 2_001)
        fields["b"] = self.rng.integers(65, 90, 2_001).astype("u1").view("S1")
        self.check("sort", self.save("x.npy", fields), "--key", "b,a:r", local=["--key", "b,a:r"])

    def test_records_that_fit(self):
        form = ["--record", "3", "--key", "0:2"]
        for content in (b"", b"abc", self.rng.bytes(3_000)):
            self.check("sort", self.write("x.bin", content), *form, local=form, name="y.bin", world=())

    def test_sizes(self):
        for num_keys in (1, 2, 13, 40):
            with self.subTest(num_keys=num_keys):
                self.check("sort", self.save("x.npy", self.keys("f64", num_keys)), num_ranks=4,
                           world=("--test-world", "2,1,2"))
        form = ["--record", "4", "--key", "0:4"]
        self.check("sort", self.write("x.bin", b""), *form, "-u", local=[*form, "-u"], name="y.bin")

    def test_skew(self):
        num_keys = 1_201
        step = np.arange(num_keys, dtype="<i8")
        of_one_rank = np.full(num_keys, 2**40, "<i8")
        of_one_rank[:num_keys // 3] = self.rng.integers(0, 2**39, num_keys // 3)
        for name, keys in (("equal", np.full(num_keys, 7, "<i8")), ("sorted", step), ("reversed", step[::-1]),
                           ("two values", (step * 7919) % 2), ("folded", np.minimum(step, step[::-1])),
                           ("interleaved", (step * 1000) % num_keys), ("one rank has all that differs", of_one_rank)):
            with self.subTest(name=name):
                source = self.save("x.npy", np.ascontiguousarray(keys))
                self.check("sort", source, "--verify", num_ranks=3, world=NARROW)
                if name in ("equal", "two values", "one rank has all that differs"):
                    self.check("argsort", source, num_ranks=4, world=NARROW)
        for command in ("sort", "argsort"):
            self.check(command, source, num_ranks=3)
        self.check("sort", self.save("x.npy", np.full(num_keys, 7, "<i8")), "-u", "--verify", local=["-u"],
                   world=NARROW)

    def test_memory_that_differs(self):
        source = self.save("x.npy", self.keys("u32", 9_001))
        self.assert_ok("sort", source, "-o", self.path("z.npy"))
        sort = ["sort", "--mpi", source, "-o", self.path("y.npy"), "--verify", "--test-world"]
        self.run_ok(*sort, "2000,16,2", ":", *sort, "150,7,2", ":", *sort, "60,4,2", num_ranks=1)
        self.assertEqual(self.read("y.npy"), self.read("z.npy"))

    def test_head(self):
        num_keys = 4_009
        source = self.save("x.npy", (self.keys("u32", num_keys) % 1_500).astype("<i4"))
        records = ["--record", "4", "--key", "1:3"]
        raw = self.write("x.bin", self.rng.integers(0, 3, (num_keys, 4), "u1").tobytes())
        ways = [([], WORLD), (["-u"], WORLD), ([], ()), (["-r", "--verify"], WORLD), ([], NARROW),
                (["-u", "--verify"], ()), ([], WORLD), (["-u"], ())]
        # Nothing, within a block and a run, where the part of a node rank ends, all and more.
        for number, count in enumerate((17, 0, 1, 699, 1_337, 2_672, num_keys, 10**6)):
            flags, world = ways[number]
            with self.subTest(count=count, flags=flags, world=world):
                head = ["--head", str(count)]
                local = [*head, *(flag for flag in flags if flag != "--verify")]
                self.check("sort", source, *head, *flags, local=local, num_ranks=2 + number % 3, world=world)
        for count, world in (("40", WORLD), ("3000", ())):
            self.check("argsort", source, "--head", count, local=["--head", count], world=world)
        form = [*records, "--head", "900"]
        self.check("sort", raw, *form, local=form, name="y.bin", world=WORLD)
        self.check("sort", raw, *form[:-1], "20", "-u", local=[*form[:-1], "20", "-u"], name="y.bin", world=WORLD)

    def test_files(self):
        keys = self.keys("u32", 5_003)
        raw = self.write("x.raw", keys.tobytes())
        self.check("sort", raw, "--type", "u32", local=["--type", "u32"], name="y.raw")
        self.check("argsort", raw, "--type", "u32", local=["--type", "u32"], name="y.raw")
        self.check("sort", self.save("big_endian.npy", keys.astype(">u4")))
        same = self.save("same.npy", keys)
        self.run_ok("sort", "--mpi", same, "-o", same, *WORLD)
        self.assertEqual(np.load(same).tolist(), np.sort(keys).tolist())
        self.assertEqual(sorted(name for name in os.listdir(self.folder) if name.startswith(".")), [])


class Plan(ClusterTest):
    """--dry-run, against what the sort then says that it has done."""

    def text(self, num_bytes):
        return f"{num_bytes / 1024:.1f} KiB" if num_bytes < 1 << 20 else f"{num_bytes / (1 << 20):.1f} MiB"

    def lines(self, done):
        return dict(line.split(maxsplit=1) for line in done.stdout.splitlines())

    def test_of_parts(self):
        keys = self.keys("u64", 6_000)
        sort = ["sort", "--mpi", self.save("x.npy", keys), "-o", self.path("y.npy"), "-T", self.folder]
        before = self.snapshot()
        plan = self.lines(self.run_ok(*sort, "--dry-run", *WORLD, num_ranks=3))
        self.assertEqual(self.snapshot(), before)
        self.assertEqual(plan["input"], "6000 elements of 8 bytes, an equal share for each of 3 node ranks")
        self.run_ok(*sort, "--report", self.path("r.json"), *WORLD, num_ranks=3)
        report = json.loads(self.read("r.json"))
        num_runs = int(report["picked"].split()[0])
        of_rank_0 = f"{num_runs} of them on node rank 0 of up to 700 elements, in {self.folder}"
        self.assertEqual(plan["runs"], f"{report['num_runs']}, {of_rank_0}")
        spilled = report["spilled_bytes"]  # of node rank 0, whose share is that of each
        self.assertRegex(plan["spill"], f"^{self.text(3 * spilled)} written and read back, {self.text(spilled)} by ")
        self.assertTrue(plan["read"].startswith(f"{self.text(6_000 * 8 + 3 * spilled)} "))
        self.assertTrue(plan["sent"].startswith(f"{self.text(6_000 * 8 * 2 / 3)} "))
        self.assertAlmostEqual(report["exchanged_bytes"] / (2_000 * 8 * 2 / 3), 1, delta=0.2)
        size = os.path.getsize(self.path("y.npy"))
        self.assertTrue(plan["output"].endswith(f"y.npy, up to {self.text(size)}"), plan["output"])

    def test_of_records(self):
        records = self.rng.integers(0, 3, (6_000, 40), "u1")
        source = self.write("x.bin", records.tobytes())
        spilled_by = {}
        # What is spilled and sent of an argsort are keys with indices; whole records are read.
        for command, width, out_width, unique in (("sort", 40, 40, []), ("argsort", 11, 8, []),
                                                  ("sort", 40, 40, ["-u"])):
            with self.subTest(command=command, unique=unique):
                sort = [command, "--mpi", source, "-o", self.path("y.bin"), "--record", "40", "--key", "1:3", *unique]
                plan = self.lines(self.run_ok(*sort, "--dry-run", *WORLD))
                self.run_ok(*sort, "--report", self.path("r.json"), *WORLD)
                spilled = json.loads(self.read("r.json"))["spilled_bytes"]  # of node rank 0
                if unique:  # what is left of equal records is spilled again, as one run: in the plan, all of them
                    again = math.ceil(2_000 / 16) * 4096
                    self.assertLess(spilled, spilled_by["sort"] + again)
                    spilled = spilled_by["sort"] + again
                spilled_by[command] = spilled
                self.assertEqual(plan["input"],
                                 f"6000 elements of {width} bytes, an equal share for each of 3 node ranks")
                self.assertRegex(plan["spill"], f"^{self.text(3 * spilled)} written and read back, ")
                self.assertTrue(plan["read"].startswith(f"{self.text(6_000 * 40 + 3 * spilled)} of "), plan["read"])
                self.assertTrue(plan["sent"].startswith(f"{self.text(6_000 * width * 2 / 3)} "), plan["sent"])
                self.assertTrue(plan["output"].endswith(f"y.bin, up to {self.text(6_000 * out_width)}"), plan["output"])

    def test_of_a_head(self):
        count, num_keys = 300, 6_000
        sort = ["sort", "--mpi", self.save("x.npy", self.keys("u64", num_keys)), "-o", self.path("y.npy"), "--head",
                str(count), "-T", self.folder]
        plan = self.lines(self.run_ok(*sort, "--dry-run", *WORLD))
        self.run_ok(*sort, "--report", self.path("r.json"), *WORLD)
        report = json.loads(self.read("r.json"))
        spilled = report["spilled_bytes"]  # of node rank 0: a head of each run
        self.assertRegex(plan["spill"], f"^{self.text(3 * spilled)} written and read back, {self.text(spilled)} by ")
        self.assertTrue(plan["sent"].startswith(f"{self.text(count * 8 * 2 / 3)} "), plan["sent"])
        self.assertLess(report["exchanged_bytes"], count * 8)
        size = os.path.getsize(self.path("y.npy"))
        self.assertEqual(size, 128 + count * 8)
        self.assertTrue(plan["output"].endswith(f"y.npy, up to {self.text(size)}"), plan["output"])
        without = self.lines(self.run_ok(*sort[:-4], *sort[-2:], "--dry-run", *WORLD))
        self.assertEqual(without["runs"], plan["runs"])
        self.assertNotEqual(without["spill"], plan["spill"])
        in_memory = self.lines(self.run_ok(*sort, "--dry-run"))
        self.assertEqual(in_memory["output"], plan["output"])

    def test_of_distinct_keys_and_memory_that_differs(self):
        """The runs of a node rank with little memory are many, and of each a head is spilled; what is merged of all is
        dealt out in equal parts, and spilled again. No two keys are equal, so that what is left is known before."""
        source = self.save("x.npy", self.rng.permutation(6_000).astype("<u8"))
        for head in ([], ["--head", "10"]):
            plans, spilled = [], []
            for own, other in ((WORLD, NARROW), (NARROW, WORLD)):
                sort = ["sort", "--mpi", source, "-o", self.path("y.npy"), "-T", self.folder, "-u", *head]
                with self.subTest(head=head, own=own):
                    plans.append(self.lines(self.run_ok(*sort, "--dry-run", *own, ":", *sort, "--dry-run", *other,
                                                        num_ranks=1)))
                    sort += ["--report", self.path("r.json")]
                    self.run_ok(*sort, *own, ":", *sort, *other, num_ranks=1)
                    spilled.append(json.loads(self.read("r.json"))["spilled_bytes"])  # of node rank 0
                    self.assertIn(f" read back, {self.text(spilled[-1])} by node rank 0", plans[-1]["spill"])
            for plan in plans:
                self.assertTrue(plan["spill"].startswith(self.text(sum(spilled)) + " "), (plan["spill"], spilled))

    def test_of_what_fits(self):
        count, header = 3_000, 128
        argsort = ["argsort", "--mpi", self.save("x.npy", self.keys("u32", count)), "-o", self.path("y.npy")]
        plan = self.lines(self.run_ok(*argsort, "-S", "1M", "--dry-run", num_ranks=2))
        self.assertEqual(plan["input"], "3000 elements of 12 bytes, an equal share for each of 2 node ranks")
        self.assertEqual(plan["parts"], "one a node rank, in memory; no temporary files")
        memory = re.fullmatch(r"1\.0 MiB at most on node rank 0, about (.*) KiB will be used, \1 KiB on that which "
                              "takes the most", plan["memory"])
        self.assertTrue(memory, plan["memory"])
        # So much is enough, and less, by more than the figure is rounded by, is too little for one part.
        enough = math.ceil((float(memory[1]) + 0.05) * 1024)
        again = self.lines(self.run_ok(*argsort, "-S", str(enough), "--dry-run", num_ranks=2))
        self.assertEqual(again["parts"], plan["parts"])
        less = mpirun(*argsort, "-S", str(enough - 1024), "--dry-run", num_ranks=2)
        self.assertEqual(less.returncode, 6, less.stderr)
        self.assertIn("too few to sort it in parts", less.stderr)
        self.assertTrue(plan["read"].startswith(f"{self.text(count * 4)} of "))
        self.assertTrue(plan["sent"].startswith(f"{self.text(count * 12 / 2)} "))
        self.assertTrue(plan["output"].endswith(f"y.npy, up to {self.text(count * 8 + header)}"))
        self.run_ok(*argsort, num_ranks=2)
        self.assertEqual(os.path.getsize(self.path("y.npy")), count * 8 + header)


class SmallDisk(ClusterTest):
    def setUp(self):
        super().setUp()
        self.disk = tempfile.mkdtemp(prefix="spansort-disk-")
        self.addCleanup(shutil.rmtree, self.disk, ignore_errors=True)
        mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=200k", "none", self.disk],
                                 stderr=subprocess.PIPE, check=False)
        if mounted.returncode != 0:
            self.skipTest("a small tmpfs cannot be mounted: " + mounted.stderr.decode().strip())
        self.addCleanup(subprocess.run, ["umount", "-l", self.disk], check=True)

    def test_that_has_no_room_for_what_others_spill(self):
        """Node rank 0 spills 5 blocks of its own, and then 80 of what the many runs of node rank 1 have, too."""
        sort = ["sort", "--mpi", self.save("x.npy", self.rng.permutation(6_000).astype("<u8")), "-o",
                self.path("y.npy"), "-u", "--head", "10"]
        for flags in (["--dry-run"], []):
            with self.subTest(flags=flags):
                self.refused(4, [f"not enough space in {self.disk}: {85 * 4096} bytes are needed for temporary files"],
                             *sort, *flags, *WORLD, "-T", self.disk, ":", *sort, *flags, *NARROW, "-T", self.folder,
                             num_ranks=1)


class Ceiling(ClusterTest):
    """-S of the process, all of it."""

    @unittest.skipIf(support.IS_SMALL or support.is_sanitized(), "a sanitizer takes memory of its own")
    def test_peak_of_each_rank(self):
        num_keys, ceiling = 12_000_000, 72 << 20  # 96 MB
        keys = self.rng.integers(0, 2**63, num_keys, "<u8")
        source = self.save("x.npy", keys)
        command = [BIN, "sort", "--mpi", source, "-o", self.path("y.npy"), "-S", str(ceiling), "-T", self.folder,
                   "--verify", "--no-sync", "--type", "u64"]
        # A share of 48 MB, which is sorted in memory beside a copy, is more than the ceiling.
        done = subprocess.run([MPIEXEC, "-n", "2", sys.executable, "-I", "-S", "-c", support.PEAK_OF, *command],
                              env=ENVIRONMENT, capture_output=True, text=True, timeout=300)
        self.assertEqual(done.returncode, 0, done.stderr)
        peaks = [int(line) for line in done.stdout.split()]
        self.assertEqual(len(peaks), 2, done.stdout)
        self.assertLessEqual(max(peaks), ceiling)
        self.assertTrue(np.array_equal(np.load(self.path("y.npy")), np.sort(keys)))


class Refused(ClusterTest):
    def setUp(self):
        super().setUp()
        self.input = self.save("x.npy", self.keys("u32", 6_000_000))
        self.output = self.write("y.npy", b"the old output")
        self.sort = ["sort", "--mpi", self.input, "-o", self.output, "--test-world", "1000000,4096,2"]

    def test_usage(self):
        sort = ["sort", "--mpi", self.save("small.npy", self.keys("u32", 100)), "-o", self.output]
        self.refused(2, ["--head"], *sort, "--head", "-3")
        self.refused(2, ["node rank 1 has --head 4 where node rank 0 has --head 3"], *sort, "--head", "3", ":", *sort,
                     "--head", "4", num_ranks=1)
        self.refused(2, ["--axis", "not available over MPI"], *sort, "--axis", "0")

    def test_memory_that_is_too_little(self):
        self.refused(6, ["node rank 2: ", "too few to sort it in parts", "would do"], *self.sort[:-2], "-S", "80M", ":",
                     *self.sort[:-2], "-S", "1M", num_ranks=2)

    def test_folder_of_one_rank(self):
        done = self.refused(4, ["node rank 1: ", "no/such", "-T"], *self.sort, "-T", self.folder, ":", *self.sort, "-T",
                            self.path("no/such"), num_ranks=1)
        self.assertNotIn("node rank 0: ", done.stderr)

    def limited(self, num_bytes):
        return {"preexec_fn": lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (num_bytes, num_bytes))}

    def test_temporary_file_that_cannot_grow(self):
        self.refused(4, ["cannot write a temporary file in", "ulimit -f"], *self.sort, **self.limited(6 << 20))

    def test_part_of_the_output_that_cannot_be_written(self):
        done = self.refused(4, ["node rank 2: cannot write", "ulimit -f"], *self.sort, **self.limited(20 << 20))
        self.assertNotIn("node rank 0: ", done.stderr)


if __name__ == "__main__":
    cluster_support.main()
