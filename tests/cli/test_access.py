# SPDX-License-Identifier: Apache-2.0
"""An output that replaces a file can be read by whoever could read that, and by nobody else: permission bits, access
control lists, owner and group; the user's own attributes stay. What others have put into a folder like /tmp is not
written to."""
import errno
import os
import shutil
import struct
import subprocess
import unittest

import numpy as np

from support import BIN, CommandTest, build_faults, main, run

ACL = "system.posix_acl_access"
DEFAULT_ACL = "system.posix_acl_default"
USER_OBJ, USER, GROUP_OBJ, GROUP, MASK, OTHER = 1, 2, 4, 8, 16, 32
NOBODY = 65534
IS_ROOT = os.geteuid() == 0 and shutil.which("setpriv") is not None


def acl(*entries):
    """An access control list as the kernel has it, of (tag, rights) and (tag, rights, id)."""
    packed = (struct.pack("<HHI", e[0], e[1], e[2] if len(e) > 2 else 0xFFFFFFFF) for e in entries)
    return struct.pack("<I", 2) + b"".join(packed)


class AccessTest(CommandTest):
    def setUp(self):
        super().setUp()
        self.keys = self.rng.integers(0, 2**32, 1000, dtype="<u4")
        self.sorted_bytes = np.sort(self.keys).tobytes()
        self.input = self.write("x.bin", self.keys.tobytes())
        self.output = self.write("y.bin", b"the old output")

    def set_attribute(self, path, name, value):
        try:
            os.setxattr(path, name, value)
        except OSError as failure:
            if failure.errno not in (errno.ENOTSUP, errno.EPERM):
                raise
            self.skipTest(f"the file system has no {name}")

    def attribute(self, name, path=None):
        try:
            return os.getxattr(path or self.output, name)
        except OSError as failure:
            self.assertEqual(failure.errno, errno.ENODATA)
            return None

    def sort(self, **rest):
        done = run("sort", self.input, "-o", self.output, "--type", "u32", **rest)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(self.read("y.bin"), self.sorted_bytes)

    def mode(self, path=None):
        return os.stat(path or self.output).st_mode & 0o7777


class Lists(AccessTest):
    LIST = acl((USER_OBJ, 6), (USER, 4, 1234), (GROUP_OBJ, 0), (MASK, 4), (OTHER, 0))

    def test_a_list_is_kept(self):
        # The list's mask shows as the group's bits, and without the list the group could read.
        self.set_attribute(self.output, ACL, self.LIST)
        self.sort()
        self.assertEqual(self.attribute(ACL), self.LIST)
        self.assertEqual(self.mode(), 0o640)

    def test_a_list_that_the_folder_gives_is_not_added(self):
        self.set_attribute(self.folder, DEFAULT_ACL, acl((USER_OBJ, 7), (USER, 7, 1234), (GROUP_OBJ, 7), (MASK, 7),
                                                         (OTHER, 5)))
        os.removexattr(self.output, ACL) if self.attribute(ACL) else None
        os.chmod(self.output, 0o600)
        self.sort()
        self.assertIsNone(self.attribute(ACL))
        self.assertEqual(self.mode(), 0o600)

    def test_new_files_get_what_the_folder_gives(self):
        self.set_attribute(self.folder, DEFAULT_ACL, acl((USER_OBJ, 6), (USER, 4, 1234), (GROUP_OBJ, 0), (MASK, 4),
                                                         (OTHER, 0)))
        with open(self.path("as others"), "wb"):
            pass
        libraries = [{}]
        try:
            libraries.append({"LD_PRELOAD": build_faults(self.folder), "SPANSORT_FAULT": "no-tmpfile"})
        except unittest.SkipTest:
            pass
        for environment in libraries:
            os.remove(self.output) if os.path.exists(self.output) else None
            self.sort(env=environment, umask=0o022)
            self.assertEqual(self.attribute(ACL), self.attribute(ACL, self.path("as others")), environment)
            self.assertEqual(self.mode(), self.mode(self.path("as others")), environment)

    def test_attributes_are_kept(self):
        self.set_attribute(self.output, "user.origin", b"station 7")
        os.chmod(self.output, 0o640)
        self.sort()
        self.assertEqual(self.attribute("user.origin"), b"station 7")
        self.assertEqual(self.mode(), 0o640)


@unittest.skipUnless(IS_ROOT, "only the superuser can become somebody else")
class Owners(AccessTest):
    def setUp(self):
        super().setUp()
        os.chmod(self.folder, 0o777)
        self.command = self.path("spansort")
        shutil.copy(BIN, self.command)

    def sort_as_nobody(self, *groups, flags=()):
        rights = f"--groups={','.join(map(str, groups))}" if groups else "--clear-groups"
        return subprocess.run(["setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", rights, self.command, "sort",
                               self.input, "-o", self.output, "--type", "u32", *flags], stderr=subprocess.PIPE,
                              stdout=subprocess.PIPE, text=True)

    def assert_sorted_by_nobody(self, group, mode, *groups):
        done = self.sort_as_nobody(*groups)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(self.read("y.bin"), self.sorted_bytes)
        status = os.stat(self.output)
        self.assertEqual((status.st_uid, status.st_gid, oct(self.mode())), (NOBODY, group, oct(mode)))
        return done.stderr

    def test_owner_and_group_are_kept(self):
        os.chown(self.output, 1234, 5678)
        os.chmod(self.output, 0o640)
        self.sort()
        status = os.stat(self.output)
        self.assertEqual((status.st_uid, status.st_gid, self.mode()), (1234, 5678, 0o640))

    def test_the_group_is_kept_by_its_members(self):
        os.chown(self.output, 1234, 5678)
        os.chmod(self.output, 0o662)
        told = self.assert_sorted_by_nobody(5678, 0o662, 5678)
        self.assertIn("user 1234", told)
        self.assertNotIn("group 5678", told)

    def test_another_group_gets_no_more_than_others(self):
        for mode, narrowed in ((0o666, 0o666), (0o662, 0o622), (0o606, 0o600), (0o646, 0o644)):
            os.chown(self.output, 1234, 5678)
            os.chmod(self.output, mode)
            told = self.assert_sorted_by_nobody(NOBODY, narrowed)
            self.assertIn("group 5678", told)

    def test_another_group_in_a_list(self):
        os.chown(self.output, 1234, 5678)
        self.set_attribute(self.output, ACL, acl((USER_OBJ, 6), (USER, 6, NOBODY), (GROUP_OBJ, 6), (GROUP, 0, 77),
                                                 (MASK, 6), (OTHER, 4)))
        done = self.sort_as_nobody()
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(self.attribute(ACL), acl((USER_OBJ, 6), (USER, 6, NOBODY), (GROUP_OBJ, 0), (GROUP, 0, 77),
                                                  (MASK, 6), (OTHER, 4)))

    def refused(self, done):
        self.assertEqual(done.returncode, 4, done.stderr)
        self.assertIn("sticky", done.stderr)
        self.assertEqual(self.read("y.bin"), b"the old output")

    def test_what_cannot_be_renamed_is_refused_before_the_work(self):
        os.chmod(self.folder, 0o1777)
        os.chmod(self.output, 0o666)
        self.refused(self.sort_as_nobody())
        self.refused(self.sort_as_nobody(flags=["--dry-run"]))

    def test_what_others_have_put_there_is_not_written_to(self):
        os.chmod(self.folder, 0o1777)
        os.chown(self.output, NOBODY, NOBODY)
        self.refused(run("sort", self.input, "-o", self.output, "--type", "u32"))
        link = self.path("link")
        os.symlink(self.output, link)
        os.chown(self.output, 0, 0)
        os.lchown(link, NOBODY, NOBODY)
        self.refused(run("sort", self.input, "-o", link, "--type", "u32"))
        os.lchown(link, 0, 0)
        self.assert_ok("sort", self.input, "-o", link, "--type", "u32")


if __name__ == "__main__":
    main()
