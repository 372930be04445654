"""How much work a campaign is, and how long it may take: counted, and tried out in short."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import fmean
from time import perf_counter
from typing import NamedTuple

from omnimeter.api.campaign_plan import Entry, Plan
from omnimeter.contract import Budget, ClockKind, Exercise, Protocol, Spec
from omnimeter.contract.spec import JsonData, fingerprint
from omnimeter.execution.units import units_in
from omnimeter.execution.workers import runner_for

SECONDS = 5.0
"""How long agents are tried out at most, compiling and starting processes aside."""

LONGEST_TRIAL = 100_000
"""Interactions of a trial at most."""


@dataclass(frozen=True)
class Workload(JsonData):
    """What a campaign is going to do.

    Attributes:
        evaluations: How many evaluations it has.
        units: In how many units these are carried out.
        exercises: How many exercises, as far as that is known.
        interactions: How many interactions, as far as that is known.
        at_most: Whether some tests end earlier where a precision is reached.
        unknown: Pairs of an agent and a test whose length is not known beforehand.
        seconds: An estimate of the time with so many workers; ``None`` if nothing could be tried.
        workers: How many workers.
        pairs: How many pairs of an agent and an environment class there are.
        tried: How many of them were tried out; the others are taken to be like these.
    """

    evaluations: int
    units: int
    exercises: int
    interactions: int
    at_most: bool
    unknown: int
    seconds: float | None
    workers: int
    pairs: int
    tried: int


class _Amount(NamedTuple):
    """What one agent does in one evaluation."""

    exercises: int | None
    interactions: float = 0.0
    seconds: float = 0.0  # of exercises without a number of interactions
    real: bool = False  # whether these are seconds of real time


class _Cost(NamedTuple):
    """Seconds of an exercise, of an interaction, and of a second of the virtual clock."""

    exercise: float
    interaction: float
    second: float


def workload(
    plan: Plan,
    workers: int,
    seconds: float = SECONDS,
    progress: Callable[[str], None] = lambda doing: None,  # noqa: ARG005 - as it is called
) -> Workload:
    """Count the work of a campaign and estimate its time; nothing is stored.

    Each pair of an agent and an environment class takes one short exercise, as long as there is
    time for it. Offline phases are not tried.

    Args:
        plan: The campaign.
        workers: How many workers share the work.
        seconds: How long to try agents out at most.
        progress: Told what is being tried.
    """
    alike: dict[str, list[Entry]] = {}
    for entry in plan.entries:
        alike.setdefault(_without_seed(entry), []).append(entry)
    amounts: list[tuple[tuple[str, str], _Amount, int]] = []
    trials: dict[tuple[str, str], Exercise] = {}
    units, at_most = 0, False
    for entries in alike.values():
        evaluation = entries[0].evaluation
        evaluation = evaluation.with_seed(0 if evaluation.needs_seed else None)
        units += len(units_in(evaluation, Path())) * len(entries)
        protocol = evaluation.make_protocol()
        at_most = at_most or protocol.describe().precision is not None
        for agent in evaluation.agents:
            first, amount = _amount(protocol, agent)
            pair = agent.label, "" if first is None else first.environment_class.label
            amounts.append((pair, amount, len(entries)))
            if first is not None and not (amount.real or first.preparation is not None):
                trials.setdefault(pair, first)
    costs: dict[tuple[str, str], _Cost] = {}
    spent, begun = 0.0, perf_counter()
    for place, (pair, exercise) in enumerate(trials.items()):
        if spent >= seconds or perf_counter() - begun > 4 * seconds:
            break
        progress(f"{pair[0]} in {pair[1]}")
        # What quick pairs leave is for those that follow.
        cost, took = _try(plan, exercise, (seconds - spent) / (len(trials) - place))
        costs[pair], spent = cost, spent + took
    total = _total(amounts, costs, set(trials))
    sharing = max(1, min(workers, units))
    known = [(amount.exercises or 0, amount.interactions, n) for _, amount, n in amounts]
    return Workload(
        evaluations=len(plan.entries),
        units=units,
        exercises=sum(exercises * n for exercises, _, n in known),
        interactions=round(sum(interactions * n for _, interactions, n in known)),
        at_most=at_most,
        unknown=sum(amount.exercises is None for _, amount, _ in amounts),
        seconds=None if total is None else total / sharing,
        workers=sharing,
        pairs=len({pair for pair, _, _ in amounts}),
        tried=len(costs),
    )


def _without_seed(entry: Entry) -> str:
    data = entry.evaluation.to_json()
    protocol = data["protocol"]
    protocol["parameters"] = {**protocol.get("parameters", {}), "seed": None}
    return fingerprint(data)


def _amount(protocol: Protocol, agent: Spec) -> tuple[Exercise | None, _Amount]:
    """The first exercise of an agent, and how much it is going to do."""
    design, proposed = protocol.describe(), protocol.propose(agent, [])
    exercises = protocol.expected()
    first = proposed[0] if proposed else None
    if design.length is not None and design.units is not None:
        total = design.length * design.units
        if exercises is None and design.unit == "exercise":
            exercises = design.units
        if design.length_unit == "interactions":
            return first, _Amount(exercises, interactions=total)
        return first, _Amount(exercises, seconds=total, real=design.clock is ClockKind.WALL)
    if exercises is not None and len(proposed) < exercises:
        exercises = None
    budgets = [each.budget for each in proposed]
    interactions = sum(budget.interactions or 0 for budget in budgets)
    timed = sum(budget.seconds or 0 for budget in budgets if budget.interactions is None)
    return first, _Amount(exercises, interactions, timed, design.clock is ClockKind.WALL)


def _try(plan: Plan, exercise: Exercise, seconds: float) -> tuple[_Cost, float]:
    """What exercises of an agent cost, and how long it took to find out."""
    with closing(runner_for(plan.options([exercise.agent]))) as runner:

        def run(interactions: int) -> tuple[float, int, float]:
            budget = Budget(interactions, exercise.budget.seconds)
            begun = perf_counter()
            (trace,) = runner.traces([replace(exercise, budget=budget)])
            taken = perf_counter() - begun
            return taken, len(trace), float(trace.times[-1]) / 1e9 if len(trace) else 0.0

        run(1)  # compiles, or starts a process
        spent, _, _ = run(1)
        start, most = spent, min(exercise.budget.max_interactions, LONGEST_TRIAL)
        interactions = min(10, most)
        while True:
            taken, length, virtual = run(interactions)
            spent += taken
            if interactions >= most or length < interactions or spent + 4 * taken > seconds:
                break
            interactions = min(4 * interactions, most)
    more = max(0.0, taken - start)
    return _Cost(start, more / max(1, length), more / virtual if virtual else 0.0), spent


def _total(
    amounts: list[tuple[tuple[str, str], _Amount, int]],
    costs: Mapping[tuple[str, str], _Cost],
    trials: set[tuple[str, str]],
) -> float | None:
    """Seconds of all work, one after the other."""
    if trials and not costs:
        return None
    usual = _Cost(*map(fmean, zip(*costs.values(), strict=True))) if costs else _Cost(0, 0, 0)
    total = 0.0
    for pair, amount, times in amounts:
        cost = costs.get(pair, usual)
        each = (amount.exercises or 1) * cost.exercise + amount.interactions * cost.interaction
        each += amount.seconds * (1.0 if amount.real else cost.second)
        total += each * times
    return total
