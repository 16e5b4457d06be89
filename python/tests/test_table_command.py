# SPDX-License-Identifier: Apache-2.0
"""The command spansort-table on real files."""

from __future__ import annotations

import os
import pathlib
import stat
import weakref
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from conftest import SEED

pa = pytest.importorskip("pyarrow")
pc = pytest.importorskip("pyarrow.csv")
pq = pytest.importorskip("pyarrow.parquet")
from spansort import _table_parts  # noqa: E402
from spansort._table_command import main  # noqa: E402


@pytest.fixture
def table() -> Any:
    rng = np.random.default_rng(SEED)
    countries = np.array(["at", "de", "fr"])[rng.integers(0, 3, 5000)]
    made = pa.table({"country": countries, "price": pa.array(rng.random(5000), mask=rng.random(5000) < 0.1)})
    return made.replace_schema_metadata({"origin": "a test"})


def expected(table: Any) -> Any:
    order = pa.compute.sort_indices(table, sort_keys=[("country", "ascending"), ("price", "descending")])
    return table.take(order)


def test_parquet_keeps_its_layout(tmp_path: pathlib.Path, table: Any) -> None:
    path, output = tmp_path / "t.parquet", tmp_path / "o.parquet"
    pq.write_table(table, path, row_group_size=1000, compression={"country": "gzip", "price": "none"})
    assert main(["sort", str(path), "--by", "country,price:desc", "-o", str(output)]) == 0
    found = pq.ParquetFile(output)
    assert found.read().equals(expected(table))
    assert found.schema_arrow.metadata[b"origin"] == b"a test"
    assert [found.metadata.row_group(i).num_rows for i in range(found.num_row_groups)] == [1000] * 5
    assert [found.metadata.row_group(0).column(i).compression for i in range(2)] == ["GZIP", "UNCOMPRESSED"]
    assert found.metadata.row_group(0).sorting_columns == (
        pq.SortingColumn(0, False, False),
        pq.SortingColumn(1, True, False),
    )
    assert main(["check", str(output), "--by", "country,price:desc"]) == 0
    assert main(["check", str(path), "--by", "country,price:desc"]) == 1


@pytest.mark.parametrize("name", ["t.csv", "t.arrow"])
def test_other_formats(tmp_path: pathlib.Path, table: Any, name: str) -> None:
    path = tmp_path / name
    if name == "t.csv":
        pc.write_csv(table, path)
    else:
        with pa.OSFile(str(path), "wb") as sink, pa.ipc.new_file(sink, table.schema) as writer:
            writer.write_table(table)
    path.chmod(0o640)
    assert main(["sort", str(path), "--by", "country,price:desc:nulls-last", "-o", str(path)]) == 0
    assert stat.S_IMODE(path.stat().st_mode) == 0o640
    assert main(["sort", str(path), "--by", "country,price:desc", "-o", str(tmp_path / "o.parquet")]) == 0
    found = pq.read_table(tmp_path / "o.parquet").replace_schema_metadata(None)
    assert found.equals(expected(table).replace_schema_metadata(None))
    assert sorted(os.listdir(tmp_path)) == sorted(["o.parquet", name])


def bounded(source: pathlib.Path, output: pathlib.Path, by: str, *options: str) -> int:
    return main(["sort", str(source), "--by", by, "-o", str(output), "-S", "200K", *options])


def test_parquet_in_bounded_memory(tmp_path: pathlib.Path, table: Any) -> None:
    path, output, folder = tmp_path / "t.parquet", tmp_path / "o.parquet", tmp_path / "spill"
    folder.mkdir()
    table = pa.concat_tables([table] * 4)
    table = table.append_column("number", pa.array(range(len(table)), pa.int32()))
    pq.write_table(table, path, row_group_size=3000, compression="gzip")
    assert bounded(path, output, "country,price:desc", "-T", str(folder), "-T", str(tmp_path)) == 0
    found = pq.ParquetFile(output)
    assert found.read().equals(expected(table))
    assert found.schema_arrow.equals(table.schema, check_metadata=True)
    assert [found.metadata.row_group(i).num_rows for i in range(found.num_row_groups)] == [3000] * 6 + [2000]
    assert found.metadata.row_group(0).column(0).compression == "GZIP"
    assert found.metadata.row_group(6).sorting_columns == (
        pq.SortingColumn(0, False, False),
        pq.SortingColumn(1, True, False),
    )
    assert bounded(path, path, "country,price:desc") == 0
    assert pq.read_table(path).equals(expected(table))
    assert sorted(os.listdir(tmp_path)) == ["o.parquet", "spill", "t.parquet"] and os.listdir(folder) == []


def test_a_row_group_is_given_back_before_the_next_is_collected(tmp_path: pathlib.Path) -> None:
    schema = pa.schema({"x": pa.int64()})
    arrays: list[weakref.ref[Any]] = []
    num_alive: list[int] = []

    def batches() -> Iterator[Any]:
        for number in range(12):
            num_alive.append(sum(array() is not None for array in arrays))
            values = np.full(100, number)
            arrays.append(weakref.ref(values))
            batch = pa.record_batch([pa.array(values)], schema=schema)  # of the memory of `values`
            del values
            yield batch
            del batch

    name = str(tmp_path / "o.parquet")
    parts, bounds = _table_parts.Parts(schema, batches()), _table_parts.Bounds(1 << 20, [])
    _table_parts.write_parts(parts, name, "parquet", {"row_group_size": 300}, bounds)
    assert pq.ParquetFile(name).num_row_groups == 4 and len(num_alive) == 12
    assert max(num_alive) <= 3


def test_categories_in_bounded_memory(tmp_path: pathlib.Path, table: Any) -> None:
    path, output = tmp_path / "t.parquet", tmp_path / "o.parquet"
    words = pa.chunked_array([[f"word {i % 11 + at}" for i in range(2000)] for at in (40, 0, 90)])
    table = pa.table({"word": words.dictionary_encode(), "number": range(6000)})
    pq.write_table(table, path, row_group_size=1000)
    assert bounded(path, output, "word,number:desc") == 0
    plain = table.set_column(0, "word", words)
    order = pa.compute.sort_indices(plain, sort_keys=[("word", "ascending"), ("number", "descending")])
    assert pq.read_table(output)["word"].to_pylist() == plain.take(order)["word"].to_pylist()
    assert pq.read_table(output)["number"].equals(plain.take(order)["number"])
    assert pq.read_table(output).schema.equals(table.schema)


@pytest.mark.parametrize("name", ["t.csv", "t.arrow"])
def test_other_formats_in_bounded_memory(tmp_path: pathlib.Path, table: Any, name: str) -> None:
    path, output = tmp_path / name, tmp_path / "o.parquet"
    if name == "t.csv":
        pc.write_csv(table, path)
    else:
        with pa.OSFile(str(path), "wb") as sink, pa.ipc.new_file(sink, table.schema) as writer:
            writer.write_table(table, max_chunksize=700)
    assert bounded(path, output, "country,price:desc") == 0
    assert pq.read_table(output).replace_schema_metadata(None).equals(expected(table).replace_schema_metadata(None))
    whole = tmp_path / f"whole{path.suffix}"
    assert main(["sort", str(path), "--by", "country,price:desc", "-o", str(whole)]) == 0
    assert bounded(path, path, "country,price:desc") == 0
    if name == "t.csv":
        assert path.read_bytes() == whole.read_bytes()
    else:
        assert pa.ipc.open_file(path).read_all().equals(pa.ipc.open_file(whole).read_all())


def test_failures_in_bounded_memory(tmp_path: pathlib.Path, capsys: Any) -> None:
    path, output = tmp_path / "t.csv", tmp_path / "o.csv"
    path.write_text("a,b\n" + "1,xxxxxxxxxxxxxx\n" * 100_000 + "word,y\n")
    output.write_text("old")
    assert bounded(path, output, "a") == 3
    assert "the first 1048576 bytes say what a column is" in capsys.readouterr().err
    assert bounded(path, output, "b", "-T", str(tmp_path / "none")) == 4
    assert bounded(path, output, "c") == 3
    with pytest.raises(SystemExit) as refused:
        bounded(path, output, "b", "-S", "much")
    assert refused.value.code == 2
    assert output.read_text() == "old" and sorted(os.listdir(tmp_path)) == ["o.csv", "t.csv"]


def test_head(tmp_path: pathlib.Path, capfdbinary: Any) -> None:
    path = tmp_path / "t.csv"
    path.write_text("a,b\n3,x\n1,y\n2,z\n")
    assert main(["head", str(path), "--by", "a:desc", "-n", "2"]) == 0
    assert capfdbinary.readouterr().out == b'"a","b"\n"3","x"\n"2","z"\n'
    assert main(["head", str(path), "-n", "1"]) == 0
    assert capfdbinary.readouterr().out == b'"a","b"\n"3","x"\n'


def test_text_of_csv_stays(tmp_path: pathlib.Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text('zip,name\n010,"a, b"\n007,NA\n1e1,\n')
    assert main(["sort", str(path), "--by", "zip:desc", "-o", str(path)]) == 0
    assert path.read_text() == '"zip","name"\n"010","a, b"\n"1e1",""\n"007","NA"\n'


def test_tables_without_rows(tmp_path: pathlib.Path) -> None:
    path = tmp_path / "t.parquet"
    pq.write_table(pa.table({"a.b": pa.array([], pa.int64()), "a": pa.array([], pa.string())}), path)
    for _ in range(2):
        assert main(["sort", str(path), "--by", "a", "-o", str(path)]) == 0
        assert pq.read_table(path).num_rows == 0


@pytest.mark.skipif(os.geteuid() != 0, reason="the superuser gives files away")
def test_owner_and_group_stay(tmp_path: pathlib.Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text("a\n2\n1\n")
    os.chown(path, 4242, 4243)
    path.chmod(0o640)
    assert main(["sort", str(path), "--by", "a", "-o", str(path)]) == 0
    found = path.stat()
    assert (found.st_uid, found.st_gid, stat.S_IMODE(found.st_mode)) == (4242, 4243, 0o640)


def test_what_is_no_file_is_not_replaced(tmp_path: pathlib.Path) -> None:
    path, pipe = tmp_path / "t.csv", tmp_path / "p.csv"
    path.write_text("a\n2\n1\n")
    os.mkfifo(pipe)
    assert main(["sort", str(path), "--by", "a", "-o", str(pipe)]) == 2
    assert stat.S_ISFIFO(pipe.stat().st_mode)


def test_wrong_input(tmp_path: pathlib.Path, capsys: Any) -> None:
    path = tmp_path / "t.csv"
    path.write_text("a\n1\n")
    output = tmp_path / "o.parquet"

    def status(*arguments: str) -> int:
        return main(["sort", *arguments, "-o", str(output)])

    assert status(str(tmp_path / "none.csv"), "--by", "a") == 4
    assert status(str(path), "--by", "b") == 3
    assert "no column has the name 'b'" in capsys.readouterr().err
    assert status(str(path), "--by", "a:down") == 2
    assert status(str(path), "--by", "a,,b") == 2
    assert status(str(path), "--format", "parquet", "--by", "a") == 3
    assert main(["sort", str(path), "--by", "a", "-o", str(tmp_path / "o.xlsx")]) == 2
    for wrong in (["-n", "-5"], ["--threads", "-1"], ["--threads", "99999999999"]):
        with pytest.raises(SystemExit) as refused:
            main(["head", str(path), *wrong])
        assert refused.value.code == 2
    with pytest.raises(SystemExit) as ended:
        main(["sort", str(path), "-o", str(output)])
    assert ended.value.code == 2
    assert os.listdir(tmp_path) == ["t.csv"]


def test_a_failing_write_leaves_the_output(tmp_path: pathlib.Path, monkeypatch: Any) -> None:
    path, output = tmp_path / "t.csv", tmp_path / "o.parquet"
    path.write_text("a\n2\n1\n")
    output.write_bytes(b"old")

    def fail(table: Any, where: str, **options: Any) -> None:
        os.unlink(where)  # as pyarrow does
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(pq, "write_table", fail)
    assert main(["sort", str(path), "--by", "a", "-o", str(output)]) == 4
    assert output.read_bytes() == b"old"
    assert sorted(os.listdir(tmp_path)) == ["o.parquet", "t.csv"]
