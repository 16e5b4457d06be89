# SPDX-License-Identifier: Apache-2.0
"""The folder of one run of a loop, and what killed runs have left: a run holds a lock (flock) on its folder, which ends
with its process however that ends, so that a folder without one is nobody's. run_folder.cpp does the same."""
import contextlib
import fcntl
import os
import re
import shutil
import tempfile


def remove_if_abandoned(path):
    """Removes a folder of this user's that no process holds. Where nothing can be locked, such as on NFS, it stays."""
    try:
        folder = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    except OSError:
        return
    try:
        if os.fstat(folder).st_uid == os.geteuid():
            fcntl.flock(folder, fcntl.LOCK_EX | fcntl.LOCK_NB)
            shutil.rmtree(path, ignore_errors=True)
    except OSError:
        pass
    finally:
        os.close(folder)


def try_make(prefix, inside):
    """A new folder and a descriptor that holds it; none where another run found it before it was held, and took it
    away."""
    path = tempfile.mkdtemp(prefix=prefix, dir=inside)
    with contextlib.suppress(FileNotFoundError):
        lock = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
        is_taken = False
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            is_taken = True
        except OSError:
            pass  # nobody else can lock it either
        if not is_taken and os.path.exists(path):
            return path, lock
        os.close(lock)
    return None


@contextlib.contextmanager
def run_folder(loop, inside=None):
    """A folder for a run of the loop of that name, gone at its end. Removes those that nobody holds any more first."""
    inside = inside or tempfile.gettempdir()
    for name in os.listdir(inside):
        if re.fullmatch(rf"spansort-{loop}-\d+-\w+", name):
            remove_if_abandoned(os.path.join(inside, name))
    made = None
    while made is None:
        made = try_make(f"spansort-{loop}-{os.getpid()}-", inside)
    path, lock = made
    try:
        yield path
    finally:
        shutil.rmtree(path, ignore_errors=True)
        os.close(lock)
