"""``omnimeter reproduce``: an experiment of a paper, our results and the published ones."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from omnimeter.cli import options
from omnimeter.cli.display import console, print_json, told_progress

if TYPE_CHECKING:
    from omnimeter.reproductions.shared import Reproduced


def reproduce(
    name: Annotated[str, typer.Argument(metavar="NAME", help="See: omnimeter list reproduction.")],
    out: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="Where to write (by default reproductions/NAME)."),
    ] = None,
    quick: Annotated[
        bool, typer.Option("--quick", help="A smaller version in minutes, where there is one.")
    ] = False,
    only: Annotated[
        list[str] | None,
        typer.Option(
            metavar="SETTING",
            help="Only this setting, for example 'gc e-greedy(epsilon=0)'. May be given several "
            "times.",
        ),
    ] = None,
    workers: Annotated[
        int | None,
        typer.Option(metavar="N", min=1, help="Processes that work at once, where it takes long."),
    ] = None,
    json: options.Json = False,
) -> None:
    """Run an experiment of a paper and say whether we agree.

    Leaves with 1 when something differs from the paper without a known reason.
    """
    from omnimeter.api import reproduce as repeat
    from omnimeter.catalogue import Kind, parse

    spec = parse(Kind.REPRODUCTION, name)
    short = spec.id.rpartition("-v")[0] or Path(spec.id.partition(":")[0]).stem
    directory = out or Path("reproductions") / short
    asked = {"quick": quick, "only": only, "workers": workers}
    given = {name: value for name, value in asked.items() if value}
    try:
        with told_progress(f"Reproducing {short}", json=json) as tell:
            result = repeat(name, out=directory, progress=tell, **given)
            tell("", 1.0)
    except KeyboardInterrupt:
        typer.echo(_kept(directory), err=True)
        raise
    if json:
        print_json(result.to_json())
    else:
        print_result(result)
    if not result.agrees:
        raise typer.Exit(1)


def _kept(directory: Path) -> str:
    """What an interrupted experiment leaves, and what the same command would do."""
    from omnimeter.contract.errors import StoreError
    from omnimeter.reproductions.shared import Steps
    from omnimeter.results import Record

    steps = Steps(directory).count
    exercises = evaluations = 0
    for spec in directory.rglob("spec.json"):
        with suppress(StoreError):  # it is told when the command goes on
            exercises += len(Record(spec.parent).keys())
            evaluations += 1
    kept = []
    if steps:
        kept.append(f"{steps} finished {'steps' if steps > 1 else 'step'}")
    if exercises:
        plural = "s" if evaluations > 1 else ""
        kept.append(f"{exercises} finished exercises of {evaluations} evaluation{plural}")
    if not kept:
        return "Interrupted. Nothing is kept: the same command begins anew."
    return (
        f"Interrupted. Kept in {directory}: {' and '.join(kept)}. The same command goes on there."
    )


def print_result(result: Reproduced) -> None:
    """Print the table, the statements and the paths of the files of a reproduction."""
    from omnimeter.reproductions.shared import Verdict

    out = console()
    out.print(f"[bold]{result.title}[/bold]\n")
    if len(result.rows) > 30:
        place = result.files.get("table", "the JSON (--json)")
        out.print(f"{len(result.rows)} rows are in {place}.\n", soft_wrap=True)
    elif result.rows:
        columns = result.columns or list(result.rows[0])
        _print_rows([{name: row[name] for name in columns} for row in result.rows])
    if result.comparisons:
        out.print("[italic]Printed numbers beside ours; z is the difference in standard errors")
        _print_rows([each.record() for each in result.comparisons])
    colours = {Verdict.AGREES: "green", Verdict.EXPLAINED: "yellow", Verdict.DIFFERS: "red"}
    counts = dict.fromkeys(Verdict, 0)
    for each in result.statements:
        sign = "[dim]ours[/dim]"
        if each.verdict is not None:
            sign = f"[{colours[each.verdict]}]{each.verdict}[/{colours[each.verdict]}]"
            counts[each.verdict] += 1
        out.print(f"{sign}: {each.claim}\n        {each.evidence}")
        if each.verdict is Verdict.EXPLAINED:
            out.print(f"        [yellow]because:[/yellow] {each.reason}")
            if result.findings:
                out.print(f"        see {result.findings}", soft_wrap=True)
    if any(counts.values()):
        parts = (f"{verdict}: {count}" for verdict, count in counts.items())
        out.print(f"\n[bold]verdict: {result.verdict}[/bold] ({'; '.join(parts)})")
    out.print()
    for name, path in result.files.items():
        out.print(f"{name}: {path}", soft_wrap=True)


def _print_rows(rows: Sequence[Mapping[str, Any]]) -> None:
    """Our table and, where the paper prints one too, the published one below it."""
    from rich.table import Table

    from omnimeter.reproductions.shared import PUBLISHED_FIELD

    def written(row: Mapping[str, Any], name: str) -> str:
        value = row[name]
        differs = row.get(name + PUBLISHED_FIELD, value) != value
        text = f"{value:.4g}" if isinstance(value, float) else str("" if value is None else value)
        if isinstance(value, Mapping):
            text = ", ".join(f"{name}={each}" for name, each in value.items())
        return text + (" [bold red]![/bold red]" if differs else "")

    out = console()
    first, *fields = (name for name in rows[0] if not name.endswith(PUBLISHED_FIELD))
    titles = [str(row[first]) for row in rows]
    long = any(len(title) > 24 for title in titles)
    published = all(name + PUBLISHED_FIELD in rows[0] for name in fields)
    tables = {"": ""}
    if published:
        tables = {"Ours (! differs from the paper)": "", "Published": PUBLISHED_FIELD}
    for over, ending in tables.items():
        table = Table(box=None, pad_edge=False)
        for name in (first, *fields):
            words = name.replace("_", " ").replace("-", "\n" if published else " ")
            table.add_column(words)  # to stay narrow
        for title, row in zip(titles, rows, strict=True):
            cells = (written(row, name + ending) for name in fields)
            table.add_row(title.partition(" ")[0] if long else title, *cells)
        if over:
            out.print(f"[italic]{over}[/italic]")
        out.print(table)
        out.print()
    if long:  # the first word stands for the title, which is spelled out below
        out.print("\n".join(titles) + "\n")
