#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes man pages, completions of bash, zsh and fish, and a page of Markdown from the verbs and flags of the command.

command_reference.py COMMANDS.json FOLDER [--bench]: the first is what the program spansort_describe prints. With
--bench there is `spansort bench` too, whose flags its own help lists. What is written: FOLDER/man1, FOLDER/completions
and FOLDER/command.md."""
import argparse
import json
import pathlib

import command_completions
import command_man
import command_page

BENCH = [{"name": "bench", "text": "Measure sorts side by side; its flags are listed by `spansort bench --help`",
          "footer": "", "options": [], "verbs": []},
         {"name": "bench-compare", "text": "Say what changed between two files of results of bench", "footer": "",
          "options": [], "verbs": []}]
# The parser of `help` does not tell what the verb takes, so it is told here.
VERB = {"positional": "VERB", "short": [], "long": [], "value": "", "takes_value": True, "required": False,
        "repeats": False, "default": "", "text": "The verb whose help is to be printed", "completes": "choices"}


def read_programs(path, has_bench):
    """The programs by name, with what their parsers do not tell."""
    with open(path, encoding="utf-8") as file:
        described = json.load(file)
    for program in described["programs"].values():
        names = [verb["name"] for verb in program["verbs"]]
        for verb in program["verbs"]:
            if verb["name"] == "help":
                verb["options"].append(VERB | {"choices": names})
    if has_bench:
        described["programs"]["spansort"]["verbs"] += BENCH
    return described


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("commands")
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--bench", action="store_true")
    arguments = parser.parse_args()
    described = read_programs(arguments.commands, arguments.bench)
    written = {pathlib.Path("command.md"): command_page.page(described)}
    for name, text in command_man.pages(described).items():
        written[pathlib.Path("man1") / name] = text
    for name, text in command_completions.completions(described).items():
        written[pathlib.Path("completions") / name] = text
    for path, text in written.items():
        (arguments.folder / path).parent.mkdir(parents=True, exist_ok=True)
        (arguments.folder / path).write_text(text, encoding="utf-8")
    for stale in set((arguments.folder / "man1").iterdir()) - {arguments.folder / path for path in written}:
        stale.unlink()


if __name__ == "__main__":
    main()
