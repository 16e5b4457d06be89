# SPDX-License-Identifier: Apache-2.0
"""What the tests share: dtypes, a reference that sorts by NumPy, and a seed that is printed."""

from __future__ import annotations

import os
from typing import Any

import numpy as np
import pytest
from hypothesis import settings

# Nothing is written beside the tests; a failure prints what replays it.
settings.register_profile("spansort", database=None, print_blob=True, deadline=None)
settings.load_profile("spansort")

SEED = int(os.environ.get("SPANSORT_TEST_SEED", "20261122"))

INTEGERS = ["uint8", "int8", "uint16", "int16", "uint32", "int32", "uint64", "int64"]
FLOATS = ["float16", "float32", "float64"]
DATES = ["datetime64[ns]", "datetime64[D]", "timedelta64[s]"]
NUMBERS = [*INTEGERS, *FLOATS, "bool"]
try:
    import ml_dtypes

    BFLOAT16 = [np.dtype(ml_dtypes.bfloat16)]
except ImportError:
    BFLOAT16 = []
ALL = [np.dtype(name) for name in [*NUMBERS, *DATES]] + BFLOAT16
IDS = [str(dtype) for dtype in ALL]


def pytest_report_header() -> str:
    return f"SPANSORT_TEST_SEED={SEED}, NumPy {np.__version__}"


def bits(x: Any) -> Any:
    """Return the elements as unsigned integers of their size."""
    return np.ascontiguousarray(x).view(f"u{x.dtype.itemsize}")


def random_keys(dtype: Any, count: int, rng: np.random.Generator, kind: str = "bits") -> Any:
    """Return keys of any bits, NaN of all kinds among them, or of few values."""
    dtype = np.dtype(dtype)
    if dtype == np.bool_:
        return rng.integers(0, 2, count).astype("bool")
    if kind == "few":
        numbers = rng.integers(-3, 4, count)
        keys = np.abs(numbers).astype(dtype) if dtype.kind == "u" else numbers.astype("int64").astype(dtype)
        if dtype.kind in "f" or dtype in BFLOAT16:
            keys[rng.random(count) < 0.1] = np.nan
            keys[rng.random(count) < 0.1] = -0.0
        if dtype.kind in "mM":
            keys[rng.random(count) < 0.1] = np.array("NaT", dtype)
        return keys
    raw = rng.integers(0, 256, count * dtype.itemsize, dtype="uint8")
    return raw.view(dtype)


def codes(x: Any) -> Any:
    """Return integers that are ordered as the keys are, NaN and NaT as the greatest, and whether each is that."""
    if x.dtype.kind == "f" or x.dtype in BFLOAT16:
        with np.errstate(invalid="ignore"):
            x = x.astype("float64") + 0.0  # no -0.0
    is_nan = np.isnat(x) if x.dtype.kind in "mM" else (x != x)
    distinct = np.unique(x[~is_nan])
    found = np.searchsorted(distinct, x)
    found[is_nan] = len(distinct)
    return found.astype("int64"), is_nan


def reference_order(x: Any, descending: bool = False) -> Any:
    """Return the stable order of keys of one dimension."""
    found, is_nan = codes(x)
    if descending:
        found = np.where(is_nan, 1, -found)
    return np.argsort(found, kind="stable")


def assert_same_values(a: Any, b: Any) -> None:
    """Compare by value: NaN equals NaN, and -0.0 0.0."""
    assert a.dtype == b.dtype
    assert a.shape == b.shape
    if a.dtype in BFLOAT16:
        a, b = a.astype("float32"), b.astype("float32")
    np.testing.assert_array_equal(a, b)


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(SEED)
