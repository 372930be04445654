"""Taking a battery of Lambda environments: the exercises of the protocol itself, in portions."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from omnimeter.complexity import compressed_length
from omnimeter.contract import Outcome, Spec
from omnimeter.execution.workforce import Job, Options, workforce
from omnimeter.protocols.battery import Battery
from omnimeter.reproductions.lambda_experiments.agents import Reference
from omnimeter.reproductions.lambda_experiments.battery.results import Results
from omnimeter.reproductions.reproduction import Report, silent

_PORTION = 500
"""Exercises that a process is given at a time."""


def take_battery(
    battery: Battery, agents: Sequence[Reference], workers: int = 1, report: Report = silent
) -> Results:
    """What each agent gets in each exercise of a battery of Lambda environments.

    Args:
        battery: The test.
        agents: Who takes it.
        workers: How many processes carry it out.
        report: Told about progress.

    Raises:
        RuntimeError: An exercise did not come to its end.
    """
    report(f"drawing {battery.tests} tests", 0.0)
    shape = (battery.tests, len(battery.plan.items))
    lengths = [compressed_length(each.instance.data["pattern"]) for each in battery.drawn]
    rewards = {agent.spec: np.full(shape, np.nan) for agent in agents}
    total, done = len(agents) * battery.expected(), 0
    with workforce(Options(workers=workers)) as work:
        for outcome, _ in work(_jobs(battery, list(rewards))):
            exercise = outcome.exercise
            rewards[exercise.agent].flat[exercise.number] = _payoff(outcome)
            done += 1
            if done % _PORTION == 0:
                report(f"{total:,} exercises of {len(agents)} agents", 0.1 + 0.85 * done / total)
    return Results(
        cells=np.array([item.environments.parameters["cells"] for item in battery.plan.items]),
        interactions=np.array([item.interactions for item in battery.plan.items]),
        complexity=np.array(lengths, dtype=np.float64).reshape(shape),
        rewards={agent.name: rewards[agent.spec] for agent in agents},
    )


def _jobs(battery: Battery, agents: Sequence[Spec]) -> Iterator[Job]:
    """Portions of exercises of one agent in one class."""
    items = len(battery.plan.items)
    for agent in agents:
        proposed = battery.propose(agent, [])
        for place in range(items):
            alike = proposed[place::items]
            for first in range(0, len(alike), _PORTION):
                portion = tuple(alike[first : first + _PORTION])
                yield Job(portion, battery.payoff(), keep=False)


def _payoff(outcome: Outcome) -> float:
    if outcome.payoff is None:
        raise RuntimeError(f"{outcome.exercise.agent.label} failed: {outcome.fault}")
    return outcome.payoff
