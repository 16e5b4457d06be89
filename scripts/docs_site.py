#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Lays out what Sphinx builds the documentation site of: docs/, a page for each header, the reference of the command.

docs_site.py COMMAND_REFERENCE.md DOXYGEN_XML FOLDER: the first is what scripts/command_reference.py makes, the second
the folder of Doxygen's XML, which is filtered in its place. FOLDER gets the sources. Lists of links in docs/index.md
and docs/design/README.md become the site's tables of contents; links to files that are no pages become text."""
import pathlib
import re
import shutil
import sys

import docs_headers

REPOSITORY = pathlib.Path(__file__).resolve().parent.parent
DOCS = REPOSITORY / "docs"
# Pages from outside docs/, and what they are called in the site.
OTHER_PAGES = {"CHANGELOG.md": "changelog.md", "CONTRIBUTING.md": "contributing.md"}
LINK = re.compile(r"(!?)\[([^\]]*)\]\(([^)\s]+)\)")


def contents(links, caption):
    """The links of a list as a table of contents, of which the page itself shows nothing."""
    entries = "\n".join(f"{text} <{target.removesuffix('.md')}>" for text, target in links)
    captioned = f":caption: {caption}\n" if caption else ""
    return f"```{{toctree}}\n:hidden:\n{captioned}\n{entries}\n```\n"


def design_text(text):
    return text + "\n" + contents(re.findall(r"^- \[([^\]]*)\]\(([^)]*)\)", text, flags=re.MULTILINE), "")


def index_text(text, reference):
    """docs/index.md: the lists stay, and a table of contents stands behind each."""
    parts = re.split(r"^(## .*)$", text, flags=re.MULTILINE)
    made = [parts[0]]
    for heading, body in zip(parts[1::2], parts[2::2]):
        if heading == "## Reference":
            body = body.rstrip() + "\n" + "".join(f"- [{title}]({target})\n" for title, target in reference) + "\n"
        if heading == "## Development":
            body = "\n- [Contributing](contributing.md)\n- [Changelog](changelog.md)\n" + body.lstrip()
        links = re.findall(r"^- \[([^\]]*)\]\(([^)]*)\)", body, flags=re.MULTILINE)
        made += [heading, body, contents(links, heading.removeprefix("## ")), "\n"]
    return "".join(made)


def relinked(text, page, inside):
    """Links as they are in the site: pages of the site stay, the repository's other files are named in text."""
    def link(found):
        bang, words, target = found.groups()
        path, hash_sign, place = target.partition("#")
        if not path or "://" in target or bang:
            return found.group(0)
        goal = (page.parent / path).resolve()
        name = str(goal.relative_to(REPOSITORY)) if goal.is_relative_to(REPOSITORY) else ""
        if name in OTHER_PAGES:
            depth = 0 if page.parent == REPOSITORY else len(page.relative_to(DOCS).parts) - 1
            return f"[{words}]({'../' * depth}{OTHER_PAGES[name]}{hash_sign}{place})"
        if page.parent == REPOSITORY and name.startswith("docs/"):
            return f"[{words}]({name.removeprefix('docs/')}{hash_sign}{place})"
        return found.group(0) if name.removeprefix("docs/") in inside else words
    # Code is left alone.
    parts = re.split(r"(^```.*?^```|`[^`\n]*`)", text, flags=re.DOTALL | re.MULTILINE)
    return "".join(part if i % 2 else LINK.sub(link, part) for i, part in enumerate(parts))


def write(path, text):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")


def main():
    command_reference, xml_folder, folder = (pathlib.Path(argument) for argument in sys.argv[1:])
    docs_headers.filter_xml(xml_folder)
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(DOCS / "plots", folder / "plots")
    (folder / "_static").mkdir()
    version = re.search(r"project\(Spansort VERSION ([0-9.]+)", (REPOSITORY / "CMakeLists.txt").read_text()).group(1)
    settings = (DOCS / "site/conf.py").read_text().replace("@VERSION@", version)
    write(folder / "conf.py", settings.replace("@DOXYGEN_XML@", str(xml_folder.resolve())))
    shutil.copy(DOCS / "site/spansort.css", folder / "_static")
    reference = [("Reference of the command", "reference/command.md"), ("Reference of C++", "reference/cpp.md")]
    pages = [page for page in DOCS.rglob("*.md") if page.parent != DOCS / "site"]
    inside = {str(page.relative_to(DOCS)) for page in pages}
    for page in pages:
        text = relinked(page.read_text(encoding="utf-8"), page, inside)
        if page == DOCS / "index.md":
            text = index_text(text, reference)
        if page == DOCS / "design/README.md":
            text = design_text(text)
        write(folder / page.relative_to(DOCS), text)
    for name, called in OTHER_PAGES.items():
        write(folder / called, relinked((REPOSITORY / name).read_text(encoding="utf-8"), REPOSITORY / name, inside))
    write(folder / "reference/command.md", command_reference.read_text(encoding="utf-8"))
    for name, text in docs_headers.pages(REPOSITORY / "include", xml_folder).items():
        write(folder / "reference" / name, text)


if __name__ == "__main__":
    main()
