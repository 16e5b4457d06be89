# SPDX-License-Identifier: Apache-2.0
"""spansort bench on few keys: the list, the papers' cases, programs of others, the comparison of two files."""
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

BIN = os.environ["SPANSORT_BIN"]
OURS = {"auto", "single", "rmg", "out_of_core", "p2p_merge", "het_merge", "onesweep", "lsd_reduce_then_scan",
        "msd_hybrid", "satish_radix", "satish_merge", "paradis"}
OVER_MPI = {"distributed_rmg", "distributed_lsd", "distributed_sample_sort"}
BASELINES = {"gnu_parallel", "tbb", "std_par", "std_sort", "vqsort", "cub", "thrust"}
PUBLISHED = pathlib.Path(__file__).resolve().parents[2] / "bench/suites/published.json"
# Keys of raw files alone; {type} is u32 in the test.
PEER = """
import array, sys, time
keys = array.array("I", open(sys.argv[1], "rb").read())
begin = time.perf_counter()
keys = array.array("I", sorted(keys)[:len(keys) - int(sys.argv[3])])
seconds = time.perf_counter() - begin
open(sys.argv[2], "wb").write(keys.tobytes() + bytes(4 * int(sys.argv[3])))
print("sorted")
print(seconds)
"""


def run(*args, status=0):
    done = subprocess.run([BIN, "bench", *map(str, args)], capture_output=True, text=True, timeout=500)
    if done.returncode != status:
        raise AssertionError(f"status {done.returncode}, not {status}: {args}\n{done.stdout}\n{done.stderr}")
    return done.stdout + done.stderr


class SuiteTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def write(self, name, document):
        path = self.folder / name
        path.write_text(document if isinstance(document, str) else json.dumps(document))
        return path

    def papers(self, *args, status=0):
        path = self.folder / "papers.json"
        self.text = run("papers", "--json", path, *args, status=status)
        return json.loads(path.read_text())

    def check_results(self, document):
        """Every result has verified runs or a reason."""
        names = set()
        for case in document["cases"]:
            self.assertTrue(case["results"], case["figure"])
            for result in case["results"]:
                names.add(result["name"])
                if "refused" in result:
                    self.assertTrue(result["refused"])
                    continue
                self.assertTrue(result["verified"], result)
                self.assertGreater(result["median_ms"], 0)
                self.assertIn(result["median_ms"], result["runs_ms"])
        return names


class Program(SuiteTest):
    def test_list_names_everything(self):
        lines = {line.split()[0]: line for line in run("--list").splitlines() if line.strip()}
        self.assertFalse((OURS | OVER_MPI | BASELINES) - set(lines))
        self.assertIn("cpu", lines["satish_merge"])
        self.assertIn("host:4", lines["p2p_merge"])

    def test_refuses_what_is_unknown(self):
        self.assertIn("frobnicate", run("frobnicate", status=2))
        self.assertIn("--cases", run("papers", "--cases", "no-such-figure", status=2))
        run("papers", "--devices", "nowhere", status=2)
        run(status=2)

    def test_says_where_there_is_no_program(self):
        alone = self.folder / "spansort"
        shutil.copy(BIN, alone)
        done = subprocess.run([alone, "bench", "--list"], capture_output=True, text=True, timeout=60)
        self.assertEqual(done.returncode, 2)
        self.assertIn("spansort-bench", done.stderr)

    def test_hands_suites_over(self):
        # What is not installed is named; what is, takes the rest of the command line.
        folder = pathlib.Path(BIN).parent
        installed = {name: (folder / f"spansort_bench_{name}").exists() for name in ("cpu", "gpu")}
        for name, is_there in installed.items():
            text = run(name, "--help", status=0 if is_there else 2)
            self.assertIn("--repeats" if is_there else f"spansort_bench_{name}", text)


class Papers(SuiteTest):
    def test_every_figure(self):
        document = self.papers("--devices", "cpu", "--devices", "host:4", "--max-log2-size", 12, "--repeats", 2,
                               "--commit", "none", "--notes", "few keys")
        names = self.check_results(document)
        self.assertFalse((OURS - {"out_of_core"}) - names)
        self.assertFalse((BASELINES - {"cub", "thrust"}) - names)
        figures = {case["figure"] for case in document["cases"]}
        self.assertEqual({entry["figure"] for entry in json.loads(PUBLISHED.read_text())} - figures, set())
        self.assertEqual(figures, {"satish-fig3-4", "satish-fig5", "satish-fig6", "onesweep-fig9-11",
                                   "onesweep-fig9-11-entropy", "onesweep-table2", "rmg-fig5", "rmg-fig6-7",
                                   "rmg-table2", "rmg-fig8"})
        self.assertEqual(document["meta"]["notes"], "few keys")
        phases = [result for case in document["cases"] if case["figure"] == "rmg-fig6-7" for result in case["results"]]
        self.assertTrue(all(result["phases"] for result in phases))
        self.assertEqual({result["devices"] for result in phases}, {"cpu", "host:1", "host:2", "host:4"})

    def test_what_is_absent_has_a_reason(self):
        if "GPUs were not tried" not in run("--list"):
            self.skipTest("there is a GPU")
        document = self.papers("--devices", "gpu:0", "--max-log2-size", 10, "--cases", "satish-fig6", "--repeats", 1)
        refused = {r["name"] for case in document["cases"] for r in case["results"] if "refused" in r}
        self.assertIn("cub", refused)
        self.assertIn("satish_radix", refused)
        self.check_results(document)

    def test_time_that_ends(self):
        document = self.papers("--devices", "cpu", "--max-log2-size", 12, "--repeats", 1, "--seconds", "0.000001")
        self.assertTrue(document["left_out"])
        self.assertEqual({left["reason"] for left in document["left_out"]}, {"no time left"})

    def test_multi_device_suite(self):
        path = self.folder / "multi.json"
        run("multi-gpu", "--devices", "host:2", "--max-log2-size", 10, "--repeats", 1, "--json", path)
        self.assertEqual(self.check_results(json.loads(path.read_text())), {"rmg", "p2p_merge", "het_merge"})


class Peers(SuiteTest):
    def peers(self, *peers):
        start = f"{sys.executable} {self.write('peer.py', PEER)} {{input}} {{output}}"
        return self.write("peers.json", [
            {"name": name, "types": types, "command": f"{start} {last} {{type}} {{threads}}"}
            for name, types, last in peers])

    def results(self, *peers, status=0):
        document = self.papers("--devices", "cpu", "--cases", "rmg-fig5", "--max-log2-size", 10, "--repeats", 2,
                               "--peers", self.peers(*peers), status=status)
        return {result["name"]: result for result in document["cases"][0]["results"]}

    def test_right_one(self):
        result = self.results(("tiny", ["u32"], 0))["tiny"]
        self.assertTrue(result["verified"])
        self.assertEqual(len(result["runs_ms"]), 2)

    def test_wrong_one(self):
        result = self.results(("losing", ["u32"], 1), status=8)["losing"]
        self.assertFalse(result["verified"])

    def test_other_types_and_failures(self):
        found = self.results(("other", ["f64"], 0), ("failing", ["u32"], "x"))
        self.assertIn("type", found["other"]["refused"])
        self.assertIn("status 1", found["failing"]["refused"])

    def test_no_such_file(self):
        run("papers", "--cases", "rmg-fig5", "--devices", "cpu", "--max-log2-size", 4, "--peers", self.folder / "none",
            status=4)
        run("papers", "--cases", "rmg-fig5", "--devices", "cpu", "--max-log2-size", 4, "--peers",
            self.write("x", "no json"), status=3)


class Page(SuiteTest):
    def page(self, *args, status=0):
        script = pathlib.Path(__file__).resolve().parents[2] / "scripts/papers_page.py"
        done = subprocess.run([sys.executable, "-B", script, "--tables-only", "--results", self.folder, "--page",
                               self.folder / "results.md", *args], capture_output=True, text=True, timeout=60)
        self.assertEqual(done.returncode, status, done.stderr)
        return done.stderr

    def document(self):
        (self.folder / "machine").mkdir()
        path = self.folder / "machine/papers-few.json"
        run("papers", "--devices", "host:2", "--max-log2-size", 8, "--repeats", 1, "--json", path)
        return path

    def test_page_of_a_run(self):
        path = self.document()
        self.page()
        text = (self.folder / "results.md").read_text()
        self.assertIn(str(path), text)
        self.assertIn("papers-machine-few-rmg-fig8.svg", text)
        self.assertIn("DGX A100", text)  # what the paper says stands beside
        self.assertIn("onesweep, cpu: ", text)  # why it has no result
        self.page("--check")
        (self.folder / "results.md").write_text(text + "more")
        self.assertIn("run scripts/papers_page.py", self.page("--check", status=1))

    def test_wrong_results_are_refused(self):
        path = self.document()
        path.write_text(path.read_text().replace('"verified": true', '"verified": false', 1))
        self.assertIn("was wrong", self.page(status=1))


class Compare(SuiteTest):
    def document(self, **runs):
        results = [{"name": name, "devices": "cpu", "data": "host", "runs_ms": values} for name, values in runs.items()]
        results.append({"name": "refused", "devices": "cpu", "data": "host", "refused": "because"})
        return {"cases": [{"figure": "f", "type": "u32", "distribution": "uniform", "num_keys": 9, "results": results}]}

    def test_verdicts(self):
        before = self.write("a.json", self.document(
            a=[10, 11, 12], b=[10, 11, 12], c=[10, 10.1, 10.2], d=[10, 11, 12], e=[10.0, 10.01, 10.02], gone=[1]))
        after = self.write("b.json", self.document(
            a=[5, 6, 7], b=[20, 21, 22], c=[10.1, 10.2, 10.3], d=[11, 12, 13], e=[10.1, 10.11, 10.12], new=[1]))
        text = run("compare", before, after)
        verdicts = {line.split()[-3]: line[:14].strip() for line in text.splitlines()[:-1]}
        self.assertEqual(verdicts, {"a": "faster", "b": "slower", "c": "same", "d": "unclear", "e": "unclear",
                                    "gone": "only before", "new": "only after"})
        self.assertEqual(text.splitlines()[-1],
                         "1 faster, 1 slower, 1 same, 2 unclear, 1 only before, 1 only after")

    def test_what_is_no_result(self):
        run("compare", self.write("a.json", "{}"), self.write("b.json", "{}"), status=3)
        run("compare", self.folder / "none", self.folder / "none", status=4)


if __name__ == "__main__":
    unittest.main()
