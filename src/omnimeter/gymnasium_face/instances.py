"""Where a Gymnasium environment gets its instances: one that is given, or new ones of its class.

Gymnasium's spaces are fixed when an environment is made, while a class may draw instances with more
or fewer actions. So one instance is looked at first, and all others must have the same spaces.
"""

from __future__ import annotations

from collections.abc import Mapping
from copy import deepcopy
from dataclasses import dataclass
from typing import Any

import numpy as np

from omnimeter.catalogue import Kind, make
from omnimeter.contract import (
    Environment,
    EnvironmentClass,
    Instance,
    InvalidInputError,
    OmnimeterError,
    Space,
    Spec,
    UnknownNameError,
    stream,
)

MOST_DRAWS = 1000
"""How many instances with other spaces are passed over before it is an error."""

TRIED_FIRST = 32
"""Draws that show whether a class often draws the same spaces."""


@dataclass(frozen=True, slots=True)
class Wanted:
    """Which instances are wanted.

    Attributes:
        instance: This one, always.
        complexity: New ones of this complexity.
    """

    instance: Instance | None = None
    complexity: float | None = None


def wanted(
    instance: Instance | Mapping[str, Any] | None = None, complexity: float | None = None
) -> Wanted:
    """What a person wants, who may write an instance as plain data.

    Raises:
        InvalidInputError: Both are given.
    """
    if instance is None:
        return Wanted(None, complexity)
    if complexity is not None:
        raise InvalidInputError(
            "An instance and a complexity are given.", "Give one: an instance has its complexity."
        )
    return Wanted(instance if isinstance(instance, Instance) else Instance(instance))


def wanted_now(options: Mapping[str, Any] | None) -> Wanted:
    """What the options of one reset ask for.

    Raises:
        UnknownNameError: One of them means nothing here.
    """
    options = options or {}
    known = ("instance", "complexity")
    for name in options:
        if name not in known:
            raise UnknownNameError("option of reset called", name, known)
    return wanted(**options)


@dataclass(frozen=True, slots=True)
class Drawn:
    """An instance, ready to be met.

    Attributes:
        instance: The instance.
        environment: What it describes.
        complexity: Its grade.
    """

    instance: Instance
    environment: Environment
    complexity: float

    @property
    def data(self) -> dict[str, Any]:
        """The description as plain data of the caller's own."""
        return deepcopy(dict(self.instance.data))


class Source:
    """Gives instances of one class that all have the same actions and observations.

    Args:
        spec: The class.
        always: Which of its instances. Where it does not name one, a first draw decides on the
            spaces; it is always the same draw, so that the same spec has the same spaces. Where the
            class hardly ever draws these spaces again, all have the complexity of that draw.
    """

    def __init__(self, spec: Spec, always: Wanted) -> None:
        self.environment_class: EnvironmentClass = make(Kind.ENVIRONMENT, spec)
        self._label = spec.label
        if always.instance is not None:
            first = self._given(always.instance)
        else:
            rng = stream(0, "gymnasium").generator()
            first = self._built(self.environment_class.draw(rng, always.complexity))
        self.actions = first.environment.actions
        self.space = first.environment.space
        if always == Wanted() and not self._recurs(rng):
            always = Wanted(complexity=first.complexity)
        self._always = always

    def draw(self, rng: np.random.Generator, now: Wanted, last: Drawn | None = None) -> Drawn:
        """The next instance.

        Args:
            rng: All chance.
            now: What is wanted this time, if anything else than always.
            last: What was drawn before; an instance that is to be met again is not built again.

        Raises:
            InvalidInputError: There is none, or it has other spaces.
        """
        if now == Wanted():
            now = self._always
        if now.instance is None:
            return self._new(rng, now.complexity)
        if last is not None and last.instance is now.instance:
            return last
        drawn = self._given(now.instance)
        if not self._fits(drawn.environment):
            raise self._other_spaces("This instance", drawn.environment)
        return drawn

    def _recurs(self, rng: np.random.Generator) -> bool:
        """Whether some of the next draws have the same spaces."""
        drawn = (self._built(self.environment_class.draw(rng)) for _ in range(TRIED_FIRST))
        return any(self._fits(each.environment) for each in drawn)

    def _new(self, rng: np.random.Generator, complexity: float | None) -> Drawn:
        for _ in range(MOST_DRAWS):
            drawn = self._built(self.environment_class.draw(rng, complexity))
            if self._fits(drawn.environment):
                return drawn
        what = (
            "A drawn instance"
            if complexity is None
            else f"An instance of complexity {complexity:g}"
        )
        raise self._other_spaces(what, drawn.environment)

    def _given(self, instance: Instance) -> Drawn:
        try:
            return self._built(instance)
        except OmnimeterError:
            raise
        except Exception as error:  # a class may trust its own descriptions, but a person wrote it
            raise InvalidInputError(
                f"{self._label} has no instance {dict(instance.data)}: "
                f"{type(error).__name__}: {error}.",
                "Take one that was drawn as a model: info['instance'] after a reset.",
            ) from error

    def _built(self, instance: Instance) -> Drawn:
        complexity = self.environment_class.complexity(instance)
        return Drawn(instance, self.environment_class.build(instance), complexity)

    def _fits(self, environment: Environment) -> bool:
        return environment.actions == self.actions and environment.space == self.space

    def _other_spaces(self, what: str, environment: Environment) -> InvalidInputError:
        return InvalidInputError(
            f"{what} of {self._label} has {environment.actions} actions and observations "
            f"{_sizes(environment.space)}; this Gymnasium environment was made for {self.actions} "
            f"and {_sizes(self.space)}.",
            "Give an instance, a complexity, or those parameters of the class that decide on the "
            "actions and observations.",
        )


def _sizes(space: Space) -> str:
    if len(space.sizes) <= 8:
        return str(space.sizes)
    return f"of {len(space.sizes)} numbers"
