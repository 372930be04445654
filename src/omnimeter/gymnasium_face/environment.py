"""One environment as Gymnasium knows it."""

from __future__ import annotations

from collections.abc import Mapping
from operator import index
from typing import Any

import gymnasium
from gymnasium.error import ResetNeeded

from omnimeter.contract import FOREVER, Instance, InvalidInputError, Observation, Percept, Spec
from omnimeter.gymnasium_face.instances import Drawn, Source, wanted, wanted_now
from omnimeter.gymnasium_face.rendering import check_render_mode, scene_text
from omnimeter.gymnasium_face.spaces import action_space, no_such_action, observation_space


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
