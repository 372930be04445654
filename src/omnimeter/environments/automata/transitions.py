"""How transitions are counted, drawn and listed by the length of their code.

States come in the order in which they are met, so which transitions can follow depends only on the
entry (a state and an action), on how many states have been met, and on whether the state has been
left already: one that never is would be a dead end. Every entry takes one bit and some pairs of
bits. For each such situation the number of ways to go on is kept by the pairs that they take.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from omnimeter.contract import FloatArray
from omnimeter.environments.automata.complexity import choices
from omnimeter.environments.automata.parts import CodePart, Part

PAIR = 0.25
"""What a pair of bits weighs."""


class Situation(NamedTuple):
    """What is known before an entry.

    Attributes:
        entry: Its number.
        known: How many states have been met.
        left: Whether another action of the state leads away from it.
    """

    entry: int
    known: int
    left: bool


class Step(NamedTuple):
    """Ways to write an entry that take equally many bits and lead to the same situation.

    Attributes:
        pairs: The pairs of bits that each takes.
        following: The states that the action leads to.
        masses: By pairs, the mass of all that can follow.
        then: The situation after it.
    """

    pairs: int
    following: list[int]
    masses: FloatArray
    then: Situation


class Transitions(CodePart):
    """The transitions between so many states: all are met, and none is only led to itself."""

    def __init__(self, states: int, actions: int) -> None:
        self.states = states
        self.actions = actions
        self.entries = states * actions
        self._longest = self.entries * (states.bit_length() - 1)
        self._steps: dict[Situation, list[Step]] = {}
        counted = self._counted()
        self.masses = np.zeros(self.entries + 2 * self._longest + 1)
        self.masses[self.entries :: 2] = counted * 2.0**-self.entries

    def _counted(self) -> FloatArray:
        """Go through all situations from the last entry to the first."""
        ended = np.zeros(self._longest + 1)
        ended[0] = 1.0
        after = {Situation(self.entries, self.states, False): ended}
        for entry in reversed(range(self.entries)):
            state, action = divmod(entry, self.actions)
            before = {}
            for known in range(state + 1, min(self.states, entry + 1) + 1):
                for left in (False, True) if action else (False,):
                    here = Situation(entry, known, left)
                    steps = self._steps_from(here, after)
                    if steps:
                        self._steps[here] = steps
                        before[here] = self._sum(steps)
            after = before
        return after[Situation(0, 1, False)]

    def _sum(self, steps: list[Step]) -> FloatArray:
        masses = np.zeros(self._longest + 1)
        for step in steps:
            weight = len(step.following) * PAIR**step.pairs
            masses[step.pairs :] += weight * step.masses[: len(masses) - step.pairs]
        return masses

    def _steps_from(self, here: Situation, after: dict[Situation, FloatArray]) -> list[Step]:
        """The ways to go on that can come to a good end, by their length."""
        state, action = divmod(here.entry, self.actions)
        count = choices(here.known, self.states)
        ways: dict[tuple[int, Situation], list[int]] = {}
        for rank in range(count):
            following = (state + rank) % count
            known = max(here.known, following + 1)
            left = here.left or rank > 0
            last = action == self.actions - 1
            if left or not last:
                then = Situation(here.entry + 1, known, left and not last)
                ways.setdefault(((rank + 1).bit_length() - 1, then), []).append(following)
        return [
            Step(pairs, following, after[then], then)
            for (pairs, then), following in ways.items()
            if then in after
        ]

    def draw(self, rng: np.random.Generator, bits: int) -> Part:
        """Entry by entry, each in proportion to how many ends it has."""
        pairs = (bits - self.entries) // 2
        here = Situation(0, 1, False)
        found: list[int] = []
        for chance in rng.random(self.entries).tolist():
            step, place = self._chosen(self._steps[here], pairs, chance)
            found.append(step.following[place])
            pairs -= step.pairs
            here = step.then
        return tuple(found)

    @staticmethod
    def _chosen(steps: list[Step], pairs: int, chance: float) -> tuple[Step, int]:
        """The step and which of its ways, for a number drawn uniformly from [0, 1)."""
        weights = [
            len(step.following) * PAIR**step.pairs * step.masses.item(pairs - step.pairs)
            if step.pairs <= pairs
            else 0.0
            for step in steps
        ]
        rest = chance * sum(weights)
        number = 0
        while rest >= weights[number] and number + 1 < len(weights):
            rest -= weights[number]
            number += 1
        if rest >= weights[number]:  # left over by rounding: it belongs to the largest
            number, rest = weights.index(max(weights)), 0.0
        following = steps[number].following
        return steps[number], int(rest / weights[number] * len(following))

    def listed(self, bits: int) -> Iterator[Part]:
        """By the lengths of the entries, then by the states that they lead to."""
        yield from self._from(Situation(0, 1, False), (bits - self.entries) // 2)

    def _from(self, here: Situation, pairs: int) -> Iterator[Part]:
        if here.entry == self.entries:
            yield ()
            return
        for step in self._steps[here]:
            if step.pairs <= pairs and step.masses[pairs - step.pairs]:
                for rest in self._from(step.then, pairs - step.pairs):
                    for following in step.following:
                        yield (following, *rest)
