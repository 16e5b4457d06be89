# SPDX-License-Identifier: Apache-2.0
"""Sorts of many segments of one array, each by itself."""

from __future__ import annotations

from typing import Any

import numpy as np

from . import _core, _gpu
from ._arrays import Array, native, native_copy, source
from ._gpu import gpu_options
from ._gpu_libraries import gpu_library
from ._gpu_library import GpuLibrary
from ._options import Size
from ._sort import _given, keys_of_vector


def _offsets(offsets: Any, function: str) -> Array:
    """Take positions as 64-bit integers."""
    taken = source(offsets, function).array
    if taken.dtype.kind not in "iu" or taken.ndim != 1:
        found = f"{taken.dtype} of {taken.ndim} axes"
        raise TypeError(f"{function}: offsets: a vector of integers is expected, not {found}")
    if taken.dtype.kind == "u" and taken.size != 0 and int(taken.max()) >= 2**63:
        raise ValueError(f"{function}: offsets: {int(taken.max())} lies beyond the elements")
    return native(taken.astype("int64", copy=False))


def _offsets_for_gpu(library: GpuLibrary, offsets: Any, function: str) -> Any:
    """Return offsets that lie on a GPU as they are, and others as a vector of 64-bit integers."""
    return offsets if library.is_array(offsets) else _offsets(offsets, function)


def sort_segments(
    x: Any,
    /,
    offsets: Any,
    *,
    descending: bool = False,
    devices: str = "auto",
    threads: int = 0,
    memory: Size = None,
) -> Any:
    """
    Return a copy of an array of one axis in which each segment is sorted by itself.

    Parameters
    ----------
    x : array_like
        Keys of one axis, as :func:`sort` takes them; no structured arrays, bytes and strings. On a GPU up to 2^32 - 1.
    offsets : array_like of integers
        One more than segments: segment i are the elements from ``offsets[i]`` up to ``offsets[i + 1]``. They never
        decrease; elements before the first and behind the last stay as they are. Arrow's lists and SciPy's CSR matrices
        (``indptr``) have them. For keys on a GPU they may lie there too, as int32, uint32, int64 or uint64, and are not
        looked at on the host then: if they are wrong the content of the result is undefined.
    descending, threads, memory
        As :func:`sort`.
    devices : str, optional
        ``"auto"``, ``"cpu"`` or ``"host:4"``: the CPU sorts arrays in host memory. Arrays on a GPU are sorted there.

    Returns
    -------
    array
        Shape and dtype of `x`.

    Raises
    ------
    ValueError
        For offsets that decrease or lie beyond the elements, and as :func:`sort`.
    TypeError, spansort.OutOfMemoryError, MemoryError
        As :func:`sort`.

    Examples
    --------
    >>> import numpy as np, spansort
    >>> spansort.sort_segments(np.array([3, 1, 2, 9, 8]), [0, 3, 5])
    array([1, 2, 3, 8, 9])
    """
    library = gpu_library(x, "sort_segments")
    if library is not None:
        on_gpu = gpu_options(descending, None, devices, threads, memory, None, "sort_segments")
        return library.run(_gpu.sort_segments, x, _offsets_for_gpu(library, offsets, "sort_segments"), on_gpu)
    array, back = source(x, "sort_segments")
    keys = keys_of_vector(array, "sort_segments")
    bounds = _offsets(offsets, "sort_segments")
    copy = native_copy(array)
    with _given(devices, threads, memory, None) as given:
        _core.sort_segments(copy, keys.number, keys.has_nat, bounds, bool(descending), given)
    return back(copy.astype(array.dtype, copy=False))


def argsort_segments(
    x: Any,
    /,
    offsets: Any,
    *,
    descending: bool = False,
    devices: str = "auto",
    threads: int = 0,
    memory: Size = None,
) -> Any:
    """
    Return the indices that sort each segment of an array of one axis, stable in both directions.

    Parameters
    ----------
    x, offsets, descending, devices, threads, memory
        As :func:`sort_segments`.

    Returns
    -------
    array of int64
        Shape of `x`. Indices count from 0 in each segment: ``x[offsets[i] + result[offsets[i]]]`` is the first of
        segment i. Outside of all segments they are 0.

    Raises
    ------
    As :func:`sort_segments`.

    Examples
    --------
    >>> import numpy as np, spansort
    >>> spansort.argsort_segments(np.array([3, 1, 2, 9, 8]), [0, 3, 5])
    array([1, 2, 0, 1, 0])
    """
    library = gpu_library(x, "argsort_segments")
    if library is not None:
        on_gpu = gpu_options(descending, None, devices, threads, memory, None, "argsort_segments")
        return library.run(_gpu.argsort_segments, x, _offsets_for_gpu(library, offsets, "argsort_segments"), on_gpu)
    array, back = source(x, "argsort_segments")
    keys = keys_of_vector(array, "argsort_segments")
    bounds = _offsets(offsets, "argsort_segments")
    indices = np.zeros(array.shape, "int64")
    with _given(devices, threads, memory, None) as given:
        _core.order_segments(native(array), keys.number, keys.has_nat, bounds, indices, bool(descending), given)
    return back(indices)
