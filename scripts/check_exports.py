#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compares the names that Spansort's libraries, shared or archives, offer with tests/golden/exports.txt.

usage: check_exports.py FOLDER [--complete] [--update]
FOLDER holds libspansort.so or .a, and libspansort_mpi.so or .a where there is one. A shared library must besides offer
no name outside of Spansort's versions. A name that is gone is an error, for programs that use it no longer start;
a new one is said, and an error with --complete, as before a release. --update, or SPANSORT_UPDATE_GOLDEN=1, writes the
list anew; what is new in it belongs into CHANGELOG.md.
"""
import argparse
import fnmatch
import os
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
GOLDEN = ROOT / "tests/golden/exports.txt"
LIBRARIES = ("spansort", "spansort_mpi")
STRONG = "TDBR"  # what nm calls names that are defined once; those of inline functions may be anywhere


def public_patterns(library: str) -> tuple[list[str], list[str]]:
    """Returns the patterns of what the library's version script exports to all, and to Spansort's own programs."""
    public, _, private = (ROOT / f"cmake/exports/{library}.map.in").read_text().partition("SPANSORT_PRIVATE")
    patterns = re.compile(r"^ *(spansort::.*);$", re.MULTILINE)
    return patterns.findall(public), patterns.findall(private)


def matches(name: str, patterns: list[str]) -> bool:
    return any(fnmatch.fnmatchcase(name, pattern) for pattern in patterns)


def symbols(file: pathlib.Path) -> list[tuple[str, str]]:
    """Returns kind and name of all that the library defines; names of shared libraries end with @@VERSION."""
    shared = file.suffix == ".so"
    options = ["-D", "--with-symbol-versions"] if shared else ["--extern-only"]
    # The C++ names are read by a second program, for nm's own reading drops the versions.
    raw = subprocess.run(["nm", "--defined-only", *options, str(file)], capture_output=True, text=True, check=True).stdout
    plain = subprocess.run(["c++filt"], input=raw, capture_output=True, text=True, check=True).stdout
    return [(line.split(" ", 2)[1], line.split(" ", 2)[2]) for line in plain.splitlines() if line.count(" ") >= 2]


def offered(library: str, file: pathlib.Path) -> tuple[set[str], list[str]]:
    """Returns the names offered to everybody, and those that should not have left a shared library."""
    public, private = public_patterns(library)
    names, strays = set(), []
    for kind, name in symbols(file):
        name, _, version = name.partition("@@")
        if file.suffix == ".so" and kind != "A" and not version.startswith("SPANSORT_"):
            strays.append(name)
        is_private = version.startswith("SPANSORT_PRIVATE") or matches(name, private)
        if kind in STRONG and not is_private and matches(name, public):
            names.add(name)
    return names, strays


def find_library(folder: pathlib.Path, library: str) -> pathlib.Path | None:
    for suffix in (".so", ".a"):
        if (folder / f"lib{library}{suffix}").exists():
            return folder / f"lib{library}{suffix}"
    return None


def read_golden() -> dict[str, set[str]]:
    lists: dict[str, set[str]] = {}
    for line in GOLDEN.read_text().splitlines() if GOLDEN.exists() else []:
        if line.startswith("["):
            lists[line.strip("[]")] = set()
        elif line and not line.startswith("#"):
            lists[list(lists)[-1]].add(line)
    return lists


def write_golden(lists: dict[str, set[str]]) -> None:
    text = "# Names that the shared libraries offer to programs; scripts/check_exports.py makes and compares the list.\n"
    for library in LIBRARIES:
        text += f"\n[{library}]\n" + "".join(f"{name}\n" for name in sorted(lists.get(library, set())))
    GOLDEN.write_text(text)


def main() -> int:
    parser = argparse.ArgumentParser(description="compares the libraries' names with tests/golden/exports.txt")
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--complete", action="store_true")
    parser.add_argument("--update", action="store_true", default=os.environ.get("SPANSORT_UPDATE_GOLDEN") == "1")
    arguments = parser.parse_args()
    golden, num_wrong = read_golden(), 0
    for library in LIBRARIES:
        file = find_library(arguments.folder, library)
        if file is None:
            continue
        names, strays = offered(library, file)
        if arguments.update:
            golden[library] = names
        for name in sorted(golden.get(library, set()) - names):
            print(f"{file.name}: gone: {name}")
        for name in sorted(names - golden.get(library, set())):
            print(f"{file.name}: new: {name}")
        for name in strays:
            print(f"{file.name}: not of Spansort: {name}")
        num_wrong += len(golden.get(library, set()) - names) + len(strays)
        if arguments.complete:
            num_wrong += len(names - golden.get(library, set()))
        print(f"{file.name}: {len(names)} names")
    if arguments.update:
        write_golden(golden)
    if num_wrong:
        print(f"{GOLDEN.relative_to(ROOT)} says otherwise; where that is meant: scripts/check_exports.py {arguments.folder} --update")
    return 1 if num_wrong else 0


if __name__ == "__main__":
    sys.exit(main())
