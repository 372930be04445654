"""Containing agents' processes by what the operating system offers."""

from __future__ import annotations

from enum import StrEnum


class Sandboxing(StrEnum):
    """Whether agents' processes are contained by the operating system.

    ``AUTO`` contains them as well as this machine can, and says so where it cannot.
    """

    AUTO = "auto"
    REQUIRED = "required"
    NONE = "none"


def contains(sandboxing: Sandboxing) -> bool:  # noqa: ARG001 - there is no sandbox yet
    """Whether an agent's process can neither see nor signal those of the harness."""
    return False
