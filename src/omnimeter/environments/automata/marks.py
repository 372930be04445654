"""How marks are counted, drawn and listed by the length of their code."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations, product
from math import comb

import numpy as np

from omnimeter.environments.automata.normal_form import normal_marks
from omnimeter.environments.automata.parts import CodePart, Part


class Marks(CodePart):
    """The marks of so many states, not all the same, in their normal form.

    A state with mark 0 takes one bit, any other two.
    """

    def __init__(self, states: int) -> None:
        self.states = states
        self.masses = np.zeros(2 * states + 1)
        for others in range(1, states):
            count = comb(states, others) * _signs(states - others, others)
            self.masses[states + others] = count * 2.0 ** -(states + others)

    def draw(self, rng: np.random.Generator, bits: int) -> Part:
        """Marks drawn anew until they are in their normal form, as at least every third is."""
        while True:
            marks = np.zeros(self.states, dtype=np.int64)
            places = rng.permutation(self.states)[: bits - self.states]
            marks[places] = 1 - 2 * rng.integers(2, size=len(places))
            found = marks.tolist()
            if _is_normal(found):
                return tuple(found)

    def listed(self, bits: int) -> Iterator[Part]:
        """By the places of the marks that are not 0, then by their signs."""
        for places in combinations(range(self.states), bits - self.states):
            for signs in product((1, -1), repeat=len(places)):
                marks = [0] * self.states
                for place, sign in zip(places, signs, strict=True):
                    marks[place] = sign
                if _is_normal(marks):
                    yield tuple(marks)


def _is_normal(marks: list[int]) -> bool:
    return len(set(marks)) > 1 and normal_marks(marks) == tuple(marks)


def _signs(zeros: int, others: int) -> int:
    """In how many ways marks other than 0 can be positive or negative, with so many zeros beside.

    All ways with both signs; all positive where zeros are as frequent; all negative where they
    are more frequent (see ``normal_marks``).
    """
    return (1 << others) - 2 + (zeros >= others) + (zeros > others)
