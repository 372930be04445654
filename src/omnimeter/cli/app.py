"""The ``omnimeter`` command: its subcommands, and what becomes of errors."""

from __future__ import annotations

import sys
import traceback
from typing import Annotated

import typer

from omnimeter.cli import audit, catalogue, report, reproduce, run, test

app = typer.Typer(
    name="omnimeter",
    help="Measure agents: one scale, honest error bars, stoppable at any time.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)
app.command("list")(catalogue.list_parts)
app.command("show")(catalogue.show)
app.command("run")(run.run)
app.command("test")(test.sit)
app.command("compare", help=test.COMPARE)(test.sit)
app.command("audit")(audit.audit)
app.command("reproduce")(reproduce.reproduce)
app.command("report")(report.report)

_settings = {"debug": False}


def _print_version(wanted: bool) -> None:
    if wanted:
        from omnimeter import __version__

        typer.echo(f"omnimeter {__version__}")
        raise typer.Exit


@app.callback()
def _common(
    debug: Annotated[bool, typer.Option("--debug", help="Show tracebacks.")] = False,
    version: Annotated[  # noqa: ARG001 - it is printed by its callback
        bool,
        typer.Option("--version", callback=_print_version, is_eager=True, help="Show the version."),
    ] = False,
) -> None:
    """Measure agents: one scale, honest error bars, stoppable at any time."""
    _settings["debug"] = debug


def main() -> None:
    """Run a command. Errors become one message and an exit code, not a traceback.

    Exit codes: 0 fine; 1 it says no (a reproduction disagrees, an audit fails) or a bug of ours;
    2 wrong input; 3 done, but some exercises ended in a fault; 4 the store cannot be used;
    130 interrupted.
    """
    try:
        app()
    except Exception as error:
        sys.exit(_explain(error))


def _explain(error: Exception) -> int:
    from omnimeter.contract import OmnimeterError

    if _settings["debug"]:
        traceback.print_exception(error)
    if isinstance(error, OmnimeterError):
        typer.echo(f"Error: {error.message}", err=True)
        if error.advice:
            typer.echo(f"       {error.advice}", err=True)
        return error.exit_code
    typer.echo(f"Error: {type(error).__name__}: {error}", err=True)
    typer.echo(
        "       This is a bug of Omnimeter; `omnimeter --debug ...` shows where it happened.",
        err=True,
    )
    return 1
