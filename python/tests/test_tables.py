# SPDX-License-Identifier: Apache-2.0
"""Tables: rows in the order that the systems whose tables they are give them."""

from __future__ import annotations

import datetime
import decimal
import gc
from typing import Any

import numpy as np
import pytest
import spansort
from conftest import SEED

pa = pytest.importorskip("pyarrow")

SIZES = [0, 1, 2, 100, 2047, 2048, 2049]


def nullable(values: list[Any], rng: np.random.Generator, share: float) -> list[Any]:
    return [None if rng.random() < share else value for value in values]


def random_table(rows: int, rng: np.random.Generator, nulls: float = 0.1) -> Any:
    """Return a table with a column of each of many types; few values each, so that later columns decide."""
    integers = rng.integers(-4, 5, rows)
    floats = rng.choice([0.0, -0.0, 1.5, -np.inf, np.inf, np.nan, 1e300], rows)
    words = ["", "a", "b", "customer-1", "customer-1 ", "customer-2 of many", "\U0001f600", "z" * 40]
    texts = [words[i] for i in rng.integers(0, len(words), rows)]
    day = datetime.date(2026, 11, 22)
    columns = {
        "i8": pa.array(nullable(integers.tolist(), rng, nulls), pa.int8()),
        "u64": pa.array(nullable([int(i + 4) << 60 for i in integers], rng, nulls), pa.uint64()),
        "f64": pa.array(nullable(floats.tolist(), rng, nulls), pa.float64()),
        "f32": pa.array(nullable(rng.choice(floats, rows).tolist() if rows else [], rng, nulls), pa.float32()),
        "bool": pa.array(nullable((integers > 0).tolist(), rng, nulls), pa.bool_()),
        "text": pa.array(nullable(texts, rng, nulls), pa.string()),
        "large": pa.array(nullable(texts[::-1], rng, nulls), pa.large_string()),
        "view": pa.array(nullable(texts, rng, nulls), pa.string_view()),
        "binary": pa.array(nullable([text.encode() for text in texts], rng, nulls), pa.binary()),
        "date": pa.array([day + datetime.timedelta(int(i)) for i in integers], pa.date32()),
        "time": pa.array([int(i) for i in integers], pa.timestamp("us", "UTC")),
        "decimal": pa.array(
            nullable([decimal.Decimal(int(i)) / 4 for i in integers], rng, nulls), pa.decimal128(20, 2)
        ),
        "category": pa.array(nullable(texts, rng, nulls), pa.string()).dictionary_encode(),
        "row": pa.array(range(rows), pa.int64()),
    }
    return pa.table(columns)


def same(a: Any, b: Any) -> bool:
    """Return whether two values are equal; NaN equals NaN, and zeros are told apart."""
    if isinstance(a, float) and isinstance(b, float):
        return (a != a and b != b) or (a == b and np.signbit(a) == np.signbit(b))
    return bool(a == b)


def assert_rows(found: Any, table: Any, order: Any) -> None:
    """Check that a table holds the rows of another in this order. pyarrow takes no rows of some types."""
    assert found.schema.equals(table.schema, check_metadata=True)
    found.validate(full=True)
    for name in table.column_names:
        values = table[name].to_pylist()
        expected = [values[i] for i in order]
        assert len(found[name]) == len(expected)
        assert all(same(x, y) for x, y in zip(found[name].to_pylist(), expected)), name


def random_by(rng: np.random.Generator, names: list[str]) -> list[tuple[str, str]]:
    chosen = rng.permutation(names)[: rng.integers(1, 4)]
    return [(str(name), "desc" if rng.random() < 0.5 else "asc") for name in chosen]


def cut(table: Any, rng: np.random.Generator) -> Any:
    """Return the table in several chunks that are slices of it."""
    cuts = sorted({0, len(table), *rng.integers(0, len(table) + 1, 3).tolist()})
    return pa.concat_tables([table.slice(begin, end - begin) for begin, end in zip(cuts, cuts[1:])] or [table])


@pytest.mark.parametrize("rows", SIZES)
def test_pyarrow(rows: int) -> None:
    rng = np.random.default_rng([SEED, rows])
    # The sort of pyarrow is stable; it has no order for views, and orders dictionaries by their indices.
    names = ["i8", "u64", "f64", "f32", "bool", "text", "large", "binary", "date", "time", "decimal"]
    for _ in range(10):
        table = cut(random_table(rows, rng), rng)
        by = random_by(rng, names)
        order = pa.compute.sort_indices(
            table, sort_keys=[(name, "descending" if d == "desc" else "ascending") for name, d in by]
        )
        assert spansort.argsort_table(table, by).tolist() == order.to_pylist(), by
        assert_rows(pa.table(spansort.sort_table(table, by)), table, order.to_pylist())


@pytest.mark.parametrize("rows", SIZES)
def test_polars(rows: int) -> None:
    pl = pytest.importorskip("polars")
    rng = np.random.default_rng([SEED, rows, 1])
    for _ in range(10):
        frame = pl.from_arrow(random_table(rows, rng).drop_columns(["view", "category"]))
        by = random_by(rng, ["i8", "u64", "f64", "f32", "bool", "text", "large", "date", "time", "decimal"])
        expected = frame.sort([name for name, _ in by], descending=[d == "desc" for _, d in by], maintain_order=True)
        found = pl.DataFrame(spansort.sort_table(frame, by, preset="polars"))
        assert found.schema == expected.schema
        assert found["row"].to_list() == expected["row"].to_list(), by
        assert found.equals(expected, null_equal=True)


@pytest.mark.parametrize("rows", SIZES)
def test_pandas(rows: int) -> None:
    pd = pytest.importorskip("pandas")
    rng = np.random.default_rng([SEED, rows, 2])
    for _ in range(10):
        numbers = rng.choice([0.0, -0.0, 1.5, -np.inf, np.nan], (rows, 2))
        frame = pd.DataFrame({"a": numbers[:, 0], "b": numbers[:, 1], "c": rng.integers(0, 3, rows)})
        by = random_by(rng, ["a", "b", "c"])
        expected = frame.sort_values([name for name, _ in by], ascending=[d == "asc" for _, d in by], kind="stable")
        order = spansort.argsort_table(frame, by, preset="pandas")
        assert order.tolist() == expected.index.tolist(), by


@pytest.mark.parametrize("rows", SIZES)
def test_duckdb(rows: int) -> None:
    duckdb = pytest.importorskip("duckdb")
    rng = np.random.default_rng([SEED, rows, 3])
    connection = duckdb.connect()
    for _ in range(5):
        table = random_table(rows, rng).drop_columns(["view", "category"])
        connection.register("t", table)
        by = random_by(rng, ["i8", "u64", "f64", "f32", "bool", "text", "date", "time", "decimal"])
        keys = ", ".join(f'"{name}" {d}' for name, d in by)
        expected = connection.sql(f"select row from t order by {keys}, row").fetchall()
        relation = connection.sql("select * from t")
        found = spansort.sort_table(relation, [*by, "row"], preset="duckdb")
        assert pa.table(found)["row"].to_pylist() == [row for (row,) in expected], by
        assert connection.sql("select count(*) from found").fetchall() == [(rows,)]


@pytest.mark.parametrize("rows", SIZES[1:])
def test_datafusion(rows: int) -> None:
    datafusion = pytest.importorskip("datafusion")
    rng = np.random.default_rng([SEED, rows, 4])
    for _ in range(3):
        table = random_table(rows, rng).drop_columns(["view", "category", "large", "binary"])
        by = random_by(rng, ["i8", "u64", "f64", "f32", "bool", "text", "date", "decimal"])
        context = datafusion.SessionContext()
        context.register_record_batches("t", [table.to_batches()])
        keys = ", ".join(f'"{name}" {d}' for name, d in by)
        expected = context.sql(f'select "row" from t order by {keys}, "row"').to_pydict()["row"]
        found = pa.table(spansort.sort_table(table, [*by, "row"], preset="datafusion"))
        assert found["row"].to_pylist() == expected, by


def test_many_rows() -> None:
    rng = np.random.default_rng([SEED, 5])
    rows = 1 << 18
    table = pa.table({"a": rng.integers(0, 50, rows), "b": rng.random(rows), "row": np.arange(rows)})
    expected = np.lexsort((-table["b"].to_numpy(), table["a"].to_numpy()))
    assert np.array_equal(spansort.argsort_table(table, ["a", ("b", "desc")]), expected)


def test_all_types_are_carried() -> None:
    rng = np.random.default_rng([SEED, 6])
    table = cut(random_table(500, rng, nulls=0.3), rng).unify_dictionaries()
    metadata = {b"key": b"value"}
    table = table.append_column(pa.field("nothing", pa.null()), pa.nulls(500))
    table = table.append_column(pa.field("fixed", pa.binary(3)), pa.array([b"abc"] * 500, pa.binary(3)))
    table = table.append_column(
        pa.field("wide", pa.decimal256(60, 1)), pa.array([decimal.Decimal(3)] * 500, pa.decimal256(60, 1))
    )
    table = table.replace_schema_metadata(metadata)
    order = rng.permutation(500)
    taken = pa.table(spansort.take_table(table, order))
    assert_rows(taken, table, order)
    assert_rows(pa.table(spansort.Table(table)), table, range(500))
    assert_rows(pa.table(spansort.take_table(table, [])), table, [])
    assert len(spansort.sort_table(table, "nothing")) == 500


def test_columns_say_their_order() -> None:
    table = pa.table({"x": [2.0, None, float("nan"), -0.0, 0.0]})
    column = spansort.Column

    def order(*by: Any, **options: Any) -> list[int]:
        return spansort.argsort_table(table, list(by), **options).tolist()

    assert order("x") == [3, 4, 0, 2, 1]
    assert order("x", descending=True) == [0, 3, 4, 2, 1]
    assert order(column("x", nulls="first", nans="largest")) == [1, 3, 4, 0, 2]
    assert order(column("x", True, nans="null", zeros="negative_first")) == [0, 4, 3, 1, 2]
    assert spansort.argsort_table(table, column("x", nulls="first")).tolist() == [1, 3, 4, 0, 2]


def test_ordered_dictionaries() -> None:
    pl, pd = pytest.importorskip("polars"), pytest.importorskip("pandas")
    frame = pl.DataFrame({"x": pl.Series(["b", "a", None, "c"], dtype=pl.Enum(["c", "b", "a"]))})
    assert spansort.argsort_table(frame, "x", preset="polars").tolist() == frame["x"].arg_sort().to_list()
    kind = pd.CategoricalDtype(["lo", "mid", "hi"], ordered=True)
    sizes = pd.DataFrame({"x": pd.Series(["mid", "lo", "hi", None, "lo"], dtype=kind)})
    expected = sizes.sort_values("x", kind="stable").index.tolist()
    assert spansort.argsort_table(sizes, "x", preset="pandas").tolist() == expected
    taken = pd.DataFrame.from_arrow(spansort.sort_table(sizes, "x", preset="pandas"))
    assert taken["x"].tolist()[:4] == ["lo", "lo", "mid", "hi"]


def test_dictionaries_that_are_slices() -> None:
    words = pa.array(["a", "b", "c", "d"])
    chunks = [pa.DictionaryArray.from_arrays(pa.array([0, 1], "i1"), words.slice(at, 2)) for at in (0, 2)]
    with pytest.raises(ValueError, match="its chunks have different dictionaries"):
        spansort.sort_table(pa.table({"x": pa.chunked_array(chunks)}), "x")


def test_record_batches_and_tables() -> None:
    batch = pa.record_batch({"a": [3, 1, 2]})
    table = spansort.sort_table(batch, "a")
    assert repr(table) == "spansort.Table of 3 rows: a"
    assert pa.schema(table).names == ["a"]
    assert pa.table(spansort.sort_table(table, [("a", "desc")]))["a"].to_pylist() == [3, 2, 1]
    assert pa.table(table)["a"].to_pylist() == [1, 2, 3]  # a table is handed out as often as it is asked for


def test_wrong_arguments() -> None:
    table = pa.table({"a": [1, 2], "list": [[1], [2]]})
    flat = table.drop_columns(["list"])
    with pytest.raises(TypeError, match="neither __arrow_c_stream__"):
        spansort.sort_table([1, 2], "a")
    with pytest.raises(ValueError, match=r"column 'list': no table .* '\+l'"):
        spansort.sort_table(table, "a")
    with pytest.raises(ValueError, match="no column has the name 'b': there are a"):
        spansort.sort_table(flat, "b")
    with pytest.raises(TypeError, match="'asc' or 'desc'"):
        spansort.sort_table(flat, [("a", "down")])
    with pytest.raises(TypeError, match=r"\[\('a', 'desc'\)\]"):
        spansort.sort_table(flat, ("a", "desc"))
    with pytest.raises(ValueError, match="expected one of numpy, pandas"):
        spansort.sort_table(flat, "a", preset="excel")
    with pytest.raises(ValueError, match="nulls: 'middle' is none of last first"):
        spansort.sort_table(flat, [spansort.Column("a", nulls="middle")])
    with pytest.raises(ValueError, match="index 2 at position 0"):
        spansort.take_table(flat, [2])
    with pytest.raises(ValueError, match="index -1 at position 1"):
        spansort.take_table(flat, [0, -1])
    with pytest.raises(TypeError, match="integers"):
        spansort.take_table(flat, [0.5])
    twice = pa.table([pa.array([1]), pa.array([2])], names=["a", "a"])
    with pytest.raises(ValueError, match="several columns"):
        spansort.sort_table(twice, "a")


def test_a_failing_stream() -> None:
    def batches() -> Any:
        yield pa.record_batch({"a": [1]})
        raise OSError("the disk is on fire")

    reader = pa.RecordBatchReader.from_batches(pa.schema([("a", pa.int64())]), batches())
    with pytest.raises(spansort.BadInputError, match="the disk is on fire"):
        spansort.sort_table(reader, "a")


def test_interrupted() -> None:
    table = pa.table({"a": np.random.default_rng(SEED).random(1 << 20)})
    with pytest.raises(spansort.Cancelled):
        spansort.sort_table(table, "a", progress=lambda phase, fraction: False)


def test_memory_is_given_back() -> None:
    pool = pa.default_memory_pool()
    table = pa.table({"a": np.arange(1000)[::-1].copy(), "s": [str(i) for i in range(1000)]})
    gc.collect()
    before = pool.bytes_allocated()
    for _ in range(300):
        result = spansort.sort_table(table, "a")
        pa.table(result)
        result.__arrow_c_stream__()  # nobody takes this one
        pa.table(spansort.sort_table(table.slice(10), "s"))
    del result
    gc.collect()
    assert pool.bytes_allocated() == before
