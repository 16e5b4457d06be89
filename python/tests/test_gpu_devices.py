# SPDX-License-Identifier: Apache-2.0
"""Arrays in host memory and files, sorted by GPUs that `devices=` names."""

from __future__ import annotations

import pathlib
from typing import Any

import numpy as np
import pytest
import spansort
from conftest import ALL, HAS_GPU, IDS, WHY_NO_GPU, Gpu, bits, random_keys, reference_order

pytestmark = pytest.mark.skipif(not HAS_GPU, reason=f"no GPU: {WHY_NO_GPU}")


@pytest.mark.parametrize("dtype", ALL, ids=IDS)
@pytest.mark.parametrize("descending", [False, True])
def test_every_dtype(dtype: Any, descending: bool, rng: np.random.Generator) -> None:
    with spansort.Sorter(devices="gpu:0") as sorter:
        for size, kind in [(2, "few"), (5000, "bits"), (700_000, "few"), (1_000_000, "bits")]:
            x = random_keys(dtype, size, rng, kind)
            expected = spansort.sort(x, descending=descending, devices="cpu")
            np.testing.assert_array_equal(bits(sorter.sort(x, descending=descending)), bits(expected))
            order = reference_order(x, descending)
            np.testing.assert_array_equal(sorter.argsort(x, descending=descending), order)
            keys, values = x.copy(), np.arange(size)
            sorter.sort_pairs(keys, values, descending=descending)
            np.testing.assert_array_equal(values, order)
            np.testing.assert_array_equal(bits(keys), bits(x[order]))


@pytest.mark.parametrize("devices", ["gpu", "gpu:0", "gpu:0,0"])
@pytest.mark.parametrize("size", [0, 1, 1000, 3_000_000])
def test_functions(devices: str, size: int, rng: np.random.Generator) -> None:
    x = random_keys("float32", size, rng)
    expected, order = spansort.sort(x, devices="cpu"), reference_order(x)
    np.testing.assert_array_equal(bits(spansort.sort(x, devices=devices)), bits(expected))
    np.testing.assert_array_equal(spansort.argsort(x, devices=devices), order)
    for values in [np.arange(size, dtype="int32"), np.arange(size, dtype="int16"), rng.random((size, 5))]:
        found = spansort.sort_pairs(x, values, devices=devices)
        np.testing.assert_array_equal(found.values, values[order])
    y = x.copy()
    spansort.sort_inplace(y, devices=devices)
    np.testing.assert_array_equal(bits(y), bits(expected))


def test_layouts_and_rows(rng: np.random.Generator) -> None:
    x = random_keys("int64", 600_000, rng)
    np.testing.assert_array_equal(spansort.sort(x[::-3], devices="gpu"), np.sort(x[::-3]))
    rows = x.reshape(3, -1)
    np.testing.assert_array_equal(spansort.sort(rows, devices="gpu"), np.sort(rows))
    np.testing.assert_array_equal(spansort.argsort(rows, devices="gpu"), np.argsort(rows, kind="stable"))
    columns = x.reshape(-1, 3)
    np.testing.assert_array_equal(spansort.sort(columns, axis=0, devices="gpu"), np.sort(columns, axis=0))


@pytest.mark.parametrize("devices", ["gpu:0", "gpu:0,0", "gpu"])
def test_many_rows(devices: str, rng: np.random.Generator) -> None:
    for dtype in ["float32", "uint8", "datetime64[s]"]:
        x = random_keys(dtype, 500 * 700, rng, "few").reshape(500, 700)
        for axis in [0, 1]:
            ordered = spansort.sort(x, axis, descending=True, devices=devices)
            np.testing.assert_array_equal(bits(ordered), bits(spansort.sort(x, axis, descending=True, devices="cpu")))
            order = spansort.argsort(x, axis, devices=devices)
            np.testing.assert_array_equal(order, spansort.argsort(x, axis, devices="cpu"))
        spansort.sort_inplace(x, devices=devices)
        np.testing.assert_array_equal(bits(x), bits(spansort.sort(x, devices="cpu")))
    words = rng.integers(0, 500, (40, 1000)).astype("U4")
    np.testing.assert_array_equal(spansort.sort(words, devices=devices), np.sort(words))
    np.testing.assert_array_equal(spansort.argsort(words, 0, devices=devices), np.argsort(words, 0, kind="stable"))


def test_records_and_strings(rng: np.random.Generator) -> None:
    x = np.zeros(200_000, dtype=[("key", "i4"), ("row", "i4")])
    x["key"], x["row"] = rng.integers(-5, 5, len(x)), np.arange(len(x))
    found = spansort.sort(x, order="key", devices="gpu")
    np.testing.assert_array_equal(found["row"], np.argsort(x["key"], kind="stable"))
    words = rng.integers(0, 5000, 100_000).astype("S8")
    np.testing.assert_array_equal(spansort.sort(words, devices="gpu"), np.sort(words))


def test_tensors_in_host_memory(rng: np.random.Generator) -> None:
    torch = Gpu("torch").module
    x = random_keys("float64", 1_000_000, rng)
    for tensor in [torch.from_numpy(x), torch.from_numpy(x).pin_memory()]:
        found = spansort.sort(tensor, devices="gpu")
        assert isinstance(found, torch.Tensor) and not found.is_cuda
        np.testing.assert_array_equal(bits(found.numpy()), bits(spansort.sort(x, devices="cpu")))


def test_more_than_the_gpu_may_hold(rng: np.random.Generator) -> None:
    x = random_keys("uint32", 50_000_000, rng)
    with spansort.Sorter(devices="gpu:0", device_memory="128M", algorithm="out_of_core") as sorter:
        np.testing.assert_array_equal(sorter.sort(x), np.sort(x))
        np.testing.assert_array_equal(sorter.sort(x[:100_000]), np.sort(x[:100_000]))


def test_progress_and_its_end(rng: np.random.Generator) -> None:
    x = random_keys("uint64", 20_000_000, rng)
    before, told = x.copy(), []

    def watch(phase: str, fraction: float) -> bool:
        told.append((phase, fraction))
        return False

    assert spansort.sort(x[:1000], devices="gpu", progress=lambda phase, fraction: None).tolist() == sorted(
        x[:1000].tolist()
    )
    try:
        spansort.sort_inplace(x, devices="gpu", progress=watch)
    except spansort.Cancelled:
        np.testing.assert_array_equal(x, before)
        assert told
    else:  # it was done before it asked
        np.testing.assert_array_equal(x, np.sort(before))


@pytest.mark.parametrize("size", [0, 1000, 2_000_000])
def test_files(size: int, tmp_path: pathlib.Path, rng: np.random.Generator) -> None:
    x = random_keys("float32", size, rng)
    given, sorted_path, order_path = (str(tmp_path / name) for name in ("x.npy", "y.npy", "order.npy"))
    np.save(given, x)
    spansort.sort_file(given, sorted_path, devices="gpu", verify=True)
    np.testing.assert_array_equal(bits(np.load(sorted_path)), bits(spansort.sort(x, devices="cpu")))
    spansort.argsort_file(given, order_path, devices="gpu")
    np.testing.assert_array_equal(np.load(order_path), reference_order(x))


def test_a_gpu_that_is_not_there() -> None:
    with pytest.raises(spansort.DeviceError, match="gpu:63"):
        spansort.sort(np.arange(1000), devices="gpu:63")
