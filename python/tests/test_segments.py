# SPDX-License-Identifier: Apache-2.0
"""Sorts of segments against NumPy's of each: every type, layout, direction and shape of segments."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import spansort
from conftest import ALL, IDS, assert_same_values, random_keys, reference_order
from hypothesis import given, settings
from hypothesis import strategies as st


def cut(count: int, num_segments: int, rng: Any) -> Any:
    """Positions that never decrease, with elements before the first and behind the last."""
    return np.sort(rng.integers(0, count + 1, num_segments + 1))


def expect_segments(x: Any, offsets: Any, descending: bool, **options: Any) -> None:
    before = x.copy()
    order = spansort.argsort_segments(x, offsets, descending=descending, **options)
    ordered = spansort.sort_segments(x, offsets, descending=descending, **options)
    assert order.dtype == np.int64 and order.shape == x.shape
    assert ordered.dtype == x.dtype and ordered.shape == x.shape
    expected_order = np.zeros(len(x), "int64")
    expected = before.copy()
    native = before.astype(before.dtype.newbyteorder("="))
    for begin, end in zip(offsets[:-1], offsets[1:]):
        expected_order[begin:end] = reference_order(native[begin:end], descending)
        expected[begin:end] = before[begin:end][expected_order[begin:end]]
    np.testing.assert_array_equal(order, expected_order)
    assert_same_values(ordered, expected)
    assert_same_values(x, before)


@given(st.sampled_from(ALL), st.integers(0, 400), st.integers(0, 60), st.booleans(), st.integers(0, 2**32))
@settings(max_examples=300)
def test_segments_of_any_shape(dtype: Any, count: int, num_segments: int, descending: bool, seed: int) -> None:
    rng = np.random.default_rng(seed)
    x = random_keys(dtype, count, rng, "few" if seed % 2 else "bits")
    expect_segments(x, cut(count, num_segments, rng), descending)


@pytest.mark.parametrize("dtype", ALL, ids=IDS)
def test_large_and_many_segments(dtype: Any, rng: Any) -> None:
    x = random_keys(dtype, 200_000, rng, "bits")
    expect_segments(x, np.array([0, 150_000, 150_000, 200_000]), False)
    expect_segments(x, cut(len(x), 5000, rng), True, threads=2)


@pytest.mark.parametrize("kind", ["int32", "uint32", "int64", "uint64", "list", "swapped", "strided"])
def test_offsets_of_every_kind(kind: str, rng: Any) -> None:
    x = rng.random(100)
    plain = [0, 10, 10, 40, 100]
    offsets: Any = plain
    if kind == "swapped":
        offsets = np.array(plain, ">i4")
    elif kind == "strided":
        offsets = np.repeat(np.array(plain), 2)[::2]
    elif kind != "list":
        offsets = np.array(plain, kind)
    ordered = spansort.sort_segments(x, offsets)
    np.testing.assert_array_equal(ordered[10:40], np.sort(x[10:40]))
    np.testing.assert_array_equal(ordered[40:], np.sort(x[40:]))


def test_layouts(rng: Any) -> None:
    x = rng.integers(0, 100, 200)
    offsets = np.array([0, 30, 100])
    expect_segments(x[::2], offsets, False)
    expect_segments(x[:100].astype(">i8"), offsets, True)
    assert spansort.sort_segments([3, 1, 2], [0, 2]).tolist() == [1, 3, 2]
    assert spansort.sort_segments([], [0]).tolist() == []


def test_what_is_refused() -> None:
    x = np.arange(5)
    for wrong in ([0, 3, 2, 5], [0, 6], [-1, 5], [0, 3, -2], np.array([0, 2**63], "uint64"), []):
        with pytest.raises(ValueError):
            spansort.sort_segments(x, np.asarray(wrong, "int64" if len(wrong) == 0 else None))
        with pytest.raises(ValueError):
            spansort.argsort_segments(x, np.asarray(wrong, "int64" if len(wrong) == 0 else None))
    with pytest.raises(TypeError):
        spansort.sort_segments(x, [0.5, 2.0])
    with pytest.raises(TypeError):
        spansort.sort_segments(x, [[0, 5]])
    with pytest.raises(TypeError):
        spansort.sort_segments(np.array([b"a", b"b"]), [0, 2])
    with pytest.raises(ValueError):
        spansort.sort_segments(np.zeros((2, 2)), [0, 2])
    with pytest.raises(spansort.OutOfMemoryError):
        spansort.sort_segments(x, [0, 5], memory=1000)
