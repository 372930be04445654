"""``omnimeter audit``: whether an environment class is fit for testing."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from omnimeter.cli import options
from omnimeter.cli.display import console, print_json, told_progress

if TYPE_CHECKING:
    from omnimeter.audits import Audit

LONGEST_WITNESS = 1000
"""Characters of a witness that are shown."""


def audit(
    name: Annotated[str, typer.Argument(metavar="CLASS", help="An environment class.")],
    settings: options.Settings = None,
    instances: Annotated[int, typer.Option(metavar="N", help="How many instances to draw.")] = 20,
    interactions: Annotated[
        int,
        typer.Option("--interactions", "-i", metavar="N", help="Interactions of each random run."),
    ] = 2520,
    complexity: Annotated[
        list[float] | None,
        typer.Option(
            metavar="NUMBER", help="Draw instances of complexity L - 1 to L only; repeatable."
        ),
    ] = None,
    least_difference: Annotated[
        float,
        typer.Option(metavar="D", help="By how much sums of rewards must differ; 0: by any."),
    ] = 0.0,
    seed: options.Seed = 0,
    json: options.Json = False,
) -> None:
    """Examine an environment class: balance, sensitivity, structure, range, repeatability.

    Leaves with 1 when something that the class claims does not hold.
    """
    from omnimeter.api import audit as examine

    spec = options.class_with(name, settings)
    doing, done = "", 0.0
    with told_progress(f"Auditing {spec.label}", json=json) as show:

        def tell(news: str | float) -> None:
            nonlocal doing, done
            if isinstance(news, str):
                doing = news
            else:
                done = news
            show(doing, done)

        result = examine(
            spec,
            instances=instances,
            interactions=interactions,
            seed=seed,
            complexity=complexity or (),
            least_difference=least_difference,
            progress=tell,
        )
    if json:
        print_json({"environment_class": spec.to_json(), **result.to_json()})
    else:
        _print(spec.label, result)
    if not result.ok:
        raise typer.Exit(1)


def _print(label: str, result: Audit) -> None:
    import json

    from rich.markup import escape
    from rich.table import Table

    from omnimeter.reports.text import listed

    table = Table(box=None, pad_edge=False)
    for heading in ("", "check", "claimed", "finding"):
        table.add_column(heading, no_wrap=heading in ("check", "claimed"))
    for finding in result.findings:
        sign = "[red]FAILS[/red]" if finding.claimed else "[yellow]fails[/yellow]"
        if finding.passed is not False:
            sign = "[green]holds[/green]" if finding.passed else "notes"
        claimed = "yes" if finding.claimed else "no"
        table.add_row(sign, finding.check, claimed, escape(finding.summary))
        if finding.witness and finding.passed is False:
            witness = finding.to_json()["witness"]
            if len(instances := witness.get("instances", [])) > 1:
                witness = {**witness, "instances": [instances[0], "..."]}
            text = json.dumps(witness)
            if len(text) > LONGEST_WITNESS:
                text = f"{text[:LONGEST_WITNESS]}... (--json shows all)"
            table.add_row("", "", "", f"[dim]witness: {escape(text)}[/dim]")
    if not result.ok:
        verdict = "is [red]not what it claims to be[/red]"
    elif result.fit:
        verdict = "is fit for testing"
    else:
        verdict = "keeps what it claims, but [yellow]mind what fails above[/yellow]"
    where = ""
    if complexities := result.settings.get("complexities", ()):
        named = listed(f"{complexity:g}" for complexity in complexities)
        where = f" at {'complexity' if len(complexities) == 1 else 'complexities'} {named}"
    console().print(table, f"\n[bold]{escape(label)}[/bold]{where} {verdict}.")
