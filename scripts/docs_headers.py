# SPDX-License-Identifier: Apache-2.0
"""Pages of the reference of C++, one a header, for docs_site.py: the comment at the header's top, its concepts, and
what Breathe makes of Doxygen's XML, from which is taken what no reader calls."""
import html
import pathlib
import re

MOST_COLUMNS = 120
# The reference lists headers in this order; one that is not here comes behind them.
FIRST = ["sort", "sort_by", "table", "arrow", "table_stream", "merge_sort", "records", "take", "statistics", "top_k", "resident",
         "resident_statistics", "files", "take_file", "file_statistics", "mpi", "options", "device_list", "devices",
         "report", "plan", "check", "generate", "types", "ranges", "errors"]


def headers(include):
    """Paths below include/, those of FIRST first."""
    found = [*include.rglob("*.hpp"), *include.rglob("*.cuh"), *include.rglob("*.hpp.in")]
    names = sorted(str(path.relative_to(include)).removesuffix(".in") for path in found)
    first = [f"spansort/{name}.hpp" for name in FIRST]
    return [name for name in first if name in names] + [name for name in names if name not in first]


def page_of(header):
    return header.removeprefix("spansort/").replace("/", "-").replace(".", "-") + ".md"


def is_broken_on_purpose(line, following):
    """Whether the first word of the next line would have fitted: then a paragraph ends here."""
    word = following.split()[0] if following.split() else ""
    return len(line) + 1 + len(word) <= MOST_COLUMNS


def plain(text):
    """Text of a comment as Markdown: brackets and stars are no markup, but `code` is code."""
    parts = re.split("(`[^`]*`)", text)
    return "".join(part if i % 2 else re.sub(r"([<*_\[\]])", r"\\\1", part) for i, part in enumerate(parts))


def comment_lines(path):
    """Lines of the comment at a header's top, with their slashes; that of the version is made of a file `.in`."""
    source = path if path.exists() else path.with_name(path.name + ".in")
    lines = source.read_text(encoding="utf-8").splitlines()[1:]
    return lines[:next((i for i, line in enumerate(lines) if not line.startswith("//")), len(lines))]


def layout_of(line):
    """The language of a line that is indented: code by four and more, a formula by two; nothing for a line of text."""
    indent = len(line) - len(line[2:].lstrip()) - 3
    return "cpp" if indent >= 4 else "text" if indent >= 2 else ""


def head_comment(path):
    """The comment at a header's top: paragraphs, and what is indented as it stands there."""
    lines = comment_lines(path)
    text, layout = "", ""
    for line, following in zip(lines, [*lines[1:], "//"]):
        if bool(layout) != bool(layout_of(line)):
            text += "```\n\n" if layout else f"\n\n```{layout_of(line)}\n"
            layout = layout_of(line)
        if layout:
            text += line[5:] + "\n"
        else:
            words = line[2:].strip()
            text += plain(words) + ("\n\n" if not words or is_broken_on_purpose(line, following[2:]) else "\n")
    return (text + ("```\n" if layout else "")).strip()


def text_of(xml, element):
    found = re.search(f"<{element}>(.*?)</{element}>", xml, flags=re.DOTALL)
    text = re.sub(r"<computeroutput>(.*?)</computeroutput>", r"`\1`", found.group(1)) if found else ""
    return " ".join(html.unescape(re.sub(r"<[^>]+>", "", text)).split())


def concepts(xml_folder, header):
    """Breathe 4.34 leaves concepts out, so that they are written here."""
    made = []
    for path in sorted(xml_folder.glob("concept*.xml")):
        xml = path.read_text(encoding="utf-8")
        if f'<location file="{header}"' not in xml or "detail::" in text_of(xml, "compoundname"):
            continue
        parameters = re.sub(r"\s*\bconcept\b.*", "", text_of(xml, "initializer"), flags=re.DOTALL)
        text = plain(f"{text_of(xml, 'briefdescription')} {text_of(xml, 'detaileddescription')}".strip())
        made.append(f"```{{cpp:concept}} {parameters} {text_of(xml, 'compoundname')}\n\n{text}\n```\n")
    return "## Concepts\n\n" + "\n".join(made) + "\n" if made else ""


def has_more(xml_folder, header):
    """Whether the header declares something that is no concept."""
    others = (path for path in xml_folder.glob("*.xml") if not path.name.startswith("concept"))
    return any(f'<location file="{header}" line' in path.read_text(encoding="utf-8") for path in others)


DROPPED = [re.compile(r"\s*" + pattern, flags=re.DOTALL) for pattern in (
    r"<memberdef (?:(?!</memberdef>).)*?<argsstring>[^<]*=\s*delete</argsstring>.*?</memberdef>",
    r'<sectiondef kind="private-[a-z-]*">.*?</sectiondef>',
    r'<memberdef kind="friend"[^>]* inline="no"(?:(?!</memberdef>).)*?</memberdef>',
    r"<innerclass [^>]*>[^<]*&lt;[^<]*</innerclass>",
    r"<innerconcept [^>]*>[^<]*</innerconcept>")]


def filter_xml(folder):
    """Takes out what is private, deleted functions, which only say why a call is refused, specialisations, concepts,
    and friends that are declared elsewhere."""
    for path in folder.glob("*.xml"):
        xml = path.read_text(encoding="utf-8")
        kept = xml
        for pattern in DROPPED:
            kept = pattern.sub("", kept)
        if kept != xml:
            path.write_text(kept, encoding="utf-8")


def page(include, xml_folder, header):
    text = f"# {header}\n\n{head_comment(include / header)}\n\n"
    found = concepts(xml_folder, header)
    if has_more(xml_folder, header):
        heading = "## Functions and types\n\n" if found else ""
        found += f"{heading}```{{doxygenfile}} {header.rpartition('/')[2]}\n```\n"
    return text + found


def pages(include, xml_folder):
    """File name -> text; cpp.md lists them."""
    names = headers(include)
    rows = "".join(f"- [{header}]({page_of(header)})\n" for header in names)
    contents = "\n".join(f"{header} <{page_of(header).removesuffix('.md')}>" for header in names)
    found = {"cpp.md": "# Reference of C++\n\nEach header of `include/spansort/` has a page, made from its comments. "
                       "[One API](../api.md) says which function is for data that lies where, and [One example of every "
                       "function](../examples.md) shows them at work. `#include <spansort/spansort.hpp>` brings what is "
                       f"sorted in host memory.\n\n{rows}\n```{{toctree}}\n:hidden:\n\n{contents}\n```\n"}
    return found | {page_of(header): page(include, pathlib.Path(xml_folder), header) for header in names}
