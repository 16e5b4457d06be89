# SPDX-License-Identifier: Apache-2.0
# Sphinx's configuration of the documentation site; scripts/docs_site.py lays out what it reads, and fills in what
# stands between at signs.
import logging

project = "Spansort"
author = "The Spansort authors"
copyright = "the Spansort authors"  # noqa: A001
release = version = "@VERSION@"
extensions = ["myst_parser", "breathe"]
source_suffix = {".md": "markdown"}
root_doc = "index"
myst_heading_anchors = 4
myst_enable_extensions = ["colon_fence"]
# Flags begin with two hyphens, which are to stay two.
smartquotes = False
# Blocks of text without a language are shown as they are.
highlight_language = "text"
# Notes begin with the heading that suits them on GitHub.
suppress_warnings = ["myst.header"]

breathe_projects = {"spansort": "@DOXYGEN_XML@"}
breathe_default_project = "spansort"
breathe_default_members = ("members",)
breathe_show_include = False

html_theme = "furo"
html_title = f"Spansort {release}"
html_static_path = ["_static"]
html_css_files = ["spansort.css"]
html_copy_source = False
html_show_sourcelink = False


class SameNamespace(logging.Filter):
    """Every header's page opens the library's namespaces, which Sphinx takes for one thing that is declared twice."""

    def filter(self, record):
        text = record.getMessage()
        return not ("Duplicate C++ declaration" in text and ".. cpp:type:: spansort" in text)


def setup(app):
    # This filter comes before those that count warnings and make errors of them.
    for handler in logging.getLogger("sphinx").handlers:
        handler.filters.insert(0, SameNamespace())
