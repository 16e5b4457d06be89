# SPDX-License-Identifier: Apache-2.0
"""The reference of the command as a page of the documentation site, made by command_reference.py."""
from command_man import PAGELESS, flag_names, sentence

INTRODUCTION = """# Reference of the command

This page is made from the command itself, as `spansort VERB --help` and the man pages are. [The command](../command.md) says
what files, sizes and device lists look like, and what the exit statuses mean.
"""


def usage(program, verb):
    words = [program, verb["name"]]
    for option in verb["options"]:
        if option["positional"]:
            word = option["positional"] + ("..." if option["repeats"] else "")
            words.append(word if option["required"] else f"[{word}]")
    return " ".join(words + ["[OPTION...]"])


def option_text(option):
    names = ", ".join(flag_names(option)) or option["positional"]
    value = f" {option['value']}" if option["value"] else ""
    default = f"\n\nThe default is `{option['default']}`." if option["default"] else ""
    # Angle brackets and stars would be markup.
    text = sentence(option["text"]).replace("<", "\\<").replace("*", "\\*")
    return f"```{{option}} {names}{value}\n\n{text}{default}\n```\n"


def verb_section(program, title, verb):
    lines = [f"## {title}\n", sentence(verb["text"]) + "\n", f"```text\n{usage(program, verb)}\n```\n"]
    lines.append(f"```{{program}} {title}\n```\n")
    options = sorted(verb["options"], key=lambda option: not option["positional"])
    lines += [option_text(option) for option in options if option["long"] != ["help"]]
    if verb["footer"]:
        lines.append(f"```text\n{verb['footer'].strip()}\n```\n")
    return "\n".join(lines)


def page(described):
    programs = described["programs"]
    sections = [INTRODUCTION]
    for verb in programs["spansort"]["verbs"]:
        if verb["name"] not in ("bench", *PAGELESS):
            sections.append(verb_section("spansort", f"spansort {verb['name']}", verb))
    for verb in programs.get("spansort-mpi", {"verbs": []})["verbs"]:
        sections.append(verb_section("mpirun -n 4 spansort", f"spansort {verb['name']} --mpi", verb))
    footer = programs["spansort"]["footer"].strip()
    if footer:
        sections.append(f"## What help says last\n\n```text\n{footer}\n```\n")
    return "\n".join(sections)
