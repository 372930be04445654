"""Exercises of cups and the random agent, as ``cpp/cups.cpp`` wants them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from yardstick import HandWritten, Loop

from omnimeter.agents.simple import RandomAgent
from omnimeter.contract import Exercise
from omnimeter.contract.exercise import nanoseconds
from omnimeter.environments.cups import Cups
from omnimeter.interaction.kernels import seed_state


def cups_by_hand(
    run: Loop, environment_class: Cups, agent: RandomAgent, exercises: Sequence[Exercise]
) -> HandWritten:
    """The exercises for the hand-written loop; the agent keeps the pace of the clock."""
    cups = [environment_class.build(exercise.instance) for exercise in exercises]
    agents = [agent.initial_state(each.briefing()) for each in cups]
    for state, exercise in zip(agents, exercises, strict=True):
        seed_state(state, exercise.stream("agent").seed)
    first = exercises[0]
    initial = np.concatenate([each.state.initial for each in cups])
    return HandWritten(
        run,
        exercises,
        len(exercises),
        np.array([each.actions for each in cups]),
        np.array([each.state.turn[1] for each in cups]),
        initial.copy(),
        initial,
        np.concatenate([state.rng for state in agents]),
        int(agents[0].numbers[1]),
        nanoseconds(first.clock.tick),
        first.budget.max_interactions,
        first.budget.end_ns,
        np.empty(max(each.actions for each in cups), dtype=np.int64),
    )
