# SPDX-License-Identifier: Apache-2.0
"""What the package does around sorts on a GPU, tried without one: a library of host arrays, and sorts of host memory in
the place of the module's."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import pytest
import spansort
from conftest import (
    FLOATS,
    INTEGERS,
    NAME_OF_TYPE,
    bits,
    memory,
    patch_segments,
    random_keys,
    reference_order,
    reference_rows,
    reference_segments,
)
from spansort import _core, _gpu
from spansort._gpu_libraries import gpu_library
from spansort._gpu_library import GpuLibrary

class HostLibrary(GpuLibrary):
    def array(self, x: Any) -> Any:
        return x.elements if isinstance(x, OnGpu) else x

    def check(self, x: Any, function: str) -> None:
        pass

    def device(self, x: Any) -> int:
        return 7

    def stream(self, device: int) -> int:
        assert device == 7
        return 11

    def dtype_name(self, x: Any) -> str:
        return str(x.dtype.name)

    def address(self, x: Any, stream: int) -> int:
        assert stream == 11 and x.flags.c_contiguous
        return int(x.ctypes.data)

    def is_contiguous(self, x: Any) -> bool:
        return bool(x.flags.c_contiguous)

    def permuted(self, x: Any, axes: tuple[int, ...]) -> Any:
        return x.transpose(axes)

    def zeros(self, count: int, dtype_name: str, like: Any) -> Any:
        return np.zeros(count, dtype_name)

    def of_host(self, x: Any, like: Any) -> Any:
        return x.copy()

    def contiguous(self, x: Any) -> Any:
        return np.ascontiguousarray(x)

    def copy(self, x: Any) -> Any:
        return x.copy(order="C")

    def assign(self, target: Any, x: Any) -> None:
        target[...] = x

    def empty(self, count: int, dtype_name: str, like: Any) -> Any:
        return np.full(count, 77, dtype_name)

    def cast(self, x: Any, dtype_name: str) -> Any:
        return x.astype(dtype_name)

    def gather(self, x: Any, indices: Any) -> Any:
        return x[indices]

    def is_array(self, x: Any) -> bool:
        return isinstance(x, np.ndarray)


class Call(NamedTuple):
    device: int
    stream: int
    workspace: int
    workspace_bytes: int


def sort_of_host(call: Call, type: int, keys: int, num: int, values: int, value_bytes: int, descending: bool) -> None:
    assert num >= 2 and call == (7, 11, call.workspace, num) and call.workspace
    array = memory(keys, num, NAME_OF_TYPE[type])
    if value_bytes == 0:
        spansort.sort_inplace(array, descending=descending)
    else:
        assert value_bytes in (4, 8, 16)
        moved = memory(values, num, f"V{value_bytes}")
        spansort.sort_pairs(array, moved, descending=descending, out=(array, moved))


def argsort_of_host(
    call: Call, type: int, keys: int, num: int, indices: int, index_bytes: int, descending: bool
) -> None:
    assert num >= 1 and (call.workspace_bytes == 0 or call.workspace)
    order = spansort.argsort(memory(keys, num, NAME_OF_TYPE[type]), descending=descending)
    memory(indices, num, f"int{8 * index_bytes}")[...] = order
    index_sizes.append(index_bytes)


index_sizes: list[int] = []
PLAIN = _gpu.GpuOptions(False, 0)
DESCENDING = _gpu.GpuOptions(True, 0)


@pytest.fixture
def host(monkeypatch: pytest.MonkeyPatch) -> HostLibrary:
    monkeypatch.setattr(_core, "GpuCall", Call)
    monkeypatch.setattr(_core, "gpu_sort", sort_of_host)
    monkeypatch.setattr(_core, "gpu_argsort", argsort_of_host)
    patch_segments(monkeypatch)
    monkeypatch.setattr(_gpu, "_sort_bytes", lambda device, type, count, value_bytes: (count, count))
    monkeypatch.setattr(
        _gpu, "_argsort_bytes", lambda device, type, count, index_bytes: (count if count > 1 else 0,) * 2
    )
    monkeypatch.setattr(_gpu, "_NARROW_ORDERS", range(1000, 2000))
    index_sizes.clear()
    return HostLibrary()


@pytest.mark.parametrize("dtype", [*INTEGERS, *FLOATS, "bool"])
def test_keys_and_orders(host: HostLibrary, dtype: str, rng: np.random.Generator) -> None:
    for size in [0, 1, 2, 999, 1000, 2000]:
        x = random_keys(dtype, size, rng, "few")
        before = x.copy()
        for given in [PLAIN, DESCENDING]:
            expected = spansort.sort(x, descending=given.descending)
            np.testing.assert_array_equal(bits(_gpu.sort(host, x, -1, None, given)), bits(expected))
            order = _gpu.argsort(host, x, 0, None, given)
            assert order.dtype == "int64"
            np.testing.assert_array_equal(order, reference_order(x, given.descending))
        np.testing.assert_array_equal(bits(x), bits(before))
    assert set(index_sizes) == {4, 8}


def test_layouts_and_shapes(host: HostLibrary, rng: np.random.Generator) -> None:
    x = random_keys("int32", 60, rng)
    np.testing.assert_array_equal(_gpu.sort(host, x[::2], -1, None, PLAIN), np.sort(x[::2]))
    np.testing.assert_array_equal(_gpu.argsort(host, x[::-3], -1, None, PLAIN), np.argsort(x[::-3], kind="stable"))
    for shape, axis in [((60, 1), 0), ((1, 60), 1), ((1, 60), -1), ((1, 60, 1), 1), ((0, 5), 1), ((5, 0), 0)]:
        y = x[: int(np.prod(shape))].reshape(shape)
        np.testing.assert_array_equal(_gpu.sort(host, y, axis, None, PLAIN), np.sort(y, axis=axis))
        np.testing.assert_array_equal(_gpu.argsort(host, y, axis, None, PLAIN), np.argsort(y, axis=axis, kind="stable"))
    rows = x.reshape(3, 20)
    np.testing.assert_array_equal(_gpu.sort(host, rows, None, None, PLAIN), np.sort(x))
    for call in [_gpu.sort, _gpu.argsort]:
        with pytest.raises(IndexError):
            call(host, x, 1, None, PLAIN)
        with pytest.raises(ValueError, match="dimension"):
            call(host, x[0], -1, None, PLAIN)


@pytest.mark.parametrize("dtype", ["int8", "uint16", "float32", "float64"])
@pytest.mark.parametrize(
    ("shape", "axis"),
    [((6, 10), 1), ((6, 10), -1), ((6, 10), 0), ((3, 4, 5), 0), ((3, 4, 5), 1), ((3, 4, 5), -1), ((5, 1, 3), 1),
     ((4, 400), 0), ((2, 600), 1), ((7, 1), 1), ((0, 4), 0), ((4, 0), 0), ((4, 0), 1)],
)  # fmt: skip
def test_rows(host: HostLibrary, dtype: str, shape: tuple[int, ...], axis: int, rng: np.random.Generator) -> None:
    x = random_keys(dtype, int(np.prod(shape)), rng, "few").reshape(shape)
    before = x.copy()
    for given in [PLAIN, DESCENDING]:
        ordered = spansort.sort(x, axis, descending=given.descending)
        order = reference_rows(x, axis, given.descending) if x.size else np.zeros(shape, "int64")
        found = _gpu.sort(host, x, axis, None, given)
        assert found.flags.c_contiguous and not np.may_share_memory(found, x)
        np.testing.assert_array_equal(bits(found), bits(ordered))
        indices = _gpu.argsort(host, x, axis, None, given)
        assert indices.flags.c_contiguous and indices.dtype == "int64"
        np.testing.assert_array_equal(indices, order)
        out, out_order = np.zeros_like(x), np.zeros(shape, "int64")
        assert _gpu.sort(host, x, axis, out, given) is out
        assert _gpu.argsort(host, x, axis, out_order, given) is out_order
        np.testing.assert_array_equal(bits(out), bits(ordered))
        np.testing.assert_array_equal(out_order, order)
        # Every other element of memory that is twice as wide.
        np.testing.assert_array_equal(bits(_gpu.sort(host, np.repeat(x, 2, -1)[..., ::2], axis, None, given)), bits(out))
        np.testing.assert_array_equal(bits(x), bits(before))
        itself = x.copy()
        assert _gpu.sort(host, itself, axis, itself, given) is itself
        np.testing.assert_array_equal(bits(itself), bits(ordered))
        itself = x.copy()
        _gpu.sort_inplace(host, itself, axis, given)
        np.testing.assert_array_equal(bits(itself), bits(ordered))


@pytest.mark.parametrize("where", ["host", "int32", "uint32", "int64", "uint64", "strided"])
@pytest.mark.parametrize("count", [1, 500, 1500])  # orders of 1,000 keys and more are found as numbers of 32 bits
def test_segments(host: HostLibrary, where: str, count: int, rng: np.random.Generator) -> None:
    x = random_keys("float32", count, rng, "few")
    before = x.copy()
    for num_segments in [1, 2, 30]:
        offsets = np.sort(rng.integers(0, count + 1, num_segments + 1))
        given_offsets: Any = offsets
        if where == "strided":
            given_offsets = np.repeat(offsets, 2)[::2]
        elif where != "host":
            given_offsets = offsets.astype(where)
        if where != "host":
            given_offsets = OnGpu(given_offsets)
        for given in [PLAIN, DESCENDING]:
            ordered, order = reference_segments(x, offsets, given.descending)
            np.testing.assert_array_equal(bits(_gpu.sort_segments(host, x, given_offsets, given)), bits(ordered))
            found = _gpu.argsort_segments(host, x, given_offsets, given)
            assert found.dtype == "int64"
            np.testing.assert_array_equal(found, order)
    np.testing.assert_array_equal(bits(x), bits(before))
    nothing = np.zeros(1, "int64")
    np.testing.assert_array_equal(bits(_gpu.sort_segments(host, x, nothing, PLAIN)), bits(x))
    assert _gpu.argsort_segments(host, x, nothing, PLAIN).tolist() == [0] * count


class OnGpu:
    """An array that is not NumPy's, of which the library knows the elements."""

    def __init__(self, elements: Any) -> None:
        self.elements = elements


def test_segments_that_cannot_be(host: HostLibrary) -> None:
    x = np.array([3, 1, 2])
    for call in [_gpu.sort_segments, _gpu.argsort_segments]:
        for offsets in [[0, 4], [-1, 3], [2, 1, 3]]:
            with pytest.raises(ValueError, match="offsets decrease, or lie beyond the 3 elements"):
                call(host, x, np.array(offsets), PLAIN)
        for elements in [np.zeros((2, 2), "int64"), np.zeros(2, "int16"), np.zeros(2, "float32")]:
            with pytest.raises(TypeError, match="offsets: a vector of int32, uint32, int64, uint64"):
                call(host, x, OnGpu(elements), PLAIN)
        for none in [np.zeros(0, "int64"), OnGpu(np.zeros(0, "int32"))]:
            with pytest.raises(ValueError, match="found none"):
                call(host, x, none, PLAIN)
        with pytest.raises(ValueError, match="one dimension"):
            call(host, x.reshape(3, 1), np.array([0, 3]), PLAIN)
        with pytest.raises(spansort.OutOfMemoryError):
            call(host, x, np.array([0, 3]), _gpu.GpuOptions(False, 1))


def test_arrays_that_are_written_to(host: HostLibrary, rng: np.random.Generator) -> None:
    for size in [10, 1500]:
        x = random_keys("float32", size, rng, "few")
        out, order = np.zeros_like(x), np.zeros(size, "int64")
        assert _gpu.sort(host, x, -1, out, DESCENDING) is out
        assert _gpu.argsort(host, x, -1, order, DESCENDING) is order
        np.testing.assert_array_equal(bits(out), bits(spansort.sort(x, descending=True)))
        np.testing.assert_array_equal(order, reference_order(x, True))
        _gpu.sort_inplace(host, x, -1, DESCENDING)
        np.testing.assert_array_equal(bits(x), bits(out))
    with pytest.raises(ValueError, match="shape"):
        _gpu.sort(host, x, -1, out[1:], PLAIN)
    with pytest.raises(ValueError, match="dtype"):
        _gpu.argsort(host, x, -1, out, PLAIN)
    with pytest.raises(TypeError, match="contiguous"):
        _gpu.sort_inplace(host, x[::2], -1, PLAIN)
    with pytest.raises(TypeError, match="same library"):
        _gpu.sort(host, x, -1, [1, 2], PLAIN)


@pytest.mark.parametrize("dtype", ["int8", "int16", "float32", "int64", "complex128", "S3"])
def test_pairs(host: HostLibrary, dtype: str, rng: np.random.Generator) -> None:
    keys = random_keys("float32", 500, rng, "few")
    for shape in [(500,), (500, 2), (500, 0)]:
        values = rng.integers(0, 100, shape).astype(dtype)
        for given in [PLAIN, DESCENDING]:
            order = reference_order(keys, given.descending)
            found = _gpu.sort_pairs(host, keys, values, None, given)
            np.testing.assert_array_equal(found[0], keys[order])
            np.testing.assert_array_equal(found[1], values[order])
            new_keys, new_values = keys.copy(), values.copy()
            assert _gpu.sort_pairs(host, new_keys, new_values, (new_keys, new_values), given)[1] is new_values
            np.testing.assert_array_equal(new_keys, keys[order])
            np.testing.assert_array_equal(new_values, values[order])
    with pytest.raises(ValueError, match="as many values"):
        _gpu.sort_pairs(host, keys, values[:3], None, PLAIN)
    with pytest.raises(TypeError, match="values"):
        _gpu.sort_pairs(host, keys, [1, 2], None, PLAIN)
    with pytest.raises(ValueError, match="one dimension"):
        _gpu.sort_pairs(host, keys.reshape(5, 100), values, None, PLAIN)


def test_pairs_in_the_place_of_each_other(host: HostLibrary, rng: np.random.Generator) -> None:
    x, values = random_keys("int32", 500, rng, "few"), np.arange(500, dtype="int32")
    order = reference_order(x)
    new_keys, new_values = values, x.copy()
    found = _gpu.sort_pairs(host, new_values, new_keys, (new_keys, new_values), PLAIN)
    assert found[0] is new_keys and found[1] is new_values
    np.testing.assert_array_equal(new_keys, x[order])
    np.testing.assert_array_equal(new_values, order)
    one = np.zeros(501, "int32")
    for out in [(new_keys, new_keys), (one[1:], one[:-1])]:
        with pytest.raises(ValueError, match="overlap"):
            _gpu.sort_pairs(host, new_keys, new_values, out, PLAIN)
    empty = np.zeros(0, "int32")
    assert _gpu.sort_pairs(host, empty, empty, (empty, empty), PLAIN)[1] is empty


def test_values_that_are_not_aligned_to_their_rows(host: HostLibrary, rng: np.random.Generator) -> None:
    raw = rng.integers(0, 200, 2004, "uint8")
    begin = (1 - raw.ctypes.data) % 4
    x, values = random_keys("float32", 500, rng, "few"), raw[begin : begin + 2000].reshape(500, 4)
    before, keys = values.copy(), x.copy()
    found = _gpu.sort_pairs(host, keys, values, (keys, values), PLAIN)
    assert found[1] is values and values.ctypes.data % 4 == 1
    np.testing.assert_array_equal(values, before[reference_order(x)])
    np.testing.assert_array_equal(keys, x[reference_order(x)])


def test_the_library_is_told_what_is_written_to(host: HostLibrary, monkeypatch: pytest.MonkeyPatch) -> None:
    written: list[Any] = []
    monkeypatch.setattr(host, "will_write", written.append)
    x, values, order = np.array([3, 1, 2]), np.array([1, 2, 3]), np.zeros(3, "int64")
    _gpu.sort(host, x, -1, None, PLAIN)
    _gpu.argsort(host, x, -1, None, PLAIN)
    _gpu.sort_pairs(host, x, values, None, PLAIN)
    assert not written
    _gpu.argsort(host, x, -1, order, PLAIN)
    _gpu.sort_pairs(host, x, values, (x, values), PLAIN)
    _gpu.sort(host, x, -1, x, PLAIN)
    _gpu.sort_inplace(host, x, -1, PLAIN)
    assert [array.ctypes.data for array in written] == [y.ctypes.data for y in (order, x, values, x, x)]


def test_orders_that_need_64_bits(host: HostLibrary, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(host, "index_dtype_name", lambda: "int32")
    assert _gpu.argsort(host, np.array([[3, 1, 2], [1, 2, 0]]), 0, None, PLAIN).dtype == "int32"
    assert _gpu.argsort(host, np.array([3, 1, 2]), -1, None, PLAIN).dtype == "int32"
    many = np.broadcast_to(np.zeros(1, "uint8"), ((1 << 31) + 1,))
    with pytest.raises(ValueError, match="int64"):
        _gpu.argsort(host, many, -1, None, PLAIN)
    with pytest.raises(ValueError, match="int64"):
        _gpu.sort_pairs(host, many, np.broadcast_to(np.zeros(1, "uint8"), many.shape), None, PLAIN)


def test_a_library_that_cannot_be_told_of_a_stream(host: HostLibrary, monkeypatch: pytest.MonkeyPatch) -> None:
    waits: list[tuple[int, int]] = []
    monkeypatch.setattr(_core, "gpu_wait", lambda device, stream: waits.append((device, stream)))
    host.waits, host.writes = True, False
    x = np.array([3, 1, 2])
    assert _gpu.sort(host, x, -1, None, PLAIN).tolist() == [1, 2, 3]
    assert _gpu.argsort(host, x, -1, None, PLAIN).tolist() == [1, 2, 0]
    assert waits == [(7, 11), (7, 11)]
    with pytest.raises(TypeError, match="not written"):
        _gpu.sort_inplace(host, x, -1, PLAIN)


def test_options(host: HostLibrary) -> None:
    x = np.arange(100)
    with pytest.raises(spansort.OutOfMemoryError) as caught:
        _gpu.sort(host, x, -1, None, _gpu.gpu_options(False, None, "auto", 0, 99, None, "sort"))
    assert (caught.value.needed, caught.value.available) == (100, 99)
    assert _gpu.gpu_options(True, None, "gpu", 3, "1K", False, "sort") == (True, 1024)
    for arguments in [
        ("a", "auto", 0, None),
        (None, "cpu", 0, None),
        (None, "auto", -1, None),
        (None, "auto", 0, True),
    ]:
        order, devices, threads, progress = arguments
        with pytest.raises(ValueError, match="order|devices|threads|progress"):
            _gpu.gpu_options(False, order, devices, threads, None, progress, "sort")
    with pytest.raises(TypeError, match="complex64"):
        _gpu.sort(host, np.zeros(3, "complex64"), -1, None, PLAIN)


@pytest.mark.parametrize(
    ("room", "limit", "size", "asked"), [(1000, 0, 200, [200]), (150, 0, 100, [200, 100]), (1000, 150, 100, [100])]
)
def test_more_workspace_is_a_wish(room: int, limit: int, size: int, asked: list[int]) -> None:
    class Small(HostLibrary):
        def empty(self, count: int, dtype: str, like: Any) -> Any:
            sizes.append(count)
            if count > room:
                raise MemoryError
            return np.empty(count, dtype)

    sizes: list[int] = []
    workspace, _, given = _gpu._workspace(Small(), (100, 200), limit, None, 11)
    assert (given, len(workspace), sizes) == (size, size, asked)
    with pytest.raises(spansort.OutOfMemoryError, match="100 bytes is needed; 50 are allowed"):
        _gpu._workspace(Small(), (100, 200), 50, None, 11)


def test_whose_arrays_lie_on_a_gpu() -> None:
    class Exported:
        def __init__(self, device: int) -> None:
            self.device = device

        def __dlpack_device__(self) -> tuple[int, int]:
            return (self.device, 0)

    class Traced:
        def __dlpack_device__(self) -> tuple[int, int]:
            raise BufferError("this array has no memory")

    for x in [np.zeros(3), [1], Exported(1), Exported(2), Exported(3), Traced()]:  # the device alone is no array
        assert gpu_library(x, "sort") is None
