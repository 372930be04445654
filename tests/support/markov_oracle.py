"""Markov algorithms in plain Python, from the definitions (Lambda thesis, 2.1.6, 3.6.6)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Literal, NamedTuple

from omnimeter.environments.universal.language import RECALL, STORE, PlainRule

Outcome = Literal["final", "none", "steps", "length"]
"""A terminating rule; no rule matches; one more step than allowed; a string too long."""


class Step(NamedTuple):
    """What one rule did: its number from 0, and string and memory after it."""

    rule: int
    text: list[int]
    memory: list[int]


def occurrence(left: Sequence[int], text: Sequence[int], rightmost: bool) -> int | None:
    """Where a left side occurs: at every place where it is the part of the text of its length."""
    places = [
        place
        for place in range(len(text) - len(left) + 1)
        if list(text[place : place + len(left)]) == list(left)
    ]
    if not places:
        return None
    return places[-1] if rightmost else places[0]


def steps(
    rules: Sequence[PlainRule], text: list[int], memory: list[int], rightmost: bool = True
) -> Iterator[Step]:
    """The steps of a run, which may go on for ever."""
    while True:
        places = [occurrence(rule.left, text, rightmost) for rule in rules]
        number = next((n for n, place in enumerate(places) if place is not None), None)
        if number is None:
            return
        rule, place = rules[number], places[number] or 0
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
