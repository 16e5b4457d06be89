# SPDX-License-Identifier: Apache-2.0
"""Habits of GNU sort and of those who come from NumPy and databases: streams, flags by other names, help, types."""
import os
import subprocess

import numpy as np

from support import BIN, CommandTest, main, run

VERBS = ("sort", "argsort", "take", "check", "gen", "devices", "summary", "plan")


class Streams(CommandTest):
    def test_without_an_output_it_is_standard_output(self):
        keys = self.rng.integers(0, 1000, 500).astype("<u4")
        raw = self.write("x.bin", keys.tobytes())
        self.assertEqual(self.assert_ok("sort", raw, "--type", "u32").stdout, np.sort(keys).tobytes())
        order = np.frombuffer(self.assert_ok("argsort", raw, "--type", "u32").stdout, "<i8")
        self.assertEqual(order.tolist(), np.argsort(keys, kind="stable").tolist())
        a, b = self.save("a.npy", np.array([1, 3], "<u2")), self.save("b.npy", np.array([2, 4], "<u2"))
        with open(self.path("out.npy"), "wb") as out:
            self.assert_ok("sort", "-m", a, b, stdout=out)
        self.assertEqual(np.load(self.path("out.npy")).tolist(), [1, 2, 3, 4])

    def test_a_terminal_is_refused(self):
        path = self.save("x.npy", np.arange(10, dtype="<u4"))
        leader, follower = os.openpty()
        try:
            for verb in ("sort", "argsort"):
                self.assert_refused(2, ["terminal", "-o FILE"], verb, path, stdout=follower)
            self.assert_ok("sort", path, "--dry-run", stdout=follower)
        finally:
            os.close(leader)
            os.close(follower)


class Names(CommandTest):
    def test_threads(self):
        path = self.save("x.npy", np.arange(100, dtype="<u4")[::-1])
        for flags in (["-j", "2"], ["-j2"], ["--parallel", "2"], ["--parallel=2"], ["--threads", "2"]):
            with self.subTest(flags=flags):
                self.assert_ok("sort", path, "-o", self.path("y.npy"), *flags)
                self.assert_ok("check", self.path("y.npy"), *flags)
                self.assert_ok("summary", path, *flags)
        self.assert_refused(2, ["--threads"], "sort", path, "-o", self.path("y.npy"), "-j", "0")

    def test_check(self):
        falling = self.save("x.npy", np.array([1, 3, 2], "<u4"))
        rising = self.save("y.npy", np.array([1, 2, 3], "<u4"))
        for flag in ("-c", "--check", "--check=diagnose-first"):
            done = run("sort", flag, falling)
            self.assertEqual((done.returncode, done.stdout), (1, b""))
            self.assertEqual(done.stderr, f"spansort: {falling}:2: disorder: 2 after 3\n")
        for flag in ("-C", "--check=quiet", "--check=silent"):
            done = run("sort", flag, falling)
            self.assertEqual((done.returncode, done.stdout, done.stderr), (1, b"", ""), flag)
            self.assert_ok("sort", flag, rising)
        self.assert_refused(2, ["--check", "loud", "quiet"], "sort", "--check=loud", rising)
        self.assert_refused(2, ["-m"], "sort", "-C", "-m", rising)
        self.assert_refused(4, ["missing.npy"], "sort", "-C", self.path("missing.npy"))

    def test_empty_names_of_files(self):
        """Such are what is left of $OUT where nobody has set it."""
        path = self.save("x.npy", np.arange(3))
        for verb, flags in (("sort", ("-o", "--report", "--trace", "--summary", "--values", "--values-out")),
                            ("argsort", ("-o", "--report", "--trace")), ("take", ("-o",)), ("gen", ("-o",)),
                            ("summary", ("--json", "--plot", "--outliers"))):
            rest = {"gen": ["3", "--type", "u8"], "take": [path, "--order", path]}.get(verb, [path])
            for flag in flags:
                done = self.assert_refused(2, ["the name of a file is expected, found an empty one"], verb, *rest, flag,
                                           "")
                self.assertIn({"-o": "--output"}.get(flag, flag), done.stderr)
                self.assertEqual(done.stdout, b"")
        self.assert_refused(2, ["--output", "missing"], "sort", path, "--output=")

    def test_types(self):
        keys = self.rng.integers(0, 2**63, 100).astype("<u8")
        path = self.write("x.bin", keys.tobytes())
        for names, dtype in ((("uint32", "UINTEGER", "uinteger", "u32"), "<u4"), (("int64", "BIGINT", "i64"), "<i8"),
                             (("float64", "double", "DOUBLE", "f64"), "<f8"), (("half", "float16"), "<f2"),
                             (("uint8", "UTINYINT"), "<u1"), (("FLOAT", "REAL", "single"), "<f4")):
            for name in names:
                with self.subTest(name=name):
                    done = self.assert_ok("sort", path, "--type", name)
                    self.assertEqual(done.stdout, self.assert_ok("sort", path, "--type", names[-1]).stdout)
                    self.assert_ok("gen", "10", "--type", name, "-o", self.path("g.npy"))
                    self.assertEqual(np.load(self.path("g.npy")).dtype, np.dtype(dtype))
                    self.assert_ok("summary", self.path("g.npy"), "--type", name)
        pairs = self.write("records.bin", keys.tobytes())
        by_name = self.assert_ok("sort", pairs, "--record", "16", "--key", "0:8:BIGINT").stdout
        self.assertEqual(by_name, self.assert_ok("sort", pairs, "--record", "16", "--key", "0:8:i64").stdout)
        self.assert_ok("gen", "10", "--type", "bfloat16", "-o", self.path("b.bin"))
        for name, word in (("HUGEINT", "128 bits"), ("float", "f32 or f64"), ("<f4", "f32"), ("INT8", "i64 or i8")):
            self.assert_refused(2, ["--type", name, word, "bf16"], "sort", path, "--type", name)


# Several starters tell the process of rank 1 of 4, and that of rank 0, these.
STARTERS = {
    "Open MPI": {"OMPI_COMM_WORLD_SIZE": "4", "OMPI_COMM_WORLD_RANK": "{}"},
    "MPICH": {"PMI_SIZE": "4", "PMI_RANK": "{}"},
    "Slurm": {"SLURM_NTASKS": "4", "SLURM_STEP_NUM_TASKS": "4", "SLURM_PROCID": "{}"},
}


class ManyProcesses(CommandTest):
    def test_each_for_itself_is_refused(self):
        path, out = self.save("x.npy", np.arange(10, dtype="<u4")), self.path("y.npy")
        for starter, variables in STARTERS.items():
            first = {name: text.format(0) for name, text in variables.items()}
            other = {name: text.format(1) for name, text in variables.items()}
            for args in (["sort", path, "-o", out], ["argsort", path, "-o", out], ["summary", path]):
                with self.subTest(starter=starter, verb=args[0]):
                    self.assert_refused(2, ["4 processes", "--mpi", "--no-mpi", args[0]], *args, env=first)
                    done = run(*args, env=other)
                    self.assertEqual((done.returncode, done.stderr, done.stdout), (2, "", b""), "one message of all")
                    self.assertFalse(os.path.exists(out))
            self.assert_ok("sort", path, "-o", out, "--no-mpi", env=other)
            os.remove(out)
            for args in (["check", path], ["sort", "-c", path], ["gen", "1", "--type", "u8", "-o", "-"],
                         ["devices"], ["plan", path], ["sort", path, "--dry-run"], ["sort", "--help"]):
                self.assert_ok(*args, env=other)

    def test_one_process_and_batch_scripts(self):
        path, out = self.save("x.npy", np.arange(10, dtype="<u4")), self.path("y.npy")
        for env in ({"OMPI_COMM_WORLD_SIZE": "1", "OMPI_COMM_WORLD_RANK": "0", "PMIX_RANK": "0"},
                    {"SLURM_NTASKS": "4", "SLURM_PROCID": "0"}, {"PMI_SIZE": "one"}):
            self.assert_ok("sort", path, "-o", out, env=env)


class Help(CommandTest):
    def test_help_verb(self):
        self.assertEqual(self.assert_ok("help").stdout, self.assert_ok("--help").stdout)
        for verb in VERBS:
            self.assertEqual(self.assert_ok("help", verb).stdout, self.assert_ok(verb, "--help").stdout)
        for args in (["help", "frobnicate"], ["frobnicate", "--help"], ["frobnicate", "--version"]):
            self.assert_refused(2, ["frobnicate"], *args)

    def test_each_verb_has_its_own_example(self):
        for verb in VERBS:
            text = self.assert_ok("help", verb).stdout.decode()
            self.assertRegex(text, rf"Examples?:\n  spansort {verb}\b")
            self.assertNotIn("\n  spansort ", text.replace(f"\n  spansort {verb}", ""))
            self.assertIn("Exit status:\n  0  done\n", text)
            self.assertEqual("--mpi" in text, verb in ("sort", "argsort", "summary"), verb)
        devices = self.assert_ok("help", "devices").stdout.decode()
        for word in ("IN", "OUT", "npy", "order"):
            self.assertNotIn(word, devices)

    def test_examples_of_sort_run(self):
        """As they are printed, by a shell, in a folder with files of these names."""
        self.save("x.npy", self.rng.integers(0, 100, 50).astype("<u4"))
        self.write("keys.bin", self.rng.integers(0, 2**32, 50).astype("<u4").tobytes())
        self.save("keys.npy", self.rng.integers(0, 100, 50).astype("<i8"))
        for name in ("day1.npy", "day2.npy"):
            self.save(name, np.arange(10, dtype="<i8"))
        self.save("trades.npy", np.array([(b"B", 2.5), (b"A", 1.5), (b"B", 3.5)], [("sym", "S4"), ("price", "<f8")]))
        self.save("names.npy", self.rng.integers(0, 100, 50).astype("S2"))
        self.save("order.npy", np.array([1, 0]))
        self.save("matrix.npy", self.rng.random((5, 4)))
        for verb in ("sort", "argsort", "take", "gen", "check", "summary", "plan", "devices"):
            text = self.assert_ok("help", verb).stdout.decode()
            for line in text.split("Example")[1].split("\n\n")[0].splitlines()[1:]:
                command = line.strip().split("     ")[0]
                if "--values rows.npy" in command:  # another example writes a file of that name
                    self.save("rows.npy", self.rng.random((50, 3)))
                path = os.pathsep.join([os.path.dirname(BIN), os.environ["PATH"]])
                done = subprocess.run(command, shell=True, cwd=self.folder, env=os.environ | {"PATH": path},
                                      capture_output=True, timeout=60)
                self.assertEqual((done.returncode, done.stderr), (0, b""), command)

    def test_version(self):
        version = self.assert_ok("--version").stdout
        self.assertEqual(self.assert_ok("-V").stdout, version)
        for verb in VERBS:
            for flag in ("-V", "--version"):
                self.assertEqual(self.assert_ok(verb, flag).stdout, version)


if __name__ == "__main__":
    main()
