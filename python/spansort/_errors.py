# SPDX-License-Identifier: Apache-2.0
"""Exceptions that the C++ library throws, as those of Python."""

from __future__ import annotations


class Error(Exception):
    """Base of what this package raises beside Python's own exceptions."""


class BadInputError(Error, ValueError):
    """Data is not what it claims to be: a damaged file header, keys that must not be NaN."""


class DeviceError(Error, RuntimeError):
    """A device is absent, unusable or lost.

    Attributes
    ----------
    device : str
        As in a device list, ``""`` where it is none in particular.
    """

    def __init__(self, message: str, device: str = "") -> None:
        super().__init__(message)
        self.device = device


class OutOfMemoryError(Error, MemoryError):
    """Memory that a call needs is not there. It is raised before any input is touched.

    Attributes
    ----------
    needed, available : int
        Bytes.
    """

    def __init__(self, message: str, needed: int = 0, available: int = 0) -> None:
        super().__init__(message)
        self.needed = needed
        self.available = available


class Cancelled(Error, RuntimeError):
    """The function given as ``progress`` returned False. The input is untouched."""


class InternalError(Error, RuntimeError):
    """A check of Spansort's own result failed; the result was withheld."""
