#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Finds comments that CONTRIBUTING's section on words does not allow, in the files or folders given:

- a doc comment (///) that begins with a preposition, a conjunction or "The same", so that its subject has to be guessed;
- the comment at a file's head that begins so, or with "What", "How" ..., as if the file's name were its subject;
- a function's doc comment that begins with "Whether", "What", "How" ... where "Returns whether" says it;
- a word that is this project's alone where the field has one;
- a line of more than 120 columns; refusals of the public headers may be longer, for compilers show that one line.

Prints path:line and what is wrong. Exit status: 0 when nothing was found, 1 otherwise. --self-test tries the script.
"""

import argparse
import pathlib
import re
import sys

MOST_COLUMNS = 120
LEADS = """Afterwards After Again Against Also Among And As At Because Before Behind Below Beside Besides Between Beyond But
    By During Else Except For From If In Inside Instead Into Like Likewise Nor Of On Or Over Per Since So Than Then Through
    To Towards Under Until Up Via When Whose With Within Without""".split()
FRAGMENT = re.compile(rf"(?:{'|'.join(LEADS)}|The same)\b(?!-)")
CLAUSE = re.compile(r"(?:What|Whether|Where|Which|Who|Why|How)\b")
WORDS = {"border": "bound", "landing": "staging buffer", "bring_home": "copy_to_host", "remedy": "action",
         "no_way_back": "commit", "conveyor": "pipeline", "io_crew": "io_pool", "emitter": "verifying_writer",
         "tcp_meeting": "rendezvous", "key_sharers": "communicator", "silence_limit": "heartbeat timeout",
         "bounded_head": "head_sort", "damage": "corrupt"}
WORD = re.compile(rf"(?<![a-z])({'|'.join(WORDS)})s?(?![a-z])", re.IGNORECASE)
DOC = re.compile(r"\s*///(?!/)<?\s?(.*)")


def is_function(lines):
    """Says whether the declaration at the begin of `lines` is that of a function."""
    text = ""
    for line in lines[:6]:
        text += line.strip() + " "
        if line.rstrip().endswith((";", "{", "}")):
            break
    text = re.sub(r"^template <.*?> (?=\S)", "", re.sub(r"\[\[.*?\]\] ?", "", text))
    head = text.split("(")[0]
    return "(" in text and "=" not in head.replace("operator==", "") and not re.match(
        r"struct|class|enum|union|using|namespace|#|[A-Z_]+\(", text)


def problems_of(text, is_source):
    """Yields (line number, what is wrong)."""
    lines = text.split("\n")
    was_doc = False
    for i, line in enumerate(lines):
        if len(line) > MOST_COLUMNS and not line.startswith("detail::refused<"):
            yield i + 1, f"{len(line)} columns"
        for found in WORD.finditer(line):
            yield i + 1, f"'{found[1]}': say {WORDS[found[1].lower()]}"
        head = re.match(r"// (.*)", line) if is_source and i == 1 else None
        if head and (FRAGMENT.match(head[1]) or CLAUSE.match(head[1])):
            yield i + 1, f"begins as a fragment: {head[1]}"
        doc = DOC.match(line) if is_source else None
        if doc and not was_doc:
            if FRAGMENT.match(doc[1]):
                yield i + 1, f"begins as a fragment: {doc[1]}"
            behind = next((j for j in range(i, len(lines)) if not DOC.match(lines[j])), len(lines))
            if CLAUSE.match(doc[1]) and is_function(lines[behind:]):
                yield i + 1, f"begin with a verb, as Returns: {doc[1]}"
        was_doc = bool(doc)


def files_of(paths):
    """Yields the source files and scripts at and below `paths`."""
    for path in map(pathlib.Path, paths):
        if not path.exists():
            raise SystemExit(f"{path}: no such file")
        for file in sorted(path.rglob("*")) if path.is_dir() else [path]:
            if file.suffix in (".hpp", ".cpp", ".cu", ".cuh", ".py"):
                yield file


def self_test():
    def count(text):
        return len(list(problems_of(text, True)))

    right = ["/// Returns whether it is.\nbool is();", "/// What a case found.\nstruct outcome {", "// Of one.",
             "/// The sum.\nint x = f(1);", "a" * MOST_COLUMNS, "int borderline;"]
    wrong = ["/// Of one block.\nstruct sum {", "/// The same, read only.\nint x;", "/// Whether it is.\nbool is();",
             "/// How many.\n[[nodiscard]] virtual int f(\n    int x) = 0;", "a" * (MOST_COLUMNS + 1), "key_border b;",
             "// SPDX\n// What a session holds.", "// SPDX\n// From arguments to a driver."]
    assert all(count(text) == 0 for text in right), [text for text in right if count(text)]
    assert all(count(text) == 1 for text in wrong), [text for text in wrong if count(text) != 1]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("paths", nargs="*")
    parser.add_argument("--self-test", action="store_true")
    arguments = parser.parse_args()
    if arguments.self_test:
        return self_test()
    found = [f"{file}:{line}: {what}" for file in files_of(arguments.paths)
             for line, what in problems_of(file.read_text(encoding="utf-8"), file.suffix != ".py")]
    print("\n".join(found + [f"{len(found)} found"]) if found else "nothing found")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
