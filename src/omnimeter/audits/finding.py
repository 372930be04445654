"""What an audit says: one finding per check, each with its numbers and, if need be, a witness."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from math import isfinite
from typing import Any

import numpy as np


@dataclass(frozen=True)
class Finding:
    """What one check found.

    Attributes:
        check: The name of the check.
        claimed: Whether the class, or the standard for every class, says that it holds.
        passed: Whether it was found to hold.
        summary: What was found, for a person.
        numbers: What was found, for a program.
        witness: Something that shows where it does not hold, enough to see it again; also given
            beside a passed check when there is something to know.
    """

    check: str
    claimed: bool
    passed: bool
    summary: str
    numbers: Mapping[str, Any] = field(default_factory=dict)
    witness: Mapping[str, Any] | None = None

    def to_json(self) -> dict[str, Any]:
        """The finding as plain data."""
        return {
            "check": self.check,
            "claimed": self.claimed,
            "passed": self.passed,
            "summary": self.summary,
            "numbers": plain(self.numbers),
            "witness": plain(self.witness),
        }


@dataclass(frozen=True)
class Audit:
    """All findings about one environment class.

    Attributes:
        findings: One per check.
        settings: What the audit was given: instances, interactions, seed and level.
    """

    findings: Sequence[Finding]
    settings: Mapping[str, Any] = field(default_factory=dict)

    @property
    def ok(self) -> bool:
        """Whether everything that is claimed holds."""
        return all(finding.passed for finding in self.findings if finding.claimed)

    def to_json(self) -> dict[str, Any]:
        """The audit as plain data."""
        return {
            "ok": self.ok,
            "settings": plain(self.settings),
            "findings": [finding.to_json() for finding in self.findings],
        }


def counted(number: int, word: str) -> str:
    """A number of things: ``1 action``, ``2 actions``."""
    return f"{number} {word}" if number == 1 else f"{number} {word}s"


def plain(data: Any) -> Any:
    """The same as JSON knows it; a number that is not finite becomes its name."""
    if isinstance(data, Mapping):
        return {str(key): plain(value) for key, value in data.items()}
    if isinstance(data, np.ndarray | np.generic):
        return plain(data.tolist())
    if isinstance(data, list | tuple):
        return [plain(value) for value in data]
    if isinstance(data, float) and not isfinite(data):
        return str(data)
    return data
