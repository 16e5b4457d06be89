# SPDX-License-Identifier: Apache-2.0
"""Says which public functions have no example.

check_examples.py PAGE.md HEADER.hpp...: every function that a header declares in a namespace, `detail` aside, must be
called in a block of the page that a test compiles."""
import re
import sys

from extract_examples import examples

NO_FUNCTIONS = {"requires", "static_assert", "decltype", "alignas", "sizeof"}


def without_detail(header):
    return re.sub(r"^namespace detail \{.*?^\}  // namespace detail", "", header, flags=re.DOTALL | re.MULTILINE)


def functions(header):
    """Names in declarations that begin in the first column, outside classes."""
    found = set()
    for line in without_detail(header).splitlines():
        is_other = line.startswith(("template", "requires", "namespace", "using", "struct", "class"))
        if is_other or not re.match(r"[a-z\[]", line):
            continue
        name = re.search(r"\b([a-z_][a-z_0-9]*)\(", line)
        if name and "= delete" not in line:  # which only says why a call is refused
            found.add(name.group(1))
    return found - NO_FUNCTIONS


def main():
    page, *headers = sys.argv[1:]
    with open(page, encoding="utf-8") as file:
        text = file.read()
    code = "".join(examples(text) + examples(text, "mpi example"))
    called = set(re.findall(r"\b([a-z_][a-z_0-9]*)\(", code))
    declared = {}
    for path in headers:
        with open(path, encoding="utf-8") as file:
            declared.update({name: path for name in functions(file.read())})
    if len(declared) < 50:
        sys.exit(f"only {len(declared)} functions found in {len(headers)} headers: this check no longer reads them")
    missing = sorted(set(declared) - called)
    for name in missing:
        print(f"{declared[name]}: {name}() has no example in {page}")
    sys.exit(1 if missing else 0)


if __name__ == "__main__":
    main()
