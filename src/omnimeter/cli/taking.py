"""Giving a universal test: the look at the class, the test itself, and what is said of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from omnimeter.cli import meaning
from omnimeter.cli.definitions import Definition
from omnimeter.cli.display import busy, console, print_json
from omnimeter.cli.evaluating import carry_out, write_page
from omnimeter.cli.examining import balance_of
from omnimeter.cli.live import display
from omnimeter.cli.scores import print_troubles, result_json
from omnimeter.cli.sitting_tables import (
    print_comparison,
    print_differences,
    print_history,
    print_reliability,
    print_scores,
)
from omnimeter.cli.standing import runs_by_wall_clock
from omnimeter.contract import InvalidInputError, Protocol, Spec
from omnimeter.execution import Options, check
from omnimeter.execution.conduct import environment_class, is_isolated
from omnimeter.execution.harness import HarnessCost, measure
from omnimeter.protocols import Evaluation, Result
from omnimeter.protocols.specs import read_spec
from omnimeter.reports.reliability import reliability_of
from omnimeter.reports.wording import counted, duration

if TYPE_CHECKING:
    from omnimeter.audits import Finding


@dataclass(frozen=True)
class Plan:
    """A test that is going to be given.

    Attributes:
        definition: Which test.
        evaluation: The test with all its parameters, and who takes it.
        directory: Where it is kept.
    """

    definition: Definition
    evaluation: Evaluation
    directory: Path

    @property
    def protocol(self) -> Protocol:
        """The test, ready to propose exercises."""
        return self.evaluation.make_protocol()

    @property
    def environments(self) -> Spec:
        """The environment class."""
        from omnimeter.catalogue import Kind

        return read_spec(Kind.ENVIRONMENT, self.evaluation.protocol.parameters["environments"])

    @property
    def title(self) -> str:
        """What test it is."""
        return f"{self.definition.title} ({self.definition.name})"

    @property
    def setting(self) -> str:
        """Where it is taken, and how long it is."""
        parameters = self.evaluation.protocol.parameters
        seconds = parameters.get("time", parameters.get("seconds"))
        if seconds is None:
            length = counted(parameters["interactions"], "interaction")
        else:
            length = f"{duration(seconds)} by the {parameters['clock']} clock"
        if "sittings" in parameters:
            parts = "in " + counted(parameters["sittings"], "sitting")
        else:
            parts = "in each of " + counted(parameters["exercises"], "environment")
        return f"{self.environments.label} · {length} {parts} · seed {parameters['seed']}"


@dataclass(frozen=True)
class Showing:
    """How results are shown.

    Attributes:
        reference: Whom to compare with; by default the best.
        comparing: Whether the comparison is what matters.
        json: Whether a program reads it.
    """

    reference: Spec | None
    comparing: bool
    json: bool


@dataclass(frozen=True)
class Taken:
    """A test that was given.

    Attributes:
        plan: What it was.
        result: What came of it.
        page: Its report.
        harness: What the harness took, where real time counted, for each kind of seat.
        finding: What is known of the balance of the class.
    """

    plan: Plan
    result: Result
    page: Path
    harness: Sequence[HarnessCost]
    finding: Finding | None


def give(plans: Sequence[Plan], how: Options, showing: Showing) -> list[Result]:
    """Give some tests one after the other, and say what came of them.

    All that is wrong with them is found before the first. When one is interrupted, the rest is not
    given.

    Raises:
        InvalidInputError: Something cannot be done as it is wanted.
    """
    try:
        finding = _examined(plans, how, hidden=showing.json)
    except KeyboardInterrupt:
        console(errors=True).print("Interrupted before the test began: there is no score yet.")
        raise
    taken: list[Taken] = []
    for plan in plans:
        taken.append(_take(plan, how, finding, hidden=showing.json))
        if not showing.json:
            _print(taken[-1], showing)
        if not taken[-1].result.complete:
            break
    verdicts = _verdicts(taken) if len(taken) > 1 else []
    if showing.json:
        _print_json(plans, taken, verdicts, showing)
    for verdict in verdicts if not showing.json else ():
        out = console()
        out.print(f"\n[bold]{verdict.agent.label}: {verdict.kind}.[/bold] {verdict.reason}")
    return [each.result for each in taken]


def _examined(plans: Sequence[Plan], how: Options, *, hidden: bool) -> Finding | None:
    """Find out what is wrong before anybody acts."""
    walls = [plan for plan in plans if runs_by_wall_clock(plan.protocol)]
    if how.workers > 1 and walls:
        raise InvalidInputError(
            "There cannot be several --workers while real time counts: they would disturb each "
            "other's.",
            "Leave out --workers, or give --clock virtual or --interactions.",
        )
    finding = None
    first = plans[0]
    insists = first.evaluation.protocol.parameters.get("unbalanced", False)
    if first.definition.balanced and not insists:
        doing = f"Examining the balance of {first.environments.label}"
        with busy(doing, hidden=hidden, compiling=True):
            finding = balance_of(first.environments, environment_class(first.environments))
    with busy("Choosing the first environments", hidden=hidden):
        for plan in plans:
            check(plan.evaluation, how)
    return finding


def _take(plan: Plan, how: Options, finding: Finding | None, *, hidden: bool) -> Taken:
    protocol = plan.protocol
    harness = _harness(plan, how, hidden=hidden) if runs_by_wall_clock(protocol) else ()
    watched = display(protocol, (plan.title, plan.setting), hidden=hidden)
    result = carry_out(plan.evaluation, plan.directory, how, watched)
    with busy("Writing the report", hidden=hidden):
        page = write_page(plan.directory)
    return Taken(plan, result, page, harness, finding)


def _harness(plan: Plan, how: Options, *, hidden: bool) -> list[HarnessCost]:
    """What the harness takes with agents in the seats that these ones get."""
    seats = sorted({is_isolated(agent, how.isolation) for agent in plan.evaluation.agents})
    first = plan.protocol.propose(plan.evaluation.agents[0], [])[0]
    with busy("Measuring the harness", hidden=hidden):
        surroundings = environment_class(first.environment_class)
        return [measure(surroundings, first, isolated=isolated) for isolated in seats]


def _print(taken: Taken, showing: Showing) -> None:
    from rich.markup import escape

    from omnimeter.reports import comparisons

    out, result, protocol = console(), taken.result, taken.plan.protocol
    compared = comparisons(result, showing.reference)
    out.print(f"[bold]{escape(taken.plan.title)}[/bold]\n{escape(taken.plan.setting)}\n")
    if showing.comparing:
        print_comparison(result, compared)
    else:
        print_scores(result)
        print_history(result)
        print_differences(compared)
    print_reliability(reliability_of(result))
    out.print(f"\n{escape(meaning.estimated(protocol, result))}")
    for hint in meaning.hints(protocol, result):
        out.print(f"[yellow]{escape(hint)}[/yellow]")
    for cost in taken.harness:
        out.print(f"[dim]{meaning.harness_sentence(cost)}[/dim]")
    print_troubles(result)
    out.print(f"results: {taken.plan.directory}\nreport: {taken.page}", soft_wrap=True)


def _verdicts(taken: Sequence[Taken]) -> list[meaning.Verdict]:
    """What the tests with and without time say together of each agent."""
    timed, untimed = (each.result.scores for each in taken)
    return [meaning.verdict(agent, timed[agent], untimed[agent]) for agent in timed]


def _print_json(
    plans: Sequence[Plan],
    taken: Sequence[Taken],
    verdicts: Sequence[meaning.Verdict],
    showing: Showing,
) -> None:
    found = [_json(each, showing) for each in taken]
    if len(plans) == 1:
        print_json(found[0])
        return
    print_json(
        {
            **dict(zip(("timed", "untimed"), found, strict=False)),
            "verdicts": [
                {"agent": each.agent.label, "verdict": str(each.kind), "reason": each.reason}
                for each in verdicts
            ],
        }
    )


def _json(taken: Taken, showing: Showing) -> dict[str, Any]:
    reliability = reliability_of(taken.result)
    return {
        "definition": taken.plan.definition.number,
        "test": taken.plan.evaluation.protocol.to_json(),
        **result_json(taken.result, showing.reference),
        "reliability": None
        if reliability is None
        else {"value": reliability.value, "interval": [reliability.low, reliability.high]},
        "balance": None if taken.finding is None else taken.finding.to_json(),
        "harness": [cost.to_json() for cost in taken.harness],
        "report": str(taken.page),
        "directory": str(taken.plan.directory),
    }
