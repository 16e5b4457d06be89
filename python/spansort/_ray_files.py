# SPDX-License-Identifier: Apache-2.0
"""Files read in parts and written whole: Parquet by row groups, Arrow IPC by batches, records by ranges."""

from __future__ import annotations

import glob
import os
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from pyarrow import parquet

KEY = "key"
RECORD = "record"
FORMATS = ("parquet", "ipc", "records")
_SUFFIXES = {".parquet": "parquet", ".pq": "parquet", ".arrow": "ipc", ".feather": "ipc", ".ipc": "ipc"}


class Records(NamedTuple):
    """How a file of binary records is laid out: each of `num_bytes`, with a key of `key_bytes` from `key_offset` on."""

    num_bytes: int
    key_bytes: int
    key_offset: int


class Part(NamedTuple):
    """Rows of one file: row groups, batches or records from `begin` on."""

    path: str
    file_format: str
    begin: int
    end: int
    layout: Records | None

    def read(self, columns: Sequence[str] | None = None) -> Any:
        """Return the part's rows as a table of pyarrow, of some columns or all."""
        if self.layout is not None:
            table = self._records(self.layout)
            return table if columns is None else table.select(columns)
        if self.file_format == "parquet":
            with parquet.ParquetFile(self.path) as file:
                return file.read_row_groups(range(self.begin, self.end), columns=columns, use_threads=False)
        with pa.OSFile(self.path) as source, pa.ipc.open_file(source) as file:
            batches = [file.get_batch(number) for number in range(self.begin, self.end)]
            table = pa.Table.from_batches(batches, file.schema)
        return table if columns is None else table.select(columns)

    def _records(self, layout: Records) -> Any:
        count = self.end - self.begin
        rows = np.fromfile(self.path, "uint8", count * layout.num_bytes, offset=self.begin * layout.num_bytes)
        if rows.size != count * layout.num_bytes:
            raise ValueError(f"{self.path}: it has become shorter")
        rows = rows.reshape(count, layout.num_bytes)
        keys = np.ascontiguousarray(rows[:, layout.key_offset : layout.key_offset + layout.key_bytes])
        return pa.table({KEY: _fixed(keys), RECORD: _fixed(rows)})


def _fixed(rows: Any) -> Any:
    """Return rows of bytes as an array of binary values of one width, which shares their memory."""
    kind = pa.binary(rows.shape[1])
    return pa.FixedSizeBinaryArray.from_buffers(kind, len(rows), [None, pa.py_buffer(rows)])


def files_of(inputs: str | os.PathLike[str] | Sequence[str | os.PathLike[str]]) -> list[str]:
    """Return the files that are named: files, folders, whose files are taken by name, patterns as ``a-*.parquet``."""
    given = [inputs] if isinstance(inputs, (str, os.PathLike)) else list(inputs)
    files: list[str] = []
    for path in [os.fspath(each) for each in given]:
        if os.path.isdir(path):
            files += sorted(e.path for e in os.scandir(path) if e.is_file() and not e.name.startswith((".", "_")))
        elif not os.path.exists(path) and glob.has_magic(path):
            files += sorted(glob.glob(path))
        else:
            files.append(path)
    if not files:
        raise ValueError(f"inputs: no file is there: {inputs!r}")
    return [os.path.abspath(path) for path in files]


def format_of(path: str, given: str | None) -> str:
    """Return the format of a file by its name, unless one is given."""
    found = given or _SUFFIXES.get(os.path.splitext(path)[1].lower())
    if found not in FORMATS:
        raise ValueError(f"{path}: its name says no format: file_format: one of {', '.join(FORMATS)} is expected")
    return found


def _groups(sizes: Sequence[int], part_bytes: int) -> list[tuple[int, int]]:
    """Return ranges of neighbours that have no more bytes than `part_bytes` together, or are one alone."""
    ranges, begin, held = [], 0, 0
    for number, size in enumerate(sizes):
        if number > begin and held + size > part_bytes:
            ranges.append((begin, number))
            begin, held = number, 0
        held += size
    return [*ranges, (begin, len(sizes))] if sizes else []


def parts_of(path: str, file_format: str, layout: Records | None, part_bytes: int) -> list[Part]:
    """Return the parts of a file, each of about `part_bytes` of it, as far as its row groups or batches allow."""
    if layout is not None:
        num_bytes = os.stat(path).st_size
        count, rest = divmod(num_bytes, layout.num_bytes)
        if rest != 0:
            raise ValueError(f"{path}: {num_bytes} bytes are no whole records of {layout.num_bytes}")
        step = max(1, part_bytes // layout.num_bytes)
        ranges = [(begin, min(begin + step, count)) for begin in range(0, count, step)]
    elif file_format == "parquet":
        with parquet.ParquetFile(path) as file:
            found = file.metadata
            ranges = _groups([found.row_group(i).total_byte_size for i in range(found.num_row_groups)], part_bytes)
    else:
        with pa.memory_map(path) as source, pa.ipc.open_file(source) as file:
            ranges = _groups([file.get_batch(i).nbytes for i in range(file.num_record_batches)], part_bytes)
    return [Part(path, file_format, begin, end, layout) for begin, end in ranges]


def schema_of(path: str, file_format: str, layout: Records | None) -> Any:
    """Return the schema of a file's rows."""
    if layout is not None:
        return pa.schema({KEY: pa.binary(layout.key_bytes), RECORD: pa.binary(layout.num_bytes)})
    if file_format == "parquet":
        return parquet.read_schema(path)
    with pa.memory_map(path) as source, pa.ipc.open_file(source) as file:
        return file.schema


def _write_parquet(table: Any, file: Any) -> None:
    parquet.write_table(table, file)


def _write_ipc(table: Any, file: Any) -> None:
    with pa.ipc.new_file(file, table.schema) as writer:
        writer.write_table(table)


def _write_records(table: Any, file: Any) -> None:
    for chunk in table.column(RECORD).chunks:
        width = chunk.type.byte_width
        file.write(memoryview(chunk.buffers()[1])[chunk.offset * width : (chunk.offset + len(chunk)) * width])


_WRITERS: dict[str, Callable[[Any, Any], None]] = {
    "parquet": _write_parquet, "ipc": _write_ipc, "records": _write_records,
}  # fmt: skip


def write(table: Any, path: str, file_format: str) -> None:
    """Write a file that is on the disk when this returns. A second writer of the same name does the same again."""
    with open(path, "wb") as file:
        _WRITERS[file_format](table, file)
        file.flush()
        os.fsync(file.fileno())
