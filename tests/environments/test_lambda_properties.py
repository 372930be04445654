"""What holds in every Lambda environment, and the numbers that the thesis gives as examples."""

from __future__ import annotations

from collections import Counter
from math import inf
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lambda_parts import agents_of, arranged, evil_of, good_of, others_of, ring, started, step
from omnimeter.contract import Instance, stream
from omnimeter.environments.lambda_class import Lambda
from omnimeter.environments.lambda_class.dynamics import EVIL, GOOD, PHASE
from omnimeter.interaction import KernelEnvironment
from omnimeter.interaction.intrinsics import below

SEEDS = st.integers(0, 2**32)
LISTS = st.lists(st.sampled_from([1.0, 0.5, 0.3]), min_size=1, max_size=3)
CLASSES: dict[str, st.SearchStrategy[Any]] = {
    "cells": st.integers(2, 6),
    "stop": st.sampled_from([0.1, 0.5]),
    "objects": st.lists(st.sampled_from(["random", "still", "pattern"]), max_size=2),
    "consumption": st.sampled_from(["before", "after"]),
    "vanish": st.booleans(),
    "division": st.sampled_from([1, 2, 3, inf]),
    "drop_on_agents": st.booleans(),
    "sharing": st.booleans(),
    "good": LISTS,
    "evil": LISTS,
    "cycle": st.sampled_from(["power", "product", "never"]),
    "warm_up": st.integers(0, 5),
}
LAMBDAS = st.fixed_dictionaries(CLASSES).map(lambda chosen: Lambda(**chosen))


def random_actions(environment: KernelEnvironment, seed: int, count: int = 50) -> list[list[int]]:
    rng = np.random.default_rng(seed)
    shape = (count, environment.seats)
    actions: list[list[int]] = rng.integers(environment.actions, size=shape).tolist()
    return actions


# What holds everywhere


@settings(max_examples=80)
@given(LAMBDAS, st.integers(1, 3), SEEDS)
def test_good_and_evil_never_meet_and_rewards_stay_within_one(
    environment_class: Lambda, agents: int, seed: int
) -> None:
    environment = started(environment_class.with_views([None] * agents), seed)
    for actions in random_actions(environment, seed):
        assert good_of(environment) != evil_of(environment)
        assert all(-1 <= reward <= 1 for reward in step(environment, *actions))
        assert np.abs(environment.state.rewards).max() <= 1


@settings(max_examples=80)
@given(LAMBDAS, LISTS, st.integers(1, 3), SEEDS)
def test_a_mirrored_environment_pays_the_opposite(
    environment_class: Lambda, rewards: list[float], agents: int, seed: int
) -> None:
    """This is why random behaviour is worth nothing: each start is as likely as its mirror
    image.
    """
    seated = environment_class.with_views([None] * agents)
    drawn = seated.draw(np.random.default_rng(seed)).data
    one, other = (
        seated.build(Instance({**drawn, "good": rewards, "evil": rewards})) for _ in range(2)
    )
    for environment in (one, other):
        environment.start_joint(np.random.default_rng(seed))
    other.state.places[[GOOD, EVIL]] = other.state.places[[EVIL, GOOD]]
    other.state.rewards[:] *= -1
    for actions in random_actions(one, seed):
        assert (good_of(one), evil_of(one)) == (evil_of(other), good_of(other))
        assert step(one, *actions) == [-reward for reward in step(other, *actions)]


@settings(max_examples=80)
@given(LAMBDAS, st.lists(st.integers(1, 3), min_size=2, max_size=2), SEEDS)
def test_agents_do_not_change_what_the_others_do(
    environment_class: Lambda, agents: list[int], seed: int
) -> None:
    """Good, Evil and the others move alike, whatever agents do and however many there are."""
    ways = []
    for number, count in enumerate(agents):
        environment = started(environment_class.with_views([None] * count), seed)
        first, way = agents_of(environment)[0], [others_of(environment)]
        for actions in random_actions(environment, seed + number):
            step(environment, *actions)
            way.append(others_of(environment))
        ways.append(way)
        if not environment_class.rules["warm_up"]:
            way.append([first])  # the first agent begins where it would begin alone
    assert ways[0] == ways[1]


# Example 4.1.2 of the thesis: five agents that follow Good


FIVE_BEHIND = [4, 10, 3, 3, 3, 3, 3]
EXAMPLE = {"consumption": "before", "vanish": False, "drop_on_agents": True}


@pytest.mark.parametrize(("sharing", "paid"), [(False, 1.0), (True, 1 / 5)])
def test_five_agents_follow_good(sharing: bool, paid: float) -> None:
    example = ring(12, agents=5, division=2, sharing=sharing, **EXAMPLE)
    environment = arranged(example, FIVE_BEHIND)
    for _ in range(30):
        assert step(environment, *[1] * 5) == [paid] * 5


@pytest.mark.parametrize(
    ("division", "trace"), [(1, [1, 1, 1]), (2, [1, 1 / 2, 1 / 4]), (3, [1, 1 / 3, 1 / 9])]
)
def test_the_trace_of_good_and_of_evil(division: float, trace: list[float]) -> None:
    example = ring(12, agents=5, division=division, sharing=True, **EXAMPLE)
    environment = arranged(example, FIVE_BEHIND)
    for _ in range(2):
        step(environment, *[1] * 5)
    behind = [environment.state.rewards[good_of(environment) - back] for back in range(3)]
    assert behind == pytest.approx(trace, rel=1e-15)
    behind = [environment.state.rewards[evil_of(environment) - back] for back in range(3)]
    assert behind == pytest.approx([-each for each in trace], rel=1e-15)


def test_an_agent_that_stays_behind_lives_on_the_trace() -> None:
    """Sharing takes nothing from the cell: alone on the trace an agent gets more than with
    others.
    """
    environment = arranged(
        ring(12, agents=5, division=2, sharing=True, **EXAMPLE), [4, 10, 3, 3, 3, 3, 2]
    )
    for _ in range(3):
        paid = step(environment, 1, 1, 1, 1, 1)
    assert paid == [1 / 4] * 4 + [1 / 2]


# Consumption, vanishing, division, and dropping on an agent


@pytest.mark.parametrize(
    ("consumption", "behind", "joint"), [("before", 1.0, 0.0), ("after", 1 / 2, 1.0)]
)
def test_when_the_whole_reward_is_where(consumption: str, behind: float, joint: float) -> None:
    """Before the update one step behind Good, after it only together with Good (4.1.5)."""
    rules = {"consumption": consumption, "division": 2, "vanish": False, "drop_on_agents": True}
    environment = arranged(ring(12, agents=2, **rules), [4, 10, 3, 4])
    assert step(environment, 1, 1) == [behind, joint]


@pytest.mark.parametrize(("vanish", "second"), [(True, 0.0), (False, 1 / 2)])
def test_what_was_got_may_vanish(vanish: bool, second: float) -> None:
    rules = {"consumption": "before", "division": 2, "vanish": vanish}
    environment = arranged(ring(12, **rules), [4, 10, 3])
    assert step(environment, 1) == [1.0]
    assert step(environment, 0) == [second]


@pytest.mark.parametrize("sharing", [False, True])
def test_what_vanishes_vanishes_for_all_at_once(sharing: bool) -> None:
    rules = {"consumption": "before", "division": 1, "vanish": True, "sharing": sharing}
    environment = arranged(ring(12, agents=2, **rules), [4, 10, 3, 3])
    assert step(environment, 1, 1) == [0.5 if sharing else 1.0] * 2
    assert step(environment, 0, 0) == [0.0, 0.0]


@pytest.mark.parametrize(
    ("division", "rewards"),
    [(1, [1, 1, 1, 1]), (2, [1, 1 / 2, 1 / 4, 1 / 8]), (3, [1, 1 / 3, 1 / 9, 1 / 27])],
)
def test_a_reward_in_a_cell_becomes_smaller(division: float, rewards: list[float]) -> None:
    rules = {"consumption": "before", "division": division, "vanish": False}
    environment = arranged(ring(12, **rules), [4, 10, 3])
    paid = [step(environment, action)[0] for action in (1, 0, 0, 0)]
    assert paid == pytest.approx(rewards, rel=1e-15)


def test_an_infinite_division_leaves_nothing() -> None:
    environment = arranged(ring(12, consumption="before", division="inf", vanish=False), [4, 10, 3])
    assert [step(environment, action)[0] for action in (1, 0, 0, 0)] == [1, 0, 0, 0]
    assert np.count_nonzero(environment.state.rewards) == 2


@pytest.mark.parametrize("drop_on_agents", [False, True])
def test_rewards_where_an_agent_is(drop_on_agents: bool) -> None:
    """Good and the agent stay together; in the conceptual variant its cell remains at 0."""
    still = ring(12, pattern="0", consumption="before", division=2, drop_on_agents=drop_on_agents)
    environment = arranged(still, [4, 10, 4])
    paid = [step(environment, 0)[0] for _ in range(5)]
    assert paid == [1.0 if drop_on_agents else 0.0] * 5


@pytest.mark.parametrize(
    ("consumption", "paid"),
    [("before", [1, 0.5, 0.25, 1, 0.5]), ("after", [0.5, 0.25, 1, 0.5, 0.25])],
)
def test_rewards_in_turn(consumption: str, paid: list[float]) -> None:
    """The i-th reward is dropped before interaction i, and in the update before it."""
    still = ring(12, 2, pattern="0", consumption=consumption, good=[1, 0.5, 0.25], evil=[0.4, 0.2])
    environment = arranged(still, [4, 10, 4, 10])
    rewards = [step(environment, 0, 0) for _ in range(5)]
    assert [each[0] for each in rewards] == paid
    first = 0 if consumption == "before" else 1
    assert [each[1] for each in rewards] == ([-0.4, -0.2] * 3)[first : first + 5]


# Which one gives way


def test_the_one_that_moved_gives_way() -> None:
    """In this space action 1 leads from cell 0 to cell 1 and stays there; action 2 goes on."""
    crowd = Lambda(space="1+2+|12+|12+", pattern="1", cycle="never")
    assert others_of_after(crowd, [1, 0, 2]) == [1, 0]
    assert others_of_after(crowd, [0, 1, 2]) == [0, 1]


def others_of_after(environment_class: Lambda, places: list[int]) -> list[int]:
    environment = arranged(environment_class, places)
    step(environment, 0)
    return others_of(environment)


@pytest.mark.parametrize("places", [[0, 2, 0], [2, 0, 0]])
def test_which_of_two_that_moved_gives_way_is_random(places: list[int]) -> None:
    """From cells 0 and 2 action 1 leads to cell 1."""
    crowd = Lambda(space="1+2+|1+2+|1-2+", pattern="1", cycle="never")
    environment = arranged(crowd, places)
    counts: Counter[Any] = Counter()
    for seed in range(1000):
        environment.state.rng[0] = seed * 0x9E3779B9
        environment.state.places[:] = places
        step(environment, 0)
        counts[good_of(environment), evil_of(environment)] += 1
    assert set(counts) == {(1, places[1]), (places[0], 1)}
    assert min(counts.values()) > 430  # 500 on average, 4.4 standard deviations


# Beginnings, exchanges and warm-ups


def test_beginnings_are_alike() -> None:
    """Good and Evil in any two cells, the agent and the objects anywhere."""
    environment_class = Lambda(space="ring-3", objects=["still"])
    environment = started(environment_class)
    counts: Counter[Any] = Counter()
    for seed in range(5400):
        environment.start(stream(seed).generator())
        counts[tuple(environment.state.places.tolist())] += 1
    assert len(counts) == 3 * 2 * 3 * 3
    assert min(counts.values()) > 60  # 100 on average
    assert max(counts.values()) < 140
    assert environment.state.rewards[good_of(environment)] == 1


@pytest.mark.parametrize(("cycle", "longest"), [("product", 9), ("power", 27)])
def test_good_and_evil_are_exchanged(cycle: Any, longest: int) -> None:
    """After 1 to longest interactions, all alike: they stay, so only the exchange moves them."""
    environment = started(Lambda(space="ring-3", pattern="0", cycle=cycle))
    times, last = [], 0
    for interaction in range(1, 20_001):
        before = good_of(environment), evil_of(environment)
        step(environment, 0)
        after = good_of(environment), evil_of(environment)
        if after != before:
            assert after == before[::-1]
            times.append(interaction - last)
            last = interaction
    shares = np.bincount(times, minlength=longest + 1)[1:] / len(times)
    assert len(shares) == longest
    assert shares == pytest.approx(np.full(longest, 1 / longest), abs=0.027)


def test_good_and_evil_can_be_left_alone() -> None:
    environment = started(Lambda(space="ring-3", pattern="0", cycle="never"))
    before = others_of(environment)
    for _ in range(1000):
        step(environment, 0)
    assert others_of(environment) == before


@settings(max_examples=40)
@given(st.fixed_dictionaries(CLASSES), st.integers(1, 3), SEEDS)
def test_a_warm_up_is_what_random_agents_do(chosen: dict[str, Any], agents: int, seed: int) -> None:
    count = chosen.pop("warm_up")
    warm, cold = (
        started(Lambda(**chosen, warm_up=each).with_views([None] * agents), seed)
        for each in (count, 0)
    )
    for _ in range(count):
        step(cold, *[below(cold.state.agents_rng, cold.actions) for _ in range(agents)])
    for name in ("rng", "agents_rng", "places", "rewards", "clock", "script_now"):
        assert np.array_equal(getattr(warm.state, name), getattr(cold.state, name)), name


def test_a_warm_up_can_last_like_the_cycle() -> None:
    """As many interactions as an exchange may take, drawn anew at each beginning."""
    environment = started(Lambda(space="ring-3", pattern="0" * 100 + "1", warm_up="cycle"))
    phases = set()
    for seed in range(500):
        environment.start(stream(seed).generator())
        phases.add(int(environment.state.clock[PHASE]))
    assert phases == set(range(1, 28))


# Further objects


def test_still_objects_stay_and_patterns_are_repeated() -> None:
    objects = ["still", "pattern:110"]
    environment = arranged(ring(12, objects=objects), [4, 10, 0, 7, 8])
    ways = []
    for _ in range(6):
        step(environment, 0)
        ways.append(others_of(environment)[2:])
    assert ways == [[7, 9], [7, 10], [7, 10], [7, 11], [7, 0], [7, 0]]


def test_random_objects_do_every_action_alike() -> None:
    environment = arranged(ring(12, objects=["random"]), [4, 10, 0, 7])
    counts: Counter[Any] = Counter()
    for _ in range(3000):
        before = others_of(environment)[2]
        step(environment, 0)
        counts[(others_of(environment)[2] - before) % 12] += 1
    assert set(counts) == {0, 1, 11}
    assert min(counts.values()) > 880  # 1000 on average, 4.6 standard deviations


def test_the_pattern_of_an_object_is_drawn_into_the_instance() -> None:
    rng = np.random.default_rng(0)
    drawn = Lambda(objects=["pattern", "random"], cells=4, actions=3).draw(rng)
    behaviour, actions = drawn.data["objects"][0].split(":")
    assert behaviour == "pattern"
    assert set(actions) <= set("012")
    assert drawn.data["objects"][1] == "random"
