# SPDX-License-Identifier: Apache-2.0
"""The command spansort-table: Parquet, Arrow IPC and CSV files in the order of columns. It needs pyarrow."""

from __future__ import annotations

import argparse
import importlib
import os
import secrets
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

from ._errors import Error
from ._tables import Column, argsort_table, sort_table, take_table

FORMATS = {".parquet": "parquet", ".pq": "parquet", ".arrow": "ipc", ".feather": "ipc", ".ipc": "ipc", ".csv": "csv"}
PRESETS = ("numpy", "pandas", "duckdb", "polars", "datafusion")
_ORDERS: dict[str, dict[str, Any]] = {
    "asc": {"descending": False},
    "desc": {"descending": True},
    "nulls-first": {"nulls": "first"},
    "nulls-last": {"nulls": "last"},
    "nan-last": {"nans": "last"},
    "nan-largest": {"nans": "largest"},
    "nan-null": {"nans": "null"},
}


class UsageError(Exception):
    """Arguments that cannot be."""


class Unsorted(Exception):
    """Rows are out of order."""


def parse_by(text: str) -> list[Column]:
    """Return the columns of a text such as ``country,price:desc:nulls-first``."""
    columns = []
    for entry in text.split(","):
        name, *words = entry.split(":")
        given: dict[str, Any] = {}
        for word in words:
            if word not in _ORDERS:
                raise UsageError(f"--by: '{word}' is none of {', '.join(_ORDERS)}")
            given.update(_ORDERS[word])
        if not name:
            raise UsageError("--by: a column without a name")
        columns.append(Column(name, **given))
    return columns


def format_of(path: str, given: str | None) -> str:
    """Return the format of a file by its name, unless one is given."""
    if given is not None:
        return given
    suffix = os.path.splitext(path)[1].lower()
    if suffix not in FORMATS:
        raise UsageError(f"{path}: its name says no format: one of {', '.join(FORMATS)}, or --format, is expected")
    return FORMATS[suffix]


def _arrow(module: str) -> Any:
    try:
        return importlib.import_module(module)
    except ImportError as reason:
        raise UsageError(f"pyarrow is needed (pip install 'spansort[tables]'): {reason}") from None


def read(path: str, file_format: str) -> Any:
    """Return a file as a table of pyarrow, whole in memory."""
    pa = _arrow("pyarrow")
    if file_format == "parquet":
        table = _arrow("pyarrow.parquet").read_table(path)
    elif file_format == "ipc":
        with pa.memory_map(path) as source:
            table = _arrow("pyarrow.ipc").open_file(source).read_all()
    else:
        table = _arrow("pyarrow.csv").read_csv(path)
    return table.unify_dictionaries()


@contextmanager
def replacing(path: str) -> Iterator[str]:
    """Give the name of a new file, which takes the place of `path` where all goes well and is gone where not."""
    target = os.path.realpath(path)
    name = os.path.join(os.path.dirname(target), f".spansort-{secrets.token_hex(8)}")
    # Whoever could not read the old file cannot read the new one either.
    mode = os.stat(target).st_mode & 0o777 if os.path.exists(target) else None
    os.close(os.open(name, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o666 if mode is None else mode & 0o600))
    try:
        yield name
        if mode is not None:
            os.chmod(name, mode)
        with open(name, "rb") as written:
            os.fsync(written.fileno())
        os.replace(name, target)
    except BaseException:
        os.unlink(name)
        raise
    folder = os.open(os.path.dirname(target), os.O_RDONLY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)


def _parquet_options(source: str | None, schema: Any, by: list[Column]) -> dict[str, Any]:
    """Return compression, row groups and sorting columns for an output, as the input has them."""
    parquet = _arrow("pyarrow.parquet")
    options: dict[str, Any] = {
        "sorting_columns": [
            parquet.SortingColumn(schema.get_field_index(c.name), c.descending, c.nulls == "first") for c in by
        ]
    }
    if source is None:
        return options
    with parquet.ParquetFile(source) as file:
        found = file.metadata
        if found.num_row_groups == 0:
            return options
        first = found.row_group(0)
        options["row_group_size"] = first.num_rows
        options["compression"] = {
            first.column(i).path_in_schema.split(".")[0]: first.column(i).compression.replace("UNCOMPRESSED", "NONE")
            for i in range(first.num_columns)
        }
    return options


def write(table: Any, path: str, file_format: str, source: str | None, by: list[Column]) -> None:
    """Write a table of pyarrow, whole or not at all. `source` is a Parquet file whose layout is kept."""
    with replacing(path) as name:
        if file_format == "parquet":
            options = _parquet_options(source, table.schema, by)
            _arrow("pyarrow.parquet").write_table(table, name, **options)
        elif file_format == "ipc":
            pa = _arrow("pyarrow")
            with pa.OSFile(name, "wb") as sink, _arrow("pyarrow.ipc").new_file(sink, table.schema) as writer:
                writer.write_table(table)
        else:
            _arrow("pyarrow.csv").write_csv(table, name)


def with_nulls(by: list[Column], preset: str) -> list[Column]:
    """Return the columns with the place of nulls that the preset gives where none is said."""
    named = []
    for column in by:
        first = preset == "polars" or (preset == "datafusion" and column.descending)
        named.append(column if column.nulls is not None else column._replace(nulls="first" if first else "last"))
    return named


def sort(arguments: argparse.Namespace) -> None:
    """Run the verb `sort`."""
    pa = _arrow("pyarrow")
    by = with_nulls(parse_by(arguments.by), arguments.preset)
    input_format = format_of(arguments.input, arguments.format)
    output_format = format_of(arguments.output, None)
    table = read(arguments.input, input_format)
    result = sort_table(table, by, preset=arguments.preset, threads=arguments.threads)
    source = arguments.input if input_format == output_format == "parquet" else None
    write(pa.table(result), arguments.output, output_format, source, by)


def check(arguments: argparse.Namespace) -> None:
    """Run the verb `check`: a stable order of rows that are in order is that of the rows themselves."""
    table = read(arguments.input, format_of(arguments.input, arguments.format))
    order = argsort_table(table, parse_by(arguments.by), preset=arguments.preset, threads=arguments.threads)
    wrong = np.flatnonzero(order != np.arange(len(order)))
    if len(wrong) != 0:
        raise Unsorted(f"{arguments.input}: not in order: row {order[wrong[0]]} belongs to place {wrong[0]}")
    print(f"{arguments.input}: {len(order)} rows, in order")


def head(arguments: argparse.Namespace) -> None:
    """Run the verb `head`: the first rows in an order, as CSV."""
    pa = _arrow("pyarrow")
    table = read(arguments.input, format_of(arguments.input, arguments.format))
    if arguments.by is None:
        rows = table.slice(0, arguments.rows)
    else:
        order = argsort_table(table, parse_by(arguments.by), preset=arguments.preset, threads=arguments.threads)
        rows = pa.table(take_table(table, order[: arguments.rows]))
    _arrow("pyarrow.csv").write_csv(rows, sys.stdout.buffer)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser("spansort-table", description=__doc__)
    verbs = parser.add_subparsers(dest="verb", required=True, metavar="{sort,check,head}")

    def verb(
        name: str, run: Callable[[argparse.Namespace], None], text: str, by_is_needed: bool
    ) -> argparse.ArgumentParser:
        made = verbs.add_parser(name, help=text, description=text)
        made.set_defaults(run=run)
        made.add_argument("input", help="a .parquet, .arrow, .feather or .csv file")
        made.add_argument(
            "--by", required=by_is_needed, help=f"columns, such as country,price:desc; words: {', '.join(_ORDERS)}"
        )
        made.add_argument("--preset", choices=PRESETS, default="numpy", help="whose order nulls and NaN have")
        made.add_argument("--format", choices=["parquet", "ipc", "csv"], help="of the input, whatever its name")
        made.add_argument("--threads", type=int, default=0, metavar="N", help="at most so many; 0: all")
        return made

    verb("sort", sort, "Writes the rows in the order of columns, whole or not at all.", True).add_argument(
        "-o", "--output", required=True, help="may be the input; its name says its format"
    )
    verb("check", check, "Says whether the rows are in order; exit status 1 where they are not.", True)
    verb("head", head, "Prints the first rows as CSV.", False).add_argument("-n", "--rows", type=int, default=10)
    return parser


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; return the exit status: 0, 1 (not in order), 2 usage, 3 bad input, 4 I/O, 6 memory."""
    given = _parser().parse_args(arguments)
    status = 0
    try:
        given.run(given)
    except BrokenPipeError:
        sys.stdout = open(os.devnull, "w")  # nobody reads the rest
    except Unsorted as reason:
        print(reason)
        status = 1
    except KeyboardInterrupt:
        status = 130
    except Exception as reason:
        status = _status_of(reason)
        print(f"spansort-table: {reason}", file=sys.stderr)
    return status


def _status_of(reason: Exception) -> int:
    if isinstance(reason, MemoryError):
        return 6
    if isinstance(reason, OSError):
        return 4
    if isinstance(reason, (UsageError, TypeError)):
        return 2
    if isinstance(reason, (Error, ValueError)):  # pyarrow's errors of files are ValueErrors
        return 3
    raise reason


if __name__ == "__main__":
    sys.exit(main())
