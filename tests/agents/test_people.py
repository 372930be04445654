"""People as agents: what they are asked, and what they are told again after an interruption."""

from __future__ import annotations

import math

import numpy as np
import pytest

from omnimeter.agents.people import Desk, Person, seat
from omnimeter.contract import Briefing, InvalidInputError, Space


class Notebook(Desk):
    """Writes down what it is told, and always answers 1."""

    def __init__(self):
        self.told = []

    def begin(self, actions):
        self.told.append(("begin", actions))

    def ask(self, scene, reward, seconds):
        self.told.append(("ask", scene, reward, seconds))
        return 1

    def recall(self, reward, action):
        self.told.append(("recall", reward, action))

    def finish(self, scene, reward):
        self.told.append(("finish", scene, reward))


def shown(observation, reward):
    return {"kind": "test", "seen": observation, "reward": reward}


BRIEFING = Briefing(3, Space((4,)), scene=shown)


@pytest.fixture
def notebook():
    desk = Notebook()
    seat(desk)
    yield desk
    seat(None)


def test_a_person_sees_scenes_and_never_observations(notebook):
    person = Person("p1")
    person.begin(BRIEFING, np.random.default_rng(0))
    person.recall(0.25, 1, 2)
    assert person.act(0.5, 3) == 1
    person.finish(-1.0, 0)
    assert notebook.told == [
        ("begin", 3),
        ("recall", 0.25, 2),
        ("ask", shown(3, 0.5), 0.5, math.inf),
        ("finish", shown(0, -1.0), -1.0),
    ]


def test_people_are_costly_and_see_scenes():
    assert Person.costly
    assert Person.sees_scenes


@pytest.mark.parametrize("briefing", [BRIEFING, Briefing(3, Space((4,)))])
def test_a_person_who_is_not_here_takes_no_test(briefing):
    with pytest.raises(InvalidInputError, match="'p2' is not here"):
        Person("p2").begin(briefing, np.random.default_rng(0))


def test_without_scenes_there_is_nothing_to_show(notebook):
    with pytest.raises(InvalidInputError, match="not here"):
        Person("p1").begin(Briefing(3, Space((4,))), np.random.default_rng(0))
    assert not notebook.told
