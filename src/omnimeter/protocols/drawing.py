"""Drawing the environments of a test, and what can be earned in them."""

from __future__ import annotations

from collections.abc import Iterable

from omnimeter.contract import (
    Environment,
    EnvironmentClass,
    Instance,
    InvalidInputError,
    OmnimeterError,
    Payoff,
    Spec,
    stream,
)

Drawn = tuple[EnvironmentClass, Instance]
"""An environment, and the class that it was drawn from."""


def draw(
    environment_class: EnvironmentClass,
    spec: Spec,
    seed: int,
    number: int,
    complexity: float | None = None,
) -> Instance:
    """The environment of the exercise of some number, the same for every agent.

    Args:
        environment_class: Where it is drawn from.
        spec: The spec of that class, for messages.
        seed: The root of all chance.
        number: The number of the exercise.
        complexity: The complexity that it must have, if one is asked for.

    Raises:
        InvalidInputError: The class cannot draw it.
    """
    chance = stream(seed, "instance", number).generator()
    try:
        return environment_class.draw(chance, complexity)
    except OmnimeterError:
        raise
    except Exception as error:
        raise InvalidInputError(
            f"{spec.label} raised {type(error).__name__} when drawing "
            f"environment {number}: {error}",
            "omnimeter audit examines the class.",
        ) from error


def payoff_bounds(payoff: Payoff, drawn: Iterable[Drawn]) -> tuple[float, float]:
    """Between which numbers the payoffs in some environments lie."""
    ranges = {_rewards(environment_class, instance) for environment_class, instance in drawn}
    limits = [payoff.bounds(rewards) for rewards in ranges]
    return min(low for low, _ in limits), max(high for _, high in limits)


def _rewards(environment_class: EnvironmentClass, instance: Instance) -> tuple[float, float]:
    try:
        return environment_class.build(instance).rewards
    except Exception:  # its exercises end in a fault, which says why
        return Environment.rewards
