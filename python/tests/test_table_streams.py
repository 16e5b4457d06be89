# SPDX-License-Identifier: Apache-2.0
"""Tables sorted in less memory than they take: rows, the ceiling itself, and what is left behind."""

from __future__ import annotations

import os
import pathlib
import signal
import subprocess
import sys
import textwrap
from typing import Any

import numpy as np
import pytest
import spansort
from conftest import SEED
from test_tables import assert_rows, cut, random_by, random_table

pa = pytest.importorskip("pyarrow")

LITTLE = 64 << 10
NAMES = ["i8", "u64", "f64", "f32", "bool", "text", "large", "binary", "date", "time", "decimal"]


def num_open_files() -> int:
    return len(os.listdir("/proc/self/fd"))


@pytest.mark.parametrize("rows", [0, 1, 100, 2049, 6000])
def test_pyarrow(rows: int) -> None:
    rng = np.random.default_rng([SEED, rows, 20])
    for _ in range(3):
        table = cut(random_table(rows, rng), rng)
        by = random_by(rng, NAMES)
        keys = [(name, "descending" if d == "desc" else "ascending") for name, d in by]
        order = pa.compute.sort_indices(table, sort_keys=keys).to_pylist()
        stream = spansort.sort_table(table, by, memory=LITTLE)
        assert stream.num_rows == rows
        assert (stream.num_runs > 1) == (rows > 1000)
        assert_rows(pa.table(stream), table, order)


def test_polars() -> None:
    pl = pytest.importorskip("polars")
    rng = np.random.default_rng([SEED, 21])
    frame = pl.from_arrow(random_table(5000, rng).drop_columns(["view"])).cast({"category": pl.Categorical})
    by = random_by(rng, [name for name in NAMES if name != "binary"])
    expected = frame.sort([name for name, _ in by], descending=[d == "desc" for _, d in by], maintain_order=True)
    found = pl.DataFrame(spansort.sort_table(frame, by, preset="polars", memory="100K"))
    assert found["row"].to_list() == expected["row"].to_list(), by
    assert found.equals(expected, null_equal=True)


def test_duckdb() -> None:
    duckdb = pytest.importorskip("duckdb")
    connection = duckdb.connect()
    query = "select (i * 7919) % 1000 a, hash(i) b, 'row ' || i c from range(200000) t(i)"
    stream = spansort.sort_table(connection.sql(query), ["a", ("b", "desc")], preset="duckdb", memory="1M")
    assert stream.num_runs > 1
    reader = pa.RecordBatchReader.from_stream(stream)
    expected = connection.sql(f"from ({query}) order by a, b desc").to_arrow_table()
    assert reader.read_all().equals(expected)


def test_stable_and_read_by_duckdb(tmp_path: pathlib.Path) -> None:
    duckdb = pytest.importorskip("duckdb")
    rng = np.random.default_rng([SEED, 22])
    keys = rng.integers(0, 3, 100_000)
    table = pa.table({"key": keys, "row": np.arange(len(keys))})
    before = num_open_files()
    sorted_rows = spansort.sort_table(table, "key", memory="256K", tmp=tmp_path)
    assert sorted_rows.num_runs > 1 and sorted_rows.spilled_bytes > table.nbytes
    assert num_open_files() > before
    found = duckdb.sql("from sorted_rows").fetchnumpy()["row"]
    assert np.array_equal(found, np.argsort(keys, kind="stable"))
    assert os.listdir(tmp_path) == []


def test_dictionaries_that_differ() -> None:
    chunks = [pa.array(words).dictionary_encode() for words in (["b", "a", None], ["c", "a"], ["c", "b", "d"])]
    table = pa.table({"x": pa.chunked_array(chunks), "row": range(8)})
    found = pa.table(spansort.sort_table(table, "x", memory=LITTLE))
    assert found["x"].to_pylist() == ["a", "a", "b", "b", "c", "c", "d", None]
    assert found["row"].to_pylist() == [1, 4, 0, 6, 3, 5, 7, 2]
    assert found.schema.equals(table.schema)


def test_strings_longer_than_the_ceiling() -> None:
    texts = [f"{i % 7}" * (300_000 if i % 50 == 0 else i % 30) for i in range(400)]
    table = pa.table({"text": texts, "view": pa.array(texts, pa.string_view())}).combine_chunks()
    for by in ("text", "view"):
        found = pa.table(spansort.sort_table(table, by, memory=LITTLE))
        assert found[by].to_pylist() == sorted(texts)
        assert found["text"].to_pylist() == found["view"].to_pylist()


def test_read_once() -> None:
    table = pa.table({"a": [2, 1]})
    stream = spansort.sort_table(table, "a", memory="1M")
    assert repr(stream) == "spansort.TableStream of 2 rows: a"
    assert pa.schema(stream).names == ["a"]
    assert pa.table(spansort.sort_table(stream, [("a", "desc")], memory="1M"))["a"].to_pylist() == [2, 1]
    assert repr(stream) == "spansort.TableStream of 2 rows, read or closed: a"
    for read in (stream.__arrow_c_stream__, stream.__arrow_c_schema__):
        with pytest.raises(ValueError, match="read once"):
            read()
    with spansort.sort_table(table, "a", memory="1M") as stream:
        pass
    with pytest.raises(ValueError, match="read once"):
        pa.table(stream)


def batches(count: int, error: Exception | None = None) -> Any:
    """Return a reader of batches that are made one after the other."""
    schema = pa.schema([("a", pa.int64()), ("b", pa.float64())])

    def make() -> Any:
        rng = np.random.default_rng(SEED)
        for _ in range(count):
            yield pa.record_batch([rng.integers(0, 1000, 5000), rng.random(5000)], schema=schema)
        if error is not None:
            raise error

    return pa.RecordBatchReader.from_batches(schema, make())


def test_nothing_is_left(tmp_path: pathlib.Path) -> None:
    before = num_open_files()
    stream = spansort.sort_table(batches(20), "a", memory="256K", tmp=[tmp_path, tmp_path])
    reader = pa.RecordBatchReader.from_stream(stream)
    assert len(reader.read_next_batch()) > 0
    assert num_open_files() > before and os.listdir(tmp_path) == []
    del reader, stream  # read in part
    assert num_open_files() == before
    spansort.sort_table(batches(20), "a", memory="256K").close()
    with pytest.raises(spansort.BadInputError, match="the disk is on fire"):
        spansort.sort_table(batches(20, OSError("the disk is on fire")), "a", memory="256K")
    with pytest.raises(spansort.Cancelled):
        spansort.sort_table(batches(20), "a", memory="256K", progress=lambda phase, fraction: False)
    asked = 0

    def interrupt(phase: str, fraction: float) -> None:
        nonlocal asked
        asked += 1
        if asked == 10:
            signal.raise_signal(signal.SIGINT)

    with pytest.raises(KeyboardInterrupt):
        spansort.sort_table(batches(20), "a", memory="256K", tmp=tmp_path, progress=interrupt)
    with pytest.raises(OSError, match="temporary file"):
        spansort.sort_table(batches(20), "a", memory="256K", tmp=tmp_path / "none")
    assert num_open_files() == before and os.listdir(tmp_path) == []


def test_wrong_arguments() -> None:
    table = pa.table({"a": [1, 2], "list": [[1], [2]]})
    with pytest.raises(ValueError, match="column 'list': no table"):
        spansort.sort_table(table, "a", memory="1M")
    with pytest.raises(ValueError, match="no column has the name 'b'"):
        spansort.sort_table(table.drop_columns(["list"]), "b", memory="1M")
    with pytest.raises(ValueError, match="too low"):
        spansort.sort_table(batches(1), "a", memory=1000)
    with pytest.raises(ValueError, match="memory= is expected"):
        spansort.sort_table(batches(1), "a", tmp="/tmp")
    with pytest.raises(TypeError, match="neither __arrow_c_stream__"):
        spansort.sort_table([1, 2], "a", memory="1M")


#: Sorts 4,000,000 rows of about 40 bytes and says in KiB how much higher memory rose than before.
WEIGH = """
import resource, sys
import numpy as np, pyarrow as pa, spansort

schema = pa.schema([("key", pa.int64()), ("text", pa.string()), ("value", pa.float64())])

def batches():
    rng = np.random.default_rng(1)
    for _ in range(200):
        keys = rng.integers(0, 1 << 40, 20_000)
        yield pa.record_batch([keys, pa.array(keys).cast(pa.string()), rng.random(20_000)], schema=schema)

def peak():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss

spansort.sort_table(pa.table({"a": np.arange(1 << 17)[::-1].copy()}), "a")
pa.RecordBatchReader.from_batches(schema, batches()).read_next_batch()
before = peak()
stream = spansort.sort_table(pa.RecordBatchReader.from_batches(schema, batches()), "key", memory=int(sys.argv[1]))
num_rows, last = 0, -1
for batch in pa.RecordBatchReader.from_stream(stream):
    keys = batch["key"].to_numpy()
    assert keys[0] >= last and (np.diff(keys) >= 0).all()
    assert batch["text"][0].as_py() == str(keys[0])
    num_rows, last = num_rows + len(keys), keys[-1]
assert num_rows == 4_000_000 and stream.num_runs > 1
print(peak() - before)
"""


@pytest.mark.parametrize("mebibytes", [16, 48])
def test_the_ceiling_holds(mebibytes: int) -> None:
    # On top come batches of source and reader, scratch of the threads, and what allocators keep.
    most_on_top = 32
    script = textwrap.dedent(WEIGH)
    done = subprocess.run(
        [sys.executable, "-c", script, str(mebibytes << 20)], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) >> 10 < mebibytes + most_on_top
