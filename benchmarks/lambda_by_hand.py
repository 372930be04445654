"""Exercises of Lambda and Q-learning, as ``cpp/lambda.cpp`` wants them."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from typing import Any

from yardstick import HandWritten, Loop, address

from omnimeter.agents.temporal_difference import LOWEST, QLearning
from omnimeter.contract import Exercise
from omnimeter.contract.exercise import nanoseconds
from omnimeter.environments.lambda_class import Lambda
from omnimeter.environments.lambda_class.dynamics import (
    ACTIONS,
    AFTER,
    CYCLE,
    DROP_ON_AGENTS,
    VANISH,
    WARM_UP,
    LambdaState,
)

WHOLE, REAL = ctypes.c_int64, ctypes.c_double
ADDRESS, SEED = ctypes.c_void_p, ctypes.c_uint64


class LambdaParameters(ctypes.Structure):
    """What an environment is made of, in the order of the C++ structure."""

    _fields_ = (
        ("cells", WHOLE), ("actions", WHOLE),
        ("consumed_after", WHOLE), ("vanish", WHOLE), ("beside", WHOLE), ("cycle", WHOLE),
        ("warm_up", WHOLE),
        ("division", REAL), ("paths", ADDRESS),
        ("pattern_length", WHOLE), ("good_rewards", WHOLE), ("evil_rewards", WHOLE),
        ("objects", WHOLE),
        ("pattern", ADDRESS), ("good", ADDRESS), ("evil", ADDRESS),
        ("behaviours", ADDRESS), ("scripts", ADDRESS), ("script_at", ADDRESS),
        ("seed", SEED),
    )  # fmt: skip


class QParameters(ctypes.Structure):
    """What an agent is made of, in the order of the C++ structure."""

    _fields_ = (
        ("alpha", REAL), ("gamma", REAL), ("initial", REAL), ("lowest", REAL),
        ("epsilon", REAL), ("first", WHOLE), ("seed", SEED),
    )  # fmt: skip


def lambda_by_hand(
    run: Loop, environment_class: Lambda, agent: QLearning, exercises: Sequence[Exercise]
) -> HandWritten:
    """The exercises for the hand-written loop."""
    seated = environment_class.with_views([agent.view])
    environments, agents, states = [], [], []
    for exercise in exercises:
        environment = seated.build(exercise.instance)
        state = environment.state
        lowest = agent.initial_state(environment.briefing()).rates[LOWEST]
        environments.append(_environment(state, exercise.stream("environment").seed))
        agents.append(_agent(agent, lowest, exercise.stream("agent").seed))
        states.append(state)
    first = exercises[0]
    return HandWritten(
        run,
        exercises,
        len(exercises),
        (LambdaParameters * len(exercises))(*environments),
        (QParameters * len(exercises))(*agents),
        nanoseconds(first.clock.tick),
        first.budget.max_interactions,
        first.budget.end_ns,
        kept=states,
    )


def _environment(state: LambdaState, seed: int) -> LambdaParameters:
    rules: list[Any] = state.rules.tolist()
    return LambdaParameters(
        len(state.rewards), rules[ACTIONS],
        rules[AFTER], rules[VANISH], rules[DROP_ON_AGENTS], rules[CYCLE],
        rules[WARM_UP],
        state.division[0], address(state.paths),
        len(state.pattern), len(state.good), len(state.evil), len(state.behaviours),
        address(state.pattern), address(state.good), address(state.evil),
        address(state.behaviours), address(state.scripts), address(state.script_at),
        seed,
    )  # fmt: skip


def _agent(agent: QLearning, lowest: float, seed: int) -> QParameters:
    first = int(agent.ties == "first")
    return QParameters(
        agent.alpha, agent.gamma, agent.initial_value, lowest, agent.epsilon, first, seed
    )
