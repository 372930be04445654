"""What an adaptive test says beside the score: columns of a table, each with its meaning."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from omnimeter.reports.scores import ScoreRow
from omnimeter.reports.wording import NOTHING, grouped, number


@dataclass(frozen=True, slots=True)
class Column:
    """A named number of each agent.

    Attributes:
        key: What ``Score.parts`` calls it.
        heading: What people call it.
        meaning: What it says.
        words: How it is written.
    """

    key: str
    heading: str
    meaning: str
    words: Callable[[float], str]

    def cell(self, row: ScoreRow) -> str:
        """What stands in the line of an agent."""
        value = row.parts.get(self.key)
        return NOTHING if value is None else self.words(value)


def _thousandths(value: float) -> str:
    return number(value, 3)


COLUMNS = (
    Column(
        "stability",
        "Stability",
        "How settled the score was in the second half of the rounds, from 0 to 1: at 0.98 it lay "
        "typically 2\N{NO-BREAK SPACE}% of the whole scale away from where it ended. It is no "
        "interval: a score can settle where another sitting would not.",
        _thousandths,
    ),
    Column(
        "spread",
        "Spread",
        "The standard deviation between the scores of single sittings.",
        _thousandths,
    ),
    Column(
        "level",
        "Level reached",
        "The mean complexity of the environments in the last round.",
        lambda level: number(level, 1),
    ),
    Column(
        "potential",
        "Potential",
        "The mean of the average rewards in those exercises in which the agent had time to act at "
        "all, however long it took.",
        _thousandths,
    ),
    Column(
        "speed",
        "Speed",
        "Actions per second of the agent's own time.",
        lambda speed: grouped(float(f"{speed:.3g}")),
    ),
    Column(
        "idle",
        "Without time",
        "The share of exercises that were over before the agent had acted; each counts as 0.",
        lambda share: f"{share * 100:.0f} %",
    ),
)


def columns(rows: Sequence[ScoreRow]) -> list[Column]:
    """The columns in which something is to be said; none where exercises are independent.

    How much time there was is only of interest where time counts.
    """
    if not any(row.sittings for row in rows):
        return []
    timed = any("speed" in row.parts for row in rows)
    known = [each for each in COLUMNS if any(row.parts.get(each.key) is not None for row in rows)]
    return [each for each in known if timed or each.key != "idle"]
