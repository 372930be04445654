"""The follower and the oracle of the Lambda thesis: what they choose."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from choosing import begun, check_shares
from omnimeter.agents.lambda_agents import Follower, Oracle
from omnimeter.contract import Agent, Briefing, InvalidInputError, Space, stream
from omnimeter.environments.lambda_class import Lambda
from omnimeter.environments.lambda_class.views import VIEWS
from omnimeter.kernels import KernelAgent

# Good, Evil, itself (and perhaps another agent), then where actions 0 to 3 lead.

FOLLOWING = Briefing(4, Space((5,) * 7), view="structure")


def choices(agent: Agent, observation: list[int], count: int = 6000) -> Counter[int]:
    return Counter(agent.act(0.0, np.array(observation)) for _ in range(count))


@pytest.mark.parametrize(
    ("observation", "action"),
    [
        ([3, 1, 0, 0, 1, 3, 3], 2),  # the lowest that leads to Good
        ([0, 1, 0, 1, 0, 0, 2], 1),  # to Good, not to its own cell by its number
        ([0, 1, 0, 0, 1, 0, 2], 0),  # with Good it stays
        ([4, 2, 0, 0, 0, 2, 2], 0),  # it can only stay
        ([4, 0, 0, 0, 2, 0, 2], 1),  # away from Evil
        ([4, 0, 0, 0, 0, 0, 0], 0),  # Evil cannot be avoided
        ([4, 1, 0, 1, 1, 1, 1], 0),  # nor here
    ],
)
def test_follower_without_a_choice(observation: list[int], action: int) -> None:
    agent = Follower()
    state = begun(agent, FOLLOWING)
    assert choices(agent, observation, 20) == {action: 20}
    assert int(state.rng[0]) == 0


@pytest.mark.parametrize(
    ("observation", "shares"),
    [
        ([4, 1, 0, 0, 1, 2, 3], {0: 1 / 3, 2: 1 / 3, 3: 1 / 3}),
        ([4, 1, 0, 0, 2, 2, 2], {0: 1 / 2, 1: 1 / 2}),  # cells are alike, not actions
        ([4, 0, 0, 0, 1, 2, 2], {1: 1 / 2, 2: 1 / 2}),
        ([4, 3, 0, 0, 1, 2, 0], {0: 1 / 3, 1: 1 / 3, 2: 1 / 3}),
    ],
)
def test_follower_breaks_ties_at_random(observation: list[int], shares: dict[int, float]) -> None:
    agent = Follower()
    agent.begin(FOLLOWING, 0)
    check_shares(choices(agent, observation), shares)


def test_follower_among_other_agents() -> None:
    agent = Follower()
    agent.begin(Briefing(2, Space((5,) * 7), view="structure"), 0)
    assert choices(agent, [3, 1, 0, 4, 4, 0, 3], 5) == {1: 5}


cells = st.integers(0, 4)


@given(st.tuples(*[cells] * 2), st.lists(cells, min_size=4, max_size=4), st.integers(0, 2**64 - 1))
def test_follower_goes_to_good_and_avoids_evil(
    objects: tuple[int, int], exits: list[int], seed: int
) -> None:
    good, evil = objects
    agent = Follower()
    agent.begin(FOLLOWING, seed)
    reached = exits[agent.act(0.0, np.array([good, evil, exits[0], *exits]))]
    assert reached == good if good in exits else reached != evil or set(exits) == {evil}


# The same, then where Good and Evil intend to go, then the next reward of each action.

FORESEEING = Briefing(4, Space((5,) * 9 + (4,) * 4), view="foresight")


@pytest.mark.parametrize(
    ("observation", "action"),
    [
        ([0, 1, 0, 0, 1, 3, 3, 3, 2, 0, 0, 2, 2], 2),  # the lowest that leads to Good's next cell
        ([1, 2, 0, 0, 1, 3, 3, 0, 2, 3, 0, 0, 0], 0),  # Good comes
        (
            [1, 2, 0, 0, 1, 3, 3, 0, 2, 0, 3, 0, 0],
            0,
        ),  # Good comes before rewards
        ([0, 1, 0, 0, 1, 2, 3, 4, 4, 0, 3, 1, 1], 1),  # the greatest reward
        ([0, 1, 0, 0, 1, 2, 2, 4, 4, 0, 0, 2, 2], 2),  # two ways to it
        ([0, 1, 0, 0, 0, 0, 0, 4, 1, 0, 0, 0, 0], 0),  # one cell only
    ],
)
def test_oracle_without_a_choice(observation: list[int], action: int) -> None:
    agent = Oracle()
    state = begun(agent, FORESEEING)
    assert choices(agent, observation, 20) == {action: 20}
    assert int(state.rng[0]) == 0


@pytest.mark.parametrize(
    ("observation", "shares"),
    [
        ([0, 1, 0, 0, 1, 2, 3, 4, 1, 1, 0, 1, 1], {0: 1 / 3, 2: 1 / 3, 3: 1 / 3}),
        ([0, 1, 0, 0, 1, 2, 2, 4, 1, 1, 0, 1, 1], {0: 1 / 2, 2: 1 / 2}),
        ([0, 1, 0, 0, 1, 2, 3, 4, 0, 0, 1, 2, 2], {2: 1 / 2, 3: 1 / 2}),
    ],
)
def test_oracle_breaks_ties_at_random(observation: list[int], shares: dict[int, float]) -> None:
    agent = Oracle()
    agent.begin(FORESEEING, 0)
    check_shares(choices(agent, observation), shares)


def test_oracle_among_other_agents() -> None:
    agent = Oracle()
    agent.begin(Briefing(2, Space((5,) * 8 + (2,) * 2), view="foresight"), 0)
    assert choices(agent, [3, 1, 0, 4, 0, 3, 3, 1, 0, 1], 5) == {1: 5}


@pytest.mark.parametrize("objects", [[], ["still"], ["still"] * 4])
@pytest.mark.parametrize(("agent", "needed"), [(Follower, "structure"), (Oracle, "foresight")])
@pytest.mark.parametrize("view", VIEWS)
def test_other_views_are_rejected(
    view: Any, agent: type[KernelAgent], needed: str, objects: list[str]
) -> None:
    """Among them are views whose vectors happen to have the right sizes."""
    world = Lambda(cells=4, actions=4, objects=objects, view=view)
    briefing = world.build(world.draw(stream(0).generator())).briefing()
    if view == needed:
        agent().begin(briefing, 0)
        return
    message = rf"needs the view {needed}; here it is {view}\."
    with pytest.raises(InvalidInputError, match=message) as error:
        agent().begin(briefing, 0)
    assert error.value.advice == "Leave view out."


@pytest.mark.parametrize("agent", [Follower, Oracle])
def test_other_classes_are_rejected(agent: type[KernelAgent]) -> None:
    with pytest.raises(InvalidInputError, match="there is no such view") as error:
        agent().begin(Briefing(4, Space((5,) * 7)), 0)
    assert "lambda-v1" in error.value.advice
    with pytest.raises(InvalidInputError, match="an observation has 6 components"):
        agent().begin(Briefing(4, Space((5,) * 6), view=agent.view), 0)


def test_each_asks_for_its_view() -> None:
    assert (Follower.view, Oracle.view) == ("structure", "foresight")
