#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes the table of rooms in CONTRIBUTING.md from what CMake knows of them (rooms.md in the build folder).

With --check it only says what differs, and exits with 1 where something does. A build without GPU backend or MPI has no
such rooms: their rows are left as they are.
"""
import argparse
import pathlib
import re
import sys

BEGIN = "<!-- rooms: made by scripts/room_table.py from CMake -->\n"
END = "<!-- end rooms -->\n"


def rows_of(text):
    """The rows of a table by their first cell, in order."""
    rows = [line for line in text.splitlines() if line.startswith("| `")]
    return {re.match(r"\| `([^`]+)`", row).group(1): row for row in rows}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("rooms", type=pathlib.Path, help="rooms.md of a build folder")
    parser.add_argument("--page", type=pathlib.Path, default=pathlib.Path(__file__).parent.parent / "CONTRIBUTING.md")
    parser.add_argument("--check", action="store_true")
    arguments = parser.parse_args()

    built = arguments.rooms.read_text(encoding="utf-8")
    is_optional = set(re.search(r"^left out: (.*)$", built, re.MULTILINE).group(1).split())
    page = arguments.page.read_text(encoding="utf-8")
    begin, end = page.index(BEGIN) + len(BEGIN), page.index(END)
    shown, known = rows_of(page[begin:end]), rows_of(built)
    if arguments.check:
        for room in is_optional:
            shown = {name: re.sub(f" `{room}`(?! in)", "", row) for name, row in shown.items()}
        wrong = [room for room in known if shown.get(room) != known[room]]
        wrong += [room for room in shown if room not in known and room not in is_optional]
        for room in wrong:
            print(f"CONTRIBUTING.md says of room {room}: {shown.get(room)}\nCMake says: {known.get(room)}")
        if not known:
            sys.exit("no rooms were read")
        sys.exit(f"run scripts/room_table.py {arguments.rooms}" if wrong else 0)
    if is_optional:
        sys.exit("this build leaves out " + ", ".join(sorted(is_optional)) + ": configure one with CUDA and MPI")
    table = "| room | what it sees besides | what it holds |\n|---|---|---|\n" + "\n".join(known.values()) + "\n"
    arguments.page.write_text(page[:begin] + table + page[end:], encoding="utf-8")


if __name__ == "__main__":
    main()
