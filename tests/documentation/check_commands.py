# SPDX-License-Identifier: Apache-2.0
"""Says where a page shows what the command does not print.

check_commands.py FOLDER_OF_THE_COMMAND PAGE.md: every ```console block behind `<!-- commands -->` is run, all in one
folder of the page's own; lines that begin with `$ ` are commands, the others what they print. `...` at the end of a
line stands for anything."""
import os
import re
import subprocess
import sys
import tempfile


def sessions(page):
    """Command and the lines that it prints, in order."""
    found = []
    for block in re.findall(r"<!-- commands -->\n```console\n(.*?)```", page, flags=re.DOTALL):
        for line in block.splitlines():
            if line.startswith("$ "):
                found.append((line[2:], []))
            else:
                found[-1][1].append(line)
    return found


def is_as_shown(shown, printed):
    if len(shown) != len(printed):
        return False
    return all(line.startswith(wanted[:-3]) if wanted.endswith("...") else line == wanted
               for wanted, line in zip(shown, printed))


def main():
    folder, page = sys.argv[1:]
    with open(page, encoding="utf-8") as file:
        found = sessions(file.read())
    if not found:
        sys.exit(f"{page}: no commands behind <!-- commands -->")
    environment = os.environ | {"PATH": f"{folder}:{os.environ['PATH']}", "LC_ALL": "C.UTF-8", "COLUMNS": "80"}
    failures = []
    with tempfile.TemporaryDirectory(prefix="spansort-documentation-") as where:
        for command, shown in found:
            done = subprocess.run(["bash", "-o", "pipefail", "-c", command], cwd=where, env=environment, check=False,
                                  stdout=subprocess.PIPE, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL, text=True)
            printed = done.stdout.splitlines()
            if done.returncode != 0 or not is_as_shown(shown, printed):
                failures.append(f"{page}: $ {command}\nstatus {done.returncode}, printed:\n{done.stdout}")
    sys.exit("\n".join(failures) if failures else 0)


if __name__ == "__main__":
    main()
