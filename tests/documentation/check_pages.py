# SPDX-License-Identifier: Apache-2.0
"""Says which links of the documentation lead nowhere, and which pages docs/index.md leaves out.

check_pages.py REPOSITORY: README.md, CONTRIBUTING.md, CHANGELOG.md and all of docs/. A link to a place within a page is
held against that page's headings. README keeps to 150 lines; every header of the library begins with what it is."""
import pathlib
import re
import sys

MOST_README_LINES = 150
LINK = re.compile(r"!?\[[^\]]*\]\(([^)\s]+)\)")


def without_code(text):
    text = re.sub(r"^```.*?^```", "", text, flags=re.DOTALL | re.MULTILINE)
    return re.sub(r"`[^`\n]*`", "`code`", text)


def anchor(heading):
    """The name that GitHub and MyST give a heading."""
    heading = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading).replace("`", "").strip().lower()
    return re.sub(r"[^\w\- ]", "", heading).replace(" ", "-")


def anchors(page):
    text = re.sub(r"^```.*?^```", "", page.read_text(encoding="utf-8"), flags=re.DOTALL | re.MULTILINE)
    return {anchor(heading) for heading in re.findall(r"^#+ (.*)$", text, flags=re.MULTILINE)}


def broken_links(page):
    for target in LINK.findall(without_code(page.read_text(encoding="utf-8"))):
        if target.startswith(("http://", "https://", "mailto:")):
            continue
        path, _, place = target.partition("#")
        goal = page.parent / path if path else page
        if not goal.exists():
            yield f"{page}: {target}: there is no such file"
        elif place and place not in anchors(goal):
            yield f"{page}: {target}: there is no such heading"


def pages_left_out(docs):
    indices = [docs / "index.md", docs / "design/README.md"]
    listed = {(index.parent / target).resolve() for index in indices for target in LINK.findall(index.read_text())}
    for page in sorted(docs.rglob("*.md")):
        if page != docs / "index.md" and page.resolve() not in listed:
            yield f"{page}: docs/index.md does not name it, so the site has no way to it"


def silent_headers(repository):
    """The reference shows the first comment of a header."""
    headers = [*repository.glob("include/spansort/**/*.hpp"), *repository.glob("include/spansort/**/*.cuh")]
    for header in sorted(headers):
        lines = header.read_text(encoding="utf-8").splitlines()
        if len(lines) < 2 or not lines[1].startswith("// "):
            yield f"{header}: the second line does not say what the header is"


def main():
    repository = pathlib.Path(sys.argv[1])
    pages = [repository / name for name in ("README.md", "CONTRIBUTING.md", "CHANGELOG.md")]
    pages += sorted((repository / "docs").rglob("*.md"))
    faults = [fault for page in pages for fault in broken_links(page)]
    faults += [*pages_left_out(repository / "docs"), *silent_headers(repository)]
    readme = (repository / "README.md").read_text(encoding="utf-8").splitlines()
    if len(readme) > MOST_README_LINES:
        faults.append(f"README.md: {len(readme)} lines; it keeps to {MOST_README_LINES}, other pages have room")
    sys.exit("\n".join(faults) if faults else 0)


if __name__ == "__main__":
    main()
