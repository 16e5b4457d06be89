# SPDX-License-Identifier: Apache-2.0
"""Man pages of the command, made by command_reference.py: one of the program, one of each verb, one over MPI."""
import re

# Verbs that the page of another verb explains.
PAGELESS = ("help", "bench-compare")
COPYING = "Spansort is free software under the Apache License 2.0."


def escaped(text):
    """Text for a line of roff: no control line, no escape, and hyphens that are typed as they are."""
    text = text.replace("\\", "\\e").replace("-", "\\-").replace("'", "\\(aq").replace("`", "\\(ga")
    return "\\&" + text if text.startswith(".") else text


def bold(text):
    return f"\\fB{escaped(text)}\\fR"


def italic(text):
    return f"\\fI{escaped(text)}\\fR"


def head(name, version):
    return [f'.TH {name.upper()} 1 "" "spansort {version}" "Spansort"']


def flag_names(option):
    return [f"-{name}" for name in option["short"]] + [f"--{name}" for name in option["long"]]


def sentence(text):
    return text if text.endswith(".") else text + "."


def option_lines(option):
    names = ", ".join(bold(name) for name in flag_names(option)) or italic(option["positional"])
    if option["value"]:
        names += " " + italic(option["value"])
    default = f" The default is {option['default']}." if option["default"] else ""
    return [".TP", names, escaped(sentence(option["text"]) + default)]


def section(title, lines):
    return [f".SH {title}", *lines] if lines else []


def example_lines(text):
    return [".nf", *(escaped(line) for line in text.splitlines()), ".fi"]


def footer_sections(footer):
    """Paragraphs of a help's last words: `Exit status:` and `Example:` are sections of their own, laid out as there."""
    lines, notes = [], []
    for paragraph in re.split(r"\n\s*\n", footer.strip()):
        first, _, rest = paragraph.partition("\n")
        example = re.match(r"Examples?: *", first)
        if example:
            text = paragraph[example.end():].replace("\n" + " " * example.end(), "\n")
            lines += section("EXAMPLES", example_lines(text))
        elif first.endswith(":") and rest:
            lines += section(first[:-1].upper(), example_lines(rest))
        elif paragraph:
            notes += [".PP", escaped(" ".join(paragraph.split()))]
    return section("NOTES", notes[1:]) + lines


def synopsis(program, verb):
    places = [option for option in verb["options"] if option["positional"]]
    words = []
    for option in places:
        name = italic(option["positional"]) + (" ..." if option["repeats"] else "")
        words.append(name if option["required"] else f"[{name}]")
    return [f"{bold(program)} {bold(verb['name'])} {' '.join(words)} [{italic('OPTION')} ...]"]


def places_and_flags(verb):
    return (sum((option_lines(option) for option in verb["options"] if option["positional"]), []),
            sum((option_lines(option) for option in verb["options"] if not option["positional"]), []))


def cluster_lines(verb, cluster_verb):
    """What differs over MPI: flags that are there alone or say something else there, and flags that are not there."""
    local = {tuple(flag_names(option)): option["text"] for option in verb["options"] if flag_names(option)}
    there = {tuple(flag_names(option)) for option in cluster_verb["options"]}
    missing = [names[-1] for names in local if names not in there]
    lines = [escaped(f"Started by mpirun with --mpi, {verb['name']} works over all processes: mpirun -n 4 spansort "
                     f"{verb['name']} --mpi ... These flags are other ones there:")]
    for option in cluster_verb["options"]:
        names = tuple(flag_names(option))
        if names and local.get(names) != option["text"]:
            lines += option_lines(option)
    if missing:
        lines += [".PP", escaped("These are not there: " + ", ".join(missing) + ".")]
    return lines


def verb_page(described, verb, cluster_verb):
    name = f"spansort-{verb['name']}"
    places, flags = places_and_flags(verb)
    lines = head(name, described["version"])
    lines += section("NAME", [f"{escaped(name)} \\- {escaped(verb['text'].rstrip('.'))}"])
    lines += section("SYNOPSIS", synopsis("spansort", verb))
    lines += section("DESCRIPTION", [escaped(sentence(verb["text"]))] + places)
    lines += section("OPTIONS", flags)
    if cluster_verb:
        lines += section("OVER MPI", cluster_lines(verb, cluster_verb))
    lines += footer_sections(verb["footer"])
    lines += section("SEE ALSO", ["\\fBspansort\\fR(1) lists the exit statuses and the other verbs."])
    return "\n".join(lines + section("COPYING", [COPYING])) + "\n"


def program_page(described, name, note):
    program = described["programs"][name]
    lines = head(name, described["version"])
    lines += section("NAME", [f"{escaped(name)} \\- {escaped(program['text'].rstrip('.'))}"])
    lines += section("SYNOPSIS", [f"{bold('spansort')} {italic('VERB')} [{italic('ARGUMENT')} ...]"])
    lines += section("DESCRIPTION", [escaped(note)])
    verbs = []
    for verb in program["verbs"]:
        verbs += [".TP", bold(verb["name"]), escaped(sentence(verb["text"]))]
    lines += section("VERBS", verbs)
    lines += section("OPTIONS", places_and_flags(program)[1])
    return lines + footer_sections(program["footer"])


def local_page(described):
    verbs = [verb for verb in described["programs"]["spansort"]["verbs"] if verb["name"] not in ("bench", *PAGELESS)]
    pages = [f"\\fBspansort\\-{escaped(verb['name'])}\\fR(1)" for verb in verbs]
    lines = program_page(described, "spansort", "Each verb has a page of its own: man spansort-sort shows that of sort.")
    lines += section("ENVIRONMENT", [".TP", bold("TMPDIR"), "The folder of temporary files where no \\-T names one.",
                                     ".TP", bold("COLUMNS"), "How wide the box plot of summary is printed."])
    return "\n".join(lines + section("SEE ALSO", [", ".join(pages)]) + section("COPYING", [COPYING])) + "\n"


def cluster_page(described):
    lines = program_page(described, "spansort-mpi",
                         "spansort is replaced by this program when it is given --mpi, and is started by mpirun: mpirun "
                         "-n 4 spansort sort --mpi IN -o OUT. It is not meant to be called by its own name.")
    for verb in described["programs"]["spansort-mpi"]["verbs"]:
        places, flags = places_and_flags(verb)
        text = [*synopsis("spansort", verb), ".PP", escaped(sentence(verb["text"])), *places, *flags]
        lines += section(verb["name"].upper(), text)
    lines += section("SEE ALSO", ["\\fBspansort\\fR(1), \\fBmpirun\\fR(1)"])
    return "\n".join(lines + section("COPYING", [COPYING])) + "\n"


def bench_page(described):
    lines = head("spansort-bench", described["version"])
    lines += section("NAME", ["spansort\\-bench \\- Measures sorts side by side"])
    lines += section("SYNOPSIS", [f"{bold('spansort')} {bold('bench')} [{italic('SUITE')}] [{italic('OPTION')} ...]"])
    lines += section("DESCRIPTION", [escaped(
        "spansort is replaced by this program when its verb is bench. Suites redraw the figures of the papers behind the "
        "algorithms, compare sorts over several devices, and say what changed between two files of results. All suites "
        "and flags are listed by spansort bench --help.")])
    return "\n".join(lines + section("SEE ALSO", ["\\fBspansort\\fR(1)"]) + section("COPYING", [COPYING])) + "\n"


def pages(described):
    """File name -> text."""
    programs = described["programs"]
    cluster = {verb["name"]: verb for verb in programs.get("spansort-mpi", {"verbs": []})["verbs"]}
    found = {"spansort.1": local_page(described)}
    for verb in programs["spansort"]["verbs"]:
        if verb["name"] == "bench":
            found["spansort-bench.1"] = bench_page(described)
        elif verb["name"] not in PAGELESS:
            found[f"spansort-{verb['name']}.1"] = verb_page(described, verb, cluster.get(verb["name"]))
    if cluster:
        found["spansort-mpi.1"] = cluster_page(described)
    return found
