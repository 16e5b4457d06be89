# SPDX-License-Identifier: Apache-2.0
"""Files: sorted, ordered, merged, checked, counted."""

from __future__ import annotations

import os
import pathlib
from typing import Any

import numpy as np
import pytest
import spansort


@pytest.fixture
def x(rng: Any) -> Any:
    return rng.normal(size=100_000)


@pytest.mark.parametrize("memory", [None, "1G"])
def test_sort_and_argsort(tmp_path: pathlib.Path, x: Any, memory: Any) -> None:
    path, ordered, order = tmp_path / "x.npy", tmp_path / "y.npy", tmp_path / "order.npy"
    np.save(path, x)
    found = spansort.sort_file(path, ordered, verify=True, memory=memory, tmp=tmp_path)
    assert (found.num_elements_in, found.num_elements_out, found.verified) == (len(x), len(x), True)
    np.testing.assert_array_equal(np.load(ordered), np.sort(x))
    spansort.argsort_file(path, order, descending=True, memory=memory)
    np.testing.assert_array_equal(np.load(order), spansort.argsort(x, descending=True))
    assert spansort.take_file(path, order, ordered) == len(x)
    np.testing.assert_array_equal(np.load(ordered), spansort.sort(x, descending=True))
    spansort.argsort_file(path, order, index_dtype="uint32", head=5)
    np.testing.assert_array_equal(np.load(order), np.argsort(x)[:5].astype("u4"))
    spansort.sort_file(path)
    np.testing.assert_array_equal(np.load(path), np.sort(x))


def test_larger_than_memory(tmp_path: pathlib.Path, rng: Any) -> None:
    x = rng.integers(0, 1 << 62, 12_000_000)
    np.save(tmp_path / "x.npy", x)
    del x
    # The ceiling is on the whole process, Python with all that it has loaded.
    resident = int(pathlib.Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    memory = resident + (80 << 20)
    found = spansort.sort_file(tmp_path / "x.npy", tmp_path / "y.npy", memory=memory, tmp=[tmp_path], sync=False)
    assert found.num_runs > 0 and found.spilled_bytes >= 12_000_000 * 8
    np.testing.assert_array_equal(np.load(tmp_path / "y.npy"), np.sort(np.load(tmp_path / "x.npy")))


def test_raw_keys_and_records(tmp_path: pathlib.Path, rng: Any) -> None:
    raw, out = tmp_path / "x.bin", tmp_path / "y.bin"
    x = rng.integers(0, 1000, 5000).astype("u2")
    raw.write_bytes(x.tobytes())
    spansort.sort_file(raw, out, dtype="u16", unique=True)
    np.testing.assert_array_equal(np.fromfile(out, "u2"), np.unique(x))
    spansort.sort_file(raw, out, dtype=np.uint16, descending=True, head=3)
    np.testing.assert_array_equal(np.fromfile(out, "u2"), np.sort(x)[::-1][:3])
    spansort.sort_file(raw, out, record_bytes=4, by="0:2:u16:r,2:2:u16")
    records = x.view([("a", "u2"), ("b", "u2")])
    expected = spansort.sort(records, order=[("a", "desc"), "b"])
    assert out.read_bytes() == expected.tobytes()
    with pytest.raises(ValueError):
        spansort.sort_file(raw, out)


def test_structured_and_several_dimensions(tmp_path: pathlib.Path, rng: Any) -> None:
    path, out = tmp_path / "x.npy", tmp_path / "y.npy"
    records = np.zeros(1000, [("a", "i4"), ("b", "f8")])
    records["a"], records["b"] = rng.integers(0, 9, 1000), rng.random(1000)
    np.save(path, records)
    spansort.sort_file(path, out, by=["a", ("b", "desc")])
    np.testing.assert_array_equal(np.load(out), spansort.sort(records, order=["a", ("b", "desc")]))
    two = rng.random((30, 50))
    np.save(path, two)
    spansort.sort_file(path, out, axis=0)
    np.testing.assert_array_equal(np.load(out), np.sort(two, 0))
    spansort.sort_file(path, out, flatten=True)
    np.testing.assert_array_equal(np.load(out), np.sort(two, None))


def test_values_and_merge(tmp_path: pathlib.Path, rng: Any) -> None:
    keys, values = rng.integers(0, 9, 1000), rng.random((1000, 2))
    np.save(tmp_path / "k.npy", keys)
    np.save(tmp_path / "v.npy", values)
    spansort.sort_file(tmp_path / "k.npy", tmp_path / "k2.npy", values=(tmp_path / "v.npy", tmp_path / "v2.npy"))
    np.testing.assert_array_equal(np.load(tmp_path / "v2.npy"), values[np.argsort(keys, kind="stable")])
    found = spansort.merge_files([tmp_path / "k2.npy", tmp_path / "k2.npy"], tmp_path / "m.npy")
    assert found.num_elements_out == 2000
    np.testing.assert_array_equal(np.load(tmp_path / "m.npy"), np.sort(np.tile(keys, 2)))
    with pytest.raises(spansort.BadInputError, match="k.npy"):
        spansort.merge_files([tmp_path / "k.npy", tmp_path / "k2.npy"], tmp_path / "m.npy")


def test_check(tmp_path: pathlib.Path) -> None:
    path = tmp_path / "x.npy"
    np.save(path, np.array([1.0, 1.0, 3.0, 2.5]))
    found = spansort.check_file(path)
    assert not found.is_sorted
    assert (found.num_elements, found.num_duplicates, found.first_disorder) == (4, 1, 3)
    assert (found.element, found.left_neighbour, found.elements) == ("2.5", "3", "f64")
    checksum = found.checksum
    spansort.sort_file(path)
    found = spansort.check_file(path)
    assert found.is_sorted and found.first_disorder is None and found.checksum == checksum
    assert not spansort.check_file(path, unique=True).is_sorted
    assert not spansort.check_file(path, descending=True).is_sorted


@pytest.mark.parametrize("memory", [None, "1G"])
def test_statistics(tmp_path: pathlib.Path, x: Any, memory: Any) -> None:
    path = tmp_path / "x.npy"
    np.save(path, x)
    np.testing.assert_array_equal(
        spansort.quantile_file(path, [0.1, 0.9], memory=memory), spansort.quantile(x, [0.1, 0.9])
    )
    assert spansort.quantile_file(path, 0.5) == spansort.median(x)
    box, expected = spansort.summary_file(path, memory=memory), spansort.summary(x)
    assert box.keys() == expected.keys()
    for name, value in expected.items():
        np.testing.assert_array_equal(box[name], value)
    np.testing.assert_array_equal(spansort.histogram_file(path, [-1, 0, 1]), np.histogram(x, [-1, 0, 1])[0])


def test_errors(tmp_path: pathlib.Path, x: Any) -> None:
    with pytest.raises(FileNotFoundError) as caught:
        spansort.sort_file(tmp_path / "none.npy", tmp_path / "y.npy")
    assert caught.value.errno == 2
    (tmp_path / "bad.npy").write_bytes(b"no header")
    with pytest.raises(spansort.BadInputError):
        spansort.sort_file(tmp_path / "bad.npy", tmp_path / "y.npy")
    np.save(tmp_path / "x.npy", x)
    with pytest.raises(spansort.OutOfMemoryError):
        spansort.sort_file(tmp_path / "x.npy", tmp_path / "y.npy", memory="1K")
    with pytest.raises(spansort.Cancelled):
        spansort.sort_file(tmp_path / "x.npy", tmp_path / "y.npy", progress=lambda phase, fraction: False)
    assert not (tmp_path / "y.npy").exists()
    with pytest.raises(ValueError):
        spansort.sort_file(tmp_path / "x.npy", tmp_path / "y.npy", by="nothing")
