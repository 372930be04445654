"""Outcomes and traces for the tests of the results, and how two of them are compared exactly."""

from __future__ import annotations

import struct

import numpy as np

from omnimeter.contract import Budget, Ending, Exercise, Instance, Outcome, Spec, Trace

SPEC = {"agents": [{"id": "random-v1"}], "protocol": {"id": "fixed-v1", "count": 10}, "seed": 7}


def make_exercise(number: int, agent: str = "random-v1") -> Exercise:
    return Exercise(
        agent=Spec(agent, {"rate": 2}),
        environment_class=Spec("cups-v1"),
        instance=Instance({"cups": number % 5 + 2}),
        budget=Budget(interactions=10),
        seed=7,
        number=number,
        complexity=float(number % 5 + 2),
    )


def make_outcome(number: int, agent: str = "random-v1") -> Outcome:
    return Outcome(
        exercise=make_exercise(number, agent),
        payoff=number / 7,
        interactions=10,
        total=number * 10 / 7,
        last_time=9,
        end_ns=10,
        ending=Ending.BUDGET,
        remarks={"path": "compiled"},
    )


def make_trace(number: int) -> Trace:
    rng = np.random.default_rng(number)
    return Trace(
        rewards=rng.uniform(-1, 1, 10),
        times=np.arange(10) * 3,
        end_ns=30,
        actions=rng.integers(0, 3, 10),
        observations=rng.integers(0, 5, (11, 2)),
    )


def bits(value: float | None) -> bytes | None:
    return None if value is None else struct.pack("<d", value)


def exact_outcome(outcome: Outcome) -> tuple[object, ...]:
    """Everything in an outcome, comparable bit for bit."""
    return (
        outcome.exercise,
        outcome.exercise.key,
        bits(outcome.payoff),
        outcome.interactions,
        bits(outcome.total),
        outcome.last_time,
        outcome.end_ns,
        outcome.ending,
        bits(outcome.first_reward),
        outcome.fault,
        outcome.remarks,
        outcome.attempts,
    )


def exact_trace(trace: Trace) -> tuple[object, ...]:
    """Everything in a trace, comparable bit for bit."""
    columns = (trace.rewards, trace.times, trace.actions, trace.observations)
    columns += (trace.wall_ns, trace.cpu_ns)
    return (
        tuple(c if c is None else (c.dtype, c.shape, c.tobytes()) for c in columns),
        trace.end_ns,
        trace.ending,
        bits(trace.first_reward),
        trace.fault,
        trace.planned,
        trace.timed,
        bits(trace.lowest),
    )
