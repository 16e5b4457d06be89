# SPDX-License-Identifier: Apache-2.0
"""Says what the sources of the documentation site lack, as far as that can be seen without Doxygen and Sphinx.

check_site.py REPOSITORY COMMAND_REFERENCE.md: lays the site out as `./dev docs` does, without the XML of Doxygen. Each
table of contents names pages that are there, every page is in one, and every header has a page."""
import pathlib
import re
import subprocess
import sys
import tempfile


CONTENTS = re.compile(r"^```\{toctree\}\n(.*?)^```", flags=re.DOTALL | re.MULTILINE)


def entries(page):
    """Paths that the tables of contents of a page name."""
    for block in CONTENTS.findall(page.read_text(encoding="utf-8")):
        for target in re.findall(r"<([^>]+)>$", block, flags=re.MULTILINE):
            yield (page.parent / f"{target}.md").resolve()


def faults(repository, site):
    pages = {page.resolve() for page in site.rglob("*.md")}
    named = {entry for page in pages for entry in entries(page)}
    yield from (f"{entry.relative_to(site)}: a table of contents names it, but it is not there"
                for entry in named - pages)
    yield from (f"{page.relative_to(site)}: no table of contents names it"
                for page in pages - named if page != site / "index.md")
    references = "".join(page.read_text(encoding="utf-8") for page in (site / "reference").glob("*.md"))
    for header in [*repository.glob("include/**/*.hpp"), *repository.glob("include/**/*.cuh")]:
        if f"# {header.relative_to(repository / 'include')}\n" not in references:
            yield f"{header}: the reference has no page of it"


def main():
    repository, command_reference = pathlib.Path(sys.argv[1]).resolve(), pathlib.Path(sys.argv[2])
    with tempfile.TemporaryDirectory(prefix="spansort-site-") as folder:
        xml, site = pathlib.Path(folder).resolve() / "xml", pathlib.Path(folder).resolve() / "site"
        xml.mkdir()
        script = repository / "scripts/docs_site.py"
        subprocess.run([sys.executable, "-B", script, command_reference, xml, site], check=True)
        found = sorted(faults(repository, site))
    sys.exit("\n".join(found) if found else 0)


if __name__ == "__main__":
    main()
