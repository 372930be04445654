"""The code of a torus and its complexity Kt-max (Definition 9)."""

from __future__ import annotations

from omnimeter.complexity import kt_max, primitive_period, read_expression, shortest_expression
from omnimeter.contract import Instance, InvalidInputError

LETTERS = "LRUDS"
"""Left, right, up, down, stay: the actions in their order."""

OBJECTS = 2  # Good and Evil


def path_of(instance: Instance, name: str) -> str:
    """The path of ``good`` or ``evil``; InvalidInputError if it is empty or not made of moves."""
    path = instance.data.get(name)
    if not isinstance(path, str) or not path:
        raise InvalidInputError(
            f"The path of {name} is {path!r}.",
            f"Give a text of at least one of the letters {LETTERS}.",
        )
    for place, letter in enumerate(path, 1):
        if letter not in LETTERS:
            raise InvalidInputError(
                f"The path of {name} has {letter!r} at place {place}, which is not a move.",
                f"Moves are the letters {LETTERS}: left, right, up, down and stay.",
            )
    return path


def encode(instance: Instance) -> str:
    """The shortest description: the shortest expression of Good's path, then of Evil's.

    Each is reduced to its primitive period first, because it is repeated for ever.
    """
    return "".join(shortest_expression(path, LETTERS) for path in _periods(instance))


def decode(bits: str) -> Instance:
    """The environment of a description.

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
    return kt_max(len(encode(instance)), len("".join(_periods(instance))) + OBJECTS)


def _periods(instance: Instance) -> list[str]:
    return [primitive_period(path_of(instance, name)) for name in ("good", "evil")]
