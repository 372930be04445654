"""Agents that learn values in a table: what they learn, and what they choose by it."""

from __future__ import annotations

from collections import Counter
from math import inf, nan

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from choosing import begun, check_shares
from omnimeter.agents.simple import RandomAgent
from omnimeter.agents.temporal_difference import ExpectedSarsa, QLearning, Sarsa
from omnimeter.contract import (
    Briefing,
    Budget,
    Exercise,
    InvalidInputError,
    Space,
    Spec,
    Trace,
    stream,
)
from omnimeter.environments.buttons import Buttons
from omnimeter.environments.cups import Cups
from omnimeter.interaction import run_single
from omnimeter.kernels import KernelAgent, KernelEnvironmentClass

LEARNERS = [QLearning, Sarsa, ExpectedSarsa]

# Learners: two observations and two actions unless said otherwise.

TWO = Briefing(2, Space((2,), single=True))
HALVES = {"alpha": 0.5, "gamma": 0.5}


def test_q_learning_by_hand() -> None:
    agent = QLearning(**HALVES, ties="first")
    table = begun(agent, TWO).table
    assert agent.act(0.7, 0) == 0  # the first reward is not attributed to any action
    assert table.tolist() == [2, 2, 2, 2]
    assert agent.act(1.0, 1) == 0
    assert table.tolist() == [2.5, 2, 2, 2]  # 2 + (2 + 2/2 - 2) / 2
    assert agent.act(-1.0, 0) == 0
    assert table.tolist() == [2.5, 2, 1.625, 2]  # 2 + (0 + 2.5/2 - 2) / 2
    assert agent.act(0.0, 0) == 0
    assert table.tolist() == [2.375, 2, 1.625, 2]  # 2.5 + (1 + 2.5/2 - 2.5) / 2
    agent.finish(-1.0, 1)
    assert table.tolist() == [1.6875, 2, 1.625, 2]  # 2.375 + (0 + 2/2 - 2.375) / 2


def test_q_learning_counts_on_the_best_although_it_explores() -> None:
    for seed in range(8):
        agent = QLearning(**HALVES, epsilon=1.0)
        table = begun(agent, TWO, seed).table
        table[:] = [1, 3, 5, 7]
        action = agent.act(0.0, 0)
        agent.act(1.0, 1)
        expected = [1.0, 3.0, 5.0, 7.0]
        expected[action] += (2 + 7 / 2 - expected[action]) / 2
        assert table.tolist() == expected


@pytest.mark.parametrize("ending", [False, True])
def test_sarsa_counts_on_what_it_does_next(ending: bool) -> None:
    learnt = set()
    for seed in range(20):
        agent = Sarsa(**HALVES, epsilon=1.0)
        table = begun(agent, TWO, seed).table
        table[:] = [1, 1, 5, 7]
        action = agent.act(0.0, 0)
        following = None if ending else agent.act(1.0, 1)
        if ending:
            agent.finish(1.0, 1)
        learnt.add((following, float(table[action])))
        assert table.tolist()[1 - action] == 1
    values = {0: 2.75, 1: 3.25}  # 1 + (2 + 5/2 - 1) / 2 and 1 + (2 + 7/2 - 1) / 2
    assert learnt == {(None if ending else following, values[following]) for following in values}


@pytest.mark.parametrize("ending", [False, True])
def test_expected_sarsa_counts_on_the_average(ending: bool) -> None:
    agent = ExpectedSarsa(**HALVES, epsilon=0.2)
    table = begun(agent, TWO).table
    table[:] = [1, 1, 5, 7]
    action = agent.act(0.0, 0)
    if ending:
        agent.finish(1.0, 1)
    else:
        agent.act(1.0, 1)
    # The best has 0.8 and one half of 0.2: the average is 0.9 * 7 + 0.1 * 5 = 6.8.
    assert table[action] == pytest.approx(1 + (2 + 6.8 / 2 - 1) / 2)
    assert table[1 - action] == 1


def test_rewards_count_from_the_lowest() -> None:
    agent = QLearning(alpha=1.0, gamma=0.0)
    table = begun(agent, Briefing(1, Space((2,)), rewards=(-3.0, 8.0))).table
    agent.act(0.0, [0])
    agent.finish(8.0, [1])
    assert table.tolist() == [11, 2]


def test_what_is_seen_again_is_judged_anew() -> None:
    for kind in (QLearning, ExpectedSarsa):
        agent = kind(**HALVES, epsilon=0.0, ties="first")
        table = begun(agent, TWO).table
        assert [agent.act(0.0, 0), agent.act(-1.0, 0)] == [0, 1]
        assert table.tolist() == [1.5, 2, 2, 2]


def test_sarsa_chooses_before_it_learns() -> None:
    agent = Sarsa(**HALVES, epsilon=0.0, ties="first")
    table = begun(agent, TWO).table
    assert [agent.act(0.0, 0), agent.act(-1.0, 0), agent.act(-1.0, 0)] == [0, 0, 1]
    assert table.tolist() == [1.5 + (1 - 1.5) / 2, 2, 2, 2]  # at last it counts on action 1


def test_the_table_stays_without_an_action() -> None:
    for kind in LEARNERS:
        agent = kind()
        table = begun(agent, TWO).table
        agent.finish(1.0, 0)
        assert table.tolist() == [2, 2, 2, 2]


def test_an_exercise_begins_with_a_new_table() -> None:
    for kind in LEARNERS:
        agent = kind(ties="first", epsilon=0.0)
        agent.begin(TWO, 0)
        assert [agent.act(0.0, 0), agent.act(-1.0, 1), agent.act(0.0, 0)] == [0, 0, 1]
        agent.begin(TWO, 0)
        assert agent.act(0.0, 0) == 0


@given(
    st.lists(
        st.tuples(st.floats(-1, 1), st.integers(0, 1), st.integers(0, 2)), min_size=1, max_size=30
    ),
    st.floats(0.01, 1),
    st.floats(0, 0.99),
)
def test_q_learning_is_the_formula(
    percepts: list[tuple[float, int, int]], alpha: float, gamma: float
) -> None:
    agent = QLearning(alpha, gamma)
    state = begun(agent, Briefing(4, Space((2, 3))))
    table = np.full((2, 3, 4), 2.0)
    last = None
    for reward, *seen in percepts:
        now = tuple(seen)
        action = agent.act(reward, np.array(seen))
        if last is not None:
            table[last] += alpha * (reward + 1 + gamma * table[now].max() - table[last])
        assert state.table.reshape(2, 3, 4) == pytest.approx(table)
        assert state.table.reshape(2, 3, 4)[now].max() == state.table.reshape(2, 3, 4)[now][action]
        last = (*now, action)


# Choices of learners: with so small a learning rate the values stay as they are.

THREE = Briefing(3, Space((1,), single=True))
UNMOVED = {"alpha": 1e-300, "gamma": 0.0}


@pytest.mark.parametrize("kind", LEARNERS)
@pytest.mark.parametrize(
    ("values", "shares"),
    [
        ([2.0, 2.0, 2.0], {0: 1 / 3, 1: 1 / 3, 2: 1 / 3}),
        ([2.0, 1.0, 2.0], {0: 1 / 2, 2: 1 / 2}),
        ([1.0, 2.0, 2.0], {1: 1 / 2, 2: 1 / 2}),
        ([1.0, 1.0, 2.0], {2: 1.0}),
    ],
)
def test_the_best_are_chosen_alike(
    kind: type[QLearning], values: list[float], shares: dict[int, float]
) -> None:
    agent = kind(**UNMOVED, epsilon=0.0)
    state = begun(agent, THREE)
    state.table[:] = values
    before = int(state.rng[0])
    counts = Counter(agent.act(0.0, 0) for _ in range(6000))
    if len(shares) == 1:
        assert counts == {2: 6000}
        assert int(state.rng[0]) == before  # no random number where there is no choice
    else:
        check_shares(counts, shares)


@pytest.mark.parametrize("kind", LEARNERS)
def test_the_first_of_the_best(kind: type[QLearning]) -> None:
    agent = kind(**UNMOVED, epsilon=0.0, ties="first")
    state = begun(agent, THREE)
    state.table[:] = [1.0, 2.0, 2.0]
    before = int(state.rng[0])
    assert {agent.act(0.0, 0) for _ in range(50)} == {1}
    assert int(state.rng[0]) == before


@pytest.mark.parametrize("kind", LEARNERS)
@pytest.mark.parametrize("ties", ["random", "first"])
def test_exploring_is_any_action(kind: type[QLearning], ties: str) -> None:
    agent = kind(**UNMOVED, epsilon=0.3, ties=ties)
    begun(agent, THREE).table[:] = [1.0, 2.0, 1.0]
    counts = Counter(agent.act(0.0, 0) for _ in range(6000))
    check_shares(counts, {0: 0.1, 1: 0.8, 2: 0.1})


# Learners in environments.


def run(
    agent: KernelAgent, environment_class: KernelEnvironmentClass, interactions: int = 2000
) -> list[Trace]:
    """What an agent does in ten environments, the same ones for every agent."""
    rng = stream(3, "instances").generator()
    exercises = [
        Exercise(
            Spec("agent"),
            Spec("class"),
            environment_class.draw(rng),
            Budget(interactions=interactions),
            seed=8,
            number=number,
        )
        for number in range(10)
    ]
    return list(run_single(environment_class, agent, exercises, record=True))


def average(traces: list[Trace]) -> float:
    """The average reward in the second half."""
    return float(np.mean([trace.rewards[len(trace.rewards) // 2 :] for trace in traces]))


@pytest.mark.parametrize("kind", LEARNERS)
def test_learners_learn(kind: type[QLearning]) -> None:
    baseline = average(run(RandomAgent(), Buttons("bananas")))
    assert abs(baseline - 1 / 3) < 0.03
    explored = 2 / 3 * kind().epsilon
    assert average(run(kind(), Buttons("bananas"))) == pytest.approx(1 - explored, abs=0.03)


def test_q_learning_finds_the_best_of_the_balanced_buttons() -> None:
    # All that matters is seen there, and the best is known. In the cups the turn is hidden: a
    # greedy learner by colours can do worse than a random agent.
    assert abs(average(run(RandomAgent(), Buttons("balanced")))) < 0.05
    assert average(run(QLearning(), Buttons("balanced"))) == 1


def same(first: list[Trace], second: list[Trace]) -> bool:
    """Whether two agents did the same and earned the same."""
    return all(one.same_as(other) for one, other in zip(first, second, strict=True))


@pytest.mark.parametrize("ties", ["random", "first"])
def test_without_exploration_they_are_one(ties: str) -> None:
    places = [Buttons("alternating"), Buttons("balanced"), Cups(3, 4)]
    for place in places:
        greedy = run(QLearning(ties=ties), place, 300)
        assert same(greedy, run(ExpectedSarsa(epsilon=0.0, ties=ties), place, 300))
        # Where the same can be observed twice in a row, SARSA has chosen before it learns.
        alike = same(greedy, run(Sarsa(epsilon=0.0, ties=ties), place, 300))
        assert alike == (place is places[0])


# Errors.


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"alpha": 0.0}, "alpha is 0.0"),
        ({"alpha": 1.5}, "alpha is 1.5"),
        ({"alpha": nan}, "alpha is nan"),
        ({"gamma": 1.0}, "gamma is 1.0"),
        ({"gamma": -0.1}, "gamma is -0.1"),
        ({"gamma": nan}, "gamma is nan"),
        ({"initial_value": inf}, "initial value is inf"),
        ({"epsilon": -0.1}, "Epsilon is -0.1"),
        ({"epsilon": 1.1}, "Epsilon is 1.1"),
    ],
)
@pytest.mark.parametrize("kind", LEARNERS)
def test_learners_reject_invalid_parameters(
    kind: type[QLearning], wrong: dict[str, float], message: str
) -> None:
    with pytest.raises(InvalidInputError, match=message):
        kind(**wrong)


def test_learners_take_the_extremes() -> None:
    for kind in LEARNERS:
        agent = kind(alpha=1, gamma=0, initial_value=-2, epsilon=1)
        agent.begin(TWO, 0)
        assert agent.act(0.0, 0) in {0, 1}


@pytest.mark.parametrize(("sizes", "actions"), [((300,) * 3, 2), ((2,) * 23, 3)])
def test_learners_reject_large_tables(sizes: tuple[int, ...], actions: int) -> None:
    with pytest.raises(InvalidInputError, match="A table cannot have"):
        QLearning().begin(Briefing(actions, Space(sizes)), 0)


def test_learners_reject_rewards_without_a_lowest() -> None:
    for kind in LEARNERS:
        with pytest.raises(InvalidInputError, match="lowest possible one"):
            kind().begin(Briefing(2, Space((2,)), rewards=(-inf, 1.0)), 0)
        kind().begin(Briefing(2, Space((2,)), rewards=(-1.0, inf)), 0)


def test_learners_ask_for_the_state() -> None:
    assert {kind.view for kind in LEARNERS} == {"state"}
