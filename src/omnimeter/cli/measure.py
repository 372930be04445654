"""``omnimeter measure``: how large, dense, variable, volatile and complex environments are."""

from __future__ import annotations

from dataclasses import asdict
from math import isfinite
from typing import TYPE_CHECKING, Annotated, Any

import typer

from omnimeter.cli import options
from omnimeter.cli.display import console, print_json, progress

if TYPE_CHECKING:
    from omnimeter.estimation import Estimate
    from omnimeter.measures import ClassMeasures, Measures

OF_CLASSES = {"exercises", "steps"}
OF_FILES = {"other", "knowledge", "torus", "edges"}
"""Options that only serve one of both."""


def measure(
    context: typer.Context,
    classes: Annotated[
        list[str] | None,
        typer.Argument(metavar="CLASS", help="Environment classes; several are one table."),
    ] = None,
    exercises: Annotated[
        int, typer.Option(metavar="N", help="How many instances of each class to draw.")
    ] = 20,
    steps: Annotated[int, typer.Option(metavar="N", help="The time steps of each instance.")] = 50,
    seed: options.Seed = 0,
    form: Annotated[
        str, typer.Option(metavar="NAME", help="Variability and volatility as mean or as sum.")
    ] = "mean",
    combine: Annotated[
        str, typer.Option(metavar="NAME", help="Complexity as product or sum of the others.")
    ] = "product",
    weights: Annotated[
        list[str] | None,
        typer.Option(
            "--weight",
            metavar="NAME=NUMBER",
            help="The exponent (product) or coefficient (sum) of a measure; repeatable.",
        ),
    ] = None,
    sample: Annotated[
        int | None,
        typer.Option(metavar="N", help="Estimate variability from so many squares."),
    ] = None,
    file: Annotated[
        str | None,
        typer.Option(metavar="FILE", help="Measure the overlay of a CSV or Parquet file instead."),
    ] = None,
    other: Annotated[
        str | None,
        typer.Option(metavar="FILE", help="Another such file, for the overlay difference."),
    ] = None,
    knowledge: Annotated[
        str | None,
        typer.Option(metavar="FILE", help="Initial beliefs of an agent, for the inconsistency."),
    ] = None,
    torus: Annotated[
        bool, typer.Option("--torus", help="The grid of the file has no borders.")
    ] = False,
    edges: Annotated[
        str | None,
        typer.Option(metavar="FILE", help="Which squares are adjacent: columns from and to."),
    ] = None,
    json: options.Json = False,
) -> None:
    """Measure environments as overlays: size, density, variability, volatility, complexity."""
    from rich.markup import escape

    from omnimeter import api
    from omnimeter.catalogue import Kind, parse
    from omnimeter.measures import read_knowledge, read_overlay

    common: dict[str, Any] = {
        "form": form,
        "combine": combine,
        "weights": _weights(weights or []),
        "sample": sample,
        "seed": seed,
    }
    if file is not None:
        if classes:
            options.refuse(context, {"file"}, "a class", "Measure either.")
        options.refuse(context, OF_CLASSES, "--file", "They are of environment classes.")
        overlay = read_overlay(file, torus=torus, edges=edges)
        result = api.measure(
            overlay,
            knowledge=None if knowledge is None else read_knowledge(knowledge, overlay),
            other=None if other is None else read_overlay(other, torus=torus, edges=edges),
            **common,
        )
        if json:
            print_json({"file": file, **asdict(result)})
        else:
            _print_overlay(result)
        return
    options.refuse(context, OF_FILES, "classes", "Give --file.")
    if not classes:
        raise options.missing("CLASS or --file", "omnimeter measure lambda torus")
    specs = [parse(Kind.ENVIRONMENT, name) for name in classes]
    results = {}
    with progress(hidden=json) as bars:
        for spec in specs:
            task = bars.add_task(f"Measuring {escape(spec.label)}", total=exercises, note="")

            def tell(share: float, task: Any = task) -> None:
                bars.update(task, completed=round(share * exercises))

            results[spec.label] = api.measure(
                spec, exercises=exercises, steps=steps, progress=tell, **common
            )
    if json:
        settings = {"exercises": exercises, "steps": steps, **common}
        measured = [
            {"environment_class": spec.to_json(), **results[spec.label].to_json()} for spec in specs
        ]
        print_json({"settings": settings, "classes": measured})
    else:
        _print_classes(results, steps)


def _weights(given: list[str]) -> dict[str, float] | None:
    from omnimeter.contract import InvalidInputError

    weights = {}
    for text in given:
        name, _, number = text.partition("=")
        try:
            weights[name] = float(number)
        except ValueError:
            message = f"The weight {text!r} is not a name and a number."
            raise InvalidInputError(message, "For example: --weight size=0.5") from None
    return weights or None


def _shown(value: float) -> str:
    from omnimeter.reports.text import decimals, number

    return number(value, decimals([value]) if value != int(value) else 0)


def _cells(estimate: Estimate | None) -> tuple[str, str]:
    from omnimeter.reports.text import MISSING

    if estimate is None:
        return MISSING, ""
    if not (isfinite(estimate.low) and isfinite(estimate.high)):
        return _shown(estimate.value), ""
    return _shown(estimate.value), f"[dim]{_shown(estimate.low)} to {_shown(estimate.high)}[/dim]"


def _print_classes(results: dict[str, ClassMeasures], steps: int) -> None:
    from rich.markup import escape
    from rich.table import Table

    from omnimeter.measures import MEASURES
    from omnimeter.reports.text import counted

    optional = {"inconsistency", "difference"}  # which most classes do not have
    known = {name for each in results.values() for name in MEASURES if each.estimates[name]}
    count = len(next(iter(results.values())).instances)
    title = f"Means over {counted(count, 'instance')} of {counted(steps, 'time step')}"
    console().print(f"{title}, with 95 % intervals where instances differ.\n")
    table = Table(box=None, pad_edge=False)
    for name in ("class", "measure"):
        table.add_column(name)
    for name in ("mean", "95 % interval"):
        table.add_column(name, justify="right", no_wrap=True)
    for label, result in results.items():
        shown = [name for name in MEASURES if name in known or name not in optional]
        for name in shown:
            own = escape(label) if name == shown[0] else ""
            table.add_row(own, name, *_cells(result.estimates[name]), end_section=name == shown[-1])
    console().print(table)
    for label, result in results.items():
        if "variability" in result.undefined:
            count, reason = result.undefined["variability"]
            where = f"{label}: undefined in {count} of {len(result.instances)} instances."
            console().print(f"[yellow]{escape(where)}[/yellow] {escape(reason)}")


def _print_overlay(result: Measures) -> None:
    from rich.markup import escape
    from rich.table import Table

    from omnimeter.reports.text import MISSING

    varies, believed, apart = result.variability, result.inconsistency, result.difference
    notes = dict(result.reasons)
    if varies is not None:
        notes["variability"] = (
            f"mean difference {varies.difference:.4g} / mean distance {varies.distance:.4g}; "
            f"sum (1) {_shown(varies.total)}"
        )
        interval = varies.total_interval if result.form == "sum" else varies.ratio_interval
        if interval is not None:
            ends = f"95 % interval {_shown(interval[0])} to {_shown(interval[1])}"
            notes["variability"] += f"; {ends} from {varies.sources} squares"
    notes["volatility"] = f"sum (2) {_shown(result.volatility.total)}"
    if believed is not None:
        notes["inconsistency"] = (
            f"of beliefs, over time; at first {believed.of_beliefs:.2%} of beliefs and "
            f"{believed.of_propositions:.2%} of propositions"
        )
    if apart is not None and (only := [*apart.only_first, *apart.only_second]):
        notes["difference"] = f"only one overlay has: {', '.join(only)}"
    table = Table(box=None, pad_edge=False)
    table.add_column("measure")
    table.add_column("value", justify="right")
    table.add_column("")
    for name, value in result.values().items():
        table.add_row(
            name, MISSING if value is None else _shown(value), escape(notes.get(name, ""))
        )
    console().print(table)
