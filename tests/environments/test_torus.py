"""The torus: moves, rewards and observations, and that it is fit for testing."""

from __future__ import annotations

from itertools import product
from math import hypot

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from omnimeter.audits import audit
from omnimeter.contract import Instance, InvalidInputError, Percept, stream
from omnimeter.environments.torus import Torus
from omnimeter.environments.torus.dynamics import nearness_table
from omnimeter.interaction import KernelEnvironment

LETTERS = "LRUDS"
STEPS = {"L": (-1, 0), "R": (1, 0), "U": (0, 1), "D": (0, -1), "S": (0, 0)}

Cell = tuple[int, int]


def torus(good: str, evil: str, size: int = 9) -> KernelEnvironment:
    environment = Torus(size).build(Instance({"good": good, "evil": evil}))
    environment.start(stream(0).generator())
    return environment


def put(environment: KernelEnvironment, agent: Cell, good: Cell, evil: Cell) -> None:
    """Put the agent, Good and Evil into cells, at the beginning of the paths; cells count from 1
    as in the text.
    """
    cells = [coordinate - 1 for cell in (agent, good, evil) for coordinate in cell]
    environment.state.places[:] = cells
    environment.state.turns[:] = 0


def cells(environment: KernelEnvironment) -> tuple[Cell, Cell, Cell]:
    x = [int(place) + 1 for place in environment.state.places]
    return (x[0], x[1]), (x[2], x[3]), (x[4], x[5])


def do(environment: KernelEnvironment, letter: str) -> Percept:
    return environment.step(LETTERS.index(letter))


def led_to(cell: Cell, letter: str, size: int = 9) -> Cell:
    x, y = STEPS[letter]
    return (cell[0] - 1 + x) % size + 1, (cell[1] - 1 + y) % size + 1


def distance(one: Cell, other: Cell, size: int = 9) -> float:
    x, y = (abs(a - b) for a, b in zip(one, other, strict=True))
    return hypot(min(x, size - x), min(y, size - y))


# The numbers of section 6.3


def test_the_reward_on_good_is_what_the_formula_says() -> None:
    """The text has 0.83 with a distance of 5; (4,3) and (6,7) are sqrt(20) = 4.47 apart."""
    environment = torus("S", "S")
    put(environment, (4, 3), (4, 3), (6, 7))
    assert do(environment, "S").reward == pytest.approx(1 - 1 / (20**0.5 + 1))
    assert pytest.approx(0.817, abs=5e-4) == 1 - 1 / (20**0.5 + 1)
    put(environment, (4, 3), (4, 3), (7, 7))  # three across and four up are 5
    assert do(environment, "S").reward == pytest.approx(0.83, abs=0.005)


def test_the_limits_can_be_surpassed() -> None:
    environment = torus("S", "S")
    put(environment, (1, 5), (9, 5), (5, 1))
    assert distance((1, 5), (9, 5)) == 1
    evil = 1 / (distance((1, 5), (5, 1)) + 1)
    assert do(environment, "S").reward == pytest.approx(1 / 2 - evil)
    do(environment, "L")
    assert cells(environment)[0] == (9, 5)


def test_left_against_right() -> None:
    environment = torus("L", "R")
    put(environment, (5, 5), (5, 5), (2, 2))
    for _ in range(9):
        reward, _ = do(environment, "L")
        agent, good, evil = cells(environment)
        assert agent == good
        assert reward == pytest.approx(1 - 1 / (distance(good, evil) + 1))
    assert cells(environment) == ((5, 5), (5, 5), (2, 2))


def test_more_than_a_half_is_only_paid_on_good() -> None:
    """But not always there: next to Evil, Good's cell pays exactly a half."""
    nearness = nearness_table(9).reshape(9, 9)
    on_good = [1 - nearness[y, x] for y, x in product(range(9), repeat=2) if (x, y) != (0, 0)]
    assert min(on_good) == 0.5
    assert sorted(on_good)[:5] == pytest.approx([0.5] * 4 + [1 - 1 / (2**0.5 + 1)])
    elsewhere = nearness.ravel()[1:]
    assert elsewhere.max() - nearness.min() < 0.5


def test_a_path_is_repeated_when_exhausted() -> None:
    environment = torus("UULRDD", "S")
    put(environment, (1, 1), (5, 5), (1, 9))
    seen = []
    for _ in range(12):
        do(environment, "S")
        seen.append(cells(environment)[1])
    assert seen[:6] == [(5, 6), (5, 7), (4, 7), (5, 7), (5, 6), (5, 5)]
    assert seen[6:] == seen[:6]


# The rules


def test_good_and_evil_never_share_a_cell() -> None:
    """Whatever they do, wherever they are: by induction, since they begin in different cells."""
    met = 0
    for good_move, evil_move in product(LETTERS, repeat=2):
        environment = torus(good_move, evil_move)
        for x, y in product(range(1, 10), repeat=2):
            good, evil = (5, 5), (x, y)
            if good == evil:
                continue
            wanted = led_to(good, good_move), led_to(evil, evil_move)
            allowed = {wanted}
            if wanted[0] == wanted[1]:
                met += 1
                allowed = {(wanted[0], evil), (good, wanted[1])} - {(good, good), (evil, evil)}
            for _ in range(4 if len(allowed) > 1 else 1):
                put(environment, (1, 1), good, evil)
                do(environment, "S")
                now = cells(environment)[1:]
                assert now[0] != now[1]
                assert now in allowed
    assert met == 5 * 4  # each way of being next to or near each other in which both come together


def test_good_and_evil_begin_in_different_cells_drawn_evenly() -> None:
    environment = Torus(3).build(Instance({"good": "S", "evil": "S"}))
    counts = np.zeros((3, 9))
    joint = 0
    for number in range(2000):
        environment.start(stream(1, number).generator())
        places = environment.state.places.reshape(3, 2) @ [1, 3]
        assert places[1] != places[2]
        joint += places[0] == places[1]
        counts[range(3), places] += 1
    assert np.abs(counts / 2000 - 1 / 9).max() < 0.03
    assert joint / 2000 == pytest.approx(1 / 9, abs=0.03)


def test_which_one_gives_way_is_random() -> None:
    environment = torus("L", "R")
    moved = 0
    for _ in range(1000):
        put(environment, (1, 1), (6, 5), (4, 5))
        do(environment, "S")
        moved += cells(environment)[1] == (5, 5)
    assert 430 < moved < 570


@given(
    st.text(LETTERS, min_size=1, max_size=4),
    st.text(LETTERS, min_size=1, max_size=4),
    st.text(LETTERS, min_size=1, max_size=20),
    st.sampled_from([3, 4, 9]),
    st.integers(0, 100),
)
def test_every_interaction_follows_the_rules(
    good_path: str, evil_path: str, actions: str, size: int, seed: int
) -> None:
    environment = Torus(size).build(Instance({"good": good_path, "evil": evil_path}))
    reward, seen = environment.start(stream(seed).generator())
    assert reward == 0.0
    agent, good, evil = cells(environment)
    assert np.asarray(seen).tolist() == looked_around(agent, good, evil, size)
    for number, action in enumerate(actions):
        before = good, evil
        wanted = (
            led_to(good, good_path[number % len(good_path)], size),
            led_to(evil, evil_path[number % len(evil_path)], size),
        )
        agent = led_to(agent, action, size)
        reward, seen = do(environment, action)
        now, good, evil = cells(environment)
        assert now == agent
        assert good != evil
        if wanted[0] == wanted[1]:
            assert (good, evil) in {(wanted[0], before[1]), (before[0], wanted[1])}
        else:
            assert (good, evil) == wanted
        near, far = (1 / (distance(agent, each, size) + 1) for each in (good, evil))
        assert reward == pytest.approx(near - far)
        assert np.asarray(seen).tolist() == looked_around(agent, good, evil, size)


def looked_around(agent: Cell, good: Cell, evil: Cell, size: int) -> list[int]:
    seen = []
    for letter in "LRUD":
        cell = led_to(agent, letter, size)
        x, y = STEPS[letter]
        inside = cell == (agent[0] + x, agent[1] + y)
        seen += [int(cell == good), int(cell == evil), int(not inside)]
    return seen


# Fit for testing


@pytest.mark.parametrize(("good", "evil"), [("L", "R"), ("S", "S"), ("ULD", "LRRS")])
@pytest.mark.parametrize("size", [4, 9])
def test_random_behaviour_is_worth_nothing_from_the_first_action_on(
    good: str, evil: str, size: int
) -> None:
    """Whatever is done without looking, exactly: the mean over all cells the agent may be in."""
    environment = torus(good, evil, size)
    actions = stream(3).generator().choice(list(LETTERS), size=12)
    total = np.zeros(12)
    for agent in product(range(1, size + 1), repeat=2):
        put(environment, agent, (2, 2), (3, 3))
        environment.state.rng[0] = 5  # the same chances for every cell
        total += [do(environment, action).reward for action in actions]
    assert np.abs(total / size**2).max() < 1e-12


@pytest.mark.parametrize("size", [3, 4, 5, 8, 9, 10, 25, 40])
def test_every_action_can_make_a_difference(size: int) -> None:
    """For any two cells of Good and Evil and any cell of the agent, up to symmetry."""
    nearness = nearness_table(size).reshape(size, size)
    shifts = [((0, 1)[axis], by) for axis in (0, 1) for by in (-1, 1)]
    near = np.stack([nearness] + [np.roll(nearness, by, axis) for axis, by in shifts])
    for x in range(size // 2 + 1):
        for y in range(x + 1):
            if (x, y) != (0, 0):
                rewards = near - np.roll(near, (y, x), (1, 2))
                assert np.ptp(rewards, axis=0).min() > 1e-6


class AtLevel(Torus):
    """Tori of one level of an adaptive test."""

    level: float

    def draw(self, rng: np.random.Generator, complexity: float | None = None) -> Instance:
        if complexity is not None:
            return super().draw(rng, complexity)
        drawn = self.draw_between(rng, self.level - 1, self.level)
        assert drawn is not None
        return drawn


@pytest.mark.parametrize("level", [10.0, 12.5, 20.0, 45.0, 90.0, 123.0])
def test_audits_are_green_at_every_level(level: float) -> None:
    examined = AtLevel()
    examined.level = level
    report = audit(examined, instances=6, interactions=500)
    assert report.fit, report.findings


def test_people_see_what_agents_see() -> None:
    environment = torus("S", "S")
    put(environment, (1, 5), (9, 5), (1, 6))
    reward, seen = do(environment, "S")
    scene = Torus().scene(Instance({"good": "S", "evil": "S"}), seen, reward)
    assert scene["buttons"] == ["left", "right", "up", "down", "stay"]
    assert scene["reward"] == reward
    shown = {(each["column"], each["row"]): each for each in scene["cells"]}
    assert shown[0, 1]["symbols"] == ["square"]
    assert shown[0, 1]["limit"]
    assert shown[1, 0]["symbols"] == ["diamond"]
    assert shown[1, 1]["symbols"] == ["circle"]
    assert sum(each["limit"] for each in scene["cells"]) == 1


# What cannot be


@pytest.mark.parametrize(
    "parameters", [{"size": 2}, {"size": 101}, {"max_path_length": 0}, {"max_path_length": 33}]
)
def test_impossible_parameters_are_rejected(parameters: dict[str, int]) -> None:
    with pytest.raises(InvalidInputError, match=r"Give a (size|max_path_length)"):
        Torus(**parameters)


@pytest.mark.parametrize(
    ("data", "said"),
    [
        ({"good": "LXR", "evil": "R"}, "good has 'X' at place 2"),
        ({"good": "L", "evil": ""}, "evil is ''"),
        ({"good": "L"}, "evil is None"),
    ],
)
def test_impossible_paths_are_rejected(data: dict[str, str], said: str) -> None:
    for use in (Torus().build, Torus().complexity):
        with pytest.raises(InvalidInputError, match=said):
            use(Instance(data))
