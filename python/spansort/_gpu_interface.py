# SPDX-License-Identifier: Apache-2.0
"""Arrays on a GPU of no library that could allocate: what has ``__cuda_array_interface__``, or ``__dlpack__`` alone.

Memory for results is the driver's. Elements that do not lie one behind the other, and rows of values that the sort does
not move, go to the host and back.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from . import _core
from ._arrays import Array
from ._gpu_array import CODE_OF_KIND, LEGACY_STREAM, GpuArray
from ._gpu_library import CUDA, GpuLibrary, key_type_of, name_of

_KIND_OF_CODE = {code: kind for kind, code in CODE_OF_KIND.items()}


class _Given(GpuArray):
    """An array of the caller's: where its elements lie, which stream works on them, and whether others may write."""

    strides: tuple[int, ...] | None = None
    stream: int | None = None
    is_read_only = False

    def reshape(self, shape: int | tuple[int, ...]) -> GpuArray:
        if shape == self.shape:
            return self
        made = super().reshape(shape)
        view = _Given(self, made._address, made.device, made.shape, made.dtype)
        view.stream = self.stream
        return view


def _contiguous_strides(shape: tuple[int, ...], dtype: np.dtype[Any]) -> tuple[int, ...]:
    return tuple(math.prod(shape[axis + 1 :]) * dtype.itemsize for axis in range(len(shape)))


def _strides(x: GpuArray) -> tuple[int, ...]:
    """Return the bytes from an element to the next one along each axis."""
    strides = x.strides if isinstance(x, _Given) else None
    return _contiguous_strides(x.shape, x.dtype) if strides is None else strides


def _is_contiguous(x: GpuArray) -> bool:
    return x.size == 0 or all(
        length == 1 or found == wanted
        for length, found, wanted in zip(x.shape, _strides(x), _contiguous_strides(x.shape, x.dtype))
    )


def _reach(x: GpuArray) -> range:
    """Return the addresses from the first to the last byte of the elements."""
    if x.size == 0:
        return range(x._address, x._address)
    reaches = [(length - 1) * stride for length, stride in zip(x.shape, _strides(x))]
    first = x._address + sum(min(0, reach) for reach in reaches)
    return range(first, x._address + sum(max(0, reach) for reach in reaches) + x.dtype.itemsize)


def _made(owner: object, address: int, device: int, shape: tuple[int, ...], dtype: np.dtype[Any],
          strides: tuple[int, ...] | None, function: str) -> _Given:  # fmt: skip
    if any(length < 0 for length in shape) or (strides is not None and len(strides) != len(shape)):
        raise ValueError(f"{function}: an array of shape {shape} and strides {strides} cannot be")
    if address == 0 and math.prod(shape) > 0:
        raise ValueError(f"{function}: an array of shape {shape} has no memory")
    made = _Given(owner, address, device, shape, dtype)
    made.strides = strides
    return made


def _dtype_of(text: Any, function: str) -> np.dtype[Any]:
    try:
        dtype: np.dtype[Any] | None = np.dtype(text) if isinstance(text, str) else None
    except TypeError:
        dtype = None
    if dtype is None or dtype.hasobject:
        raise TypeError(f"{function}: {text!r} names no elements that lie on a GPU")
    return dtype


def _of_interface(x: Any, interface: dict[str, Any], default_device: int, function: str) -> _Given:
    try:
        shape, text, version = tuple(map(int, interface["shape"])), interface["typestr"], int(interface["version"])
        address, is_read_only = interface["data"]
        address = 0 if address is None else int(address)
        strides = None if interface.get("strides") is None else tuple(map(int, interface["strides"]))
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise TypeError(f"{function}: __cuda_array_interface__ is not what it is to be: {error}") from None
    if version < 2:
        raise TypeError(f"{function}: __cuda_array_interface__ of version 2 or newer is expected, not of {version}")
    if interface.get("mask") is not None:
        raise TypeError(f"{function}: an array with a mask is not taken, for the mask would be lost")
    stream = interface.get("stream") if version >= 3 else None
    if stream == 0:
        raise ValueError(f"{function}: stream 0 of __cuda_array_interface__ may be any; 1 is the default one")
    given = _made(x, address, default_device, shape, _dtype_of(text, function), strides, function)
    if given.size > 0:
        given.device = _core.gpu_of(address)
    given.stream = None if stream is None else int(stream)
    given.is_read_only = bool(is_read_only)
    return given


def _of_dlpack(x: Any, function: str) -> _Given:
    """Take what is told by DLPack that the default stream waits for its work; nobody says that it may be written to."""
    capsule = x.__dlpack__(stream=LEGACY_STREAM)
    address, device, shape, strides, code, bits, lanes = _core.exported_elements(capsule)
    kind = _KIND_OF_CODE.get(code)
    if kind is None or lanes != 1 or bits % 8 != 0:
        raise TypeError(f"{function}: elements of DLPack's type {code} with {bits} bits are not taken here")
    dtype = _dtype_of("?" if kind == "b" else f"{kind}{bits // 8}", function)
    in_bytes = None if strides is None else tuple(stride * dtype.itemsize for stride in strides)
    given = _made(capsule, address, device, shape, dtype, in_bytes, function)
    given.is_read_only = True
    return given


def has_memory_of_gpu(x: Any) -> bool:
    """Return whether an object says by the interface, or by DLPack, that it lies in the memory of a GPU."""
    if hasattr(x, "__cuda_array_interface__"):
        return True
    return hasattr(x, "__dlpack__") and hasattr(x, "__dlpack_device__") and int(x.__dlpack_device__()[0]) in CUDA


class CudaInterface(GpuLibrary):
    """
    One call's arrays. The sort goes to the stream that the first one names, else to the default stream.

    What is put on a stream here is done when the call returns: memory of the driver waits for the GPU when it is freed.
    """

    waits = True
    casts = False

    def __init__(self, x: Any, function: str) -> None:
        self._function = function
        self._device = 0
        self._first: tuple[Any, GpuArray] | None = None
        array = self.array(x)
        self._first = (x, array)
        self._device = array.device
        stream = array.stream if isinstance(array, _Given) else None
        self._stream = LEGACY_STREAM if stream is None else stream

    def array(self, x: Any) -> GpuArray:
        if self._first is not None and x is self._first[0]:
            return self._first[1]
        if isinstance(x, GpuArray):
            return x
        interface = getattr(x, "__cuda_array_interface__", None)
        if interface is None:
            return _of_dlpack(x, self._function)
        return _of_interface(x, interface, self._device, self._function)

    def is_array(self, x: Any) -> bool:
        return has_memory_of_gpu(x)

    def is_read_only(self, x: Any) -> bool:
        return isinstance(x, _Given) and x.is_read_only

    def check(self, x: Any, function: str) -> None:
        if not x.dtype.isnative:
            raise TypeError(f"{function}: elements in native byte order are expected")

    def device(self, x: Any) -> int:
        return int(x.device)

    def stream(self, device: int) -> int:
        return self._stream

    def dtype_name(self, x: Any) -> str:
        return name_of(x.dtype)

    def key_type(self, x: Any) -> int | None:
        return key_type_of(x.dtype)

    def address(self, x: Any, stream: int) -> int:
        works_on = x.stream if isinstance(x, _Given) else None
        if works_on is not None and works_on != stream:
            _core.gpu_wait(x.device, works_on)
        return int(x._address)

    def is_contiguous(self, x: Any) -> bool:
        return _is_contiguous(x)

    def byte_strides(self, x: Any) -> tuple[int, ...]:
        return _strides(x)

    def flat(self, x: Any) -> Any:
        return self.contiguous(x).reshape(-1)

    def permuted(self, x: Any, axes: tuple[int, ...]) -> Any:
        strides = _strides(x)
        view = _Given(x, x._address, x.device, tuple(x.shape[axis] for axis in axes), x.dtype)
        view.strides = tuple(strides[axis] for axis in axes)
        view.stream = x.stream if isinstance(x, _Given) else None
        return view

    def contiguous(self, x: Any) -> Any:
        return x if _is_contiguous(x) else self.copy(x)

    def copy(self, x: Any) -> Any:
        if not _is_contiguous(x):
            return self._from_host(self._to_host(x))
        copied = GpuArray._new(x.device, x.shape, x.dtype)
        self._copy(copied, x)
        return copied

    def assign(self, target: Any, x: Any) -> None:
        if not _is_contiguous(x):
            x = self.copy(x)
        one, other = _reach(target), _reach(x)
        if one == other:
            return
        if one.start < other.stop and other.start < one.stop:
            x = self.copy(x)
        self._copy(target, x)

    def empty(self, count: int, dtype_name: str, like: Any) -> Any:
        return GpuArray._new(like.device, (count,), np.dtype(dtype_name))

    def zeros(self, count: int, dtype_name: str, like: Any) -> Any:
        return self._from_host(np.zeros(count, dtype_name))

    def of_host(self, x: Array, like: Any) -> Any:
        return self._from_host(x)

    def gather(self, x: Any, indices: Any) -> Any:
        return self._from_host(self._to_host(x)[self._to_host(indices)])

    def _copy(self, target: GpuArray, x: GpuArray) -> None:
        if x.nbytes:
            source = self.address(x, self._stream)
            _core.gpu_copy(x.device, self._stream, self.address(target, self._stream), source, x.nbytes)

    def _to_host(self, x: GpuArray) -> Array:
        memory = _reach(x)
        raw = np.empty(len(memory), "uint8")
        if len(memory) > 0:
            self.address(x, self._stream)
            _core.gpu_copy(x.device, self._stream, raw.ctypes.data, memory.start, len(memory))
            _core.gpu_wait(x.device, self._stream)
        return np.ndarray(x.shape, x.dtype, raw, x._address - memory.start, _strides(x))

    def _from_host(self, host: Array) -> GpuArray:
        host = np.asarray(host, order="C")
        made = GpuArray._new(self._device, host.shape, host.dtype)
        if host.nbytes:
            _core.gpu_copy(self._device, self._stream, made._address, host.ctypes.data, host.nbytes)
            _core.gpu_wait(self._device, self._stream)
        return made
