"""One environment as a Gymnasium environment, its spaces and its registration."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from copy import deepcopy
from operator import index
from typing import Any, NamedTuple

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
    Space,
    Spec,
    UnknownNameError,
    stream,
)
from omnimeter.contract.exercise import FOREVER
from omnimeter.gymnasium_adapter.rendering import Canvas, Frame, Window, scene_text


def observation_space(space: Space) -> gymnasium.Space[Any]:
    """Integers where an observation is one, vectors of integers otherwise."""
    return Discrete(space.sizes[0]) if space.single else MultiDiscrete(list(space.sizes))


def invalid_action(action: object, actions: int) -> InvalidInputError:
    """The error of an action that does not exist."""
    return InvalidInputError(
        f"There is no action {action!r}.", f"An action is an integer from 0 to {actions - 1}."
    )


def check_render_mode(mode: str | None, known: Sequence[str]) -> str | None:
    """The render mode, if it exists; raises ``InvalidInputError`` otherwise."""
    if mode is None or mode in known:
        return mode
    raise InvalidInputError(f"There is no render mode {mode!r}.", f"Known: {', '.join(known)}.")


def step_limit(interactions: int | None) -> int:
    """The number of steps before truncation; raises ``InvalidInputError`` below 1."""
    limit = FOREVER if interactions is None else interactions
    if limit < 1:
        raise InvalidInputError(f"An episode of {limit} interactions is empty.", "Give 1 or more.")
    return limit


Request = tuple[Instance | None, float | None]
"""Which instances are asked for: always the same one, new ones of a complexity, or any."""

ANY: Request = (None, None)


def read_request(
    instance: Instance | Mapping[str, Any] | None = None,
    complexity: float | None = None,
    **unknown: Any,
) -> Request:
    """A request by arguments or options of a reset; an instance may be plain data."""
    for name in unknown:
        raise UnknownNameError("option of reset called", name, ("instance", "complexity"))
    if instance is not None and complexity is not None:
        raise InvalidInputError(
            "An instance and a complexity are given.", "Give one: an instance has its complexity."
        )
    if instance is not None and not isinstance(instance, Instance):
        instance = Instance(instance)
    return instance, complexity


class Sample(NamedTuple):
    """An instance, the environment it describes, and its complexity."""

    instance: Instance
    environment: Environment
    complexity: float


class InstanceSampler:
    """Samples instances of one class that all have the same actions and observations.

    Without an instance by default, a first draw decides on the spaces; it is always the same draw.
    Where the class hardly ever draws these spaces again, all have the complexity of that draw.
    """

    def __init__(
        self, spec: Spec, default: Request, views: Sequence[str | None] | None = None
    ) -> None:
        made: EnvironmentClass = make(Kind.ENVIRONMENT, spec)
        self.environment_class = made if views is None else made.with_views(views)
        self._label = spec.label
        instance, complexity = default
        rng = stream(0, "gymnasium").generator()
        first = self._draw(rng, complexity) if instance is None else self._given(instance)
        self.actions, self.spaces = first.environment.actions, _spaces(first.environment)
        self.space = self.spaces[0]
        # Some draws show whether the class often draws the same spaces.
        if default == ANY and not any(self._fits(self._draw(rng)) for _ in range(32)):
            default = None, first.complexity
        self._default = default

    def sample(
        self, rng: np.random.Generator, request: Request, last: Sample | None = None
    ) -> Sample:
        """The next instance as asked for; the last sample is kept if it is of the same instance.

        Raises:
            InvalidInputError: There is none, or it has other spaces.
        """
        instance, complexity = self._default if request == ANY else request
        if last is not None and last.instance is instance:
            return last
        for _ in range(1000 if instance is None else 1):
            sample = self._draw(rng, complexity) if instance is None else self._given(instance)
            if self._fits(sample):
                return sample
        what = "A drawn instance" if instance is None else "This instance"
        if complexity is not None:
            what = f"An instance of complexity {complexity:g}"
        theirs, ours = (
            str(space.sizes) if len(space.sizes) <= 8 else f"of {len(space.sizes)} numbers"
            for space in (sample.environment.space, self.space)
        )
        raise InvalidInputError(
            f"{what} of {self._label} has {sample.environment.actions} actions and observations "
            f"{theirs}; this Gymnasium environment was made for {self.actions} and {ours}.",
            "Give an instance, a complexity, or those parameters of the class that decide on the "
            "actions and observations.",
        )

    def _given(self, instance: Instance) -> Sample:
        try:
            return self._build(instance)
        except OmnimeterError:
            raise
        except Exception as error:  # classes do not validate descriptions written by hand
            raise InvalidInputError(
                f"{self._label} has no instance {dict(instance.data)}: "
                f"{type(error).__name__}: {error}.",
                "Take one that was drawn as a model: info['instance'] after a reset.",
            ) from error

    def _draw(self, rng: np.random.Generator, complexity: float | None = None) -> Sample:
        return self._build(self.environment_class.draw(rng, complexity))

    def _build(self, instance: Instance) -> Sample:
        complexity = self.environment_class.complexity(instance)
        return Sample(instance, self.environment_class.build(instance), complexity)

    def _fits(self, sample: Sample) -> bool:
        environment = sample.environment
        return environment.actions == self.actions and _spaces(environment) == self.spaces


def _spaces(environment: Environment) -> list[Space]:
    """The observation space of each seat."""
    return [environment.space_of(seat) for seat in range(environment.seats)]


class OmnimeterEnv(gymnasium.Env[Observation, int]):
    """An environment class of the catalogue as a Gymnasium environment.

    Every reset draws a new instance from the class with the environment's own generator. All have
    the same spaces: instances with other spaces are skipped. None terminates. ``info`` of a reset
    holds ``instance`` (as data), ``complexity`` and ``first_reward``, given before any action.

    Args:
        environment_class: An id of the catalogue (``cups-v1``) or a location (``file.py:Name``).
        complexity: The complexity of the instances; by default as the class draws it.
        instance: The one instance of every reset, instead of new ones.
        interactions: The number of steps before truncation; by default unlimited.
        render_mode: ``rgb_array`` returns the scene as pixels and ``ansi`` as text; ``human`` shows
            it at every step, in a window or, without a display, as text.
        parameters: Parameters of the class with the name of an argument above, or of the ``id`` of
            ``gymnasium.make``.
        further: All other parameters of the class.
    """

    metadata = {  # noqa: RUF012 - as in Env
        "render_modes": ["rgb_array", "human", "ansi"],
        "render_fps": 4,
    }

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
        self._sampler = InstanceSampler(spec, read_request(instance, complexity))
        self._step_limit = step_limit(interactions)
        self.action_space = Discrete(self._sampler.actions)  # type: ignore[assignment] # of int, not int64
        self.observation_space = observation_space(self._sampler.space)
        self.render_mode = check_render_mode(render_mode, self.metadata["render_modes"])
        self._sample: Sample | None = None
        self._observation: Observation = 0
        self._reward, self._count = 0.0, 0
        self._canvas = Canvas()
        self._window: Window | None = None
        self._title = spec.label

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Observation, dict[str, Any]]:
        """Start the next instance.

        Args:
            seed: The new seed of the generator.
            options: ``instance`` or ``complexity``, for this time only.

        Raises:
            InvalidInputError: There is no such instance, or it has other spaces.
        """
        super().reset(seed=seed)
        request = read_request(**(options or {}))
        self._sample = sample = self._sampler.sample(self.np_random, request, self._sample)
        self._reward, self._observation = sample.environment.start(self.np_random)
        self._count = 0
        if self.render_mode == "human":
            self.render()
        return self._observation, {
            "instance": deepcopy(dict(sample.instance.data)),
            "complexity": sample.complexity,
            "first_reward": self._reward,
        }

    def step(self, action: int) -> tuple[Observation, float, bool, bool, dict[str, Any]]:
        """Take an action.

        Raises:
            InvalidInputError: There is no such action.
            ResetNeeded: There was no reset yet.
        """
        try:
            chosen = index(action)
        except TypeError:
            raise invalid_action(action, self._sampler.actions) from None
        if not 0 <= chosen < self._sampler.actions:
            raise invalid_action(action, self._sampler.actions)
        if self._sample is None:
            raise ResetNeeded(f"Action {action} comes too early: call reset first.")
        reward, observation = self._sample.environment.step(chosen)
        self._reward, self._observation = reward, observation
        self._count += 1
        if self.render_mode == "human":
            self.render()
        return observation, reward, False, self._count >= self._step_limit, {}

    def render(self) -> Frame | str | None:
        """The scene as pixels or as text; ``None`` when it is shown to a person instead."""
        if self._sample is None:
            raise ResetNeeded("There is no scene yet: call reset first.")
        if self.render_mode is None:
            return None
        show = self._sampler.environment_class.scene
        scene = show(self._sample.instance, self._observation, self._reward)
        if self.render_mode != "human":
            return self._canvas.render(scene, self._sampler.actions, self.render_mode)
        if self._window is None:
            self._window = Window(self._title, self.metadata["render_fps"])
        if self._window.exists:
            self._window.show(self._canvas.draw(scene, self._sampler.actions))
        else:
            print(scene_text(scene), end="\n\n")
        return None

    def close(self) -> None:
        """Close the window, if there is one."""
        if self._window is not None:
            self._window.close()
            self._window = None


NAMESPACE = "omnimeter"
"""The namespace of the ids in Gymnasium's registry: ``omnimeter/cups-v1``."""


def register() -> None:
    """Register every environment class of the catalogue that Gymnasium does not know yet.

    Importing the package does it; do it again after ``omnimeter.catalogue.forget``. A class that
    cannot be used is registered too: making it raises the catalogue's explanation.
    """
    for entry in listing(Kind.ENVIRONMENT):
        name = f"{NAMESPACE}/{entry.id}"
        if name in gymnasium.registry or read_id(entry.id) is None:
            continue
        gymnasium.register(
            name,
            entry_point="omnimeter.gymnasium_adapter.environment:OmnimeterEnv",
            vector_entry_point="omnimeter.gymnasium_adapter.vector:OmnimeterVectorEnv",
            kwargs={"environment_class": entry.id},
            order_enforce=False,  # a wrapper that costs time; the environment enforces it itself
            disable_env_checker=True,  # likewise; the tests check every class instead
        )
