"""Slowed copies: the same actions, and exactly so much more time."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from omnimeter.agents.simulated import Delayed
from omnimeter.agents.temporal_difference import QLearning
from omnimeter.catalogue import Kind, describe, make, parse
from omnimeter.contract import (
    STOP,
    Agent,
    Briefing,
    Budget,
    Clock,
    ClockKind,
    Ending,
    Exercise,
    FaultKind,
    InvalidInputError,
    Move,
    Observation,
    Spec,
    Trace,
    stream,
)
from omnimeter.environments.buttons import Buttons
from omnimeter.execution.workers import Isolation, is_isolated
from omnimeter.interaction import run_single
from omnimeter.interaction.adapters import adapt
from omnimeter.interaction.handles import read_move
from omnimeter.interaction.loop import run_stepwise
from omnimeter.interaction.process import AgentProcess
from omnimeter.kernels import KernelAgent

PLACE = Buttons("balanced")

SHARED = QLearning()
"""One object that a path can name."""


class Varying(Agent):
    """Answers in several ways in turn, and remembers what it was told."""

    view = "state"
    answers: tuple[Any, ...] = (0, Move(1, 0.5), Move(2), STOP)

    def begin(self, briefing: Briefing, rng: np.random.Generator) -> None:
        self.told: list[Any] = [briefing]

    def act(self, reward: float, observation: Observation) -> Any:
        self.told.append((reward, observation))
        return self.answers[(len(self.told) - 2) % len(self.answers)]

    def finish(self, reward: float, observation: Observation) -> None:
        self.told.append("finished")


def agent_of(text: str) -> Agent:
    return adapt(make(Kind.AGENT, parse(Kind.AGENT, text)))


def slowed(agent: str, seconds: float) -> Agent:
    return agent_of(f"slowed(agent={agent}, seconds={seconds})")


def exercise(**changes: Any) -> Exercise:
    return Exercise(
        Spec("agent"),
        Spec("class"),
        PLACE.draw(stream(1, "instance").generator()),
        **{"budget": Budget(interactions=40), "seed": 5, "number": 0, **changes},
    )


def taken(agent: Agent, **changes: Any) -> Trace:
    return run_stepwise(PLACE, [agent], exercise(**changes), record=True)[0]


def moves(agent: Agent, count: int = 200) -> list[tuple[int, int]]:
    """Actions and declared nanoseconds, always with the same seeds."""
    environment = PLACE.build(exercise().instance)
    reward, seen = environment.start(stream(2, "environment").generator())
    agent.begin(environment.briefing(), stream(2, "agent").generator())
    results = []
    for _ in range(count):
        results.append(read_move(agent.act(reward, seen), environment.actions))
        reward, seen = environment.step(results[-1][0])
    return results


@pytest.mark.parametrize(
    "agent",
    ["q-learning", "q-learning(epsilon=0.5)", "random", "random(rate=8)", "policy(rate=3)"],
)
def test_the_same_actions_and_more_time(agent: str) -> None:
    original = moves(agent_of(agent))
    once = slowed(agent, 0.25)
    twice = slowed(f"slowed(agent={agent}, seconds=0.25)", 0.5)
    for copy, more in ((once, 250_000_000), (twice, 750_000_000)):
        assert moves(copy) == [(action, delay + more) for action, delay in original]


@pytest.mark.parametrize(
    ("agent", "seconds", "each"),
    [
        ("q-learning", 0.01, 10_000_000),
        ("slowed(agent=q-learning, seconds=0.1)", 0.2, 300_000_000),
        ("random", 0.01, 10_000_000),
        ("random(rate=10)", 1, 1_100_000_000),
        ("slowed(agent=random(rate=3), seconds=0.7)", 1e-9, 1_033_333_334),
    ],
)
def test_virtual_times_are_exact(agent: str, seconds: float, each: int) -> None:
    trace = taken(slowed(agent, seconds), clock=Clock(tick=7.0))
    assert trace.times.tolist() == [each * number for number in range(1, 41)]
    timed = taken(slowed(agent, seconds), budget=Budget(seconds=each * 5.5e-9))
    assert len(timed) == 5


@pytest.mark.parametrize("budget", [Budget(interactions=100), Budget(seconds=2.0)])
@pytest.mark.parametrize("agent", ["q-learning", "model-learner", "cheat"])
def test_kernels_without_delays_still_run_compiled(agent: str, budget: Budget) -> None:
    copy = slowed(agent, 0.03)
    assert isinstance(copy, KernelAgent)
    assert copy.kernels is agent_of(agent).kernels
    (compiled,) = run_single(PLACE, copy, [exercise(budget=budget)], record=True)
    assert compiled.same_as(taken(slowed(agent, 0.03), budget=budget))
    assert compiled.times[0] == 30_000_000
    original = taken(agent_of(agent), budget=Budget(interactions=len(compiled)))
    assert original.actions is not None
    assert np.array_equal(compiled.actions, original.actions)


def test_a_wall_clock_really_waits() -> None:
    for agent in ("q-learning", "random"):
        trace = taken(
            slowed(agent, 0.02), budget=Budget(interactions=3), clock=Clock(ClockKind.WALL)
        )
        assert (np.diff(trace.times, prepend=0) >= 20_000_000).all()


def test_what_an_agent_says_and_is_told_passes_through() -> None:
    inside = Varying()
    copy = Delayed(inside, 1.0)
    assert copy.view == "state"
    trace = taken(copy)
    assert trace.ending is Ending.STOPPED
    assert trace.times.tolist() == [1_000_000_000, 2_500_000_000, 3_500_000_000]
    assert trace.actions is not None
    assert trace.actions.tolist() == [0, 1, 2]
    assert isinstance(inside.told[0], Briefing)
    assert inside.told[-1] == "finished"
    assert [told[0] for told in inside.told[2:-1]] == trace.rewards.tolist()


@pytest.mark.parametrize(
    "answer", [None, 7, "left", Move(9, 1.0), Move(0, -0.5), Move(0, 0.0), Move(0, 1e7)]
)
def test_invalid_answers_stay_invalid(answer: Any) -> None:
    inside = Varying()
    inside.answers = (answer,)
    plain, copied = taken(inside), taken(Delayed(inside, 1.0))
    assert plain.fault is not None
    assert copied.fault is not None
    assert copied.fault.kind is FaultKind.AGENT_ERROR
    if answer != Move(0, 1e7):  # which the copy makes longer still
        assert copied.fault == plain.fault


def test_a_shared_object_is_not_changed() -> None:
    for _ in range(2):
        assert slowed("test_slowed:SHARED", 0.5).pace == 0.5  # type: ignore[attr-defined]
    assert SHARED.pace == 0


def test_a_slowed_agent_from_a_file(tmp_path: Path) -> None:
    file = tmp_path / "mine.py"
    file.write_text("def choose(observation):\n    return 1\n")
    spec = parse(Kind.AGENT, f"slowed(agent={file}:choose, seconds=0.5)")
    with AgentProcess(spec) as handle:
        trace = run_stepwise(PLACE, [handle], exercise(budget=Budget(seconds=2.2)), record=True)[0]
    assert trace.fault is None
    assert trace.times.tolist() == [500_000_000 * number for number in range(1, 5)]
    assert set(np.asarray(trace.actions)) == {1}


def test_specs_rebuild_the_copy() -> None:
    spec = parse(Kind.AGENT, "slowed(agent=random(rate=10), seconds=1)")
    assert (spec.id, spec.parameters["seconds"]) == ("slowed-v1", 1)
    assert parse(Kind.AGENT, spec.label) == spec
    inside = {"id": "random-v1", "parameters": {"rate": 10}}
    other = make(Kind.AGENT, Spec("slowed-v1", {"agent": inside, "seconds": 1}))
    assert moves(make(Kind.AGENT, spec)) == moves(other)
    assert [each.name for each in describe(Kind.AGENT, "slowed").parameters] == ["agent", "seconds"]


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"agent": "unknown", "seconds": 1}, "no agent 'unknown'"),
        ({"agent": {}, "seconds": 1}, "has no id"),
        ({"agent": {"id": 3}, "seconds": 1}, "has no id"),
        ({"agent": "q-learning(alpha=7)", "seconds": 1}, "alpha is 7"),
        ({"agent": "q-learning", "seconds": 0}, "cannot take 0.0 seconds"),
        ({"agent": "random", "seconds": -1}, "cannot take -1.0 seconds"),
        ({"agent": "random", "seconds": 1e7}, "cannot take 10000000.0 seconds"),
        ({"agent": "slowed(agent=q-learning,seconds=2)", "seconds": -1}, "take -1.0 seconds"),
        ({"agent": "slowed(agent=q-learning,seconds=1e6)", "seconds": 1}, "take 1000001.0 seconds"),
    ],
)
def test_what_cannot_be_slowed(parameters: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidInputError, match=message):
        make(Kind.AGENT, Spec("slowed-v1", parameters))


def test_a_slowed_agent_from_a_file_is_isolated_like_the_agent_itself(tmp_path):
    path = tmp_path / "mine.py"
    path.write_text("from omnimeter.agents.simple import RandomAgent as Mine\n")
    spec = parse(Kind.AGENT, f"slowed(agent={path}:Mine, seconds=0.5)")
    assert is_isolated(spec, Isolation.AUTO)
    assert is_isolated(
        parse(Kind.AGENT, f"slowed(agent=slowed(agent={path}:Mine, seconds=1), seconds=1)"),
        Isolation.AUTO,
    )
    assert not is_isolated(parse(Kind.AGENT, "slowed(agent=random, seconds=1)"), Isolation.AUTO)
    assert spec.parameters["agent"]["digest"]
    assert spec.label == f"slowed-v1(agent={path}:Mine, seconds=0.5)"
    assert parse(Kind.AGENT, spec.label) == spec
    path.write_text("# another one\n" + path.read_text())
    assert parse(Kind.AGENT, spec.label) != spec
