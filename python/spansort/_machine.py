# SPDX-License-Identifier: Apache-2.0
"""What the machine offers."""

from __future__ import annotations

import json
from typing import Any

from . import _core


def devices() -> dict[str, Any]:
    """
    Say what can sort on this machine.

    Returns
    -------
    dict
        ``num_processors`` that the process may use, ``host``, ``devices`` (one for each NUMA node, then the GPUs), and
        ``gpu``: why no GPU can be used, ``""`` where one can.

    Examples
    --------
    >>> import spansort
    >>> spansort.devices()["num_processors"] >= 1
    True
    """
    found: dict[str, Any] = json.loads(_core.devices_json())
    found.pop("links", None)
    return found


def release_kept_memory() -> None:
    """
    Give back the memory that functions keep on the CPU for their next call.

    Sorts and orders of more than some tens of MiB leave their workspace, up to a thirty-second of the machine's memory
    and 1 GiB at most, to the next one. The system may take it when memory runs short; this function gives it back at
    once, and what smaller calls have left, too. A call in another thread goes on undisturbed.

    Examples
    --------
    >>> import numpy as np, spansort
    >>> x = spansort.sort(np.zeros(10_000_000))
    >>> spansort.release_kept_memory()
    """
    _core.release_kept_memory()


def links() -> list[dict[str, Any]]:
    """
    Say how GPUs reach each other's memory, after trying it: some ten milliseconds for each pair, once a process.

    Returns
    -------
    list of dict
        Empty with fewer than two GPUs.
    """
    found: list[dict[str, Any]] = json.loads(_core.devices_json()).get("links", [])
    return found
