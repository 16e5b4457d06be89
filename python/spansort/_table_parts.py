# SPDX-License-Identifier: Apache-2.0
"""Files of tables batch by batch, for spansort-table in bounded memory: pyarrow reads and writes a part at a time."""

from __future__ import annotations

import importlib
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from ._errors import BadInputError
from ._tables import Column, sort_table


class UsageError(Exception):
    """Arguments that cannot be."""


def arrow(module: str) -> Any:
    """Return a module of pyarrow, which is not there for everybody."""
    try:
        return importlib.import_module(module)
    except ImportError as reason:
        raise UsageError(f"pyarrow is needed (pip install 'spansort[tables]'): {reason}") from None


class Parts(NamedTuple):
    """What has to be written, a batch at a time: a schema, and record batches of it."""

    schema: Any
    batches: Any


class Bounds(NamedTuple):
    """Bytes of memory, and folders for what does not fit."""

    memory: int
    folders: Sequence[str]

    @property
    def of_sort(self) -> int:
        """Bytes of the sort; the rest is for the parts that are being read and written."""
        return self.memory - self.memory // 4

    @property
    def of_part(self) -> int:
        """Bytes of rows that are collected for a row group."""
        return self.memory // 8


_BLOCK_BYTES = 1 << 20


def _batches_of_parquet(path: str) -> Parts:
    file = arrow("pyarrow.parquet").ParquetFile(path, buffer_size=_BLOCK_BYTES, pre_buffer=False)
    return Parts(file.schema_arrow, file.iter_batches(batch_size=1 << 15, use_threads=False))


def _batches_of_ipc(path: str) -> Parts:
    file = arrow("pyarrow.ipc").open_file(arrow("pyarrow").OSFile(path))
    return Parts(file.schema, (file.get_batch(i) for i in range(file.num_record_batches)))


def _open_csv(path: str, **options: Any) -> Any:
    csv = arrow("pyarrow.csv")
    reading = csv.ReadOptions(use_threads=False, block_size=_BLOCK_BYTES)
    return csv.open_csv(path, read_options=reading, convert_options=csv.ConvertOptions(**options))


def _csv_errors(batches: Any, path: str) -> Iterator[Any]:
    try:
        yield from batches
    except arrow("pyarrow").ArrowInvalid as reason:
        raise BadInputError(
            f"{path}: {reason}; in bounded memory the first {_BLOCK_BYTES} bytes say what a column is"
        ) from None


def _batches_of_csv(path: str) -> Parts:
    reader = _open_csv(path)
    return Parts(reader.schema, _csv_errors(reader, path))


def _text_and_keys(path: str, by: Sequence[Column]) -> tuple[Parts, list[Column]]:
    """Return the text of a CSV file beside the values of columns, and these columns by their names in the result."""
    pa = arrow("pyarrow")
    names = _open_csv(path).schema.names
    for column in by:
        if column.name not in names:
            raise BadInputError(f"no column has the name '{column.name}': there are {', '.join(names)}")
    # Both readers cut the file at the same rows.
    text = _open_csv(path, column_types={name: pa.string() for name in names}, strings_can_be_null=False)
    keys = _open_csv(path, include_columns=list(dict.fromkeys(column.name for column in by)))
    mark = "key "
    while any(name.startswith(mark) for name in names):
        mark = "_" + mark
    schema = pa.schema([*text.schema, *(field.with_name(mark + field.name) for field in keys.schema)])

    def batches() -> Iterator[Any]:
        for rows, values in zip(text, _csv_errors(keys, path)):
            yield pa.RecordBatch.from_arrays([*rows.columns, *values.columns], schema=schema)

    return Parts(schema, batches()), [column._replace(name=mark + column.name) for column in by]


def sorted_parts(
    path: str, formats: tuple[str, str], by: Sequence[Column], preset: str, threads: int, bounds: Bounds
) -> Parts:
    """Return a file's rows in order; the file is read whole before."""
    pa = arrow("pyarrow")
    is_text = formats == ("csv", "csv")
    num_keys = len({column.name for column in by}) if is_text else 0
    if is_text:
        read, by = _text_and_keys(path, by)
    else:
        read = {"parquet": _batches_of_parquet, "ipc": _batches_of_ipc, "csv": _batches_of_csv}[formats[0]](path)
    source = pa.RecordBatchReader.from_batches(read.schema, read.batches)
    stream = sort_table(source, by, preset=preset, threads=threads, memory=bounds.of_sort, tmp=bounds.folders)
    _give_back_unused()  # which the source took, and that has been read
    batches = pa.RecordBatchReader.from_stream(stream)
    if not is_text:
        return Parts(batches.schema, batches)
    count = len(batches.schema) - num_keys
    text = pa.schema([batches.schema.field(i) for i in range(count)])
    return Parts(text, (pa.RecordBatch.from_arrays(batch.columns[:count], schema=text) for batch in batches))


def _give_back_unused() -> None:
    """Give the system back what pyarrow's allocator keeps of freed memory, as much as a row group or two."""
    arrow("pyarrow").default_memory_pool().release_unused()


def _row_groups(parts: Parts, most_rows: int, most_bytes: int) -> Iterator[Any]:
    """Yield tables of so many rows; fewer where these would take more memory, unless `most_bytes` is 0."""
    pa = arrow("pyarrow")
    waiting: list[Any] = []
    num_rows = num_bytes = 0
    for batch in parts.batches:
        while batch.num_rows:
            part = batch.slice(0, most_rows - num_rows)
            batch = batch.slice(part.num_rows)
            waiting.append(part)
            num_rows += part.num_rows
            num_bytes += part.nbytes
            del part
            if num_rows == most_rows or 0 < most_bytes <= num_bytes:
                yield pa.Table.from_batches(waiting, parts.schema)
                waiting, num_rows, num_bytes = [], 0, 0
                _give_back_unused()
    if waiting:
        yield pa.Table.from_batches(waiting, parts.schema)


def write_parts(parts: Parts, name: str, file_format: str, options: dict[str, Any], bounds: Bounds) -> None:
    """Write rows part by part. Row groups are as large as `options` say, else as memory allows."""
    pa = arrow("pyarrow")
    if file_format == "parquet":
        is_given = "row_group_size" in options
        most_rows = options.pop("row_group_size", 1 << 20)
        with arrow("pyarrow.parquet").ParquetWriter(name, parts.schema, **options) as writer:
            for table in _row_groups(parts, most_rows, 0 if is_given else bounds.of_part):
                writer.write_table(table, row_group_size=most_rows)
                del table  # for the next one is collected before the loop gives its name away
    elif file_format == "ipc":
        with pa.OSFile(name, "wb") as sink, pa.ipc.new_file(sink, parts.schema) as writer:
            for batch in parts.batches:
                writer.write_batch(batch)
    else:
        with arrow("pyarrow.csv").CSVWriter(name, parts.schema) as writer:
            for batch in parts.batches:
                writer.write_batch(batch)
