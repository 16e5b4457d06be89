# SPDX-License-Identifier: Apache-2.0
"""Arrays on a GPU that have ``__cuda_array_interface__`` or DLPack and no library: tried without a GPU, with memory of
the host in the place of the driver's and sorts of it in the place of the module's, and on a GPU where there is one."""

from __future__ import annotations

import ctypes
import gc
import os
import pathlib
import shutil
import subprocess
import sys
import weakref
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import pytest
import spansort
from conftest import (
    FLOATS,
    HAS_GPU,
    INTEGERS,
    NAME_OF_TYPE,
    Gpu,
    bits,
    memory,
    needs_gpu,
    patch_segments,
    random_keys,
    reference_order,
    reference_rows,
    reference_segments,
)
from spansort import _core, _gpu

DEVICE = 3


class Holder:
    """Somebody's array, of which nothing is known but the interface."""

    def __init__(self, array: Any, **changes: Any) -> None:
        self.array, self.changes = array, changes

    @property
    def __cuda_array_interface__(self) -> dict[str, Any]:
        x = self.array
        told = {"shape": x.shape, "typestr": x.dtype.str, "data": (x.ctypes.data, not x.flags.writeable), "version": 3}
        if not x.flags.c_contiguous:
            told["strides"] = x.strides
        told.update(self.changes)
        return {name: value for name, value in told.items() if not isinstance(value, str) or value != "left out"}


class Exported:
    """Somebody's array, of which nothing is known but DLPack."""

    def __init__(self, array: Any) -> None:
        self.array = array

    def __dlpack_device__(self) -> tuple[int, int]:
        return (2, 0)

    def __dlpack__(self, *, stream: int) -> Any:
        assert stream == 1
        return self.array.__dlpack__()


def need_export(taken: Any, x: Any) -> None:
    """Skip what NumPy itself does not export: arrays that are read-only, in its first version with DLPack also bool."""
    try:
        x.__dlpack__()
    except BufferError as error:
        if taken is Exported:
            pytest.skip(str(error))


class Call(NamedTuple):
    device: int
    stream: int
    workspace: int
    workspace_bytes: int


class HostMemory:
    """Host memory in the place of the driver's."""

    all_of_them: weakref.WeakSet[HostMemory] = weakref.WeakSet()
    most_bytes = 1 << 40

    def __init__(self, device: int, size_bytes: int) -> None:
        if size_bytes > self.most_bytes:
            raise spansort.OutOfMemoryError("no memory", size_bytes, self.most_bytes)
        self.held = np.zeros(size_bytes, "uint8")
        self.all_of_them.add(self)

    @property
    def address(self) -> int:
        return int(self.held.ctypes.data) if len(self.held) else 0


done: list[Any] = []


def sort_of_host(call: Call, type: int, keys: int, num: int, values: int, value_bytes: int, descending: bool) -> None:
    assert call.device in (0, DEVICE) and call.workspace and call.workspace_bytes == num
    done.append(("sort", call.stream))
    array = memory(keys, num, NAME_OF_TYPE[type])
    if value_bytes == 0:
        spansort.sort_inplace(array, descending=descending)
    else:
        moved = memory(values, num, f"V{value_bytes}")
        spansort.sort_pairs(array, moved, descending=descending, out=(array, moved))


def argsort_of_host(
    call: Call, type: int, keys: int, num: int, indices: int, index_bytes: int, descending: bool
) -> None:
    done.append(("argsort", call.stream))
    order = spansort.argsort(memory(keys, num, NAME_OF_TYPE[type]), descending=descending)
    memory(indices, num, f"int{8 * index_bytes}")[...] = order


def copy_of_host(device: int, stream: int, target: int, source: int, size_bytes: int) -> None:
    done.append(("copy", stream))
    assert target + size_bytes <= source or source + size_bytes <= target  # others have no defined result
    memory(target, size_bytes, "uint8")[...] = memory(source, size_bytes, "uint8")


@pytest.fixture
def driver(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, fake in {
        "GpuCall": Call,
        "GpuMemory": HostMemory,
        "gpu_sort": sort_of_host,
        "gpu_argsort": argsort_of_host,
        "gpu_copy": copy_of_host,
        "gpu_wait": lambda device, stream: done.append(("wait", stream)),
        "gpu_of": lambda address: DEVICE,
    }.items():
        monkeypatch.setattr(_core, name, fake)
    patch_segments(monkeypatch)
    monkeypatch.setattr(_gpu, "_sort_bytes", lambda device, type, count, value_bytes: (count, count))
    monkeypatch.setattr(_gpu, "_argsort_bytes", lambda device, type, count, index_bytes: (count, count))
    done.clear()


pytestmark = pytest.mark.usefixtures("driver")


@pytest.mark.parametrize("taken", [Holder, Exported])
@pytest.mark.parametrize("dtype", [*INTEGERS, *FLOATS, "bool"])
def test_every_dtype_and_size(taken: Any, dtype: str, rng: np.random.Generator) -> None:
    need_export(taken, np.zeros(1, dtype))
    for size in [0, 1, 2, 1000, (1 << 20) + 1 if dtype == "uint8" else 5]:
        x = random_keys(dtype, size, rng, "few")
        for descending in [False, True]:
            found = spansort.sort(taken(x), descending=descending)
            assert isinstance(found, spansort.GpuArray) and found.dtype == x.dtype and found.shape == x.shape
            np.testing.assert_array_equal(bits(found.copy_to_host()), bits(spansort.sort(x, descending=descending)))
            order = spansort.argsort(taken(x), descending=descending)
            assert order.dtype == "int64"
            np.testing.assert_array_equal(order.copy_to_host(), reference_order(x, descending))
            again = spansort.sort(found, descending=not descending)  # results are taken, too
            np.testing.assert_array_equal(
                bits(again.copy_to_host()), bits(spansort.sort(x, descending=not descending))
            )


VIEWS: list[Callable[[Any], Any]] = [
    lambda m: m,
    lambda m: m.T,
    lambda m: m[:, ::2],
    lambda m: m[::-1],
    lambda m: m[::-2, ::-1],
    lambda m: m[1:3, :1],
    lambda m: m[2, ::3],
    lambda m: m[2, ::-3],
    lambda m: np.broadcast_to(m[0, :1], (50,)),
    lambda m: m[:, None, 3:8],
    lambda m: m[2, 3:4].reshape(()),
    lambda m: m[:, :0],
]


@pytest.mark.parametrize("shape", [(6, 10), (3, 4, 5)])
def test_rows(shape: tuple[int, ...], rng: np.random.Generator) -> None:
    x = random_keys("int16", 60, rng, "few").reshape(shape)
    for axis in range(len(shape)):
        ordered, order = np.sort(x, axis), reference_rows(x, axis)
        for view in [x, np.asfortranarray(x)]:
            np.testing.assert_array_equal(spansort.sort(Holder(view), axis).copy_to_host(), ordered)
            np.testing.assert_array_equal(spansort.argsort(Holder(view), axis).copy_to_host(), order)
        out = np.zeros_like(x)
        spansort.sort(Holder(x), axis, out=Holder(out))
        np.testing.assert_array_equal(out, ordered)
        out_order = np.zeros(shape, "int64")
        spansort.argsort(Holder(x), axis, out=Holder(out_order))
        np.testing.assert_array_equal(out_order, order)
        out[...] = x
        spansort.sort_inplace(Holder(out), axis)
        np.testing.assert_array_equal(out, ordered)


def test_rows_are_in_place_when_the_call_returns(rng: np.random.Generator) -> None:
    for shape, axis in [((50, 1), 1), ((1, 50), 0), ((5, 10), 0), ((5, 10), 1)]:
        x, out = random_keys("int16", 50, rng, "few").reshape(shape), np.zeros(shape, "int16")
        order = np.zeros(shape, "int64")
        for call, has_other_stream in [
            (lambda: spansort.sort(Holder(x, stream=5), axis), False),
            (lambda: spansort.sort(Holder(x, stream=5), axis, out=Holder(out, stream=7)), True),
            (lambda: spansort.argsort(Holder(x, stream=5), axis, out=Holder(order, stream=7)), True),
            (lambda: spansort.sort_inplace(Holder(x.copy(), stream=5), axis), False),
        ]:
            done.clear()
            call()
            assert done[-1] == ("wait", 5)
            assert {what for what, stream in done if stream == 7} == ({"wait"} if has_other_stream else set())


@pytest.mark.parametrize("taken", [Holder, Exported])
def test_segments(taken: Any, rng: np.random.Generator) -> None:
    x, offsets = random_keys("float32", 300, rng, "few"), np.array([5, 10, 10, 200, 290])
    ordered, order = reference_segments(x, offsets)
    for given in [offsets, offsets.tolist(), taken(offsets), taken(offsets.astype("int32"))]:
        np.testing.assert_array_equal(bits(spansort.sort_segments(taken(x), given).copy_to_host()), bits(ordered))
        np.testing.assert_array_equal(spansort.argsort_segments(taken(x), given).copy_to_host(), order)
    with pytest.raises(ValueError, match="decrease"):
        spansort.sort_segments(taken(x), [3, 2])
    with pytest.raises(ValueError, match="devices"):
        spansort.argsort_segments(taken(x), offsets, devices="cpu")


@pytest.mark.parametrize("taken", [Holder, Exported])
@pytest.mark.parametrize("view", VIEWS)
def test_layouts(taken: Any, view: Callable[[Any], Any], rng: np.random.Generator) -> None:
    whole = random_keys("int32", 400, rng, "few").reshape(4, 100)
    before, x = whole.copy(), view(whole)
    need_export(taken, x)
    flat = x.reshape(-1)
    np.testing.assert_array_equal(spansort.sort(taken(x), axis=None).copy_to_host(), np.sort(flat))
    order = spansort.argsort(taken(x), axis=None, descending=True)
    np.testing.assert_array_equal(order.copy_to_host(), reference_order(flat, True))
    if taken is Holder:
        out = np.zeros_like(flat)
        target = Holder(out)
        assert spansort.sort(taken(x), axis=None, out=target) is target
        np.testing.assert_array_equal(out, np.sort(flat))
    np.testing.assert_array_equal(whole, before)


def test_shapes(rng: np.random.Generator) -> None:
    x = random_keys("int16", 60, rng, "few")
    for shape, axis in [((60, 1), 0), ((1, 60), -1), ((1, 60, 1), 1), ((0, 5), 1)]:
        y = x[: int(np.prod(shape))].reshape(shape)
        np.testing.assert_array_equal(spansort.sort(Holder(y), axis).copy_to_host(), np.sort(y, axis))
        order = spansort.argsort(Holder(y), axis).copy_to_host()
        np.testing.assert_array_equal(order, np.argsort(y, axis, kind="stable"))
    with pytest.raises(IndexError, match="dimension"):
        spansort.sort(Holder(x[0]))
    strides = (2,)  # those of contiguous elements, said all the same
    np.testing.assert_array_equal(spansort.sort(Holder(x, strides=strides)).copy_to_host(), np.sort(x))
    assert [what for what, _ in done[-3:]] == ["wait", "copy", "wait"]  # the last two are of copy_to_host()


def test_in_place(rng: np.random.Generator) -> None:
    x = random_keys("float64", 1000, rng, "few")
    y = x.copy()
    assert spansort.sort_inplace(Holder(y), descending=True) is None
    np.testing.assert_array_equal(bits(y), bits(spansort.sort(x, descending=True)))
    assert done == [("sort", 1), ("wait", 1)]
    y = x.copy()
    holder = Holder(y)
    assert spansort.sort(holder, out=holder) is holder
    np.testing.assert_array_equal(bits(y), bits(spansort.sort(x)))
    y = x.copy()
    spansort.sort(Holder(y), out=Holder(y))  # the same memory, told twice
    np.testing.assert_array_equal(bits(y), bits(spansort.sort(x)))
    y, indices = x.copy(), np.zeros(1000, "int64")
    target = Holder(indices)
    assert spansort.argsort(Holder(y), out=target) is target
    np.testing.assert_array_equal(indices, reference_order(x))
    y = np.concatenate([x, x[:3]])
    spansort.sort(Holder(y[:1000]), out=Holder(y[3:]))  # in part the same memory
    np.testing.assert_array_equal(bits(y[3:]), bits(spansort.sort(x)))
    fixed = x.copy()
    fixed.flags.writeable = False
    for refused, error, match in [
        (Holder(fixed), ValueError, "read-only"),
        (Holder(x[::2]), TypeError, "contiguous"),
        (Exported(x), ValueError, "read-only"),
    ]:
        with pytest.raises(error, match=match):
            spansort.sort_inplace(refused)
        with pytest.raises(error, match=match):
            spansort.sort(type(refused)(refused.array.copy()), out=refused)
    np.testing.assert_array_equal(spansort.sort(Holder(fixed)).copy_to_host(), np.sort(x))
    with pytest.raises(ValueError, match="shape"):
        spansort.sort(Holder(x), out=Holder(y))
    with pytest.raises(ValueError, match="dtype"):
        spansort.argsort(Holder(x), out=Holder(x.copy()))
    with pytest.raises(TypeError, match="same library"):
        spansort.sort(Holder(x), out=np.zeros_like(x))


@pytest.mark.parametrize(
    ("version", "stream", "wanted"),
    [(3, "left out", 1), (3, None, 1), (3, 1, 1), (3, 2, 2), (3, 0x7F00DEAD0, 0x7F00DEAD0), (2, 77, 1), (4, 5, 5)],
)
def test_the_stream_that_the_array_names(version: int, stream: Any, wanted: int) -> None:
    x = np.array([3, 1, 2])
    spansort.sort_inplace(Holder(x, version=version, stream=stream))
    assert x.tolist() == [1, 2, 3] and done == [("sort", wanted), ("wait", wanted)]
    done.clear()
    spansort.sort(Holder(x, version=version, stream=stream))
    spansort.argsort(Holder(x, version=version, stream=stream))
    assert done == [("copy", wanted), ("sort", wanted), ("wait", wanted), ("argsort", wanted), ("wait", wanted)]


def test_streams_of_several_arrays() -> None:
    x, values = np.array([3, 1, 2]), np.array([30, 10, 20])
    spansort.sort_pairs(Holder(x, stream=5), Holder(values, stream=6))
    # Values are copied once their own stream is done.
    assert done == [("copy", 5), ("wait", 6), ("copy", 5), ("sort", 5), ("wait", 5)]
    done.clear()
    spansort.sort(Holder(x, stream=5), out=Holder(values, stream=7))
    assert done[0] == ("wait", 7) and ("wait", 5) in done and values.tolist() == [1, 2, 3]
    with pytest.raises(ValueError, match="stream 0"):
        spansort.sort(Holder(x, stream=0))


def test_arrays_without_elements() -> None:
    for shape in [(0,), (0, 3), (3, 0)]:
        x = Holder(np.zeros(shape, "float32"), data=(0, False))
        assert spansort.sort(x, axis=None).copy_to_host().shape == (0,)
        assert spansort.argsort(x).shape == shape
        spansort.sort_inplace(x)
        assert spansort.sort(x, out=x) is x
    keys, values = Holder(np.array([2, 1])), Holder(np.zeros((2, 0)), data=(0, True))
    found = spansort.sort_pairs(keys, values)
    assert found.keys.copy_to_host().tolist() == [1, 2] and found.values.shape == (2, 0)
    nothing = spansort.sort_pairs(Holder(np.zeros(0)), Holder(np.zeros(0), data=(None, False)))
    assert nothing.keys.shape == nothing.values.shape == (0,)
    assert not spansort.sort(Holder(np.zeros(0))).__cuda_array_interface__["data"][0]


@pytest.mark.parametrize("dtype", ["int8", "int16", "float32", "int64", "complex128", "S3", "V5"])
def test_pairs(dtype: str, rng: np.random.Generator) -> None:
    keys = random_keys("float32", 500, rng, "few")
    for shape in [(500,), (500, 2), (500, 0)]:
        raw = rng.integers(0, 100, int(np.prod(shape)) * np.dtype(dtype).itemsize).astype("uint8")
        values = raw.view(dtype).reshape(shape)
        for descending in [False, True]:
            order = reference_order(keys, descending)
            found = spansort.sort_pairs(Holder(keys), Holder(values), descending=descending)
            assert isinstance(found.values, spansort.GpuArray)
            np.testing.assert_array_equal(bits(found.keys.copy_to_host()), bits(keys[order]))
            assert found.values.copy_to_host().tobytes() == values[order].tobytes()
            new_keys, new_values = keys.copy(), values.copy()
            both = Holder(new_keys), Holder(new_values)
            found = spansort.sort_pairs(*both, out=both, descending=descending)
            assert found.keys is both[0] and found.values is both[1]
            assert new_keys.tobytes() == keys[order].tobytes() and new_values.tobytes() == values[order].tobytes()
    backwards = spansort.sort_pairs(Holder(keys[::-1]), Holder(np.arange(1000, dtype="int32")[::2]))
    np.testing.assert_array_equal(backwards.values.copy_to_host(), 2 * reference_order(keys[::-1]))
    with pytest.raises(ValueError, match="overlap"):
        spansort.sort_pairs(Holder(keys), Holder(keys), out=(Holder(new_keys), Holder(new_keys)))
    with pytest.raises(TypeError, match="values"):
        spansort.sort_pairs(Holder(keys), values)


def test_pairs_in_the_place_of_each_other(rng: np.random.Generator) -> None:
    x, values = random_keys("int32", 500, rng, "few"), np.arange(500, dtype="int32")
    first, second = x.copy(), values.copy()
    spansort.sort_pairs(Holder(first), Holder(second), out=(Holder(second), Holder(first)))
    np.testing.assert_array_equal(second, np.sort(x))
    np.testing.assert_array_equal(first, reference_order(x))


@pytest.mark.parametrize(
    ("changes", "error", "match"),
    [
        ({"mask": Holder(np.zeros(3, "bool"))}, TypeError, "mask"),
        ({"version": 1}, TypeError, "version 2"),
        ({"typestr": "left out"}, TypeError, "typestr"),
        ({"data": "left out"}, TypeError, "data"),
        ({"data": 4096}, TypeError, "unpack"),
        ({"shape": 3}, TypeError, "iterable"),
        ({"version": None}, TypeError, "NoneType"),
        ({"typestr": "bogus"}, TypeError, "bogus"),
        ({"typestr": "|O"}, TypeError, "O"),
        ({"typestr": 7}, TypeError, "7"),
        ({"typestr": ">i8"}, TypeError, "byte order"),
        ({"typestr": "<M8[s]"}, TypeError, "no order"),
        ({"typestr": "<c8"}, TypeError, "complex64"),
        ({"strides": (8, 8)}, ValueError, "strides"),
        ({"shape": (-3,)}, ValueError, "shape"),
        ({"data": (0, False)}, ValueError, "no memory"),
    ],
)
def test_what_is_refused(changes: dict[str, Any], error: type[Exception], match: str) -> None:
    x = Holder(np.array([3, 1, 2]), **changes)
    for call in [spansort.sort, spansort.argsort, spansort.sort_inplace]:
        with pytest.raises(error, match=match):
            call(x)
    assert not done


def test_an_interface_that_is_none() -> None:
    for interface in [[1, 2], 3, {}]:
        x = Holder(np.zeros(3))
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(Holder, "__cuda_array_interface__", interface)
            with pytest.raises(TypeError, match="__cuda_array_interface__"):
                spansort.sort(x)
    for function in [spansort.median, spansort.is_sorted, spansort.unique_values]:
        with pytest.raises(TypeError, match="GPU"):
            function(Holder(np.zeros(3)))


def test_memory_is_given_back() -> None:
    x = np.arange(1000)[::-1].copy()
    gc.collect()
    before = len(HostMemory.all_of_them)
    spansort.sort_inplace(Holder(x))
    assert len(HostMemory.all_of_them) == before  # of the workspace
    kept = [spansort.sort(Holder(x)), spansort.argsort(Holder(x)), *spansort.sort_pairs(Holder(x), Holder(x))]
    assert len(HostMemory.all_of_them) == before + 4
    vector = kept[0].reshape((10, 100)).reshape(-1)
    del kept
    assert len(HostMemory.all_of_them) == before + 1 and vector.copy_to_host().tolist() == list(range(1000))
    del vector
    assert len(HostMemory.all_of_them) == before


def test_memory_that_is_not_there(monkeypatch: pytest.MonkeyPatch) -> None:
    x = np.arange(1000)[::-1].copy()
    before = x.copy()
    monkeypatch.setattr(HostMemory, "most_bytes", 999)
    for call in [spansort.sort_inplace, spansort.sort, spansort.argsort]:
        with pytest.raises(spansort.OutOfMemoryError):
            call(Holder(x))
    with pytest.raises(spansort.OutOfMemoryError, match="allowed"):
        spansort.sort_inplace(Holder(x), memory=10)
    np.testing.assert_array_equal(x, before)


def test_a_result_as_others_see_it() -> None:
    found = spansort.sort(Holder(np.array([[3, 1, 2]], "float32")))
    assert repr(found) == "spansort.GpuArray of shape (1, 3) and dtype float32 on gpu:3"
    assert (found.shape, found.ndim, found.size, found.nbytes, len(found)) == ((1, 3), 2, 3, 12, 1)
    assert found.device == DEVICE
    told = found.__cuda_array_interface__
    address = told["data"][0]
    assert told == {
        "shape": (1, 3), "typestr": "<f4", "data": (address, False), "version": 3, "strides": None, "stream": None,
    }  # fmt: skip
    assert memory(address, 3, "float32").tolist() == [1, 2, 3]
    assert found.__dlpack_device__() == (2, DEVICE)
    for arguments in [{}, {"stream": 1}, {"stream": None, "max_version": (1, 0), "dl_device": (2, DEVICE)}]:
        capsule = found.__dlpack__(**arguments)
        assert _core.exported_memory(capsule) == (address, True)
        assert _core.exported_elements(capsule) == (address, DEVICE, (1, 3), None, 2, 32, 1)
    for refused in [{"copy": True}, {"dl_device": (1, 0)}]:
        with pytest.raises(BufferError):
            found.__dlpack__(**refused)
    with pytest.raises(ValueError, match="shape"):
        found.reshape((2, 2))
    with pytest.raises(TypeError, match="length"):
        len(spansort.sort(Holder(np.array([3])[0:1])).reshape(()))
    _, values = spansort.sort_pairs(Holder(np.array([1, 2])), Holder(np.array([b"a", b"b"])))
    with pytest.raises(BufferError, match="dtype"):
        values.__dlpack__()


@pytest.mark.parametrize("taker", ["nobody", "somebody"])
def test_a_capsule_keeps_the_memory(taker: str) -> None:
    found = spansort.sort(Holder(np.array([3, 1, 2])))
    owner = weakref.ref(found._owner)
    capsule: Any = found.__dlpack__()
    address = found._address
    del found
    gc.collect()
    assert owner() is not None and memory(address, 3, "int64").tolist() == [1, 2, 3]
    if taker == "somebody":  # who takes the tensor, renames the capsule and calls the deleter, as the standard says
        of_python, used = ctypes.pythonapi, ctypes.create_string_buffer(b"used_dltensor")
        of_python.PyCapsule_GetPointer.restype = ctypes.c_void_p
        tensor = of_python.PyCapsule_GetPointer(ctypes.py_object(capsule), b"dltensor")
        of_python.PyCapsule_SetName(ctypes.py_object(capsule), used)
        deleter = ctypes.c_void_p.from_address(tensor + 56).value
        assert deleter is not None
        ctypes.CFUNCTYPE(None, ctypes.c_void_p)(deleter)(tensor)
        assert owner() is None
    del capsule
    gc.collect()
    assert owner() is None


def test_what_dlpack_alone_cannot_say(monkeypatch: pytest.MonkeyPatch) -> None:
    x = Exported(np.array([3, 1, 2], "int16"))
    found = spansort.sort(x)
    assert found.copy_to_host().tolist() == [1, 2, 3] and found.device == 0  # the capsule is of host memory, device 0
    monkeypatch.setattr(_core, "exported_elements", lambda capsule: (256, 0, (3,), None, 4, 16, 1))
    with pytest.raises(TypeError, match="type 4 with 16 bits"):
        spansort.sort(x)


OF_THE_DRIVER = """
import numpy as np
from spansort import _core
from spansort._gpu_array import GpuArray
x = np.array([3, 1, 2], "int32")
made = GpuArray._new(0, (3,), x.dtype)
_core.gpu_copy(0, 5, made._address, x.ctypes.data, x.nbytes)
assert _core.gpu_of(made._address) == 0 and made.copy_to_host().tolist() == [3, 1, 2]
capsule = made.__dlpack__()
del made
_core.gpu_wait(0, 7)
del capsule
_core.gpu_wait(0, 8)
assert _core.GpuMemory(0, 0).address == 0
for call in [lambda: _core.GpuMemory(1, 10), lambda: _core.GpuMemory(0, 1000001), lambda: _core.gpu_of(8)]:
    try:
        call()
    except Exception as error:
        print(getattr(error, "available", None), type(error).__name__, error)
"""
ERRORS = """\
None DeviceError gpu:1: cuDeviceGet: invalid device ordinal
1000 OutOfMemoryError gpu:0: no memory for 1000001 bytes
None ValueError the array does not lie in memory that a GPU can reach
"""


def test_calls_of_the_driver(tmp_path: pathlib.Path) -> None:
    compiler = shutil.which("cc")
    if compiler is None:
        pytest.skip("no C compiler, which makes a driver")
    source = pathlib.Path(__file__).with_name("fake_driver.c")
    subprocess.run([compiler, "-shared", "-fPIC", "-o", tmp_path / "libcuda.so.1", source], check=True)
    paths = f"{tmp_path}:{os.environ.get('LD_LIBRARY_PATH', '')}"
    found = subprocess.run(
        [sys.executable, "-c", OF_THE_DRIVER],
        capture_output=True,
        text=True,
        env={**os.environ, "LD_LIBRARY_PATH": paths.rstrip(":")},
    )
    assert found.returncode == 0, found.stderr
    assert found.stderr.splitlines() == ["allocate 12", "wait 1", "wait 7", "free", "wait 8"]
    assert found.stdout == ERRORS


# ---- on a GPU


@pytest.fixture
def real_driver(monkeypatch: pytest.MonkeyPatch, driver: None) -> None:
    """Put everything back that stands in the place of the driver."""
    if not HAS_GPU:
        pytest.skip("no GPU")
    monkeypatch.undo()


class OnlyInterface:
    def __init__(self, array: Any, stream: Any = None) -> None:
        self.array, self.stream = array, stream

    @property
    def __cuda_array_interface__(self) -> dict[str, Any]:
        return {**self.array.__cuda_array_interface__, "version": 3, "stream": self.stream}


@pytest.mark.usefixtures("real_driver")
@pytest.mark.parametrize("dtype", ["float32", "int64", "uint8", "float16"])
def test_on_a_gpu(writeable_gpu: Gpu, dtype: str, rng: np.random.Generator) -> None:
    gpu = writeable_gpu
    for size in [0, 1, 1000, 2_000_000]:
        x = random_keys(dtype, size, rng, "few")
        on_gpu = gpu.put(x)
        gpu.wait()
        found, order = spansort.sort(OnlyInterface(on_gpu)), spansort.argsort(OnlyInterface(on_gpu))
        np.testing.assert_array_equal(bits(found.copy_to_host()), bits(spansort.sort(x)))
        np.testing.assert_array_equal(order.copy_to_host(), reference_order(x))
        values = gpu.put(np.arange(size, dtype="int16"))
        gpu.wait()
        pairs = spansort.sort_pairs(OnlyInterface(on_gpu), OnlyInterface(values), descending=True)
        np.testing.assert_array_equal(pairs.values.copy_to_host(), reference_order(x, True).astype("int16"))
        spansort.sort_inplace(OnlyInterface(on_gpu), descending=True)
        np.testing.assert_array_equal(bits(gpu.get(on_gpu)), bits(spansort.sort(x, descending=True)))
    every_third = gpu.put(x)[::3]
    gpu.wait()
    found = spansort.sort(OnlyInterface(every_third))
    np.testing.assert_array_equal(bits(found.copy_to_host()), bits(spansort.sort(x[::3])))
    back = gpu.module.from_dlpack(found)
    np.testing.assert_array_equal(bits(gpu.get(back)), bits(spansort.sort(x[::3])))
    del found
    np.testing.assert_array_equal(bits(gpu.get(back)), bits(spansort.sort(x[::3])))


@pytest.mark.usefixtures("real_driver")
def test_work_of_the_stream_that_is_named(rng: np.random.Generator) -> None:
    cupy = Gpu("cupy").module
    x = random_keys("int32", 1 << 22, rng)
    stream = cupy.cuda.Stream(non_blocking=True)
    with stream:
        on_gpu = cupy.asarray(x)
        for _ in range(20):
            on_gpu += 1  # still at work when the sort is called
        spansort.sort_inplace(OnlyInterface(on_gpu, stream.ptr))
        np.testing.assert_array_equal(cupy.asnumpy(on_gpu), np.sort(x + np.int32(20)))


@pytest.mark.usefixtures("real_driver")
@pytest.mark.parametrize("device", [0, 1])
def test_on_each_gpu(device: int, rng: np.random.Generator) -> None:
    cupy = Gpu("cupy").module
    if cupy.cuda.runtime.getDeviceCount() <= device:
        pytest.skip("one GPU only")
    x = random_keys("int64", 100_000, rng, "few")
    with cupy.cuda.Device(device) as there:
        on_gpu, indices = cupy.asarray(x), cupy.arange(x.size)
        there.synchronize()
    for array, wanted in [(on_gpu, x), (on_gpu[::-3], x[::-3])]:
        ordered, order = spansort.sort(OnlyInterface(array)), spansort.argsort(OnlyInterface(array))
        assert ordered.device == order.device == device and cupy.cuda.runtime.getDevice() == 0
        np.testing.assert_array_equal(ordered.copy_to_host(), np.sort(wanted))
        np.testing.assert_array_equal(order.copy_to_host(), reference_order(wanted))
        taken = cupy.from_dlpack(ordered)
        assert taken.device.id == device
        np.testing.assert_array_equal(cupy.asnumpy(taken), np.sort(wanted))
    found = spansort.sort_pairs(OnlyInterface(on_gpu), OnlyInterface(indices))
    np.testing.assert_array_equal(found.values.copy_to_host(), reference_order(x))
    spansort.sort_inplace(OnlyInterface(on_gpu), descending=True)
    np.testing.assert_array_equal(cupy.asnumpy(on_gpu), np.sort(x)[::-1])
    if device != 0:
        with pytest.raises(TypeError, match="same GPU"):
            spansort.sort_pairs(OnlyInterface(on_gpu), OnlyInterface(cupy.asarray(x)))
    assert cupy.cuda.runtime.getDevice() == 0


@pytest.mark.usefixtures("real_driver")
def test_numba(rng: np.random.Generator) -> None:
    cuda = pytest.importorskip("numba.cuda")
    x = random_keys("float32", 100_000, rng, "few")
    on_gpu = cuda.to_device(x)
    found = cuda.as_cuda_array(spansort.sort(on_gpu))
    np.testing.assert_array_equal(bits(found.copy_to_host()), bits(spansort.sort(x)))
    spansort.sort_inplace(on_gpu)
    np.testing.assert_array_equal(bits(on_gpu.copy_to_host()), bits(spansort.sort(x)))


@pytest.mark.usefixtures("real_driver")
def test_host_memory_is_refused() -> None:
    with pytest.raises(ValueError, match="GPU"):
        spansort.sort_inplace(Holder(np.array([3, 1, 2])))


@needs_gpu
@pytest.mark.usefixtures("real_driver")
def test_more_memory_than_there_is() -> None:
    with pytest.raises(spansort.OutOfMemoryError) as caught:
        _core.GpuMemory(0, 1 << 50)
    assert caught.value.needed == 1 << 50 > caught.value.available
