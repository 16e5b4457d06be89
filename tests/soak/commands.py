# SPDX-License-Identifier: Apache-2.0
"""The kinds of command that the loops of loops.py run, with their inputs and what they should write."""
import dataclasses
import os
import shutil
import subprocess

BIN = os.path.abspath(os.environ.get("SPANSORT_BIN", "build/host/bin/spansort"))
MPI = ["mpirun", "--oversubscribe", "-n", "2"]
ENVIRONMENT = dict(os.environ, LC_ALL="C", OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1",
                   OMPI_MCA_mpi_yield_when_idle="1", OMPI_MCA_btl="^tcp")
OLD = b"the old output"
KEYS = ["--type", "u64"]
RECORDS = ["--record", "100", "--key", "0:10"]


@dataclasses.dataclass
class Kind:
    """A command. `source` names one of the inputs."""
    name: str
    verb: list
    source: str = "keys"
    in_place: bool = False
    is_stream: bool = False
    is_external: bool = False  # with a ceiling far below its input
    launcher: list = dataclasses.field(default_factory=list)


def kinds():
    """All kinds; those over MPI only where mpirun is."""
    found = [
        Kind("keys", ["sort", *KEYS]),
        Kind("keys in place", ["sort", *KEYS], in_place=True),
        Kind("external", ["sort", *KEYS], is_external=True),
        Kind("external in place", ["sort", *KEYS], in_place=True, is_external=True),
        Kind("external verified", ["sort", *KEYS, "--verify"], is_external=True),
        Kind("stream", ["sort", *KEYS], is_stream=True, is_external=True),
        Kind("records", ["sort", *RECORDS], source="records"),
        Kind("external records in place", ["sort", *RECORDS], source="records", in_place=True, is_external=True),
        Kind("argsort", ["argsort", *KEYS], is_external=True),
    ]
    if shutil.which("mpirun"):
        found += [Kind("mpi", ["sort", "--mpi", *KEYS], launcher=MPI),
                  Kind("mpi in place", ["sort", "--mpi", *KEYS], in_place=True, launcher=MPI),
                  Kind("mpi external", ["sort", "--mpi", *KEYS], is_external=True, launcher=MPI),
                  Kind("mpi external in place", ["sort", "--mpi", *KEYS], in_place=True, is_external=True,
                       launcher=MPI)]
    return found


def is_same(path, other):
    """Compares two files a piece at a time."""
    if os.path.getsize(path) != os.path.getsize(other):
        return False
    with open(path, "rb") as left, open(other, "rb") as right:
        while piece := left.read(1 << 22):
            if piece != right.read(1 << 22):
                return False
    return True


class World:
    """Folders with inputs, what should come of them, and where commands write. External kinds have `ceiling` as their
    -S."""

    def __init__(self, folder, num_bytes, ceiling):
        self.keep = os.path.join(folder, "keep")
        self.out = os.path.join(folder, "out")
        self.temp = os.path.join(folder, "temp")
        self.num_bytes = num_bytes
        self.ceiling = ceiling
        for path in (self.keep, self.out, self.temp):
            os.makedirs(path)
        # What Open MPI leaves in shared memory when it is killed goes away with the folder.
        ENVIRONMENT["OMPI_MCA_btl_vader_backing_directory"] = self.keep
        self.run("gen", num_bytes // 8, *KEYS, "-o", self.kept("keys"), "--seed", 1)

    def kept(self, name):
        return os.path.join(self.keep, name)

    @property
    def target(self):
        return os.path.join(self.out, "y")

    @staticmethod
    def run(*args):
        subprocess.run([BIN, *map(str, args)], env=ENVIRONMENT, check=True)

    def expected(self, kind):
        """The file that the kind should write: made once, without a ceiling, files and processes beside it. Records to
        sort are made here, too, for they take much room where no kind sorts them."""
        if kind.source == "records" and not os.path.exists(self.kept("records")):
            self.run("gen", self.num_bytes // 100, "--records", "-o", self.kept("records"), "--seed", 1)
        path = self.kept("expected " + kind.verb[0] + " " + kind.source)
        if not os.path.exists(path):
            self.run(kind.verb[0], *(RECORDS if kind.source == "records" else KEYS), self.kept(kind.source), "-o", path)
        return path

    def old(self, kind):
        """The file that lies where the kind writes, before it does."""
        if kind.in_place:
            return self.kept(kind.source)
        path = self.kept("old")
        if not os.path.exists(path):
            with open(path, "wb") as file:
                file.write(OLD)
        return path

    def prepare(self, kind):
        shutil.copyfile(self.old(kind), self.target)

    def command(self, kind, ceiling=None):
        """The arguments of a call; a stream comes from standard input."""
        source = "-" if kind.is_stream else self.target if kind.in_place else self.kept(kind.source)
        flags = ["-T", self.temp] if kind.is_external or not kind.launcher else []
        if kind.is_external:
            flags += ["-S", str(ceiling or self.ceiling)]
        return [*kind.launcher, BIN, *kind.verb, source, "-o", self.target, *flags]

    def start(self, kind, ceiling=None, limit=None):
        """Starts a call, as the first process of a group of its own, which calls limit() before. It is of the same
        session: Linux gives each session its own share of the processors."""
        def begin():
            os.setpgrp()
            if limit is not None:
                limit()

        stdin = open(self.kept(kind.source), "rb") if kind.is_stream else subprocess.DEVNULL
        try:
            return subprocess.Popen(self.command(kind, ceiling), stdin=stdin, stdout=subprocess.DEVNULL,
                                    stderr=subprocess.PIPE, env=ENVIRONMENT, preexec_fn=begin)
        finally:
            if kind.is_stream:
                stdin.close()

    def take_left(self):
        """Names beside the output, which go away."""
        left = []
        for folder in (self.out, self.temp):
            for name in set(os.listdir(folder)) - {"y", "lost+found"}:
                left.append(name)
                os.remove(os.path.join(folder, name))
        return left

    def what_it_is(self, kind):
        """"old", "new", or else what is wrong with the output."""
        if not os.path.exists(self.target):
            return "missing"
        if is_same(self.target, self.old(kind)):
            return "old"
        return "new" if is_same(self.target, self.expected(kind)) else "neither old nor new"
