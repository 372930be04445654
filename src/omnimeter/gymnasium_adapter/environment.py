"""One environment as Gymnasium knows it, its spaces and its registration."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass
from operator import index
from typing import Any

import gymnasium
import numpy as np
from gymnasium.error import ResetNeeded
from gymnasium.spaces import Discrete, MultiDiscrete

from omnimeter.catalogue import Kind, listing, make
from omnimeter.catalogue.entries import read_id
from omnimeter.contract import (
    Environment,
    EnvironmentClass,
    Instance,
    InvalidInputError,
    Observation,
    OmnimeterError,
    Percept,
    Space,
    Spec,
    UnknownNameError,
    stream,
)
from omnimeter.contract.exercise import FOREVER
from omnimeter.contract.spec import canonical_json


def action_space(actions: int) -> gymnasium.Space[Any]:
    """The actions ``0 .. actions - 1``."""
    return Discrete(actions)


def observation_space(space: Space) -> gymnasium.Space[Any]:
    """Integers where an observation is one, vectors of integers otherwise."""
    return Discrete(space.sizes[0]) if space.single else MultiDiscrete(list(space.sizes))


def no_such_action(given: object, actions: int) -> InvalidInputError:
    """The error of an action that does not exist."""
    return InvalidInputError(
        f"There is no action {given!r}.", f"An action is an integer from 0 to {actions - 1}."
    )


def scene_text(scene: Mapping[str, Any]) -> str:
    """One line for each thing in a scene."""
    return "\n".join(f"{name}:{_behind(value)}" for name, value in scene.items())


def _behind(value: Any) -> str:
    if isinstance(value, list) and value and all(isinstance(item, Mapping) for item in value):
        return "".join(f"\n  {number}: {_in_a_line(item)}" for number, item in enumerate(value, 1))
    return f" {_shown(value)}"


def _in_a_line(thing: Mapping[str, Any]) -> str:
    return ", ".join(f"{name} {_shown(value)}" for name, value in thing.items())


def _shown(value: Any) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, list) and value and all(isinstance(item, str) for item in value):
        return " ".join(value)
    return canonical_json(value) if value != [] else "none"


def check_render_mode(mode: str | None, known: Sequence[str]) -> str | None:
    """The render mode, if there is such a one.

    Raises:
        InvalidInputError: There is not.
    """
    if mode is None or mode in known:
        return mode
    raise InvalidInputError(
        f"There is no render mode {mode!r} here.", f"Known: {', '.join(known)}."
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


class OmnimeterEnv(gymnasium.Env[Observation, int]):
    """An environment class of the catalogue as a Gymnasium environment.

    Every reset draws a new instance from the class with the environment's own generator. All have
    the same spaces: instances with other spaces are passed over. ``info`` of a reset holds
    ``instance`` (as data), ``complexity`` and ``first_reward``, the reward given before the first
    action.

    Args:
        environment_class: An id of the catalogue (``cups-v1``) or a place (``file.py:Name``).
        complexity: The complexity of the instances; by default as the class draws it.
        instance: The one instance to meet at every reset, in place of new ones.
        interactions: After how many steps it is truncated; by default never. No environment of
            ours terminates by itself.
        render_mode: ``ansi`` returns the scene as text, ``human`` prints it at every step.
        parameters: Parameters of the class that are called like something above.
        further: All other parameters of the class.
    """

    metadata = {"render_modes": ["ansi", "human"], "render_fps": 4}  # noqa: RUF012 - as in Env

    def __init__(
        self,
        environment_class: str,
        *,
        complexity: float | None = None,
        instance: Instance | Mapping[str, Any] | None = None,
        interactions: int | None = None,
        render_mode: str | None = None,
        parameters: Mapping[str, Any] | None = None,
        **further: Any,
    ) -> None:
        spec = Spec(environment_class, {**(parameters or {}), **further})
        self._source = Source(spec, wanted(instance, complexity))
        self._actions = self._source.actions
        self._most = most_steps(interactions)
        self.action_space = action_space(self._actions)
        self.observation_space = observation_space(self._source.space)
        self.render_mode = check_render_mode(render_mode, self.metadata["render_modes"])
        self._prints = render_mode == "human"
        self._drawn: Drawn | None = None
        self._advance = _not_reset
        self._observation: Observation = 0
        self._reward = 0.0
        self._count = 0

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Observation, dict[str, Any]]:
        """Meet the next instance from its beginning.

        Args:
            seed: Begins the generator anew.
            options: ``instance`` or ``complexity``, for this time only.

        Raises:
            InvalidInputError: There is no such instance, or it has other spaces.
        """
        super().reset(seed=seed)
        drawn = self._source.draw(self.np_random, wanted_now(options), self._drawn)
        first_reward, self._observation = drawn.environment.start(self.np_random)
        self._reward = first_reward
        self._drawn = drawn
        self._advance = drawn.environment.step
        self._count = 0
        if self._prints:
            self.render()
        return self._observation, {
            "instance": drawn.data,
            "complexity": drawn.complexity,
            "first_reward": first_reward,
        }

    def step(self, action: int) -> tuple[Observation, float, bool, bool, dict[str, Any]]:
        """Act once.

        Raises:
            InvalidInputError: There is no such action.
            ResetNeeded: There was no reset yet.
        """
        try:
            chosen = index(action)
        except TypeError:
            raise no_such_action(action, self._actions) from None
        if not 0 <= chosen < self._actions:
            raise no_such_action(action, self._actions)
        reward, observation = self._advance(chosen)
        self._reward, self._observation = reward, observation
        self._count += 1
        if self._prints:
            self.render()
        return observation, reward, False, self._count >= self._most, {}

    def render(self) -> str | None:
        """The scene as text, or nothing after it was printed."""
        if self._drawn is None:
            raise ResetNeeded("There is nothing to show yet: call reset first.")
        scene = self._source.environment_class.scene(
            self._drawn.instance, self._observation, self._reward
        )
        if self._prints:
            print(scene_text(scene), end="\n\n")
        return scene_text(scene) if self.render_mode == "ansi" else None


def most_steps(interactions: int | None) -> int:
    """After how many steps it is truncated.

    Raises:
        InvalidInputError: That cannot be.
    """
    if interactions is None:
        return FOREVER
    if interactions < 1:
        raise InvalidInputError(
            f"It cannot be truncated after {interactions} interactions.", "Give 1 or more."
        )
    return interactions


def _not_reset(action: int) -> Percept:
    raise ResetNeeded(f"Action {action} comes too early: call reset first.")


NAMESPACE = "omnimeter"
"""What stands before an id of the catalogue: ``omnimeter/cups-v1``."""

_ROOM = "omnimeter.gymnasium_adapter"


def register() -> None:
    """Register every environment class of the catalogue that Gymnasium does not know yet.

    Importing the package does it once. Call it again after ``omnimeter.catalogue.forget``. A class
    that cannot be used is registered too: whoever makes it gets the catalogue's explanation.
    """
    for entry in listing(Kind.ENVIRONMENT):
        name = f"{NAMESPACE}/{entry.id}"
        if name in gymnasium.registry or read_id(entry.id) is None:
            continue
        gymnasium.register(
            name,
            entry_point=f"{_ROOM}.environment:OmnimeterEnv",
            vector_entry_point=f"{_ROOM}.vector:OmnimeterVectorEnv",
            kwargs={"environment_class": entry.id},
            order_enforce=False,  # a wrapper that costs time; the environment enforces it itself
            disable_env_checker=True,  # likewise; the tests check every class instead
        )
