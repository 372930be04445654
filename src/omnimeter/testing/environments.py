"""What the standard demands of an environment class and its environments."""

from __future__ import annotations

from collections.abc import Iterator
from math import isfinite

import numpy as np

from omnimeter.audits.playing import Answers, answer, answers, random_actions
from omnimeter.contract import (
    Budget,
    Environment,
    Exercise,
    Instance,
    Space,
    Spec,
    Stream,
    canonical,
    stream,
)
from omnimeter.testing.bands import BandRules
from omnimeter.testing.global_chance import left_alone, seeded_globally
from omnimeter.testing.percepts import check_percept
from omnimeter.testing.seating import SeatingRules

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
            together = [answer(first, first.start(self.chance("play").generator()))]
            second.start(self.chance("other").generator())
            for action in actions:
                second.step(environment.actions - 1)
                together.append(answer(first, first.step(action)))
            assert together == alone, (
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
                    canonical(dict(shown))
                except (TypeError, ValueError) as error:
                    raise AssertionError(f"A scene must be plain JSON data: {error}.") from error
                percept = environment.step(action)

    def test_compiled_and_stepwise_agree(self) -> None:
        """With kernels, the compiled loop leaves the same traces as the ordinary one."""
        from omnimeter.agents.random_agent import RandomAgent
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
