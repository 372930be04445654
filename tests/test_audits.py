"""The audits find what is wrong, and leave alone what is right."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from omnimeter.audits import Audit, Finding, audit
from omnimeter.audits.balance import class_mean, contains_nothing
from omnimeter.audits.graph import Graph, explore
from omnimeter.audits.lookahead import search
from omnimeter.audits.positions import (
    KernelPositions,
    PickledPositions,
    ReplayedPositions,
    started,
)
from omnimeter.audits.subject import Subject
from omnimeter.contract import (
    Claims,
    Environment,
    EnvironmentClass,
    Instance,
    InvalidInputError,
    Percept,
    canonical,
    single,
    stream,
)
from omnimeter.environments.buttons import Buttons
from omnimeter.environments.cups import Cups
from omnimeter.interaction import KernelEnvironment


class Automaton(Environment):
    """States with a row of next states and a row of rewards each."""

    def __init__(self, following: list[list[int]], rewards: list[list[float]]) -> None:
        self.following, self.pays = following, rewards
        self.actions = len(following[0])
        self.space = single(len(following))
        self.state = 0

    def start(self, rng: np.random.Generator) -> Percept:
        self.state = 0
        return Percept(0.0, 0)

    def step(self, action: int) -> Percept:
        reward = self.pays[self.state][action]
        self.state = self.following[self.state][action]
        return Percept(reward, self.state)


class Automata(EnvironmentClass):
    """Always the same automaton, under as many names as are drawn."""

    def __init__(
        self,
        following: list[list[int]],
        rewards: list[list[float]],
        claims: Claims = Claims(),  # noqa: B008 - a frozen value
    ) -> None:
        self.following, self.rewards, self._claims = following, rewards, claims

    def draw(self, rng: np.random.Generator, complexity: float | None = None) -> Instance:
        return Instance({"name": int(rng.integers(1000))})

    def complexity(self, instance: Instance) -> float:
        return 1.0

    def build(self, instance: Instance) -> Environment:
        return Automaton(self.following, self.rewards)

    def claims(self) -> Claims:
        return self._claims


class Coins(Automata):
    """Pays 1 or -1 by chance, whatever is done; one instance."""

    def __init__(self, mean: float, claims: Claims = Claims()) -> None:  # noqa: B008
        super().__init__([[0, 0]], [[0.0, 0.0]], claims)
        self.mean = mean

    def draw(self, rng: np.random.Generator, complexity: float | None = None) -> Instance:
        return Instance({})

    def build(self, instance: Instance) -> Environment:
        return Coin(self.mean)


class Coin(Environment):
    actions = 2
    space = single(1)

    def __init__(self, mean: float) -> None:
        self.chance = (1 + mean) / 2

    def start(self, rng: np.random.Generator) -> Percept:
        self.rng = rng
        return Percept(0.0, 0)

    def step(self, action: int) -> Percept:
        return Percept(1.0 if self.rng.random() < self.chance else -1.0, 0)


MATCH = [[0, 1], [0, 1]]
"""Action 0 leads to state 0, action 1 to state 1."""

FAIR = [[1.0, -1.0], [-1.0, 1.0]]
"""Going to state 0 is good in state 0 and bad in state 1: nothing on average."""


def finding(result: Audit, check: str) -> Finding:
    return next(each for each in result.findings if each.check == check)


def small(environment_class: EnvironmentClass, **changes: Any) -> Audit:
    return audit(environment_class, **{"instances": 8, "interactions": 120, **changes})


# What is right passes


@pytest.mark.parametrize("rule", ["published", "rest"])
def test_cups_pass(rule: Any) -> None:
    result = audit(Cups(rule=rule))
    assert result.ok
    assert [each.check for each in result.findings] == [
        "range", "balance", "sensitivity", "determinism", "rebuild", "agreement",
    ]  # fmt: skip
    assert finding(result, "sensitivity").passed == (rule == "rest")


@pytest.mark.parametrize("example", ["alternating", "bananas", "bounded", "balanced"])
def test_buttons_keep_their_claims(example: Any) -> None:
    result = audit(Buttons(example))
    assert result.ok
    assert finding(result, "balance").passed == (example == "balanced")
    assert finding(result, "sensitivity").numbers["needed_horizon"] == 1
    assert finding(result, "range").numbers["symmetric"] == (example == "balanced")


def test_a_class_without_kernels_is_audited_too() -> None:
    result = small(Automata(MATCH, FAIR, Claims(sensitive=1)))
    assert result.ok
    assert "agreement" not in [each.check for each in result.findings]
    assert finding(result, "sensitivity").numbers["decided_exactly"] == len(
        {stream(0, "audit", "instance", n).generator().integers(1000) for n in range(8)}
    )


def test_an_audit_is_json_and_repeatable() -> None:
    first, second = (audit(Cups(3, 4), instances=5).to_json() for _ in range(2))
    assert canonical(first) == canonical(second)
    assert first["settings"] == {
        "instances": 5, "interactions": 2520, "seed": 0, "level": 0.99,
    }  # fmt: skip
    assert audit(Cups(3, 4), instances=5, seed=1).to_json() != first


def test_progress_is_told_in_words_and_numbers() -> None:
    told: list[str | float] = []
    small(Automata(MATCH, FAIR), progress=told.append)
    shares = [each for each in told if isinstance(each, float)]
    assert shares == sorted(shares)
    assert shares[-1] == 1.0
    assert "balance" in told


@pytest.mark.parametrize("wrong", [{"instances": 0}, {"interactions": 0}, {"level": 1.0}])
def test_an_audit_of_nothing_is_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(InvalidInputError):
        audit(Cups(), **wrong)


# Range


def test_a_reward_out_of_range_is_found_with_its_instance() -> None:
    result = small(Automata(MATCH, [[1.5, -1.5], [0.0, 0.0]]))
    found = finding(result, "range")
    assert not result.ok
    assert not found.passed
    assert found.witness is not None
    assert found.witness["highest"] == 1.5
    assert set(found.witness["instance"]) == {"name"}
    assert not finding(result, "balance").passed  # Definition 13 begins with symmetric rewards


def test_a_reward_that_is_no_number_is_out_of_range() -> None:
    result = small(Automata(MATCH, [[float("nan"), 0.0], [0.0, 0.0]]))
    assert not finding(result, "range").passed
    canonical(result.to_json())


# Balance


def test_the_cups_that_are_not_balanced_by_themselves_are_found_exactly() -> None:
    environment_class = Cups()
    result = audit(environment_class, instances=60)
    balance = finding(result, "balance")
    drawn = {
        environment_class.draw(stream(0, "audit", "instance", n).generator()).data["colours"]
        for n in range(60)
    }
    odd = [colours for colours in drawn if len(colours) % 2 == 1]
    assert balance.passed
    assert balance.numbers["unbalanced_instances"] == len(odd)
    assert balance.witness is not None
    for each in balance.witness["instances"]:
        colours = each["instance"]["colours"]
        # Of the patterns that can be reached, half of all, one pays: white if blacks are even.
        sign = 1 if colours.count("B") % 2 == 0 else -1
        assert each["exact"]
        assert each["mean"] == pytest.approx(sign / 2 ** (len(colours) - 1))
        assert colours in odd


def test_cups_that_rest_are_balanced_one_by_one() -> None:
    assert finding(audit(Cups(rule="rest")), "balance").numbers["unbalanced_instances"] == 0


def test_a_slight_imbalance_is_caught() -> None:
    result = audit(Coins(0.05), interactions=400)
    balance = finding(result, "balance")
    assert not result.ok
    assert not balance.passed
    assert balance.numbers["low"] < 0.05 < balance.numbers["high"]


def test_an_imbalance_that_is_not_claimed_away_is_reported_only() -> None:
    result = small(Coins(0.5, Claims(balanced=False)))
    assert result.ok
    assert not finding(result, "balance").passed


def test_a_constant_imbalance_is_caught_and_found_exactly() -> None:
    result = small(Automata([[0, 0]], [[0.05, 0.05]]))
    balance = finding(result, "balance")
    assert not balance.passed
    assert balance.numbers["low"] == balance.numbers["high"] == pytest.approx(0.05)
    assert balance.witness is not None
    assert balance.witness["instances"][0]["exact"]


def test_few_equal_values_are_no_proof() -> None:
    """Two instances that agree say little about a class."""
    result = small(Automata([[0, 0]], [[0.05, 0.05]]), instances=2)
    assert finding(result, "balance").passed


def test_a_cycle_is_not_cut_off() -> None:
    cycle = Automata([[1, 1], [2, 2], [0, 0]], [[1.0, 1.0], [0.0, 0.0], [-1.0, -1.0]])
    assert finding(audit(cycle, instances=8), "balance").passed


@pytest.mark.slow
@pytest.mark.parametrize("environment_class", [Buttons(), Cups(), Cups(3, 5)])
def test_balanced_classes_are_refused_as_rarely_as_is_said(
    environment_class: EnvironmentClass,
) -> None:
    audits = 800
    refused = {0.9: 0, 0.99: 0}
    for seed in range(audits):
        subject = Subject(environment_class, 20, 252, seed, 0.99, lambda _: None)
        for level in refused:
            refused[level] += not contains_nothing(class_mean(subject, level))
    for level, count in refused.items():
        expected = audits * (1 - level)
        assert count <= expected + 3.5 * np.sqrt(expected)


@pytest.mark.slow
def test_unbalanced_classes_are_nearly_always_refused() -> None:
    for seed in range(40):
        subject = Subject(Coins(0.05), 20, 252, seed, 0.99, lambda _: None)
        assert not contains_nothing(class_mean(subject, 0.99))


# Sensitivity


def test_cups_that_never_pay_are_insensitive_and_no_others() -> None:
    environment_class = Cups(3, 6)
    sensitivity = finding(audit(environment_class, instances=40), "sensitivity")
    drawn = {
        environment_class.draw(stream(0, "audit", "instance", n).generator()).data["colours"]
        for n in range(40)
    }
    hopeless = [each for each in drawn if len(each) % 2 == 0 and each.count("B") % 2 == 1]
    assert hopeless
    assert not sensitivity.claimed
    assert sensitivity.numbers["insensitive_instances"] == len(hopeless)
    assert sensitivity.witness is not None
    assert sensitivity.witness["instance"]["colours"] in hopeless
    assert sensitivity.witness["decided"] == "exactly"


HEAVEN = [[0, 1], [2, 1], [2, 2]]
HEAVENLY = [[0.0, 0.5], [0.5, -0.5], [1.0, 1.0]]
"""From state 2 there is no return, and nothing that is done there matters."""


def test_heaven_is_found_with_the_shortest_way_to_it() -> None:
    result = small(Automata(HEAVEN, HEAVENLY, Claims(balanced=False, sensitive=3)))
    sensitivity = finding(result, "sensitivity")
    assert not result.ok
    assert not sensitivity.passed
    assert sensitivity.witness is not None
    witness = sensitivity.witness
    assert (witness["actions"], witness["observation"]) == ([1, 0], [2])
    assert (witness["horizon"], witness["insensitive"], witness["states"]) == (3, 1, 3)
    assert witness["decided"] == "exactly"


def test_the_horizon_decides() -> None:
    """Three actions of waiting, then a choice: 4-actions sensitive, not 3."""
    corridor = [[1, 1], [2, 2], [3, 3], [0, 0]]
    rewards = [[0.0, 0.0], [0.0, 0.0], [0.0, 0.0], [1.0, -1.0]]
    for horizon, holds in ((3, False), (4, True)):
        result = small(Automata(corridor, rewards, Claims(sensitive=horizon)))
        assert finding(result, "sensitivity").passed is holds


def test_rewards_that_differ_by_rounding_are_the_same() -> None:
    assert 0.1 + 0.2 != 0.3
    result = small(Automata([[0, 0]], [[0.1 + 0.2, 0.3]], Claims(balanced=False)))
    assert not finding(result, "sensitivity").passed
    tiny = small(Automata([[0, 0]], [[1e-300, 0.0]], Claims(balanced=False)))
    assert finding(tiny, "sensitivity").passed


class Forgetful(Automata):
    """Counts its steps, so that its states never close; after some of them nothing matters."""

    def build(self, instance: Instance) -> Environment:
        return Counting(self.following, self.rewards)


class Counting(Automaton):
    count = 0

    def step(self, action: int) -> Percept:
        self.count += 1
        percept = super().step(action)
        return Percept(1.0, percept.observation) if self.count > 30 else percept


class Unpicklable(Forgetful):
    def build(self, instance: Instance) -> Environment:
        environment = super().build(instance)
        environment.hook = lambda: None  # type: ignore[attr-defined]
        return environment


@pytest.mark.parametrize("kind", [Forgetful, Unpicklable])
def test_states_that_are_too_many_are_sampled(kind: type[Automata]) -> None:
    result = small(kind(MATCH, FAIR, Claims(balanced=False, sensitive=2)), instances=2)
    sensitivity = finding(result, "sensitivity")
    assert not sensitivity.passed
    assert sensitivity.numbers["decided_exactly"] == 0
    assert sensitivity.witness is not None
    assert len(sensitivity.witness["actions"]) >= 29
    assert sensitivity.witness["decided"] == "by every sequence from a sampled state"
    again = kind(MATCH, FAIR).build(Instance(sensitivity.witness["instance"]))
    root, *path = sensitivity.witness["stream"]
    percept = again.start(stream(root, *path).generator())
    for action in sensitivity.witness["actions"]:
        percept = again.step(action)
    assert [percept.observation] == sensitivity.witness["observation"]


def test_chance_that_nobody_can_influence_is_insensitive() -> None:
    sensitivity = finding(small(Coins(0.0)), "sensitivity")
    assert not sensitivity.passed
    assert sensitivity.witness is not None
    assert sensitivity.witness["actions"] == []


class Wheels(Automata):
    """Chance decides where it begins, and nothing after that."""

    def build(self, instance: Instance) -> Environment:
        return Wheel(self.following, self.rewards)


class Wheel(Automaton):
    def start(self, rng: np.random.Generator) -> Percept:
        super().start(rng)
        self.state = int(rng.integers(2))
        return Percept(0.0, self.state)


def test_nothing_is_exact_where_chance_decides_the_beginning() -> None:
    for seed in range(8):  # two beginnings look the same in some of them
        sensitivity = finding(small(Wheels(MATCH, FAIR), instances=2, seed=seed), "sensitivity")
        assert sensitivity.numbers["decided_exactly"] == 0
        assert sensitivity.passed


def test_kernels_say_whether_chance_had_a_part_in_the_beginning() -> None:
    for environment_class, drawn in (
        (Cups(), False),
        (Buttons("alternating"), False),
        (Buttons("bananas"), True),
    ):
        instance = environment_class.draw(stream(0).generator())
        assert started(environment_class, instance, stream(1)).drawn is drawn


def explored(following: list[list[int]], rewards: list[list[float]]) -> Graph:
    environment_class = Automata(following, rewards)
    positions = started(environment_class, Instance({}), stream(0))
    graph = explore(positions, len(following[0]))
    assert graph is not None
    return graph


@st.composite
def automata(draw: st.DrawFn) -> tuple[list[list[int]], list[list[float]]]:
    states = draw(st.integers(1, 4))
    row = st.lists(st.integers(0, states - 1), min_size=2, max_size=2)
    pays = st.lists(st.sampled_from([-1.0, 0.0, 0.0, 0.5, 1.0]), min_size=2, max_size=2)
    following = draw(st.lists(row, min_size=states, max_size=states))
    return following, draw(st.lists(pays, min_size=states, max_size=states))


def sums(environment: Automaton, state: int, length: int) -> set[float]:
    found = set()
    for sequence in itertools.product(range(2), repeat=length):
        environment.state = state
        found.add(sum(environment.step(action).reward for action in sequence))
    return found


@settings(deadline=None)
@given(automata())
def test_sensitivity_is_what_definition_7_says(
    automaton: tuple[list[list[int]], list[list[float]]],
) -> None:
    """Against every sequence of every state, found by going there."""
    graph = explored(*automaton)
    needed = graph.horizons(4)
    environment = Automaton(*automaton)
    for number in range(len(needed)):
        environment.start(stream(0).generator())
        for action in graph.way(number):
            environment.step(action)
        state = environment.state
        lengths = [m for m in range(1, 5) if len(sums(environment, state, m)) > 1]
        assert needed[number] == (lengths[0] if lengths else 0)


@settings(deadline=None, max_examples=50)
@given(automata())
def test_the_random_mean_is_the_long_run_average(
    automaton: tuple[list[list[int]], list[list[float]]],
) -> None:
    following, rewards = map(np.array, automaton)
    moves = np.zeros((len(following), len(following)))
    for state, targets in enumerate(following):
        for target in targets:
            moves[state, target] += 0.5
    where, total, turns = np.eye(len(following))[0], 0.0, 1000
    for _ in range(turns):
        total += float(where @ rewards.mean(axis=1))
        where = where @ moves
    mean = explored(*automaton).random_mean()
    assert mean == pytest.approx(total / turns, abs=0.02)  # the first turns count for little


@settings(deadline=None)
@given(automata())
def test_a_look_ahead_agrees_with_what_is_known_exactly(
    automaton: tuple[list[list[int]], list[list[float]]],
) -> None:
    positions = started(Automata(*automaton), Instance({}), stream(0))
    found = search(positions, 2, 4, stream(1).generator())
    assert found.length == explored(*automaton).horizons(4)[0]


def test_sampled_sequences_find_what_lies_beyond_all_short_ones() -> None:
    following = [[place + 1] * 4 for place in range(12)] + [[0] * 4]
    rewards = [[0.0] * 4 for _ in range(12)] + [[1.0, 0.0, 0.0, 0.0]]
    positions = started(Automata(following, rewards), Instance({}), stream(0))
    assert search(positions, 4, 13, stream(1).generator()).length == 13
    short = search(positions, 4, 12, stream(1).generator())
    assert (short.length, short.complete) == (0, False)


# Going back to a place


def places() -> list[tuple[EnvironmentClass, type]]:
    return [
        (Buttons(), KernelPositions),
        (Cups(), KernelPositions),
        (Coins(0.0), PickledPositions),
        (Unpicklable(MATCH, FAIR), ReplayedPositions),
    ]


@pytest.mark.parametrize(("environment_class", "kind"), places())
def test_a_place_is_come_back_to_with_its_chances(
    environment_class: EnvironmentClass, kind: type
) -> None:
    instance = environment_class.draw(stream(3).generator())
    positions = started(environment_class, instance, stream(4))
    assert type(positions) is kind
    for _ in range(5):
        positions.step(1)
    place = positions.save()
    first = [positions.step(action) for action in (0, 1, 1, 0, 1, 0)]
    positions.restore(place)
    assert positions.save() == place
    assert [positions.step(action) for action in (0, 1, 1, 0, 1, 0)] == first


# Repeatability


class Moody(Automata):
    """Every environment that is built pays a little more than the one before."""

    built = 0

    def build(self, instance: Instance) -> Environment:
        type(self).built += 1
        return Automaton(MATCH, [[1.0 / self.built] * 2] * 2)


def test_what_is_not_repeatable_is_found() -> None:
    result = small(Moody(MATCH, FAIR, Claims(balanced=False)))
    determinism = finding(result, "determinism")
    assert not result.ok
    assert not determinism.passed
    assert determinism.witness is not None
    assert determinism.witness["first"] != determinism.witness["second"]


class Tuples(Automata):
    def draw(self, rng: np.random.Generator, complexity: float | None = None) -> Instance:
        return Instance({"pair": (1, 2)})


class Sets(Automata):
    def draw(self, rng: np.random.Generator, complexity: float | None = None) -> Instance:
        return Instance({"set": {1}, "name": int(rng.integers(9))})


class Endless(Automata):
    def complexity(self, instance: Instance) -> float:
        return float("inf")


class Forgetting(Automata):
    """Drawn with no regard to the generator."""

    drawn = 0

    def draw(self, rng: np.random.Generator, complexity: float | None = None) -> Instance:
        type(self).drawn += 1
        return Instance({"name": self.drawn})


class Deaf(Automata):
    """Does not listen to the complexity that is asked for."""

    def complexity(self, instance: Instance) -> float:
        return float(instance.data["name"])


class Stubborn(Automata):
    def draw(self, rng: np.random.Generator, complexity: float | None = None) -> Instance:
        if complexity is not None:
            raise InvalidInputError("No.")
        return super().draw(rng)


class TypeReader(Automata):
    """Pays otherwise when its description was read from JSON."""

    def draw(self, rng: np.random.Generator, complexity: float | None = None) -> Instance:
        return Instance({"rows": ListOfOnes([1])})

    def build(self, instance: Instance) -> Environment:
        pays = 1.0 if isinstance(instance.data["rows"], ListOfOnes) else -1.0
        return Automaton(MATCH, [[pays, -pays]] * 2)


class ListOfOnes(list[int]):
    pass


@pytest.mark.parametrize(
    ("kind", "said"),
    [
        (Tuples, "JSON text changes an instance"),
        (Endless, "not a finite number"),
        (Forgetting, "draws another instance"),
        (Stubborn, "cannot be asked for"),
        (TypeReader, "answers differently"),
    ],
)
def test_what_cannot_be_built_again_is_found(kind: type[Automata], said: str) -> None:
    rebuild = finding(small(kind(MATCH, FAIR)), "rebuild")
    assert not rebuild.passed
    assert said in rebuild.summary
    assert rebuild.witness is not None


def test_a_complexity_that_is_not_heeded_is_found() -> None:
    rebuild = finding(small(Deaf(MATCH, FAIR)), "rebuild")
    assert rebuild.passed  # the same chance gives the same name
    result = finding(small(Deafer(MATCH, FAIR)), "rebuild")
    assert "another complexity" in result.summary


class Deafer(Deaf):
    def draw(self, rng: np.random.Generator, complexity: float | None = None) -> Instance:
        return Instance({"name": int(rng.integers(1000)) + (complexity is not None)})


def test_what_cannot_even_be_named_fails_every_check_without_a_crash() -> None:
    result = small(Sets(MATCH, FAIR))
    assert not result.ok
    assert all("not JSON serializable" in each.summary for each in result.findings[1:])
    canonical(result.to_json())


class Explosive(Automata):
    def build(self, instance: Instance) -> Environment:
        return Bomb(MATCH, FAIR)


class Bomb(Automaton):
    def step(self, action: int) -> Percept:
        raise RuntimeError("boom")


def test_an_environment_that_raises_fails_its_audit_only() -> None:
    result = small(Explosive(MATCH, FAIR))
    assert not result.ok
    assert all(not each.passed for each in result.findings)
    assert all("boom" in each.summary for each in result.findings)


# Agreement


class TwoFaced(Cups):
    def build(self, instance: Instance) -> KernelEnvironment:
        honest = super().build(instance)
        return Mirror(honest.kernels, honest.state, honest.actions, honest.space)


class Mirror(KernelEnvironment):
    def step(self, action: int) -> Percept:
        percept = super().step(action)
        return Percept(-percept.reward, percept.observation)


def test_a_compiled_loop_that_disagrees_is_found() -> None:
    agreement = finding(audit(TwoFaced(3, 3), instances=3, interactions=60), "agreement")
    assert not agreement.passed
    assert agreement.witness is not None
    assert np.array_equal(agreement.witness["compiled"], -agreement.witness["stepwise"])
