"""What a reproduction gives: figures, rows, statements, files, and whether they agree."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

Report = Callable[[str, float], None]
"""Told what is being done and which part of the whole is finished."""

PUBLISHED_FIELD = ".published"
"""Ends the name of a field of a row that holds what the paper prints for the field before it."""


def silent(doing: str, done: float) -> None:
    """Tell nobody."""


@dataclass(frozen=True)
class Statement:
    """Something that the paper says, and whether our runs say it too.

    Attributes:
        claim: What the paper says, in our words.
        found: What our runs found, with numbers.
        holds: Whether they agree; ``None`` where the paper gives nothing to compare with.
        reason: Why we differ, where we know it. A difference with a reason is not a failure.
    """

    claim: str
    found: str
    holds: bool | None
    reason: str = ""


@dataclass(frozen=True)
class Reproduced:
    """The result of a reproduction.

    Attributes:
        name: Its name.
        title: What it shows, in a line.
        statements: What was compared.
        figures: Named numbers, flat.
        rows: The table, as records with the same fields, where there is one. Beside the field
            ``x`` there may be a field ``x.published``.
        files: What was written, by a short name; the rows under ``table``.
    """

    name: str
    title: str
    statements: Sequence[Statement]
    figures: Mapping[str, float]
    rows: Sequence[Mapping[str, Any]] = ()
    files: Mapping[str, Path] = field(default_factory=dict)

    @property
    def agrees(self) -> bool:
        """Whether nothing differs without a written reason."""
        return all(each.holds is not False or each.reason for each in self.statements)

    def to_json(self) -> dict[str, Any]:
        """One object for programs."""
        return {
            "name": self.name,
            "agrees": self.agrees,
            "figures": dict(self.figures),
            "rows": [dict(row) for row in self.rows],
            "statements": [
                {"claim": s.claim, "found": s.found, "holds": s.holds, "reason": s.reason}
                for s in self.statements
            ],
            "files": {name: str(path) for name, path in self.files.items()},
        }
