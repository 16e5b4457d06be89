#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Prints, room by room, which part of the lines and branches of src/ the tests have run: from what a build with
SPANSORT_COVERED_ROOMS counted, read by GCC's gcov.

usage: coverage.py BUILD_FOLDER [--list FILE] [--least-lines 95] [--least-branches 90]

Left out are branches that only an exception takes (gcov's `throw`), those of SPANSORT_ASSERT, which no input reaches,
and those of lines without a letter, such as a closing brace: there the compiler destroys what was made or not. A line of a template counts as run where one of its instances ran it. --list writes what did not run.
Exit status 1 where a room is below the least.
"""
import argparse
import collections
import json
import os
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
UNREACHABLE = re.compile(r"SPANSORT_ASSERT|__builtin_unreachable|^[^A-Za-z]*$")


class Line:
    """A line of a source: how often it ran, and its branches."""

    def __init__(self):
        self.count = 0
        self.branches = []

    def add(self, told):
        self.count += told["count"]
        counts = [branch["count"] for branch in told["branches"] if not branch["throw"]]
        if len(counts) < 2:
            return  # one way out, beside exceptions
        self.branches += [0] * (len(counts) - len(self.branches))
        for i, count in enumerate(counts):
            self.branches[i] += count


def read_counts(build):
    """{path below src: {line number: Line}}"""
    files = collections.defaultdict(lambda: collections.defaultdict(Line))
    # The tests of the failure watch compile its sources themselves: tests/CMakeLists.txt says so.
    data = sorted([*build.glob("src/**/*.gcda"), *build.glob("tests/**/spansort_watch_parts.dir/**/*.gcda")])
    if not data:
        sys.exit(f"coverage: no counts below {build}/src; run the tests of that build first")
    for begin in range(0, len(data), 50):
        names = [str(name.resolve()) for name in data[begin:begin + 50]]
        told = subprocess.run(["gcov", "--json-format", "--stdout", "--branch-probabilities", *names], cwd=build,
                              capture_output=True, check=True).stdout
        for document in told.splitlines():
            if document.strip():
                add_document(files, json.loads(document), build)
    return files


def add_document(files, document, build):
    for file in document["files"]:
        path = pathlib.Path(os.path.realpath(os.path.join(document["current_working_directory"], file["file"])))
        if ROOT / "src" not in path.parents:
            path = pathlib.Path(os.path.realpath(build / file["file"]))
        if ROOT / "src" in path.parents:
            for line in file["lines"]:
                files[path.relative_to(ROOT)][line["line_number"]].add(line)


def rooms_of_build(build):
    """Folders of src that count, the innermost first."""
    for line in (build / "CMakeCache.txt").read_text(encoding="utf-8").splitlines():
        if line.startswith("SPANSORT_COVERED_ROOMS:"):
            rooms = line.partition("=")[2].split(";")
            return sorted((room.replace("_", "/") for room in rooms), key=len, reverse=True)
    return []


def room_of(path, rooms):
    folder = path.parent.relative_to("src").as_posix()
    return next((room for room in rooms if folder == room or folder.startswith(room + "/")), None)


def not_run(path, lines):
    """[(line number, what)] of a file's lines."""
    text = (ROOT / path).read_text(encoding="utf-8").splitlines()
    missing = []
    for number in sorted(lines):
        line, source = lines[number], text[number - 1] if number <= len(text) else ""
        if line.count == 0 and re.search("[A-Za-z]", source) and "SPANSORT_ASSERT" not in source:
            missing.append((number, "line", source.strip()))
        elif 0 in line.branches and not UNREACHABLE.search(source):
            missing.append((number, f"{line.branches.count(0)} of {len(line.branches)} branches", source.strip()))
    return missing


def count(path, lines):
    """lines run, lines, branches run, branches"""
    text = (ROOT / path).read_text(encoding="utf-8").splitlines()
    counts = [0, 0, 0, 0]
    for number, line in lines.items():
        counts[0] += line.count != 0
        counts[1] += 1
        if number <= len(text) and UNREACHABLE.search(text[number - 1]):
            continue
        counts[2] += sum(taken != 0 for taken in line.branches)
        counts[3] += len(line.branches)
    return counts


def percent(part, whole):
    return 100.0 * part / whole if whole else 100.0


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build", type=pathlib.Path)
    parser.add_argument("--list", type=pathlib.Path)
    parser.add_argument("--least-lines", type=float, default=95)
    parser.add_argument("--least-branches", type=float, default=90)
    options = parser.parse_args()
    build = options.build.resolve()
    rooms = rooms_of_build(build)
    files = {path: lines for path, lines in read_counts(build).items() if room_of(path, rooms)}
    sums = {room: [0, 0, 0, 0] for room in sorted(rooms)}
    missing = []
    for path in sorted(files):
        own = sums[room_of(path, rooms)]
        for i, number in enumerate(count(path, files[path])):
            own[i] += number
        missing += [f"{path}:{number}: {what}: {source}" for number, what, source in not_run(path, files[path])]
    if options.list:
        options.list.write_text("".join(line + "\n" for line in missing), encoding="utf-8")
    print("| room | lines | run | branches | run |")
    print("|---|---|---|---|---|")
    is_low = False
    for room, (lines_run, lines, branches_run, branches) in sums.items():
        of_lines, of_branches = percent(lines_run, lines), percent(branches_run, branches)
        is_low = is_low or of_lines < options.least_lines or of_branches < options.least_branches
        print(f"| src/{room} | {lines} | {of_lines:.1f} % | {branches} | {of_branches:.1f} % |")
    return 1 if is_low else 0


if __name__ == "__main__":
    sys.exit(main())
