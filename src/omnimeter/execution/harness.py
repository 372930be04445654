"""The cost of the harness itself, measured with a no-op agent."""

from __future__ import annotations

from contextlib import nullcontext
from dataclasses import asdict, dataclass, replace
from statistics import median
from time import perf_counter_ns
from typing import Any

import numpy as np

from omnimeter.contract import (
    Budget,
    Clock,
    ClockKind,
    EnvironmentClass,
    Exercise,
    OmnimeterError,
)
from omnimeter.interaction import run_single
from omnimeter.interaction.process import NO_OP, AgentProcess, NoOp
from omnimeter.interaction.sandbox import Sandbox

RUNS = 8
"""Runs of which the median is taken, so that a disturbance of some of them does no harm."""


@dataclass(frozen=True)
class HarnessCost:
    """The time of an interaction that is not the agent's own, in nanoseconds.

    Attributes:
        charged: What the wall clock charges for an action of a no-op agent (median).
        uncharged: The further time of the environment and the loop, which no slot counts (median
            over runs).
        interactions: From how many interactions.
        isolated: Whether the agent ran in a process of its own.
    """

    charged: float
    uncharged: float
    interactions: int
    isolated: bool = False

    def to_json(self) -> dict[str, Any]:
        """The cost as plain data."""
        return asdict(self)


def measure(
    environment_class: EnvironmentClass,
    exercise: Exercise,
    *,
    isolated: bool = False,
    sandbox: Sandbox = Sandbox(),  # noqa: B008 - a frozen value
) -> HarnessCost:
    """Let a no-op agent act in the environment of an exercise, by the wall clock.

    Args:
        environment_class: The class of the environment.
        exercise: Which environment, and with which seed.
        isolated: Whether the agent runs in a process of its own. Messages to it then take their
            time too, of which nine tenths are not charged to it.
        sandbox: What contains that process.

    Raises:
        OmnimeterError: The environment fails.
    """
    # Long enough that its start hardly counts; over after a minute; as in a test with an end.
    budget = Budget(500, seconds=60.0, wall_limit=60.0)
    clock = Clock(ClockKind.WALL)
    idle = replace(exercise, budget=budget, clock=clock, timeout=None, joint=())
    steps: list[int] = []
    rests: list[float] = []
    own = AgentProcess(NO_OP, sandbox=sandbox) if isolated else nullcontext(NoOp())
    with own as agent:
        for number in range(RUNS + 1):
            before = perf_counter_ns()
            (trace,) = run_single(environment_class, agent, [idle])
            elapsed = perf_counter_ns() - before
            if trace.fault is not None:
                raise OmnimeterError(trace.fault.message)
            if number:  # the first one is a warm-up
                steps.extend(np.diff(trace.times, prepend=0).tolist())
                rests.append((elapsed - int(trace.times[-1])) / len(trace))
    return HarnessCost(float(median(steps)), median(rests), len(steps), isolated)
