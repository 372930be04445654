"""The conformance suite for environment classes, and the variants of a part of the catalogue."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
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
        draws: How many instances are drawn.
        interactions: How many actions are tried in each environment.
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


for _rule in RULES:

    def _test(self: EnvironmentClassSuite, rule: Rule = _rule) -> None:
        self.check(rule)

    _test.__doc__ = _rule.__doc__
    setattr(EnvironmentClassSuite, f"test_{_rule.__name__}", _test)


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
    specs = []
    for name, hint in hints.items():
        union = get_origin(hint) in (UnionType, Union)  # a choice that may be left open
        kinds = [each for each in (get_args(hint) if union else [hint]) if each is not NoneType]
        if name in spec.parameters or len(kinds) != 1:
            continue
        choices = (False, True) if kinds == [bool] else ()
        if get_origin(kinds[0]) is Literal:
            choices = get_args(kinds[0])
        specs += [replace(spec, parameters={**spec.parameters, name: each}) for each in choices]
    yield from specs or [spec]
