# SPDX-License-Identifier: Apache-2.0
"""Order statistics and sets against NumPy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import spansort
from conftest import ALL, NUMBERS, assert_same_values, codes, random_keys, reference_order
from hypothesis import given, settings
from hypothesis import strategies as st

METHODS = [
    "inverted_cdf", "averaged_inverted_cdf", "closest_observation", "interpolated_inverted_cdf", "hazen", "weibull",
    "linear", "median_unbiased", "normal_unbiased", "lower", "higher", "midpoint", "nearest",
]  # fmt: skip
IS_NUMPY_2 = int(np.__version__.partition(".")[0]) >= 2


def finite(count: int, rng: np.random.Generator) -> Any:
    return rng.normal(size=count)


@given(
    st.integers(1, 200),
    st.sampled_from(METHODS),
    st.lists(st.floats(0, 1), min_size=1, max_size=4),
    st.integers(0, 2**32),
)
@settings(max_examples=200)
@pytest.mark.skipif(not IS_NUMPY_2, reason="the rules of rounding are those of NumPy 2")
def test_quantiles_bit_for_bit(count: int, method: str, q: list[float], seed: int) -> None:
    x = finite(count, np.random.default_rng(seed))
    np.testing.assert_array_equal(spansort.quantile(x, q, method=method), np.quantile(x, q, method=method))
    np.testing.assert_array_equal(spansort.quantile(x, q[0], method=method), np.quantile(x, q[0], method=method))


@pytest.mark.parametrize("dtype", [name for name in NUMBERS if name != "bool"])
def test_medians_of_every_type(dtype: str, rng: Any) -> None:
    x = rng.integers(0, 100, 1001).astype(dtype)
    assert spansort.median(x) == np.median(x)
    np.testing.assert_allclose(spansort.percentile(x, [5, 95]), np.percentile(x.astype("f8"), [5, 95]))


@given(
    st.lists(st.integers(1, 6), min_size=1, max_size=3),
    st.integers(-3, 2),
    st.booleans(),
    st.sampled_from([0.5, [0.1, 0.9], [[0.0, 1.0]]]),
)
@settings(max_examples=100)
def test_quantiles_along_an_axis(shape: list[int], axis: int, keepdims: bool, q: Any) -> None:
    x = finite(int(np.prod(shape)), np.random.default_rng(1)).reshape(shape)
    if not -len(shape) <= axis < len(shape):
        with pytest.raises(IndexError):
            spansort.quantile(x, q, axis)
        return
    for chosen in [axis, None]:
        found = spansort.quantile(x, q, chosen, keepdims=keepdims)
        expected = np.quantile(x, q, chosen, keepdims=keepdims)
        assert np.shape(found) == np.shape(expected)
        np.testing.assert_allclose(found, expected, rtol=1e-13)


@pytest.mark.parametrize(("rows", "length"), [(3000, 7), (300, 1000), (3, 100_000), (1, 100), (1000, 1)])
@pytest.mark.parametrize("dtype", ["float64", "float32", "int16"])
def test_quantiles_of_many_rows(rows: int, length: int, dtype: str, rng: Any) -> None:
    x = random_keys(dtype, rows * length, rng, "few").reshape(rows, length)
    q = [0.0, 0.3, 0.5, 1.0]
    with np.errstate(invalid="ignore"):
        expected = np.array([spansort.nanquantile(row, q) for row in x]).T
    for options in [{}, {"threads": 1}, {"threads": 3}, {"devices": "cpu"}, {"devices": "host:2"}]:
        found = spansort.nanquantile(x, q, 1, **options)
        np.testing.assert_array_equal(found, expected)
        np.testing.assert_array_equal(spansort.nanquantile(x.T, q, 0, **options), expected)
    ordered = np.sort(x, 1)
    np.testing.assert_array_equal(spansort.nanquantile(ordered, q, 1, assume_sorted="ascending"), expected)
    if np.isnan(np.asarray(x, "float64")).any():
        for options in [{}, {"devices": "host:2"}]:
            with pytest.raises(spansort.BadInputError):
                spansort.quantile(x, q, 1, nan_policy="raise", **options)


def test_rows_without_keys() -> None:
    for devices in ["auto", "host:2"]:
        with pytest.raises(spansort.BadInputError):
            spansort.quantile(np.zeros((3, 0)), 0.5, 1, devices=devices)
        assert spansort.quantile(np.zeros((3, 0)), [0.5, 0.6], 0, devices=devices).shape == (2, 0)


def test_nan_policies() -> None:
    x = np.array([1.0, np.nan, 3.0])
    assert np.isnan(spansort.median(x))
    assert spansort.nanquantile(x, 0.5) == 2.0 == spansort.median(x, nan_policy="omit")
    with pytest.raises(spansort.BadInputError):
        spansort.median(x, nan_policy="raise")
    with pytest.raises(ValueError):
        spansort.median(x, nan_policy="ignore")
    with pytest.raises(spansort.BadInputError):
        spansort.quantile(np.array([]), 0.5)
    with pytest.raises(ValueError):
        spansort.quantile(x, 1.5)
    with pytest.raises(TypeError):
        spansort.median(np.array(["NaT"], "M8[s]"))
    assert spansort.median(np.array([1, 2, 9]), assume_sorted="ascending") == 2


@pytest.mark.parametrize("dtype", [dtype for dtype in ALL if dtype.kind not in "mM"], ids=str)
@pytest.mark.parametrize("largest", [False, True])
def test_top_k(dtype: Any, largest: bool, rng: Any) -> None:
    for count in [0, 1, 50, 512, 513, 5000, 70_000]:
        for kind in ["bits", "few"]:
            x = random_keys(dtype, count, rng, kind)
            order = reference_order(x, largest)
            for k in [0, 1, 7, count, count + 1]:
                found = spansort.top_k(x, k, largest=largest)
                np.testing.assert_array_equal(found.indices, order[:k])
                assert_same_values(found.values, x[order[:k]])
    with pytest.raises(ValueError):
        spansort.top_k(np.arange(3), -1)


@pytest.mark.parametrize("dtype", NUMBERS)
def test_rank(dtype: str, rng: Any) -> None:
    x = random_keys(dtype, 1000, rng, "few")
    for value in [0, 1]:
        found = spansort.rank(x, value)
        assert found == (np.sum(x < value), np.sum(x == value), np.sum(~(x <= value)), np.sum(x != x))
    if dtype == "uint8":
        with pytest.raises(ValueError):
            spansort.rank(x, 256)
    if dtype == "float32":
        assert spansort.rank(x, np.nan).num_equal == np.isnan(x).sum()


@pytest.mark.parametrize("dtype", ["uint8", "int32", "int64", "float32", "float64"])
def test_histogram(dtype: str, rng: Any) -> None:
    x = rng.integers(0, 100, 5000).astype(dtype)
    for bins, span in [(10, None), (7, (10, 50)), ([0, 5, 5.5, 99], None), (200, None)]:
        counts, edges = spansort.histogram(x, bins, span)
        # NumPy computes edges of float32 in that type.
        expected, expected_edges = np.histogram(x.astype("f8") if dtype == "float32" else x, bins, span)
        np.testing.assert_array_equal(counts, expected)
        np.testing.assert_array_equal(edges, expected_edges)
    assert spansort.histogram(np.array([], "f8"))[0].sum() == 0
    assert spansort.histogram(np.array([3, 3]), 4)[0].tolist() == np.histogram([3, 3], 4)[0].tolist()
    for wrong in [0, [1], [2, 1], [0, np.nan]]:
        with pytest.raises(ValueError):
            spansort.histogram(x, wrong)


def test_summary(rng: Any) -> None:
    x = np.append(rng.normal(size=1000), [100.0, -50.0])
    box = spansort.summary(x)
    q1, med, q3 = np.quantile(x, [0.25, 0.5, 0.75])
    assert (box["q1"], box["med"], box["q3"]) == (q1, med, q3)
    inside = x[(x >= q1 - 1.5 * (q3 - q1)) & (x <= q3 + 1.5 * (q3 - q1))]
    assert (box["whislo"], box["whishi"]) == (inside.min(), inside.max())
    outside = np.sort(x[(x < inside.min()) | (x > inside.max())])
    np.testing.assert_array_equal(np.sort(box["fliers"]), outside)
    assert box["count"] == len(x) and box["minimum"] == -50 and box["maximum"] == 100
    np.testing.assert_allclose(box["mean"], x.mean())
    assert np.isnan(spansort.summary(x, mean=False)["mean"])
    assert spansort.summary(x, whis=(0, 100))["whishi"] == 100
    assert len(spansort.summary(x, most_outliers=2)["fliers"]) == 2


# ---- sets


@given(st.sampled_from(ALL), st.integers(0, 100), st.booleans(), st.integers(0, 2**32))
@settings(max_examples=200)
def test_unique(dtype: Any, count: int, equal_nan: bool, seed: int) -> None:
    x = random_keys(dtype, count, np.random.default_rng(seed), "few").reshape(2, -1) if count % 2 == 0 else random_keys(
        dtype, count, np.random.default_rng(seed), "few")  # fmt: skip
    found, is_nan = codes(x.reshape(-1))
    if not equal_nan:
        found = found + np.where(is_nan, np.cumsum(is_nan), 0)
    distinct, firsts, inverse, counts = np.unique(found, return_index=True, return_inverse=True, return_counts=True)
    everything = spansort.unique_all(x, equal_nan=equal_nan)
    np.testing.assert_array_equal(everything.counts, counts)
    np.testing.assert_array_equal(everything.indices, firsts)
    np.testing.assert_array_equal(everything.inverse_indices, inverse.reshape(x.shape))
    assert_same_values(everything.values, x.reshape(-1)[firsts])
    assert_same_values(spansort.unique_values(x, equal_nan=equal_nan), everything.values)
    by_count = spansort.unique_counts(x, equal_nan=equal_nan)
    assert_same_values(by_count.values, everything.values)
    np.testing.assert_array_equal(by_count.counts, counts)
    by_inverse = spansort.unique_inverse(x, equal_nan=equal_nan)
    np.testing.assert_array_equal(by_inverse.inverse_indices, everything.inverse_indices)


def test_unique_of_strings() -> None:
    assert spansort.unique_values(np.array(["b", "a", "b"])).tolist() == ["a", "b"]
