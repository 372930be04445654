"""Environments with several seats as parallel environments of PettingZoo.

It is imported by itself, because PettingZoo is an extra: ``pip install 'omnimeter[pettingzoo]'``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from copy import deepcopy
from typing import Any

import gymnasium
import numpy as np
from gymnasium.error import ResetNeeded
from gymnasium.spaces import Discrete
from gymnasium.utils.seeding import np_random
from pettingzoo import ParallelEnv

from omnimeter.contract import Instance, InvalidInputError, Observation, Percept, Spec
from omnimeter.gymnasium_adapter.environment import (
    InstanceSampler,
    Sample,
    check_render_mode,
    invalid_action,
    observation_space,
    read_request,
    step_limit,
)
from omnimeter.gymnasium_adapter.rendering import Canvas, Frame

Infos = dict[str, dict[str, Any]]


class OmnimeterParallelEnv(ParallelEnv[str, Observation, int]):  # type: ignore[misc] # no types
    """A class whose environments have several seats, as a parallel environment of PettingZoo.

    The agents are ``seat_0``, ``seat_1`` and so on; all act at once. Every reset draws a new
    instance with the environment's own generator. All have the same spaces: instances with other
    spaces are skipped. None terminates; all are truncated at once. ``infos`` of a reset
    hold ``instance`` (as data), ``complexity`` and ``first_reward`` for each agent.

    Args:
        environment_class: An id of the catalogue (``lambda-v1``) or a location (``file.py:Name``).
        seats: How many agents act at once.
        views: The view of each seat, where the class has several; by default its default.
        complexity: The complexity of the instances; by default as the class draws it.
        instance: The one instance of every reset, instead of new ones.
        interactions: The number of steps before truncation; by default unlimited.
        render_mode: ``rgb_array`` returns the scene of the first seat as pixels, ``ansi`` as text.
        parameters: Parameters of the class with the name of an argument above.
        further: All other parameters of the class.

    Raises:
        InvalidInputError: The class has not so many seats.
    """

    def __init__(
        self,
        environment_class: str,
        seats: int = 2,
        *,
        views: Sequence[str | None] | None = None,
        complexity: float | None = None,
        instance: Instance | Mapping[str, Any] | None = None,
        interactions: int | None = None,
        render_mode: str | None = None,
        parameters: Mapping[str, Any] | None = None,
        **further: Any,
    ) -> None:
        if seats < 1:
            raise InvalidInputError(f"There cannot be {seats} seats.", "Give 1 or more.")
        seat_views = [None] * seats if views is None else list(views)
        if len(seat_views) != seats:
            message = f"There are {len(seat_views)} views for {seats} seats."
            raise InvalidInputError(message, "Give one for each.")
        spec = Spec(environment_class, {**(parameters or {}), **further})
        request = read_request(instance, complexity)
        self._sampler = InstanceSampler(spec, request, seat_views)
        self._step_limit = step_limit(interactions)
        self.metadata: dict[str, Any] = {
            "name": f"{spec.label} with {seats} seats",
            "render_modes": ["rgb_array", "ansi"],
            "render_fps": 4,
            "is_parallelizable": True,
        }
        self.render_mode = check_render_mode(render_mode, self.metadata["render_modes"])
        self.possible_agents = [f"seat_{seat}" for seat in range(seats)]
        self.agents: list[str] = []
        spaces = zip(self.possible_agents, self._sampler.spaces, strict=True)
        self.observation_spaces = {name: observation_space(space) for name, space in spaces}
        self.action_spaces: dict[str, gymnasium.Space[int]] = {
            name: Discrete(self._sampler.actions)  # type: ignore[misc] # of int, not int64
            for name in self.possible_agents
        }
        self._generator: np.random.Generator | None = None
        self._sample: Sample | None = None
        self._percepts: Sequence[Percept] = ()
        self._count = 0
        self._canvas = Canvas()

    def observation_space(self, agent: str) -> gymnasium.Space[Any]:
        """The observation space of a seat, always the same object."""
        return self.observation_spaces[agent]

    def action_space(self, agent: str) -> gymnasium.Space[int]:
        """The action space of a seat, always the same object."""
        return self.action_spaces[agent]

    def reset(
        self, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[dict[str, Observation], Infos]:
        """Start the next instance.

        Args:
            seed: The new seed of the generator.
            options: ``instance`` or ``complexity``, for this time only. PettingZoo's own test
                gives others too, which are for other environments: they change nothing.

        Raises:
            InvalidInputError: There is no such instance, or it has other spaces.
        """
        if seed is not None or self._generator is None:
            self._generator = np_random(seed)[0]
        known = {name: (options or {}).get(name) for name in ("instance", "complexity")}
        request = read_request(**known)
        self._sample = sample = self._sampler.sample(self._generator, request, self._sample)
        self._percepts = sample.environment.start_joint(self._generator)
        self._count, self.agents = 0, list(self.possible_agents)
        infos = {
            name: {
                "instance": deepcopy(dict(sample.instance.data)),
                "complexity": sample.complexity,
                "first_reward": percept.reward,
            }
            for name, percept in zip(self.agents, self._percepts, strict=True)
        }
        return self._observations(), infos

    def step(
        self, actions: dict[str, int]
    ) -> tuple[dict[str, Observation], dict[str, float], dict[str, bool], dict[str, bool], Infos]:
        """Take the actions of all seats at once.

        Raises:
            InvalidInputError: There is no such action, or one is missing.
            ResetNeeded: There was no reset yet, or all agents were truncated.
        """
        if self._sample is None or not self.agents:
            raise ResetNeeded("Actions come too early: call reset first.")
        if set(actions) != set(self.agents):
            raise InvalidInputError(
                f"There are actions of {', '.join(sorted(actions)) or 'no agent'}.",
                f"Give one for each of {', '.join(self.agents)}.",
            )
        for action in actions.values():
            number = isinstance(action, int | np.integer)
            if not number or not 0 <= action < self._sampler.actions:
                raise invalid_action(action, self._sampler.actions)
        chosen = [int(actions[name]) for name in self.agents]
        self._percepts = self._sample.environment.step_joint(chosen)
        self._count += 1
        over, names = self._count >= self._step_limit, self.agents
        rewards = {
            name: percept.reward for name, percept in zip(names, self._percepts, strict=True)
        }
        observations, infos = self._observations(), {name: dict[str, Any]() for name in names}
        self.agents = [] if over else names
        return (
            observations, rewards, dict.fromkeys(names, False), dict.fromkeys(names, over), infos,
        )  # fmt: skip

    def _observations(self) -> dict[str, Observation]:
        pairs = zip(self.possible_agents, self._percepts, strict=True)
        return {name: percept.observation for name, percept in pairs}

    def render(self) -> Frame | str | None:
        """What a person in the first seat is shown, as pixels or as text."""
        if self._sample is None:
            raise ResetNeeded("There is no scene yet: call reset first.")
        if self.render_mode is None:
            return None
        reward, observation = self._percepts[0]
        scene = self._sampler.environment_class.scene(self._sample.instance, observation, reward)
        return self._canvas.render(scene, self._sampler.actions, self.render_mode)
