"""The conformance suite for environment classes."""

from __future__ import annotations

import inspect
import json
import random
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from copy import deepcopy
from dataclasses import replace
from math import isfinite
from numbers import Real
from types import NoneType, UnionType
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

import numpy as np

from omnimeter.audits.subject import Answers, answer, answers, random_actions
from omnimeter.catalogue import Kind, resolve
from omnimeter.contract import (
    Budget,
    Claims,
    Environment,
    EnvironmentClass,
    Exercise,
    Instance,
    InvalidInputError,
    Percept,
    Space,
    Spec,
    stream,
)
from omnimeter.contract.spec import Stream, canonical_json


@contextmanager
def seeded_globally(seed: int) -> Iterator[None]:
    """Seed the global generators of Python and NumPy for a while."""
    ours, numpys = random.getstate(), np.random.get_state()
    random.seed(seed)
    np.random.seed(seed)
    try:
        yield
    finally:
        random.setstate(ours)
        np.random.set_state(numpys)


@contextmanager
def left_alone() -> Iterator[None]:
    """Fail if the global generators are used meanwhile."""
    before = _states()
    yield
    assert _states() == before, (
        "The global generators of random or numpy.random were used. "
        "All chance must come from the generator that is given."
    )


def _states() -> tuple[object, ...]:
    kind, keys, place, *rest = np.random.get_state(legacy=True)
    return random.getstate(), kind, bytes(keys), place, tuple(rest)  # type: ignore[arg-type]


def check_percept(environment: Environment, percept: Percept, seat: int = 0) -> None:
    """Refuse what an agent in a seat could not understand."""
    assert isinstance(percept, Percept), f"{percept!r} was given instead of a Percept."
    reward, observation = percept
    assert isinstance(reward, float | int), f"The reward {reward!r} is not a plain number."
    low, high = environment.rewards
    assert low <= reward <= high, f"The reward {reward} is outside the declared {(low, high)}."
    space = environment.space_of(seat)
    assert space.contains(observation), (
        f"The observation {observation!r} is not in {space}. A single space has "
        "integers, any other an int64 vector with every component below its size."
    )


def variants(kind: Kind, spec: Spec) -> Iterator[Spec]:
    """The spec with each choice (``Literal`` and ``bool``) that it leaves open, one at a time.

    A part without such parameters has one variant, the spec as it is.
    """
    choices = {name: _choices(hint) for name, hint in _hints(resolve(kind, spec.id)).items()}
    found = [
        replace(spec, parameters={**spec.parameters, name: value})
        for name, values in choices.items()
        if name not in spec.parameters
        for value in values
    ]
    yield from found or [spec]


def _hints(part: Any) -> dict[str, Any]:
    constructor = inspect.getattr_static(part, "__init__") if isinstance(part, type) else part
    try:
        return get_type_hints(constructor)
    except (NameError, TypeError):  # annotations that only a type checker can read, or none
        return {}


def _choices(hint: Any) -> tuple[Any, ...]:
    if get_origin(hint) in (UnionType, Union):  # a choice that may be left open
        others = [each for each in get_args(hint) if each is not NoneType]
        return _choices(others[0]) if len(others) == 1 else ()
    if hint is bool:
        return (False, True)
    return get_args(hint) if get_origin(hint) is Literal else ()


class DrawingRules:
    """How instances are drawn, written down and graded.

    Attributes:
        environment_class: The class to be tested; or override ``make``.
        draws: How many instances are drawn.
        interactions: How long environments are tried.
        seed: The root of all chance.
    """

    environment_class: EnvironmentClass
    draws: int = 5
    interactions: int = 50
    seed: int = 0

    def make(self) -> EnvironmentClass:
        """The environment class to be tested."""
        return self.environment_class

    def drawn(self, number: int, complexity: float | None = None) -> Instance:
        """An instance; the same number means the same chance."""
        rng = stream(self.seed, "suite", "instance", number).generator()
        return self.make().draw(rng, complexity)

    def drawn_instances(self) -> list[Instance]:
        """Some instances."""
        return [self.drawn(number) for number in range(self.draws)]

    def test_instances_are_json(self) -> None:
        """An instance is the same after a trip through JSON text."""
        for instance in self.drawn_instances():
            assert isinstance(instance, Instance), f"draw returned {instance!r}, not an Instance."
            try:
                again = json.loads(canonical_json(instance.data))
            except (TypeError, ValueError) as error:
                raise AssertionError(
                    f"An instance must hold plain JSON data, without NaN or infinities: {error}."
                ) from error
            assert again == instance.data, (
                f"JSON changes {instance.data} into {again}. "
                "Use lists instead of tuples, and texts as keys."
            )

    def test_draws_are_repeatable(self) -> None:
        """The same chance draws the same instance, whatever was drawn before."""
        first = self.drawn_instances()
        second = [self.drawn(number) for number in reversed(range(self.draws))][::-1]
        for one, other in zip(first, second, strict=True):
            assert one.data == other.data, (
                f"The same generator drew {one.data} and then {other.data}. "
                "A draw may depend on nothing but its generator and the class's parameters."
            )

    def test_draws_use_only_their_generator(self) -> None:
        """Nobody else's generator is used for a draw."""
        found = []
        for seed in (1, 2):
            with seeded_globally(seed), left_alone():
                found.append([instance.data for instance in self.drawn_instances()])
        assert found[0] == found[1], "Draws depend on the global generators."

    def test_complexity_is_a_finite_number(self) -> None:
        """Every instance has a grade, the same after a trip through JSON text."""
        for instance in self.drawn_instances():
            grade: Any = self.make().complexity(instance)
            assert isinstance(grade, Real), f"The complexity {grade!r} is not a number."
            assert isfinite(grade), f"The complexity {grade!r} is not finite."
            again = self.make().complexity(_from_text(instance))
            assert again == grade, f"After JSON the complexity is {again}, before it was {grade}."

    def test_wanted_complexity_is_drawn(self) -> None:
        """A complexity that exists can be asked for."""
        for number, instance in enumerate(self.drawn_instances()):
            grade = self.make().complexity(instance)
            drawn = self.drawn(number, grade)
            found = self.make().complexity(drawn)
            assert found == grade, f"Asked for complexity {grade}, draw gave {found}."

    def test_instances_stay_as_they_are(self) -> None:
        """Grading, building and playing leave the description alone."""
        for instance in self.drawn_instances():
            before = deepcopy(instance.data)
            self.make().complexity(instance)
            environment = self.make().build(instance)
            environment.start(stream(self.seed, "suite").generator())
            for _ in range(self.interactions):
                environment.step(0)
            assert instance.data == before, (
                "The data of an instance changed. It is frozen: copy what has to change."
            )

    def test_claims(self) -> None:
        """What a class says of itself can be examined."""
        claims: Any = self.make().claims()
        assert isinstance(claims, Claims), f"claims() returned {claims!r}, not Claims."
        assert isinstance(claims.balanced, bool), f"balanced is {claims.balanced!r}: say yes or no."
        assert claims.sensitive is None or claims.sensitive >= 1, (
            f"sensitive is {claims.sensitive!r}: give a number of actions from 1 up, or None."
        )


def _from_text(instance: Instance) -> Instance:
    return Instance(json.loads(canonical_json(instance.data)))


HALF = 0.5
"""Bands reach so far to both sides of a complexity that there is."""

MOST = 2000
"""Instances of a band that are listed at most."""


class BandRules(DrawingRules):
    """How instances are drawn from a band of complexities, and listed."""

    def bands(self) -> Iterator[tuple[Instance, float, float]]:
        """Some instances, and the ends of a band in which each lies."""
        for instance in self.drawn_instances():
            grade: Any = self.make().complexity(instance)
            if isinstance(grade, Real):  # what is no number is found by another rule
                yield instance, float(grade) - HALF, float(grade) + HALF

    def test_complexity_range(self) -> None:
        """There is a lowest complexity, and none above the highest."""
        low, high = self.make().complexity_range()
        assert isfinite(low), f"The lowest complexity is {low}: give a finite number."
        assert low <= high, f"Complexities go from {low} to {high}: give the lowest first."

    def test_draws_between_stay_between(self) -> None:
        """What is drawn from a band lies in it, and a band that has something gives something."""
        for number, (_, low, high) in enumerate(self.bands()):
            least, most = self.make().complexity_range()
            rng = stream(self.seed, "suite", "band", number).generator()
            drawn = self.make().draw_between(rng, low, high)
            if drawn is None:
                outside = high < least or low > most
                assert outside, (
                    f"Nothing is drawn between {low} and {high}, but there is something."
                )
                continue
            found = self.make().complexity(drawn)
            assert low <= found <= high, (
                f"Between {low} and {high} an instance of {found} is drawn."
            )

    def test_lists_are_complete(self) -> None:
        """A band that can be listed has every instance once, always in the same order."""
        for instance, low, high in self.bands():
            listed = self.make().members(low, high, MOST)
            if listed is None:
                continue
            keys = [each.key for each in listed]
            least, most = self.make().complexity_range()
            assert len(keys) <= MOST, f"{len(keys)} instances are listed where {MOST} may be."
            assert len(set(keys)) == len(keys), "An instance is listed twice."
            known = instance.key in keys or not least <= self.make().complexity(instance) <= most
            assert known, f"{instance.data} is drawn, but not listed between {low} and {high}."
            again = [each.key for each in self.make().members(low, high, MOST) or ()]
            assert again == keys, "The same band is listed in another order, or has other members."


UNHEARD_OF = "a form that there is not"


class SeatingRules(DrawingRules):
    """How a class serves the forms that agents ask for, and several agents at once.

    Classes with one form and one seat keep these rules without doing anything.
    """

    def test_every_view_keeps_the_contract(self) -> None:
        """Each form is built, is named in the briefing, and shows what its space says."""
        environment_class = self.make()
        for view in environment_class.views:
            environment = self._built(environment_class.with_views([view]))
            told = environment.briefing().view
            assert told in environment_class.views, (
                f"Seated for {view!r}, the briefing names the form {told!r}, which is none of "
                f"{tuple(environment_class.views)}. Let view_of say which form a seat has."
            )
            check_percept(environment, environment.start(self._chance("play").generator()))
            for action in self._actions(environment):
                check_percept(environment, environment.step(action))

    def test_unknown_views_get_the_default(self) -> None:
        """Who asks for a form that there is not gets what one gets who asks for none."""
        default, other = (
            self._built(self.make().with_views([view])).briefing() for view in (None, UNHEARD_OF)
        )
        assert other == default, (
            f"Without a view the briefing is {default}, with an unknown one {other}. "
            "Agents are written for other classes too: give them the default."
        )

    def test_seating_leaves_instances_alone(self) -> None:
        """What is drawn, and its grade, do not depend on who will be there."""
        drawn = self.drawn(0)
        for views, seated in self._seatings():
            rng = stream(self.seed, "suite", "instance", 0).generator()
            again = seated.draw(rng)
            assert canonical_json(again.data) == canonical_json(drawn.data), (
                f"Seated for {views}, another instance was drawn. Agents are compared in the same "
                "instances: keep views and seats out of them."
            )
            assert seated.complexity(drawn) == self.make().complexity(drawn), (
                f"Seated for {views}, the same instance has another complexity."
            )

    def test_seats_keep_the_contract(self) -> None:
        """With several agents each gets a reward in the range and what its space says."""
        for views, seated in self._seatings():
            environment = self._built(seated)
            assert environment.seats == len(views), (
                f"Seated for {len(views)}, an environment has {environment.seats} seats."
            )
            if len(views) > 1:
                generator = self._chance("play").generator()
                _check_all(environment, environment.start_joint(generator))
                for action in self._actions(environment):
                    actions = [action, *[0] * (len(views) - 1)]
                    _check_all(environment, environment.step_joint(actions))

    def test_one_seat_is_the_same_together(self) -> None:
        """One agent gets the same by ``start_joint`` and ``step_joint``."""
        alone, joint = (self._built(self.make().with_views([None])) for _ in range(2))
        actions = self._actions(alone)
        (percept,) = joint.start_joint(self._chance("play").generator())
        found = [answer(joint, percept)]
        for action in actions:
            (percept,) = joint.step_joint([action])
            found.append(answer(joint, percept))
        assert found == answers(alone, self._chance("play"), actions), (
            "One agent alone gets other percepts by start and step than by start_joint and "
            "step_joint. Let one of them call the other."
        )

    def _seatings(self) -> Iterator[tuple[list[str | None], EnvironmentClass]]:
        """The class for each view alone and, where there is room, for two who differ."""
        environment_class = self.make()
        views: list[str | None] = [None, *environment_class.views]
        for view in views:
            yield [view], environment_class.with_views([view])
        two = [None, views[-1]]
        try:
            seated = environment_class.with_views(two)
        except InvalidInputError:  # no room
            return
        yield two, seated

    def _built(self, seated: EnvironmentClass) -> Environment:
        return seated.build(self.drawn(0))

    def _actions(self, environment: Environment) -> list[int]:
        return random_actions(environment, self._chance("actions"), self.interactions)

    def _chance(self, name: str) -> Stream:
        return stream(self.seed, "suite", name)


def _check_all(environment: Environment, percepts: Sequence[Percept]) -> None:
    assert len(percepts) == environment.seats, (
        f"{len(percepts)} percepts were given to {environment.seats} seats."
    )
    for seat, percept in enumerate(percepts):
        check_percept(environment, percept, seat)


LONG = 2000
"""Interactions after which an environment that ends by itself would have ended."""


class EnvironmentClassSuite(SeatingRules, BandRules):
    """The rules for environment classes, as tests.

    Set ``environment_class``, or override ``make``.
    """

    def chance(self, *path: int | str) -> Stream:
        """A source of chance."""
        return stream(self.seed, "suite", *path)

    def built(self) -> Iterator[tuple[Environment, Instance]]:
        """A fresh environment of every instance."""
        for instance in self.drawn_instances():
            yield self.make().build(instance), instance

    def actions_for(self, environment: Environment) -> list[int]:
        """Some actions."""
        return random_actions(environment, self.chance("actions"), self.interactions)

    def test_environments_describe_themselves(self) -> None:
        """The number of actions, the observations and the range of rewards are known."""
        for environment, _ in self.built():
            assert isinstance(environment, Environment), f"build returned {environment!r}."
            count = environment.actions
            assert isinstance(count, int), f"actions is {count!r}, not an integer."
            assert count >= 1, f"actions is {count}; there is at least one."
            assert isinstance(environment.space, Space), f"space is {environment.space!r}."
            low, high = environment.rewards
            assert low < high, f"rewards is {(low, high)}: give the lowest and the highest."

    def test_percepts_keep_the_contract(self) -> None:
        """Rewards are numbers in the declared range, observations belong to the space."""
        for environment, _ in self.built():
            check_percept(environment, environment.start(self.chance("play").generator()))
            for action in self.actions_for(environment):
                check_percept(environment, environment.step(action))

    def test_invalid_actions_are_refused(self) -> None:
        """An action that does not exist raises an error."""
        for environment, _ in self.built():
            environment.start(self.chance("play").generator())
            for action in (-1, environment.actions):
                try:
                    environment.step(action)
                except Exception:  # any error will do
                    continue
                raise AssertionError(
                    f"step({action}) was accepted; actions are 0 to {environment.actions - 1}. "
                    "Raise a ValueError."
                )

    def test_environments_are_independent(self) -> None:
        """What happens in one environment does not change another of the same instance."""
        for environment, instance in self.built():
            actions = self.actions_for(environment)
            alone = self._answers(environment, actions)
            first, second = self.make().build(instance), self.make().build(instance)
            joint = [answer(first, first.start(self.chance("play").generator()))]
            second.start(self.chance("other").generator())
            for action in actions:
                second.step(environment.actions - 1)
                joint.append(answer(first, first.step(action)))
            assert joint == alone, (
                "Two environments of one instance share memory. Copy arrays and lists in build."
            )

    def test_starting_again_begins_anew(self) -> None:
        """The same object, started with the same chance, gives the same percepts."""
        for environment, _ in self.built():
            actions = self.actions_for(environment)
            first, second = (self._answers(environment, actions) for _ in range(2))
            assert first == second, "start must put everything back as it was at the beginning."

    def test_building_again_gives_the_same(self) -> None:
        """An environment is decided by its instance and its chance."""
        for environment, instance in self.built():
            actions = self.actions_for(environment)
            again = self._answers(self.make().build(instance), actions)
            assert self._answers(environment, actions) == again, (
                "The same instance, chance and actions gave other percepts."
            )

    def test_chance_comes_from_the_generator(self) -> None:
        """Nobody else's generator is used or listened to."""
        for environment, instance in self.built():
            actions = self.actions_for(environment)
            found = []
            for seed in (1, 2):
                with seeded_globally(seed), left_alone():
                    found.append(self._answers(self.make().build(instance), actions))
            assert found[0] == found[1], "Percepts depend on the global generators."

    def test_observations_can_be_kept(self) -> None:
        """What was given is not changed by what happens later."""
        for environment, _ in self.built():
            percept = environment.start(self.chance("play").generator())
            kept, copies = [percept.observation], [np.copy(percept.observation)]
            for action in self.actions_for(environment):
                kept.append(environment.step(action).observation)
                copies.append(np.copy(kept[-1]))
            same = all(map(np.array_equal, kept, copies))
            assert same, "An observation changed after it was given. Give a copy each time."

    def test_environments_never_end(self) -> None:
        """There is always a next interaction."""
        for environment, _ in self.built():
            actions = random_actions(environment, self.chance("long"), LONG)
            environment.start(self.chance("play").generator())
            for number, action in enumerate(actions):
                try:
                    reward = environment.step(action).reward
                except Exception as error:
                    raise AssertionError(
                        f"Interaction {number + 1} raised {type(error).__name__}: {error}. "
                        "An environment never ends by itself: begin anew instead."
                    ) from error
                assert isfinite(reward), f"Reward {number + 1} is {reward}."

    def test_scenes_are_json(self) -> None:
        """What a person is shown is plain data."""
        for environment, instance in self.built():
            percept = environment.start(self.chance("play").generator())
            for action in self.actions_for(environment):
                shown = self.make().scene(instance, percept.observation, percept.reward)
                try:
                    canonical_json(dict(shown))
                except (TypeError, ValueError) as error:
                    raise AssertionError(f"A scene must be plain JSON data: {error}.") from error
                percept = environment.step(action)

    def test_compiled_and_stepwise_agree(self) -> None:
        """With kernels, the compiled loop leaves the same traces as the ordinary one."""
        from omnimeter.agents.simple import RandomAgent
        from omnimeter.interaction import KernelEnvironmentClass, interact
        from omnimeter.interaction.batch import run_batch
        from omnimeter.interaction.loop import as_seen_by

        environment_class = self.make()
        if not isinstance(environment_class, KernelEnvironmentClass):
            return
        exercises = [
            exercise(instance, self.interactions, self.seed, number)
            for number, instance in enumerate(self.drawn_instances())
        ]
        compiled = run_batch(environment_class, RandomAgent(), exercises, record=True)
        for each, trace in zip(exercises, compiled, strict=True):
            agent = RandomAgent()
            environment = as_seen_by(environment_class, agent).build(each.instance)
            plain = interact(environment, agent, each.budget, each.stream, record=True)
            assert trace.same_as(plain), (
                "The compiled loop and the ordinary one differ. All that an environment knows "
                "must be in the state, and every kernel must write what it changes."
            )

    def _answers(self, environment: Environment, actions: list[int]) -> Answers:
        return answers(environment, self.chance("play"), actions)


def exercise(instance: Instance, interactions: int, seed: int, number: int) -> Exercise:
    """An exercise for parts that need not be in the catalogue."""
    named = Spec("suite")
    return Exercise(named, named, instance, Budget(interactions), seed, number)
