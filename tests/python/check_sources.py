# SPDX-License-Identifier: Apache-2.0
"""Says where sources of the Python package do not fit each other; needs nothing but Python.

They compile; the module's C++ and its stub name the same functions; what the package exports has a docstring, and its
functions are named in docs/python.md."""
import ast
import pathlib
import re
import sys

PACKAGE = pathlib.Path("python/spansort")


def defined_names():
    text = "\n".join(path.read_text(encoding="utf-8") for path in pathlib.Path("python/src").glob("*.cpp"))
    functions = re.findall(r'(?:\.def|\.def_prop_ro|module\.attr)\(\s*"(\w+)"', text)
    classes = re.findall(r'class_<[\w:]+>\(module, "(\w+)"', text)
    return {*functions, *classes, "__init__"}


def stub_names():
    names = set()
    for node in ast.walk(ast.parse((PACKAGE / "_core.pyi").read_text(encoding="utf-8"))):
        if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            names.add(node.name)
        elif isinstance(node, ast.AnnAssign):
            names.add(node.target.id)
    return names


def undocumented():
    text = (PACKAGE / "__init__.py").read_text(encoding="utf-8")
    exports = ast.literal_eval(re.search(r"__all__ = (\[.*?\])", text, re.DOTALL).group(1))
    manual = pathlib.Path("docs/python.md").read_text(encoding="utf-8")
    described = {}
    for path in PACKAGE.glob("_*.py"):
        for node in ast.parse(path.read_text(encoding="utf-8")).body:
            if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
                described[node.name] = ast.get_docstring(node)
    for name in exports:
        if name == "__version__":
            continue
        if not described.get(name):
            yield f"python/spansort: {name} has no docstring"
        is_function = name[0].islower()
        if is_function and not re.search(rf"\b{name}\b", manual):
            yield f"docs/python.md does not name {name}"


def main():
    found = list(undocumented())
    for path in sorted(pathlib.Path("python").rglob("*.py")):
        compile(path.read_text(encoding="utf-8"), str(path), "exec")
    for name in sorted(defined_names() ^ stub_names()):
        found.append(f"python/spansort/_core.pyi and python/src do not agree about {name}")
    print("\n".join(found))
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
