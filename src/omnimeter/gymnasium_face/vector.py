"""Many environments of one class as Gymnasium's vector environment, stepped in one call."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from gymnasium.error import ResetNeeded
from gymnasium.utils.seeding import np_random
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import batch_space
from numpy.typing import NDArray

from omnimeter.contract import FloatArray, Instance, IntArray, InvalidInputError, Spec
from omnimeter.gymnasium_face.batches import batch_for
from omnimeter.gymnasium_face.environment import most_steps
from omnimeter.gymnasium_face.instances import Drawn, Source, Wanted, wanted, wanted_now
from omnimeter.gymnasium_face.rendering import check_render_mode, scene_text
from omnimeter.gymnasium_face.spaces import action_space, observation_space
from omnimeter.gymnasium_face.vector_input import Flags, read_actions, read_mask, read_seeds


class OmnimeterVectorEnv(VectorEnv[IntArray, IntArray, NDArray[Any]]):
    """Many environments of one class, with the same spaces and each with its own generator.

    With the seeds ``seed, seed + 1, ...`` they do exactly what as many single environments do. One
    that was truncated begins anew at the next step: its action is ignored, its reward is 0.

    Args:
        environment_class: An id of the catalogue or a place.
        num_envs: How many.
        complexity: As for a single environment.
        instance: The one instance to meet in all of them, at every reset.
        interactions: After how many steps each is truncated; by default never.
        max_episode_steps: The same in Gymnasium's words; the smaller number counts.
        copy: Whether rewards and observations are the caller's own, or overwritten by the next
            step.
        render_mode: ``ansi`` returns the scenes as texts.
        parameters: Parameters of the class that are called like something above.
        further: All other parameters of the class.
    """

    metadata = {  # noqa: RUF012 - as in VectorEnv
        "render_modes": ["ansi"],
        "render_fps": 4,
        "autoreset_mode": AutoresetMode.NEXT_STEP,
    }

    def __init__(
        self,
        environment_class: str,
        num_envs: int = 1,
        *,
        complexity: float | None = None,
        instance: Instance | Mapping[str, Any] | None = None,
        interactions: int | None = None,
        max_episode_steps: int | None = None,
        copy: bool = True,
        render_mode: str | None = None,
        parameters: Mapping[str, Any] | None = None,
        **further: Any,
    ) -> None:
        if num_envs < 1:
            raise InvalidInputError(f"There cannot be {num_envs} environments.", "Give 1 or more.")
        spec = Spec(environment_class, {**(parameters or {}), **further})
        self._source = Source(spec, wanted(instance, complexity))
        self._most = min(most_steps(interactions), most_steps(max_episode_steps))
        self._copy = copy
        self.num_envs = num_envs
        self.render_mode = check_render_mode(render_mode, self.metadata["render_modes"])
        self.single_action_space = action_space(self._source.actions)
        self.single_observation_space = observation_space(self._source.space)
        self.action_space = batch_space(self.single_action_space, num_envs)
        self.observation_space = batch_space(self.single_observation_space, num_envs)
        self._batch = batch_for(self._source.environment_class, num_envs, self._source.space)
        self._drawn: list[Drawn] = []
        self._generators: list[np.random.Generator] = []
        self._count = np.zeros(num_envs, dtype=np.int64)
        self._over = np.zeros(num_envs, dtype=np.bool_)

    def reset(
        self,
        *,
        seed: int | Sequence[int | None] | None = None,
        options: dict[str, Any] | None = None,
    ) -> tuple[IntArray, dict[str, Any]]:
        """Meet the next instances from their beginnings.

        Args:
            seed: The seed of the first environment, the next one having the next number, or one
                seed for each.
            options: ``instance`` or ``complexity``, for this time only; ``reset_mask`` says in
                which environments, by default in all.

        Raises:
            InvalidInputError: There is no such instance, or it has other spaces.
        """
        further = dict(options or {})
        chosen = read_mask(further.pop("reset_mask", None), self.num_envs)
        if not (self._drawn or chosen.all()):
            raise ResetNeeded("Reset all environments before some of them.")
        now = wanted_now(further)
        self._sow(read_seeds(seed, self.num_envs), chosen)
        infos = self._begin(chosen, now)
        self._over[chosen] = False
        return self._given(self._batch.observations), infos

    def step(self, actions: IntArray) -> tuple[IntArray, FloatArray, Flags, Flags, dict[str, Any]]:
        """Act once in every environment.

        Raises:
            InvalidInputError: There is no such action.
            ResetNeeded: There was no reset yet.
        """
        if not self._drawn:
            raise ResetNeeded("Actions come too early: call reset first.")
        self._batch.advance(read_actions(actions, self.num_envs, self._source.actions))
        self._count += 1
        infos: dict[str, Any] = {}
        if self._over.any():
            infos = self._begin(self._over, Wanted())
            self._batch.rewards[self._over] = 0.0
        self._over = self._count >= self._most
        return (
            self._given(self._batch.observations),
            self._given(self._batch.rewards),
            np.zeros(self.num_envs, dtype=np.bool_),
            self._over.copy(),
            infos,
        )

    def render(self) -> tuple[str, ...] | None:
        """The scenes as texts."""
        if self.render_mode is None:
            return None
        space, show = self._source.space, self._source.environment_class.scene
        seen = self._batch.seen.reshape(self.num_envs, -1)
        return tuple(
            scene_text(show(drawn.instance, space.shown(vector)))
            for drawn, vector in zip(self._drawn, seen, strict=True)
        )

    def _begin(self, chosen: Flags, now: Wanted) -> dict[str, Any]:
        """Begin anew in the chosen environments, and say what is there now."""
        drawn: list[Any] = self._drawn or [None] * self.num_envs
        numbers = np.flatnonzero(chosen).tolist()
        new = {at: self._source.draw(self._generators[at], now, drawn[at]) for at in numbers}
        drawn = [new.get(at, old) for at, old in enumerate(drawn)]
        self._batch.start(chosen, [each.environment for each in drawn], self._generators)
        self._drawn = drawn
        self._count[chosen] = 0
        found = {
            "instance": np.full(self.num_envs, None, dtype=object),
            "complexity": np.zeros(self.num_envs),
            "first_reward": np.where(chosen, self._batch.rewards, 0.0),
        }
        for at, each in new.items():
            found["instance"][at] = each.data
            found["complexity"][at] = each.complexity
        return {**found, **{f"_{name}": chosen.copy() for name in found}}

    def _sow(self, seeds: Sequence[int | None], chosen: Flags) -> None:
        """Begin those generators anew that have a seed, and all of them at the first time."""
        if not self._generators:
            self._generators = [np_random(seed)[0] for seed in seeds]
            return
        for at, seed in enumerate(seeds):
            if chosen[at] and seed is not None:
                self._generators[at] = np_random(seed)[0]

    def _given(self, array: Any) -> Any:
        return array.copy() if self._copy else array
