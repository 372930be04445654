"""What the standard demands of the instances of an environment class."""

from __future__ import annotations

import json
from copy import deepcopy
from math import isfinite
from numbers import Real
from typing import Any

from omnimeter.contract import Claims, EnvironmentClass, Instance, canonical, stream
from omnimeter.testing.global_chance import left_alone, seeded_globally


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
                again = json.loads(canonical(instance.data))
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
    return Instance(json.loads(canonical(instance.data)))
