"""Kernels made of other kernels: their hash covers all parts, and both ways give the same."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path
from textwrap import dedent
from typing import Any, NamedTuple

import numpy as np
import pytest

from omnimeter.contract import Agent, Briefing, Budget, Exercise, Observation, Spec, Trace, stream
from omnimeter.contract.agent import EXPLORATION
from omnimeter.environments.cups import KERNELS, Cups
from omnimeter.interaction import run_single
from omnimeter.interaction.wrapping import OuterKernels, wrap_agent, wrap_environments
from omnimeter.kernels import AgentKernels, KernelAgent, kernel

MOVES = """
    from typing import Any, NamedTuple
    from omnimeter.contract import EnvironmentKernels, kernel
    from fees import FEE

    class State(NamedTuple):
        count: Any

    @kernel
    def reset(state):
        return 0.0

    @kernel
    def step(state, action):
        return action + FEE

    @kernel
    def observe(state, out):
        out[0] = 0

    KERNELS = EnvironmentKernels(State, reset, step, observe)
"""


def test_an_edit_of_what_a_part_calls_makes_another_module(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(str(tmp_path))
    (tmp_path / "moves.py").write_text(dedent(MOVES))

    def module(fee: str) -> str:
        (tmp_path / "fees.py").write_text(f"FEE = {fee}\n")
        for name in ("moves", "fees"):
            monkeypatch.delitem(sys.modules, name, raising=False)
        importlib.invalidate_caches()
        moves = importlib.import_module("moves")
        wrapped = wrap_environments(KERNELS, moves.KERNELS)
        again = wrap_environments(wrapped, KERNELS)
        assert wrapped.state.__module__ != again.state.__module__
        return str(again.state.__module__)

    assert module("0.25") == module("0.25") != module("0.125")
    for name in ("moves", "fees"):
        monkeypatch.delitem(sys.modules, name, raising=False)


class Tally(NamedTuple):
    """How often the agent was asked, and its last action."""

    counts: Any


@kernel
def observe(state: Any, reward: Any, observation: Any, seen: Any) -> Any:
    state.counts[0] += 1
    seen[0] = 1 - observation[0]
    return reward + state.counts[0]


@kernel
def action(state: Any, action: Any) -> Any:
    return (action + 1) % 3


@kernel
def delay(state: Any) -> Any:
    return 500_000_000


@kernel
def request(state: Any) -> Any:
    """Twice before every fifth action."""
    if state.counts[0] % 5 == 0 and state.counts[1] < 2:
        state.counts[1] += 1
        return EXPLORATION
    state.counts[1] = 0
    return -1


@kernel
def amount(state: Any) -> Any:
    return 0.25 * state.counts[1]


OUTER = OuterKernels(
    Tally, observe=observe, action=action, delay=delay, request=request, amount=amount
)


class SumState(NamedTuple):
    """All that was given so far, in one number."""

    total: Any


@kernel
def sum_act(state: Any, reward: Any, observation: Any) -> Any:
    state.total[0] += reward + 2 * observation[0] + observation[1]
    return int(state.total[0]) % 3


@kernel
def sum_adjust(state: Any, what: Any, amount: Any) -> None:
    state.total[0] = 2 * state.total[0] + 4 * amount


class Summing(KernelAgent):
    """Acts by the sum of all that it is given."""

    kernels = AgentKernels(SumState, act=sum_act, adjust=sum_adjust)

    def initial_state(self, briefing: Briefing) -> SumState:
        return SumState(np.zeros(1))


class PlainSumming(Agent):
    """The same in Python."""

    def begin(self, briefing: Briefing, rng: np.random.Generator) -> None:
        self.total = 0.0

    def act(self, reward: float, observation: Observation) -> int:
        first, second = np.asarray(observation)[:2].tolist()
        self.total += reward + 2 * first + second
        return int(self.total) % 3

    def adjust(self, what: int, amount: float) -> bool:
        assert what == EXPLORATION
        self.total = 2 * self.total + 4 * amount
        return True


def taken(agent: Agent, *, compiled: bool = True) -> Trace:
    cups = Cups(3, 3)
    instance = cups.draw(stream(1).generator())
    exercise = Exercise(
        Spec("agent"), Spec("class"), instance, Budget(interactions=40), seed=5, number=0
    )
    (trace,) = run_single(cups, agent, [exercise], record=True, compiled=compiled)
    assert trace.fault is None, trace.fault
    return trace


def test_an_agent_of_kernels_and_one_of_python_are_wrapped_alike() -> None:
    def begun(briefing: Briefing) -> Tally:
        return Tally(np.zeros(2, dtype=np.int64))

    agent = wrap_agent(Summing(), OUTER, begun)
    trace = taken(agent)
    assert trace.same_as(taken(agent, compiled=False))
    assert trace.same_as(taken(wrap_agent(PlainSumming(), OUTER, begun)))
    assert trace.times[-1] == 40 * 500_000_000
    assert len(set(np.asarray(trace.actions).tolist())) == 3
