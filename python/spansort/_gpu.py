# SPDX-License-Identifier: Apache-2.0
"""Sorts of arrays that lie in the memory of a GPU: put on the stream of their library, in memory that it allocates."""

from __future__ import annotations

import functools
import math
from typing import Any, NamedTuple

import numpy as np

from . import _core
from ._arrays import axis_of_shape
from ._errors import OutOfMemoryError
from ._gpu_library import GpuLibrary
from ._options import Progress, Size, size_bytes

#: Values of these sizes are moved by the sort; others are gathered by its order.
_MOVED_BYTES = (4, 8, 16)
#: Orders of so many keys are found as numbers of 32 bits, which halves what is moved, and widened in the end. Few keys
#: would pay more for the second launch; 2^31 is where such numbers end.
_NARROW_ORDERS = range(1 << 21, 1 << 31)
#: Offsets of segments have one of these dtypes.
_OFFSETS = ("int32", "uint32", "int64", "uint64")


class GpuOptions(NamedTuple):
    """Options of a call that count on a GPU."""

    descending: bool
    memory: int
    names_gpu: bool = False


_ASCENDING, _DESCENDING = GpuOptions(False, 0), GpuOptions(True, 0)


def gpu_options(
    descending: bool, order: object, devices: str, threads: int, memory: Size, progress: Progress, function: str
) -> GpuOptions:
    """Check the options that the functions have for arrays in host memory."""
    if order is None and devices == "auto" and threads == 0 and memory is None and not progress:
        return _DESCENDING if descending else _ASCENDING
    if order is not None:
        raise ValueError(f"{function}: order: an array on a GPU has no fields")
    if devices not in ("auto", "gpu"):
        raise ValueError(f"{function}: devices: the array is sorted where it is; 'auto' is expected, not {devices!r}")
    if threads < 0:
        raise ValueError("threads: 0, for as many as there are processors, or more are expected")
    if progress:
        raise ValueError(f"{function}: progress: a sort on a GPU's stream does not tell how far it is")
    return GpuOptions(bool(descending), size_bytes(memory, "memory"), devices == "gpu")


class _Segments(NamedTuple):
    """Parts of a vector that are sorted each by itself: rows of one length, or what offsets on the GPU tell."""

    num_segments: int
    row_length: int = 0
    offsets: Any = None
    offsets_type: int = 0


class _Keys(NamedTuple):
    """Keys as one vector, and the shape that they came in, with the axis last along which rows are sorted."""

    vector: Any
    shape: tuple[int, ...]
    type: int
    segments: _Segments | None = None
    #: Where another axis than the last one was given: which axis of the array each axis of the shape was. The vector is
    #: a copy then.
    axes: tuple[int, ...] | None = None

    @property
    def num_keys(self) -> int:
        return self.shape[0] if len(self.shape) == 1 else math.prod(self.shape)

    @property
    def shape_of_array(self) -> tuple[int, ...]:
        return tuple(self.shape[axis] for axis in self.axes_of_array)

    @property
    def axes_of_array(self) -> tuple[int, ...]:
        """Which axis of the shape each axis of the array is."""
        axes = range(len(self.shape)) if self.axes is None else self.axes
        return tuple(axes.index(axis) for axis in range(len(self.shape)))

    def of_array(self, library: GpuLibrary, vector: Any) -> Any:
        """Return elements in the shape of the array, as a view where its axes were in another order."""
        if len(self.shape) == 1:
            return vector
        rows = vector.reshape(self.shape)
        return rows if self.axes is None else library.permuted(rows, self.axes_of_array)

    def result(self, library: GpuLibrary, vector: Any) -> Any:
        """Return elements in the shape of the array, C-contiguous."""
        found = self.of_array(library, vector)
        if self.axes is None:
            return found
        copied = library.copy(found)
        _wait(library, copied)
        return copied


def _keys(library: GpuLibrary, x: Any, axis: int | None, function: str) -> _Keys:
    library.check(x, function)
    number = library.key_type(x)
    if number is None:
        raise TypeError(
            f"{function}: elements of dtype {library.dtype_name(x)} have no order on a GPU; keys are integers and "
            "floats of 8 to 64 bits, bfloat16 and bool"
        )
    shape: tuple[int, ...] = tuple(x.shape)
    if len(shape) == 1 and axis in (-1, 0):
        return _Keys(x, shape, number)
    if axis is None:
        return _Keys(x if len(shape) == 1 else library.flat(x), (math.prod(shape),), number)
    along, count = axis_of_shape(shape, axis, function), math.prod(shape)
    if count in (0, shape[along]):
        return _Keys(library.flat(x), shape, number)
    rows = _Segments(count // shape[along], shape[along])
    if along == len(shape) - 1:
        return _Keys(library.flat(x), shape, number, rows)
    axes = (*(other for other in range(len(shape)) if other != along), along)
    moved = library.copy(library.permuted(x, axes))
    return _Keys(moved.reshape(-1), tuple(shape[each] for each in axes), number, rows, axes)


# The bytes of a workspace stay the same as long as the process lives: the least, and those of the fastest sort.
@functools.lru_cache(maxsize=1024)
def _sort_bytes(device: int, type: int, count: int, value_bytes: int) -> tuple[int, int]:
    return (
        _core.gpu_sort_bytes(device, type, count, value_bytes),
        _core.gpu_sort_bytes(device, type, count, value_bytes, True),
    )


@functools.lru_cache(maxsize=1024)
def _argsort_bytes(device: int, type: int, count: int, index_bytes: int) -> tuple[int, int]:
    return (
        _core.gpu_argsort_bytes(device, type, count, index_bytes),
        _core.gpu_argsort_bytes(device, type, count, index_bytes, True),
    )


def _workspace(library: GpuLibrary, sizes: tuple[int, int], limit: int, like: Any, stream: int) -> tuple[Any, int, int]:
    """Return a workspace, its address and its bytes: the larger size is a wish, the smaller what a call takes."""
    least, fastest = sizes
    if limit and least > limit:
        raise OutOfMemoryError(f"a workspace of {least} bytes is needed; {limit} are allowed", least, limit)
    if fastest > least and not (limit and fastest > limit):
        try:
            workspace = library.empty(fastest, "uint8", like)
            return workspace, library.address(workspace, stream), fastest
        except (MemoryError, RuntimeError):  # the libraries' errors where their memory ends
            pass
    workspace = library.empty(least, "uint8", like)
    return workspace, library.address(workspace, stream) if least else 0, least


def _told(library: GpuLibrary, segments: _Segments, stream: int) -> tuple[Any, _core.GpuSegments]:
    """Return segments as the module takes them, and an array that has to live until they are on the stream."""
    if segments.offsets is None:
        return None, _core.GpuSegments(segments.num_segments, segments.row_length, 0, 0)
    offsets, address = library.contiguous_at(segments.offsets, stream)
    return offsets, _core.GpuSegments(segments.num_segments, 0, address, segments.offsets_type)


def _wait(library: GpuLibrary, array: Any) -> None:
    """Wait for the stream, of libraries that cannot be told of it."""
    if library.waits and math.prod(array.shape) > 0:
        device = library.device(array)
        _core.gpu_wait(device, library.stream(device))


def _run_sort(
    library: GpuLibrary, keys: Any, type: int, count: int, values: Any, value_bytes: int, given: GpuOptions
) -> None:
    """Sort contiguous keys where they are, and move values along, where `value_bytes` is not 0."""
    if count < 2:
        return _wait(library, keys)  # for a copy of it
    device = library.device(keys)
    stream = library.stream(device)
    sizes = _sort_bytes(device, type, count, value_bytes)
    workspace, address, size = _workspace(library, sizes, given.memory, keys, stream)
    call = _core.GpuCall(device, stream, address, size)
    address_of_values = library.address(values, stream) if value_bytes else 0
    _core.gpu_sort(call, type, library.address(keys, stream), count, address_of_values, value_bytes, given.descending)
    _wait(library, keys)


def _run_sort_segments(
    library: GpuLibrary, vector: Any, type: int, count: int, segments: _Segments, given: GpuOptions
) -> None:
    """Sort the segments of contiguous keys where they are."""
    if count < 2 or segments.num_segments == 0 or segments.row_length == 1:
        return _wait(library, vector)  # for a copy of it
    device = library.device(vector)
    stream = library.stream(device)
    offsets, told = _told(library, segments, stream)
    size = _core.gpu_sort_segments_bytes(device, type, count, told)
    workspace, address, size = _workspace(library, (size, size), given.memory, vector, stream)
    call = _core.GpuCall(device, stream, address, size)
    _core.gpu_sort_segments(call, type, library.address(vector, stream), count, told, given.descending)
    _wait(library, vector)


def _sort_keys(library: GpuLibrary, vector: Any, keys: _Keys, given: GpuOptions) -> None:
    """Sort a vector of as many keys where it is."""
    if keys.segments is None:
        _run_sort(library, vector, keys.type, keys.num_keys, None, 0, given)
    else:
        _run_sort_segments(library, vector, keys.type, keys.num_keys, keys.segments, given)


def _run_argsort(library: GpuLibrary, keys: _Keys, indices: Any, index_bytes: int, given: GpuOptions) -> None:
    count = keys.num_keys
    if count == 0 or (keys.segments is not None and keys.segments.num_segments == 0):
        return
    device = library.device(keys.vector)
    stream = library.stream(device)
    vector, address_of_keys = library.contiguous_at(keys.vector, stream)
    offsets, told = None, None
    if keys.segments is None:
        sizes = _argsort_bytes(device, keys.type, count, index_bytes)
    else:
        offsets, told = _told(library, keys.segments, stream)
        sizes = (_core.gpu_argsort_segments_bytes(device, keys.type, count, index_bytes, told),) * 2
    workspace, address, size = _workspace(library, sizes, given.memory, vector, stream)
    call = _core.GpuCall(device, stream, address, size)
    address_of_indices = library.address(indices, stream)
    if told is None:
        _core.gpu_argsort(call, keys.type, address_of_keys, count, address_of_indices, index_bytes, given.descending)
    else:
        _core.gpu_argsort_segments(
            call, keys.type, address_of_keys, count, address_of_indices, index_bytes, told, given.descending
        )
    _wait(library, keys.vector)


def _check_writeable(library: GpuLibrary, array: Any, name: str, function: str) -> None:
    if not library.writes:
        raise TypeError(f"{function}: {name}: arrays of this library are not written to")
    if library.is_read_only(array):
        raise ValueError(f"{function}: {name} is read-only")
    if not library.is_contiguous(array):
        raise TypeError(f"{function}: {name} is changed in place and must be C-contiguous; others are copied first")


def _target(
    library: GpuLibrary, target: Any, name: str, shape: tuple[int, ...], dtype_name: str, like: Any, function: str
) -> Any:
    """Take an array of the caller's that is written to."""
    array = library.array(target) if library.is_array(target) else None
    if array is None or library.device(array) != library.device(like):
        raise TypeError(f"{function}: {name}: an array of the same library on the same GPU is expected")
    library.check(array, function)
    found = (tuple(array.shape), library.dtype_name(array))
    if found != (shape, dtype_name):
        raise ValueError(
            f"{function}: {name}: shape {shape} and dtype {dtype_name} are expected, not {found[0]} and {found[1]}"
        )
    _check_writeable(library, array, name, function)
    return array


def sort(library: GpuLibrary, x: Any, axis: int | None, out: Any, given: GpuOptions) -> Any:
    """Return a sorted copy."""
    if library.compiled is not None and out is None and not given.memory:
        return library.compiled.sort(x, axis, given)
    array = library.array(x)
    keys = _keys(library, array, axis, "sort")
    if out is None:
        copied = keys.vector if keys.axes is not None else library.copy(keys.vector)
        _sort_keys(library, copied, keys, given)
        return keys.result(library, copied)
    target = _target(library, out, "out", keys.shape_of_array, library.dtype_name(array), array, "sort")
    if keys.axes is not None:
        _sort_keys(library, keys.vector, keys, given)
        library.assign(target, keys.of_array(library, keys.vector))
        _wait(library, target)
        return out
    if out is not x:
        library.assign(target, keys.vector.reshape(keys.shape))
    library.will_write(target)
    _sort_keys(library, target.reshape(-1), keys, given)
    return out


def sort_inplace(library: GpuLibrary, x: Any, axis: int, given: GpuOptions) -> None:
    """Sort an array where it is."""
    array = library.array(x)
    keys = _keys(library, array, axis, "sort_inplace")
    _check_writeable(library, array, "x", "sort_inplace")
    if keys.axes is not None:
        _sort_keys(library, keys.vector, keys, given)
        library.assign(array, keys.of_array(library, keys.vector))
        return _wait(library, array)
    library.will_write(array)
    _sort_keys(library, keys.vector, keys, given)


def _order(library: GpuLibrary, keys: _Keys, out: Any, given: GpuOptions) -> Any:
    """Return the order of the keys as a vector of the library's indices."""
    count = keys.num_keys
    dtype_name = library.index_dtype_name()
    longest = keys.segments.row_length if keys.segments is not None and keys.segments.row_length else count
    if dtype_name == "int32" and longest > 1 << 31:
        raise ValueError(
            f"orders of {longest} keys need int64, which this library has not (jax_enable_x64 turns it on)"
        )
    # Nothing is written outside of segments.
    make = library.empty if keys.segments is None or keys.segments.row_length else library.zeros
    if count in _NARROW_ORDERS and dtype_name == "int64" and library.casts:
        narrow = make(count, "int32", keys.vector)
        _run_argsort(library, keys, narrow, 4, given)
        if out is None:
            return library.cast(narrow, dtype_name)
        library.assign(out, narrow)
        return out
    if out is not None:
        library.will_write(out)
    indices = make(count, dtype_name, keys.vector) if out is None else out
    _run_argsort(library, keys, indices, 4 if dtype_name == "int32" else 8, given)
    return indices


def argsort(library: GpuLibrary, x: Any, axis: int | None, out: Any, given: GpuOptions) -> Any:
    """Return the stable order."""
    if library.compiled is not None and out is None and not given.memory:
        return library.compiled.argsort(x, axis, given)
    array = library.array(x)
    keys = _keys(library, array, axis, "argsort")
    if out is None:
        return keys.result(library, _order(library, keys, None, given))
    target = _target(library, out, "out", keys.shape_of_array, "int64", array, "argsort")
    if keys.axes is None:
        _order(library, keys, target.reshape(-1), given)
    else:
        library.assign(target, keys.of_array(library, _order(library, keys, None, given)))
        _wait(library, target)
    return out


def _segments(library: GpuLibrary, keys: _Keys, like: Any, offsets: Any, function: str) -> _Segments:
    """Take offsets: an array of the library's, which is not looked at, or one of NumPy's, which is."""
    if isinstance(offsets, np.ndarray):
        if offsets.size and (offsets[0] < 0 or offsets[-1] > keys.num_keys or bool(np.any(offsets[1:] < offsets[:-1]))):
            raise ValueError(f"{function}: offsets decrease, or lie beyond the {keys.num_keys} elements")
        # Not every library has numbers of 64 bits, and few offsets need them: at most 2^32 - 1 keys are taken.
        wide = "uint32" if library.index_dtype_name() == "int32" else "int64"
        array = library.of_host(offsets.astype("int32" if keys.num_keys < 1 << 31 else wide), like)
    else:
        array = library.array(offsets)
        if keys.num_keys > 0 and library.device(array) != library.device(like):
            raise TypeError(f"{function}: offsets: an array on the GPU of the keys is expected")
        library.check(array, function)
    name, shape = library.dtype_name(array), tuple(array.shape)
    if name not in _OFFSETS or len(shape) != 1:
        expected = ", ".join(_OFFSETS)
        raise TypeError(
            f"{function}: offsets: a vector of {expected} is expected on a GPU, not {name} of shape {shape}"
        )
    if shape[0] == 0:
        raise ValueError(f"{function}: offsets: one more than segments are expected, found none")
    return _Segments(int(shape[0]) - 1, 0, array, library.key_type(array) or 0)


def _keys_in_segments(library: GpuLibrary, x: Any, offsets: Any, function: str) -> _Keys:
    array = library.array(x)
    if len(array.shape) != 1:
        raise ValueError(f"{function}: an array of one dimension is expected, not of {len(array.shape)}")
    keys = _keys(library, array, 0, function)
    return keys._replace(segments=_segments(library, keys, array, offsets, function))


def sort_segments(library: GpuLibrary, x: Any, offsets: Any, given: GpuOptions) -> Any:
    """Return a copy in which each segment is sorted."""
    keys = _keys_in_segments(library, x, offsets, "sort_segments")
    copied = library.copy(keys.vector)
    _sort_keys(library, copied, keys, given)
    return copied


def argsort_segments(library: GpuLibrary, x: Any, offsets: Any, given: GpuOptions) -> Any:
    """Return the stable order of each segment."""
    return _order(library, _keys_in_segments(library, x, offsets, "argsort_segments"), None, given)


def _row_bytes(values: Any) -> int:
    shape: tuple[int, ...] = tuple(values.shape)
    return math.prod(shape[1:]) * int(values.dtype.itemsize)


def _memory_of(library: GpuLibrary, x: Any) -> range:
    """Return the addresses between the first and the last byte of an array's elements."""
    begin = library.address(x, library.stream(library.device(x)))
    if math.prod(x.shape) == 0:
        return range(begin, begin)
    reaches = [(length - 1) * stride for length, stride in zip(x.shape, library.byte_strides(x))]
    end = begin + sum(max(0, reach) for reach in reaches) + int(x.dtype.itemsize)
    return range(begin + sum(min(0, reach) for reach in reaches), end)


def _overlap(library: GpuLibrary, a: Any, b: Any) -> bool:
    one, other = _memory_of(library, a), _memory_of(library, b)
    return one.start < other.stop and other.start < one.stop


def sort_pairs(library: GpuLibrary, x: Any, values: Any, out: Any, given: GpuOptions) -> tuple[Any, Any]:
    """Return keys sorted and values moved along, or write them to `out`."""
    if library.compiled is not None and out is None and not given.memory:
        ordered, moved = library.compiled.sort_pairs(x, values, given)
        return ordered, moved
    array = library.array(x)
    if len(array.shape) != 1:
        raise ValueError(f"sort_pairs: an array of one dimension is expected, not of {len(array.shape)}")
    keys = _keys(library, array, 0, "sort_pairs")
    moved = library.array(values) if library.is_array(values) else None
    if moved is None or library.device(moved) != library.device(array):
        raise TypeError("sort_pairs: values: an array of the library of the keys on the same GPU is expected")
    library.check(moved, "sort_pairs")
    if len(moved.shape) == 0 or int(moved.shape[0]) != keys.num_keys:
        raise ValueError(f"sort_pairs: as many values as keys are expected: {keys.num_keys}")
    row_bytes = _row_bytes(moved)
    if out is None:
        if row_bytes not in _MOVED_BYTES:
            return _gathered(library, keys, moved, given)
        new_keys, new_values = library.copy(array), library.copy(moved)
        _run_sort(library, new_keys, keys.type, keys.num_keys, new_values, row_bytes, given)
        return new_keys, new_values
    new_keys = _target(library, out[0], "out", keys.shape, library.dtype_name(array), array, "sort_pairs")
    new_values = _target(library, out[1], "out", tuple(moved.shape), library.dtype_name(moved), array, "sort_pairs")
    if _overlap(library, new_keys, new_values):
        raise ValueError("sort_pairs: out: keys and values overlap")
    if row_bytes not in _MOVED_BYTES or _memory_of(library, new_values).start % row_bytes != 0:
        sorted_keys, sorted_values = _gathered(library, keys, moved, given)
        library.assign(new_keys, sorted_keys)
        library.assign(new_values, sorted_values)
        return out[0], out[1]
    if out[0] is not x:
        if _overlap(library, new_keys, moved):
            moved = library.copy(moved)
        library.assign(new_keys, array)
    if out[1] is not values:
        library.assign(new_values, moved)
    library.will_write(new_keys)
    library.will_write(new_values)
    _run_sort(library, new_keys, keys.type, keys.num_keys, new_values, row_bytes, given)
    return out[0], out[1]


def _gathered(library: GpuLibrary, keys: _Keys, values: Any, given: GpuOptions) -> tuple[Any, Any]:
    """Return keys and values by their order."""
    order = _order(library, keys, None, given)
    return library.gather(keys.vector, order), library.gather(values, order)
