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
