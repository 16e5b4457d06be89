# SPDX-License-Identifier: Apache-2.0
"""sort --values: a second file's rows go along with the keys."""
import errno
import io
import os
import shutil
import signal
import subprocess
import tempfile

import numpy as np

from support import BIN, CommandTest, IS_SMALL, VARIED_TYPES, build_faults, expected_argsort, main, random_bits, run

NUM_KEYS = 500 if IS_SMALL else 3_001
EXTERNAL = ["--test-world", "128,16,3"]
WAYS = ([], ["--verify"], EXTERNAL, [*EXTERNAL, "--verify"])


def saved(array):
    file = io.BytesIO()
    np.save(file, array)
    return file.getvalue()


class ValuesTest(CommandTest):
    def sort(self, keys, values, *flags):
        """Sorts the files `keys` and `values` into k.* and v.*, named as these are."""
        self.assert_ok("sort", keys, "--values", values, *self.outputs(keys, values), *flags)

    def outputs(self, keys, values):
        self.keys_out = self.path("k" + os.path.splitext(keys)[1])
        self.values_out = self.path("v" + os.path.splitext(values)[1])
        return ["-o", self.keys_out, "--values-out", self.values_out]

    def content(self, path):
        with open(path, "rb") as file:
            return file.read()

    def assert_outputs(self, keys, values):
        self.assertTrue(self.content(self.keys_out) == keys, "keys")
        self.assertTrue(self.content(self.values_out) == values, "values")


class Sorted(ValuesTest):
    def test_types_and_widths(self):
        for i, key_type in enumerate(VARIED_TYPES):
            bits = random_bits(key_type, NUM_KEYS, self.rng)
            width = (1, 3, 4, 8, 16, 100)[i % 6]
            rows = self.rng.integers(0, 256, (NUM_KEYS, width), dtype="u1")
            for descending in (False, True):
                order = expected_argsort(bits, key_type, descending)
                keys = self.write("keys.bin", bits.tobytes())
                values = self.write("values.bin", rows.tobytes())
                for way in WAYS:
                    with self.subTest(key_type=key_type, width=width, descending=descending, way=way):
                        self.sort(keys, values, "--type", key_type, *(["-r"] if descending else []), *way)
                        self.assert_outputs(bits[order].tobytes(), rows[order].tobytes())

    def test_npy_of_all_dtypes(self):
        keys = self.rng.integers(0, 60, NUM_KEYS).astype(">i4")
        order = np.argsort(keys, kind="stable")
        path = self.save("keys.npy", keys)
        for values in (np.arange(NUM_KEYS), self.rng.random((NUM_KEYS, 3)) * 1j, np.arange(NUM_KEYS).astype("U7"),
                       np.zeros(NUM_KEYS, [("a", "S3"), ("b", ">f8", (2,))]), np.arange(NUM_KEYS).reshape(-1, 1),
                       np.arange(4 * NUM_KEYS).astype("<M8[s]").reshape(NUM_KEYS, 2, 2), np.ones(NUM_KEYS, "?"),
                       np.zeros(NUM_KEYS, "V5")):
            for way in ([], EXTERNAL):
                with self.subTest(dtype=values.dtype, way=way):
                    self.sort(path, self.save("values.npy", values), *way)
                    self.assert_outputs(saved(keys[order]), saved(values[order]))
        self.sort(path, self.write("values.bin", values.tobytes()))
        self.assert_outputs(saved(keys[order]), values[order].tobytes())

    def test_keys_of_other_kinds(self):
        values = np.arange(NUM_KEYS)
        dates = self.rng.integers(-9, 9, NUM_KEYS).astype("<i8")
        dates[dates == 3] = np.iinfo("i8").min
        records = np.zeros(NUM_KEYS, [("a", "<i2"), ("b", "S2")])
        records["a"] = self.rng.integers(0, 9, NUM_KEYS)
        for keys in (dates.view("<M8[ns]"), dates.astype("S3"), records):
            order = np.argsort(keys, kind="stable")
            self.sort(self.save("keys.npy", keys), self.save("values.npy", values))
            self.assert_outputs(saved(keys[order]), saved(values[order]))
        order = np.argsort(-records["a"].astype(int), kind="stable")
        self.sort(self.save("keys.npy", records), self.save("values.npy", values), "--key", "a:r")
        self.assert_outputs(saved(records[order]), saved(values[order]))

    def test_unique_head_in_place_and_stream(self):
        keys = self.rng.integers(0, 60, NUM_KEYS)
        values = np.arange(NUM_KEYS)
        order = np.argsort(keys, kind="stable")
        paths = self.save("keys.npy", keys), self.save("values.npy", values)
        for way in ([], EXTERNAL):
            first = np.unique(keys, return_index=True)[1]
            self.sort(*paths, "-u", *way)
            self.assert_outputs(saved(keys[first]), saved(values[first]))
            self.sort(*paths, "--head", 9, *way)
            self.assert_outputs(saved(keys[order[:9]]), saved(values[order[:9]]))
        done = self.assert_ok("sort", paths[0], "--values", paths[1], "-o", "-", "--values-out", self.values_out)
        self.assertTrue(done.stdout == saved(keys[order]))
        self.assert_ok("sort", paths[0], "--values", paths[1], "-o", paths[0], "--values-out", paths[1])
        self.assertTrue(self.read("keys.npy") == saved(keys[order]))
        self.assertTrue(self.read("values.npy") == saved(values[order]))
        self.assertEqual({name for name in os.listdir(self.folder) if name.startswith(".")}, set())

    def test_few_keys(self):
        for count in (0, 1, 2):
            keys, values = np.arange(count)[::-1], np.arange(count)
            self.sort(self.save("keys.npy", keys), self.save("values.npy", values))
            self.assert_outputs(saved(np.sort(keys)), saved(values[::-1]))
            self.sort(self.save("keys.npy", keys), self.write("values.bin", values.tobytes()))
            self.assert_outputs(saved(np.sort(keys)), values[::-1].tobytes())

    def test_plan(self):
        keys, values = self.save("keys.npy", np.arange(9)), self.save("values.npy", np.zeros((9, 4), "<f4"))
        done = self.assert_ok("sort", keys, "--values", values, *self.outputs(keys, values), "--dry-run")
        self.assertIn(b"9 elements of 24 bytes", done.stdout)


class Refused(ValuesTest):
    def setUp(self):
        super().setUp()
        self.keys = self.save("keys.npy", np.arange(10))
        self.values = self.save("values.npy", np.arange(10))
        self.save("k.npy", np.arange(3))
        self.save("v.npy", np.arange(3))

    def refused(self, status, words, *flags, keys=None, values=None):
        keys, values = keys or self.keys, values or self.values
        self.assert_refused(status, words, "sort", keys, "--values", values, *self.outputs(keys, values), *flags)

    def test_flags(self):
        output = ["-o", self.path("k.npy")]
        self.assert_refused(2, ["--values-out"], "sort", self.keys, *output, "--values", self.values)
        self.assert_refused(2, ["--values"], "sort", self.keys, *output, "--values-out", self.path("v.npy"))
        self.assert_refused(2, ["k.npy"], "sort", self.keys, *output, "--values", self.values, "--values-out",
                            self.path("k.npy"))
        self.assert_refused(2, ["k.npy"], "sort", self.keys, *output, "--values", self.values, "--values-out",
                            self.folder + "/./k.npy")
        self.refused(2, ["--summary"], "--summary", self.path("s.json"))
        self.refused(2, ["--axis"], "--axis", "0")
        self.refused(2, ["-c"], "-c")
        raw = self.write("raw.bin", bytes(8))
        self.assert_refused(2, ["no .npy"], "sort", self.keys, *output, "--values", self.write("v.bin", bytes(10)),
                            "--values-out", self.path("v.npy"))
        self.assert_refused(2, ["--record"], "sort", raw, "--record", 2, "--key", "0:1", "-o", self.path("k.bin"),
                            "--values", self.values, "--values-out", self.path("v.npy"))

    def test_values_that_do_not_match(self):
        self.refused(3, ["values.npy", "(11,)", "10 keys"], values=self.save("values.npy", np.arange(11)))
        self.refused(3, ["values.npy", "()"], values=self.save("values.npy", np.array(3)))
        self.refused(3, ["no bytes"], values=self.save("values.npy", np.zeros((10, 0))))
        self.refused(3, ["Fortran"], values=self.save("values.npy", np.asfortranarray(np.zeros((10, 3)))))
        self.refused(3, ["values.bin", "101 bytes", "10 keys"], values=self.write("values.bin", bytes(101)))
        self.refused(3, ["values.bin", "0 bytes"], values=self.write("values.bin", b""))
        self.refused(3, ["header claims"], values=self.write("values.npy", saved(np.arange(10))[:-1]))
        objects = np.array([None] * 10)
        self.refused(3, ["values.npy", "objects"], values=self.save("values.npy", objects))

    def test_rows_that_are_too_wide(self):
        self.refused(2, ["65536", "argsort", "take"], values=self.save("values.npy", np.zeros((10, 65_530), "u1")))

    def test_streams(self):
        done = run("sort", "-", "--values", self.values, *self.outputs("x.npy", "x.npy"), stdin=self.read("keys.npy"))
        self.assertEqual(done.returncode, 2, done.stderr)
        self.assertIn("stream", done.stderr)
        done = run("sort", self.keys, "--values", "-", *self.outputs("x.npy", "x.npy"),
                   stdin=self.read("values.npy"))
        self.assertEqual(done.returncode, 3, done.stderr)
        self.assertIn("stream", done.stderr)

    def test_neither_appears_without_the_other(self):
        folder = self.path("no folder")
        for outputs in (["-o", self.path("k.npy"), "--values-out", folder + "/v.npy"],
                        ["-o", folder + "/k.npy", "--values-out", self.path("v.npy")]):
            self.assert_refused(4, ["no folder"], "sort", self.keys, "--values", self.values, *outputs)
        # The values can be written, the keys cannot.
        before = self.snapshot()
        done = run("sort", self.keys, "--values", self.values, "-o", "/dev/full", "--values-out", self.path("v.npy"))
        self.assertEqual(done.returncode, 4, done.stderr)
        self.assertEqual(self.snapshot(), before)


class FailingCalls(ValuesTest):
    """Neither output appears unless both are whole; a kill between the renames leaves new values beside old keys."""

    OLD = b"old"

    @classmethod
    def setUpClass(cls):
        folder = tempfile.mkdtemp(prefix="spansort-faults-")
        cls.addClassCleanup(shutil.rmtree, folder)
        cls.library = build_faults(folder)

    def setUp(self):
        super().setUp()
        self.keys, self.rows = self.rng.integers(0, 60, 300), np.arange(300)
        order = np.argsort(self.keys, kind="stable")
        self.new = {"k.npy": saved(self.keys[order]), "v.npy": saved(self.rows[order])}
        self.folder_of_inputs = self.path("in")
        os.mkdir(self.folder_of_inputs)
        self.save("in/keys.npy", self.keys)
        self.save("in/values.npy", self.rows)

    def sort_with(self, fault):
        for name in self.new:
            self.write(name, self.OLD)
        return run("sort", self.path("in/keys.npy"), "--values", self.path("in/values.npy"), "-o", self.path("k.npy"),
                   "--values-out", self.path("v.npy"),
                   env={"LD_PRELOAD": self.library, "SPANSORT_FAULT": fault, "SPANSORT_FAULT_IN": self.folder})

    def test_each_call_fails(self):
        calls = [f"{call}:{number}:{errno.EIO}" for call in ("write", "fsync") for number in (1, 2)]
        calls += [f"renameat:1:{errno.EIO}", f"write:2:{errno.ENOSPC}"]
        links = [f"linkat:{number}:{errno.ENOSPC}" for number in (1, 2)]
        for fault in [*calls, *links, *[f"{call},no-tmpfile" for call in calls]]:
            with self.subTest(fault=fault):
                done = self.sort_with(fault)
                self.assertEqual(done.returncode, 4, done.stderr)
                self.assertEqual(self.snapshot(), dict.fromkeys(self.new, self.OLD))

    def test_second_rename_fails(self):
        done = self.sort_with(f"renameat:2:{errno.EIO}")
        self.assertEqual(done.returncode, 4)
        self.assertIn("v.npy is new already", done.stderr)
        self.assertEqual(self.snapshot(), {"k.npy": self.OLD, "v.npy": self.new["v.npy"]})

    def test_killed_at_each_call(self):
        met = set()
        for fault in ("", ",no-tmpfile"):
            for number in range(1, 200):
                done = self.sort_with(f"kill:{number}{fault}")
                found = self.snapshot()
                is_new = tuple(found[name] == self.new[name] for name in self.new)
                for name, content in self.new.items():
                    self.assertIn(found[name], (self.OLD, content))
                met.add(is_new)
                for name in set(found) - set(self.new):
                    self.assertTrue(name.startswith(".spansort-"), name)
                    os.remove(self.path(name))
                if done.returncode == 0:
                    break
            self.assertEqual(done.returncode, 0)
        self.assertEqual(met, {(False, False), (False, True), (True, True)}, "keys are never new beside old values")

    def test_a_signal_between_the_renames_waits_for_the_second(self):
        """Only another thread than the one that renames is free to take the signal."""
        keys = self.rng.integers(0, 60, 400_000)
        rows = np.arange(len(keys))
        self.save("in/keys.npy", keys)
        self.save("in/values.npy", rows)
        order = np.argsort(keys, kind="stable")
        for signal_number in (signal.SIGTERM, signal.SIGINT):
            for name in self.new:
                self.write(name, self.OLD)
            env = os.environ | {"LD_PRELOAD": self.library, "SPANSORT_FAULT": "stop:renameat:2",
                                "SPANSORT_FAULT_IN": self.folder}
            args = ["sort", self.path("in/keys.npy"), "--values", self.path("in/values.npy"), "-o", self.path("k.npy")]
            sorting = subprocess.Popen([BIN, *args, "--values-out", self.path("v.npy")], env=env)
            _, status = os.waitpid(sorting.pid, os.WUNTRACED)
            self.assertTrue(os.WIFSTOPPED(status))
            os.kill(sorting.pid, signal_number)
            os.kill(sorting.pid, signal.SIGCONT)
            sorting.wait()
            self.assertEqual(sorting.returncode, -signal_number)
            self.assertEqual(self.snapshot(), {"k.npy": saved(keys[order]), "v.npy": saved(rows[order])})

    def test_signals_leave_no_temporary_file(self):
        for fault in ("", ",no-tmpfile"):
            for number in range(1, 200):
                done = self.sort_with(f"kill:{number}:{int(signal.SIGTERM)}{fault}")
                self.assertEqual(set(self.snapshot()), set(self.new), f"call {number}{fault}")
                if done.returncode == 0:
                    break


if __name__ == "__main__":
    main()
