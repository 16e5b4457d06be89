# SPDX-License-Identifier: Apache-2.0
"""Structured arrays, bytes and strings as records, which are ordered by fields."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple, Union

import numpy as np

from . import _core
from ._arrays import Array, keys_of_dtype, refuse

#: Fields by which a structured array is ordered: a name, or several, each alone or with "asc" or "desc".
Order = Union[str, Sequence[Union[str, tuple[str, str]]], None]

_MOST_BYTES = 256  # of a field of plain bytes
_MOST_RECORD_BYTES = 65536  # that the library sorts
_INDEX = np.dtype("int64")
# This number is subtracted from dates as unsigned integers, so that NaT, the least integer, becomes the greatest one.
_NAT_BIAS = np.uint64((1 << 63) + 1)


class _Field(NamedTuple):
    dtype: np.dtype[Any]
    offset: int


def _offset(dtype: np.dtype[Any], name: str) -> int:
    return 0 if dtype.fields is None else dtype.fields[name][1]


def _leaves(dtype: np.dtype[Any], offset: int, function: str) -> Iterator[_Field]:
    """Yield the fields that are no structures, in their order."""
    if dtype.subdtype is not None:
        raise TypeError(f"{function}: a field of several values ({dtype}) has no order")
    if dtype.names is None:
        yield _Field(dtype, offset)
        return
    for name in dtype.names:
        yield from _leaves(dtype[name], offset + _offset(dtype, name), function)


def _ordered(dtype: np.dtype[Any], order: Order, function: str) -> Iterator[tuple[_Field, bool]]:
    """Yield the fields that count, and whether each is descending."""
    if order is None:
        for leaf in _leaves(dtype, 0, function):
            yield leaf, False
        return
    for entry in [order] if isinstance(order, str) else order:
        name, way = (entry, "asc") if isinstance(entry, str) else entry
        if dtype.fields is None or name not in dtype.fields:
            raise ValueError(f"{function}: order: there is no field {name!r}; dtype {dtype} is given")
        if way not in ("asc", "desc"):
            raise ValueError(f"{function}: order: 'asc' or 'desc' is expected beside the name, not {way!r}")
        for leaf in _leaves(dtype[name], _offset(dtype, name), function):
            yield leaf, way == "desc"


def _described(field: _Field, is_descending: bool, function: str) -> Iterator[str]:
    """Yield a field in the notation of the library, a long text in pieces."""
    reverse = ":r" if is_descending else ""
    size = field.dtype.itemsize
    if field.dtype.kind in "SU":
        for begin in range(0, size, _MOST_BYTES):
            yield f"{field.offset + begin}:{min(_MOST_BYTES, size - begin)}{reverse}"
    else:
        keys = keys_of_dtype(field.dtype)
        if keys is None:
            raise refuse(field.dtype, function)
        yield f"{field.offset}:{size}:{'u64' if keys.has_nat else keys.name}{reverse}"


class Format(NamedTuple):
    """How records are ordered, and which fields of them need another form for that."""

    text: str
    dates: dict[int, bool]  # offset: descending
    strings: dict[int, int]  # offset: characters

    @property
    def is_changing(self) -> bool:
        return bool(self.dates or self.strings)


def format_of(dtype: np.dtype[Any], order: Order, function: str) -> Format:
    """Return the order of elements of a dtype in native byte order."""
    if dtype.hasobject:
        raise refuse(dtype, function)
    ordered = list(_ordered(dtype, order, function))
    text = [part for field, is_descending in ordered for part in _described(field, is_descending, function)]
    dates = {field.offset: way for field, way in ordered if field.dtype.kind in "mM"}
    strings = {field.offset: field.dtype.itemsize // 4 for field, _ in ordered if field.dtype.kind == "U"}
    return Format(",".join(text), dates, strings)


@contextmanager
def _in_order(records: Array, form: Format, flip: bool) -> Iterator[None]:
    """Give dates and strings of records (bytes) a form in which the library orders them, and theirs at the end.

    Dates become unsigned integers with NaT where it belongs, strings code points whose bytes are in order.
    """
    count, item_bytes = records.shape
    # Descending turns the least last: NaT as an integer is that already, with its sign bit flipped.
    dates = [
        (np.ndarray((count,), "uint64", records, offset, (item_bytes,)),
         np.uint64(1 << 63) if way != flip else _NAT_BIAS)
        for offset, way in form.dates.items()
    ]  # fmt: skip
    strings = [
        np.ndarray((count, length), "uint32", records, offset, (item_bytes, 4))
        for offset, length in form.strings.items()
    ]
    for field, bias in dates:
        np.subtract(field, bias, out=field)
    for field in strings:
        field.byteswap(inplace=True)
    try:
        yield
    finally:
        for field, bias in dates:
            np.add(field, bias, out=field)
        for field in strings:
            field.byteswap(inplace=True)


def _numbers(records: Array, offset: int) -> Array:
    """Return the numbers that stand at an offset of each record (bytes)."""
    count, record_bytes = records.shape
    return np.ndarray((count,), _INDEX, records, offset, (record_bytes,))


def _are_sorted_together(rows: Array, more_bytes: int, options: _core.Options | None) -> bool:
    """Return whether one sort takes all rows, so that devices are opened once: their records get a row number."""
    return (
        options is not None
        and options.opens_devices
        and rows.size > rows.shape[-1]
        and rows.dtype.itemsize + more_bytes + _INDEX.itemsize <= _MOST_RECORD_BYTES
    )


def _sort_together(rows: Array, records: Array, form: Format, descending: bool, options: _core.Options | None) -> None:
    """Sort records (bytes) of all rows that end with room for a row number, row by row."""
    offset = records.shape[1] - _INDEX.itemsize
    _numbers(records, offset)[:] = np.repeat(np.arange(rows.size // rows.shape[-1]), rows.shape[-1])
    by_row = f"{offset}:{_INDEX.itemsize}:i64{':r' if descending else ''},{form.text}"
    with _in_order(records, form, descending):
        _core.sort_records(records, records.shape[1], by_row, descending, options, True)


def sort_rows(rows: Array, order: Order, descending: bool, options: _core.Options | None, function: str,
              is_disposable: bool = False) -> None:  # fmt: skip
    """Sort the rows of a structured array in place; if is_changing, nobody else may see it meanwhile."""
    form = format_of(rows.dtype, order, function)
    size = rows.dtype.itemsize
    if not form.text or rows.size == 0:
        return
    if _are_sorted_together(rows, 0, options):
        records = rows.reshape(-1).view("uint8").reshape(-1, size)
        numbered = np.empty((rows.size, size + _INDEX.itemsize), "uint8")
        numbered[:, :size] = records
        _sort_together(rows, numbered, form, descending, options)
        records[:] = numbered[:, :size]
        return
    for row in rows.reshape(-1, rows.shape[-1]):
        records = row.view("uint8").reshape(-1, size)
        with _in_order(records, form, descending):
            _core.sort_records(records, size, form.text, descending, options, is_disposable)


def order_rows(rows: Array, indices: Array, order: Order, descending: bool, options: _core.Options | None,
               function: str) -> None:  # fmt: skip
    """Write the stable order of the rows of a structured array: records that end with their index are sorted."""
    form = format_of(rows.dtype, order, function)
    size = rows.dtype.itemsize
    if rows.size == 0:
        return
    count = rows.shape[-1]
    if form.text and _are_sorted_together(rows, _INDEX.itemsize, options):
        numbered = np.empty((rows.size, size + 2 * _INDEX.itemsize), "uint8")
        numbered[:, :size] = rows.reshape(-1).view("uint8").reshape(-1, size)
        places = _numbers(numbered, size)
        places[:] = np.arange(rows.size) % count
        _sort_together(rows, numbered, form, descending, options)
        indices.reshape(-1)[:] = places
        return
    numbered = np.empty((count, size + _INDEX.itemsize), "uint8")
    places = _numbers(numbered, size)
    for row, row_indices in zip(rows.reshape(-1, count), indices.reshape(-1, count)):
        if size > 0:
            numbered[:, :size] = row.view("uint8").reshape(count, size)
        places[:] = np.arange(count)
        if form.text:
            with _in_order(numbered, form, descending):
                _core.sort_records(numbered, size + _INDEX.itemsize, form.text, descending, options, True)
        row_indices[:] = places
