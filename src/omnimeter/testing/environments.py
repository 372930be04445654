"""The conformance suite for environment classes, and the variants of a part of the catalogue."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from dataclasses import replace
from types import NoneType, UnionType
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

from omnimeter.audits.rules import RULES, Rule
from omnimeter.audits.subject import Subject, plain
from omnimeter.catalogue import Kind, resolve
from omnimeter.contract import EnvironmentClass, Spec


class EnvironmentClassSuite:
    """The rules for environment classes, as tests: one for each of ``omnimeter.audits.rules``.

    Set ``environment_class``, or override ``make``.

    Attributes:
        environment_class: The class to be tested.
        draws: How many instances are drawn.
        interactions: How many actions are tried in each environment.
        seed: The root of all random streams.
    """

    environment_class: EnvironmentClass
    draws: int = 5
    interactions: int = 50
    seed: int = 0

    def make(self) -> EnvironmentClass:
        """The environment class to be tested."""
        return self.environment_class

    def check(self, rule: Rule) -> None:
        """Raise an ``AssertionError`` with the first violation of a rule, if there is one."""
        subject = Subject(
            self.make(), self.draws, self.interactions, self.seed, confidence=0.99,
            probe=self.interactions, again=self.make(),
        )  # fmt: skip
        for message, witness in rule(subject):
            raise AssertionError(f"{message} Witness: {plain(witness)}" if witness else message)


def _test_of(rule: Rule) -> Callable[[EnvironmentClassSuite], None]:
    def test(self: EnvironmentClassSuite) -> None:
        self.check(rule)

    test.__doc__ = rule.__doc__
    return test


for _rule in RULES:
    setattr(EnvironmentClassSuite, f"test_{_rule.__name__}", _test_of(_rule))


def variants(kind: Kind, spec: Spec) -> Iterator[Spec]:
    """The spec with each choice (``Literal`` and ``bool``) that it leaves open, one at a time.

    A part without such parameters has one variant, the spec as it is.
    """
    part: Any = resolve(kind, spec.id)
    constructor = inspect.getattr_static(part, "__init__") if isinstance(part, type) else part
    try:
        hints = get_type_hints(constructor)
    except (NameError, TypeError):  # annotations that only a type checker can read, or none
        hints = {}
    specs = [
        replace(spec, parameters={**spec.parameters, name: value})
        for name, hint in hints.items()
        if name not in spec.parameters
        for value in _choices(hint)
    ]
    yield from specs or [spec]


def _choices(hint: Any) -> tuple[Any, ...]:
    if get_origin(hint) in (UnionType, Union):  # a choice that may be left open
        others = [each for each in get_args(hint) if each is not NoneType]
        return _choices(others[0]) if len(others) == 1 else ()
    if hint is bool:
        return (False, True)
    return get_args(hint) if get_origin(hint) is Literal else ()
