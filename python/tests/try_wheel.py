# SPDX-License-Identifier: Apache-2.0
"""Tries an installed package with nothing but NumPy beside it: `python try_wheel.py`."""

import pathlib
import tempfile

import numpy as np
import spansort

rng = np.random.default_rng(1)
for dtype in ("uint8", "int32", "uint64", "float32", "float64"):
    for count in (10, 1000, 300_000):
        x = rng.integers(0, 1 << 40, count).astype(dtype)
        assert np.array_equal(spansort.sort(x), np.sort(x))
        order = spansort.argsort(x)
        assert np.array_equal(order, np.argsort(x, kind="stable"))
        assert np.array_equal(spansort.take(x, order), x[order])
        assert spansort.median(x) == np.median(x.astype("float64"))
with tempfile.TemporaryDirectory() as folder:
    path = pathlib.Path(folder, "x.npy")
    np.save(path, x)
    spansort.sort_file(path)
    assert spansort.check_file(path).is_sorted
print(f"spansort {spansort.__version__} of {pathlib.Path(spansort.__file__).parent} sorts")
