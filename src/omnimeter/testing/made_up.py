"""Outcomes that could have come of exercises, without anybody taking them."""

from __future__ import annotations

import numpy as np

from omnimeter.catalogue import Kind, make
from omnimeter.contract import (
    Ending,
    Exercise,
    Fault,
    FaultKind,
    Outcome,
    Payoff,
    Trace,
    nanoseconds,
    stream,
)

MOST = 20
"""Interactions of a made-up trace."""


def made_up_outcome(exercise: Exercise, payoff: Payoff) -> Outcome:
    """What may have come of an exercise; always the same of the same one."""
    rng = stream(0, "made up", exercise.key).generator()
    environment_class = make(Kind.ENVIRONMENT, exercise.environment_class)
    low, high = environment_class.build(exercise.instance).rewards
    rewards = rng.uniform(low, high, size=min(exercise.budget.most, MOST))
    tick = nanoseconds(exercise.clock.tick)
    if exercise.budget.seconds is not None:
        tick = max(1, exercise.budget.end // (MOST + 1))
    times = tick * np.arange(1, len(rewards) + 1)
    last = int(times[-1]) if len(times) else 0
    end = last if exercise.budget.seconds is None else exercise.budget.end
    trace = Trace(rewards, times, end)
    return Outcome(
        exercise, payoff(trace), len(rewards), float(rewards.sum()), last, end, Ending.BUDGET
    )


def failed_outcome(exercise: Exercise) -> Outcome:
    """An exercise that a fault left without a payoff."""
    fault = Fault(FaultKind.INFRASTRUCTURE, "made up")
    return Outcome(exercise, None, 0, 0.0, 0, 0, Ending.FAULT, fault=fault)
