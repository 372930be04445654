"""Markov algorithms and what they stand for in plain Python (Lambda thesis, 2.1.6, 3.6.6)."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any, Literal, NamedTuple

from omnimeter.environments.universal.language import RECALL, STORE, PlainRule, Program, expand

Outcome = Literal["final", "none", "steps", "length"]
"""A terminating rule; no rule matches; one more step than allowed; a string too long."""


class Step(NamedTuple):
    """What one rule did: its number from 0, and string and memory after it."""

    rule: int
    text: list[int]
    memory: list[int]


def occurrence(left: Sequence[int], text: Sequence[int], rightmost: bool) -> int | None:
    """The last or first place where a left side is the part of the text of its length."""
    places = range(len(text) - len(left) + 1)
    for place in reversed(places) if rightmost else places:
        if list(text[place : place + len(left)]) == list(left):
            return place
    return None


def steps(
    rules: Sequence[PlainRule], text: list[int], memory: list[int], rightmost: bool = True
) -> Iterator[Step]:
    """The steps of a run, which may go on for ever."""
    while True:
        for number, rule in enumerate(rules):  # noqa: B007 - they are those of the step
            place = occurrence(rule.left, text, rightmost)
            if place is not None:
                break
        else:
            return
        if rule.saved >= 0:
            memory = [rule.saved]
        replacement: list[int] = []
        for symbol in rule.right:
            if symbol == RECALL:
                replacement += memory
            elif symbol != STORE:
                replacement.append(symbol)
        text = text[:place] + replacement + text[place + len(rule.left) :]
        if STORE in rule.right:
            memory = text
        yield Step(number, text, memory)
        if rule.final:
            return


def run(
    rules: Sequence[PlainRule],
    text: list[int],
    memory: list[int],
    *,
    rightmost: bool = True,
    max_steps: int,
    max_length: int,
) -> tuple[list[int], list[int], int, Outcome]:
    """The string and the memory after a run, the number of its steps, and how it ended."""
    done = 0
    for step in steps(rules, text, memory, rightmost):
        if done == max_steps:
            return text, memory, done, "steps"
        if len(step.text) > max_length:
            return text, memory, done, "length"
        done += 1
        text, memory = step.text, step.memory
        if rules[step.rule].final:
            return text, memory, done, "final"
    return text, memory, done, "none"


# Behaviours


class PlainBehaviour:
    """What an inhabitant does: its actions but for staying, and its memory afterwards.

    Attributes:
        most: The largest number of steps so far.
    """

    def __init__(self, program: Program, actions: int, special: bool, max_steps: int) -> None:
        self.rules = expand(program)
        self.actions, self.special, self.max_steps = actions, special, max_steps
        self.most = 0

    def __call__(
        self, memory: tuple[int, ...], perceived: Sequence[int]
    ) -> tuple[tuple[int, ...], tuple[int, ...]]:
        text, after, done, outcome = run(
            self.rules, list(perceived), list(memory), max_steps=self.max_steps, max_length=128
        )
        self.most = max(self.most, done)
        if outcome in ("steps", "length"):
            return (), memory
        actions = [symbol for symbol in text if symbol < self.actions]
        if not self.special:
            actions = actions[-1:]
        return tuple(action for action in actions if action), tuple(after)


def alike(one: PlainBehaviour, other: PlainBehaviour, inputs: Sequence[Sequence[int]]) -> bool:
    """Whether both do the same whatever they perceive: all pairs of memories are tried."""
    waiting: list[Any] = [((), ())]
    seen = set(waiting)
    while waiting:
        memories = waiting.pop()
        for perceived in inputs:
            mine, theirs = one(memories[0], perceived), other(memories[1], perceived)
            if mine[0] != theirs[0]:
                return False
            following = (mine[1], theirs[1])
            if following not in seen:
                seen.add(following)
                waiting.append(following)
    return True


def memories_of(
    behaviour: PlainBehaviour, inputs: Sequence[Sequence[int]], bound: int = 129
) -> int:
    """How many memories come about, counted up to a bound."""
    waiting: list[tuple[int, ...]] = [()]
    seen = set(waiting)
    while waiting and len(seen) < bound:
        memory = waiting.pop(0)
        for perceived in inputs:
            following = behaviour(memory, perceived)[1]
            if following not in seen:
                seen.add(following)
                waiting.append(following)
    return min(len(seen), bound)


# Spaces


def cells_of(text: str, letters: Sequence[str], cells: int) -> tuple[int, list[list[int]]]:
    """How many cells a text has, and where staying and each action lead in the first ones.

    Letters are of one character; any other is one that does not belong there.
    """
    parts = text.split(":")
    if not parts[-1]:
        parts.pop()
    paths = []
    for cell, part in enumerate(parts[:cells]):
        signs: dict[str, str] = {}
        for arrow in re.findall(f"[{''.join(letters)}][^{''.join(letters)}]*", part):
            signs.setdefault(arrow[0], re.sub("[^-+]", "", arrow))
        row = [cell]
        for letter in letters:
            word = signs.get(letter, "")
            size = word.count(word[0]) if word else 0
            row.append((cell + (size if word[:1] == "+" else -size)) % cells)
        paths.append(row)
    return len(parts), paths


def is_space(paths: Sequence[Sequence[int]]) -> bool:
    """Whether every cell leads to every other, perhaps by way of others."""

    def reached(cell: int) -> set[int]:
        results, waiting = {cell}, [cell]
        while waiting:
            for following in paths[waiting.pop()]:
                if following not in results:
                    results.add(following)
                    waiting.append(following)
        return results

    return all(len(reached(cell)) == len(paths) for cell in range(len(paths)))
