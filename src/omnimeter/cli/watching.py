"""The progress of an evaluation in a terminal: a bar and the mean so far for each agent."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

from omnimeter.cli.display import progress
from omnimeter.contract import Outcome, Spec
from omnimeter.execution import Observer

if TYPE_CHECKING:
    from rich.progress import Progress, TaskID


class Watcher(Observer):
    """Shows how far each agent is.

    Args:
        bars: Where to show it.
    """

    def __init__(self, bars: Progress) -> None:
        self._bars = bars
        self._tasks: dict[Spec, TaskID] = {}
        self._payoffs: dict[Spec, tuple[float, int]] = {}
        self._faults: dict[Spec, int] = {}

    def started(self, agents: Sequence[Spec], expected: int | None) -> None:
        """One bar per agent."""
        for agent in agents:
            label = agent.label if len(agent.label) <= 40 else agent.label[:37] + "..."
            self._tasks[agent] = self._bars.add_task(label, total=expected, note="")
            self._payoffs[agent] = (0.0, 0)
            self._faults[agent] = 0

    def finished(self, agent: Spec, outcomes: Sequence[Outcome]) -> None:
        """A longer bar, and what the mean is now."""
        total, count = self._payoffs[agent]
        for outcome in outcomes:
            if outcome.payoff is None:
                self._faults[agent] += 1
            else:
                total, count = total + outcome.payoff, count + 1
        self._payoffs[agent] = (total, count)
        note = f"mean {total / count:+.3f}" if count else ""
        if self._faults[agent]:
            note += f" [red]{self._faults[agent]} faults[/red]"
        self._bars.update(self._tasks[agent], advance=len(outcomes), note=note)


@contextmanager
def watching(*, hidden: bool = False) -> Iterator[Observer]:
    """Somebody who shows the progress of an evaluation as bars."""
    with progress(hidden=hidden) as bars:
        yield Watcher(bars)
