# SPDX-License-Identifier: Apache-2.0
"""Examples of docstrings and of the pages about Python give what stands below them."""

from __future__ import annotations

import doctest
import importlib
import importlib.util
import pathlib
import re
import subprocess
import sys
from typing import Any

import numpy as np
import pytest
import spansort

DOCS = pathlib.Path(__file__).resolve().parents[2] / "docs"
FLAGS = doctest.NORMALIZE_WHITESPACE


def run(source: str, name: str) -> int:
    """Run the examples of a text and return how many there are."""
    test = doctest.DocTestParser().get_doctest(source, {}, name, name, 0)
    runner = doctest.DocTestRunner(optionflags=FLAGS)
    printed: list[str] = []
    runner.run(test, out=printed.append)
    assert runner.summarize(verbose=False).failed == 0, "".join(printed)
    return len(test.examples)


@pytest.mark.parametrize("page", ["python.md", "coming-from-numpy.md", "ray.md", "../README.md"])
def test_pages(page: str) -> None:
    if not (DOCS / page).exists():
        pytest.skip("the pages are in a checkout")
    text = (DOCS / page).read_text(encoding="utf-8")
    blocks = re.findall(r"^(?:<!-- needs (\w+) -->\n)?```python\n(.*?)^```", text, flags=re.DOTALL | re.MULTILINE)
    there = [block for needed, block in blocks if not needed or importlib.util.find_spec(needed) is not None]
    try:
        assert run("\n".join(there), page) > 0
    finally:
        if ray := sys.modules.get("ray"):
            ray.shutdown()  # the tests of Ray start another one


def test_notebook() -> None:
    pytest.importorskip("duckdb")
    script, page = DOCS.parent / "scripts" / "notebook_page.py", DOCS / "parquet.md"
    if not page.exists():
        pytest.skip("the pages are in a checkout")
    done = subprocess.run(
        [sys.executable, "-B", script, page, "--check"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("name", [name for name in spansort.__all__ if callable(getattr(spansort, name))])
def test_docstrings(name: str) -> None:
    found: Any = getattr(spansort, name)
    assert found.__doc__
    run(found.__doc__, name)


def test_everything_is_exported() -> None:
    assert sorted(spansort.__all__) == spansort.__all__
    for module in ("_sort", "_sets", "_statistics", "_files", "_machine", "_errors", "_tables", "_table_stream"):
        names = vars(importlib.import_module(f"spansort.{module}"))
        for name, value in names.items():
            if getattr(value, "__module__", "") == f"spansort.{module}" and not name.startswith("_"):
                is_shared = name in {
                    "sort_rows",
                    "order_rows",
                    "keys_of_vector",
                    "made_options",
                    "box_options",
                    "box_of",
                    "columns_of",
                    "sorted_stream",
                }
                assert is_shared or name in spansort.__all__, name
    assert spansort.__version__ and np.__version__
