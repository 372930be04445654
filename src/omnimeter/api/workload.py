"""How much work a campaign is, and how long it may take: counted, and tried out in short."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Mapping, Set
from contextlib import closing, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import fmean
from time import perf_counter
from typing import NamedTuple

from omnimeter.api.campaign_plan import Entry, Plan
from omnimeter.api.result import opened
from omnimeter.contract import Budget, ClockKind, Exercise, Protocol, Spec
from omnimeter.contract.spec import JsonData, fingerprint
from omnimeter.execution.pool import worker_pool
from omnimeter.execution.units import carry_out, unfinished, units_in, units_of
from omnimeter.execution.workers import Options, agents_of, batch_size, is_isolated, runner_for
from omnimeter.protocols import Evaluation

SECONDS = 5.0
"""How long agents are tried out at most, compiling and starting processes aside."""

SHORTEST_TRIAL = 100
"""Interactions of a trial, if there is time for them; fewer tell little of what each takes."""

LONGEST_TRIAL = 100_000
"""Interactions of a trial at most."""

STORED = 4
"""Small evaluations that are stored to see how long that takes; the first one compiles."""


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
        costly: How many of them are not tried because an agent is costly; the time that these take
            is not in the estimate.
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
    costly: int = 0


class _Amount(NamedTuple):
    """What one agent does in one evaluation."""

    exercises: int | None
    interactions: float = 0.0
    seconds: float = 0.0  # of exercises without a number of interactions
    real: bool = False  # whether these are seconds of real time


class _Cost(NamedTuple):
    """Seconds of an exercise, an interaction, a second of the virtual clock, and a process."""

    exercise: float
    interaction: float
    second: float
    starting: float = 0.0


class _Storing(NamedTuple):
    """Seconds that an evaluation takes beside its units, and a unit beside its exercises."""

    evaluation: float
    unit: float


def workload(
    plan: Plan,
    workers: int,
    beside: Path,
    seconds: float = SECONDS,
    progress: Callable[[str], None] = lambda doing: None,  # noqa: ARG005 - as it is called
) -> Workload:
    """Count the work of a campaign and estimate its time; nothing of that is kept.

    Each pair of an agent and an environment class takes some short exercises, as long as there is
    time for it. Costly agents are not asked (standard, section 18). Offline phases are not tried.

    Args:
        plan: The campaign.
        workers: How many workers share the work.
        beside: The directory of the campaign, which need not exist: how long storing takes is tried
            beside it.
        seconds: How long to try agents out at most; an agent whose first answer takes longer is not
            asked again.
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
    costly: set[tuple[str, str]] = set()
    progress("storing")
    storing = _storing(beside)
    spent, begun = 0.0, perf_counter()
    for place, (pair, exercise) in enumerate(trials.items()):
        if spent >= seconds or perf_counter() - begun > 4 * seconds:
            break
        progress(f"{pair[0]} in {pair[1]}")
        # What quick pairs leave is for those that follow.
        left = seconds - spent
        cost, took = _try(plan, exercise, left / (len(trials) - place), left)
        spent += took
        if cost is None:
            costly.add(pair)
        else:
            costs[pair] = cost
    sharing = max(1, min(workers, units))
    amounts_left = [each for each in amounts if each[0] not in costly]
    total = _total(amounts_left, costs, trials.keys(), sharing)
    if total is not None:
        total = (total + units * storing.unit) / sharing + len(plan.entries) * storing.evaluation
    known = [(amount.exercises or 0, amount.interactions, n) for _, amount, n in amounts]
    return Workload(
        evaluations=len(plan.entries),
        units=units,
        exercises=sum(exercises * n for exercises, _, n in known),
        interactions=round(sum(interactions * n for _, interactions, n in known)),
        at_most=at_most,
        unknown=sum(amount.exercises is None for _, amount, _ in amounts),
        seconds=total,
        workers=sharing,
        pairs=len({pair for pair, _, _ in amounts}),
        tried=len(costs),
        costly=len(costly),
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


def _try(plan: Plan, exercise: Exercise, share: float, left: float) -> tuple[_Cost | None, float]:
    """What exercises of an agent cost (``None`` if it is costly), and how long it took to find out.

    Further trials are made as long as they are expected to fit into a share of the time that is
    left; the second one, which tells compiling from what comes each time, if the first one did.
    """
    options, members = plan.options([exercise.agent]), agents_of(exercise)
    with closing(runner_for(options)) as runner:
        begun = perf_counter()
        if any(map(runner.is_costly, members)):
            return None, 0.0
        isolated = any(is_isolated(each, options.isolation) for each in members)
        starting = (perf_counter() - begun) * isolated
        compiled = batch_size(replace(exercise, budget=Budget(1)), options) > 1

        def run(interactions: int, limit: float | None = None) -> tuple[float, int, float]:
            budget = Budget(interactions, exercise.budget.seconds, wall_limit=limit)
            begun = perf_counter()
            (trace,) = runner.traces([replace(exercise, budget=budget)])
            taken = perf_counter() - begun
            return taken, len(trace), float(trace.times[-1]) / 1e9 if len(trace) else 0.0

        taken, length, virtual = run(1)
        spent = taken
        if compiled or taken <= left:
            taken, length, virtual = run(1)
            spent = 2 * taken  # what the first one took longer was for compiling
        start, interactions = taken, 1
        most = max(SHORTEST_TRIAL, min(exercise.budget.max_interactions, LONGEST_TRIAL))
        while length == interactions < most:
            fitting = int((share - spent) / taken * interactions)
            further = min(max(10, 4 * interactions), most, fitting)
            if further < 2 * interactions:
                break
            interactions = further
            taken, length, virtual = run(further, None if compiled else share - spent)
            spent += taken
    # Where one answer took all the time, nothing else is known to take any.
    more = start if interactions == 1 else max(0.0, taken - start)
    cost = _Cost(start, more / max(1, length), more / virtual if virtual else 0.0, starting)
    if interactions == length == 1:
        cost = cost._replace(exercise=0.0)
    # All members of a joint run count it.
    return _Cost(*(each / len(members) for each in cost)), spent


def _storing(beside: Path) -> _Storing:
    """How long storing takes: some small evaluations are carried out beside a directory."""
    evaluation = Evaluation(
        Spec("sample-v1", {"environment_class": "cups-v1", "exercises": 1, "interactions": 1}),
        (Spec("random-v1"),),
    ).with_seed(0)
    there = next((str(each) for each in beside.absolute().parents if each.is_dir()), None)
    with suppress(OSError):  # nothing can be written there
        return _stored(evaluation, there)
    return _stored(evaluation, None)


def _stored(evaluation: Evaluation, there: str | None) -> _Storing:
    taken: list[_Storing] = []
    with (
        tempfile.TemporaryDirectory(prefix=".omnimeter-", dir=there) as folder,
        worker_pool(Options(workers=1)) as work,
    ):
        for number in range(STORED):
            directory, begun = Path(folder, str(number)), perf_counter()
            with opened(evaluation, directory):
                pass
            (unit,) = units_of(directory)
            made = perf_counter()
            carry_out(unit, work)
            done = perf_counter()
            for _ in range(3):  # before it is carried out, afterwards, and to tell how far it is
                unfinished([unit])
            taken.append(_Storing(made - begun + perf_counter() - done, done - made))
    return _Storing(*map(fmean, zip(*taken[1:], strict=True)))


def _total(
    amounts: list[tuple[tuple[str, str], _Amount, int]],
    costs: Mapping[tuple[str, str], _Cost],
    trials: Set[tuple[str, str]],
    sharing: int,
) -> float | None:
    """Seconds of all exercises and of starting agents, one after the other."""
    if trials and not costs:
        return None
    usual = _Cost(*map(fmean, zip(*costs.values(), strict=True))) if costs else _Cost(0, 0, 0)
    total = 0.0
    for pair, amount, times in amounts:
        cost = costs.get(pair, usual)
        each = (amount.exercises or 1) * cost.exercise + amount.interactions * cost.interaction
        each += amount.seconds * (1.0 if amount.real else cost.second)
        # Each worker starts the agent, and one starts it again to see whether it is reproducible.
        each += cost.starting * (sharing + 1)
        total += each * times
    return total
