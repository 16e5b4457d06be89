# SPDX-License-Identifier: Apache-2.0
"""What is made of the files of spansort bench: the page of results, the comparison of two files."""
import json
import pathlib
import subprocess
import sys
import unittest

from bench_support import BIN, SuiteTest, run


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
        self.assertIn("papers-machine-rmg-fig8.svg", text)
        self.assertIn("taken by the GPUs' count", text)
        self.assertIn("DGX A100", text)  # what the paper says stands beside
        self.assertIn("onesweep, cpu: ", text)  # why it has no result
        self.page("--check")
        (self.folder / "results.md").write_text(text + "more")
        self.assertIn("run scripts/papers_page.py", self.page("--check", status=1))

    def test_files_of_a_machine_are_taken_together(self):
        path = self.document()
        whole = json.loads(path.read_text())
        kept = [case for case in whole["cases"] if case["figure"] != "rmg-fig8"]
        gone = [case for case in whole["cases"] if case["figure"] == "rmg-fig8"]
        left = [{key: case[key] for key in ("figure", "type", "distribution", "num_keys")} | {"reason": "no time left"}
                for case in gone]
        self.page()
        text = (self.folder / "results.md").read_text()
        path.write_text(json.dumps(whole | {"cases": kept, "left_out": left}))
        (self.folder / "machine/papers-z.json").write_text(json.dumps(whole | {"cases": gone, "left_out": []}))
        self.page()
        of_both = (self.folder / "results.md").read_text()
        self.assertEqual(of_both.count("### machine"), text.count("### machine"))
        self.assertNotIn("no time left", of_both)
        self.assertIn("papers-z.json", of_both.split("## RMG sort, figure 8")[1].split("##")[1])

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

    def test_its_short_name(self):
        path = self.write("a.json", self.document(a=[10, 11, 12]))
        done = subprocess.run([BIN, "bench-compare", path, path], capture_output=True, text=True, timeout=60)
        self.assertEqual((done.returncode, done.stdout), (0, run("compare", path, path)))

    def test_what_is_no_result(self):
        good = self.write("good.json", self.document(a=[10, 11, 12]))
        for name, text in {"empty": "{}", "text": "no json", "cut": good.read_text()[:40], "list": "[]",
                           "numbers": '{"cases": [1, 2]}', "zero": json.dumps(self.document(a=[0])),
                           "words": json.dumps(self.document(a=["ten"])),
                           "other": json.dumps(self.document(b=[1]))}.items():
            path = self.write(f"{name}.json", text)
            for pair in ((path, good), (good, path)):
                self.assertIn(f"{name}.json", run("compare", *pair, status=3))
        self.assertIn("directory", run("compare", good, self.folder, status=3))
        self.assertIn("none", run("compare", good, self.folder / "none", status=4))
        self.assertIn("AFTER", run("compare", good, status=2))
        run("compare", good, good, good, status=2)

    def test_own_results_are_the_same(self):
        path = self.folder / "papers.json"
        run("papers", "--devices", "host:2", "--max-log2-size", 10, "--repeats", 1, "--only", "rmg-table2",
            "--json", path)
        self.assertEqual(run("compare", path, path).splitlines()[-1],
                         "0 faster, 0 slower, 36 same, 0 unclear, 0 only before, 0 only after")


if __name__ == "__main__":
    unittest.main()
