"""The live display of a test: for each agent its score so far, and the curve growing."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from time import monotonic
from typing import TYPE_CHECKING

from omnimeter.cli.display import announced, console
from omnimeter.cli.plot import plot
from omnimeter.cli.standing import Standing, runs_by_wall_clock
from omnimeter.contract import Outcome, Spec
from omnimeter.execution import Observer
from omnimeter.reports.wording import counted, duration, grouped, interval, number

if TYPE_CHECKING:
    from rich.console import Console, RenderableType
    from rich.live import Live

    from omnimeter.contract import Protocol

TALLEST, LOWEST = 6, 3
"""Lines of a curve: at most, and below which there is none."""

LONGEST_LABEL = 40
"""Columns of an agent's name at most, where there is room for them."""

OFTEN, SELDOM = 0.1, 0.5
"""Seconds between two pictures; the second one while real time counts, which they take some of."""


@contextmanager
def display(
    protocol: Protocol, title: Sequence[str], *, hidden: bool = False
) -> Iterator[Observer]:
    """Somebody who shows how a test goes, if there is a terminal to show it in.

    While real time counts, nothing moves during an exercise: a picture drawn meanwhile would take
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
        pause: Seconds between two pictures at the least.
    """

    def __init__(self, protocol: Protocol, title: Sequence[str], live: Live, pause: float) -> None:
        self._protocol = protocol
        self._title = title
        self._live = live
        self._pause = pause
        self._drawn = 0.0
        self._standings: dict[Spec, Standing] = {}

    def started(self, agents: Sequence[Spec], expected: int | None) -> None:  # noqa: ARG002
        """One part of the picture for each agent."""
        self._standings = {agent: Standing(agent, self._protocol) for agent in agents}
        self.draw()

    def finished(self, agent: Spec, outcomes: Sequence[Outcome]) -> None:
        """A new picture, unless the last one is quite new."""
        self._standings[agent].add(outcomes)
        if monotonic() - self._drawn >= self._pause:
            self.draw()

    def draw(self) -> None:
        """Show where everybody stands now."""
        standings = list(self._standings.values())
        self._live.update(picture(self._title, standings, self._live.console), refresh=True)
        self._drawn = monotonic()


def picture(title: Sequence[str], standings: Sequence[Standing], out: Console) -> RenderableType:
    """What is shown: a title and, for each agent, two lines and its curve."""
    from rich.console import Group
    from rich.text import Text

    free = (out.height - 4) // max(1, len(standings)) - 3
    height = 0 if out.options.ascii_only or free < LOWEST else min(free, TALLEST)
    styles = ["bold"] + ["dim"] * (len(title) - 1)
    parts: list[RenderableType] = [
        Text(line, style, overflow="ellipsis", no_wrap=True)
        for line, style in zip(title, styles, strict=True)
    ]
    for standing in standings:
        parts += ["", *_numbers(standing, out.width)]
        if height:
            lines = plot(standing.curve, min(out.width, 100) - 1, height)
            parts.append(Text("\n".join(lines), style="cyan", no_wrap=True))
    return Group(*parts)


def _numbers(standing: Standing, width: int) -> list[RenderableType]:
    from rich.progress_bar import ProgressBar
    from rich.table import Table
    from rich.text import Text

    score = Text.assemble("   ", *_score(standing))
    name = Text(standing.agent.label, "bold")
    name.truncate(max(1, min(LONGEST_LABEL, width - score.cell_len)), overflow="ellipsis")
    done, total, unit = standing.share
    words = f"{grouped(done)} of {grouped(total)}"
    if unit != "interactions":  # which need the room, and are named in the title
        words += f" {unit}"
    bar = Table.grid(padding=(0, 1))
    bar.add_row(ProgressBar(total, done, width=12), Text(" · ".join([words, *_details(standing)])))
    return [Text.assemble(name, score, no_wrap=True, overflow="ellipsis"), bar]


def _score(standing: Standing) -> list[str | tuple[str, str]]:
    score, faults = standing.score, sum(standing.score.faults.values())
    trouble = [("  " + counted(faults, "fault"), "red")] if faults else []
    if score.value is None:
        return [("no score yet", "dim"), *trouble]
    found: list[str | tuple[str, str]] = [(number(score.value, 3, signed=True), "bold green")]
    if score.interval is not None:
        reach = interval(score.interval.low, score.interval.high, 3, signed=True)
        found.append(f"  95 % interval {reach}")
    return [*found, *trouble]


def _details(standing: Standing) -> Iterator[str]:
    """Level, slot and exercises, as far as there are any."""
    parts = standing.score.parts
    if "level" in parts:
        yield f"level {grouped(parts['level'])}"
    if parts.get("slot") is not None:
        seconds = standing.share.unit == "s"
        yield f"slot {duration(parts['slot']) if seconds else grouped(parts['slot'])}"
    if standing.share.unit != "exercises":
        yield counted(len(standing.outcomes), "exercise")
