# SPDX-License-Identifier: Apache-2.0
"""Shared by the tests of the command: running it, key types as NumPy sees them, and the promised order.

SPANSORT_BIN is the command's path. SPANSORT_TEST_SCALE=small makes cases fewer and lighter, for sanitizer builds.
SPANSORT_TEST_FULL=1 takes every case where the default takes some in turns.
SPANSORT_TEST_SEED replays a random run; the seed is printed when a script starts.
"""
import os
import random
import shutil
import subprocess
import sys
import tempfile
import unittest

import numpy as np

REPOSITORY = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
BIN = os.path.abspath(os.environ.get("SPANSORT_BIN", os.path.join(REPOSITORY, "build/host/bin/spansort")))
IS_FULL = os.environ.get("SPANSORT_TEST_FULL") == "1"
IS_SMALL = os.environ.get("SPANSORT_TEST_SCALE") == "small"
SEED = int(os.environ.get("SPANSORT_TEST_SEED", random.SystemRandom().randrange(2**32)))

# Type name -> (dtype of its bits, dtype in a .npy file). bf16 has none of its own.
TYPES = {
    "u8": ("u1", "u1"), "i8": ("u1", "i1"), "u16": ("<u2", "<u2"), "i16": ("<u2", "<i2"),
    "u32": ("<u4", "<u4"), "i32": ("<u4", "<i4"), "u64": ("<u8", "<u8"), "i64": ("<u8", "<i8"),
    "f16": ("<u2", "<f2"), "bf16": ("<u2", "<u2"), "f32": ("<u4", "<f4"), "f64": ("<u8", "<f8"),
}
FLOATS = ("f16", "bf16", "f32", "f64")
# For what sees no more of a type than its width and its encoding: one of each width at small scale.
VARIED_TYPES = ("u8", "bf16", "i32", "f64") if IS_SMALL else tuple(TYPES)


def some(cases):
    """All of them; every third at small scale, where a process takes long to start."""
    return list(cases)[::3] if IS_SMALL else cases


def in_turn(cases, number):
    """Returns all cases of a full run, else every third from `number` on: three numbers in a row have them all."""
    return list(cases) if IS_FULL else list(cases)[number % 3::3]


def command_contains(name):
    """Reads the command in pieces: a process that this one starts begins with this one's peak memory as its own."""
    end = b""
    with open(BIN, "rb") as file:
        while piece := file.read(1 << 20):
            if name in end + piece:
                return True
            end = piece[-len(name):]
    return False


def is_sanitized():
    """Sanitizers reserve terabytes of addresses and want to be loaded first: no RLIMIT_AS, no LD_PRELOAD."""
    return command_contains(b"__asan_init") or command_contains(b"__tsan_init")


def is_counted():
    """Whether the command counts the lines that it runs (./dev coverage): the counts and slower code take memory."""
    return command_contains(b"__gcov_exit")


def run(*args, stdin=None, env=None, timeout=300, **rest):
    """Runs the command; stdin is bytes or an open file. Returns status, stdout and stderr as bytes and text."""
    environment = os.environ | {"LC_ALL": "C"} | (env or {})
    if stdin is None or isinstance(stdin, bytes):
        rest["input"] = stdin or b""
    else:
        rest["stdin"] = stdin
    done = subprocess.run([BIN, *map(str, args)], env=environment, timeout=timeout, stderr=subprocess.PIPE,
                          **({"stdout": subprocess.PIPE} | rest))
    done.stderr = done.stderr.decode(errors="replace")
    return done


# Run by an interpreter that is small itself: what a process takes until it runs a program counts as that program's.
PEAK_OF = """
import resource, subprocess, sys
status = subprocess.call(sys.argv[1:])
print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss * 1024)
sys.exit(status if status >= 0 else 128 - status)
"""


def run_for_peak(*args, **rest):
    """Runs the command; the last line of standard output is its peak memory in bytes."""
    return subprocess.run([sys.executable, "-I", "-S", "-c", PEAK_OF, BIN, *map(str, args)], stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, text=True, timeout=120, **rest)


def build_faults(folder):
    """The library that makes file calls fail; skips where it cannot be used."""
    if is_sanitized():
        raise unittest.SkipTest("faults are preloaded, which sanitizers do not bear")
    compiler = shutil.which(os.environ.get("CC", "cc"))
    if compiler is None:
        raise unittest.SkipTest("no C compiler for the faults")
    library = os.path.join(folder, "faults.so")
    source = os.path.join(os.path.dirname(os.path.abspath(__file__)), "faults.c")
    subprocess.run([compiler, "-shared", "-fPIC", "-O1", "-o", library, source, "-ldl"], check=True)
    return library


def values_of(keys, key_type):
    """Bits -> numbers that compare as the keys do."""
    if key_type == "bf16":
        return (keys.astype("<u4") << 16).view("<f4")
    return keys.view(TYPES[key_type][1])


def special_bits(key_type):
    """Zeros, infinities, NaNs of both signs and several payloads, denormals, extremes; for integers the extremes."""
    width = np.dtype(TYPES[key_type][0]).itemsize * 8
    top, ones = 1 << (width - 1), (1 << width) - 1
    bits = [0, 1, 2, top - 1, top, top + 1, ones - 1, ones]
    mantissa = {"f16": 10, "bf16": 7, "f32": 23, "f64": 52}.get(key_type)
    if mantissa:
        infinity = (top - 1) & ~((1 << mantissa) - 1)
        positive = [infinity - 1, infinity, infinity + 1, infinity + (1 << (mantissa - 1)), infinity + 5]
        bits += positive + [b | top for b in positive]
    return np.array(bits, dtype=np.uint64).astype(TYPES[key_type][0])


def random_bits(key_type, num_keys, rng):
    """Uniform bit patterns, a third from few values (ties), some special ones."""
    bits_type = np.dtype(TYPES[key_type][0])
    keys = rng.integers(0, 2**64, num_keys, dtype=np.uint64).astype(bits_type)
    special = special_bits(key_type)
    some = rng.random(num_keys)
    ties = some < 0.3
    keys[ties] = keys[rng.integers(0, max(num_keys // 50, 1), ties.sum())] if num_keys else keys
    odd = some > 0.9
    keys[odd] = special[rng.integers(0, len(special), odd.sum())]
    return keys


def expected_sort(keys, key_type, descending=False):
    """The promised sequence of bits for keys alone, made with NumPy and nothing of Spansort."""
    values = values_of(keys, key_type)
    if key_type not in FLOATS:
        order = np.sort(values)
        return (order[::-1] if descending else order).view(keys.dtype)
    width = keys.dtype.itemsize * 8
    is_negative = (keys >> np.array(width - 1, keys.dtype)).astype(bool)
    is_nan = np.isnan(values)
    numbers, nans = keys[~is_nan], keys[is_nan]
    numbers = numbers[np.lexsort((~is_negative[~is_nan], values_of(numbers, key_type)))]
    positive, negative = np.sort(nans[~is_negative[is_nan]]), np.sort(nans[is_negative[is_nan]])[::-1]
    nans = np.concatenate([positive, negative])
    if descending:
        numbers, nans = numbers[::-1], nans[::-1]
    return np.concatenate([numbers, nans])


def tie_ranks(keys, key_type):
    """Dense ranks of the values: -0.0 equals +0.0, all NaN are one and last."""
    return np.unique(values_of(keys, key_type), return_inverse=True, equal_nan=True)[1]


def expected_argsort(keys, key_type, descending=False):
    ranks = tie_ranks(keys, key_type).astype(np.int64)
    if descending:
        is_nan = np.isnan(values_of(keys, key_type)) if key_type in FLOATS else np.zeros(len(keys), bool)
        ranks = np.where(is_nan, np.int64(len(keys)), -ranks)
    return np.argsort(ranks, kind="stable")


class CommandTest(unittest.TestCase):
    """A test with a folder of its own, which is the current one of nobody."""

    def setUp(self):
        self.folder = tempfile.mkdtemp(prefix="spansort-test-")
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)
        self.rng = np.random.default_rng(SEED)

    def path(self, name):
        return os.path.join(self.folder, name)

    def save(self, name, array):
        np.save(self.path(name), array)
        return self.path(name)

    def write(self, name, content):
        with open(self.path(name), "wb") as file:
            file.write(content)
        return self.path(name)

    def read(self, name):
        with open(self.path(name), "rb") as file:
            return file.read()

    def snapshot(self):
        """Names and contents of all regular files."""
        return {name: self.read(name) for name in os.listdir(self.folder) if os.path.isfile(self.path(name))}

    def assert_ok(self, *args, **rest):
        done = run(*args, **rest)
        self.assertEqual(done.returncode, 0, f"{args}: {done.stderr}")
        self.assertEqual(done.stderr, "", f"{args}: nothing expected on standard error")
        return done

    def assert_refused(self, status, words, *args, **rest):
        """The status, a message with all the words, and every file as it was."""
        before = self.snapshot()
        done = run(*args, **rest)
        self.assertEqual(done.returncode, status, f"{args}: {done.stderr}")
        self.assertTrue(done.stderr.startswith("spansort: "), f"{args}: {done.stderr!r}")
        for word in words:
            self.assertIn(word, done.stderr, f"{args}")
        self.assertEqual(self.snapshot(), before, f"{args}: files changed")
        return done


def main():
    if not os.access(BIN, os.X_OK):
        sys.exit(f"{BIN} is not there; build it, or name the command in SPANSORT_BIN")
    print(f"SPANSORT_TEST_SEED={SEED} SPANSORT_BIN={BIN}", file=sys.stderr)
    result = unittest.main(exit=False).result
    for test, reason in result.skipped:  # scripts/count_tests.py counts these lines
        print(f"SKIPPED {test.id().removeprefix('__main__.')}: {reason}")
    sys.exit(0 if result.wasSuccessful() else 1)
