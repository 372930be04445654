"""PWorld: its squares and elements, what the four tasks pay, and dials that move one measure."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from omnimeter import evaluate
from omnimeter.catalogue import Kind, listing, make, parse
from omnimeter.contract import Instance, InvalidInputError, UnknownNameError
from omnimeter.environments.pworld import PWorld, World, objects
from omnimeter.environments.pworld.elements import Listener, Plants, Walker, Weather
from omnimeter.environments.pworld.tasks import FEATURES, HIKER, WARMTH, stakes
from omnimeter.environments.pworld.world import DOWN, LEFT, RIGHT, UP, offsets
from omnimeter.measures import Belief, measure

ELEMENT = '''
from omnimeter.environments.pworld import Element


class Painter(Element):
    """Paints one square a turn.

    Args:
        colour: What it is called.
    """

    columns = {"paint": ("red", "blue")}

    def __init__(self, colour: str = "red") -> None:
        self.colour = colour

    def act(self, world, rng):
        world.add_proposition(int(rng.integers(world.size**2)), "paint", self.colour)
'''


def rng(seed: int = 0) -> np.random.Generator:
    return np.random.default_rng(seed)


def small_world() -> World:
    return World(3, {"tree": (True,), "height": (1, 2, 3)}, edible=["tree"])


def measures(parameters: Mapping[str, Any], seeds: int = 6, steps: int = 8) -> dict[str, float]:
    """The mean forms of all measures over some worlds."""
    results = []
    for seed in range(seeds):
        world = PWorld(**parameters)
        instance = world.draw(rng(seed))
        size = instance.data["size"]
        beliefs = [
            Belief(row * size + column, name, value)
            for row, column, name, value in instance.data["knowledge"]
        ]
        result = measure(world.overlay(instance, rng(seed + 100), steps), knowledge=beliefs)
        assert result.variability is not None
        assert result.volatility is not None
        assert result.inconsistency is not None
        results.append(
            {
                "size": result.size,
                "density": result.density,
                "difference": result.variability.difference,
                "volatility": result.volatility.mean,
                "inconsistency": result.inconsistency.of_beliefs,
            }
        )
    return {name: float(np.mean([each[name] for each in results])) for name in results[0]}


# The world


def test_propositions_are_added_sensed_and_removed() -> None:
    world = small_world()
    world.add_proposition(4, "tree")
    world.add_proposition(1, "height", 2)
    assert world.sense(4, 1) == {4: {"tree": True}, 1: {"height": 2}, 3: {}, 5: {}, 7: {}}
    assert world.sense(0, 1) == {0: {}, 1: {"height": 2}, 3: {}}
    world.remove_proposition(4, "tree")
    assert world.sense(4, 0) == {4: {}}
    assert world.value("height", 1) == 2


def test_unknown_propositions_and_values_are_named() -> None:
    world = small_world()
    with pytest.raises(UnknownNameError, match="Did you mean 'tree'"):
        world.add_proposition(0, "three")
    with pytest.raises(InvalidInputError, match="Its values: 1, 2, 3"):
        world.add_proposition(0, "height", 4)
    world.enter("frog", 4)
    outside: list[Callable[[], object]] = [
        lambda: world.remove_proposition(-1, "tree"),
        lambda: world.value("tree", -1),
        lambda: world.sense(9, 1),
        lambda: world.enter("frog", 9999),
        lambda: world.neighbour(9, 0),
    ]
    for each in outside:
        with pytest.raises(InvalidInputError, match="Squares are 0 to 8"):
            each()
    assert world.positions == {"frog": 4}
    with pytest.raises(InvalidInputError, match="There is no direction 7"):
        world.move("frog", 7)
    for act in (lambda: world.move("fog", 0), lambda: world.eat("fog")):
        with pytest.raises(UnknownNameError, match="Did you mean 'frog'"):
            act()


def test_walls_block_and_eating_clears_what_is_edible() -> None:
    world = small_world()
    world.enter("hare", 0)
    assert [world.move("hare", each) for each in (UP, LEFT, RIGHT, DOWN)] == [
        False, False, True, True,
    ]  # fmt: skip
    assert world.positions == {"hare": 4}
    world.add_proposition(4, "tree")
    world.add_proposition(4, "height", 3)
    assert world.eat("hare") == {"tree": True}
    assert world.eat("hare") == {}
    assert world.sense(4, 0) == {4: {"height": 3}}


def test_every_change_is_an_event() -> None:
    happened = []
    world = World(3, {"tree": (True,)}, edible=["tree"], record=happened.append)
    world.enter("hare", 0)
    world.advance()
    world.add_proposition(1, "tree")
    world.add_proposition(1, "tree")  # which changes nothing
    world.move("hare", RIGHT)
    world.eat("hare")
    assert [(each.turn, each.kind, each.square, each.code) for each in happened] == [
        (0, "move", 0, 0), (1, "turn", -1, 0), (1, "set", 1, 1), (1, "move", 1, 0),
        (1, "eat", 1, 0), (1, "set", 1, 0),
    ]  # fmt: skip


def test_the_window_has_the_own_square_first() -> None:
    assert offsets(1) == ((0, 0), (-1, 0), (0, -1), (0, 1), (1, 0))
    assert len(offsets(3)) == 25


# Elements


def test_our_elements_are_in_the_catalogue() -> None:
    names = [each.id for each in listing(Kind.ELEMENT) if each.package == "omnimeter"]
    assert names == ["listener-v1", "plants-v1", "walker-v1", "weather-v1"]
    assert make(Kind.ELEMENT, parse(Kind.ELEMENT, "weather(rate=0.5)")).rate == 0.5
    with pytest.raises(InvalidInputError, match="rate is 2"):
        make(Kind.ELEMENT, parse(Kind.ELEMENT, "walker(rate=2)"))


def test_weather_keeps_each_column_as_it_was() -> None:
    codes = (rng().random((400, 3)) < [0.1, 0.5, 1.0]).astype(np.int32)
    world = World(20, {"ground-1": (True,), "ground-2": (True,), "rock": (True,)}, codes)
    world.add_element("weather", Weather(0.2), rng())
    for _ in range(50):
        world.act(rng(world.turn))
        world.advance()
    assert np.mean(world.codes[:, :2] != codes[:, :2]) > 0.2
    assert np.abs(world.codes.mean(axis=0) - codes.mean(axis=0)).max() < 0.08
    assert (world.codes[:, 2] == codes[:, 2]).all()


def test_plants_ripen_wither_and_stay_as_many() -> None:
    world = World(6, Plants.columns, edible=list(Plants.columns))
    source = rng()
    world.add_element("plants", Plants(12, growth=0.5, decay=0.2), source)
    world.enter("goat", 0)
    stages, counts = set(), []
    for turn in range(300):
        world.act(source)
        world.advance()
        world.move("goat", turn % 4)
        world.eat("goat")
        stages |= {world.value("plant", square) for square in range(36)}
        counts.append(int((world.codes[:, 0] > 0).sum()))
    assert stages == {False, "seedling", "ripe", "withered"}
    assert max(counts) == 12
    assert np.mean(counts) > 10
    assert ((world.codes[:, 0] > 0) == (world.codes[:, 1] > 0)).all()


def test_walkers_never_share_a_square() -> None:
    world, source = World(3, Walker.columns), rng()
    for number in range(5):
        world.add_element(f"walker-{number}", Walker(), source)
    before = dict(world.positions)
    for _ in range(100):
        world.act(source)
        assert np.flatnonzero(world.codes[:, 0]).tolist() == sorted(world.positions.values())
        assert len(set(world.positions.values())) == 5
    assert world.positions != before


def test_the_listener_makes_one_step_a_turn() -> None:
    world, listener = World(5, {"gem": (True,)}, edible=["gem"]), Listener()
    world.add_element("listener", listener, rng())
    world.enter("listener", 0)
    world.add_proposition(13, "gem")
    listener.destination = 13
    turns = 0
    while listener.collected is None:
        world.act(rng())
        turns += 1
    assert (turns, listener.collected) == (5, (13, {"gem": True}))


def test_an_element_of_a_file_acts_in_a_world(tmp_path: Path) -> None:
    file = tmp_path / "painter.py"
    file.write_text(ELEMENT, encoding="utf-8")
    world = PWorld(size=3, targets=1, lookalikes=1, elements=[f"{file}:Painter(colour=blue)"])
    instance = world.draw(rng())
    environment = world.build(instance)
    assert environment.briefing().remarks["columns"]["paint"] == ["red", "blue"]
    environment.start(rng())
    for _ in range(60):
        observation = environment.step(0).observation
    assert world.scene(instance, observation)["cells"][0]["holds"]["paint"] == "blue"
    overlay = world.overlay(instance, rng(), 60)
    assert (overlay.at(60)[:, -1] == 2).all()


def test_elements_that_do_not_fit_are_explained(tmp_path: Path) -> None:
    file = tmp_path / "odd.py"
    file.write_text(ELEMENT.replace('"paint"', '"warmth"'), encoding="utf-8")
    with pytest.raises(InvalidInputError, match="Painter needs 'warmth'"):
        PWorld(elements=[f"{file}:Painter"])
    with pytest.raises(UnknownNameError, match="walker"):
        PWorld(elements=["walkr"])
    with pytest.raises(InvalidInputError, match="not a class with a method act"):
        PWorld(elements=["json:loads"])


# What is drawn


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"task": "sleep"}, "no task"),
        ({"size": 1}, "1 x 1"),
        ({"size": 3}, "15 objects do not fit into 9"),
        ({"perception": -1}, "perception is -1"),
        ({"background": 1}, "background is 1"),
        ({"targets": 0}, "targets is 0"),
        ({"variability": 4.5}, "differ in 4.5 of 8"),
        ({"volatility": -0.1}, "volatility"),
        ({"inconsistency": 2}, "inconsistency"),
        ({"accuracy": 2}, "accuracy"),
    ],
)
def test_wrong_parameters_are_refused(parameters: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidInputError, match=message):
        PWorld(**parameters)


def test_objects_are_characterised_as_their_profiles_say() -> None:
    world = PWorld(size=40, targets=500, lookalikes=1000)
    instance = world.draw(rng())
    kinds = objects(instance)
    assert sum(kind == HIKER for kind in kinds.values()) == 500
    assert len(kinds) == 1500
    remarks = world.build(instance).briefing().remarks
    profiles = remarks["profiles"]
    assert list(profiles["prior"].values()) == pytest.approx([1 / 3, 1 / 3, 1 / 3])
    records = instance.data["objects"]
    for kind in profiles["prior"]:
        holds = [each["holds"] for each in records if each["kind"] == kind]
        for name, shares in FEATURES.items():
            assert np.mean([name in each for each in holds]) == pytest.approx(
                shares[kind], abs=0.07
            )
        levels, share = profiles["activations"][WARMTH]
        mean = np.mean([each[WARMTH] for each in holds])
        assert mean == pytest.approx((levels - 1) * share[kind], abs=0.2)
    empty = np.setdiff1d(np.arange(1600), list(kinds))
    assert not world.world(instance).codes[empty, world.setting.background :].any()


@pytest.mark.parametrize("task", ["gather", "locate", "map", "tell"])
def test_knowledge_is_wrong_as_often_as_asked_for(task: Any) -> None:
    world = PWorld(task, inconsistency=0.25)
    instance = world.draw(rng())
    initial = world.world(instance)
    beliefs = world.build(instance).briefing().remarks["knowledge"]
    wrong = [initial.value(name, 8 * row + col) != value for row, col, name, value in beliefs]
    assert sum(wrong) == round(len(beliefs) / 4)
    assert len({(row, col) for row, col, *_ in beliefs}) == (32 if task == "map" else 8)


DIALS = {
    "size": [{"size": 8}, {"size": 16, "targets": 20, "lookalikes": 40}],
    "density": [{"background": 8}, {"background": 16}, {"background": 32}],
    "difference": [{"variability": 0.5}, {"variability": 2}, {"variability": 8}],
    "volatility": [{"volatility": 0.0}, {"volatility": 0.05}, {"volatility": 0.5}],
    "inconsistency": [{"inconsistency": 0.0}, {"inconsistency": 0.3}, {"inconsistency": 1.0}],
}


@pytest.mark.parametrize("wanted", list(DIALS))
def test_a_dial_moves_one_measure(wanted: str) -> None:
    """Difference is the numerator of variability, whose denominator grows with the size."""
    base = {"background": 16, "variability": 4.0}
    series = [measures({**base, **setting}) for setting in DIALS[wanted]]
    for name in series[0]:
        values = [each[name] for each in series]
        if name == wanted:
            assert all(later > 1.2 * earlier for earlier, later in pairwise(values)), values
            continue
        assert max(values) - min(values) <= 0.05 * max(*values, 1.0), (name, values)


def test_complexity_grows_with_every_dial() -> None:
    worlds = [PWorld(**each) for each in ({}, {"size": 9}, {"background": 9}, {"volatility": 0.1})]
    instance = worlds[0].draw(rng())
    first, *others = [world.complexity(instance) for world in worlds]
    assert all(other > first for other in others)
    assert (
        PWorld(variability=0.5).complexity(instance)
        < first
        < PWorld(inconsistency=0.1).complexity(instance)
    )
    with pytest.raises(InvalidInputError, match="have complexity"):
        worlds[0].draw(rng(), first + 1)
    assert worlds[0].draw_between(rng(), first + 1, first + 2) is None


# Tasks


def walk_to(environment: Any, square: int) -> float:
    """Move the agent; what it gets on the way."""
    size, paid = environment.world.size, 0.0
    for axis, moves in ((0, (UP, DOWN)), (1, (LEFT, RIGHT))):
        while (here := divmod(environment.world.positions["agent"], size)[axis]) != (
            there := divmod(square, size)[axis]
        ):
            paid += environment.step(moves[here < there]).reward
    return paid


def built(world: PWorld, seed: int = 0) -> tuple[Any, Instance]:
    instance = world.draw(rng(seed))
    environment = world.build(instance)
    environment.start(rng(seed))
    return environment, instance


def test_observations_are_what_is_sensed() -> None:
    world = PWorld(perception=2, volatility=0.1)
    environment, instance = built(world)
    for action in rng().integers(4, size=30).tolist():
        observation = environment.step(action).observation
        scene = world.scene(instance, observation)
        size, here = 8, environment.world.positions["agent"]
        assert observation[:2].tolist() == list(divmod(here, size))
        shown = {size * each["row"] + each["column"]: each["holds"] for each in scene["cells"]}
        assert shown == environment.world.sense(here, 2)


def test_calling_every_object_a_target_or_none_is_worth_nothing() -> None:
    for action, total in ((4, 0.0), (5, 0.0)):
        environment, instance = built(PWorld())
        rewards = []
        for square in objects(instance):
            assert walk_to(environment, square) == 0
            rewards.append(environment.step(action).reward)
            assert environment.step(4).reward == 0  # the first declaration counts
        assert sum(rewards) == pytest.approx(total)
        if action == 4:
            expected = [1.0 if kind == HIKER else -0.5 for kind in objects(instance).values()]
            assert rewards == expected
    empty = next(square for square in range(64) if square not in objects(instance))
    walk_to(environment, empty)
    assert environment.step(4).reward == 0


@pytest.mark.parametrize(("targets", "others"), [(5, 10), (10, 5), (3, 3), (1, 63)])
def test_stakes_are_balanced_and_as_high_as_can_be(targets: int, others: int) -> None:
    gain, loss = stakes(targets, others)
    assert targets * gain == pytest.approx(others * loss)
    assert max(gain, loss) == 1.0


def test_ripe_food_pays_and_ripe_poison_costs() -> None:
    environment, instance = built(PWorld("gather", targets=10, lookalikes=10))
    for element in environment.world.elements.values():
        element.growth = element.decay = 0.0
    paid = {"food": 1.0, "poison": -1.0}
    for each in instance.data["objects"]:
        assert walk_to(environment, each["square"]) == 0
        expected = paid[each["kind"]] if each["holds"]["plant"] == "ripe" else 0.0
        assert environment.step(4).reward == expected
        assert environment.step(4).reward == 0


def test_questions_are_asked_and_answers_judged() -> None:
    environment, _ = built(PWorld("map", volatility=0.05))
    assert environment.step(4).reward == 0  # nothing is asked
    environment.world.turn = 0
    answers = []
    for turn in range(1, 2001):
        asked = environment.step(turn % 4).observation[-3:].tolist()
        if turn % 10:
            assert asked == [0, 0, 0]
            continue
        row, column, proposition = (each - 1 for each in asked)
        holds = environment.world.value(f"ground-{proposition + 1}", 8 * row + column)
        answers.append(bool(holds))
        says = turn // 10 % 3  # rightly, wrongly, or not at all
        action = (5 if holds else 4) if says == 0 else (4 if holds else 5) if says == 1 else 0
        assert environment.step(action).reward == (1.0, -1.0, 0.0)[says]
        environment.world.turn -= 1  # the answer takes no turn here
    assert np.mean(answers) == pytest.approx(0.5, abs=0.11)


def test_the_listener_is_sent_to_targets() -> None:
    world = PWorld("tell", size=6)
    environment, instance = built(world)
    left = 5
    squares = [*objects(instance), next(s for s in range(36) if s not in objects(instance))]
    for square in squares:
        row, column = divmod(square, 6)
        assert environment.step(4 + row).observation[-2:].tolist() == [row + 1, 0]
        percept = environment.step(4 + column)
        waited = 0
        while percept.observation[-1]:
            assert percept.reward == 0
            percept = environment.step(UP)
            waited += 1
        assert waited <= 10
        if objects(instance).get(square) == HIKER:
            assert percept.reward == 1.0
            left -= 1
        else:
            assert percept.reward == pytest.approx(-left / (36 - left))
    assert left == 0
    environment.step(4)
    assert environment.step(UP).observation[-2] == 0  # a move breaks a message off


@pytest.mark.slow
@pytest.mark.parametrize("task", ["gather", "locate", "map", "tell"])
@pytest.mark.parametrize("counts", [(3, 4), (6, 2)])
def test_acting_at_random_is_worth_nothing(task: Any, counts: tuple[int, int]) -> None:
    world = PWorld(task, size=4, targets=counts[0], lookalikes=counts[1], volatility=0.02)
    assert world.claims().balanced
    sums = []
    for seed in range(500):
        environment, _ = built(world, seed)
        actions = rng(seed + 1000).integers(environment.actions, size=200).tolist()
        sums.append(sum(environment.step(action).reward for action in actions))
    assert np.std(sums) > 0
    assert abs(np.mean(sums)) < 3.5 * np.std(sums) / np.sqrt(len(sums))


def test_agents_that_know_nothing_of_worlds_run() -> None:
    parameters = "size=4,perception=0,background=2,targets=1,lookalikes=2"
    result = evaluate(
        ["random", "q-learning"], f"pworld(task=gather,{parameters})", exercises=2, seed=0
    )
    assert len(result.scores) == 2
