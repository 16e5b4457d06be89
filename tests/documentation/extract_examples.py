# SPDX-License-Identifier: Apache-2.0
"""Makes a program of the C++ blocks of a page that stand behind a line `<!-- example -->`, or another such mark.

extract_examples.py PAGE.md PROGRAM.cpp [MARK]: includes and structs go to the top, each block sees what the blocks
before it declare."""
import re
import sys


def examples(page, mark="example"):
    return re.findall(f"<!-- {mark} -->\n```cpp\n(.*?)```", page, flags=re.DOTALL)


def program(blocks):
    outside, inside = [], []
    for block in blocks:
        # Each example has a block of its own, so that a name may be declared again.
        inside.append("{\n")
        is_in_struct = False
        for line in block.splitlines(keepends=True):
            is_in_struct = is_in_struct or line.startswith("struct ")
            is_outside = is_in_struct or line.startswith("#include")
            (outside if is_outside else inside).append(line)
            is_in_struct = is_in_struct and "};" not in line
    return "".join(outside) + "\nint main() {\n" + "".join(inside) + "}\n" * (len(blocks) + 1)


def main():
    page, output, mark = [*sys.argv[1:], "example"][:3]
    with open(page, encoding="utf-8") as file:
        blocks = examples(file.read(), mark)
    if not blocks:
        sys.exit(f"{page}: no example behind <!-- {mark} -->")
    with open(output, "w", encoding="utf-8") as file:
        file.write(program(blocks))


if __name__ == "__main__":
    main()
