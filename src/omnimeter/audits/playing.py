"""Given actions in an environment, and what it answers, in a form that can be compared."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from omnimeter.contract import Environment, EnvironmentClass, Instance, Percept, Stream

Answers = list[tuple[float, list[int]]]
"""Rewards and observations, the first ones included."""

PROBE = 100
"""Actions that are tried to see whether two environments are the same."""


def answer(environment: Environment, percept: Percept) -> tuple[float, list[int]]:
    """A percept that can be compared and written down."""
    return float(percept.reward), environment.space.vector(percept.observation).tolist()


def answers(environment: Environment, chance: Stream, actions: Iterable[int]) -> Answers:
    """What an environment answers from its beginning."""
    first = answer(environment, environment.start(chance.generator()))
    return [first, *(answer(environment, environment.step(action)) for action in actions)]


def random_actions(environment: Environment, chance: Stream, count: int = PROBE) -> list[int]:
    """Some actions of an environment."""
    drawn: list[int] = chance.generator().integers(environment.actions, size=count).tolist()
    return drawn


def first_difference(one: Sequence[object], other: Sequence[object]) -> int | None:
    """Where two sequences differ first, if they do."""
    if one == other:
        return None
    pairs = enumerate(zip(one, other, strict=True))
    return next(number for number, (mine, theirs) in pairs if mine != theirs)


def left_to_chance(environment_class: EnvironmentClass, instance: Instance, chance: Stream) -> bool:
    """Whether other chances were seen to give other answers to the same actions."""
    environments = [environment_class.build(instance) for _ in range(3)]
    actions = random_actions(environments[0], chance.child("actions"))
    seen = [
        answers(environment, chance.child(number), actions)
        for number, environment in enumerate(environments)
    ]
    return any(other != seen[0] for other in seen[1:])
