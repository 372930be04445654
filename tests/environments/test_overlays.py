"""Environment classes as overlays: squares, adjacency and propositions are those of the class."""

import numpy as np
import pytest

from omnimeter.contract import Instance, InvalidInputError
from omnimeter.contract.overlay import Lattice
from omnimeter.environments.automata import Automata
from omnimeter.environments.buttons import Buttons
from omnimeter.environments.cups import Cups
from omnimeter.environments.lambda_class import Lambda
from omnimeter.environments.mdp import MDP, GeneralisedChain, GeneralisedDoubleLoop, Grid
from omnimeter.environments.torus import Torus
from omnimeter.measures import measure, variability

STEPS = 12


def drawn(environment_class, seed=0, steps=STEPS):
    rng = np.random.default_rng(seed)
    instance = environment_class.draw(rng)
    return instance, environment_class.overlay(instance, rng, steps)


def columns_at(overlay, time):
    """What holds in each square at a time, by name."""
    labels = [(name, list(values)) for name, values in overlay.columns.items()]
    return [
        {name: values[code - 1] for (name, values), code in zip(labels, row, strict=True) if code}
        for row in overlay.at(time)
    ]


CLASSES = [
    Lambda(), Automata(), Torus(), GeneralisedChain(), GeneralisedDoubleLoop(), Grid(), MDP(),
    Buttons(), Cups(max_cups=5), Cups(max_cups=5, rule="rest"),
]  # fmt: skip


@pytest.mark.parametrize("environment_class", CLASSES, ids=lambda each: type(each).__name__)
@pytest.mark.parametrize("seed", range(3))
def test_every_measure_is_defined(environment_class, seed):
    _, overlay = drawn(environment_class, seed)
    result = measure(overlay)
    assert overlay.duration == STEPS
    assert result.complexity > 0
    assert result.variability.ratio > 0
    changing = isinstance(environment_class, Lambda | Torus)
    assert (result.volatility.total > 0) == changing


def test_lambda_has_one_good_and_one_evil_and_their_rewards():
    _, overlay = drawn(Lambda(space="grid-3x4", objects=["still"]))
    assert overlay.adjacency.size == 12
    still = {square.get("object 1") for square in columns_at(overlay, 1)}
    assert still == {None, True}
    for time in range(1, STEPS + 1):
        squares = columns_at(overlay, time)
        assert [square["reward"] for square in squares if square.get("good")] == [1.0]
        assert [square["reward"] for square in squares if square.get("evil")] == [-1.0]
    grid = measure(overlay).variability
    assert grid.distance == pytest.approx(7 / 3)  # (3 + 4) / 3 on a grid of 3 x 4


def test_torus_pays_what_the_overlay_says():
    torus = Torus(size=5)
    rng = np.random.default_rng(3)
    instance = torus.draw(rng)
    overlay = torus.overlay(instance, np.random.default_rng(4), STEPS)
    assert overlay.adjacency == Lattice((5, 5), torus=True)
    again, environment = np.random.default_rng(4), torus.build(instance)
    environment.start(again)
    for time in range(2, STEPS + 1):
        reward, seen = environment.step(int(again.integers(5)))
        x, y = environment.state.places[:2]
        squares = np.array(columns_at(overlay, time)).reshape(5, 5)
        here = squares[x, y]
        assert here["reward"] == pytest.approx(reward)
        limits = [here.get(f"limit {side}", False) for side in ("left", "right", "up", "down")]
        assert limits == [bool(each) for each in seen[2::3]]
        assert bool(seen[0]) == squares[(x - 1) % 5, y].get("good", False)


def test_automata_and_mdps_do_not_change():
    automata = Automata(example="figure-6")
    _, overlay = drawn(automata)
    assert columns_at(overlay, STEPS) == [
        {"observation": 0, "reward": -0.5},
        {"observation": 1, "reward": 1.0},
    ]
    _, grid = drawn(Grid())
    assert grid.adjacency.size == 24  # the goal leads back at once, so no agent is ever there
    assert "G" not in grid.names
    instance, chain = drawn(GeneralisedChain())
    forward = instance.data["probabilities"][3][0][instance.data["successors"][3][0].index(4)]
    expected = 10 * forward + 2 * (1 - forward)
    assert columns_at(chain, 1)[3]["reward of 1"] == pytest.approx(expected)


def test_cups_have_the_states_that_can_be_reached():
    cups = Cups()
    instance = Instance({"colours": "WBB", "rule": "published"})
    overlay = cups.overlay(instance, np.random.default_rng(0), 1)
    # Colours with one or three white cups, and the three turns of a round.
    assert overlay.adjacency.size == 12
    rewards = [square["reward"] for square in columns_at(overlay, 1)]
    assert sorted(rewards) == [0] * 9 + [1] * 3
    many = Instance({"colours": "W" * 20, "rule": "rest"})
    with pytest.raises(InvalidInputError, match="20 cups have more"):
        cups.overlay(many, np.random.default_rng(0), 1)


def test_buttons_may_shrink_or_never_change_the_scene():
    _, bounded = drawn(Buttons("bounded"))
    assert columns_at(bounded, 3)[0]["reward of B1"] == 1 / 8
    assert measure(bounded).volatility.mean == pytest.approx(1)  # one reward of each scene
    _, fate = drawn(Buttons("fate"))
    with pytest.raises(InvalidInputError, match="cannot be reached"):
        variability(fate)


def test_other_classes_say_that_they_have_none():
    from broken_environments import Dials

    with pytest.raises(InvalidInputError, match="Dials cannot be divided into squares"):
        drawn(Dials())
