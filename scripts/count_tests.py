#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Adds up the result files of ctest in a folder; the last line printed is `N passed, N failed[, N skipped]`.

The end of what failed tests printed comes before it: who reads the end of a long log alone sees why they failed.
Reads <name>.xml (ctest --output-junit, --gtest_output or pytest --junit-xml) and <name>.broken (no build, or no results: counts as one failure).
Exit status 1 when anything failed or nothing passed.
"""
import pathlib
import sys
import xml.etree.ElementTree as xml

NUM_LAST_LINES = 60


def outcome(case):
    """passed, failed or skipped, and None for what GoogleTest's filter left out; what could not be started has failed."""
    skipped = case.find("skipped")
    if "result" in case.keys():  # GoogleTest's own file
        if case.find("failure") is not None:
            return "failed"
        return {"completed": "passed", "skipped": "skipped"}.get(case.get("result"))
    if "status" not in case.keys():  # pytest's
        if case.find("failure") is not None or case.find("error") is not None:
            return "failed"
        return "passed" if skipped is None else "skipped"
    if case.get("status") == "run":
        return "passed"
    if skipped is not None and skipped.get("message", "").startswith("SKIP_"):
        return "skipped"
    return "failed"


def name_of(case):
    """ctest's names are complete; GoogleTest's and pytest's lack the suite's."""
    is_complete = "status" in case.keys() and "result" not in case.keys()
    return case.get("name") if is_complete else f"{case.get('classname')}.{case.get('name')}"


def end_of_output(case):
    """The last lines that a test printed, each behind a bar."""
    failure = case.find("failure")
    failure = failure if failure is not None else case.find("error")
    text = case.findtext("system-out") or (failure.get("message", "") if failure is not None else "")
    return [f"    | {line[:200]}" for line in text.splitlines()[-NUM_LAST_LINES:]]


def main(folder):
    counts = {"passed": 0, "failed": 0, "skipped": 0}
    for path in sorted(pathlib.Path(folder).glob("*.xml")):
        for case in xml.parse(path).getroot().iter("testcase"):
            result = outcome(case)
            if result is None:
                continue
            counts[result] += 1
            for line in (case.findtext("system-out") or "").splitlines():
                if line.startswith("SKIPPED "):  # a part of a script, see tests/cli/support.py
                    counts["skipped"] += 1
                    print(f"skipped: {path.stem}: {case.get('name')}: {line.removeprefix('SKIPPED ')}")
            if result != "passed":
                print(f"{result}: {path.stem}: {name_of(case)}")
            if result == "failed":
                print("\n".join(end_of_output(case)))
    for path in sorted(pathlib.Path(folder).glob("*.broken")):
        counts["failed"] += 1
        print(f"failed: {path.read_text().strip()}")
    if counts["passed"] == 0 and counts["failed"] == 0:
        print(f"failed: no test results in {folder}")
        counts["failed"] = 1
    line = f"{counts['passed']} passed, {counts['failed']} failed"
    print(line + (f", {counts['skipped']} skipped" if counts["skipped"] else ""))
    return 1 if counts["failed"] else 0


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("usage: count_tests.py FOLDER")
    sys.exit(main(sys.argv[1]))
