# SPDX-License-Identifier: Apache-2.0
"""The smallest runs of the benchmark over MPI and of the estimate for large clusters, and the scripts that read them.

Environment: MPIEXEC, BENCH_MPI and BENCH_PLAN (the programs spansort_bench_mpi and spansort_bench_plan).
"""
import json
import os
import pathlib
import random
import subprocess
import sys
import tempfile
import unittest

SCRIPTS = pathlib.Path(__file__).resolve().parents[2] / "scripts"
sys.path.insert(0, str(SCRIPTS))

import bench_mpi_table  # noqa: E402
import cluster_model  # noqa: E402
import cluster_model_page  # noqa: E402
import message_simulation  # noqa: E402
import mpi_results  # noqa: E402

SMALL = ["--log2-size", "10", "--log2-part", "8", "--log2-keys", "10", "--repeats", "2"]
WITHOUT_LATENCY = message_simulation.Network(0.0, 1e9)


def bench(folder, runs=("--ranks", "1,2,3", "--figure-ranks", "3"), extra=()):
    path = pathlib.Path(folder) / "mpi.json"
    command = [sys.executable, "-B", str(SCRIPTS / "bench_mpi.py"), os.environ["BENCH_MPI"], "--json", str(path),
               *runs, "--", *SMALL, *extra]
    return subprocess.run(command, capture_output=True, text=True, timeout=250), path


class Benchmark(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.done, cls.path = bench(cls.folder.name)

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    def test_measures_all_suites_and_verifies_them(self):
        self.assertEqual(self.done.returncode, 0, self.done.stdout + self.done.stderr)
        results = mpi_results.Results(self.path)
        self.assertEqual({case["num_ranks"] for case in results.suite("figure6")}, {1, 2, 3})
        self.assertEqual({case["num_ranks"] for case in results.suite("figure5")}, {3})
        case = results.suite("figure5", "uniform")[0]
        widths = {result["radix_bits"]: result["num_passes"] for result in case["results"]
                  if result["algorithm"] == mpi_results.LSD}
        self.assertEqual(widths, {4: 16, 8: 8, 12: 6, 16: 4})
        self.assertEqual(len(results.suite("quartiles")), 2)
        for case in results.suite("figure6") + results.suite("figure7"):
            self.assertEqual([result["algorithm"] for result in case["results"]], list(mpi_results.SHORT))

    def test_rmg_and_sample_sort_send_no_more_than_must_move(self):
        for case in mpi_results.Results(self.path).cases:
            for algorithm in (mpi_results.RMG, mpi_results.SAMPLE):
                result = mpi_results.result_of(case, algorithm) or {}
                if "sent_bytes_per_pair" in result:
                    self.assertAlmostEqual(result["sent_bytes_per_pair"], result["floor_bytes_per_pair"], places=9)

    def test_the_command_names_no_place_of_this_machine(self):
        command = json.loads(self.path.read_text())["meta"]["command"]
        self.assertNotIn(self.folder.name, command)
        self.assertIn("--log2-size 10", command)

    def test_tables_show_every_case(self):
        text = bench_mpi_table.section(mpi_results.Results(self.path))
        for title in ("figure 4", "figure 5", "figure 6", "figure 7", "quartiles", "sample sort, ms"):
            self.assertIn(title, text)

    def test_files_without_sample_sort_are_read(self):
        document = json.loads(self.path.read_text())
        for case in document["cases"]:
            case["results"] = [one for one in case["results"] if one["algorithm"] != mpi_results.SAMPLE]
        path = pathlib.Path(self.folder.name) / "earlier.json"
        path.write_text(json.dumps(document))
        self.assertNotIn("sample", bench_mpi_table.section(mpi_results.Results(path)))

    def test_wrong_figures_are_refused(self):
        document = json.loads(self.path.read_text())
        corruptions = {"verified": False, "median_ms": 0.0, "floor_bytes_per_pair": 1e9, "phases_of_fastest_run": []}
        for field, value in corruptions.items():
            copy = json.loads(json.dumps(document))
            copy["cases"][0]["results"][0][field] = value
            path = pathlib.Path(self.folder.name) / "corrupted.json"
            path.write_text(json.dumps(copy))
            with self.assertRaises(SystemExit, msg=field):
                mpi_results.Results(path)

    def test_a_wrong_result_ends_with_status_8(self):
        for suite in ("figure6", "quartiles"):
            with tempfile.TemporaryDirectory() as folder:
                done, _ = bench(folder, ("--ranks", "2", "--figure-ranks", "2", "--suites", suite), ["--spoil"])
            self.assertIn("WRONG RESULT", done.stdout, suite)
            self.assertIn("status 8", done.stderr, suite)
            self.assertEqual(done.returncode, 1, suite)

    def test_the_estimate_agrees_with_the_planner(self):
        results = mpi_results.Results(self.path)
        for case in results.suite("figure6"):  # so small a sort tells no rates
            for result in case["results"]:
                names = {phase["name"] for phase in result["phases_of_fastest_run"]}
                missing = {"histogram", "partition", "local sort"} - names
                result["phases_of_fastest_run"] += [{"name": name, "mean_busy_ms": 1.0, "bytes_moved": 1000}
                                                    for name in missing]
                result["threads_of_a_rank"] = 1
        document = cluster_model.compute(results, os.environ["BENCH_PLAN"], [4, 16])
        for case in document["cases"]:
            for sizes, plan in case["plans"].items():
                what = f"{case['scaling']} {case['num_nodes']} {sizes}"
                self.assertTrue(plan["is_planned"], what)
                self.assertLess(abs(plan["expected_summed_bytes"] / plan["summed_bytes"] - 1), 0.5, what)
                self.assertGreaterEqual(plan["partitioned_times"], 1.0, what)
        self.assertIn("| 16 | as given |", cluster_model_page.tables(document, "cluster-model.json"))


class Simulation(unittest.TestCase):
    def test_two_nodes_send_at_once_in_both_directions(self):
        seconds, num_messages = message_simulation.simulate([[5, 8 << 20], [8 << 20, 5]], WITHOUT_LATENCY)
        self.assertEqual(num_messages, 2)
        self.assertAlmostEqual(seconds, (8 << 20) / 1e9)

    def test_a_receiver_of_all_is_as_slow_as_its_link(self):
        seconds, _ = message_simulation.simulate([[0, 0, 0], [10**8, 0, 0], [10**8, 0, 0]], WITHOUT_LATENCY)
        self.assertAlmostEqual(seconds, 0.2)

    def test_a_blocked_message_holds_its_sender_up(self):
        # 1 is the first to send to 2; the message of 0 waits for that, and 0's message to 3 behind it.
        matrix = [[0, 0, 8 << 20, 8 << 20], [0, 0, 8 << 20, 0], [0, 0, 0, 0], [0, 0, 0, 0]]
        free, _ = message_simulation.simulate(matrix, WITHOUT_LATENCY)
        blocking, _ = message_simulation.simulate(matrix, message_simulation.Network(0.0, 1e9, is_blocking=True))
        self.assertAlmostEqual(free, 2 * (8 << 20) / 1e9)
        self.assertAlmostEqual(blocking, 3 * (8 << 20) / 1e9)

    def test_a_taper_halves_what_leaves_a_group(self):
        bytes_from_to = [[0 if row // 2 == column // 2 else 10**8 for column in range(4)] for row in range(4)]
        full, _ = message_simulation.simulate(bytes_from_to, WITHOUT_LATENCY)
        tapered, _ = message_simulation.simulate(bytes_from_to, message_simulation.Network(0.0, 1e9, 2, 2.0))
        self.assertGreaterEqual(tapered, 0.4)
        self.assertLess(full, tapered)

    def test_latency_counts_for_every_message_of_a_window(self):
        one, _ = message_simulation.simulate([[0, 1], [0, 0]], message_simulation.Network(1.0, 1e12))
        self.assertAlmostEqual(one, 1.0, places=6)

    def test_never_faster_than_the_links_and_never_stuck(self):
        seed = random.randrange(2**32)
        print(f"seed {seed}")
        draw = random.Random(seed)
        for _ in range(20):
            num_nodes = draw.randrange(2, 9)
            matrix = [[draw.choice([0, draw.randrange(1, 40 << 20)]) for _ in range(num_nodes)]
                      for _ in range(num_nodes)]
            for node in range(num_nodes):
                matrix[node][node] = 0
            busiest = max(max(sum(row) for row in matrix), max(sum(column) for column in zip(*matrix)))
            seconds, num_messages = message_simulation.simulate(matrix, WITHOUT_LATENCY)
            blocking, _ = message_simulation.simulate(matrix, message_simulation.Network(0.0, 1e9, is_blocking=True))
            for what in (seconds, blocking):
                self.assertGreaterEqual(what * 1e9 + 1, busiest, f"seed {seed}")
            expected = sum(-(-size // message_simulation.MESSAGE_BYTES) for row in matrix for size in row)
            self.assertEqual(num_messages, expected)


if __name__ == "__main__":
    unittest.main()
