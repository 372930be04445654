"""The live display of a test in a terminal: scores, progress and curves of all agents."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from itertools import pairwise
from time import monotonic
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from omnimeter.cli.display import announced, console
from omnimeter.contract import ClockKind, Outcome, Protocol, Score, Spec
from omnimeter.execution import Observer
from omnimeter.execution.harness import HarnessCost
from omnimeter.reports.text import counted, duration, grouped, interval, number

if TYPE_CHECKING:
    from rich.console import Console, RenderableType
    from rich.live import Live


_BLANK = 0x2800
_DOTS = ((0x01, 0x08), (0x02, 0x10), (0x04, 0x20), (0x40, 0x80))
"""The bit of each dot of a braille character, by its row and column."""

ZERO = "┄"
"""What the line at 0 is made of."""

SCALE = 7
"""Characters of the scale, the axis included."""


def plot(values: Sequence[float], width: int, height: int) -> list[str]:
    """Draw values from left to right, the oldest first.

    Args:
        values: The numbers; none of them is infinite.
        width: Characters of a line, the scale included.
        height: How many lines.

    Returns:
        The lines, all of the same width. Without values there is only the line at 0.
    """
    low, high = _reach(values, height)
    across, down = max(1, width - SCALE), 4 * height - 1

    def row(value: float) -> int:
        return round((high - value) / (high - low) * down)

    cells = [[_BLANK] * across for _ in range(height)]
    for column, dots in enumerate(_columns([row(value) for value in values], 2 * across)):
        for dot in dots:
            cells[dot // 4][column // 2] |= _DOTS[dot % 4][column % 2]
    zero = row(0.0) // 4
    return [
        _scale(place, zero, low, high, height) + _line(line, ZERO if place == zero else " ")
        for place, line in enumerate(cells)
    ]


def _reach(values: Sequence[float], height: int) -> tuple[float, float]:
    """From where to where the scale goes: 0 belongs to it, and so does a line below it."""
    low, high = min(0.0, *values, 0.0), max(0.0, *values, 0.0)
    span = max(high - low, 0.02)
    if low == 0.0 == high:
        return -span / 2, span / 2
    margin = span / (2 * height)
    return (low - margin if low < 0 else low), (high + margin if high > 0 else high)


def _columns(rows: Sequence[int], count: int) -> list[range]:
    """Which dots are set in each column: the curve and what connects it to the column before."""
    if not rows:
        return [range(0)] * count
    last = len(rows) - 1
    heights = [rows[0]] * count
    for column in range(count):
        place = column * last / max(1, count - 1)
        before = min(int(place), last)
        after = min(before + 1, last)
        heights[column] = round(rows[before] + (rows[after] - rows[before]) * (place - before))
    joined = [range(heights[0], heights[0] + 1)]
    for old, new in pairwise(heights):
        step = (new > old) - (new < old)
        joined.append(range(old + step, new + step, step) if step else range(new, new + 1))
    return joined


def _scale(place: int, zero: int, low: float, high: float, height: int) -> str:
    if place == zero:
        return f"{'0':>{SCALE - 2}} ┼"
    if place == 0 and zero > 1:
        return f"{number(high, 2, signed=True):>{SCALE - 2}} ┤"
    if place == height - 1 and zero < height - 2:
        return f"{number(low, 2, signed=True):>{SCALE - 2}} ┤"
    return f"{' ':>{SCALE - 2}} │"


def _line(cells: Sequence[int], background: str) -> str:
    return "".join(background if cell == _BLANK else chr(cell) for cell in cells)


class Share(NamedTuple):
    """How much of a test is done.

    Attributes:
        done: So much.
        total: Of so much.
        unit: Of what: ``s``, ``interactions`` or ``exercises``.
    """

    done: float
    total: float
    unit: str


@dataclass
class AgentProgress:
    """What one agent has done so far.

    Attributes:
        agent: The agent.
        protocol: The test.
        outcomes: What came of its exercises.
    """

    agent: Spec
    protocol: Protocol
    outcomes: list[Outcome] = field(default_factory=list)

    def add(self, outcomes: Sequence[Outcome]) -> None:
        """Some more exercises are done."""
        self.outcomes.extend(outcomes)
        self.__dict__.pop("score", None)
        self.__dict__.pop("curve", None)

    @cached_property
    def score(self) -> Score:
        """The score so far."""
        return self.protocol.score(self.outcomes)

    @cached_property
    def curve(self) -> list[float]:
        """The score after each round, or after each exercise where there are no rounds."""
        if self.protocol.describe().unit == "repetition":
            return [moment.value for moment in self.protocol.course(self.outcomes)]
        known = [each for each in self.outcomes if each.payoff is not None]
        values = self.protocol.values(known)
        worth = [values.get(each.exercise.number, each.payoff) for each in known]
        running = np.cumsum(np.array(worth, float)) / np.arange(1, len(worth) + 1)
        return [float(value) for value in running]

    @property
    def share(self) -> Share:
        """How much is done: of the time, of the interactions, or of the exercises."""
        return share(self.protocol, self.outcomes)


def share(protocol: Protocol, outcomes: Sequence[Outcome]) -> Share:
    """How much of a test some outcomes are."""
    design = protocol.describe()
    if design.unit == "exercise" or not (design.length and design.units):
        return Share(len(outcomes), protocol.expected() or len(outcomes), "exercises")
    total = design.length * design.units
    if design.length_unit == "seconds":
        return Share(min(sum(map(_seconds, outcomes)), total), total, "s")
    taken = sum(each.exercise.budget.interactions or 0 for each in outcomes)
    return Share(taken, total, "interactions")


def _seconds(outcome: Outcome) -> float:
    """The real seconds that an exercise took or, under the virtual clock, the virtual ones."""
    return float(outcome.remarks.get("elapsed", outcome.exercise.budget.seconds or 0.0))


def runs_by_wall_clock(protocol: Protocol) -> bool:
    """Whether real time counts in a test."""
    return protocol.describe().clock is ClockKind.WALL


TALLEST, LOWEST = 6, 3
"""Lines of a curve: at most, and below which there is none."""

LONGEST_LABEL = 40
"""Columns of an agent's name at most, where the terminal is wide enough."""

OFTEN, SELDOM = 0.1, 0.5
"""Seconds between two updates; the second one while real time counts, which drawing costs."""


@contextmanager
def display(
    protocol: Protocol, title: Sequence[str], *, hidden: bool = False
) -> Iterator[Observer]:
    """An observer that shows how a test goes, if there is a terminal to show it in.

    While real time counts, nothing moves during an exercise: drawing meanwhile would take
    time away from an agent in this process.
    """
    from rich.live import Live

    out = console(errors=True)
    if hidden or not out.is_terminal or out.is_dumb_terminal:
        yield Observer()
        return
    wall = runs_by_wall_clock(protocol)
    live = Live(console=out, auto_refresh=not wall, refresh_per_second=4)
    shown = Display(protocol, title, live, SELDOM if wall else OFTEN)
    with announced(out), live:
        try:
            yield shown
        finally:
            shown.draw()
    out.print()


class Display(Observer):
    """Shows how a test goes.

    Args:
        protocol: The test.
        title: What test it is, in some lines.
        live: Where to show it.
        pause: Seconds between two updates at the least.
    """

    def __init__(self, protocol: Protocol, title: Sequence[str], live: Live, pause: float) -> None:
        self._protocol = protocol
        self._title = title
        self._live = live
        self._pause = pause
        self._drawn = 0.0
        self._progress: dict[Spec, AgentProgress] = {}

    def started(self, agents: Sequence[Spec], expected: int | None) -> None:  # noqa: ARG002
        """Show a section for each agent."""
        self._progress = {agent: AgentProgress(agent, self._protocol) for agent in agents}
        self.draw()

    def finished(self, agent: Spec, outcomes: Sequence[Outcome]) -> None:
        """Draw again, unless that was done a moment ago."""
        self._progress[agent].add(outcomes)
        if monotonic() - self._drawn >= self._pause:
            self.draw()

    def draw(self) -> None:
        """Show the progress of all agents."""
        agents = list(self._progress.values())
        self._live.update(render(self._title, agents, self._live.console), refresh=True)
        self._drawn = monotonic()


def render(title: Sequence[str], agents: Sequence[AgentProgress], out: Console) -> RenderableType:
    """What is shown: a title and, for each agent, two lines and its curve."""
    from rich.console import Group
    from rich.text import Text

    free = (out.height - 4) // max(1, len(agents)) - 3
    height = 0 if out.options.ascii_only or free < LOWEST else min(free, TALLEST)
    styles = ["bold"] + ["dim"] * (len(title) - 1)
    parts: list[RenderableType] = [
        Text(line, style, overflow="ellipsis", no_wrap=True)
        for line, style in zip(title, styles, strict=True)
    ]
    for progress in agents:
        parts += ["", *_numbers(progress, out.width)]
        if height:
            lines = plot(progress.curve, min(out.width, 100) - 1, height)
            parts.append(Text("\n".join(lines), style="cyan", no_wrap=True))
    return Group(*parts)


def _numbers(progress: AgentProgress, width: int) -> list[RenderableType]:
    from rich.progress_bar import ProgressBar
    from rich.table import Table
    from rich.text import Text

    score = Text.assemble("   ", *_score(progress))
    name = Text(progress.agent.label, "bold")
    name.truncate(max(1, min(LONGEST_LABEL, width - score.cell_len)), overflow="ellipsis")
    done, total, unit = progress.share
    done_of = f"{grouped(done)} of {grouped(total)}"
    if unit != "interactions":  # which are long, and named in the title
        done_of += f" {unit}"
    bar = Table.grid(padding=(0, 1))
    bar.add_row(
        ProgressBar(total, done, width=12), Text(" · ".join([done_of, *_details(progress)]))
    )
    return [Text.assemble(name, score, no_wrap=True, overflow="ellipsis"), bar]


def _score(progress: AgentProgress) -> list[str | tuple[str, str]]:
    score, faults = progress.score, sum(progress.score.faults.values())
    trouble = [("  " + counted(faults, "fault"), "red")] if faults else []
    if score.value is None:
        return [("no score yet", "dim"), *trouble]
    parts: list[str | tuple[str, str]] = [(number(score.value, 3, signed=True), "bold green")]
    if score.interval is not None:
        reach = interval(score.interval.low, score.interval.high, 3, signed=True)
        parts.append(f"  95 % interval {reach}")
    return [*parts, *trouble]


def _details(progress: AgentProgress) -> Iterator[str]:
    """Level, slot and exercises, as far as there are any."""
    parts = progress.score.parts
    if "level" in parts:
        yield f"level {grouped(parts['level'])}"
    if parts.get("slot") is not None:
        seconds = progress.share.unit == "s"
        yield f"slot {duration(parts['slot']) if seconds else grouped(parts['slot'])}"
    if progress.share.unit != "exercises":
        yield counted(len(progress.outcomes), "exercise")


def harness_sentence(cost: HarnessCost) -> str:
    """What the harness itself takes, in one line."""
    where = " in a process of its own" if cost.isolated else ""
    return (
        f"Harness: an agent that does nothing{where} is charged {duration(cost.charged / 1e9)} "
        f"per action; environment and loop take {duration(cost.uncharged / 1e9)} more."
    )
