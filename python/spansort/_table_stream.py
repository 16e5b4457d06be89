# SPDX-License-Identifier: Apache-2.0
"""Sorted tables that are larger than memory, as streams of batches."""

from __future__ import annotations

import os
from collections.abc import Sequence
from types import TracebackType

from . import _core
from ._options import Path, Progress, Size, options


class TableStream:
    """
    A sorted table that need not fit in memory, which :func:`sort_table` returns where ``memory=`` is given.

    Whatever reads Arrow's streams reads it, batch by batch and once: ``pyarrow.RecordBatchReader.from_stream(t)``,
    ``duckdb.sql("from t")``, ``polars.DataFrame(t)``. Rows that did not fit are in temporary files without a name,
    which are gone when the stream is read to its end, closed, forgotten, or the process ends.

    Attributes
    ----------
    num_rows : int
    num_runs : int
        Sorted runs that were written; 0 where all rows are in memory.
    spilled_bytes : int
        What was written before the first batch was asked for, of all runs together.

    Examples
    --------
    >>> import spansort
    >>> spansort.TableStream.__name__
    'TableStream'
    """

    def __init__(self, stream: _core.SortedStream) -> None:
        self._stream = stream
        self.num_rows = stream.num_rows
        self.num_runs = stream.num_runs
        self.spilled_bytes = stream.spilled_bytes

    @property
    def column_names(self) -> list[str]:
        """Names of the columns."""
        return self._stream.column_names

    def __repr__(self) -> str:
        state = "" if self._stream.is_open else ", read or closed"
        return f"spansort.TableStream of {self.num_rows} rows{state}: {', '.join(self.column_names)}"

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        """Return a capsule with the stream, once; a ValueError then. A schema that is asked for is not heeded."""
        return self._stream.take()

    def __arrow_c_schema__(self) -> object:
        """Return a capsule with the schema, while the stream is not read."""
        return self._stream.schema()

    def close(self) -> None:
        """Give memory and temporary files back, if nobody has taken the stream."""
        self._stream.close()

    def __enter__(self) -> TableStream:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def sorted_stream(
    capsule: object,
    keys: Sequence[_core.TableKey],
    devices: str,
    threads: int,
    memory: Size,
    tmp: Path | Sequence[Path],
    progress: Progress,
) -> TableStream:
    """Sort a stream of batches in so much memory."""
    folders = [tmp] if isinstance(tmp, (str, os.PathLike)) else list(tmp)
    with options(devices, threads, memory, progress) as given:
        return TableStream(_core.sort_stream(capsule, keys, [os.fspath(folder) for folder in folders], given))
