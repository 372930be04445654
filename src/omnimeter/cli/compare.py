"""``omnimeter compare``: stored evaluations of the same test in one table."""

from __future__ import annotations

from collections.abc import Mapping
from math import inf
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from omnimeter.cli import options
from omnimeter.cli.display import console, print_json, shorten

if TYPE_CHECKING:
    from omnimeter.api import Result
    from omnimeter.contract.errors import StoreError
    from omnimeter.reports import Decision
    from omnimeter.reports.between import Between


def compare(
    context: typer.Context,
    directories: Annotated[
        list[Path],
        typer.Argument(metavar="DIR", help="Stored evaluations of the same test, or a campaign."),
    ],
    agent: Annotated[
        list[str] | None,
        typer.Option(
            "--agent", "-a", metavar="AGENT", help="Given twice: all that is known of these two."
        ),
    ] = None,
    reference: options.Reference = None,
    offline_bound: Annotated[
        float | None,
        typer.Option(metavar="SECONDS", help="The longest offline phase: decide under bounds."),
    ] = None,
    online_bound: Annotated[
        float | None,
        typer.Option(metavar="SECONDS", help="The longest online time of a decision, likewise."),
    ] = None,
    online_time: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="Which online time is bounded: mean (the default), cpu, max, median, p90, p99.",
        ),
    ] = None,
    test: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="What shows an agent to be worse under bounds: simultaneous (the default), "
            "z-one-sided, z-two-sided.",
        ),
    ] = None,
    all_mdps: Annotated[
        bool, typer.Option("--all-mdps", help="Choose settings on the MDPs that test them.")
    ] = False,
    mix_machines: Annotated[
        bool, typer.Option("--mix-machines", help="Scale times of different machines.")
    ] = False,
    trust: options.Trust = False,
    json: options.Json = False,
) -> None:
    """Say which agents of stored evaluations are better, in one table. Runs nothing.

    The evaluations must be of the same test: protocol, parameters and seed. Differences are
    paired, exercise by exercise or repetition by repetition; their intervals hold all at once. The
    directory of a campaign stands for its evaluations: each test over its seeds.

    With two agents, say whether they are different, on what, by how much, and how many more
    exercises would decide it.

    With bounds on computation time, say which agents are best under them: settings that take
    longer are discarded, the best one of each algorithm is chosen, and these are compared.

    Damaged files are left out and named; then it leaves with 4.
    """
    from omnimeter.api import compare as combine
    from omnimeter.api import load
    from omnimeter.cli.scores import leave_if_damaged
    from omnimeter.contract import InvalidInputError
    from omnimeter.reports.decisions import SIMULTANEOUS, decision_json

    if agent:
        advice = "Give --agent twice, for the two agents, or not at all."
        options.refuse(context, {"reference", *_BOUNDED}, "--agent", advice)
        if len(agent) != 2:
            raise InvalidInputError("There must be two agents to compare.", advice)
    if any((each / "campaign.json").exists() for each in directories):
        if len(directories) > 1:
            raise InvalidInputError(
                "A campaign is compared alone: it has evaluations of different tests.",
                "Give the directories of its evaluations, or that of the campaign only.",
            )
        advice = "Give the directory of one of its evaluations."
        options.refuse(context, _BOUNDED, "the directory of a campaign", advice)
        leave_if_damaged(
            _compare_campaign(directories[0], agent, reference, trust=trust, json=json)
        )
        return
    bounds = offline_bound, online_bound
    deciding = any(each is not None for each in (*bounds, online_time, test))
    deciding = deciding or all_mdps or mix_machines
    if deciding:
        advice = "Under bounds, agents are compared with the best."
        options.refuse(context, {"reference"}, "bounds on computation time", advice)
    result = combine(*(load(each, trust=trust, damaged="skip") for each in directories))
    if deciding:
        decision = result.decide(
            *(inf if bound is None else bound for bound in bounds),
            test=test or SIMULTANEOUS,
            held_out=False if all_mdps else None,
            mix_machines=mix_machines,
            feature=online_time or "mean",
        )
        if json:
            protocol = result.evaluation.protocol.to_json()
            print_json({"test": protocol, "decision": decision_json(decision)})
        else:
            _print_decision(decision)
    else:
        _compare_evaluations(result, agent, reference, json=json)
    leave_if_damaged(result.record.damaged)


_BOUNDED = frozenset(
    ("offline_bound", "online_bound", "online_time", "test", "all_mdps", "mix_machines")
)
"""The options of decisions under bounds."""


def _compare_evaluations(
    result: Result, agents: list[str] | None, reference: str | None, *, json: bool
) -> None:
    """Compare the agents of evaluations of one test, or two of them."""
    from omnimeter.api.result import agent_of
    from omnimeter.cli.scores import made_json, print_table, print_troubles, scores_json
    from omnimeter.reports.between import only
    from omnimeter.reports.between_text import between_json
    from omnimeter.reports.scores import reliability_of
    from omnimeter.reports.summary import reliability_sentence
    from omnimeter.reports.tables import comparison_table

    shorten(result.agents)
    if agents:
        said = result.between(*agents)
        if json:
            protocol = result.evaluation.protocol.to_json()
            print_json({"test": protocol, **between_json(said), **made_json(result)})
        else:
            _print_between(said)
            print_troubles(only(result.judged, [agent_of(result.evaluation, a) for a in agents]))
    else:
        chosen = None if reference is None else agent_of(result.evaluation, reference)
        if json:
            print_json(scores_json(result, chosen))
            return
        print_table(comparison_table(result.judged, result.compare(chosen)))
        if sentence := reliability_sentence(reliability_of(result.judged)):
            console().print(f"\n{sentence}", markup=False)
        print_troubles(result.judged)


def _compare_campaign(
    directory: Path, agents: list[str] | None, reference: str | None, *, trust: bool, json: bool
) -> Mapping[Path, StoreError]:
    """Compare the agents of a campaign, test by test, or two of them over all tests.

    Returns:
        The damaged files that were left out.
    """
    from rich.markup import escape

    from omnimeter.api import campaign
    from omnimeter.cli.scores import damaged_json, print_table
    from omnimeter.reports.between_text import between_json
    from omnimeter.reports.summary import mark_sentences
    from omnimeter.reports.tables import comparison_json, difference_table

    opened = campaign(directory)
    about: dict[str, Any] = {"campaign": opened.plan.title}
    shorten(agent.label for entry in opened.entries for agent in entry.evaluation.agents)
    out = console()
    if agents:
        said = opened.between(*agents, trust=trust)
        if json:
            print_json({**about, **between_json(said), "damaged": damaged_json(opened.damaged)})
        else:
            _print_between(said)
            _print_notes(mark_sentences(said.overall.marks), complete=said.complete)
        return opened.damaged
    taken = opened.tests(trust=trust)
    compared = opened.compare(reference, trust=trust, tests=taken)
    complete = not any(each.is_open for each in taken)
    if json:
        about["complete"] = complete
        tests = [
            {"test": name, "comparisons": [comparison_json(each) for each in own]}
            for name, own in compared.items()
        ]
        print_json({**about, "tests": tests, "damaged": damaged_json(opened.damaged)})
        return opened.damaged
    for place, (name, own) in enumerate(compared.items()):
        if place:
            out.print()
        if not own:
            out.print(f"{escape(name)}: nothing to compare yet.")
            continue
        out.print(f"[bold]{escape(name)}[/bold], against {escape(own[0].reference_name)}:")
        print_table(difference_table(own))
    if not compared:
        out.print("No evaluation of this campaign has begun.")
        return opened.damaged
    marks = (mark for own in compared.values() for each in own for mark in each.marks)
    _print_notes(mark_sentences(marks), complete=complete)
    return opened.damaged


def _print_notes(notes: list[str], *, complete: bool) -> None:
    """Print below tables of a campaign how to read them."""
    if not complete:
        notes = [
            *notes,
            "Not all exercises are done: the intervals of what is not complete hold at every "
            "moment.",
        ]
    if notes:
        console().print("\n" + "\n".join(notes))


def _print_between(said: Between) -> None:
    """Print all that is known of the difference between two agents."""
    from rich.markup import escape

    from omnimeter.cli.scores import print_table
    from omnimeter.reports.between_text import (
        between_sentences,
        between_tables,
        simultaneous_sentence,
    )

    out = console()
    first, *more = between_sentences(said)
    out.print(f"[bold]{escape(first)}[/bold]")
    for sentence in more:
        out.print(escape(sentence))
    for heading, table in between_tables(said):
        out.print(f"\n[bold]{heading}[/bold]")
        print_table(table)
    if sentence := simultaneous_sentence(said):
        out.print(f"\n[dim]{sentence}[/dim]")


def _print_decision(decision: Decision) -> None:
    """Print the candidates of a decision, what it says, and what it rests on."""
    from collections import Counter

    from rich.markup import escape

    from omnimeter.cli.scores import print_table
    from omnimeter.reports.decisions import decision_table

    out = console()
    if decision.candidates:
        print_table(decision_table(decision))
        out.print()
    out.print(f"[bold]{escape(decision.sentence)}[/bold]")
    reasons = Counter(reason for _, reason in decision.discarded)
    total = len(decision.discarded)
    if total:
        listed = "; ".join(f"{count} for {reason}" for reason, count in reasons.items())
        out.print(f"Discarded settings: {total} ({escape(listed)}).")
    for remark in decision.remarks:
        out.print(escape(remark))
