# SPDX-License-Identifier: Apache-2.0
"""Tables as dicts of NumPy's arrays."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from . import _core
from ._arrays import Array, keys_of_dtype, native
from ._options import Progress, Size, options
from ._sort import take

#: Wider elements have no order as bytes in the library.
_MOST_KEY_BYTES = 1024


def arrays_of(table: Mapping[str, Any], function: str) -> dict[str, Array]:
    """Return the columns of a dict as arrays of one length, masked ones with their masks."""
    arrays = {name: np.asanyarray(column) for name, column in table.items()}
    lengths = {name: len(array) if array.ndim else -1 for name, array in arrays.items()}
    if -1 in lengths.values():
        raise ValueError(f"{function}: column {next(n for n in lengths if lengths[n] < 0)!r} has no rows")
    if len(set(lengths.values())) > 1:
        raise ValueError(f"{function}: columns of a table have the same length, not {lengths}")
    return arrays


def _bits(valid: Array) -> Array:
    return np.packbits(valid, bitorder="little")


def _key_column(name: str, array: Array, key: _core.TableKey, function: str) -> _core.TableColumn:
    valid: Array | None = None
    if isinstance(array, np.ma.MaskedArray):
        valid, array = ~np.ma.getmaskarray(array), array.data
    array = native(np.asarray(array))
    found = keys_of_dtype(array.dtype) if array.ndim == 1 else None
    if found is not None and found.name != "bf16":
        if found.has_nat:  # NaT is missing, as null is
            there = ~np.isnat(array)
            valid = there if valid is None else valid & there
            array = array.view("int64")
        return _core.table_column(array, found.number, None if valid is None else _bits(valid), key)
    if array.ndim == 1 and array.dtype.kind in "SU" and 0 < array.dtype.itemsize <= _MOST_KEY_BYTES:
        if array.dtype.kind == "U":  # the bytes of big-endian characters are in the characters' order
            array = array.astype(array.dtype.newbyteorder(">"))
        as_bytes = np.ascontiguousarray(array).view(f"V{array.dtype.itemsize}")
        return _core.table_column(as_bytes, -1, None if valid is None else _bits(valid), key)
    raise TypeError(
        f"{function}: column {name!r} of {array.ndim} dimensions and dtype {array.dtype} has no order; integers, floats "
        f"of 16 to 64 bits, bool, dates, and strings of at most {_MOST_KEY_BYTES} bytes in one dimension have one"
    )


def order_of(
    arrays: Mapping[str, Array],
    names: Sequence[str],
    keys: Sequence[_core.TableKey],
    function: str,
    devices: str,
    threads: int,
    memory: Size,
    progress: Progress,
) -> Array:
    """Return the stable order of rows by columns."""
    for name in names:
        if name not in arrays:
            raise ValueError(f"{function}: no column has the name {name!r}: there are {', '.join(map(str, arrays))}")
    columns = [_key_column(name, arrays[name], key, function) for name, key in zip(names, keys)]
    num_rows = len(next(iter(arrays.values()))) if arrays else 0
    with options(devices, threads, memory, progress) as given:
        return _core.order_of_columns(columns, num_rows, given)


def is_only_key(arrays: Mapping[str, Array], names: Sequence[str]) -> bool:
    """Return whether the table is one column of integers, which is its key: equal rows are the same, then."""
    if len(arrays) != 1 or list(arrays) != list(names):
        return False
    (array,) = arrays.values()
    return type(array) is np.ndarray and array.ndim == 1 and array.dtype.kind in "biu" and array.dtype.isnative


def taken(arrays: Mapping[str, Array], rows: Array, threads: int) -> dict[str, Array]:
    """Return the rows of all columns."""

    def of(array: Array) -> Array:
        if isinstance(array, np.ma.MaskedArray):
            return np.ma.MaskedArray(of(array.data), of(np.ma.getmaskarray(array)))
        plain = np.asarray(array)
        if plain.dtype.hasobject:
            return plain[rows]
        made: Array = take(plain, rows, axis=0, threads=threads)
        return made

    return {name: of(array) for name, array in arrays.items()}
