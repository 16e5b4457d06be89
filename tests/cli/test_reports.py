# SPDX-License-Identifier: Apache-2.0
"""--report and --trace: every phase of every kind of sort, times that agree, and what was sorted where."""
import json
import os
import socket

import numpy as np

from support import CommandTest, REPOSITORY, main, run

PARTS = ["--test-world", "5000,500,3"]
SORTED_IN_PARTS = {"read", "sort runs", "spill", "read runs", "sort ranges", "write"}


class Reports(CommandTest):
    def setUp(self):
        super().setUp()
        keys = self.rng.integers(0, 2**32, 50_000).astype("<u4")
        self.keys = self.save("x.npy", keys)
        self.raw = self.write("x.bin", keys.tobytes())
        self.rising = self.save("rising.npy", np.sort(keys))
        self.records = ["--record", "8", "--key", "0:4:u32"]

    def reported(self, *args, **rest):
        self.assert_ok(*args, "-o", self.path("y"), "--report", self.path("r.json"), "--trace", self.path("t.json"),
                       **rest)
        report, trace = json.loads(self.read("r.json")), json.loads(self.read("t.json"))
        return report, [event for event in trace["traceEvents"] if event["ph"] == "X"], trace["traceEvents"]

    def test_inputs_and_outputs_are_not_replaced(self):
        other_name = self.path("./" + os.path.basename(self.keys))
        link = self.path("link.npy")
        os.symlink(self.path("y.npy"), link)
        before = self.read("x.npy")
        out = ["-o", self.path("y.npy")]
        for args in (["sort", self.keys, *out, "--report", self.keys], ["sort", self.keys, *out, "--trace", other_name],
                     ["argsort", self.keys, *out, "--report", other_name],
                     ["sort", self.keys, *out, "--summary", self.keys],
                     ["sort", "-m", self.rising, self.rising, *out, "--report", self.rising],
                     ["sort", self.keys, *out, "--report", self.path("./y.npy")],
                     ["sort", self.keys, *out, "--report", link],
                     ["sort", self.keys, *out, "--report", self.path("r"), "--trace", self.path("./r")]):
            word = "which it would replace" if args[-1] in (self.keys, other_name, self.rising) else "is named twice"
            self.assert_refused(2, [word], *args)
        self.assertEqual(self.read("x.npy"), before)
        self.assertFalse(os.path.exists(self.path("y.npy")))

    def test_each_field_is_documented(self):
        report, _, _ = self.reported("sort", self.keys, "--devices", "host:2")
        fields = set(report)
        for nested in (report["host"], report["output"], report["ranks"][0], report["phases"][0]):
            fields |= set(nested)
        with open(os.path.join(REPOSITORY, "docs/command.md"), encoding="utf-8") as file:
            table = file.read().partition("## The report\n")[2].partition("\n[Larger")[0]
        of_ranks = {"device", "num_threads", "num_keys_in"}  # which the table has in words
        missing = [field for field in fields - of_ranks if f"`{field}`" not in table]
        self.assertEqual(missing, [])

    def test_every_kind_of_sort_has_every_phase(self):
        with open(self.raw, "rb") as file:
            content = file.read()
        for args, phases, stdin in (
                (["sort", self.keys], {"read", "local sort", "write"}, None),
                (["sort", self.keys, "-u"], {"read", "local sort", "write"}, None),
                (["sort", self.keys, "--verify", "--devices", "host:3", "--algorithm", "rmg"],
                 {"read", "histogram", "partition", "exchange", "local sort", "verify", "write"}, None),
                (["argsort", self.keys], {"read", "local sort", "write"}, None),
                (["sort", self.raw, *self.records], {"read", "sort", "write"}, None),
                (["sort", self.keys, *PARTS], SORTED_IN_PARTS, None),
                (["argsort", self.keys, *PARTS], SORTED_IN_PARTS, None),
                (["sort", self.raw, *self.records, *PARTS], SORTED_IN_PARTS, None),
                (["sort", self.keys, "--head", "10", *PARTS], {"read", "sort", "drop late", "write"}, None),
                (["sort", "-m", self.rising, self.rising], {"read runs", "sort ranges", "write"}, None),
                (["sort", "-", "--type", "u32"], {"read", "write"}, content),
                (["sort", "-", "--type", "u32", *PARTS], SORTED_IN_PARTS, content)):
            with self.subTest(args=args):
                report, events, _ = self.reported(*args, stdin=stdin)
                self.assertLessEqual(phases, {event["name"] for event in events})
                self.assertEqual({phase["name"] for phase in report["phases"]}, {event["name"] for event in events})
                self.check_times(report, events)

    def test_what_goes_on_side_by_side(self):
        """Of files from 8 MiB on: read, sorted and written by threads of their own."""
        large = self.save("large.npy", self.rng.integers(0, 2**32, 2_200_000).astype("<u4"))
        for flags in ([], ["--verify"], ["--devices", "host:2", "--algorithm", "rmg"], ["-u"]):
            for verb in ("sort", "argsort"):
                with self.subTest(verb=verb, flags=flags):
                    report, events, _ = self.reported(verb, large, *flags)
                    names = {event["name"] for event in events}
                    self.assertLessEqual({"read", "local sort", "write"}, names)
                    self.assertEqual("verify" in names, "--verify" in flags)
                    self.assertEqual(report["phases"][0]["name"], "read")
                    self.check_times(report, events)

    def check_times(self, report, events):
        """All work lies in the elapsed time, by one clock; a phase's is that from its first begin to its last end."""
        for event in events:
            self.assertGreaterEqual(event["ts"], 0)
            self.assertLessEqual((event["ts"] + event["dur"]) / 1e3, report["elapsed_ms"] + 0.001)
        self.assertEqual(events, sorted(events, key=lambda event: event["ts"]))
        for phase in report["phases"]:
            own = [event for event in events if event["name"] == phase["name"]]
            self.assertAlmostEqual(phase["busy_ms"], sum(event["dur"] for event in own) / 1e3, places=3)
            self.assertEqual(phase["num_activities"], len(own))
            self.assertLessEqual(phase["elapsed_ms"], report["elapsed_ms"])
            self.assertGreater(phase["elapsed_ms"], 0)
        first_read = min(event["ts"] for event in events if event["name"].startswith("read"))
        last_write = max(event["ts"] + event["dur"] for event in events if event["name"] == "write")
        for event in events:
            self.assertGreaterEqual(event["ts"], first_read)
            self.assertLessEqual(event["ts"] + event["dur"], last_write)

    def test_rows_have_names(self):
        for args in (["sort", self.keys, "--devices", "host:2", "--algorithm", "rmg"], ["sort", self.keys, *PARTS]):
            _, events, everything = self.reported(*args)
            names = {event["tid"]: event["args"]["name"] for event in everything if event["name"] == "thread_name"}
            for event in events:
                row = names[event["tid"]]
                if event["name"] in ("read", "read runs"):
                    self.assertEqual(row, "files: read")
                elif event["name"] in ("write", "spill"):
                    self.assertEqual(row, "files: write")
                else:
                    self.assertIn(row, ("files: sort", "rank 0 (host:0)", "rank 1 (host:1)"))

    def test_fields(self):
        report, _, _ = self.reported("sort", self.keys, "-u", "--verify")
        version = self.assert_ok("--version").stdout.decode().split()[1]
        described = json.loads(self.assert_ok("devices", "--json").stdout)
        self.assertEqual(report["spansort"], version)
        self.assertEqual(report["host"]["name"], socket.gethostname())
        self.assertEqual(report["host"]["num_processors"], described["num_processors"])
        self.assertEqual(report["inputs"], [{"path": self.keys, "size_bytes": 200_128}])
        self.assertEqual(report["output"], {"path": self.path("y"), "size_bytes": os.path.getsize(self.path("y"))})
        self.assertEqual(report["num_keys_out"], len(np.unique(np.load(self.keys))))
        self.assertEqual((report["verified"], report["num_runs"], report["record_bytes"]), (True, 0, 0))
        self.assertGreater(report["peak_memory_bytes"], 1 << 20)
        for field in ("operation", "algorithm", "picked", "ranks", "phases", "elapsed_ms"):
            self.assertIn(field, report)

    def test_files_of_other_kinds(self):
        report, _, _ = self.reported("sort", "-m", self.rising, self.keys.replace("x.npy", "rising.npy"))
        self.assertEqual([file["path"] for file in report["inputs"]], [self.rising] * 2)
        with open(self.raw, "rb") as file:
            report, _, _ = self.reported("sort", "-", "--type", "u32", stdin=file.read())
        self.assertEqual(report["inputs"], [{"path": "-", "size_bytes": None}])
        report, _, _ = self.reported("sort", self.raw, *self.records, *PARTS)
        self.assertEqual((report["record_bytes"], report["num_runs"]), (8, 5))
        os.rename(self.keys, self.path("odd-\udcff.npy"))
        report, _, _ = self.reported("sort", self.path("odd-\udcff.npy"))
        self.assertIn("odd-", report["inputs"][0]["path"])

    def test_the_line_at_the_end_tells_the_same_time(self):
        done = run("sort", self.keys, "-o", self.path("y"), "--report", self.path("r.json"), "--progress", "always")
        elapsed_ms = json.loads(self.read("r.json"))["elapsed_ms"]
        self.assertIn(f" in {elapsed_ms / 1e3:.3f} s, ", done.stderr)


if __name__ == "__main__":
    main()
