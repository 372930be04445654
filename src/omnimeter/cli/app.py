"""The ``omnimeter`` command: its subcommands, its help, and how errors are reported."""

from __future__ import annotations

import re
import sys
import traceback
import warnings
from typing import Annotated, Any

import typer
from typer.core import TyperCommand, TyperGroup

from omnimeter.cli import (
    audit,
    campaign,
    catalogue,
    compare,
    doctor,
    explain,
    export,
    measure,
    prepare,
    report,
    reproduce,
    run,
    serve,
    study,
    test,
)


class _Help:
    """Shows flags and arguments without a type in the help, and options with their metavar."""

    def get_params(self, context: Any) -> Any:
        params = super().get_params(context)  # type: ignore[misc] # of the other base class
        for each in params:
            if getattr(each, "is_flag", False):
                each.metavar = ""
            elif each.param_type_name == "argument":
                each.display_type_rich = lambda ctx: None  # noqa: ARG005 - as Typer calls it
        return params


class _Command(_Help, TyperCommand): ...


class _Group(_Help, TyperGroup): ...


app = typer.Typer(
    name="omnimeter",
    cls=_Group,
    help="Measure agents: one scale, honest error bars, stoppable at any time.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)
app.command("list", cls=_Command)(catalogue.list_parts)
app.command("show", cls=_Command)(catalogue.show)
app.command("run", cls=_Command)(run.run)
app.command("prepare", cls=_Command)(prepare.prepare)
app.command("test", cls=_Command)(test.test)
app.command("compare", cls=_Command)(compare.compare)
_campaign = typer.Typer(cls=_Group, help=campaign.HELP, no_args_is_help=True)
for _name, _function in campaign.COMMANDS.items():
    _campaign.command(_name, cls=_Command, hidden=_name in campaign.HIDDEN)(_function)
app.add_typer(_campaign, name="campaign")
_study = typer.Typer(cls=_Group, help=study.HELP, no_args_is_help=True)
for _name, _function in study.COMMANDS.items():
    _study.command(_name, cls=_Command)(_function)
app.add_typer(_study, name="study")
app.command("serve", cls=_Command)(serve.serve)
app.command("audit", cls=_Command)(audit.audit)
app.command("measure", cls=_Command)(measure.measure)
app.command("reproduce", cls=_Command)(reproduce.reproduce)
app.command("report", cls=_Command)(report.report)
app.command("export", cls=_Command)(export.export)
app.command("explain", cls=_Command)(explain.explain)
app.command("doctor", cls=_Command)(doctor.doctor)
app.command("cache", cls=_Command)(doctor.cache)

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

    Exit codes: 0 fine; 1 it says no (a reproduction disagrees, an audit fails), the reader of the
    output has left, or a bug of ours; 2 wrong input; 3 done, but some exercises ended in a fault;
    4 the store, or another file, cannot be used, or damaged parts were left out; 130 interrupted.
    """
    from omnimeter.cli.display import be_printable, shorten

    be_printable()
    shorten(())
    warnings.showwarning = _show_warning
    try:
        app()
    except Exception as error:
        from omnimeter.contract import OmnimeterError
        from omnimeter.contract.text import clean

        if _settings["debug"]:
            traceback.print_exception(error)
        code, message = 1, clean(f"{type(error).__name__}: {error}")
        advice = "This is a bug of Omnimeter; `omnimeter --debug ...` shows where it happened."
        if isinstance(error, MemoryError):
            code, message = 2, "This takes more memory than there is."
            advice = "Give smaller numbers or sizes."
        elif isinstance(error, OSError) and error.errno is not None:
            where = f" ({error.filename})" if error.filename else ""
            code, message = 4, f"The system reports: {error.strerror}{where}."
            advice = "`omnimeter --debug ...` shows what was being done."
        if isinstance(error, OmnimeterError):
            code, message, advice = (
                error.exit_code,
                *map(_as_options, (error.message, error.advice)),
            )
        typer.echo(f"Error: {message}" + (f"\n       {advice}" if advice else ""), err=True)
        sys.exit(code)


def _show_warning(message: Any, *_: Any, **__: Any) -> None:
    """A warning of the Python API as one line."""
    typer.secho(f"Warning: {_as_options(str(message))}", fg="yellow", err=True)


def commands_in(group: Any, before: str = "") -> dict[str, Any]:
    """All commands of a group, those of groups in it too, by what is typed: ``campaign run``."""
    commands: dict[str, Any] = {}
    for name, command in group.commands.items():
        if hasattr(command, "commands"):
            commands |= commands_in(command, f"{before}{name} ")
        else:
            commands[before + name] = command
    return commands


def _as_options(text: str) -> str:
    """A message of the Python API with parameters (``time=60``) as options (``--time 60``)."""
    options = {
        each.name: each.opts[0]
        for command in commands_in(typer.main.get_command(app)).values()
        for each in command.params
        if each.opts[0].startswith("--")
    }
    parameter = rf"(?<![\w(,-])({'|'.join(options)})=(?:True\b)?(?=([\w-]?))"

    def translated(match: re.Match[str]) -> str:
        before = text[: match.start()]
        if before.count("(") > before.count(")"):  # of a part, as in switch(first=gc, at=3)
            return str(match[0])
        return str(options[match[1]]) + " " * bool(match[2])

    return re.sub(parameter, translated, text)
