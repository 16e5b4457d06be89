# SPDX-License-Identifier: Apache-2.0
"""Tables of pandas, polars, pyarrow, DuckDB, DataFusion and all else that speaks Arrow's PyCapsule interface."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, Union, overload

import numpy as np

from . import _core, _table_columns
from ._arrays import Array
from ._options import Path, Progress, Size, options
from ._sort import sort
from ._table_stream import TableStream, sorted_stream


class Column(NamedTuple):
    """
    A column to order rows by, where its name and a direction do not say enough.

    Parameters
    ----------
    name : str
    descending : bool, optional
    nulls : {'last', 'first'}, optional
        Where nulls go, in both directions.
    nans : {'last', 'largest', 'null'}, optional
        Where NaN go: behind all numbers in both directions, above all numbers, or where nulls go.
    zeros : {'tie', 'negative_first'}, optional
        Whether -0.0 equals 0.0.

    What is not given is as the preset of the call has it.

    Examples
    --------
    >>> import spansort
    >>> spansort.Column("price", descending=True, nulls="first").name
    'price'
    """

    name: str
    descending: bool = False
    nulls: str | None = None
    nans: str | None = None
    zeros: str | None = None


#: What ``by=`` takes: names, ``("name", "desc")``, and :class:`Column`.
By = Union[str, Column, Sequence[Union[str, "tuple[str, str]", Column]]]


class Table:
    """
    A table that :func:`sort_table` and :func:`take_table` return: whatever reads Arrow's streams reads it.

    Its methods are those of Arrow's PyCapsule interface, so that ``pyarrow.table(t)``, ``polars.DataFrame(t)``,
    ``pandas.DataFrame.from_arrow(t)`` and ``duckdb.sql("from t")`` take it; nothing is copied where they copy nothing.

    Examples
    --------
    >>> import spansort
    >>> spansort.Table.__name__
    'Table'
    """

    def __init__(self, data: Any) -> None:
        self._table = _table_of(data, "Table")

    @classmethod
    def _made(cls, table: _core.ArrowTable) -> Table:
        made = cls.__new__(cls)
        made._table = table
        return made

    @property
    def column_names(self) -> list[str]:
        """Names of the columns."""
        return self._table.column_names

    def __len__(self) -> int:
        """Return the number of rows."""
        return self._table.num_rows

    def __repr__(self) -> str:
        return f"spansort.Table of {len(self)} rows: {', '.join(self.column_names)}"

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        """Return a capsule with an Arrow stream. A schema that is asked for is not heeded, as the interface allows."""
        return self._table.stream()

    def __arrow_c_schema__(self) -> object:
        """Return a capsule with the schema."""
        return self._table.schema()


def _table_of(data: Any, function: str) -> _core.ArrowTable:
    if isinstance(data, Table):
        return data._table
    if hasattr(data, "__arrow_c_stream__"):
        return _core.table_of_stream(data.__arrow_c_stream__())
    if hasattr(data, "__arrow_c_array__"):
        return _core.table_of_array(*data.__arrow_c_array__())
    raise TypeError(
        f"{function}: {type(data).__name__} is no table: it has neither __arrow_c_stream__ nor __arrow_c_array__"
    )


def _stream_of(data: Any) -> object:
    if isinstance(data, TableStream) or hasattr(data, "__arrow_c_stream__"):
        return data.__arrow_c_stream__()
    return _table_of(data, "sort_table").stream()


def columns_of(by: By, descending: bool, function: str) -> list[Column]:
    """Return what ``by=`` says as columns, each with its direction."""
    if isinstance(by, tuple) and not isinstance(by, Column) and len(by) == 2 and by[1] in ("asc", "desc"):
        raise TypeError(f"{function}: by: {by!r} could be two columns or one: [{by!r}], or a list, is expected")
    entries: Sequence[Any] = [by] if isinstance(by, (str, Column)) else list(by)
    columns = []
    for entry in entries:
        if isinstance(entry, str):
            entry = Column(entry, descending)
        elif not isinstance(entry, Column):
            if not (isinstance(entry, tuple) and len(entry) == 2 and entry[1] in ("asc", "desc")):
                raise TypeError(f"{function}: by: {entry!r} is none of a name, (name, 'asc' or 'desc'), and Column")
            entry = Column(entry[0], entry[1] == "desc")
        columns.append(entry)
    return columns


def _keys_of(columns: Sequence[Column], preset: str) -> list[_core.TableKey]:
    return [
        _core.table_key(name, bool(is_descending), preset, nulls, nans, zeros)
        for name, is_descending, nulls, nans, zeros in columns
    ]


def argsort_table(
    data: Any,
    by: By,
    *,
    descending: bool = False,
    preset: str = "numpy",
    devices: str = "auto",
    threads: int = 0,
    memory: Size = None,
    progress: Progress = None,
) -> Array:
    """
    Return the stable order of a table's rows by columns.

    Parameters
    ----------
    data, by, descending, preset, devices, threads, progress
        As :func:`sort_table`.
    memory : int or str, optional
        A ceiling on the workspace, as of :func:`sort`; the table is in memory.

    Returns
    -------
    ndarray of int64
        The row that comes first, second ...

    Raises
    ------
    As :func:`sort_table`.

    Examples
    --------
    >>> import spansort
    >>> people = spansort.Table(_people)  # doctest: +SKIP
    >>> spansort.argsort_table(people, ["last", ("born", "desc")])  # doctest: +SKIP
    """
    columns = columns_of(by, descending, "argsort_table")
    keys = _keys_of(columns, preset)
    if isinstance(data, Mapping):
        arrays = _table_columns.arrays_of(data, "argsort_table")
        names = [column.name for column in columns]
        return _table_columns.order_of(arrays, names, keys, "argsort_table", devices, threads, memory, progress)
    table = _table_of(data, "argsort_table")
    with options(devices, threads, memory, progress) as given:
        return _core.order_of_table(table, keys, given)


@overload
def sort_table(
    data: Mapping[str, Any],
    by: By,
    *,
    descending: bool = ...,
    preset: str = ...,
    devices: str = ...,
    threads: int = ...,
    memory: Size = ...,
    progress: Progress = ...,
) -> dict[str, Any]: ...
@overload
def sort_table(
    data: Any,
    by: By,
    *,
    descending: bool = ...,
    preset: str = ...,
    devices: str = ...,
    threads: int = ...,
    memory: None = ...,
    progress: Progress = ...,
) -> Table: ...
@overload
def sort_table(
    data: Any,
    by: By,
    *,
    descending: bool = ...,
    preset: str = ...,
    devices: str = ...,
    threads: int = ...,
    memory: int | str,
    tmp: Path | Sequence[Path] = ...,
    progress: Progress = ...,
) -> TableStream: ...
def sort_table(
    data: Any,
    by: By,
    *,
    descending: bool = False,
    preset: str = "numpy",
    devices: str = "auto",
    threads: int = 0,
    memory: Size = None,
    tmp: Path | Sequence[Path] = (),
    progress: Progress = None,
) -> Table | TableStream | dict[str, Any]:
    """
    Return a table's rows in the order of columns, stable.

    Rows become numbers of as few bits as their values need, which are sorted; they are never compared column by column.
    Without `memory` everything is in memory: the table, its order and the sorted copy. With it the table is read batch
    by batch, what does not fit goes to temporary files, and the result is a stream.

    Parameters
    ----------
    data : object with ``__arrow_c_stream__`` or ``__arrow_c_array__``, or dict of arrays
        DataFrames of pandas and polars, tables of pyarrow, relations of DuckDB, :class:`Table`. A stream is read to its
        end; several chunks are copied into one. Of a dict the columns are arrays of one length: numbers, bool, dates
        (NaT is null) and strings can be ordered by, all dtypes carried; a masked element is null.
    by : str, Column, or sequence of str, (str, 'asc' or 'desc') and Column
        The columns, the first one first: booleans, integers, floats, decimals, dates, times, durations, strings,
        binary, and dictionaries of these. Categoricals that say that they are ordered are sorted by their categories'
        order, others by their values.
    descending : bool, optional
        Of the columns that are given by their name alone.
    preset : {'numpy', 'pandas', 'duckdb', 'polars', 'datafusion'}, optional
        Whose order nulls, NaN and zeros have. NumPy: nulls last, NaN before them, -0.0 equals 0.0.
    devices, threads, progress
        As :func:`sort`. A function of progress hears no fraction where `memory` is given: streams do not say how long
        they are.
    memory : int or str, optional
        Bytes, or text such as ``"2G"``: a ceiling on what the sort holds while it reads and while its result is read,
        64 KiB at least. A batch of the source and one of the reader come on top, and all values of dictionaries. Of a
        dict, a ceiling on the workspace.
    tmp : path or sequence of paths, optional
        Folders for what does not fit. Default: ``$TMPDIR``, else ``/tmp``.

    Returns
    -------
    Table, with `memory` TableStream, of a dict a dict of arrays

    Raises
    ------
    TypeError
        The object is no table.
    ValueError
        Columns that do not exist or cannot be sorted or carried: lists, structures, unions.
    BadInputError
        The source has failed.
    OSError
        A temporary file cannot be made or written. While the result is read, such errors are raised by who reads it.
    OutOfMemoryError, DeviceError, Cancelled
        As :func:`sort`.

    Examples
    --------
    >>> import spansort
    >>> spansort.sort_table(people, ["last", ("born", "desc")])  # doctest: +SKIP
    spansort.Table of 3 rows: last, born
    >>> spansort.sort_table(connection.sql("from trades"), "price", memory="2G")  # doctest: +SKIP
    spansort.TableStream of 6001215 rows: symbol, price
    >>> spansort.sort_table({"a": [2, 1, 2], "b": [1.5, 2.5, 0.5]}, ["a", ("b", "desc")])
    {'a': array([1, 2, 2]), 'b': array([2.5, 1.5, 0.5])}
    """
    columns = columns_of(by, descending, "sort_table")
    keys = _keys_of(columns, preset)
    if isinstance(data, Mapping):
        if tmp:
            raise ValueError("sort_table: tmp: the arrays of a dict are in memory, and stay there")
        arrays = _table_columns.arrays_of(data, "sort_table")
        names = [column.name for column in columns]
        if _table_columns.is_only_key(arrays, names):
            reverse = columns[0].descending
            return {
                names[0]: sort(arrays[names[0]], descending=reverse, devices=devices, threads=threads, memory=memory,
                               progress=progress)
            }  # fmt: skip
        order = _table_columns.order_of(arrays, names, keys, "sort_table", devices, threads, memory, progress)
        return _table_columns.taken(arrays, order, threads)
    if memory is not None:
        return sorted_stream(_stream_of(data), keys, devices, threads, memory, tmp, progress)
    if tmp:
        raise ValueError("sort_table: tmp: memory= is expected with it, which says how much is held in memory")
    table = _table_of(data, "sort_table")
    with options(devices, threads, memory, progress) as given:
        return Table._made(_core.sorted_table(table, keys, given))


@overload
def take_table(data: Mapping[str, Any], indices: Any, *, threads: int = ...) -> dict[str, Any]: ...
@overload
def take_table(data: Any, indices: Any, *, threads: int = ...) -> Table: ...
def take_table(data: Any, indices: Any, *, threads: int = 0) -> Table | dict[str, Any]:
    """
    Return the rows of a table that `indices` names, in that order, copied by all threads.

    Parameters
    ----------
    data : object with ``__arrow_c_stream__`` or ``__arrow_c_array__``, or dict of arrays
    indices : array_like of integers
        Rows may come several times, and not at all; negative ones are refused.
    threads : int, optional
        As :func:`sort`.

    Returns
    -------
    Table, of a dict a dict of arrays

    Raises
    ------
    TypeError, ValueError
        The object is no table, the indices are no integers, or no row has one of them.

    Examples
    --------
    >>> import spansort
    >>> spansort.take_table(people, [0, 0, 2])  # doctest: +SKIP
    spansort.Table of 3 rows: last, born
    """
    rows = np.asarray(indices)
    if rows.ndim != 1 or (rows.dtype.kind not in "iu" and rows.size != 0):
        raise TypeError("take_table: one dimension of integers is expected")
    if rows.dtype.kind == "i" and (rows < 0).any():
        at = int(np.flatnonzero(rows < 0)[0])
        raise ValueError(f"take_table: index {rows[at]} at position {at} is negative")
    if isinstance(data, Mapping):
        arrays = _table_columns.arrays_of(data, "take_table")
        num_rows = len(next(iter(arrays.values()))) if arrays else 0
        if rows.size != 0 and int(rows.max()) >= num_rows:
            at = int(np.flatnonzero(rows >= num_rows)[0])
            raise ValueError(f"take_table: index {rows[at]} at position {at}: there are {num_rows} rows")
        return _table_columns.taken(arrays, rows.astype("int64"), threads)
    table = _table_of(data, "take_table")
    return Table._made(_core.take_table(table, np.ascontiguousarray(rows, "uint64"), threads))
