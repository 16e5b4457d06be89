# SPDX-License-Identifier: Apache-2.0
"""spansort bench cpu on few keys: the cells, their order, options, and peers that run through all of them."""
import json
import pathlib
import subprocess
import sys
import unittest

from bench_support import SuiteTest, run

OURS = {"spansort, reused sorter", "spansort, one call"}
PACKAGED = {"gnu_parallel", "tbb", "std_par", "std_sort", "vqsort"}
TYPES = {"u8", "u16", "u32", "u64", "i32", "i64", "f16", "f32", "f64", "u32(u32)", "u64(u64)"} | {
    f"argsort({key})" for key in ("u32", "u64", "i32", "i64", "f32", "f64")}
NUMPY = pathlib.Path(__file__).resolve().parents[2] / "bench/suites/peers/numpy.json"
# Keys of u32, pairs of them, and their argsort. The last word of the command says what it does wrong.
PEER = """
import array, sys
fault = sys.argv[1]
for line in sys.stdin:
    verb, *words = line.split()
    if verb == "load":
        kind, n, arrays, path = words[0], int(words[1]), int(words[2]), words[3]
        both = array.array("I", open(path, "rb").read())
        keys = [both[i * n:(i + 1) * n] for i in range(arrays)]
        values = [both[(arrays + i) * n:(arrays + i + 1) * n] for i in range(arrays)]
        print("no time for this" if fault == "no" else "ok", flush=True)
    elif verb == "sort":
        if fault == "end":
            sys.exit(1)
        orders = [sorted(range(n), key=k.__getitem__) for k in keys]
        print("soon" if fault == "words" else "0.001 0.002", flush=True)
    elif verb == "store":
        sort = [array.array("I", (k[i] for i in o)) for k, o in zip(keys, orders)]
        if fault == "other array":
            sort[0], sort[1] = sort[1], sort[0]
        if fault == "not sorted":
            sort = keys
        if fault == "lost":
            sort[0][0] = sort[0][1]
        out = b"".join(k.tobytes() for k in sort)
        if kind == "u32(u32)":
            moved = [array.array("I", (v[i] for i in o)) for v, o in zip(values, orders)]
            if fault == "value":
                moved[0][0], moved[0][-1] = moved[0][-1], moved[0][0]
            out += b"".join(v.tobytes() for v in moved)
        if kind.startswith("argsort"):
            if fault == "index":
                orders[0][0] = orders[0][1]
            if fault == "range":
                orders[0][0] = n
            out = b"".join(array.array("Q", o).tobytes() for o in orders)
        open(words[0], "wb").write(out[4:] if fault == "short" else out)
        print("ok", flush=True)
"""


class GridTest(SuiteTest):
    def grid(self, *args, status=0):
        path = self.folder / "grid.json"
        self.text = run("cpu", "--repeats", 2, "--json", path, *args, status=status)
        return json.loads(path.read_text())

    def check_results(self, document):
        """Every result has verified runs or a reason. Returns the names."""
        results = [result for case in document["cases"] for result in case["results"]]
        for result in results:
            self.assertTrue(result["verified"] and min(result["runs_ms"]) > 0 if "runs_ms" in result
                            else result["refused"], result)
        return {result["name"] for result in results}


class Grid(GridTest):
    def test_every_type_and_distribution(self):
        document = self.grid("--log2-sizes", "9")
        names = self.check_results(document)
        self.assertFalse((OURS | PACKAGED) - names)
        self.assertEqual({case["type"] for case in document["cases"]}, TYPES)
        self.assertFalse(document["left_out"])
        for case in document["cases"]:
            self.assertEqual(case["num_keys"] * case["num_arrays"], 1 << (14 if "(" in case["type"] else 16))
            ours = [result for result in case["results"] if result["name"] in OURS]
            self.assertEqual(len(ours), 2)
            for result in ours:
                self.assertEqual(len(result["cpu_ms"]), len(result["runs_ms"]), result)
        distributions = {(case["type"], case["distribution"]) for case in document["cases"]}
        self.assertEqual(len(document["cases"]), len(distributions))
        wanted = ("uniform sorted reverse nearly-sorted sorted-tail runs:2 runs:4 bucket-sorted values:2 values:16 "
                  "values:1000 entropy:2 entropy:4 entropy:8 zipf:0.5 zipf:1 zipf:2 bits:16")
        self.assertEqual({name for kind, name in distributions if kind == "u32"}, set(wanted.split()))
        for wanted in ("normal", "uniform", "whole:entropy:4", "whole:bits:16"):
            self.assertIn(("f64", wanted), distributions)

    def test_large_ones_are_one_array(self):
        document = self.grid("--types", "u32,u32(u32),argsort(u32),f32", "--distributions", "values:16",
                             "--log2-sizes", 17)
        self.check_results(document)
        self.assertFalse(any("num_arrays" in case for case in document["cases"]))

    def test_thin_before_thick(self):
        titles = run("cpu", "--dry-run").splitlines()
        self.assertGreater(len(titles), 2000)
        first = titles[:len(titles) // 3]
        self.assertEqual({title.split(":")[0].removeprefix("grid-") for title in first}, TYPES)
        self.assertEqual({title.split()[-1] for title in titles}, {str(1 << log2) for log2 in (*range(4, 27, 2), 27)})
        small = run("cpu", "--dry-run", "--max-log2-size", 11).splitlines()
        self.assertEqual({title.split()[-1] for title in small}, {str(1 << log2) for log2 in (4, 6, 8, 10, 11)})

    def test_one_processor_and_few_contenders(self):
        document = self.grid("--threads", 1, "--types", "u32", "--distributions", "uniform", "--log2-sizes", "4",
                             "--contenders", "one call,std_")
        self.assertEqual(document["meta"]["num_threads"], 1)
        self.assertEqual(self.check_results(document), {"spansort, one call", "std_par", "std_sort"})

    def test_time_that_ends(self):
        document = self.grid("--types", "u32", "--log2-sizes", "4,6", "--seconds", "0.000001")
        self.assertEqual({left["reason"] for left in document["left_out"]}, {"no time left"})

    def test_what_is_not_known(self):
        cell = ("--log2-sizes", "4")
        run("cpu", "--threads", 100000, *cell, status=2)
        self.assertIn("x99", run("cpu", "--types", "x99", *cell, status=2))
        self.assertIn("nowhere", run("cpu", "--types", "u32", "--distributions", "nowhere", *cell, status=2))
        self.assertIn("'x'", run("cpu", "--types", "u32", "--distributions", "values:x", *cell, status=2))

    def test_runs_can_be_compared(self):
        self.grid("--types", "u32", "--distributions", "uniform", "--log2-sizes", "4")
        path = self.folder / "grid.json"
        self.assertIn("0 faster, 0 slower", run("compare", path, path))


class Peers(GridTest):
    def results(self, fault, types="u32,u32(u32),argsort(u32)", status=0):
        command = f"{sys.executable} {self.write('peer.py', PEER)} '{fault}'"
        peers = self.write("peers.json", [{"name": "tiny", "protocol": "session", "command": command,
                                           "types": ["u32", "u32(u32)", "argsort(u32)"]}])
        document = self.grid("--types", types, "--distributions", "uniform", "--log2-sizes", "10",
                             "--contenders", "tiny", "--peers", peers, status=status)
        return [case["results"][0] | {"num_arrays": case["num_arrays"]} for case in document["cases"]]

    def test_right_one(self):
        for result in self.results("none"):
            self.assertTrue(result["verified"])
            arrays = result["num_arrays"]
            # Milliseconds an array; two runs of 1 ms each are short, and repeated until they have taken 5 ms.
            self.assertEqual(result["runs_ms"], [{64: 0.01562, 16: 0.0625}[arrays]] * 5)
            self.assertEqual(result["cpu_ms"], [{64: 0.03125, 16: 0.125}[arrays]] * 5)

    def test_wrong_ones(self):
        for fault, kind in (("not sorted", "u32"), ("lost", "u32"), ("other array", "u32"), ("value", "u32(u32)"),
                            ("index", "argsort(u32)"), ("range", "argsort(u32)")):
            self.assertEqual([r["verified"] for r in self.results(fault, kind, status=8)], [False], fault)

    def test_failures_are_reasons(self):
        for fault, reason in (("end", "ended"), ("no", "time for this"), ("words", "soon"), ("short", "output")):
            for result in self.results(fault):
                self.assertIn(reason, result["refused"], fault)
        self.assertIn("type", self.results("none", "f32")[0]["refused"])

    def test_unknown_protocol(self):
        peers = self.write("peers.json", [{"name": "x", "protocol": "smoke", "command": "true", "types": []}])
        self.assertIn("smoke", run("cpu", "--peers", peers, status=3))

    def test_numpy(self):
        if subprocess.run(["python3", "-c", "import numpy"], capture_output=True).returncode != 0:
            self.skipTest("there is no NumPy")
        document = self.grid("--log2-sizes", "9", "--distributions", "values:16", "--contenders", "numpy",
                             "--peers", NUMPY)
        for case in document["cases"]:
            result = case["results"][0]
            self.assertEqual("refused" in result, case["type"].startswith("u") and case["type"].endswith(")"), result)
            self.assertTrue(result.get("verified", True))


if __name__ == "__main__":
    unittest.main()
