# SPDX-License-Identifier: Apache-2.0
"""Man pages and completions, as man and shells see them, against what the command itself says and takes."""
import json
import os
import re
import shutil
import subprocess
import sys
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "cli"))
from support import BIN, REPOSITORY, CommandTest, main, run  # noqa: E402

REFERENCE = os.environ.get("SPANSORT_REFERENCE", os.path.join(REPOSITORY, "build/host/reference"))
UNKNOWN = "unknown"
HAS_MPI = os.environ.get("SPANSORT_HAS_MPI", "ON") == "ON"


def read(*names):
    with open(os.path.join(REFERENCE, *names), encoding="utf-8") as file:
        return file.read()


def described():
    return json.loads(read("commands.json"))["programs"]


def verbs():
    """All but `help`, whose own help is that of the program."""
    return [verb for verb in described()["spansort"]["verbs"] if verb["name"] != "help"]


def flags_in_help(text):
    """The flags that a help lists, each in a line of its own."""
    names = re.findall(r"^ {2,6}((?:-\w|--[\w-]+)(?:, ?--[\w-]+)*)", text, flags=re.MULTILINE)
    return {name for line in names for name in re.split(", ?", line)}


def tool(name):
    path = shutil.which(name)
    if path is None:
        raise unittest.SkipTest(f"no {name} here")
    return path


class ManPages(unittest.TestCase):
    def test_every_verb_and_flag_of_help_has_its_place(self):
        names = [verb["name"] for verb in verbs()]
        self.assertGreater(len(names), 5)
        for verb in names:
            page = read("man1", f"spansort-{verb}.1").replace("\\-", "-")
            flags = flags_in_help(run(verb, "--help").stdout.decode())
            self.assertIn("--help", flags)
            for flag in flags:
                self.assertIn(f"\\fB{flag}\\fR", page, verb)
            self.assertIn(f"\\fB{verb}\\fR", read("man1", "spansort.1").replace("\\-", "-"))

    def test_flags_over_mpi(self):
        if not HAS_MPI:
            raise unittest.SkipTest("built without MPI")
        for page in ("spansort-sort.1", "spansort-mpi.1"):
            self.assertIn("\\fB--heartbeat-timeout\\fR", read("man1", page).replace("\\-", "-"))

    def test_man_finds_no_fault(self):
        groff = tool("groff")
        for name in os.listdir(os.path.join(REFERENCE, "man1")):
            page = os.path.join(REFERENCE, "man1", name)
            done = subprocess.run([groff, "-man", "-ww", "-Tutf8", "-Z", "-rLL=78n", page],
                                  stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, check=False)
            # A line that cannot be filled without wide gaps is no fault.
            faults = [line for line in done.stderr.splitlines() if "adjust" not in line and "break" not in line]
            self.assertEqual((done.returncode, faults), (0, []), name)

    def test_names_and_summaries_are_found(self):
        lexgrog = tool("lexgrog")
        for name in os.listdir(os.path.join(REFERENCE, "man1")):
            page = os.path.join(REFERENCE, "man1", name)
            done = subprocess.run([lexgrog, page], capture_output=True, text=True, check=False)
            self.assertEqual(done.returncode, 0, done.stdout)
            self.assertIn(name.removesuffix(".1") + " - ", done.stdout)


BASH_SCRIPT = r"""
set -u
source "$1"
line=$2
# The words as readline breaks them.
COMP_LINE=$line COMP_POINT=${#line}
mapfile -t COMP_WORDS < <(sed -E 's/([:=])/\n\1\n/g; s/ +/\n/g' <<<"$line")
while ((${#COMP_WORDS[@]} > 1)) && [[ -z ${COMP_WORDS[-1]} && $line != *' ' ]]; do unset 'COMP_WORDS[-1]'; done
COMP_CWORD=$((${#COMP_WORDS[@]} - 1))
_spansort
printf '%s\n' "${COMPREPLY[@]}"
"""


class Bash(CommandTest):
    def setUp(self):
        super().setUp()
        self.bash = tool("bash")
        self.script = os.path.join(REFERENCE, "completions", "spansort")

    def complete(self, line):
        """What the shell offers for the end of the line, in a folder of the test's own."""
        done = subprocess.run([self.bash, "--norc", "-c", BASH_SCRIPT, "bash", self.script, line], cwd=self.folder,
                              capture_output=True, text=True, check=False)
        self.assertEqual(done.stderr.replace("compopt", "").strip(), "", line)
        return done.stdout.split("\n")[:-1] if done.stdout.strip() else []

    def test_the_script_parses(self):
        subprocess.run([self.bash, "-n", self.script], check=True)

    def test_verbs(self):
        self.assertIn("sort", self.complete("spansort "))
        self.assertEqual(self.complete("spansort args"), ["argsort"])
        self.assertEqual(self.complete("spansort help chec"), ["check"])
        self.assertIn("--version", self.complete("spansort --"))

    def test_flags(self):
        for verb in verbs():
            offered = set(self.complete(f"spansort {verb['name']} -"))
            self.assertEqual(offered, flags_in_help(run(verb["name"], "--help").stdout.decode()), verb["name"])
        self.assertEqual(self.complete("spansort sort x.npy --head"), ["--head"])

    def test_values(self):
        self.assertEqual(self.complete("spansort sort --type f"), ["f16", "f32", "f64"])
        self.assertIn("paradis", self.complete("spansort sort --algorithm "))
        self.assertIn("zipf:1", self.complete("spansort gen 10 --distribution "))
        self.assertIn("hazen", self.complete("spansort summary x.npy --method "))
        self.assertEqual(self.complete("spansort sort --progress=al"), ["always"])
        self.assertEqual(self.complete("spansort sort --head "), [])

    def test_values_with_a_colon(self):
        # The shell replaces what stands behind the last colon.
        self.assertEqual(self.complete("spansort sort --devices host:"), ["2", "4"])
        self.assertEqual(self.complete("spansort sort --devices host:4"), ["4"])
        self.assertEqual(self.complete("spansort sort --devices=host:"), ["2", "4"])

    def test_files_and_folders(self):
        self.write("keys.npy", b"")
        os.mkdir(self.path("kept"))
        self.assertEqual(sorted(self.complete("spansort sort ke")), ["kept", "keys.npy"])
        self.assertEqual(sorted(self.complete("spansort sort keys.npy -o ke")), ["kept", "keys.npy"])
        self.assertEqual(self.complete("spansort sort keys.npy -T ke"), ["kept"])

    def test_behind_mpi_are_its_flags(self):
        if not HAS_MPI:
            raise unittest.SkipTest("built without MPI")
        self.assertEqual(self.complete("spansort sort --mpi --heart"), ["--heartbeat-timeout"])
        self.assertIn("distributed_lsd", self.complete("spansort sort --mpi --algorithm "))
        self.assertEqual(self.complete("spansort sort --heart"), [])


class OtherShells(CommandTest):
    def fish(self, line):
        done = subprocess.run([tool("fish"), "--no-config", "-c", 'source $argv[1]; complete -C $argv[2]',
                               os.path.join(REFERENCE, "completions", "spansort.fish"), line],
                              cwd=self.folder, capture_output=True, text=True, check=True,
                              env=os.environ | {"HOME": self.folder, "PATH": os.environ["PATH"]})
        return [offer.split("\t")[0] for offer in done.stdout.splitlines()]

    def test_fish(self):
        self.assertIn("argsort", self.fish("spansort "))
        self.assertEqual(self.fish("spansort sort --type f"), ["f16", "f32", "f64"])
        self.assertIn("--unique", self.fish("spansort sort --"))
        if HAS_MPI:
            self.assertIn("--heartbeat-timeout", self.fish("spansort sort --mpi --heart"))
            self.assertNotIn("--heartbeat-timeout", self.fish("spansort sort --heart"))

    def test_zsh_parses(self):
        subprocess.run([tool("zsh"), "-n", os.path.join(REFERENCE, "completions", "_spansort")], check=True)


class Choices(CommandTest):
    """A shell offers nothing that the command does not know."""

    def lines_of(self, verb, option, choice):
        flag = f"--{option['long'][0]}"
        if verb == "gen":
            type_given = [] if flag == "--type" else ["--type", "f32"]
            return [verb, "10", "-o", self.path("out.npy"), flag, choice, *type_given]
        keys = self.path("keys.bin")
        type_given = [] if flag == "--type" else ["--type", "u32"]
        output = ["-o", self.path("out.bin")] if verb in ("sort", "argsort", "take") else []
        order = ["--order", keys] if verb == "take" else []
        return [verb, keys, *output, *order, flag, choice, *type_given]

    def test_every_choice_is_known(self):
        self.write("keys.bin", bytes(range(64)))
        tried = 0
        for verb in verbs():
            places = [option["positional"] for option in verb["options"] if option["positional"]]
            for option in verb["options"]:
                if option["positional"] or places not in (["IN"], ["IN", "MORE"], ["N"]):
                    continue
                if option["choices"]:
                    self.assertRegex(run(*self.lines_of(verb["name"], option, "frob")).stderr, UNKNOWN)
                for choice in option["choices"]:
                    done = run(*self.lines_of(verb["name"], option, choice))
                    self.assertNotRegex(done.stderr, UNKNOWN, f"{verb['name']} {option['long']}")
                    tried += 1
        self.assertGreater(tried, 40)


if __name__ == "__main__":
    if not os.access(BIN, os.X_OK):
        sys.exit(f"{BIN} is not there")
    main()
