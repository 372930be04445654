"""How tori are graded: by Kt-max (anytime test, Definition 9) under a code for two paths."""

from __future__ import annotations

from omnimeter.complexity.kt import kt_max
from omnimeter.complexity.paths import primitive_period, read_expression, shortest_expression
from omnimeter.contract import Instance, InvalidInputError
from omnimeter.environments.torus.expressions import LETTERS

OBJECTS = 2
"""Good and Evil."""


def path_of(instance: Instance, whose: str) -> str:
    """The path of ``good`` or ``evil``, checked.

    Raises:
        InvalidInputError: It is empty, or holds something that is no move.
    """
    path = instance.data.get(whose)
    if not isinstance(path, str) or not path:
        raise InvalidInputError(
            f"The path of {whose} is {path!r}.",
            f"Give a text of at least one of the letters {LETTERS}.",
        )
    for place, letter in enumerate(path, 1):
        if letter not in LETTERS:
            raise InvalidInputError(
                f"The path of {whose} has {letter!r} at place {place}, which is no move.",
                f"Moves are the letters {LETTERS}: left, right, up, down and stay.",
            )
    return path


def code(instance: Instance) -> str:
    """The shortest description: the shortest expression of Good's path, then of Evil's.

    Each is reduced to its primitive period first, because it is repeated for ever.
    """
    paths = [primitive_period(path_of(instance, whose)) for whose in ("good", "evil")]
    return "".join(shortest_expression(path, LETTERS) for path in paths)


def decode(bits: str) -> Instance:
    """The environment that a description says.

    Raises:
        ValueError: It is not a description, or goes on after its end.
    """
    good, at = read_expression(bits, 0, LETTERS)
    evil, end = read_expression(bits, at, LETTERS)
    if end != len(bits):
        raise ValueError(f"the description ends after {end} of {len(bits)} bits")
    return Instance({"good": good, "evil": evil})


def complexity(instance: Instance) -> float:
    """Kt-max: the bits of the shortest description, and the logarithm of the longest answer.

    The machine reads its description and writes out both paths, one step for each letter, before
    its first answer. For that, as for every answer, it moves both objects, one step for each. So
    the first answer takes longest.
    """
    periods = [len(primitive_period(path_of(instance, whose))) for whose in ("good", "evil")]
    return grade(len(code(instance)), sum(periods))


def grade(bits: int, letters: int) -> float:
    """Kt-max of a description with so many bits, and so many letters in both paths together."""
    return kt_max(bits, letters + OBJECTS)
