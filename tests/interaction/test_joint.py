"""Several agents in one environment at once: one joint run, and a trace for each of them."""

from __future__ import annotations

import copy
import json
import os
import pickle
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from agreement import digest
from joint_parts import (
    AGENTS,
    EXERCISES,
    JOINT_AGENTS,
    HalfReciter,
    Reciter,
    Ring,
    Wanderer,
    everything,
    joint,
    ring,
)
from loop_parts import SECOND, Player, raising
from omnimeter.contract import (
    STOP,
    Agent,
    Budget,
    Clock,
    ClockKind,
    Ending,
    Environment,
    EnvironmentClass,
    Exercise,
    Fault,
    FaultKind,
    Instance,
    InvalidInputError,
    Move,
    Percept,
    Space,
    Spec,
    Timeout,
    Trace,
    single,
)
from omnimeter.environments.cups import Cups
from omnimeter.interaction import dispatch, run, run_single
from omnimeter.interaction.loop import run_stepwise

HERE = Path(__file__).parents[1] / "support"


def fault_of(trace: Trace) -> Fault:
    assert trace.fault is not None
    return trace.fault


@pytest.fixture
def stepwise_runs(monkeypatch: pytest.MonkeyPatch) -> list[Exercise]:
    """The exercises that took the stepwise loop after all."""
    taken: list[Exercise] = []

    def watched(*arguments: Any, **conditions: Any) -> list[Trace]:
        taken.append(arguments[2])
        return run_stepwise(*arguments, **conditions)

    monkeypatch.setattr(dispatch, "run_stepwise", watched)
    return taken


def test_compiled_stepwise_and_plain_runs_are_the_same(stepwise_runs: list[Exercise]) -> None:
    compiled = everything()
    assert len(stepwise_runs) == len(AGENTS) - 2  # where it raises, if an agent is left
    stepwise = {
        f"{label} {number}": digest(run_stepwise(Ring(), agents, exercise, record=True))
        for label, agents in AGENTS.items()
        for number, exercise in enumerate(joint(members=len(agents), **each) for each in EXERCISES)
    }
    assert compiled == stepwise


@pytest.mark.parametrize("variable", ["NUMBA_DISABLE_JIT", "NUMBA_BOUNDSCHECK"])
def test_the_same_elsewhere(variable: str) -> None:
    # imported, not run: as a script its kernels would have another home, and be compiled again
    program = "import json, joint_parts; print(json.dumps(joint_parts.everything()))"
    done = subprocess.run(
        [sys.executable, "-c", program],
        cwd=HERE,
        env={**os.environ, variable: "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == everything()


def test_long_runs_in_pieces(
    monkeypatch: pytest.MonkeyPatch, stepwise_runs: list[Exercise]
) -> None:
    monkeypatch.setattr("omnimeter.interaction.dispatch.LARGEST", 16)
    monkeypatch.setattr("omnimeter.interaction.dispatch.FIRST_GUESS", 3)
    for budget in (Budget(interactions=100), Budget(seconds=77), Budget(interactions=16)):
        for agents in ([Wanderer(), Wanderer("narrow")], [Reciter([1] * 20 + [-1]), Wanderer()]):
            exercise = joint(budget=budget)
            (traces,) = run(Ring(), agents, [exercise], record=True)
            others = run_stepwise(Ring(), agents, exercise, record=True)
            assert digest(traces) == digest(others)
            (brief,) = run(Ring(), agents, [exercise])
            for trace, full in zip(brief, traces, strict=True):
                assert trace.actions is trace.observations is None
                assert np.array_equal(trace.rewards, full.rewards)
    assert stepwise_runs == []


def test_rewards_depend_on_everybody() -> None:
    """Two who stand on the prize share it, and both traces say when."""
    still = Reciter([0])
    (traces,) = run(Ring(), [still, still], [joint(ring(3))], record=True)
    assert all(trace.first_reward == 0.25 for trace in traces)
    assert {*traces[0].rewards, *traces[1].rewards} <= {0.0, 0.5, 1.0}
    assert np.array_equal(traces[0].times, np.arange(1, 41) * SECOND)
    first, second = traces[0].observations, traces[1].observations
    assert first is not None
    assert second is not None
    assert first.shape == second.shape == (41, 4)
    assert np.array_equal(first[:, 1:], second[:, 1:])  # all agents see the same
    assert np.array_equal(second[:, 0], second[:, 3])  # from a place of their own


def test_every_seat_has_its_own_view_and_chance() -> None:
    agents = [Wanderer("narrow"), Wanderer("wide"), Wanderer("wide")]
    (traces,) = run(Ring(), agents, [joint(members=3)], record=True)
    widths = [trace.observations is not None and trace.observations.shape[1] for trace in traces]
    assert widths == [1, 5, 5]
    assert not np.array_equal(traces[1].actions, traces[2].actions)  # type: ignore[arg-type]


def test_any_member_s_exercise_is_the_same_joint_run() -> None:
    exercise = joint()
    (mine,) = run(Ring(), [Wanderer(), Wanderer("wide")], [exercise], record=True)
    other = exercise.for_agent(JOINT_AGENTS[1])
    (theirs,) = run(Ring(), [Wanderer(), Wanderer("wide")], [other], record=True)
    assert exercise.key != other.key
    assert digest(mine) == digest(theirs)


def test_alone_is_as_ever() -> None:
    exercise = joint(joint=())
    (alone,) = run_stepwise(Ring(), [Wanderer()], exercise, record=True)
    (usual,) = run_single(Ring(), Wanderer(), [exercise], record=True)
    assert alone.same_as(usual)


def test_one_stops_and_the_other_goes_on() -> None:
    for budget, end in ((Budget(interactions=9), 2 * SECOND), (Budget(seconds=9), 9 * SECOND)):
        exercise = joint(budget=budget)
        (stopped, other) = run_stepwise(
            Ring(), [Player([1, 2, STOP]), Player([0] * 9 + [1])], exercise, record=True
        )
        assert (stopped.ending, len(stopped), stopped.end_ns) == (Ending.STOPPED, 2, end)
        assert stopped.observations is not None
        assert len(stopped.observations) == 3
        assert (other.ending, len(other), other.end_ns) == (Ending.BUDGET, 9, 9 * SECOND)


def test_in_place_of_who_dropped_out_action_0_is_done() -> None:
    gone, still = (
        run_stepwise(Ring(), [Player(answers), Reciter([1])], joint(), record=True)[1]
        for answers in ([2, STOP], [2] + [0] * 39)
    )
    assert gone.same_as(still)


def wrong(agent: Agent) -> Agent:
    def refuse(*_: Any) -> None:
        raise OSError("no")

    agent.begin = refuse  # type: ignore[method-assign]
    return agent


@pytest.mark.parametrize(
    ("agent", "count", "said"),
    [
        (wrong(Player([])), 0, "OSError when beginning"),
        (Player([1, raising(KeyError("lost"))]), 1, "KeyError when acting"),
        (Player([1, 1, 3]), 2, "returned 3"),
        (Player([1, Move(1, -1.0)]), 1, "delay of -1.0"),
        (Player([1, 1, SystemExit]), 2, "SystemExit"),
    ],
)
def test_a_fault_costs_no_other_agent_anything(agent: Agent, count: int, said: str) -> None:
    mine, other = run_stepwise(Ring(), [agent, Reciter([1, 2])], joint(), record=True)
    assert (mine.ending, len(mine), mine.end_ns) == (Ending.FAULT, count, count * SECOND)
    assert fault_of(mine).kind is FaultKind.AGENT_ERROR
    assert said in fault_of(mine).message
    assert (other.ending, len(other), other.fault) == (Ending.BUDGET, 40, None)


def test_a_fault_when_finishing() -> None:
    class Late(Player):
        def finish(self, reward: float, observation: Any) -> None:
            raise RuntimeError("too late")

    for answers, count in (([1, STOP], 1), ([1] * 40, 40)):
        mine, other = run_stepwise(Ring(), [Late(answers), Reciter([1])], joint())
        assert (len(mine), fault_of(mine).kind) == (count, FaultKind.AGENT_ERROR)
        assert (len(other), other.fault) == (40, None)


def test_everybody_is_told_and_finishes() -> None:
    players = [Player([1, 1, STOP]), Player([0] * 40)]
    players[1].view = "narrow"
    traces = run_stepwise(Ring(), players, joint(), record=True)
    assert [player.briefing.space for player in players] == [Space((5,) * 4), single(5)]
    for player, trace in zip(players, traces, strict=True):
        assert player.briefing.rewards == (0.0, 1.0)
        assert player.last is not None
        assert player.last[0] == trace.rewards[-1]
        assert trace.observations is not None
        assert np.array_equal(np.atleast_1d(player.last[1]), trace.observations[-1])


def test_an_interaction_takes_as_long_as_the_slowest() -> None:
    players = [Player([Move(0, 0.5), Move(0, 3.0), 0, 0]), Player([Move(0, 0.25), 0, 0, 0])]
    exercise = joint(budget=Budget(seconds=5))
    traces = run_stepwise(Ring(), players, exercise)
    for trace in traces:
        assert trace.times.tolist() == [SECOND // 2, 7 * SECOND // 2, 9 * SECOND // 2]
        assert (trace.end_ns, trace.ending) == (5 * SECOND, Ending.BUDGET)


@pytest.mark.parametrize("seat", [0, 1])
def test_an_environment_that_fails_fails_for_everybody(seat: int) -> None:
    agents = [Wanderer(), Wanderer("narrow")]
    for instance, said in (
        (ring(nan_at=4, nan_for=seat), "the reward nan"),
        (ring(raises_at=4), "ValueError"),
    ):
        (traces,) = run(Ring(), agents, [joint(instance)], record=True)
        for trace in traces:
            assert fault_of(trace).kind is FaultKind.INFRASTRUCTURE
            assert said in fault_of(trace).message
            assert (len(trace), trace.end_ns) == (3, 4 * SECOND)


def test_what_is_paid_to_one_who_is_gone_does_not_matter() -> None:
    agents = [Reciter([1, -1]), Wanderer()]
    (traces,) = run(Ring(), agents, [joint(ring(nan_at=4, nan_for=0))])
    assert [trace.ending for trace in traces] == [Ending.STOPPED, Ending.BUDGET]


def test_kernels_that_do_not_compile_run_step_by_step(stepwise_runs: list[Exercise]) -> None:
    agents = [HalfReciter([1]), Wanderer()]
    with pytest.warns(UserWarning, match="HalfReciter, joint_parts.Wanderer do not compile"):
        (traces,) = run(Ring(), agents, [joint()], record=True)
    assert len(stepwise_runs) == 1
    assert "returned 0.5" in fault_of(traces[0]).message
    assert len(traces[1]) == 40


def test_a_class_with_one_seat() -> None:
    cups = Cups()
    with pytest.raises(InvalidInputError, match="has one seat, not 2"):
        next(run(cups, [Wanderer(), Wanderer()], [joint(Instance({"colours": "BWW"}))]))


class Scales(Environment):
    """Two seats without kernels: who does more wins."""

    actions, space, seats = 3, single(3), 2

    def start(self, rng: np.random.Generator) -> Percept:
        raise NotImplementedError

    def step(self, action: int) -> Percept:
        raise NotImplementedError

    def start_joint(self, rng: np.random.Generator) -> Sequence[Percept]:
        return [Percept(0.0, int(rng.integers(3))), Percept(0.5, 0)]

    def step_joint(self, actions: Sequence[int]) -> Sequence[Percept]:
        mine, theirs = actions
        return [Percept(mine - theirs, theirs), Percept(theirs - mine, mine)]


class AllScales(EnvironmentClass):
    """Draws nothing."""

    def with_views(self, views: Sequence[str | None]) -> EnvironmentClass:
        return self

    def draw(self, rng: np.random.Generator, complexity: float | None = None) -> Instance:
        return Instance({})

    def complexity(self, instance: Instance) -> float:
        return 1.0

    def build(self, instance: Instance) -> Environment:
        return Scales()


def test_an_environment_without_kernels() -> None:
    exercise = joint(budget=Budget(interactions=3))
    one, other = run_stepwise(AllScales(), [Player([2, 0, 1]), Player([0, 0, 2])], exercise)
    assert one.rewards.tolist() == [2.0, 0.0, -1.0]
    assert other.rewards.tolist() == [-2.0, 0.0, 1.0]
    assert (one.first_reward, other.first_reward) == (0.0, 0.5)


def test_too_few_seats_are_no_fault_of_the_agents() -> None:
    traces = run_stepwise(AllScales(), [Player([0])] * 3, joint(members=3))
    assert {fault_of(trace).kind for trace in traces} == {FaultKind.INFRASTRUCTURE}
    assert "2 seats and 3 agents" in fault_of(traces[0]).message


def test_steps_from_python() -> None:
    environment = Ring().with_views([None, "narrow"]).build(ring())
    assert environment.seats == 2
    assert [environment.space_of(seat) for seat in range(2)] == [Space((5,) * 4), single(5)]
    first = environment.start_joint(7)
    assert [percept.reward for percept in first] == [0.25, 0.25]
    second = environment.step_joint([1, 0])
    assert second[1].observation == first[1].observation
    assert isinstance(second[1].observation, int)
    with pytest.raises(ValueError, match="action 3 does not exist"):
        environment.step_joint([0, 3])
    for actions in ([0, 1, 2], [1], []):
        with pytest.raises(ValueError, match=f"{len(actions)} actions for 2 seats"):
            environment.step_joint(actions)


@pytest.mark.parametrize("copied", [copy.deepcopy, lambda part: pickle.loads(pickle.dumps(part))])
def test_a_copy_goes_its_own_way(copied: Callable[[Any], Any]) -> None:
    environment = Ring().with_views(["narrow", "wide"]).build(ring())
    environment.start_joint(7)
    other = copied(environment)
    theirs = [other.step_joint([1, 2]) for _ in range(5)]
    mine = [environment.step_joint([1, 2]) for _ in range(5)]
    assert str(mine) == str(theirs)


def test_one_seat_by_the_same_door() -> None:
    environment = Ring().build(ring())
    (first,) = environment.start_joint(7)
    (second,) = environment.step_joint([1])
    again = environment.start(7), environment.step(1)
    assert str((first, second)) == str(again)


def test_the_company_is_written_down() -> None:
    exercise = joint()
    data = json.loads(json.dumps(exercise.to_json()))
    assert data["joint"] == [member.to_json() for member in JOINT_AGENTS[:2]]
    assert Exercise.from_json(data) == exercise
    alone = joint(joint=())
    assert "joint" not in alone.to_json()  # stored evaluations keep their keys
    assert Exercise.from_json(alone.to_json()) == alone
    assert alone.key != exercise.key


@pytest.mark.parametrize(
    ("conditions", "said"),
    [
        ({"joint": JOINT_AGENTS[:1]}, "joint run of 1"),
        ({"joint": (JOINT_AGENTS[0], JOINT_AGENTS[0])}, "is in the joint run twice"),
        ({"joint": JOINT_AGENTS[1:]}, "not one of the joint agents"),
        ({"clock": Clock(ClockKind.WALL)}, "wall clock"),
        ({"timeout": Timeout(1.0)}, "time-out"),
    ],
)
def test_companies_that_cannot_be(conditions: dict[str, Any], said: str) -> None:
    with pytest.raises(InvalidInputError, match=said):
        joint(**conditions)


def test_the_same_name_is_another_agent_with_other_parameters() -> None:
    assert joint(joint=(JOINT_AGENTS[0], Spec("agent"))).joint[1] == Spec("agent")
