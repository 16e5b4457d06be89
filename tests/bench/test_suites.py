# SPDX-License-Identifier: Apache-2.0
"""spansort bench on few keys: the list, the papers' cases, programs of others."""
import json
import pathlib
import shutil
import subprocess
import sys
import unittest

from bench_support import BIN, SuiteTest, run

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


class Program(SuiteTest):
    def test_list_names_everything(self):
        lines = {line.split()[0]: line for line in run("--list").splitlines() if line.strip()}
        self.assertFalse((OURS | OVER_MPI | BASELINES) - set(lines))
        self.assertIn("cpu", lines["satish_merge"])
        self.assertIn("host:4", lines["p2p_merge"])

    def test_refuses_what_is_unknown(self):
        self.assertIn("frobnicate", run("frobnicate", status=2))
        self.assertIn("--only", run("papers", "--cases", "no-such-figure", status=2))
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
        is_there = (folder / "spansort_bench_gpu").exists()
        text = run("gpu", "--help", status=0 if is_there else 2)
        self.assertIn("--repeats" if is_there else "spansort_bench_gpu", text)


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
                                   "rmg-table2", "rmg-fig8", "satish-fig8", "rmg-large-data", "rmg-data-types",
                                   "rmg-memory"})
        self.assertEqual(document["meta"]["notes"], "few keys")
        phases = [result for case in document["cases"] if case["figure"] == "rmg-fig6-7" for result in case["results"]]
        self.assertTrue(all(result["phases"] for result in phases))
        self.assertEqual({result["devices"] for result in phases}, {"cpu", "host:1", "host:2", "host:4"})
        memory = [result for case in document["cases"] if case["figure"] == "rmg-memory" for result in case["results"]]
        self.assertTrue(all(result["workspace_bytes"] > 4 << 12 for result in memory if "refused" not in result))
        types = {case["type"] for case in document["cases"] if case["figure"] == "rmg-data-types"}
        self.assertEqual(types, {"u32", "u64", "i32", "i64", "f32", "f64", "u32(u32)", "u64(u64)"})

    def test_order_in_the_file_is_the_figures(self):
        cases = self.papers("--devices", "cpu", "--max-log2-size", 12, "--repeats", 1, "--only", "satish")["cases"]
        places = [(case["figure"], case["place"]) for case in cases]
        self.assertEqual(places, sorted(places))

    def test_what_figures_share_is_measured_once(self):
        cases = self.papers("--devices", "cpu", "--max-log2-size", 10, "--repeats", 2)["cases"]
        shared = [case for case in cases if (case["type"], case["distribution"]) == ("u32(u32)", "uniform")]
        runs = {case["figure"]: {r["name"]: r.get("runs_ms") for r in case["results"] if r["devices"] == "cpu"}
                for case in shared}
        self.assertEqual(runs["satish-fig3-4"]["satish_radix"], runs["satish-fig8"]["satish_radix"])
        self.assertIn("paradis", runs["satish-fig3-4"])
        self.assertNotIn("paradis", runs["satish-fig8"])  # a figure shows whom it names

    def test_thin_before_thick(self):
        # Every figure has some sizes before any has all of them.
        titles = run("papers", "--devices", "cpu", "--max-log2-size", 31, "--dry-run").splitlines()
        figures = [title.split(":")[0].split(", ") for title in titles]
        names = {name for group in figures for name in group}
        begin = titles.index(next(title for title in titles if title.endswith("n = 1024")))  # of the second level
        self.assertEqual({name for group in figures[:begin] for name in group}, names)
        self.assertGreater(len(titles), 2 * begin)
        self.assertFalse(list(self.folder.iterdir()))

    def test_devices_of_less_memory(self):
        cases = self.papers("--devices", "host:2", "--max-log2-size", 24, "--repeats", 1, "--contender-seconds", 60,
                            "--only", "rmg-large-data")["cases"]
        last = {(r["name"], r["devices"]): r for r in cases[-1]["results"]}
        self.assertEqual(cases[-1]["device_memory_bytes"], (1 << 24) + (34 << 20))
        self.assertIn("device_memory_bytes", last["rmg", "host:1"]["refused"])
        self.assertTrue(last["out_of_core", "host:1"]["verified"])
        self.assertTrue(last["het_merge", "host:2"]["verified"])

    def test_gaps_are_filled(self):
        first = self.papers("--devices", "cpu", "--max-log2-size", 8, "--repeats", 1, "--only", "satish-fig5")
        self.assertEqual(len(first["cases"]), 4)
        before = (self.folder / "papers.json").rename(self.folder / "before.json")
        more = ["--devices", "cpu", "--max-log2-size", 8, "--repeats", 1, "--only", "satish-fig5,satish-fig6"]
        second = self.papers(*more, "--missing-from", before)
        self.assertEqual({case["figure"] for case in second["cases"]}, {"satish-fig6"})
        self.assertEqual(run("papers", *more, "--dry-run", "--missing-from",
                             f"{before},{self.folder / 'papers.json'}"), "")
        run("papers", *more, "--missing-from", self.folder / "none", status=4)
        run("papers", *more, "--missing-from", self.write("x", "[]"), status=3)

    def test_only_and_cases_are_one(self):
        of = [run("papers", "--devices", "cpu", flag, "rmg-table2", "--dry-run") for flag in ("--only", "--cases")]
        self.assertEqual(of[0], of[1])
        self.assertEqual(len(of[0].splitlines()), 6)

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
        run("papers", "--cases", "rmg-fig5", "--devices", "cpu", "--max-log2-size", 4, "--peers", self.folder, status=3)


if __name__ == "__main__":
    unittest.main()
