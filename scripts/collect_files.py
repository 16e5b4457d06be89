#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes size and modification time of every regular file under a folder as arrays that spansort can sort.

usage: collect_files.py ROOT OUT_FOLDER
OUT_FOLDER gets sizes.npy (u64, bytes), mtimes.npy (i64, nanoseconds since 1970) and paths.txt (names separated by NUL,
in the same order).
"""
import os
import stat
import sys

import numpy as np


def regular_files(root):
    """Yields (path, stat) of the regular files under root; links are not followed, unreadable places are left out."""
    for folder, _, names in os.walk(os.fsencode(root)):
        for name in names:
            path = os.path.join(folder, name)
            try:
                status = os.lstat(path)
            except OSError:
                continue
            if stat.S_ISREG(status.st_mode):
                yield path, status


def main(root, out_folder):
    paths, sizes, mtimes = [], [], []
    for path, status in regular_files(root):
        paths.append(path)
        sizes.append(status.st_size)
        mtimes.append(status.st_mtime_ns)
    if not paths:
        sys.exit(f"collect_files.py: no regular file under {root}")
    np.save(os.path.join(out_folder, "sizes.npy"), np.array(sizes, dtype=np.uint64))
    np.save(os.path.join(out_folder, "mtimes.npy"), np.array(mtimes, dtype=np.int64))
    with open(os.path.join(out_folder, "paths.txt"), "wb") as out:
        out.write(b"\0".join(paths))
    print(f"{len(paths)} files under {root}, {sum(sizes) / 1e9:.2f} GB")


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit("usage: collect_files.py ROOT OUT_FOLDER")
    main(sys.argv[1], sys.argv[2])
