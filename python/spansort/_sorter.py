# SPDX-License-Identifier: Apache-2.0
"""A sorter that keeps its workspace from call to call."""

from __future__ import annotations

from types import TracebackType
from typing import Any

import numpy as np

from . import _core
from ._arrays import Array, axis_of, in_place, keys_of_dtype, native, native_copy, output, refuse, source
from ._options import Progress, Size, options, size_bytes
from ._sort import SortedPairs, keys_of_vector


class Sorter:
    """
    Sorts as the functions of the same names do, and keeps devices, threads and workspace from call to call.

    One sorter serves one thread at a time; a call while another thread is in one raises RuntimeError.

    Parameters
    ----------
    devices, threads, memory, progress
        As :func:`spansort.sort`; `progress` is a function here.
    device_memory : int or str, optional
        Ceiling on the workspace on each device.
    algorithm : str, optional
        ``"auto"``, or one that ``spansort bench --list`` and the documentation name.

    Examples
    --------
    >>> import numpy as np, spansort
    >>> with spansort.Sorter(threads=2) as sorter:
    ...     for seed in range(3):
    ...         ordered = sorter.sort(np.random.default_rng(seed).random(1000))
    """

    def __init__(
        self,
        *,
        devices: str = "auto",
        threads: int = 0,
        memory: Size = None,
        device_memory: Size = None,
        algorithm: str = "auto",
        progress: Progress = None,
    ) -> None:
        if progress is True:
            raise TypeError("Sorter: progress: a function of phase and fraction is expected")
        with options(devices, threads, memory, progress, size_bytes(device_memory, "device_memory"), algorithm) as made:
            self._sorter = _core.Sorter(made)

    def __enter__(self) -> Sorter:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.release_workspace()

    @property
    def workspace_bytes(self) -> int:
        """Bytes of workspace held now."""
        return self._sorter.workspace_bytes()

    def release_workspace(self) -> None:
        """Give the workspace back to the system; the sorter can still be used."""
        self._sorter.release_workspace()

    def sort(self, x: Any, /, axis: int = -1, *, descending: bool = False) -> Any:
        """Return a sorted copy; as :func:`spansort.sort`, of keys alone."""
        array, back = source(x, "sort")
        axis = axis_of(array, axis, "sort")
        rows = native_copy(np.moveaxis(array, axis, -1))
        self._sort(rows, descending, "sort")
        return back(np.moveaxis(rows, -1, axis).astype(array.dtype, order="C", copy=False))

    def sort_inplace(self, x: Any, /, *, descending: bool = False) -> None:
        """Sort along the last axis, in place; as :func:`spansort.sort_inplace`, of keys alone."""
        array = in_place(x, "sort_inplace")
        axis_of(array, -1, "sort_inplace")
        self._sort(array, descending, "sort_inplace")

    def argsort(self, x: Any, /, axis: int = -1, *, descending: bool = False, out: Array | None = None) -> Any:
        """Return the stable order as int64; as :func:`spansort.argsort`, of keys alone. `out` takes the last axis."""
        array, back = source(x, "argsort")
        axis = axis_of(array, axis, "argsort")
        if out is not None and axis != array.ndim - 1:
            raise ValueError("argsort: out: the last axis is expected with it")
        rows = native(np.moveaxis(array, axis, -1))
        keys = keys_of_dtype(rows.dtype)
        if keys is None:
            raise refuse(rows.dtype, "argsort")
        dtype = np.dtype("int64")
        indices = np.empty(rows.shape, dtype) if out is None else output(out, "argsort", rows.shape, dtype)
        self._sorter.order_rows(rows, keys.number, keys.has_nat, indices, bool(descending))
        return out if out is not None else back(np.ascontiguousarray(np.moveaxis(indices, -1, axis)))

    def sort_pairs(self, keys: Array, values: Array, /, *, descending: bool = False) -> SortedPairs:
        """Sort keys in place and move values along, in place too; stable. Both are returned."""
        key_array = in_place(keys, "sort_pairs", "keys")
        value_array = in_place(values, "sort_pairs", "values")
        kind = keys_of_vector(key_array, "sort_pairs")
        if value_array.ndim == 0 or len(value_array) != len(key_array):
            raise ValueError(f"sort_pairs: as many values as keys are expected: {len(key_array)}")
        if value_array.dtype.hasobject:
            raise TypeError("sort_pairs: values that are Python objects are not moved; take the order of argsort")
        if np.may_share_memory(key_array, value_array):
            raise ValueError("sort_pairs: keys and values overlap")
        if value_array.size == 0:
            self._sort(key_array, descending, "sort_pairs")
        else:
            self._sorter.sort_pairs(key_array, kind.number, kind.has_nat, value_array, bool(descending))
        return SortedPairs(keys, values)

    def _sort(self, rows: Array, descending: bool, function: str) -> None:
        keys = keys_of_dtype(rows.dtype)
        if keys is None:
            raise refuse(rows.dtype, function)
        self._sorter.sort_rows(rows, keys.number, keys.has_nat, bool(descending))
