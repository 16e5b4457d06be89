# SPDX-License-Identifier: Apache-2.0
"""`mpirun -n 3 spansort summary --mpi` finds what `spansort summary` finds in the same file."""
import json
import os

import numpy as np

import cluster_support
from cluster_support import ClusterTest, mpirun
from support import run


class Summary(ClusterTest):
    def both(self, source, *flags, num_ranks=3):
        """The JSON of one machine and that of the cluster."""
        results = []
        for name, launch in (("one.json", run), ("all.json", lambda *a: mpirun(*a, num_ranks=num_ranks))):
            mpi = ["--mpi"] if name == "all.json" else []
            done = launch("summary", *mpi, source, "--json", self.path(name), *flags)
            self.assertEqual(done.returncode, 0, done.stderr)
            results.append(json.loads(self.read(name)))
        return results

    def check(self, source, *flags, **rest):
        one, all_of_them = self.both(source, *flags, **rest)
        # The mean of floats may be rounded otherwise; everything else is exact.
        means = [one.pop("mean"), all_of_them.pop("mean")]
        if None not in means:
            np.testing.assert_allclose(means[0], means[1], rtol=1e-12, atol=1e-12)
        self.assertEqual(one, all_of_them, f"{source} {flags}")

    def test_types_and_flags(self):
        for key_type, flags in (("i64", ["-q", "0.999,5%"]), ("f32", ["--nan", "omit"]), ("u8", ["--whis", "5,95"]),
                                ("f64", ["--method", "tukey", "--nan", "omit", "--whis", "0.5"])):
            with self.subTest(key_type=key_type, flags=flags):
                self.check(self.save("x.npy", self.keys(key_type, 20_011)), *flags)

    def test_nan_makes_all_nan(self):
        self.check(self.save("x.npy", np.array([1, np.nan, 3, 4], "<f8")))

    def test_sizes(self):
        for num_keys in (1, 2, 5):
            self.check(self.save("x.npy", self.keys("u32", num_keys)))
        self.check(self.write("x.raw", self.keys("u16", 501).tobytes()), "--type", "u16", num_ranks=2)

    def test_text_and_picture(self):
        source = self.save("x.npy", self.rng.normal(size=30_000).round(3))
        one = run("summary", source, "--plot", self.path("one.svg"))
        done = self.run_ok("summary", "--mpi", source, "--plot", self.path("all.svg"))
        # The last digits of the mean apart.
        self.assertEqual([line for line in done.stdout.splitlines() if "mean" not in line],
                         [line for line in one.stdout.decode().splitlines() if "mean" not in line])
        self.assertIn("median", done.stdout)
        self.assertEqual(self.read("all.svg"), self.read("one.svg"))

    def check_outliers(self, source, name, *flags, num_ranks=3):
        """The file's bytes, and how many keys the one machine's holds."""
        self.assert_ok("summary", source, "--outliers", self.path("one-" + name), *flags)
        self.run_ok("summary", "--mpi", source, "--outliers", self.path(name), *flags, num_ranks=num_ranks)
        self.assertEqual(self.read(name), self.read("one-" + name), f"{source} {flags}")
        self.assertEqual([name for name in os.listdir(self.folder) if name.startswith(".")], [])
        return len(self.read(name))

    def test_outliers(self):
        normal = self.rng.normal(size=30_000)
        self.assertGreater(self.check_outliers(self.save("x.npy", normal), "o.npy"), 128 + 100 * 8)
        # None on some node ranks, and none at all.
        normal.sort()
        self.check_outliers(self.save("sorted.npy", normal), "s.npy", "--whis", "2")
        self.assertEqual(self.check_outliers(self.save("x.npy", np.arange(99, dtype="<u2")), "o.raw"), 0)
        self.assertEqual(self.check_outliers(self.save("x.npy", np.array([1, np.nan, 99, 1, 1])), "n.raw"), 0)
        self.check_outliers(self.save("x.npy", self.keys("f16", 5_003)), "half.npy", "--nan", "omit", "--whis", "9,80")
        few = self.save("few.npy", np.array([7, 7, 7, 7, 9], ">i4"))
        self.assertEqual(self.check_outliers(few, "few.raw", num_ranks=7), 4)

    def test_outliers_beside_other_outputs(self):
        source = self.save("x.npy", self.rng.normal(size=3_000))
        os.symlink("real.npy", self.path("link.npy"))
        self.write("real.npy", b"the old file")
        outputs = ["--json", self.path("s.json"), "--outliers", self.path("link.npy")]
        self.run_ok("summary", "--mpi", source, *outputs)
        self.assertEqual(len(np.load(self.path("real.npy"))), len(json.loads(self.read("s.json"))["fliers"]))
        self.refused(2, ["--outliers", "is the input"], "summary", "--mpi", source, "--outliers", source)
        self.refused(2, ["--json and --outliers"], "summary", "--mpi", source, *outputs[:3], outputs[1])
        self.refused(4, ["no/o.npy"], "summary", "--mpi", source, *outputs[:3], self.path("no/o.npy"))
        self.refused(2, ["/dev/full", "stream"], "summary", "--mpi", source, *outputs[:3], "/dev/full")
        self.refused(2, ["--outliers a.npy", "--outliers b.npy"], "summary", "--mpi", source, "--outliers", "a.npy",
                     ":", "summary", "--mpi", source, "--outliers", "b.npy", num_ranks=1)

    def test_wrong_input(self):
        empty = self.save("empty.npy", np.zeros(0, "<f4"))
        numbers = self.save("x.npy", np.arange(-5, 5.0))
        self.refused(3, ["no keys"], "summary", "--mpi", empty)
        self.refused(3, ["NaN"], "summary", "--mpi", self.save("n.npy", np.array([np.nan, 1])), "--nan", "error")
        self.refused(2, ["--outliers", "stream"], "summary", "--mpi", numbers, "--outliers", "-")
        self.refused(2, ["stream"], "summary", "--mpi", "-")
        self.refused(2, ["log"], "summary", "--mpi", numbers, "--scale", "log")
        self.refused(4, ["nothing.npy"], "summary", "--mpi", self.path("nothing.npy"))
        self.refused(4, ["node rank 0: ", "no/s.json"], "summary", "--mpi", numbers, "--json", self.path("no/s.json"))
        self.refused(2, ["different arguments", "--whis 3"], "summary", "--mpi", numbers, ":", "summary", "--mpi",
                     numbers, "--whis", "3", num_ranks=1)


if __name__ == "__main__":
    cluster_support.main()
