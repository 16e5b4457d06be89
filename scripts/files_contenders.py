# SPDX-License-Identifier: Apache-2.0
"""Who is measured by scripts/bench_files.py: commands, their inputs and outputs, and what they say of themselves."""
import dataclasses
import json
import pathlib
import subprocess
import sys

from files_process import version_of, write_text

NUMPY = """
import os, sys, numpy
keys = numpy.fromfile(sys.argv[1], dtype="<u8")
keys.sort()
with open(sys.argv[2], "wb") as output:
    keys.tofile(output)
    output.flush()
    os.fsync(output.fileno())
"""
DUCKDB = """
import sys, duckdb
folder, memory, statement = sys.argv[1:]
connection = duckdb.connect()
connection.execute("SET threads = 2")
connection.execute("SET enable_progress_bar = false")
connection.execute(f"SET memory_limit = '{memory}'")
connection.execute(f"SET temp_directory = '{folder}'")
connection.execute(statement)
"""


@dataclasses.dataclass
class Contender:
    name: str
    command: list
    input: pathlib.Path
    output: pathlib.Path = None  # none: the run leaves nothing to check
    environment: dict = dataclasses.field(default_factory=dict)
    facts: dict = dataclasses.field(default_factory=dict)
    is_ours = False

    def details(self, _log):
        """What the run itself says of its time."""
        return {}

    def text_of_output(self, _folder):
        """The output as numbers, one a line, where it is not raw keys."""
        return None


class Spansort(Contender):
    is_ours = True

    def details(self, _log):
        report = json.loads(pathlib.Path(self.report()).read_text())
        if "-S" in self.command and report["spilled_bytes"] == 0:
            sys.exit("bench_files.py: the keys fit in the memory allowed; name less of it (--memory, --peer-memory)")
        phases = {phase["name"]: phase["elapsed_ms"] for phase in report["phases"]}
        return {"phases_ms": phases, "spilled_bytes": report["spilled_bytes"], "picked": report["picked"]}

    def report(self):
        return self.command[self.command.index("--report") + 1]


class StdSort(Contender):
    def details(self, log):
        return {"phases_ms": json.loads(pathlib.Path(log).read_text())}


class Text(Contender):
    def text_of_output(self, _folder):
        return self.output


class DuckDb(Contender):
    def text_of_output(self, folder):
        text = folder / "duckdb.txt"
        query_duckdb(self.command, f"COPY (SELECT k FROM '{self.output}') TO '{text}' (FORMAT csv, HEADER false)")
        return text


def spansort(case, arguments, memory):
    output = case.folder / "spansort.out"
    limit = ["-S", memory] if memory else []
    command = [arguments.program, "sort", str(case.keys), "--type", "u64", "-o", str(output), *limit, "-T",
               str(case.temporary), "--progress", "never", "--report", str(case.folder / "report.json")]
    return Spansort("spansort" + (f" -S {memory}" if memory else ""), command, case.keys, output)


def parts_of_a_sort(case):
    """Reading the file, and writing as much from the page cache, and nothing else."""
    copy, warm = case.folder / "copy.out", case.folder / "warm.bin"
    subprocess.run(["cp", str(case.keys), str(warm)], check=True)
    # The pages of `input` are dropped before a run, those of the file that the second one copies are not.
    return [Contender("dd, reading", ["dd", f"if={case.keys}", "of=/dev/null", "bs=4M"], case.keys),
            Contender("dd, writing", ["dd", f"if={warm}", f"of={copy}", "bs=4M", "conv=fsync"], case.keys, copy,
                      facts={"is_copy": True})]


def fits(case, arguments, skipped):
    std_sort, numpy = case.folder / "std.out", case.folder / "numpy.out"
    field = [spansort(case, arguments, None), *parts_of_a_sort(case),
             StdSort("std::sort", [arguments.std_sort, str(case.keys), str(std_sort)], case.keys, std_sort)]
    if "numpy" not in skipped:
        version = version_of([arguments.python, "-c", "import numpy; print(numpy.__version__)"])
        command = [arguments.python, "-c", NUMPY, str(case.keys), str(numpy)]
        field.append(Contender("numpy.sort", command, case.keys, numpy, facts={"version": version}))
    return field


def gnu_sort(case, arguments):
    text, output = case.folder / "keys.txt", case.folder / "gnu.txt"
    write_text(case.keys, text)
    command = ["sort", "-n", "--parallel=2", "-S", arguments.peer_memory, "-T", str(case.temporary), str(text), "-o",
               str(output)]
    return Text(f"GNU sort -n -S {arguments.peer_memory}, text", command, text, output, {"LC_ALL": "C"},
                {"version": version_of(["sort", "--version"]), "input_bytes": text.stat().st_size})


def query_duckdb(command, statement):
    """What is not measured has the memory it likes; `command` is that of the sort."""
    subprocess.run([*command[:-2], "4GB", statement], check=True)


def duckdb(case, arguments, text):
    keys, output = case.folder / "keys.parquet", case.folder / "duckdb.parquet"
    command = [arguments.python, "-c", DUCKDB, str(case.temporary), arguments.duckdb_memory,
               f"COPY (SELECT k FROM '{keys}' ORDER BY k) TO '{output}' (FORMAT parquet, COMPRESSION uncompressed)"]
    query_duckdb(command, f"COPY (SELECT k FROM read_csv('{text}', header = false, columns = {{'k': 'UBIGINT'}})) "
                 f"TO '{keys}' (FORMAT parquet, COMPRESSION uncompressed)")
    version = version_of([arguments.python, "-c", "import duckdb; print(duckdb.__version__)"])
    return DuckDb(f"DuckDB, memory_limit {arguments.duckdb_memory}, parquet", command, keys, output,
                  facts={"version": version, "input_bytes": keys.stat().st_size})


def peers(case, arguments, skipped):
    gnu = gnu_sort(case, arguments)
    field = [spansort(case, arguments, arguments.peer_memory), gnu]
    if "duckdb" not in skipped:
        field.append(duckdb(case, arguments, gnu.input))
    return field


def of_suite(suite, case, arguments, skipped):
    if suite == "larger":
        return [spansort(case, arguments, arguments.memory)]
    return fits(case, arguments, skipped) if suite == "fits" else peers(case, arguments, skipped)
