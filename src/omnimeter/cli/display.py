"""Terminal output: progress, and JSON for programs."""

from __future__ import annotations

import io
import json
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, nullcontext
from contextvars import ContextVar
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

if TYPE_CHECKING:
    from rich.console import Console
    from rich.progress import Progress

    from omnimeter.contract import Protocol
    from omnimeter.execution import Observer


SILENT = 2.0
"""Seconds that something takes before its progress is shown."""

LINES = 10.0
"""Seconds between two lines about the progress where no bar can be shown."""

PAUSE = 0.5
"""Seconds between two intervals of an agent that are computed for a display."""


_readable: ContextVar[Callable[[str], str]] = ContextVar("readable", default=str)


def shorten(labels: Iterable[str]) -> None:
    """Print agents without folders of their files that are not needed, from now on."""
    known = list(labels)
    if not any(sign in label for label in known for sign in "/\\"):  # there are none
        _readable.set(str)
        return
    from omnimeter.reports.text import readable_names

    _readable.set(readable_names(known))


def console(*, errors: bool = False) -> Console:
    """The standard output, or the standard error; texts have short names of agents."""
    from rich.console import Console

    class Terminal(Console):
        def print(self, *objects: Any, **how: Any) -> None:
            readable = _readable.get()
            shown = (readable(each) if isinstance(each, str) else each for each in objects)
            super().print(*shown, **how)

    return Terminal(stderr=errors, highlight=False, soft_wrap=False, emoji=False)


def readable(text: str) -> str:
    """A text with short names of agents, as ``console`` prints it."""
    return _readable.get()(text)


def be_printable() -> None:
    """Let every character be printed: what the terminal does not have is written as its code."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def print_json(data: Any) -> None:
    """One JSON object on the standard output, for programs."""
    typer.echo(json.dumps(data, indent=2))


@contextmanager
def busy(doing: str, *, hidden: bool = False, compiling: bool = False) -> Iterator[None]:
    """A spinner on the standard error, and what is compiled meanwhile if ``compiling``."""
    from rich.markup import escape

    out = console(errors=True)
    with (
        announced(out, hidden=hidden or not compiling),
        nullcontext() if hidden else out.status(escape(doing)),
    ):
        yield


@contextmanager
def progress(*, hidden: bool = False) -> Iterator[Progress]:
    """Bars on the standard error, so that a program can read the output."""
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        SpinnerColumn,
        TextColumn,
        TimeElapsedColumn,
    )

    bars = Progress(
        SpinnerColumn(),
        TextColumn("[progress.description]{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("{task.fields[note]}"),
        TimeElapsedColumn(),
        console=console(errors=True),
        disable=hidden,
    )
    with announced(bars.console, hidden=hidden), bars:
        yield bars


@contextmanager
def slow_progress(*, hidden: bool = False) -> Iterator[Callable[[str, int, int], None]]:
    """One bar on the standard error for work that takes longer than two seconds.

    What it yields is told what is done, and how many steps of how many are over.
    """
    from time import monotonic

    with progress(hidden=hidden) as shown:
        task = shown.add_task("", total=None, note="", visible=False)
        begun = monotonic()

        def tell(doing: str, done: int, total: int) -> None:
            late = monotonic() - begun > SILENT
            shown.update(task, description=doing, completed=done, total=total, visible=late)

        yield tell
        shown.update(task, visible=False)


@contextmanager
def told_progress(name: str, *, json: bool = False) -> Iterator[Callable[[str, float], None]]:
    """One bar on the standard error; a line now and then where none can be shown.

    It is shown as soon as something is told, not before an error. What it yields is told what is
    being done, and which share of the whole is finished.

    Args:
        name: What it is all about.
        json: Whether the standard output is for programs, so that no bar moves.
    """
    from time import monotonic

    from rich.markup import escape

    with ExitStack() as shown:
        bars: list[Progress] = []
        begun = told = monotonic()

        def tell(doing: str, done: float) -> None:
            nonlocal told
            if not bars:
                bars.append(shown.enter_context(progress(hidden=json)))
                bars[0].add_task(escape(name), total=100, note="")
            bars[0].update(bars[0].task_ids[0], completed=int(100 * done), note=escape(doing))
            moving = bars[0].console.is_terminal and not json
            if not moving and done < 1 and monotonic() - told >= LINES:
                told = monotonic()
                line = readable(f"{name}: {done:.0%} after {told - begun:.0f} s. {doing}")
                typer.echo(line.rstrip(), err=True)

        yield tell


@contextmanager
def announced(out: Console, *, hidden: bool = False) -> Iterator[None]:
    """Say what is being compiled meanwhile."""
    if hidden:
        yield
        return
    from rich.text import Text

    from omnimeter import caching
    from omnimeter.contract.text import clean

    def tell(message: str) -> None:
        out.print(Text(clean(message), "dim"))

    caching.announcements.append(tell)
    try:
        yield
    finally:
        caching.announcements.remove(tell)


@contextmanager
def bars(protocol: Protocol, *, hidden: bool = False) -> Iterator[Observer]:
    """An observer that shows the progress of an evaluation as one bar per agent.

    Each has the mean so far, with the 95 % interval that holds at any time.
    """
    from time import monotonic

    from rich.markup import escape

    from omnimeter.contract import Outcome, Outcomes, Spec
    from omnimeter.contract.outcomes import JoinedOutcomes
    from omnimeter.execution import Observer
    from omnimeter.reports.scores import eligibility_of
    from omnimeter.reports.text import interval, number

    class Bars(Observer):
        def started(self, agents: Sequence[Spec], expected: int | None) -> None:
            self.parts: dict[Spec, list[Outcomes]] = {agent: [] for agent in agents}
            self.next = dict.fromkeys(agents, 0.0)
            self.tasks = {}
            for agent in agents:
                self.tasks[agent] = shown.add_task(self.name(agent), total=expected, note="")

        def name(self, agent: Spec) -> str:
            label = readable(agent.label)
            label = label if len(label) <= 40 else label[:37] + "..."
            return escape(label + eligibility_of(JoinedOutcomes(self.parts[agent])).mark)

        def finished(self, agent: Spec, outcomes: Sequence[Outcome]) -> None:
            self.parts[agent].append(Outcomes.of(outcomes))
            shown.update(self.tasks[agent], advance=len(outcomes))
            if monotonic() > self.next[agent]:
                self.note(agent)

        def note(self, agent: Spec) -> None:
            begun = monotonic()
            score = protocol.score(JoinedOutcomes(self.parts[agent]))
            note = "" if score.value is None else f"mean {number(score.value, 3, signed=True)}"
            if ends := score.parts.get("watched"):
                note += f" (any time {interval(ends[0], ends[1], 3, signed=True)})"
            if faults := sum(score.faults.values()):
                note += f" [red]{faults} faults[/red]"
            shown.update(self.tasks[agent], description=self.name(agent), note=note)
            # The score of very many takes longer, and is shown less often.
            self.next[agent] = monotonic() + max(PAUSE, 20 * (monotonic() - begun))

    with progress(hidden=hidden) as shown:
        observer = Bars()
        yield Observer() if hidden else observer
        for agent in () if hidden else observer.tasks:
            observer.note(agent)


def write_example(file: Path, content: str, following: str) -> None:
    """Write the example of a file, and say which command takes it.

    Raises:
        InvalidInputError: The file is there already.
        StoreError: It cannot be written.
    """
    from omnimeter.contract import InvalidInputError
    from omnimeter.results.files import write_errors

    with write_errors(file):
        try:
            with file.open("x", encoding="utf-8") as opened:
                opened.write(content)
        except FileExistsError:
            message = f"{file} is there already."
            raise InvalidInputError(message, "Give another name, or remove it.") from None
    console().print(f"{file} is written. Next: {following} {file}", markup=False)
