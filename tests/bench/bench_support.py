# SPDX-License-Identifier: Apache-2.0
"""spansort bench in a folder of its own, for the tests beside."""
import json
import os
import pathlib
import subprocess
import tempfile
import unittest

BIN = os.environ["SPANSORT_BIN"]


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
