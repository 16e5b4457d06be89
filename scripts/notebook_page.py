#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs the commands and the Python sessions of a page in an empty folder, and writes what they print below them.

    build/python/bin/python scripts/notebook_page.py docs/parquet.md [--check] [--wheel FILE]

Blocks of ```console hold lines that begin with `$ `, blocks of ```python sessions that go on from block to block. The
programs are those beside the Python that runs this. With --wheel a virtual environment is made for the page, and `pip
install` on it installs that wheel; without, such lines are left as they are. --check writes nothing, and the exit
status is 1 where something else was printed."""

import argparse
import contextlib
import doctest
import io
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import venv

BLOCK = re.compile(r"^```(console|python)\n(.*?)^```$", re.DOTALL | re.MULTILINE)
PROMPT = "$ "


def run_console(text, environment, wheel):
    """Lines of a console block with what its commands print now."""
    commands = [line[len(PROMPT) :] for line in text.splitlines() if line.startswith(PROMPT)]
    shown = []
    for command in commands:
        shown.append(PROMPT + command)
        if command.startswith("pip install"):
            if wheel is not None:
                real = re.sub(r"\S+\.whl", str(wheel), command)
                subprocess.run(f"python -m {real} --quiet", shell=True, check=True, env=environment)
            continue
        done = subprocess.run(
            command, shell=True, check=False, env=environment, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
        )
        shown += done.stdout.splitlines()
    return "".join(f"{line}\n" for line in shown)


def run_python(text, names):
    """A session with what its lines print now. `names` are those that earlier blocks have defined."""
    shown = []
    for example in doctest.DocTestParser().get_examples(text):
        lines = example.source.splitlines()
        shown += [(">>> " if i == 0 else "... ") + line for i, line in enumerate(lines)]
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            exec(compile(example.source, "<page>", "single"), names)
        shown += printed.getvalue().splitlines()
    return "".join(f"{line}\n" for line in [*shown, ""])


def run_page(text, environment, wheel):
    """The page's text with what its blocks print now."""
    names = {}

    def run(found):
        kind, block = found.groups()
        made = run_console(block, environment, wheel) if kind == "console" else run_python(block, names)
        return f"```{kind}\n{made}```"

    return BLOCK.sub(run, text)


def run_in_environment(folder, page, wheel):
    """Run this again by the Python of an environment made for the page."""
    venv.create(folder, with_pip=True)
    first = re.search(r"^\$ (pip install .*)$", page.read_text(encoding="utf-8"), re.MULTILINE).group(1)
    python = pathlib.Path(folder, "bin", "python")
    subprocess.run([python, "-m", *re.sub(r"\S+\.whl\S*", str(wheel), first).split(), "--quiet"], check=True)
    return python


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("page", type=pathlib.Path)
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--wheel", type=pathlib.Path)
    arguments = parser.parse_args()
    page = arguments.page.resolve()
    with tempfile.TemporaryDirectory() as folder:
        if arguments.wheel is not None:
            python = run_in_environment(f"{folder}/environment", page, arguments.wheel.resolve())
            rest = ["--check"] if arguments.check else []
            return subprocess.run([python, "-B", __file__, str(page), *rest], check=False).returncode
        text = page.read_text(encoding="utf-8")
        environment = dict(os.environ, PATH=f"{pathlib.Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}")
        with contextlib.chdir(folder) if hasattr(contextlib, "chdir") else at_folder(folder):
            made = run_page(text, environment, arguments.wheel)
    if not arguments.check:
        page.write_text(made, encoding="utf-8")
        return 0
    wrong = [(old, new) for old, new in zip(text.splitlines(), made.splitlines()) if old != new]
    for old, new in wrong[:10]:
        print(f"{page}: the page says\n  {old}\nand now this is printed\n  {new}")
    return 0 if text == made else 1


@contextlib.contextmanager
def at_folder(folder):
    """contextlib.chdir of Python 3.11."""
    before = os.getcwd()
    os.chdir(folder)
    try:
        yield
    finally:
        os.chdir(before)


if __name__ == "__main__":
    sys.exit(main())
