# SPDX-License-Identifier: Apache-2.0
"""Runs the tests of the Python package where `./dev test-python` has left an environment that fits the sources."""
import pathlib
import subprocess
import sys

PYTHON = pathlib.Path("build/python/bin/python")
# Prints the folder of the package that the environment has, if its C++ is that of these sources.
FOLDER = "import pathlib, spansort; print(pathlib.Path(spansort.__file__).parent)"
SUFFIXES = {".cpp", ".hpp"}


def why_not():
    if not PYTHON.exists():
        return "there is no build/python, which ./dev test-python makes from PyPI"
    found = subprocess.run([PYTHON.absolute(), "-c", FOLDER], cwd="/", capture_output=True, text=True, check=False)
    if found.returncode != 0:
        return "build/python has no package spansort; ./dev test-python installs it"
    folder = pathlib.Path(found.stdout.strip())
    for path in pathlib.Path("python/spansort").glob("*.py*"):
        installed = folder / path.name
        if not installed.exists() or installed.read_bytes() != path.read_bytes():
            return f"{path} is not what build/python has; ./dev test-python installs it anew"
    built = (folder / "_core.abi3.so").stat().st_mtime
    if any(path.stat().st_mtime > built for path in pathlib.Path("python/src").iterdir()):
        return "python/src is newer than the module in build/python; ./dev test-python builds it anew"
    return ""


def main():
    reason = why_not()
    if reason:
        print(f"SKIPPED tests of the Python package: {reason}")
        return 0
    command = [PYTHON.absolute(), "-B", "-m", "pytest", "-p", "no:cacheprovider", "--rootdir", "python", "python/tests"]
    return subprocess.run(command, check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
