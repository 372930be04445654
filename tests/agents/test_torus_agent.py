"""The agent of the torus, and how close to 1 it really comes."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from omnimeter.agents.simple import RandomAgent
from omnimeter.agents.specialists import TorusAgent
from omnimeter.contract import (
    Agent,
    Briefing,
    Budget,
    Exercise,
    Instance,
    InvalidInputError,
    Spec,
    single,
    stream,
)
from omnimeter.environments.torus import Torus
from omnimeter.environments.torus.dynamics import nearness_table
from omnimeter.interaction import run_single

LEFT, STEPS = 0, ((-1, 0), (1, 0), (0, 1), (0, -1), (0, 0))


def rewards(agent: Agent, good: str, evil: str, length: int, count: int) -> np.ndarray:
    given = Instance({"good": good, "evil": evil})
    budget = Budget(interactions=length)
    exercises = [
        Exercise(Spec("agent"), Spec("torus-v1"), given, budget, 0, number)
        for number in range(count)
    ]
    return np.array([trace.rewards for trace in run_single(Torus(), agent, exercises)])


def test_it_moves_at_random_until_it_is_on_good() -> None:
    agent = TorusAgent("U")
    agent.begin(Briefing(5, single(1)), stream(0).generator())
    assert {agent.act(0.5, 0) for _ in range(200)} == set(range(5))
    assert {agent.act(0.51, 0) for _ in range(20)} == {2}
    assert {agent.act(-1.0, 0) for _ in range(200)} == set(range(5))


@pytest.mark.parametrize("move", ["", "LL", "X", "l"])
def test_a_move_is_one_letter(move: str) -> None:
    with pytest.raises(InvalidInputError, match="Give one of the letters L, R, U, D, S"):
        TorusAgent(move)


def test_it_needs_an_action_for_its_move() -> None:
    with pytest.raises(InvalidInputError, match="The move S is action 4; there are only 3"):
        TorusAgent("S").begin(Briefing(3, single(1)), stream(0).generator())


@pytest.mark.parametrize("move", "LRUD")
def test_it_does_well_where_good_makes_its_move(move: str) -> None:
    other = {"L": "R", "R": "L", "U": "D", "D": "U"}[move]
    late = rewards(TorusAgent(move), move, other, 3000, 150)[:, 1000:].mean()
    assert late > 0.4
    assert abs(rewards(RandomAgent(), move, other, 3000, 150)[:, 1000:].mean()) < 0.02
    assert late > rewards(TorusAgent("S"), move, other, 3000, 150)[:, 1000:].mean() + 0.3


# The limit of section 6.3, computed


def along(size: int, row: int) -> float:
    """The mean reward of an agent that stays with Good while Evil passes so many rows above."""
    return float(1 - nearness_table(size).reshape(size, size)[row].mean())


def limit(size: int, row: int) -> float:
    """The long-run mean of the agent in L against R, from the chain over all relative cells.

    A state is the agent's cell seen from Good, and how far Evil is to the right of Good.
    """
    nearness = nearness_table(size).reshape(size, size)
    number = np.arange(size**3).reshape(size, size, size)
    moves, paid = np.zeros((size**3, size**3)), np.zeros(size**3)
    for x, y, evil in product(range(size), repeat=3):
        state = number[x, y, evil]
        paid[state] = nearness[-y, -x] - nearness[(row - y) % size, (evil - x) % size]
        actions = STEPS[:1] if paid[state] > 0.5 else STEPS
        for across, up in actions:
            stays = number[(x + across) % size, (y + up) % size]
            goes = number[(x + across + 1) % size, (y + up) % size]
            if row == 0 and evil == size - 2:  # they would meet: one of them is kept
                moves[state, stays[evil + 1]] += 0.5 / len(actions)
                moves[state, goes[evil + 1]] += 0.5 / len(actions)
            else:
                moves[state, goes[(evil + 2) % size]] += 1 / len(actions)
    balance = moves.T - np.eye(size**3)
    balance[0] = 1
    return float(np.linalg.solve(balance, np.eye(size**3)[0]) @ paid)


def test_the_long_run_is_what_the_chain_says() -> None:
    """Not close to 1 on 9 x 9: Evil is never far, and next to Evil a half is not more than a half.

    Where Evil passes two rows away or more, the agent stays with Good for ever. Where it passes
    next to Good, or meets it, the agent loses Good on every round.
    """
    by_row = [limit(9, row) for row in range(5)]
    assert by_row == pytest.approx([0.0052, 0.0365, 0.7474, 0.7912, 0.8234], abs=1e-4)
    assert by_row[2:] == pytest.approx([along(9, row) for row in range(2, 5)])
    starts = np.array([8, 18, 18, 18, 18])  # Evil's first cells in these rows, above and below
    overall = float(starts @ by_row / 80)
    assert overall == pytest.approx(0.540, abs=5e-4)
    late = rewards(TorusAgent(), "L", "R", 4000, 1000)[:, 1500:].mean()
    assert late == pytest.approx(overall, abs=0.045)


def test_the_limit_tends_to_one_as_the_torus_grows() -> None:
    """Even if the three rows in which Good is lost again and again paid 0."""
    bounds = []
    for size in (9, 25, 101, 401):
        rows = [along(size, row) for row in range(2, size - 1)]
        bounds.append(sum(rows) / size)
    assert bounds == sorted(bounds)
    assert bounds[0] == pytest.approx(0.525, abs=1e-3)
    assert bounds[-1] > 0.97


def test_the_highest_reward_is_that_of_evil_in_the_farthest_cell() -> None:
    highest = 1 - nearness_table(9).min()
    assert highest == pytest.approx(1 - 1 / (32**0.5 + 1))
    assert rewards(TorusAgent(), "L", "R", 2000, 50).max() == pytest.approx(highest)
