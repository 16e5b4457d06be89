# SPDX-License-Identifier: Apache-2.0
"""Tables as dicts of NumPy's arrays, against NumPy's lexsort."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import spansort
from conftest import NUMBERS, SEED, reference_order


@pytest.mark.parametrize("rows", [0, 1, 2, 2047, 2048, 2049])
def test_rows(rows: int) -> None:
    rng = np.random.default_rng([SEED, rows, 30])
    table = {
        "a": rng.integers(0, 5, rows).astype("int8"),
        "b": rng.random(rows).astype("float32"),
        "matrix": rng.random((rows, 3)),
        "object": np.array([str(i) for i in range(rows)], dtype=object),
        "record": np.zeros(rows, dtype=[("x", "i4"), ("y", "S3")]),
        "row": np.arange(rows),
    }
    expected = np.lexsort((-table["b"], table["a"]))
    found = spansort.sort_table(table, ["a", ("b", "desc")])
    assert list(found) == list(table)
    for name, column in table.items():
        assert found[name].dtype == column.dtype and np.array_equal(found[name], column[expected]), name
    assert np.array_equal(spansort.argsort_table(table, ["a", ("b", "desc")]), expected)
    backwards = spansort.take_table(table, np.arange(rows)[::-1])
    assert np.array_equal(backwards["matrix"], table["matrix"][::-1])


@pytest.mark.parametrize("dtype", [*NUMBERS, "datetime64[s]", "timedelta64[ms]", "S5", "U4", ">i4", ">f8"])
@pytest.mark.parametrize("descending", [False, True])
def test_dtypes(dtype: str, descending: bool) -> None:
    rng = np.random.default_rng([SEED, 31])
    numbers = rng.integers(-50, 50, 3000)
    if np.dtype(dtype).kind in "SU":
        column = np.array(["", "a", "ab", "b", "\U0001f600", "\uffff"])[numbers % (4 if dtype == "S5" else 6)].astype(dtype)
    else:
        column = np.abs(numbers).astype(dtype) if np.dtype(dtype).kind == "u" else numbers.astype(dtype)
        if np.dtype(dtype).kind in "fmM":
            column[numbers == 7] = np.array("nan" if np.dtype(dtype).kind == "f" else "NaT", dtype)
    expected = reference_order(column.astype(column.dtype.newbyteorder("=")), descending)
    found = spansort.sort_table({"x": column[::1], "row": np.arange(3000)}, "x", descending=descending)
    assert np.array_equal(found["row"], expected)
    strided = np.repeat(column, 2)[::2]
    assert np.array_equal(spansort.argsort_table({"x": strided}, "x", descending=descending), expected)


def test_masked_elements_are_null() -> None:
    table: dict[str, Any] = {
        "x": np.ma.MaskedArray([3, 1, 2, 0, 1], mask=[False, True, False, False, False]),
        "row": [0, 1, 2, 3, 4],
    }
    first = spansort.sort_table(table, spansort.Column("x", nulls="first"))
    assert first["row"].tolist() == [1, 3, 4, 2, 0]
    assert first["x"].tolist() == [None, 0, 1, 2, 3]
    assert spansort.sort_table(table, [("x", "desc")])["row"].tolist() == [0, 2, 4, 3, 1]
    dates = {"x": np.array(["NaT", "2026-01-02", "2026-01-01"], "datetime64[D]")}
    assert spansort.argsort_table(dates, "x", preset="polars").tolist() == [0, 2, 1]


def test_wrong_arguments() -> None:
    table = {"a": np.arange(3), "object": np.array([1, "a", None], dtype=object)}
    with pytest.raises(ValueError, match="no column has the name 'b': there are a, object"):
        spansort.sort_table(table, "b")
    with pytest.raises(TypeError, match="column 'object' .* has no order"):
        spansort.sort_table(table, "object")
    with pytest.raises(ValueError, match="same length"):
        spansort.sort_table({"a": [1, 2], "b": [1]}, "a")
    with pytest.raises(ValueError, match="'b' has no rows"):
        spansort.sort_table({"a": [1, 2], "b": 1}, "a")
    with pytest.raises(ValueError, match="index 3 at position 1: there are 3 rows"):
        spansort.take_table(table, [0, 3])
    with pytest.raises(ValueError, match="tmp"):
        spansort.sort_table(table, "a", tmp="/tmp")
    assert spansort.sort_table({}, []) == {}


@pytest.mark.parametrize("dtype", ["bool", "i1", "u2", "i4", "u8"])
def test_a_column_that_is_the_whole_table(dtype: str) -> None:
    column = np.random.default_rng([SEED, 32]).integers(0, 100, 3000).astype(dtype)
    for descending in (False, True):
        found = spansort.sort_table({"x": column}, "x", descending=descending)
        expected = np.sort(column)[::-1] if descending else np.sort(column)
        assert list(found) == ["x"] and found["x"].dtype == column.dtype and np.array_equal(found["x"], expected)
    assert np.array_equal(spansort.sort_table({"x": column}, [("x", "desc"), "x"])["x"], np.sort(column)[::-1])
