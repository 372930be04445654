"""``omnimeter study``: studies with people, from the design to the table of what they did."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from omnimeter.cli import options
from omnimeter.cli.display import busy, console, print_json, slow_progress, write_example
from omnimeter.cli.serve import need_web
from omnimeter.cli.study_comparison import compare

if TYPE_CHECKING:
    from omnimeter.web.studies import Study

HELP = "Studies with people: they take the same tests as agents, in a browser."

EXAMPLE = """\
# A study: omnimeter study invite people.toml, then omnimeter serve
# What each key means: docs/commands/study.md
title = "Cups, cells and buttons"

# environments = "own" # each participant gets others; "same": all get the same
# order = "fixed" # of the exercises; "random" or "balanced" (Latin squares)
# rewards = "signs" # how they are shown: three signs, "steps" or "number"
# colours = true # of cells
# breaks = [2] # after these exercises participants are told to rest
# language = "en" # or "es"

# After an interruption of this many minutes participants "resume" at the exact step, "restart" the
# exercise, or are told that they cannot go on ("block").
# after_interruption = "resume"
# minutes_away = 30

# consent = "I take part of my own will and can withdraw at any time."
# instructions = "..." # instead of the standard ones

# What participants do: a battery by its name ("thesis-table-6-1" is that of the Lambda thesis), by
# its file, or written out here. Instead, a table [test] describes an anytime test.
[battery]
title = "Three short exercises"
exercises = [
    { environment_class = "cups(max_cups=3)", interactions = 10 },
    { environment_class = "lambda(cells=3)", interactions = 15 },
    { environment_class = "lambda(cells=5)", interactions = 20 },
]

# An anytime test: seconds, and what omnimeter.test takes; its first exercises take 10 seconds.
# [test]
# class = "lambda"
# time = 300

# Questions instead of the standard ones on motivation, usability, difficulty and strategy.
# [[questionnaire]]
# name = "age-group" # its column in tables
# text = "How old are you?"
# kind = "choice" # or "scale", or "text"
# options = ["under 30", "30 to 60", "over 60"]
# required = false
"""

Directory = Annotated[Path, typer.Argument(metavar="DIR", help="The directory of the study.")]


def new(
    file: Annotated[
        Path, typer.Argument(metavar="FILE", help="The file to write (by default people.toml).")
    ] = Path("people.toml"),
) -> None:
    """Write an example of a study's file, with comments, which can be used as it is."""
    write_example(file, EXAMPLE, "omnimeter study invite")


def invite(
    given: Annotated[
        Path,
        typer.Argument(metavar="STUDY", help="The file of a study, or the directory of one."),
    ],
    count: Annotated[int, typer.Option(metavar="N", min=1, help="How many participants.")] = 1,
    days: Annotated[
        float,
        typer.Option(
            metavar="DAYS", min=0, help="After how many days links cannot be used; 0 for never."
        ),
    ] = 30.0,
    out: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR", help="The directory of a file's study (by default FILE without .toml)."
        ),
    ] = None,
    address: Annotated[
        str,
        typer.Option(metavar="URL", help="Where participants reach the server."),
    ] = "http://127.0.0.1:8000",
    json: options.Json = False,
) -> None:
    """Make the study of a file, if it is not there yet, and links for participants.

    Each link is for one participant, who goes on with it at any time and on any device.
    """
    need_web()
    with busy("Making links", hidden=json):
        study = _study(given, out)
        new = study.invite(count, days)
    links = {each.name: f"{address.rstrip('/')}/p/{each.token}" for each in new}
    if json:
        print_json({"study": str(study.path), "links": links})
        return
    for name, link in links.items():
        console().print(f"{name}  {link}", markup=False, soft_wrap=True)
    console().print(f"study: {study.path}", markup=False, soft_wrap=True)
    console().print(f"next: omnimeter serve {study.path}", markup=False, soft_wrap=True)


def status(directory: Directory, json: options.Json = False) -> None:
    """Tell how far each participant is, also while the study is served. Writes nothing."""
    need_web()
    from omnimeter.cli.scores import damaged_json, leave_if_damaged
    from omnimeter.contract.errors import StoreError
    from omnimeter.web.records import Attended, Damaged, attended
    from omnimeter.web.studies import Study

    study = Study(directory)
    damaged: Damaged = study.damaged
    rows = {folder.name: Attended("damaged") for folder in damaged}
    for each in study.participants:
        try:
            rows[each.name] = attended(study, each)
        except StoreError as error:
            rows[each.name] = Attended("damaged")
            damaged[study.folder(each)] = error
    if json:
        people = [{"participant": name, **asdict(row)} for name, row in rows.items()]
        told = {"title": study.design.title, "participants": people}
        print_json({**told, "damaged": damaged_json(damaged)})
        leave_if_damaged(damaged)
        return
    stages = _stages([row.stage for row in rows.values()])
    console().print(f"{study.design.title}: {stages}", markup=False)
    cells = [
        (
            name,
            row.stage,
            str(row.exercises),
            str(row.interruptions),
            "" if row.seen is None else time.strftime("%Y-%m-%d %H:%M", time.localtime(row.seen)),
        )
        for name, row in rows.items()
    ]
    if cells:
        _print_table(("participant", "stage", "exercises", "interruptions", "last seen"), cells)
    leave_if_damaged(damaged)


Name = Annotated[
    str, typer.Argument(metavar="PARTICIPANT", help="The name of the participant, such as p0001.")
]


def revoke(directory: Directory, participant: Name) -> None:
    """Let the link of a participant expire at once. What they did is kept."""
    need_web()
    from omnimeter.web.records import named
    from omnimeter.web.studies import Study

    study = Study(directory)
    study.revoke(named(study, participant))
    console().print(f"The link of {participant} has expired.", markup=False)


def withdraw(
    directory: Directory,
    participant: Name,
    yes: Annotated[bool, typer.Option("--yes", help="Delete without asking.")] = False,
) -> None:
    """Delete everything of a participant for good.

    That a participant with this number has withdrawn is kept, and when.
    """
    need_web()
    from omnimeter.contract.errors import StoreError
    from omnimeter.web.records import named
    from omnimeter.web.studies import Study

    study = Study(directory)
    one = named(study, participant)
    if not yes:
        typer.confirm(f"Delete everything of {participant} in {study.path}?", abort=True, err=True)
    try:
        study.withdraw(one)
    except StoreError as error:
        if isinstance(error.__cause__, BlockingIOError):
            message = f"{participant} is taking part now, at a server."
            advice = "Withdraw them on the experimenter's page, or end the server first."
            raise StoreError(message, advice) from error
        raise
    console().print(f"Everything of {participant} is deleted.", markup=False)


def export(
    directory: Directory,
    out: Annotated[
        Path | None, typer.Option(metavar="FILE", help="The file to write, .parquet or .csv.")
    ] = None,
    file_format: Annotated[
        str | None,
        typer.Option(
            "--format", metavar="NAME", help="parquet or csv (by default as the file's name ends)."
        ),
    ] = None,
) -> None:
    """Write what participants did into a table, and their answers into another one beside it.

    There is a row for each interaction, also of tests that are under way.
    """
    need_web()
    if out is None:
        raise options.missing("--out", "omnimeter study export people --out people.parquet")
    from omnimeter.cli.scores import leave_if_damaged
    from omnimeter.reports.text import counted
    from omnimeter.web import records
    from omnimeter.web.studies import Study

    with busy("Writing"):
        written, damaged = records.export(Study(directory), out, file_format)
    for path, count in written.items():
        console().print(f"{counted(count, 'row')}: {path}", soft_wrap=True, markup=False)
    leave_if_damaged(damaged)


def simulate(
    given: Annotated[
        Path,
        typer.Argument(metavar="STUDY", help="The file of a study, or the directory of one."),
    ],
    participants: Annotated[
        int, typer.Option(metavar="N", min=1, help="How many are invited, and simulated.")
    ] = 1,
    agent: Annotated[
        str,
        typer.Option(
            metavar="NAME",
            help="Who plays: learner (Q-learning over what is drawn), or random.",
        ),
    ] = "learner",
    out: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR", help="The directory of a file's study (by default FILE without .toml)."
        ),
    ] = None,
    json: options.Json = False,
) -> None:
    """Try a study out: agents take it in the place of people, through the same pages' protocol.

    They see nothing but what a page shows, and answer the questionnaire at random.
    """
    need_web()
    from omnimeter.web.serving import served
    from omnimeter.web.simulation import simulate

    with busy("Making links", hidden=json):
        study = _study(given, out)
        invited = study.invite(participants)
    with served(study.path) as address, slow_progress(hidden=json) as tell:
        stages = simulate(
            study,
            address,
            invited,
            agent,
            lambda ended, actions: tell(f"Participants, {actions} actions", ended, participants),
        )
    if json:
        print_json({"study": str(study.path), "participants": [each.name for each in invited]})
    else:
        console().print(f"{len(stages)} simulated by {agent}: {_stages(stages)}", markup=False)
        console().print(f"study: {study.path}", markup=False, soft_wrap=True)


COMMANDS: Mapping[str, Callable[..., None]] = {
    "new": new,
    "invite": invite,
    "status": status,
    "export": export,
    "revoke": revoke,
    "withdraw": withdraw,
    "simulate": simulate,
    "compare": compare,
}
"""The commands of studies, by their names."""


def _study(given: Path, out: Path | None) -> Study:
    """The study of a directory, or of a file, which is made if it is not there yet."""
    from omnimeter.contract import InvalidInputError
    from omnimeter.web.experimenter import check_language
    from omnimeter.web.studies import Study, read_design

    if given.is_dir():
        if out is not None:
            message = f"{given} is the directory of a study: --out has no effect."
            raise InvalidInputError(message, "Leave it out, or give a file.")
        return Study(given)
    design = read_design(given)
    check_language(design)
    if out is None:
        out = given.with_suffix("") if given.suffix else given.with_name(f"{given.name}-study")
    return Study.create(out, design)


def _stages(stages: list[str]) -> str:
    """How many participants are at which stage."""
    from collections import Counter

    if not stages:
        return "no participants yet"
    return ", ".join(f"{stage} {count}" for stage, count in Counter(stages).items())


def _print_table(headings: tuple[str, ...], rows: Sequence[tuple[str, ...]]) -> None:
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, pad_edge=False)
    for place, heading in enumerate(headings):
        table.add_column(heading, justify="right" if place in (2, 3) else "left")
    for row in rows:
        table.add_row(*map(Text, row))
    console().print(table)
