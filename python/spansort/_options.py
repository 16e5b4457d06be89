# SPDX-License-Identifier: Apache-2.0
"""Options that the functions share, in the form in which the module takes them."""

from __future__ import annotations

import importlib
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Optional, Union

from . import _core

#: What ``progress=`` takes: True shows a bar of tqdm, a function is called with the phase and the fraction done.
Progress = Union[bool, Callable[[str, float], Optional[bool]], None]
#: What ``memory=`` takes: bytes, or text such as ``"512M"`` and ``"4G"``.
Size = Union[int, str, None]
#: Names of files.
Path = Union[str, "os.PathLike[str]"]

_UNITS = {"": 1, "B": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30, "T": 1 << 40}


def size_bytes(size: Size, name: str) -> int:
    """Return a size in bytes; None is 0, which means that there is no limit."""
    if size is None:
        return 0
    if isinstance(size, str):
        digits, unit = size[:-1], size[-1:].upper()
        if unit.isdigit():
            digits, unit = size, ""
        try:
            number = float(digits) * _UNITS[unit]
        except (KeyError, ValueError):
            raise ValueError(
                f"{name}: {size!r} is no size; bytes, or a number with K, M, G or T, are expected"
            ) from None
    else:
        number = float(size)
    if not 1 <= number < float(1 << 63):
        raise ValueError(f"{name}: {size!r} is no size; at least one byte is expected")
    return int(number) if isinstance(size, str) else int(size)


@contextmanager
def _bar_of_tqdm() -> Iterator[Callable[[str, float], None]]:
    # It has no types, and not everybody has it.
    make_bar: Any = importlib.import_module("tqdm.auto").tqdm
    with make_bar(total=100, unit="%", bar_format="{l_bar}{bar}| {elapsed}<{remaining}") as bar:

        def show(phase: str, fraction: float) -> None:
            bar.set_description_str(phase)
            bar.update(max(0.0, 100 * fraction - float(bar.n)))

        yield show
        bar.update(100 - float(bar.n))


@contextmanager
def options(
    devices: str,
    threads: int,
    memory: Size,
    progress: Progress,
    device_memory_bytes: int = 0,
    algorithm: str = "auto",
) -> Iterator[_core.Options]:
    """Give the options of a call; a bar of progress lasts as long as the call."""
    if threads < 0:
        raise ValueError("threads: 0, for as many as there are processors, or more are expected")

    def made(function: Callable[[str, float], object] | None) -> _core.Options:
        return _core.Options(
            devices=devices,
            threads=threads,
            memory=size_bytes(memory, "memory"),
            device_memory=device_memory_bytes,
            algorithm=algorithm,
            progress=function,
        )

    if progress is True:
        with _bar_of_tqdm() as show:
            yield made(show)
    elif progress is None or progress is False:
        yield made(None)
    elif callable(progress):
        yield made(progress)
    else:
        raise TypeError("progress: True or a function of phase and fraction is expected")
