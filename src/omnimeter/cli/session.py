"""The live display of a test in a terminal: scores, progress and curves of all agents."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from itertools import pairwise
from time import monotonic
from typing import TYPE_CHECKING

import numpy as np

from omnimeter.cli.display import announced, console, readable
from omnimeter.contract import ClockKind, Outcome, Outcomes, Protocol, Score, Spec
from omnimeter.execution import Observer
from omnimeter.execution.harness import HarnessCost
from omnimeter.reports.scores import eligibility_of
from omnimeter.reports.text import counted, duration, grouped, interval, number

if TYPE_CHECKING:
    from rich.console import Console, RenderableType
    from rich.live import Live

_DOTS = ((0x01, 0x08), (0x02, 0x10), (0x04, 0x20), (0x40, 0x80))
"""The bit of each dot of a braille character, by its row and column."""

ZERO = "┄"
"""What the line at 0 is made of."""

SCALE = 7
"""Characters of the scale, the axis included."""

QUICK = 0.01
"""Seconds of a drawing from which on pauses grow with it: that of a long test takes longer."""

LONGEST_LABEL = 40
"""Columns of an agent's name at most, where the terminal is wide enough."""


def plot(values: Sequence[float], width: int, height: int) -> list[str]:
    """Draw finite values from left to right, the oldest first; without any only the line at 0.

    Args:
        values: The numbers.
        width: Characters of a line, the scale included.
        height: How many lines.
    """
    low, high = min(0.0, *values, 0.0), max(0.0, *values, 0.0)
    span = max(high - low, 0.02)
    if low == high:
        low, high = -span / 2, span / 2
    else:  # a curve at the end of the scale does not touch the edge, except at 0
        margin = span / (2 * height)
        low, high = low - margin * (low < 0), high + margin * (high > 0)

    def row(value: float) -> int:
        return round((high - value) / (high - low) * (4 * height - 1))

    across = max(1, width - SCALE)
    cells = [[0] * across for _ in range(height)]
    heights: list[int] = []
    if values:
        places = np.linspace(0, len(values) - 1, 2 * across)
        curve = np.interp(places, np.arange(len(values)), [row(value) for value in values])
        heights = np.rint(curve).astype(int).tolist()
    for column, (old, new) in enumerate(pairwise(heights[:1] + heights)):
        step = (new > old) - (new < old)
        for dot in range(old + step, new + step, step) if step else (new,):
            cells[dot // 4][column // 2] |= _DOTS[dot % 4][column % 2]
    zero = row(0.0) // 4
    labels = {zero: "0 ┼"}
    if zero > 1:
        labels[0] = f"{number(high, 2, signed=True)} ┤"
    if zero < height - 2:
        labels[height - 1] = f"{number(low, 2, signed=True)} ┤"
    lines = []
    for place, line in enumerate(cells):
        background = ZERO if place == zero else " "
        drawn = (chr(0x2800 + cell) if cell else background for cell in line)
        lines.append(f"{labels.get(place, '│'):>{SCALE}}" + "".join(drawn))
    return lines


@dataclass
class AgentProgress:
    """What one agent has done so far in a test."""

    agent: Spec
    protocol: Protocol
    outcomes: list[Outcome] = field(default_factory=list)

    def add(self, outcomes: Sequence[Outcome]) -> None:
        """Some more exercises are done."""
        self.outcomes.extend(outcomes)
        for name in ("columns", "score", "curve"):
            self.__dict__.pop(name, None)

    @cached_property
    def columns(self) -> Outcomes:
        """The outcomes by columns."""
        return Outcomes(self.outcomes)

    @cached_property
    def score(self) -> Score:
        """The score so far."""
        return self.protocol.score(self.columns)

    @cached_property
    def curve(self) -> list[float]:
        """The score after each round, or after each exercise where there are no rounds."""
        if self.protocol.describe().unit == "repetition":
            return [moment.value for moment in self.protocol.course(self.columns)]
        known = self.columns.where(self.columns.paid)
        values, worth = self.protocol.values(known), known.payoffs
        if values:
            pairs = zip(known.numbers.tolist(), worth.tolist(), strict=True)
            worth = np.array([values.get(number, payoff) for number, payoff in pairs])
        running: list[float] = (np.cumsum(worth) / np.arange(1, len(worth) + 1)).tolist()
        return running

    @property
    def share(self) -> tuple[float, float, str]:
        """How much is done, of how much: ``s``, ``interactions`` or ``exercises``."""
        design = self.protocol.describe()
        if design.unit == "exercise" or not (design.length and design.units):
            count = len(self.outcomes)
            return count, self.protocol.expected() or count, "exercises"
        total = design.length * design.units
        budgets = [each.exercise.budget for each in self.outcomes]
        if design.length_unit != "seconds":
            return sum(budget.interactions or 0 for budget in budgets), total, "interactions"
        both = zip(self.outcomes, budgets, strict=True)  # virtual seconds, or real ones elapsed
        done = sum(each.remarks.get("elapsed", budget.seconds or 0.0) for each, budget in both)
        return min(done, total), total, "s"


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
    wall = protocol.describe().clock is ClockKind.WALL
    live = Live(console=out, auto_refresh=not wall, refresh_per_second=4)
    shown = Display(protocol, title, live, pause=0.5 if wall else 0.1)
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
        pause: Seconds between two updates at the least; drawing costs real time.
    """

    def __init__(self, protocol: Protocol, title: Sequence[str], live: Live, pause: float) -> None:
        self._protocol, self._title, self._live, self._pause = protocol, title, live, pause
        self._drawn = self._wait = 0.0
        self._progress: dict[Spec, AgentProgress] = {}

    def started(self, agents: Sequence[Spec], expected: int | None) -> None:  # noqa: ARG002
        """Show a section for each agent."""
        self._progress = {agent: AgentProgress(agent, self._protocol) for agent in agents}
        self.draw()

    def finished(self, agent: Spec, outcomes: Sequence[Outcome]) -> None:
        """Draw again, unless that was done a moment ago."""
        self._progress[agent].add(outcomes)
        if monotonic() - self._drawn >= self._wait:
            self.draw()

    def draw(self) -> None:
        """Show the progress of all agents."""
        agents, begun = list(self._progress.values()), monotonic()
        self._live.update(render(self._title, agents, self._live.console), refresh=True)
        self._drawn = monotonic()
        self._wait = self._pause * max(1.0, (self._drawn - begun) / QUICK)


def render(title: Sequence[str], agents: Sequence[AgentProgress], out: Console) -> RenderableType:
    """What is shown: a title and, for each agent, two lines and its curve."""
    from rich.console import Group
    from rich.text import Text

    free = (out.height - 4) // max(1, len(agents)) - 3
    parts: list[RenderableType] = [
        Text(line, "dim" if place else "bold", overflow="ellipsis", no_wrap=True)
        for place, line in enumerate(title)
    ]
    for progress in agents:
        parts += ["", *_numbers(progress, out.width)]
        if free >= 3 and not out.options.ascii_only:
            lines = plot(progress.curve, min(out.width, 100) - 1, min(free, 6))
            parts.append(Text("\n".join(lines), style="cyan", no_wrap=True))
    return Group(*parts)


def _numbers(progress: AgentProgress, width: int) -> list[RenderableType]:
    """Name and score in a line; progress, level, slot and exercises in another."""
    from rich.progress_bar import ProgressBar
    from rich.table import Table
    from rich.text import Text

    score, mark = Text("   "), eligibility_of(progress.columns).mark
    if progress.score.value is None:
        score.append("no score yet", "dim")
    else:
        style = "" if mark else "bold green"
        score.append(number(progress.score.value, 3, signed=True), style)
        # Where there is one, that which holds even if what is seen here is the reason for stopping.
        if ends := progress.score.parts.get("watched") or progress.score.interval:
            score.append(f"  95 % interval {interval(ends[0], ends[1], 3, signed=True)}")
    if faults := sum(progress.score.faults.values()):
        score.append("  " + counted(faults, "fault"), "red")
    name = Text(readable(progress.agent.label), "bold")
    free = min(LONGEST_LABEL, width - score.cell_len) - len(mark)
    name.truncate(max(1, free), overflow="ellipsis")
    name.append(mark)

    done, total, unit = progress.share
    details = [f"{grouped(done)} of {grouped(total)}"]
    if unit != "interactions":  # which are long, and named in the title
        details[0] += f" {unit}"
    parts = progress.score.parts
    if "level" in parts:
        details.append(f"level {grouped(parts['level'])}")
    if (slot := parts.get("slot")) is not None:
        details.append(f"slot {duration(slot) if unit == 's' else grouped(slot)}")
    if unit != "exercises":
        details.append(counted(len(progress.outcomes), "exercise"))
    bar = Table.grid(padding=(0, 1))
    bar.add_row(ProgressBar(total, done, width=12), Text(" · ".join(details)))
    return [Text.assemble(name, score, no_wrap=True, overflow="ellipsis"), bar]


def harness_sentence(cost: HarnessCost) -> str:
    """What the harness itself takes, in one line."""
    where = " in a process of its own" if cost.isolated else ""
    return (
        f"Harness: an agent that does nothing{where} is charged {duration(cost.charged / 1e9)} "
        f"per action; environment and loop take {duration(cost.uncharged / 1e9)} more."
    )
