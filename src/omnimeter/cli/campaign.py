"""``omnimeter campaign``: many evaluations with a common plan, in one directory."""

from __future__ import annotations

import csv
import re
import signal
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from omnimeter.cli import options
from omnimeter.cli.display import (
    busy,
    console,
    print_json,
    progress,
    readable,
    shorten,
    write_example,
)
from omnimeter.cli.scores import damaged_json, leave_if_damaged

if TYPE_CHECKING:
    from collections.abc import Callable

    from omnimeter.api.campaign import Campaign
    from omnimeter.api.campaign_status import AgentStatus, Progress, Status
    from omnimeter.api.workload import Workload
    from omnimeter.reports.campaign import CampaignScore

HELP = "Campaigns: many agents, tests and seeds in one plan, which can be interrupted at any time."

EXAMPLE = """\
# A campaign: omnimeter campaign run study.toml
# What each key means: docs/commands/campaign.md
title = "Two learners in two classes"

# Every test is taken once under each seed. Agents that know a seed could rebuild their
# environments; with repetitions = 2 instead, two secret ones are drawn.
seeds = [0, 1]

[[agents]]
agent = "random" # as --agent takes it: an id, or a file: "my_agent.py:MyAgent"

[[agents]]
agent = "q-learning"
group = "learners" # a name for tests and limits
grid = { alpha = [0.1, 0.3] } # one agent for each value, or each combination of values

# A table [[tests]] has the names that omnimeter.evaluate takes in Python.
[[tests]]
name = "small"
class = ["cups", "buttons"] # of several classes, each in turn
exercises = 10
interactions = 200

# All combinations of the values in a grid. Parameters of the class are those of set.
[[tests]]
name = "rules"
class = "cups"
grid = { set.rule = ["published", "rest"], complexity = [3, 6] }
exercises = 10
interactions = 200
agents = ["learners"] # groups; all agents by default

# With a definition it is a universal test, with the names that omnimeter.test takes.
[[tests]]
name = "anytime"
definition = 19
class = "automata"
interactions = 2000

[run]
executor = "processes" # or "this-process"; "ray" or "slurm" on a cluster: docs/cluster.md
# workers = 2 # by default one for each processor

# Limits of agents in processes of their own: of all, and of the agents of a group.
[limits]
memory_limit = 2048 # megabytes
action_timeout = 10.0 # seconds

[limits.learners]
action_timeout = 30.0

# Array jobs of SLURM, where that carries it out: of all agents, and of those of a group.
# [slurm]
# tasks = 20 # of an array job
# memory = 4000 # megabytes of a task
# minutes = 240
# options = ["--partition=long"] # of sbatch
# [slurm.learners]
# minutes = 600
"""

SHOWN = 10
"""Agents that are listed at the end of a run, of those whose evaluations are not complete."""

LINES = 5
"""Lines of the output of a task that are shown."""

MOST_ROWS = 200
"""Agents of evaluations from which on only those are listed that are not done, or have faults."""

Directory = Annotated[Path, typer.Argument(metavar="DIR", help="The directory of the campaign.")]


def new(
    file: Annotated[
        Path, typer.Argument(metavar="FILE", help="The file to write (by default study.toml).")
    ] = Path("study.toml"),
) -> None:
    """Write an example of a campaign's file, with comments, which runs as it is."""
    write_example(file, EXAMPLE, "omnimeter campaign run")


def run(
    file: Annotated[
        Path,
        typer.Argument(metavar="FILE", help="The file of a campaign, or the directory of one."),
    ],
    out: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR", help="The directory of the campaign (by default FILE without .toml)."
        ),
    ] = None,
    workers: Annotated[
        int | None,
        typer.Option(
            metavar="N",
            min=1,
            help="Processes that work at once (by default those of the file, or one for each "
            "processor).",
        ),
    ] = None,
    executor: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="What carries it out, instead of what the file says: processes, this-process, "
            "ray, slurm.",
        ),
    ] = None,
    address: Annotated[
        str | None,
        typer.Option(
            metavar="ADDRESS",
            help="The address of a Ray cluster (by default one is started on this machine).",
        ),
    ] = None,
    dry_run: Annotated[
        bool,
        typer.Option("--dry-run", help="Only count the work, and estimate its time from trials."),
    ] = False,
    json: options.Json = False,
) -> None:
    """Carry out what is not finished of a campaign.

    It can be interrupted at any time; the same command goes on. Leaves with 3 when exercises ended
    in faults, or units were quarantined: their worker died again and again. By slurm, it is only
    submitted. A damaged evaluation is left as it is, and named; then it leaves with 4.
    """
    from omnimeter.api.campaign import campaign
    from omnimeter.api.cluster import SLURM

    with busy("Reading the plan", hidden=json, compiling=True):
        chosen = campaign(file, out=out).with_running(workers, executor, address)
    for warning in chosen.warnings:
        said = f"Warning: {warning} In the file, give repetitions instead of seeds for that."
        console(errors=True).print(said, style="yellow", markup=False)
    if dry_run:
        with busy("Trying agents out", hidden=json, compiling=True):
            counted = chosen.workload()
        if json:
            print_json({"directory": str(chosen.path), **counted.to_json()})
        else:
            _print_workload(chosen, counted)
        return
    jobs: list[str] = []
    if chosen.plan.executor == SLURM:
        with busy("Submitting", hidden=json, compiling=True):
            jobs, status = chosen.submit(), chosen.status()
    else:
        with _bar(hidden=json) as tell:
            status = chosen.run(tell)
    if json:
        submitted = {"jobs": jobs} if chosen.plan.executor == SLURM else {}
        print_json({**_status_json(chosen, status), **submitted})
    elif jobs:
        _print_submitted(chosen, jobs)
    else:
        given = {"workers": workers, "executor": executor, "address": address}
        again = "".join(f" --{name} {each}" for name, each in given.items() if each)
        _print_end(chosen, status, again)
    if status.interrupted:
        raise typer.Exit(128 + signal.SIGINT)
    leave_if_damaged(chosen.damaged)
    if not jobs:
        _leave(status)


def status(directory: Directory, json: options.Json = False) -> None:
    """Tell how far a campaign is, also while it is carried out. Writes nothing.

    Damaged files are left out and named; then it leaves with 4.
    """
    from omnimeter.api.campaign import Campaign

    campaign = Campaign.open(directory)
    status = campaign.status()
    if json:
        print_json(_status_json(campaign, status))
    else:
        _print_status(campaign, status)
    leave_if_damaged(campaign.damaged)


def _print_status(campaign: Campaign, status: Status) -> None:
    out = console()
    shorten(each.agent for each in status.agents)
    left = status.progress.seconds_left if status.running else None
    said = f", {span(left)} left" if left is not None else ""
    out.print(f"{status.title}: {status.sentence}{said}", markup=False)
    rows = list(status.agents)
    if len(rows) > MOST_ROWS:
        rows = [each for each in rows if each.faults or each.finished != each.expected]
        out.print(f"Finished without a fault, and not listed: {len(status.agents) - len(rows)}.")
    for name, of_one in groupby(rows, lambda each: each.evaluation):
        cells = [
            (each.agent, _done(each), str(each.faults) if each.faults else "none")
            for each in of_one
        ]
        _print_section(name, ("agent", "exercises", "faults"), cells)
    _print_quarantined(status)
    if status.unknown:
        out.print(f"Whether tasks wait or run is not known: {status.unknown}", markup=False)
    elif status.submitted and not status.tasks:
        said = f"The tasks have ended. Next: omnimeter campaign collect {campaign.path}"
        out.print(said, soft_wrap=True, markup=False)


def results(
    directory: Directory,
    trust: options.Trust = False,
    json: options.Json = False,
    as_csv: Annotated[bool, typer.Option("--csv", help="Print comma-separated values.")] = False,
) -> None:
    """Print the scores of a campaign: each agent in each test, over all seeds. Runs nothing.

    Damaged files are left out and named; then it leaves with 4.
    """
    from omnimeter.api.campaign import Campaign
    from omnimeter.contract import InvalidInputError
    from omnimeter.contract.text import no_formula
    from omnimeter.reports.summary import bounded_text, mark_sentences
    from omnimeter.reports.text import fault_counts, interval, listed, number

    if json and as_csv:
        raise InvalidInputError("--json and --csv cannot be given together.", "Give one of them.")
    campaign = Campaign.open(directory)
    with busy("Reading", hidden=json or as_csv):
        rows = campaign.results(trust=trust)
    if json:
        print_json([_plain(row) for row in rows])
    elif as_csv:
        writer = csv.writer(sys.stdout, lineterminator="\n")
        writer.writerow(_plain(rows[0]))
        for row in rows:
            values = {**_plain(row), "faults": sum(row.faults.values())}
            writer.writerow(map(no_formula, values.values()))
    else:
        shorten(row.agent for row in rows)
        headings = ("agent", "score", "95 % interval", "seeds", "exercises", "faults")
        for title, of_one in groupby(rows, lambda row: (row.test, row.environment_class)):
            shown = sorted(of_one, key=lambda row: row.eligibility.order)
            cells = [
                (
                    row.agent + row.eligibility.mark,
                    number(row.value, 3),
                    interval(row.low, row.high, 3),
                    _of(row.evaluations, row.expected),
                    str(row.exercises),
                    fault_counts(row.faults) or "none",
                )
                for row in shown
            ]
            _print_section(" · ".join(filter(None, title)), headings, cells)
            bounded = [row.agent for row in shown if row.bounded and not row.faults]
            if bounded:
                said = bounded_text(bounded, "value", seeds=shown[0].expected)
                console().print(said, markup=False)
            if sizes := shown[0].extended:
                said = f"This test had {listed(map(str, sizes))} exercises before it was extended. "
                said += (
                    "Where payoffs are bounded, its intervals hold at every number of exercises."
                )
                console().print(said)
        for sentence in mark_sentences(row.eligibility.mark for row in rows):
            console().print(sentence)
        if not all(row.complete for row in rows):
            console().print("Not all exercises are done: these intervals hold at every moment.")
    leave_if_damaged(campaign.damaged)


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
    traces: Annotated[
        bool, typer.Option("--traces", help="One row for each interaction that was kept.")
    ] = False,
) -> None:
    """Write all outcomes of a campaign into one table: a row for each exercise. Runs nothing.

    Damaged files are left out and named; then it leaves with 4.
    """
    from omnimeter.api.campaign import Campaign
    from omnimeter.reports.text import counted

    if out is None:
        example = "omnimeter campaign export study --out outcomes.parquet"
        raise options.missing("--out", example)
    campaign = Campaign.open(directory)
    with busy("Writing"):
        count = campaign.export(out, file_format, traces=traces)
    console().print(f"{counted(count, 'row')}: {out}", soft_wrap=True, markup=False)
    leave_if_damaged(campaign.damaged)


def work(
    directory: Directory,
    part: Annotated[
        str | None, typer.Option(metavar="I/N", help="Which part of how many, from 0.")
    ] = None,
    group: Annotated[
        str | None, typer.Option(metavar="NAME", help="What was submitted, as its script says.")
    ] = None,
) -> None:
    """Be a task of an array job: this is what the scripts of campaigns on SLURM call.

    Leaves with 75 when there is more to do, and the task has to be queued again.
    """
    from omnimeter.contract import InvalidInputError
    from omnimeter.execution import slurm

    example = "omnimeter campaign work study --part 0/10 --group all-online"
    if part is None or group is None:
        raise options.missing("--part" if part is None else "--group", example)
    numbers = re.fullmatch(r"(\d{1,9})/(\d{1,9})", part)
    if numbers is None or int(numbers[1]) >= int(numbers[2]):
        message = f"There is no part {part!r}."
        raise InvalidInputError(message, "Give a number and how many there are: 0/10 to 9/10.")
    raise typer.Exit(slurm.work(directory, int(numbers[1]), int(numbers[2]), group))


def collect(directory: Directory, json: options.Json = False) -> None:
    """Tell what became of the array jobs of a campaign, at any time. Runs nothing.

    Leaves as run does: with 0 if the campaign is complete, with 3 if units are quarantined or
    exercises ended in faults; and with 75 if something is left to do.
    """
    from omnimeter.api.campaign import Campaign
    from omnimeter.api.cluster import SLURM
    from omnimeter.contract.text import clean_line
    from omnimeter.execution.slurm import UNFINISHED

    campaign = Campaign.open(directory)
    with busy("Reading", hidden=json):
        told, status = campaign.collect(), campaign.status()
    if json:
        fields = {name: getattr(told, name) for name in ("units", "finished", "given_up")}
        last = {**fields, "active": dict(told.active), "ended": dict(told.ended)}
        print_json({**_status_json(campaign, status), "submitted": last})
    else:
        out = console()
        out.print(f"Submitted last: {told.units} units, of which {told.finished} are finished.")
        for task, state in list(told.active.items())[:SHOWN]:
            out.print(f"  task {task}: {state}", markup=False)
        if len(told.active) > SHOWN:
            out.print(f"  and {len(told.active) - SHOWN} more")
        for log, tail in list(told.ended.items())[:SHOWN]:
            said = f"  ended with something left to do: {log}"
            out.print(said, soft_wrap=True, markup=False)
            last_lines = tail.splitlines()[-LINES:]
            out.print("\n".join(f"    {clean_line(line)}" for line in last_lines), markup=False)
        if len(told.ended) > SHOWN:
            out.print(f"  and {len(told.ended) - SHOWN} more")
        _print_end(campaign, status, " --executor slurm" * (campaign.plan.executor != SLURM))
    leave_if_damaged(campaign.damaged)
    if not status.complete:
        raise typer.Exit(UNFINISHED)
    _leave(status)


COMMANDS: Mapping[str, Callable[..., None]] = {
    "new": new,
    "run": run,
    "status": status,
    "results": results,
    "export": export,
    "collect": collect,
    "work": work,
}
"""The commands of campaigns, by their names."""

HIDDEN = {"work"}
"""Those that scripts call, and no person."""


def span(seconds: float) -> str:
    """A time that was estimated, in a unit that suits it."""
    for size, name in ((86_400, "days"), (3_600, "h"), (60, "min")):
        if seconds >= 2 * size:
            return f"about {seconds / size:.0f} {name}"
    return f"about {seconds:.0f} s" if seconds >= 1 else "less than a second"


@contextmanager
def _bar(*, hidden: bool) -> Iterator[Callable[[Progress], None]]:
    """What shows the progress of a campaign as one bar of its units."""
    with progress(hidden=hidden) as shown:
        task = shown.add_task("Units", total=None, note="")

        def tell(now: Progress) -> None:
            notes = [f"{span(now.seconds_left)} left"] if now.seconds_left else []
            notes += [f"[red]{now.quarantined} quarantined[/red]"] if now.quarantined else []
            shown.update(task, total=now.units, completed=now.done, note=", ".join(notes))

        yield tell


def _leave(status: Status) -> None:
    """Leave a campaign that was carried out with 3, if not all of it went well."""
    if status.quarantined or any(each.faults for each in status.agents):
        raise typer.Exit(3)


def _print_submitted(campaign: Campaign, jobs: Sequence[str]) -> None:
    """Say what was submitted, and what can be typed next."""
    said = [
        f"Submitted: {'job' if len(jobs) == 1 else 'jobs'} {', '.join(jobs)}.",
        f"scripts and output of tasks: {campaign.path / 'cluster'}",
        f"how far it is: omnimeter campaign status {campaign.path}",
        f"when it has ended: omnimeter campaign collect {campaign.path}",
    ]
    console().print("\n".join(said), soft_wrap=True, markup=False)


def _print_workload(campaign: Campaign, work: Workload) -> None:
    from omnimeter.reports.text import counted

    at_most = "at most " * work.at_most
    lines = [
        f"{campaign.plan.title}: {counted(work.evaluations, 'evaluation')} in "
        f"{counted(work.units, 'unit')}, {at_most}{counted(work.exercises, 'exercise')} with "
        f"{at_most}{counted(work.interactions, 'interaction')}."
    ]
    if work.unknown:
        pairs = counted(work.unknown, "pair")
        lines.append(f"Of {pairs} of agent and test the number of exercises is not known.")
    if work.seconds is None:
        lines.append("Nothing could be tried, so there is no estimate of the time.")
    else:
        tried = f"short exercises of {work.tried} of {work.pairs} pairs of agent and class"
        lines.append(
            f"{span(work.seconds)} with {counted(work.workers, 'worker')}. This is an estimate "
            f"from {tried}, and from storing small evaluations; compiling and offline phases are "
            "not in it."
        )
    if work.costly:
        lines.append(
            f"Costly agents were not asked: the time of {counted(work.costly, 'pair')} of agent "
            "and class is not in it."
        )
    console().print("\n".join(line[0].upper() + line[1:] for line in lines), markup=False)


def _print_end(campaign: Campaign, status: Status, again: str) -> None:
    """Say how a run ended, what is left, and how to go on, with the options of this run."""
    from omnimeter.reports.text import counted

    out = console()
    finished = sum(each.finished for each in status.agents)
    evaluations = counted(len(campaign.entries), "evaluation")
    said = "interrupted" if status.interrupted else status.sentence
    done = f"{said}: {evaluations}, {counted(finished, 'exercise')} finished"
    out.print(done[0].upper() + done[1:] + ".", markup=False)
    if not status.complete:
        left = [
            each
            for each in status.agents
            if each.finished < (each.expected or 1) and not each.stopped
        ]
        for each in left[:SHOWN]:
            said = f"  not complete: {each.evaluation}, {each.agent}: {_done(each)}"
            out.print(said, soft_wrap=True, markup=False)
        if len(left) > SHOWN:
            out.print(f"  and {len(left) - SHOWN} more")
        said = f"go on: omnimeter campaign run {campaign.path}{again}"
        if status.tasks:
            said = f"later: omnimeter campaign collect {campaign.path}"
        out.print(said, soft_wrap=True, markup=False)
    _print_quarantined(status)
    faults = sum(each.faults for each in status.agents)
    if faults:
        out.print(f"{counted(faults, 'exercise')} ended in faults.")
    out.print(f"results: {campaign.path}", soft_wrap=True, markup=False)


def _done(each: AgentStatus) -> str:
    """How many exercises an agent has finished, of how many."""
    return str(each.finished) + ("" if each.expected is None else f" of {each.expected}")


def _print_quarantined(status: Status) -> None:
    for each in status.quarantined:
        said = f"quarantined: {each.evaluation}, {', '.join(each.agents)}: {each.file}"
        console().print(said, soft_wrap=True, markup=False, style="red")
        console().print(f"  {each.reason}", soft_wrap=True, markup=False)


def _print_section(title: str, headings: tuple[str, ...], rows: Sequence[tuple[str, ...]]) -> None:
    """Print a table with a title; its first column is a text, and the others are numbers."""
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, pad_edge=False)
    for place, heading in enumerate(headings):
        table.add_column(heading, justify="right" if place else "left", overflow="fold")
    for row in rows:
        table.add_row(*(Text(readable(cell)) for cell in row))
    console().print("\n" + title, style="bold", soft_wrap=True, markup=False)
    console().print(table)


def _of(count: int, expected: int) -> str:
    return str(count) if count == expected else f"{count} of {expected}"


def _plain(row: CampaignScore | AgentStatus) -> dict[str, Any]:
    """All fields of a row, those with their default too."""
    return {name: getattr(row, name) for name in row.__dataclass_fields__}


def _status_json(campaign: Campaign, status: Status) -> dict[str, Any]:
    return {
        "directory": str(campaign.path),
        "state": status.sentence,
        "running": status.running,
        "complete": status.complete,
        "interrupted": status.interrupted,
        "seconds_left": status.progress.seconds_left if status.running else None,
        "tasks": None if status.unknown else dict(status.tasks),
        "agents": [_plain(each) for each in status.agents],
        "quarantined": [each.to_json() for each in status.quarantined],
        "damaged": damaged_json(campaign.damaged),
    }
