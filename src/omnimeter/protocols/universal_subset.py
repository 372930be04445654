"""Drawing a set of different environments, as the universal tests demand it."""

from __future__ import annotations

from omnimeter.contract import EnvironmentClass, Instance, InvalidInputError, Spec, stream
from omnimeter.protocols.drawing import draw

MOST_REPEATS = 1000
"""After so many draws in a row that bring nothing new, there is taken to be nothing new."""


def distinct_instances(
    environment_class: EnvironmentClass, spec: Spec, seed: int, count: int
) -> list[Instance]:
    """A set of different environments, extracted by the class's own distribution.

    What was drawn already is drawn again. Frequent environments, which are the simple ones, so
    tend to come first. The order of the result is therefore shuffled: any part of a test that is
    not finished yet is a fair sample of the whole.

    Args:
        environment_class: Where they are drawn from.
        spec: The spec of that class, for messages.
        seed: The root of all chance.
        count: How many.

    Raises:
        InvalidInputError: The class has not so many different ones, or those that are left are so
            rare that none of them turned up in a thousand draws.
    """
    found: dict[str, Instance] = {}
    draws = repeats = 0
    while len(found) < count:
        instance = draw(environment_class, spec, seed, draws)
        repeats = repeats + 1 if instance.key in found else 0
        found.setdefault(instance.key, instance)
        draws += 1
        if repeats == MOST_REPEATS:
            raise InvalidInputError(
                f"{count} different environments cannot be drawn from {spec.label}: {len(found)} "
                f"were found, and then no other in {MOST_REPEATS} draws.",
                f"Ask for {len(found)} exercises or fewer, or for a wider class.",
            )
    instances = list(found.values())
    order = stream(seed, "instance", "order").generator().permutation(count)
    return [instances[place] for place in order]
