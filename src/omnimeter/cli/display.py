"""Terminal output: tables, progress, and JSON for programs."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING, Any

import typer

if TYPE_CHECKING:
    from rich.console import Console
    from rich.progress import Progress


def console(*, errors: bool = False) -> Console:
    """The terminal, or its error side."""
    from rich.console import Console

    return Console(stderr=errors, highlight=False, soft_wrap=False, emoji=False)


def print_json(data: Any) -> None:
    """One JSON object on the standard output, for programs."""
    typer.echo(json.dumps(data, indent=2))


@contextmanager
def busy(doing: str, *, hidden: bool = False, compiling: bool = False) -> Iterator[None]:
    """A sign of life on the error side for work of unknown length.

    Args:
        doing: What is being done.
        hidden: Whether to show nothing.
        compiling: Whether something may have to be compiled, which is then said.
    """
    out = console(errors=True)
    with ExitStack() as signs:
        if compiling:
            signs.enter_context(announced(out, hidden=hidden))
        if not hidden:
            signs.enter_context(out.status(doing))
        yield


@contextmanager
def progress(*, hidden: bool = False) -> Iterator[Progress]:
    """Bars on the error side, so that the output can be read by a program."""
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
        transient=False,
        disable=hidden,
    )

    with announced(bars.console, hidden=hidden), bars:
        yield bars


@contextmanager
def announced(out: Console, *, hidden: bool = False) -> Iterator[None]:
    """Says what is being compiled, meanwhile."""
    from omnimeter.interaction import compilation

    def tell(message: str) -> None:
        out.print(f"[dim]{message}[/dim]")

    if not hidden:
        compilation.announcements.append(tell)
    try:
        yield
    finally:
        if not hidden:
            compilation.announcements.remove(tell)
