# SPDX-License-Identifier: Apache-2.0
"""`mpirun -n 3 spansort sort --mpi` and argsort give the bytes of `spansort sort`; what is wrong is said once."""
import json
import os
import resource
import shutil
import subprocess

import numpy as np

import cluster_support
from cluster_support import BIN, ENVIRONMENT, ClusterTest, mpirun


class SameBytes(ClusterTest):
    def check(self, command, input_path, *flags, local=(), name="y.npy", num_ranks=3):
        """`flags` for both, `local` for one machine only."""
        expected = self.path("z" + name)
        self.assert_ok(command, input_path, "-o", expected, *local)
        self.run_ok(command, "--mpi", input_path, "-o", self.path(name), *flags, num_ranks=num_ranks)
        self.assertEqual(self.read(name), self.read("z" + name), f"{command} {input_path} {flags}")

    def test_types_and_algorithms(self):
        for key_type, flags, local in (("u8", [], []), ("i64", ["-r", "--verify"], ["-r"]),
                                       ("f16", ["--algorithm", "distributed_lsd", "--radix-bits", "5"], []),
                                       ("f32", ["-r", "--algorithm", "distributed_lsd"], ["-r"]),
                                       ("u32", ["--algorithm", "distributed_sample_sort", "--verify"], []),
                                       ("i16", ["-r", "-u", "--algorithm", "distributed_sample_sort"], ["-r", "-u"]),
                                       ("f64", ["--algorithm=distributed_rmg", "-u", "--verify"], ["-u"])):
            with self.subTest(key_type=key_type, flags=flags):
                self.check("sort", self.save("x.npy", self.keys(key_type, 20_011)), *flags, local=local)

    def test_argsort(self):
        for key_type, flags, local in (("f32", [], []), ("u16", ["-r", "--algorithm", "distributed_lsd"], ["-r"]),
                                       ("u8", ["-u", "--verify"], ["-u"]), ("f16", ["-u", "-r"], ["-u", "-r"]),
                                       ("i8", ["--algorithm", "distributed_sample_sort"], []),
                                       ("f64", ["-r", "--verify"], ["-r"])):
            with self.subTest(key_type=key_type, flags=flags):
                self.check("argsort", self.save("x.npy", self.keys(key_type, 10_007)), *flags, local=local)

    def test_sizes(self):
        for num_keys in (0, 1, 2, 4):
            with self.subTest(num_keys=num_keys):
                self.check("sort", self.save("x.npy", self.keys("f64", num_keys)))
        for num_keys in (0, 1, 2):
            self.check("argsort", self.save("x.npy", self.keys("u32", num_keys)), "-u", "--verify", local=["-u"])
        self.check("sort", self.write("x.raw", b""), "--type", "u64", local=["--type", "u64"], name="y.raw")
        self.check("sort", self.save("x.npy", self.keys("u32", 0)), "-u", local=["-u"])

    def test_other_numbers_of_ranks(self):
        for num_ranks in (1, 2, 5):
            with self.subTest(num_ranks=num_ranks):
                self.check("sort", self.save("x.npy", self.keys("u64", 9_999)), num_ranks=num_ranks)

    def test_equal_keys_over_all_ranks(self):
        same = self.save("x.npy", np.full(3_000, 7, "<i4"))
        for command in ("sort", "argsort"):
            self.check(command, same, "-u", "--verify", local=["-u"])

    def test_files(self):
        keys = self.keys("u32", 5_003)
        raw = self.write("x.raw", keys.tobytes())
        self.check("sort", raw, "--type", "u32", local=["--type", "u32"], name="y.raw")
        self.check("sort", self.save("big_endian.npy", keys.astype(">u4")))
        shutil.copy(self.path("big_endian.npy"), self.path("same.npy"))
        self.assert_ok("sort", self.path("same.npy"), "-o", self.path("expected.npy"))
        self.run_ok("sort", "--mpi", self.path("same.npy"), "-o", self.path("same.npy"))
        self.assertEqual(np.load(self.path("same.npy")).tolist(), np.sort(keys).tolist())
        self.assertEqual(sorted(name for name in os.listdir(self.folder) if name.startswith(".")), [])

    def test_mode_of_a_replaced_file_is_kept(self):
        target = self.save("x.npy", self.keys("u8", 100))
        os.chmod(target, 0o640)
        self.run_ok("sort", "--mpi", target, "-o", target)
        self.assertEqual(os.stat(target).st_mode & 0o777, 0o640)

    def test_report_and_devices_of_each_rank(self):
        source = self.save("x.npy", self.keys("i32", 8_000))
        sort = ["sort", "--mpi", source, "-o", self.path("y.npy"), "--report", self.path("r.json"), "--devices"]
        self.run_ok(*sort, "host:2", ":", *sort, "cpu", num_ranks=2)
        report = json.loads(self.read("r.json"))
        self.assertEqual((report["algorithm"], report["num_keys"]), ("distributed_rmg", 2_667), report)
        self.assertEqual([r["num_threads"] for r in report["ranks"]], [1, 1], report)


class Refused(ClusterTest):
    def setUp(self):
        super().setUp()
        self.input = self.save("x.npy", np.arange(99, dtype="<u2")[::-1])
        self.output = self.write("y.npy", b"the old output")
        self.sort = ["sort", "--mpi", self.input, "-o", self.output]

    def test_usage(self):
        self.refused(2, ["--frobnicate", "spansort sort --help"], *self.sort, "--frobnicate")
        self.refused(2, ["--trace", "not available over MPI"], *self.sort, "--trace", "t.json")
        self.refused(2, ["stream"], "sort", "--mpi", "-", "-o", self.output)
        self.refused(2, ["-o"], "argsort", "--mpi", self.input)
        self.refused(2, ["--heartbeat-timeout"], *self.sort, "--heartbeat-timeout", "0")
        self.refused(2, ["--radix-bits"], *self.sort, "--radix-bits", "17")
        self.refused(2, ["check", "--mpi goes with"], "check", "--mpi", self.input)
        self.refused(2, ["nonsense", "distributed_lsd"], *self.sort, "--algorithm", "nonsense")
        self.refused(2, ["--summary", "not available over MPI"], *self.sort, "--summary", self.path("s.json"))

    def test_input_that_all_find_wrong(self):
        self.refused(4, ["nothing.npy"], "sort", "--mpi", self.path("nothing.npy"), "-o", self.output)
        odd = self.write("x.bin", b"12345")
        self.refused(3, ["x.bin", "4"], "sort", "--mpi", odd, "-o", self.output, "--type", "u32")
        self.refused(3, ["bad.npy"], "sort", "--mpi", self.write("bad.npy", b"no header"), "-o", self.output)
        self.refused(2, ["--type"], "sort", "--mpi", self.write("x.raw", b"12345678"), "-o", self.output)

    def test_output_that_cannot_be(self):
        self.refused(4, ["no/such"], "sort", "--mpi", self.input, "-o", self.path("no/such/y.npy"))

    def test_report_that_one_rank_cannot_write(self):
        done = mpirun(*self.sort, "--report", self.path("no/report.json"))
        self.assertEqual((done.returncode, len(self.messages(done))), (4, 1), done.stderr)
        self.assertIn("node rank 0: ", done.stderr)
        self.assertIn("no/report.json", done.stderr)
        self.assertTrue(np.array_equal(np.load(self.output), np.arange(99)))

    def test_memory_of_one_rank(self):
        big = self.save("big.npy", np.zeros(100_000, "<u8"))
        done = self.refused(6, ["node rank 2: ", "bytes"], "sort", "--mpi", big, "-o", self.output, ":",
                            "sort", "--mpi", big, "-o", self.output, "-S", "1K", num_ranks=2)
        self.assertNotIn("node rank 1: ", done.stderr)

    def test_limit_on_file_size_that_one_part_exceeds(self):
        big = self.save("big.npy", self.keys("u32", 6_000_000))  # 24 MB: the third part ends beyond 20 MB
        def limit():
            resource.setrlimit(resource.RLIMIT_FSIZE, (20 << 20, 20 << 20))
        done = self.refused(4, ["node rank 2: cannot write", "ulimit -f"], "sort", "--mpi", big, "-o", self.output,
                            preexec_fn=limit)
        self.assertNotIn("node rank 0: ", done.stderr)

    def test_different_arguments(self):
        for other, words in ((["-r"], ["-r yes", "-r no"]), (["--algorithm", "distributed_lsd"], ["distributed_lsd"])):
            self.refused(2, ["different arguments", "node rank 1 has", *words], *self.sort, ":", *self.sort, *other,
                         num_ranks=1)
        self.refused(2, ["node rank 1 has", "argsort"], *self.sort, ":", "argsort", *self.sort[1:], num_ranks=1)
        self.refused(2, ["node rank 2: ", "--bogus"], *self.sort, ":", *self.sort, "--bogus", num_ranks=2)

    def test_help_is_printed_once(self):
        done = self.run_ok("sort", "--mpi", "--help")
        self.assertEqual(done.stdout.count("--heartbeat-timeout"), 1, done.stdout)
        self.assertNotIn("--test-fault", done.stdout)

    def test_without_the_program_beside_it(self):
        alone = self.path("bin")
        os.mkdir(alone)
        shutil.copy(BIN, alone)
        for rank, num_lines in (("0", 1), ("1", 0)):
            done = subprocess.run([alone + "/spansort", *self.sort], env=dict(ENVIRONMENT, OMPI_COMM_WORLD_RANK=rank),
                                  capture_output=True, text=True)
            self.assertEqual((done.returncode, len(self.messages(done))), (2, num_lines), done.stderr)
            self.assertEqual("SPANSORT_MPI=ON" in done.stderr, rank == "0")
        self.assertEqual(self.read("y.npy"), b"the old output")

    def test_the_plain_command_needs_no_mpi(self):
        libraries = subprocess.run(["ldd", BIN], capture_output=True, text=True, check=True).stdout
        self.assertNotIn("libmpi", libraries)


if __name__ == "__main__":
    cluster_support.main()
