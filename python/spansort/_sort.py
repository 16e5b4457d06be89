# SPDX-License-Identifier: Apache-2.0
"""Sorts of arrays, and what belongs to them."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any, NamedTuple

import numpy as np

from . import _core, _gpu, _records
from ._arrays import (
    Array,
    Keys,
    axis_of,
    in_place,
    is_record,
    keys_of_dtype,
    native,
    native_copy,
    output,
    refuse,
    source,
)
from ._gpu_libraries import gpu_library, traced_library
from ._options import Progress, Size, options
from ._records import Order

_KINDS = (None, "quicksort", "heapsort", "mergesort", "stable")


class SortedPairs(NamedTuple):
    """What :func:`sort_pairs` returns."""

    keys: Any
    values: Any


@contextmanager
def _given(devices: str, threads: int, memory: Size, progress: Progress) -> Iterator[_core.Options | None]:
    if devices == "auto" and threads == 0 and memory is None and not progress and progress is not False:
        yield None
    else:
        with options(devices, threads, memory, progress) as made:
            yield made


def _check_kind(kind: str | None, function: str) -> None:
    if kind not in _KINDS:
        raise ValueError(f"{function}: kind: {kind!r} is none of {', '.join(map(repr, _KINDS))}")


def sort_rows(rows: Array, order: Order, descending: bool, given: _core.Options | None, function: str,
              is_disposable: bool = False) -> None:  # fmt: skip
    """
    Sort along the last axis, in place: a native array that may be changed.

    One that is disposable is thrown away when the sort is cancelled, which is then at once.
    """
    keys = keys_of_dtype(rows.dtype)
    if keys is not None:
        if order is not None:
            raise ValueError(f"{function}: order: an array of dtype {rows.dtype} has no fields")
        _core.sort_rows(rows, keys.number, keys.has_nat, descending, given, is_disposable)
    elif is_record(rows.dtype):
        _records.sort_rows(rows, order, descending, given, function, is_disposable)
    else:
        raise refuse(rows.dtype, function)


def order_rows(rows: Array, indices: Array, order: Order, descending: bool, given: _core.Options | None,
               function: str) -> None:  # fmt: skip
    """Write the order along the last axis: of a native array."""
    keys = keys_of_dtype(rows.dtype)
    if keys is not None:
        if order is not None:
            raise ValueError(f"{function}: order: an array of dtype {rows.dtype} has no fields")
        _core.order_rows(rows, keys.number, keys.has_nat, indices, descending, given)
    elif is_record(rows.dtype):
        _records.order_rows(rows, indices, order, descending, given, function)
    else:
        raise refuse(rows.dtype, function)


def sort(
    x: Any,
    /,
    axis: int | None = -1,
    kind: str | None = None,
    order: Order = None,
    *,
    descending: bool = False,
    stable: bool = True,
    out: Array | None = None,
    devices: str = "auto",
    threads: int = 0,
    memory: Size = None,
    progress: Progress = None,
) -> Any:
    """
    Return a sorted copy of an array.

    Parameters
    ----------
    x : array_like
        Keys: integers and floats of 8 to 64 bits, bool, datetime64, timedelta64, bfloat16 of ml_dtypes; fixed-width
        bytes and strings; structured arrays, which are ordered by their fields. Any memory layout and byte order.
        Arrays of other libraries are taken by ``__dlpack__`` from host memory. Arrays in the memory of an NVIDIA GPU,
        of PyTorch, CuPy, JAX and others with the array API, ``__cuda_array_interface__`` or ``__dlpack__``, are sorted
        there, and arrays that JAX traces where its program runs: see the manual.
    axis : int or None, optional
        The axis along which each row is sorted by itself; None sorts all elements as one sequence.
    kind : str, optional
        Taken for the sake of NumPy and not looked at: there is one sort.
    order : str or sequence, optional
        Fields of a structured array that count, the first most: a name, or a list of names and of pairs such as
        ``("price", "desc")``. Default: all fields in their order.
    descending : bool, optional
        The greatest first. NaN and NaT are last all the same.
    stable : bool, optional
        Taken for the sake of the array API: the sort is the same either way. Keys that are equal in value and differ
        in bits, -0.0 and 0.0, are ordered by their bits; of structured arrays equal elements keep their order.
    out : ndarray, optional
        Where the result is written: shape and dtype of the result, C-contiguous. It may be `x`. After an error its
        content is unspecified. For an array on a GPU, another of its library on the same GPU.
    devices : str, optional
        ``"auto"``, ``"cpu"``, ``"gpu"``, ``"gpu:0,1"``, ``"host:4"``.
    threads : int, optional
        Threads that compute on the host; 0 means one for each processor that the process may use.
    memory : int or str, optional
        Ceiling on the workspace: bytes, or text such as ``"2G"``.
    progress : bool or callable, optional
        True shows a bar of tqdm. A function is called about ten times a second with the phase and the fraction done;
        where it returns False the call ends with :class:`spansort.Cancelled`.

    Returns
    -------
    array
        Shape and dtype of `x`, or of one dimension where `axis` is None; an array of the caller's library where that
        has ``from_dlpack``, else of NumPy; a :class:`spansort.GpuArray` on a GPU where no library can be asked for one.

    Raises
    ------
    TypeError
        For elements without an order.
    ValueError
        For arguments that cannot be.
    spansort.OutOfMemoryError, MemoryError
        Where memory is not there, with ``needed`` and ``available`` bytes.
    spansort.DeviceError
        For devices that are not there or fail.
    KeyboardInterrupt
        Ctrl-C ends a long call, within half a second or so.

    Examples
    --------
    >>> import numpy as np, spansort
    >>> spansort.sort(np.array([3.5, np.nan, -1.0, 2.0]))
    array([-1. ,  2. ,  3.5,  nan])
    >>> spansort.sort(np.array([3, 1, 2]), descending=True)
    array([3, 2, 1])
    """
    plain = devices == "auto" and threads == 0 and memory is None and progress is None
    if plain and axis == -1 and out is None and order is None:
        result = _core.sorted_copy(x, not not descending)
        if result is not None:
            if kind is not None:
                _check_kind(kind, "sort")
            return result
    _check_kind(kind, "sort")
    library = gpu_library(x, "sort")
    if library is not None:
        on_gpu = _gpu.gpu_options(descending, order, devices, threads, memory, progress, "sort")
        return library.run(_gpu.sort, x, axis, out, on_gpu)
    array, back = source(x, "sort")
    if axis is None:
        array, axis = array.reshape(-1), -1
    axis = axis_of(array, axis, "sort")
    is_last = axis == array.ndim - 1
    if out is not None:
        target = output(out, "sort", array.shape, array.dtype)
        if is_last:
            target[...] = array
            with _given(devices, threads, memory, progress) as given:
                sort_rows(target, order, bool(descending), given, "sort", not np.may_share_memory(target, array))
            return out
    rows = native_copy(np.moveaxis(array, axis, -1))
    with _given(devices, threads, memory, progress) as given:
        sort_rows(rows, order, bool(descending), given, "sort", True)
    result = np.moveaxis(rows, -1, axis).astype(array.dtype, order="C", copy=False)
    if out is not None:
        target[...] = result
        return out
    return back(result)


def sort_inplace(
    x: Any,
    /,
    axis: int = -1,
    *,
    order: Order = None,
    descending: bool = False,
    devices: str = "auto",
    threads: int = 0,
    memory: Size = None,
    progress: Progress = None,
) -> None:
    """
    Sort an array where it is.

    Parameters
    ----------
    x : ndarray or other writeable array
        As :func:`sort` takes, C-contiguous, aligned and in native byte order: a NumPy array, a memory map, a
        memoryview, a bytearray, or what exports its memory by ``__dlpack__``.
    axis : int, optional
        As :func:`sort`. Another axis than the last one takes a copy.
    order, descending, devices, threads, memory, progress
        As :func:`sort`.

    Raises
    ------
    TypeError
        For memory that is not C-contiguous, and as :func:`sort`. `x` is untouched by every error but that of a GPU that
        fails while the result is copied back; of several rows, each is as it was or sorted.
    ValueError
        For read-only arrays, and as :func:`sort`.
    KeyboardInterrupt
        Ctrl-C ends a long call, but not while it overwrites `x`, which takes about the last half of it.
    """
    library = gpu_library(x, "sort_inplace")
    if library is not None:
        on_gpu = _gpu.gpu_options(descending, order, devices, threads, memory, progress, "sort_inplace")
        library.run(_gpu.sort_inplace, x, axis, on_gpu)
        return
    array = in_place(x, "sort_inplace")
    axis = axis_of(array, axis, "sort_inplace")
    is_changing = is_record(array.dtype) and _records.format_of(array.dtype, order, "sort_inplace").is_changing
    with _given(devices, threads, memory, progress) as given:
        if axis == array.ndim - 1 and not is_changing:
            sort_rows(array, order, bool(descending), given, "sort_inplace")
            return
        # Dates and strings of records are sorted in another form, which nobody shall see.
        rows = native_copy(np.moveaxis(array, axis, -1))
        sort_rows(rows, order, bool(descending), given, "sort_inplace", True)
    array[...] = np.moveaxis(rows, -1, axis)


def argsort(
    x: Any,
    /,
    axis: int | None = -1,
    kind: str | None = None,
    order: Order = None,
    *,
    descending: bool = False,
    stable: bool = True,
    out: Array | None = None,
    devices: str = "auto",
    threads: int = 0,
    memory: Size = None,
    progress: Progress = None,
) -> Any:
    """
    Return the indices that sort an array, stable in both directions.

    Parameters
    ----------
    x, axis, kind, order, descending, devices, threads, memory, progress
        As :func:`sort`.
    stable : bool, optional
        Taken for the sake of the array API: equal keys always keep their order; -0.0 equals 0.0, and NaN equals NaN.
    out : ndarray of int64, optional
        Where the indices are written.

    Returns
    -------
    array of int64
        Shape of `x`: ``take(x, argsort(x))`` is sorted.

    Raises
    ------
    As :func:`sort`.

    Examples
    --------
    >>> import numpy as np, spansort
    >>> spansort.argsort(np.array([3, 1, 3, 2]), descending=True)
    array([0, 2, 3, 1])
    """
    plain = devices == "auto" and threads == 0 and memory is None and progress is None
    if plain and axis == -1 and out is None and order is None:
        result = _core.stable_order(x, not not descending)
        if result is not None:
            if kind is not None:
                _check_kind(kind, "argsort")
            return result
    _check_kind(kind, "argsort")
    library = gpu_library(x, "argsort")
    if library is not None:
        on_gpu = _gpu.gpu_options(descending, order, devices, threads, memory, progress, "argsort")
        return library.run(_gpu.argsort, x, axis, out, on_gpu)
    array, back = source(x, "argsort")
    if axis is None:
        array, axis = array.reshape(-1), -1
    axis = axis_of(array, axis, "argsort")
    is_last = axis == array.ndim - 1
    target = None if out is None else output(out, "argsort", array.shape, np.dtype("int64"))
    rows = native(np.moveaxis(array, axis, -1))
    indices = target if target is not None and is_last else np.empty(rows.shape, "int64")
    with _given(devices, threads, memory, progress) as given:
        order_rows(rows, indices, order, bool(descending), given, "argsort")
    if target is None:
        return back(np.ascontiguousarray(np.moveaxis(indices, -1, axis)))
    if not is_last:
        target[...] = np.moveaxis(indices, -1, axis)
    return out


def keys_of_vector(array: Array, function: str) -> Keys:
    """Return the key type of an array of one dimension that must hold keys."""
    if array.ndim != 1:
        raise ValueError(f"{function}: an array of one dimension is expected, not of {array.ndim}")
    keys = keys_of_dtype(array.dtype)
    if keys is None:
        raise refuse(array.dtype, function)
    return keys


def _check_values(keys: Array, values: Array, function: str) -> None:
    if values.ndim == 0 or len(values) != len(keys):
        raise ValueError(f"{function}: as many values as keys are expected: {len(keys)}")
    if values.dtype.hasobject:
        raise TypeError(f"{function}: values that are Python objects are not moved; take the order of argsort")


def sort_pairs(
    keys: Any,
    values: Any,
    /,
    *,
    descending: bool = False,
    out: tuple[Array, Array] | None = None,
    devices: str = "auto",
    threads: int = 0,
    memory: Size = None,
    progress: Progress = None,
) -> SortedPairs:
    """
    Return keys sorted, and values moved along with them. Stable.

    Parameters
    ----------
    keys : array_like, shape (n,)
        As :func:`sort` takes, but for bytes, strings and structured arrays.
    values : array_like, shape (n, ...)
        Of any dtype but Python objects; each row moves with its key. Up to 16 bytes a row are fastest.
    out : tuple of two ndarrays, optional
        Where keys and values are written; ``out=(keys, values)`` sorts in place.
    descending, devices, threads, memory, progress
        As :func:`sort`.

    Returns
    -------
    SortedPairs
        A named tuple of ``keys`` and ``values``.

    Raises
    ------
    As :func:`sort`.

    Examples
    --------
    >>> import numpy as np, spansort
    >>> spansort.sort_pairs(np.array([2, 1, 2]), np.array([10, 20, 30]))
    SortedPairs(keys=array([1, 2, 2]), values=array([20, 10, 30]))
    """
    if out is None and devices == "auto" and threads == 0 and memory is None and progress is None:
        plain = _core.sorted_pairs(keys, values, not not descending)
        if plain is not None:
            return SortedPairs(*plain)
    library = gpu_library(keys, "sort_pairs") or traced_library(values)
    if library is not None:
        on_gpu = _gpu.gpu_options(descending, None, devices, threads, memory, progress, "sort_pairs")
        return SortedPairs(*library.run(_gpu.sort_pairs, keys, values, out, on_gpu))
    key_array, keys_back = source(keys, "sort_pairs")
    value_array, values_back = source(values, "sort_pairs")
    keys_of_vector(key_array, "sort_pairs")
    _check_values(key_array, value_array, "sort_pairs")
    if out is None:
        new_keys = native_copy(key_array)
        new_values = np.array(value_array, order="C", copy=True)
    else:
        new_keys = output(out[0], "sort_pairs", key_array.shape, key_array.dtype)
        new_values = output(out[1], "sort_pairs", value_array.shape, value_array.dtype)
        if np.may_share_memory(new_keys, new_values):
            raise ValueError("sort_pairs: out: keys and values overlap")
        if out[0] is not keys:
            if np.may_share_memory(new_keys, value_array):
                value_array = value_array.copy()
            new_keys[...] = key_array
        if out[1] is not values:
            new_values[...] = value_array
    kind = keys_of_vector(new_keys, "sort_pairs")
    if new_values.size > 0:
        with _given(devices, threads, memory, progress) as given:
            _core.sort_pairs(new_keys, kind.number, kind.has_nat, new_values, bool(descending), given, out is None)
    else:
        with _given(devices, threads, memory, progress) as given:
            sort_rows(new_keys, None, bool(descending), given, "sort_pairs", out is None)
    if out is not None:
        return SortedPairs(out[0], out[1])
    return SortedPairs(keys_back(new_keys.astype(key_array.dtype, copy=False)), values_back(new_values))


def take(x: Any, indices: Any, /, *, axis: int | None = None, out: Array | None = None, threads: int = 0) -> Any:
    """
    Return the elements at indices, copied by all threads.

    Parameters
    ----------
    x : array_like
        Of any dtype but Python objects.
    indices : array_like of int, shape (m,)
        From 0 up to below the length of the axis; negative ones are refused.
    axis : int, optional
        May be left out where `x` has one dimension; 0 takes rows.
    out : ndarray, optional
        Where the elements are written; it must not overlap `x`.
    threads : int, optional
        As :func:`sort`.

    Returns
    -------
    array
        As `x`, with m elements along the axis.

    Raises
    ------
    IndexError
        For an index out of range, named with its position; nothing is written then.
    KeyboardInterrupt
        Ctrl-C ends a long call; what is in `out` is then unspecified.

    Examples
    --------
    >>> import numpy as np, spansort
    >>> prices = np.array([30, 10, 20])
    >>> spansort.take(np.array(["c", "a", "b"]), spansort.argsort(prices))
    array(['a', 'b', 'c'], dtype='<U1')
    """
    if out is None and threads == 0 and not axis:
        try:
            plain = _core.taken_copy(x, indices)
        except ValueError as error:
            raise IndexError(str(error)) from None
        if plain is not None:
            return plain
    array, back = source(x, "take")
    places = source(indices, "take").array
    if places.size == 0:
        places = places.astype("int64")
    if places.ndim != 1 or places.dtype.kind not in "iu":
        raise TypeError("take: indices: integers in an array of one dimension are expected")
    if array.dtype.hasobject:
        raise TypeError("take: Python objects are not copied")
    if axis is None and array.ndim > 1:
        raise TypeError("take: axis is expected where an array has more than one dimension")
    axis = axis_of(array, 0 if axis is None else axis, "take")
    places = native(places)
    if places.dtype.itemsize < 4:
        places = places.astype("int64")
    index_type = 4 + (places.dtype.kind == "i") + 2 * (places.dtype.itemsize == 8)
    rows = native(array) if axis == 0 and array.dtype.isnative else np.ascontiguousarray(np.moveaxis(array, axis, 0))
    shape = (len(places), *rows.shape[1:])
    end_shape = (*array.shape[:axis], len(places), *array.shape[axis + 1 :])
    target = None if out is None else output(out, "take", end_shape, array.dtype)
    if target is not None and np.may_share_memory(target, array):
        raise ValueError("take: out overlaps x")
    taken = target if target is not None and axis == 0 else np.empty(shape, array.dtype)
    try:
        _core.take(rows, places, index_type, taken, threads)
    except ValueError as error:
        raise IndexError(str(error)) from None
    if target is None:
        return back(np.ascontiguousarray(np.moveaxis(taken, 0, axis)))
    if axis != 0:
        target[...] = np.moveaxis(taken, 0, axis)
    return out


def is_sorted(x: Any, /, *, descending: bool = False) -> bool:
    """
    Return whether an array is in order: -0.0 equals 0.0, NaN and NaT are last.

    Parameters
    ----------
    x : array_like, shape (n,)
        As :func:`sort` takes.
    descending : bool, optional
        Whether the greatest is to be first.

    Returns
    -------
    bool

    Examples
    --------
    >>> import numpy as np, spansort
    >>> spansort.is_sorted(np.array([1.0, 2.0, np.nan]))
    True
    """
    array = native(source(x, "is_sorted").array)
    if is_record(array.dtype):
        if array.ndim != 1:
            raise ValueError(f"is_sorted: an array of one dimension is expected, not of {array.ndim}")
        order = argsort(array, descending=descending)
        return bool(np.array_equal(order, np.arange(len(order))))
    keys = keys_of_vector(array, "is_sorted")
    if keys.has_nat and not descending:
        # NaT is the least integer; as an unsigned one less than itself and one it is the greatest.
        array, keys = array.view("uint64") - np.uint64((1 << 63) + 1), Keys(6, False)
    return _core.is_sorted(array, keys.number, bool(descending))


def merge(*arrays: Any, descending: bool = False, devices: str = "auto", threads: int = 0, memory: Size = None,
          progress: Progress = None) -> Any:  # fmt: skip
    """
    Return the elements of several arrays as one sorted array.

    Parameters
    ----------
    *arrays : array_like, one dimension
        As :func:`sort` takes, of one dtype; they may be sorted, but need not be: the time is that of a sort of all.
    descending, devices, threads, memory, progress
        As :func:`sort`.

    Returns
    -------
    ndarray

    Examples
    --------
    >>> import numpy as np, spansort
    >>> spansort.merge(np.array([1, 4, 9]), np.array([2, 4]))
    array([1, 2, 4, 4, 9])
    """
    if not arrays:
        raise TypeError("merge: at least one array is expected")
    parts = [source(x, "merge") for x in arrays]
    if any(part.array.ndim != 1 for part in parts):
        raise ValueError("merge: arrays of one dimension are expected")
    if any(part.array.dtype != parts[0].array.dtype for part in parts):
        raise TypeError("merge: arrays of one dtype are expected")
    merged = native(np.concatenate([part.array for part in parts]))
    with _given(devices, threads, memory, progress) as given:
        sort_rows(merged, None, bool(descending), given, "merge", True)
    return parts[0].back(merged)


def searchsorted(x1: Any, x2: Any, /, *, side: str = "left", sorter: Any = None, threads: int = 0) -> Any:
    """
    Return where elements would have to be inserted into a sorted array.

    Parameters
    ----------
    x1 : array_like, shape (n,)
        Sorted ascending, or by `sorter`.
    x2 : array_like
        What is looked for.
    side : {'left', 'right'}, optional
        Before or behind equal elements.
    sorter : array_like of int, optional
        The order of `x1`, as :func:`argsort` returns it.
    threads : int, optional
        Many elements are looked for by so many threads; 0 means one for each processor.

    Returns
    -------
    array of int64
        Shape of `x2`. The search is that of ``numpy.searchsorted``.
    """
    array = source(x1, "searchsorted").array
    wanted, back = source(x2, "searchsorted")
    if side not in ("left", "right"):
        raise ValueError(f"searchsorted: side: 'left' or 'right' is expected, not {side!r}")
    if sorter is not None:
        array = take(array, sorter, threads=threads)
    num_threads = min(threads or _core.num_processors(), wanted.size // (1 << 14))

    def search(part: Array) -> Array:
        return np.asarray(np.searchsorted(array, part, side="right" if side == "right" else "left"))

    if num_threads < 2:
        return back(search(wanted))
    with ThreadPoolExecutor(num_threads) as pool:
        found = np.concatenate(list(pool.map(search, np.array_split(wanted.reshape(-1), num_threads))))
    return back(found.reshape(wanted.shape))


def sort_records(
    x: Any,
    keys: str,
    /,
    *,
    record_bytes: int,
    descending: bool = False,
    out: Array | None = None,
    devices: str = "auto",
    threads: int = 0,
    memory: Size = None,
    progress: Progress = None,
) -> Any:
    """
    Return fixed-width records sorted by fields that are given by their place. Stable.

    Parameters
    ----------
    x : bytes, memoryview or array
        Whole records of `record_bytes` each. Structured arrays are sorted by :func:`sort` with less ado.
    keys : str
        Fields as ``offset:size[:type][:r]``, several after commas, the first counts most: ``"0:10"`` are ten plain
        bytes, ``"0:4:u32,4:8:f64:r"`` a number and a descending one. Types: u8 i8 u16 i16 u32 i32 u64 i64 f16 bf16 f32
        f64, little-endian.
    record_bytes : int
        1 to 65536.
    out : ndarray, optional
        Where the records are written; it may be `x`.
    descending : bool, optional
        Turns the direction of every field around.
    devices, threads, memory, progress
        As :func:`sort`.

    Returns
    -------
    ndarray
        Of the dtype and shape of `x`, of uint8 where it is no array.

    Examples
    --------
    >>> import spansort
    >>> spansort.sort_records(b"b1a2a1", "0:1", record_bytes=2).tobytes()
    b'a2a1b1'
    """
    array = (
        np.frombuffer(x, "uint8") if isinstance(x, (bytes, bytearray, memoryview)) else source(x, "sort_records").array
    )
    if array.dtype.hasobject:
        raise refuse(array.dtype, "sort_records")
    if out is None:
        records = np.array(array, order="C", copy=True)
    else:
        records = output(out, "sort_records", array.shape, array.dtype)
        if out is not x:
            records[...] = array
    with _given(devices, threads, memory, progress) as given:
        _core.sort_records(records, record_bytes, keys, bool(descending), given, out is None)
    return records if out is None else out
