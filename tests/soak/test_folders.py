# SPDX-License-Identifier: Apache-2.0
"""The folder of a run that was killed goes with the next run's, and no other does: folders.py."""
import fcntl
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest
from unittest import mock

import folders

# It makes a folder of a run in the one that it is given, says where, and stays.
MAKES_FOLDER = """
import sys, time, folders
with folders.run_folder(sys.argv[1], sys.argv[2]) as folder:
    print(folder, flush=True)
    time.sleep(1000)
"""


class RunFolder(unittest.TestCase):
    def setUp(self):
        inside = tempfile.TemporaryDirectory()
        self.addCleanup(inside.cleanup)
        self.inside = pathlib.Path(inside.name)

    def maker(self, loop="loops"):
        """A process with a folder that is not empty, which ends with the test; and the folder."""
        maker = subprocess.Popen([sys.executable, "-B", "-c", MAKES_FOLDER, loop, self.inside],
                                 stdout=subprocess.PIPE, text=True, cwd=pathlib.Path(folders.__file__).parent)
        for clean_up in (maker.stdout.close, maker.wait, maker.kill):
            self.addCleanup(clean_up)
        folder = pathlib.Path(maker.stdout.readline().rstrip("\n"))
        (folder / "keep").mkdir()
        (folder / "keep" / "keys").write_bytes(b"keys")
        return maker, folder

    def killed(self, loop="loops"):
        maker, folder = self.maker(loop)
        maker.kill()
        maker.wait()
        self.assertTrue(folder.is_dir())
        return folder

    def test_goes_with_the_next_and_others_stay(self):
        left = self.killed()
        of_another_loop = self.killed("hosts")
        _, held = self.maker()
        unlike = [self.inside / name for name in ("spansort-loops-abcdefgh", "spansort-loops-1-a.b", "of-nobody")]
        for folder in unlike:
            folder.mkdir()
        with folders.run_folder("loops", self.inside) as own:
            self.assertFalse(left.exists())
            self.assertEqual((held / "keep" / "keys").read_bytes(), b"keys")
            self.assertEqual(set(self.inside.iterdir()), {pathlib.Path(own), held, of_another_loop, *unlike})
        self.assertFalse(os.path.exists(own))

    def test_links_are_not_followed(self):
        target = self.inside / "target"
        target.mkdir()
        link = self.inside / "spansort-loops-1-abcdefgh"
        link.symlink_to(target)
        with folders.run_folder("loops", self.inside):
            self.assertTrue(target.is_dir() and link.is_symlink())

    @unittest.skipIf(os.geteuid() != 0, "folders of other users are made by root")
    def test_folders_of_others_stay(self):
        theirs = self.inside / "spansort-loops-1-abcdefgh"
        theirs.mkdir()
        os.chown(theirs, 1, 1)
        with folders.run_folder("loops", self.inside):
            self.assertTrue(theirs.is_dir())

    def test_one_that_another_run_finds_before_it_is_held_is_made_anew(self):
        make, lock = tempfile.mkdtemp, fcntl.flock
        made = []

        def mkdtemp(**words):
            made.append(make(**words))
            if len(made) == 1:
                self.when_made(made[0])
            return made[-1]

        def flock(folder, operation):
            if len(made) == 1:
                self.when_opened(made[0])
            return lock(folder, operation)

        def hold(path):
            folder = os.open(path, os.O_RDONLY)
            self.addCleanup(os.close, folder)
            lock(folder, fcntl.LOCK_EX)

        def nothing(_):
            pass

        for self.when_made, self.when_opened in ((os.rmdir, nothing), (nothing, os.rmdir), (hold, nothing)):
            made.clear()
            with mock.patch.object(tempfile, "mkdtemp", mkdtemp), mock.patch.object(fcntl, "flock", flock):
                with folders.run_folder("loops", self.inside) as own:
                    self.assertEqual((own, len(made)), (made[-1], 2))
                    self.assertTrue(os.path.isdir(own))


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], *sys.argv[1:]])
