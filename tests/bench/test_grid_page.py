# SPDX-License-Identifier: Apache-2.0
"""The page and the heat maps that scripts/grid_page.py makes of files of spansort bench cpu, small ones made here."""
import json
import pathlib
import subprocess
import sys
import tempfile
import unittest

SCRIPTS = pathlib.Path(__file__).resolve().parents[2] / "scripts"
sys.path.insert(0, str(SCRIPTS))
import grid_plots  # noqa: E402: it lies in the folder above
import grid_results  # noqa: E402

ONE_CALL, REUSED = grid_results.OURS


def result(name, *runs_ms, cpu=1, **more):
    return {"name": name, "devices": "cpu", "data": "host", "median_ms": runs_ms[0], "verified": True,
            "runs_ms": list(runs_ms), "cpu_ms": [ms * cpu for ms in runs_ms]} | more


def case(num_keys, one_call, reused, *peers, kind="u32", distribution="uniform"):
    return {"figure": "grid-" + kind, "type": kind, "distribution": distribution, "num_keys": num_keys,
            "results": [result(ONE_CALL, one_call), result(REUSED, reused), *peers]}


def document(*cases, left_out=(), threads=2, date="2026-11-22", vectors="AVX-512"):
    meta = {"num_threads": threads, "vector_target": vectors, "vectors_forced": "",
            "devices": [{"model": "a processor"}], "date": date, "commit": "abc", "notes": "",
            "load_average_at_start": 0.5}
    return {"meta": meta, "cases": list(cases), "left_out": list(left_out)}


class PageTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        (self.folder / "results/machine").mkdir(parents=True)
        (self.folder / "plots").mkdir()

    def write(self, name, made):
        (self.folder / "results/machine" / name).write_text(json.dumps(made))

    def run_script(self, *args, status=0):
        done = subprocess.run([sys.executable, "-B", SCRIPTS / "grid_page.py", "--results", self.folder / "results",
                               "--page", self.folder / "page.md", "--plots", self.folder / "plots", *args],
                              capture_output=True, text=True, timeout=60)
        self.assertEqual(done.returncode, status, done.stderr)
        return done.stdout + done.stderr

    def row(self, *args):
        """Won, tied, lost, lost by little: in one call, then by a kept sorter."""
        line = self.run_script("--summary", *args).splitlines()[-1]
        return [int(word) for word in line.split("|")[2:-1]]

    def test_counts(self):
        self.write("cpu-grid.json", document(
            case(1 << 20, 1.0, 0.5, result("a", 1.3, 1.2), result("b", 1.25)),  # least times: 1.2, won
            case(1 << 22, 1.0, 0.9, result("a", 1.0)),                          # tied, and tied
            case(1 << 24, 1.0, 0.9, result("a", 0.9)),                          # lost, and tied
            case(64, 50e-6, 90e-6, result("a", 40e-6)),                         # lost by 10 and by 50 nanoseconds
            case(1024, 50e-6, 50e-6, result("a", 40e-6)),                       # lost: not few keys
            case(1 << 26, 1.0, 0.9)))                                           # no peer: nothing of it counts
        self.assertEqual(self.row(), [1, 1, 3, 1, 1, 2, 2, 0])

    def test_clock_of_processors(self):
        self.write("cpu-grid.json", document(case(1 << 20, 1.0, 1.0, result("a", 1.1, cpu=2))))
        self.assertEqual(self.row(), [0, 1, 0, 0, 0, 1, 0, 0])
        self.assertEqual(self.row("--clock", "cpu"), [1, 0, 0, 0, 1, 0, 0, 0])

    def test_files_of_a_run_are_taken_together(self):
        self.write("cpu-grid-a.json", document(*(case(count, 1.0, 1.0, result("a", 2.0)) for count in (16, 64))))
        self.write("cpu-grid-b.json", document(case(64, 4.0, 4.0, result("a", 2.0)), date="2026-11-23"))
        self.write("cpu-grid-one.json", document(case(64, 1.0, 1.0, result("a", 1.1)), threads=1))
        lines = self.run_script("--summary").splitlines()
        self.assertEqual(len(lines), 4)
        self.assertIn("1 thread,", lines[2])
        self.assertEqual(self.row()[:3], [1, 0, 1])

    def test_page_and_pictures(self):
        left = {"figure": "grid-u64", "type": "u64", "distribution": "sorted", "num_keys": 16,
                "reason": "no time left"}
        self.write("cpu-grid.json", document(
            case(16, 1.0, 1.0, result("a", 0.5)),
            case(1 << 24, 1.0, 1.0, result("a", 3.0), distribution="values:16"),
            case(16, 1.0, 1.0, result("a", 1.1), kind="argsort(u32)"), left_out=[left]))
        self.run_script()
        text = (self.folder / "page.md").read_text()
        self.assertIn("u32 uniform 2^4 0.50 (a)", text)
        self.assertIn("1 cells have no result: no time left", text)
        pictures = sorted(path.name for path in (self.folder / "plots").iterdir())
        run = "cpu-grid-machine-2-threads-avx-512"
        self.assertEqual(pictures, [f"{run}-argsort-u32.svg", f"{run}-u32.svg"])
        for picture in pictures:
            self.assertIn(f"(plots/{picture})", text)
        svg = (self.folder / "plots" / pictures[1]).read_text()
        self.assertIn(">0.50<", svg)
        self.assertIn("by the wall clock", svg)
        self.assertIn(">16 values<", svg)
        self.assertIn(f'fill="{grid_plots.color_of(0.5)}"', svg)
        self.run_script("--check")
        (self.folder / "plots/cpu-grid-old.svg").write_text("")
        self.assertIn("run scripts/grid_page.py", self.run_script("--check", status=1))
        self.run_script()
        self.assertFalse((self.folder / "plots/cpu-grid-old.svg").exists())
        (self.folder / "plots" / pictures[0]).write_text(svg)
        self.assertIn("run scripts/grid_page.py", self.run_script("--check", status=1))

    def test_lost_is_red(self):
        reds = {grid_plots.color_of(ratio) for ratio in (0.01, 0.3, 0.7, 0.999)}
        others = {grid_plots.color_of(ratio) for ratio in (1, 1.19, 1.2, 1.7, 3, 50)}
        self.assertFalse(reds & others)
        self.assertNotEqual(grid_plots.color_of(1.199), grid_plots.color_of(grid_results.GOAL))
        for color in reds:
            red, green, blue = (int(color[at:at + 2], 16) for at in (1, 3, 5))
            self.assertGreater(red, max(green, blue) + 60, color)

    def test_of_files_of_a_day_the_last_name_counts(self):
        self.write("cpu-grid.json", document(case(64, 1.0, 1.0, result("a", 0.5))))
        self.write("cpu-grid-again.json", document(case(64, 1.0, 1.0, result("a", 2.0))))
        self.assertEqual(self.row(), [1, 0, 0, 0, 1, 0, 0, 0])

    def test_wrong_results_of_ours_are_refused(self):
        wrong = case(16, 1.0, 1.0, result("a", 2.0))
        wrong["results"][0]["verified"] = False
        self.write("cpu-grid.json", document(wrong))
        self.assertIn("was wrong", self.run_script(status=1))

    def test_wrong_results_of_peers_do_not_count(self):
        self.write("cpu-grid.json", document(case(16, 1.0, 1.0, result("a", 0.1, verified=False), result("b", 2.0))))
        self.assertEqual(self.row(), [1, 0, 0, 0, 1, 0, 0, 0])
        self.run_script()
        self.assertIn("do not count: a u32 uniform 2^4.", (self.folder / "page.md").read_text())

    def test_nothing_to_show(self):
        self.assertIn("no cpu-grid", self.run_script(status=1))


if __name__ == "__main__":
    unittest.main()
