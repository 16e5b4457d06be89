# SPDX-License-Identifier: Apache-2.0
"""Completions of bash, zsh and fish, made by command_reference.py. Behind --mpi the flags are those over MPI."""
from command_man import flag_names

BASH = r"""# bash completion of spansort
# This file is made from the command's own flags.

# Each verb's flags, and what completes the value of a flag: names, @files, @folders or @nothing.
_spansort_flags() {
  case $1 in
@FLAGS@
  esac
}

_spansort_values() {
  case $1 in
@VALUES@
  esac
}

# _spansort_places completes words that have no flag before them.
_spansort_places() {
  case $1 in
@PLACES@
  esac
}

_spansort() {
  local words=() word glue='' verb='' program=spansort current previous found prefix i
  # Bash breaks words at ':' and '=', which values like host:4 have in them.
  for ((i = 0; i <= COMP_CWORD; ++i)); do
    word=${COMP_WORDS[i]}
    if ((i > 1)) && [[ $glue == yes || $word == : || $word == = ]]; then
      words[${#words[@]} - 1]+=$word
    else
      words+=("$word")
    fi
    if [[ $word == : || $word == = ]]; then glue=yes; else glue=''; fi
  done
  current=${words[${#words[@]} - 1]}
  previous=${words[${#words[@]} - 2]:-}
  for word in "${words[@]:1:${#words[@]} - 2}"; do
    if [[ $word == --mpi ]]; then program=spansort-mpi; fi
    if [[ -z $verb && $word != -* ]]; then verb=$word; fi
  done
  COMPREPLY=()
  if [[ $current == --*=* ]]; then
    previous=${current%%=*}
    current=${current#*=}
  fi
  found=$(_spansort_values "$program $verb $previous")
  if [[ -z $found ]]; then
    found=$(_spansort_places "$program $verb")
    if [[ $current == -* ]]; then found=$(_spansort_flags "$program $verb"); fi
  fi
  case $found in
    @nothing | '') return ;;
    @files)
      compopt -o filenames 2>/dev/null
      mapfile -t COMPREPLY < <(compgen -f -- "$current")
      return
      ;;
    @folders)
      compopt -o filenames 2>/dev/null
      mapfile -t COMPREPLY < <(compgen -d -- "$current")
      return
      ;;
  esac
  mapfile -t COMPREPLY < <(compgen -W "$found" -- "$current")
  if [[ $current == *:* && $COMP_WORDBREAKS == *:* ]]; then
    prefix=${current%"${current##*:}"}
    COMPREPLY=("${COMPREPLY[@]#"$prefix"}")
  fi
}

complete -F _spansort spansort
"""


def each_verb(described):
    """Program and verb, the program's own flags as a verb without a name."""
    for name, program in described["programs"].items():
        yield name, {"name": "", "text": "", "options": program["options"], "verbs": program["verbs"]}
        for verb in program["verbs"]:
            yield name, verb


def bash_values(option):
    return " ".join(option["choices"]) if option["completes"] == "choices" else "@" + option["completes"]


def bash_places(verb):
    """Verbs, where there is none yet; files win over everything else that the places of a verb may hold."""
    if verb.get("verbs"):
        return " ".join(each["name"] for each in verb["verbs"])
    if verb["name"].startswith("bench"):
        return "@files"
    values = [bash_values(option) for option in verb["options"] if option["positional"]]
    return "@files" if "@files" in values else next(iter(values), "@nothing")


def bash(described):
    flags, values, places = [], [], []
    for program, verb in each_verb(described):
        where = f"{program} {verb['name']}"
        names = [name for option in verb["options"] for name in flag_names(option)]
        flags.append(f"    '{where}') echo '{' '.join(names)}' ;;")
        places.append(f"    '{where}') echo '{bash_places(verb)}' ;;")
        for option in verb["options"]:
            if option["takes_value"] and not option["positional"]:
                patterns = " | ".join(f"'{where} {name}'" for name in flag_names(option))
                values.append(f"    {patterns}) echo '{bash_values(option)}' ;;")
    return (BASH.replace("@FLAGS@", "\n".join(flags)).replace("@VALUES@", "\n".join(values))
            .replace("@PLACES@", "\n".join(places)))


def quoted(text):
    return "'" + text.replace("'", "'\\''") + "'"


def zsh_action(option):
    if option["completes"] == "choices":
        choices = " ".join(choice.replace(":", "\\:") for choice in option["choices"])
        return f"({choices})"
    return {"files": "_files", "folders": "_files -/"}.get(option["completes"], " ")


def zsh_spec(option):
    """One argument of _arguments for each name of the option."""
    label = (option["value"] or option["positional"]).lower().replace(":", "\\:") or "value"
    if option["positional"]:
        place = "*" if option["repeats"] else ""
        return [quoted(f"{place}:{label}:{zsh_action(option)}")]
    text = option["text"].replace("\\", "\\\\").replace("[", "\\[").replace("]", "\\]").replace(":", "\\:")
    names = flag_names(option)
    others = "*" if option["repeats"] else f"({' '.join(names)})"
    value = f":{label}:{zsh_action(option)}" if option["takes_value"] else ""
    joint = "=" if option["takes_value"] else ""
    return [quoted(f"{others}{name}{joint if name.startswith('--') else '+' if joint else ''}[{text}]{value}")
            for name in names]


def zsh_verb(program, verb):
    specs = [spec for option in verb["options"] for spec in zsh_spec(option)]
    if verb["name"].startswith("bench"):
        specs = ["'*:argument:_files'"]
    lines = " \\\n        ".join(specs)
    return f"    '{program} {verb['name']}')\n      _arguments -s \\\n        {lines}\n      ;;"


def zsh(described):
    local = described["programs"]["spansort"]
    verbs = [quoted(f"{verb['name']}:{verb['text']}") for verb in local["verbs"]]
    cases = [zsh_verb(program, verb) for program, verb in each_verb(described) if verb["name"]]
    flags = [spec for option in local["options"] for spec in zsh_spec(option)]
    return "\n".join(
        ["#compdef spansort", "# This file is made from the command's own flags.", "", "_spansort() {",
         "  local context state line program=spansort", "  local -a verbs",
         "  _arguments -C " + " ".join(flags) + " '1:verb:->verb' '*::argument:->argument'",
         "  if [[ $state == verb ]]; then", "    verbs=(", *(f"      {verb}" for verb in verbs), "    )",
         "    _describe verb verbs", "    return", "  fi",
         "  if (( ${words[(I)--mpi]} )); then program=spansort-mpi; fi",
         "  case \"$program $words[1]\" in", *cases, "  esac", "}", "", '_spansort "$@"', ""])


def fish_option(condition, option):
    if option["positional"]:
        names = []
    else:
        names = [f"-s {name}" for name in option["short"]] + [f"-l {name}" for name in option["long"]]
    action = {"choices": "-x -a " + quoted(" ".join(option["choices"])), "files": "-r -F",
              "folders": "-x -a '(__fish_complete_directories)'", "nothing": "-x" if option["takes_value"] else ""}
    text = f" -d {quoted(option['text'])}" if names else ""
    if option["positional"]:
        return {"choices": f"complete -c spansort -n {quoted(condition)} -a {quoted(' '.join(option['choices']))}",
                "files": f"complete -c spansort -n {quoted(condition)} -F"}.get(option["completes"])
    words = ["complete -c spansort -n", quoted(condition), *names, action[option["completes"]]]
    return " ".join(word for word in words if word) + text


def fish(described):
    lines = ["# This file is made from the command's own flags.", "complete -c spansort -f"]
    collective = {verb["name"] for verb in described["programs"].get("spansort-mpi", {"verbs": []})["verbs"]}
    for program, verb in each_verb(described):
        condition = f"__fish_seen_subcommand_from {verb['name']}"
        if not verb["name"]:
            if program != "spansort":
                continue
            condition = "__fish_use_subcommand"
            lines += [f"complete -c spansort -n {condition} -a {each['name']} -d {quoted(each['text'])}"
                      for each in verb["verbs"]]
        elif verb["name"] in collective:
            condition += f"; and {'not ' if program == 'spansort' else ''}__fish_contains_opt mpi"
        found = [fish_option(condition, option) for option in verb["options"]]
        lines += [line for line in found if line]
    return "\n".join(lines) + "\n"


def completions(described):
    """File name -> text, named as each shell looks for them."""
    return {"spansort": bash(described), "_spansort": zsh(described), "spansort.fish": fish(described)}
