"""Computation times of decisions: measured in every loop, without changing what happens."""

from __future__ import annotations

import time

import numpy as np
import pytest

from omnimeter import Agent, Budget, Exercise, Observation, Spec
from omnimeter.agents.simple import RandomAgent, ScriptedAgent
from omnimeter.agents.temporal_difference import QLearning
from omnimeter.contract import Ending, Trace, stream
from omnimeter.environments.cups import Cups
from omnimeter.execution.preparing import computation, machine
from omnimeter.interaction import run_single
from omnimeter.interaction.dispatch import clock_cost
from omnimeter.interaction.process import AgentProcess
from omnimeter.kernels import KernelAgent


def exercise(interactions: int = 50, *, measured: bool = True, number: int = 0) -> Exercise:
    drawn = Cups().draw(stream(3, "instance", number).generator(), 3)
    budget = Budget(interactions=interactions)
    spec = Spec("random-v1"), Spec("cups-v1")
    return Exercise(*spec, drawn, budget, seed=3, number=number, measured=measured)


def trace_of(agent: Agent | AgentProcess, given: Exercise, *, compiled: bool = True) -> Trace:
    (trace,) = run_single(Cups(), agent, [given], compiled=compiled)
    return trace


@pytest.mark.parametrize("agent", [RandomAgent(), QLearning()], ids=["random", "q-learning"])
def test_measuring_changes_nothing_else(agent: KernelAgent) -> None:
    plain = trace_of(agent, exercise(measured=False))
    assert plain.wall_ns is None
    assert plain.cpu_ns is None
    for compiled in (True, False):
        trace = trace_of(agent, exercise(), compiled=compiled)
        assert trace.same_as(plain)
        assert trace.wall_ns is not None
        assert trace.cpu_ns is not None
        assert len(trace.wall_ns) == len(trace.cpu_ns) == 50
        # What reading the clocks costs is subtracted on average: of nearly nothing, noise is left.
        assert -1e6 < trace.wall_ns.sum() < 5e9
        assert trace.cpu_ns.sum() > -1e6


class Slow(Agent):
    """Takes ten milliseconds for its third decision, computing."""

    made = 0

    def act(self, reward: float, observation: Observation) -> int:
        self.made += 1
        if self.made == 3:
            end = time.thread_time() + 0.01
            while time.thread_time() < end:
                pass
        return 0


def test_each_decision_has_its_own_time() -> None:
    trace = trace_of(Slow(), exercise(5))
    assert trace.wall_ns is not None
    assert trace.cpu_ns is not None
    assert int(trace.cpu_ns.argmax()) == 2
    assert 10e6 <= trace.cpu_ns[2] <= trace.wall_ns[2] * 1.1 + 1e6
    assert trace.until(int(trace.times[3])).wall_ns.shape == (4,)  # type: ignore[union-attr]


class Planner(Agent):
    """Computes for ten milliseconds before its first decision."""

    def begin(self, briefing: object, rng: object) -> None:
        end = time.thread_time() + 0.01
        while time.thread_time() < end:
            pass

    def act(self, reward: float, observation: Observation) -> int:
        return 0


def test_getting_ready_is_part_of_the_first_decision() -> None:
    trace = trace_of(Planner(), exercise(5))
    assert trace.cpu_ns is not None
    assert trace.cpu_ns[0] >= 10e6 > trace.cpu_ns[1:].max()


def test_a_decision_to_stop_is_not_recorded() -> None:
    agent = ScriptedAgent([0, 1, 0], repeat=False)
    for compiled in (True, False):
        trace = trace_of(agent, exercise(9), compiled=compiled)
        assert trace.ending is Ending.STOPPED
        assert trace.wall_ns is not None
        assert len(trace.wall_ns) == 3


def test_the_processor_time_of_another_process_is_not_known() -> None:
    with AgentProcess(Spec("random-v1")) as agent:
        trace = trace_of(agent, exercise(3))
    assert trace.cpu_ns is None
    summary = computation(trace)
    assert summary["cpu_s"] is None
    assert summary["wall_s"] > 0


def test_reading_the_clocks_is_cheap_and_subtracted() -> None:
    wall, cpu = clock_cost()
    assert 0 <= wall < 20_000
    assert 0 <= cpu < 50_000
    trace = trace_of(RandomAgent(), exercise(5000))
    assert trace.wall_ns is not None
    assert np.median(trace.wall_ns) < max(wall, 1000)  # a random action takes a few nanoseconds


def test_times_are_summed_up_in_a_histogram() -> None:
    empty, times = np.zeros(4), np.arange(4)
    wall, cpu = np.array([1000, 1000, 2000, 8]), np.array([10, 10, 10, 10])
    summary = computation(Trace(empty, times, 4, wall_ns=wall, cpu_ns=cpu))
    assert summary == {
        "decisions": 4,
        "wall_s": 4008e-9,
        "cpu_s": 40e-9,
        "max_s": 2e-6,
        "histogram": {"24": 1, "80": 2, "88": 1},
    }


def test_the_machine_is_named_and_calibrated() -> None:
    known = machine()
    assert known["name"]
    assert 10 < known["calibration_us"] < 100_000
