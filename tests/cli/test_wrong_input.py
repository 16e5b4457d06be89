# SPDX-License-Identifier: Apache-2.0
"""Input that is not what it should be: status, message, nothing lost, quickly and in little memory."""
import os
import resource
import subprocess
import time

import numpy as np

from support import BIN, CommandTest, IS_SMALL, is_sanitized, main, run, some

MAX_SECONDS = 10 if is_sanitized() else 1
MAX_RESIDENT_BYTES = 64 << 20
MAGIC = b"\x93NUMPY"


def header(text, version=b"\x01\x00", claimed_length=None):
    """Preamble and header text, padded as NumPy pads."""
    text = text.encode("latin1") if isinstance(text, str) else text
    width = 2 if version[0] == 1 else 4
    text += b" " * (-(8 + width + len(text) + 1) % 64) + b"\n"
    length = len(text) if claimed_length is None else claimed_length
    return MAGIC + version + length.to_bytes(width, "little") + text


def described(descr="'<u4'", fortran_order="False", shape="(10,)"):
    return f"{{'descr': {descr}, 'fortran_order': {fortran_order}, 'shape': {shape}, }}"


DATA = bytes(range(40))
GOOD = header(described())

# Name -> (file content, words of the message). All are refused with status 3.
HOSTILE = {
    # dtypes that are not numbers, or not ours
    **{f"dtype {name}": (header(described(descr)) + DATA, ["dtype", "not sortable"]) for name, descr in {
        "object": "'|O'", "object 8": "'O8'", "void": "'|V4'", "complex": "'<c8'", "subarray": "('<u4', (2,))",
        "dictionary": "{'names': ['a']}", "object in a structure": "[('a', '<u4'), ('b', '|O')]",
        "no fields": "[]", "text of no length": "'<U0'", "bytes of no length": "'|S0'",
        "text of 2^34 bytes": "'<U4294967297'", "unit not closed": "'<M8[ns'", "no unit": "'<M8[]'",
        "date of 4 bytes": "'<M4[ns]'",
        "unit with a quote": "'<M8[\"]'", "bool of 2 bytes": "'<b2'", "negative width": "'|S-4'",
        "long double": "'<f16'", "width 3": "'<u3'", "width 16": "'<i16'", "no width": "'<u'", "empty": "''",
        "order only": "'<'", "two orders": "'<>u4'", "no order": "'|u4'", "number": "'4'", "blank": "'<u4 '",
        "escape": "'\x1b[31m<u4'", "long": "'<u" + "4" * 5000 + "'"}.items()},
    # structures
    "field without a type": (header(described("[('a',)]")) + DATA, ["header is damaged"]),
    "field of no tuple": (header(described("['<u4']")) + DATA, ["header is damaged"]),
    "fields without a comma": (header(described("[('a', '<u4') ('b', '<u4')]")) + DATA, ["header is damaged"]),
    "fields not closed": (header(described("[('a', '<u4'), ")) + DATA, ["header is damaged"]),
    "negative subarray": (header(described("[('a', '<u4', (-1,))]")) + DATA, ["header is damaged"]),
    "huge subarray": (header(described("[('a', '<u4', (4294967296, 4294967296))]")) + DATA, ["header is damaged"]),
    "huge fields": (header(described("[('a', '|V4294967296'), ('b', '|V4294967296')]")) + DATA, ["header is damaged"]),
    "deep fields": (header(described("[('a', " * 5000)) + DATA, ["header is damaged", "too deep"]),
    # shapes
    "0-d": (header(described(shape="()")) + DATA[:4], ["0-d array"]),
    "2-d": (header(described(shape="(2, 5)")) + DATA, ["2-d array", "(2, 5)"]),
    "2-d Fortran": (header(described(fortran_order="True", shape="(5, 2)")) + DATA, ["2-d array"]),
    "65 dimensions": (header(described(shape="(" + "1, " * 65 + ")")) + DATA, ["64 dimensions"]),
    "negative": (header(described(shape="(-1,)")) + DATA, ["negative dimension"]),
    "negative beside": (header(described(shape="(10, -1)")) + DATA, ["negative dimension"]),
    "2^61": (header(described(shape=f"({2**61},)")) + DATA, ["header claims 2^61 elements", "file holds 40 bytes"]),
    "2^62 wraps": (header(described(shape=f"({2**62},)")) + DATA, ["header claims 2^62 elements"]),
    "2^62 + 10 wraps to 40 bytes": (header(described(shape=f"({2**62 + 10},)")) + DATA, ["header claims"]),
    "2^63": (header(described("'|u1'", shape=f"({2**63},)")) + DATA, ["header claims 2^63 elements"]),
    "2^64": (header(described("'|u1'", shape=f"({2**64},)")) + DATA, ["header claims"]),
    "2^64 + 10": (header(described(shape=f"({2**64 + 10},)")) + DATA, ["header claims"]),
    "10^400": (header(described(shape="(1" + "0" * 400 + ",)")) + DATA, ["header claims"]),
    "wrapping product": (header(described(shape="(4294967296, 4294967296)")) + DATA, ["header claims"]),
    "a number": (header(described(shape="(10)")) + DATA, ["tuple is expected"]),
    "bare number": (header(described(shape="10")) + DATA, ["header is damaged"]),
    "grouping locale": (header(described(shape="(2,621,)")) + DATA, ["2-d array"]),
    "float": (header(described(shape="(10.0,)")) + DATA, ["header is damaged"]),
    "hex": (header(described(shape="(0xa,)")) + DATA, ["header is damaged"]),
    "plus": (header(described(shape="(+10,)")) + DATA, ["header is damaged"]),
    "leading zero": (header(described(shape="(010,)")) + DATA, ["starts with 0"]),
    "underscore": (header(described(shape="(1_0,)")) + DATA, ["header is damaged"]),
    "expression": (header(described(shape="(5+5,)")) + DATA, ["header is damaged"]),
    "call": (header(described(shape="(__import__('os').system('true'),)")) + DATA, ["header is damaged"]),
    "lonely comma": (header(described(shape="(,)")) + DATA, ["header is damaged"]),
    "two commas": (header(described(shape="(10,,)")) + DATA, ["header is damaged"]),
    "open": (header(described(shape="(10,")) + DATA, ["header is damaged"]),
    "list": (header(described(shape="[10]")) + DATA, ["header is damaged"]),
    # the dictionary
    "no descr": (header("{'fortran_order': False, 'shape': (10,), }") + DATA, ["'descr' is missing"]),
    "no order": (header("{'descr': '<u4', 'shape': (10,), }") + DATA, ["'fortran_order' is missing"]),
    "no shape": (header("{'descr': '<u4', 'fortran_order': False, }") + DATA, ["'shape' is missing"]),
    "backslash": (header(described("'\\x3cu4'")) + DATA, ["backslash"]),
    "twice": (header("{'descr': '<u4', 'descr': '<u8', 'fortran_order': False, 'shape': (10,), }") + DATA, ["twice"]),
    "unknown key": (header("{'descr': '<u4', 'fortran_order': False, 'shape': (10,), 'x': 1}") + DATA, ["unknown"]),
    "order 0": (header(described(fortran_order="0")) + DATA, ["True or False"]),
    "order string": (header(described(fortran_order="'False'")) + DATA, ["True or False"]),
    "behind": (header(described() + " + {}") + DATA, ["nothing but blanks"]),
    "empty": (header("") + DATA, ["'{' expected"]),
    "empty dictionary": (header("{}") + DATA, ["is missing"]),
    "not closed": (header(described()[:-1]) + DATA, ["header is damaged"]),
    "open quote": (header("{'descr") + DATA, ["closing quote"]),
    "zero bytes": (header(b"\0" * 50) + DATA, ["header is damaged"]),
    "NUL inside": (header(described().replace("shape", "sha\0pe")) + DATA, ["unknown"]),
    "not ASCII": (header(described().replace("shape", "sh\xe4pe"), b"\x03\x00") + DATA, ["unknown"]),
    "million braces": (header(b"{" * 60000) + DATA, ["header is damaged"]),
    # the preamble
    "empty file": (b"", ["not a .npy file", "empty"]),
    "one byte": (b"\x93", ["not a .npy file"]),
    "other magic": (b"\x93NUMPZ\x01\x00" + GOOD[8:] + DATA, ["not a .npy file"]),
    "zip": (b"PK\x03\x04" + bytes(200), ["not a .npy file"]),
    "magic only": (MAGIC, ["truncated"]),
    "no length": (MAGIC + b"\x01\x00", ["truncated"]),
    "half length": (MAGIC + b"\x02\x00\x40\x00", ["truncated"]),
    "half length of version 2": (MAGIC + b"\x02\x00\x40\x00\x00", ["truncated"]),
    "no header": (MAGIC + b"\x01\x00\x76\x00", ["truncated"]),
    "half header": (GOOD[:70], ["truncated"]),
    "length 0": (header(described(), claimed_length=0) + DATA, ["'{' expected"]),
    "length into the data": (header(described(), claimed_length=130) + DATA, ["header is damaged"]),
    "length 65535": (header(described(), claimed_length=65535) + DATA, ["truncated"]),
    "length 2^32 - 1": (header(described(), b"\x02\x00", claimed_length=2**32 - 1) + DATA, ["claims a length of"]),
    "length 65536": (header(described(), b"\x02\x00", claimed_length=65536) + DATA, ["claims a length of"]),
    "version 0": (header(described(), b"\x00\x00") + DATA, ["version 0.0 is unknown"]),
    "version 4": (header(described(), b"\x04\x00") + DATA, ["version 4.0 is unknown"]),
    "version 1.1": (header(described(), b"\x01\x01") + DATA, ["version 1.1 is unknown"]),
    # the data
    "no data": (GOOD, ["header claims 10 elements of 4 bytes", "file holds 0 bytes"]),
    "a byte short": (GOOD + DATA[:39], ["header claims 10 elements", "file holds 39 bytes"]),
    "a byte more": (GOOD + DATA + b"x", ["header claims 10 elements"]),
    "two arrays": ((GOOD + DATA) * 2, ["header claims 10 elements"]),
    "none claimed": (header(described(shape="(0,)")) + DATA, ["header claims 0 elements"]),
}


class HostileHeaders(CommandTest):
    def limits(self):
        if not is_sanitized():
            resource.setrlimit(resource.RLIMIT_AS, (1 << 30, 1 << 30))

    def refused(self, path, words, stdin=subprocess.DEVNULL):
        begin = time.monotonic()
        command = subprocess.Popen([BIN, "sort", path, "-o", self.path("out.npy")], stdin=stdin,
                                   stderr=subprocess.PIPE, preexec_fn=self.limits)
        message = command.stderr.read().decode(errors="strict")
        command.stderr.close()
        _, status, usage = os.wait4(command.pid, 0)
        command.returncode = os.waitstatus_to_exitcode(status)
        self.assertEqual(command.returncode, 3, message)
        for word in words:
            self.assertIn(word, message)
        self.assertTrue(all(32 <= ord(c) < 127 for c in message.rstrip("\n")), f"harmless for a terminal: {message!r}")
        self.assertLess(len(message), 500)
        self.assertLess(time.monotonic() - begin, MAX_SECONDS)
        if not is_sanitized():
            self.assertLess(usage.ru_maxrss << 10, MAX_RESIDENT_BYTES)
        self.assertEqual(self.read("out.npy"), b"old")

    def test_table(self):
        self.assertGreaterEqual(len(HOSTILE), 40)
        self.write("out.npy", b"old")
        piped = some(HOSTILE)
        for name, (content, words) in HOSTILE.items():
            with self.subTest(name=name):
                path = self.write("x.npy", content)
                self.refused(path, ["x.npy", *words])
                if name in piped and content[:6] == MAGIC:
                    with open(path, "rb") as file:
                        pipe = subprocess.Popen(["cat"], stdin=file, stdout=subprocess.PIPE)
                        self.refused("-", [word for word in words if "file holds" not in word], pipe.stdout)
                        pipe.stdout.close()
                        pipe.wait()
        self.assertEqual(sorted(os.listdir(self.folder)), ["out.npy", "x.npy"])

    def test_the_table_can_fail(self):
        path = self.write("x.npy", GOOD + DATA)
        self.assert_ok("sort", path, "-o", self.path("y.npy"))
        with self.assertRaises(AssertionError):
            self.refused(path, ["anything"])

    def test_every_truncation_of_a_good_file(self):
        content = GOOD + DATA
        step = 7 if IS_SMALL else 1
        for length in range(6, len(content), step):
            path = self.write("x.npy", content[:length])
            self.assertEqual(run("check", path).returncode, 3, length)

    def test_sparse_file_of_8_tebibytes(self):
        path = self.write("x.npy", header(described("'|u1'", shape=f"({2**43},)")))
        os.truncate(path, len(self.read("x.npy")) + 2**43)
        done = run("sort", path, "-o", self.path("y.npy"))
        self.assertEqual(done.returncode, 4, done.stderr)
        self.assertRegex(done.stderr, r"not enough space in .*: \d{14,} bytes are needed for temporary files")


class WrongFiles(CommandTest):
    def setUp(self):
        super().setUp()
        self.output = self.write("y.bin", b"the old output")

    def sort_refused(self, status, words, name, *flags, **rest):
        for command in ("sort", "argsort"):
            done = self.assert_refused(status, words, command, name, "-o", self.output, "--type", "u32", *flags, **rest)
        return done

    def test_missing(self):
        self.sort_refused(4, ["missing.bin", "No such file or directory"], self.path("missing.bin"))
        self.sort_refused(4, ["No such file or directory"], "")
        self.sort_refused(4, ["Not a directory"], self.output + "/x")
        for command in ("check", "plan"):
            self.assert_refused(4, ["No such file"], command, self.path("missing.bin"), "--type", "u32")

    def test_directory(self):
        self.sort_refused(3, ["is a directory"], self.folder)
        self.assert_refused(3, ["is a directory"], "check", self.folder, "--type", "u8")

    def test_loop_of_links(self):
        os.symlink("a", self.path("b"))
        os.symlink("b", self.path("a"))
        self.sort_refused(4, ["Too many levels of symbolic links"], self.path("a"))

    def test_size_is_not_a_multiple_of_the_key(self):
        path = self.write("x.bin", b"0123456789")
        self.sort_refused(3, ["x.bin", "10 bytes", "multiple of 4", "u32"], path)
        self.sort_refused(3, ["standard input", "10 bytes", "multiple of 4"], "-", stdin=b"0123456789")

    def test_devices_that_never_end(self):
        for name in ("/dev/zero", "/dev/urandom", "/dev/full"):
            self.sort_refused(3, [name, "never ends"], name)
        with open("/dev/zero", "rb") as zero:
            self.sort_refused(3, ["never ends"], "-", stdin=zero)

    def test_raw_without_a_type(self):
        path = self.write("x.bin", bytes(16))
        self.assert_refused(2, ["x.bin", "--type"], "sort", path, "-o", self.output)
        self.assert_refused(2, ["x.bin", "--type"], "check", path)

    def test_type_that_is_not_the_header_s(self):
        path = self.save("x.npy", np.zeros(4, "<f4"))
        self.sort_refused(3, ["holds f32 keys", "u32 (--type) expected"], path)
        path = self.save("x.npy", np.zeros(4, "<i2"))
        self.assert_refused(3, ["holds i16 keys"], "check", path, "--type", "bf16")

    def test_closed_standard_input(self):
        done = subprocess.run(["/bin/sh", "-c", f'"$0" sort - -o "{self.output}" --type u32 <&-', BIN],
                              capture_output=True)
        self.assertEqual(done.returncode, 4, done.stderr)
        self.assertIn(b"standard input", done.stderr)
        self.assertEqual(self.read("y.bin"), b"the old output")

    def test_input_that_grows_or_shrinks_while_it_is_read(self):
        """Another process changes the file all the time; whatever happens, it is no silent half."""
        num_keys = 2_000_000 if IS_SMALL else 20_000_000
        path = self.write("x.bin", bytes(4 * num_keys))
        script = ("import os,sys\n"
                  "while True:\n"
                  "  os.truncate(sys.argv[1], int(sys.argv[2]) - 4)\n"
                  "  os.truncate(sys.argv[1], int(sys.argv[2]))\n")
        changer = subprocess.Popen(["/usr/bin/python3", "-c", script, path, str(4 * num_keys)])
        try:
            statuses = set()
            for _ in range(5):
                done = run("sort", path, "-o", self.output, "--type", "u32")
                statuses.add(done.returncode)
                if done.returncode != 0:
                    self.assertIn("input changed while it was read", done.stderr)
            self.assertIn(3, statuses)
            self.assertLessEqual(statuses, {0, 3})
        finally:
            changer.kill()
            changer.wait()

    def test_memory_limit_names_the_bytes(self):
        path = self.write("x.bin", bytes(4_000_000))
        self.sort_refused(6, ["bytes of memory", "-S", "1048576"], path, "-S", "1M")
        self.sort_refused(6, ["bytes"], path, "-S", "7999999")
        self.sort_refused(6, ["bytes of memory", "standard input"], "-", "-S", "1M", stdin=bytes(4_000_000))

    def test_names_do_not_reach_the_terminal_as_they_are(self):
        for name in ("\x1b[2J\x1b]0;title\x07", "\x7f\r", "\u009b31m"):
            done = self.assert_refused(4, ["No such file", "?"], "sort", self.path(name), "-o", self.output)
            self.assertRegex(done.stderr, r"^[ -~\n]*$")

    def test_more_keys_than_a_file_can_hold(self):
        for count in (2**64 - 1, 2**61, 2**60):
            for output in (self.output, "-"):
                self.assert_refused(2, ["2^63 bytes", str(count)], "gen", count, "-o", output, "--type", "u64")
        self.assert_refused(4, ["No space left on device"], "gen", 2**59, "-o", self.output, "--type", "u64")


if __name__ == "__main__":
    main()
