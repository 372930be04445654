"""Many environments of one class as Gymnasium's vector environment, stepped in one call."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from copy import deepcopy
from typing import Any

import numpy as np
from gymnasium.error import ResetNeeded
from gymnasium.spaces import Discrete
from gymnasium.utils.seeding import np_random
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import batch_space
from numpy.typing import NDArray

from omnimeter.contract import EnvironmentKernels, Instance, InvalidInputError, Space, Spec
from omnimeter.contract.agent import FloatArray, IntArray
from omnimeter.contract.kernels import State
from omnimeter.gymnasium_adapter.environment import (
    ANY,
    InstanceSampler,
    Request,
    Sample,
    check_render_mode,
    invalid_action,
    observation_space,
    read_request,
    step_limit,
)
from omnimeter.gymnasium_adapter.rendering import Canvas
from omnimeter.interaction.compilation import batch_entries
from omnimeter.interaction.kernels import end_to_end, part, seed_state

Flags = NDArray[np.bool_]


class Batch:
    """Environments with the same spaces, stepped one after the other.

    Attributes:
        vectors: The current observations as one array, end to end.
        observations: The same, in the shape of Gymnasium's batched space.
    """

    def __init__(self, count: int, space: Space) -> None:
        self.rewards = np.zeros(count)
        self.vectors = np.zeros(count * len(space.sizes), dtype=np.int64)
        self.observations = self.vectors if space.single else self.vectors.reshape(count, -1)
        self._environments: Sequence[Any] = [None] * count

    def start(self, mask: Flags, environments: Sequence[Any], rngs: Sequence[Any]) -> None:
        """Start those of the mask, which may be new environments; the others stay as they are."""
        self._environments = environments
        for number in np.flatnonzero(mask).tolist():
            percept = environments[number].start(rngs[number])
            self.rewards[number], self.observations[number] = percept

    def step(self, actions: IntArray) -> None:
        """Take an action in every environment, without checks."""
        for number, action in enumerate(actions.tolist()):
            percept = self._environments[number].step(action)
            self.rewards[number], self.observations[number] = percept


class CompiledBatch(Batch):
    """Environments made of kernels, stepped in one call: their states are copied into one."""

    def __init__(self, kernels: EnvironmentKernels, count: int, space: Space) -> None:
        super().__init__(count, space)
        entries = batch_entries(kernels)
        self._start_many, self._advance_many = entries.start_many, entries.advance_many
        self._offsets = np.arange(count + 1) * len(space.sizes)
        self._state: State = None
        self._state_offsets: Any = None
        self._parts: list[State] = []

    def start(self, mask: Flags, environments: Sequence[Any], rngs: Sequence[Any]) -> None:
        """Start those of the mask; an environment that stays is started by its own kernel."""
        numbers = np.flatnonzero(mask).tolist()
        new: dict[int, State] = {
            number: environments[number].state
            for number in numbers
            if environments[number] is not self._environments[number]
        }
        if self._parts and all(
            len(mine) == len(theirs)
            for number, state in new.items()
            for mine, theirs in zip(self._parts[number], state, strict=True)
        ):
            for number, state in new.items():
                for mine, theirs in zip(self._parts[number], state, strict=True):
                    mine[:] = theirs
        elif new:
            count = range(len(environments))
            states = [new[number] if number in new else self._parts[number] for number in count]
            self._state, self._state_offsets = end_to_end(states)
            self._parts = [part(self._state, self._state_offsets, number) for number in count]
        self._environments = environments
        for number in numbers:
            seed_state(self._parts[number], rngs[number])
        self._call(self._start_many, mask)

    def step(self, actions: IntArray) -> None:  # noqa: D102 - see Batch
        self._call(self._advance_many, actions)

    def _call(self, entry: Any, argument: Flags | IntArray) -> None:
        entry(self._state, self._state_offsets, argument, self.rewards, self.vectors, self._offsets)


class OmnimeterVectorEnv(VectorEnv[IntArray, IntArray, NDArray[Any]]):
    """Many environments of one class, with the same spaces and each with its own generator.

    With the seeds ``seed, seed + 1, ...`` they do exactly what as many single environments do. One
    that was truncated is reset by the next step: its action is ignored, its reward is 0.

    Args:
        environment_class: An id of the catalogue or a location.
        num_envs: The number of environments.
        complexity: As for a single environment.
        instance: The one instance of all environments and resets.
        interactions: The number of steps before truncation; by default unlimited.
        max_episode_steps: The same under Gymnasium's name; the smaller number counts.
        copy: Whether rewards and observations are copies; otherwise the next step overwrites them.
        render_mode: ``rgb_array`` returns the scenes as pixels, ``ansi`` as texts.
        parameters: Parameters of the class with the name of an argument above, or of the ``id`` of
            ``gymnasium.make``.
        further: All other parameters of the class.
    """

    metadata = {  # noqa: RUF012 - as in VectorEnv
        "render_modes": ["rgb_array", "ansi"],
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
        self._sampler = InstanceSampler(spec, read_request(instance, complexity))
        self._step_limit = min(step_limit(interactions), step_limit(max_episode_steps))
        self._output: Any = np.copy if copy else np.asarray
        self.num_envs = num_envs
        self.render_mode = check_render_mode(render_mode, self.metadata["render_modes"])
        self.single_action_space = Discrete(self._sampler.actions)
        self.single_observation_space = observation_space(self._sampler.space)
        self.action_space = batch_space(self.single_action_space, num_envs)
        self.observation_space = batch_space(self.single_observation_space, num_envs)
        kernels, space = self._sampler.environment_class.kernels, self._sampler.space
        self._batch = (
            Batch(num_envs, space) if kernels is None else CompiledBatch(kernels, num_envs, space)
        )
        self._samples: list[Sample] = []
        self._generators: list[np.random.Generator] = []
        self._count = np.zeros(num_envs, dtype=np.int64)
        self._truncated = np.zeros(num_envs, dtype=np.bool_)
        self._first_rewards = np.zeros(num_envs)
        self._canvas = Canvas()

    def reset(
        self,
        *,
        seed: int | Sequence[int | None] | None = None,
        options: dict[str, Any] | None = None,
    ) -> tuple[IntArray, dict[str, Any]]:
        """Start the next instances.

        Args:
            seed: The seed of the first environment, the next one having the next number, or one
                seed for each.
            options: ``instance`` or ``complexity``, for this time only; ``reset_mask`` says in
                which environments, by default in all.

        Raises:
            InvalidInputError: There is no such instance, or it has other spaces.
        """
        further = dict(options or {})
        mask = further.pop("reset_mask", None)
        if mask is None:
            mask = np.ones(self.num_envs, dtype=np.bool_)
        elif not (
            isinstance(mask, np.ndarray) and mask.shape == (self.num_envs,) and mask.dtype == bool
        ):
            raise InvalidInputError(
                f"The reset_mask {mask!r} cannot be used.",
                f"Give an array of {self.num_envs} booleans.",
            )
        if not (self._samples or mask.all()):
            raise ResetNeeded("Reset all environments before some of them.")
        request = read_request(**further)
        if seed is None:
            seed = [None] * self.num_envs
        elif isinstance(seed, int | np.integer):
            seed = [int(seed) + number for number in range(self.num_envs)]
        if len(seed) != self.num_envs:
            raise InvalidInputError(
                f"There are {len(seed)} seeds for {self.num_envs} environments.",
                "Give one for each.",
            )
        self._generators = self._generators or [np_random(each)[0] for each in seed]
        for number, each in enumerate(seed):
            if mask[number] and each is not None:
                self._generators[number] = np_random(each)[0]
        infos = self._start(mask.copy(), request)
        self._truncated[mask] = False
        return self._output(self._batch.observations), infos

    def step(self, actions: IntArray) -> tuple[IntArray, FloatArray, Flags, Flags, dict[str, Any]]:
        """Take an action in every environment.

        Raises:
            InvalidInputError: There is no such action.
            ResetNeeded: There was no reset yet.
        """
        if not self._samples:
            raise ResetNeeded("Actions come too early: call reset first.")
        array = np.asarray(actions)
        if array.shape != (self.num_envs,) or array.dtype.kind not in "iu":
            raise InvalidInputError(
                f"These are not actions: {actions!r}.",
                f"Give an array of {self.num_envs} integers.",
            )
        wrong = (array < 0) | (array >= self._sampler.actions)
        if wrong.any():
            raise invalid_action(int(array[wrong][0]), self._sampler.actions)
        self._batch.step(np.ascontiguousarray(array, dtype=np.int64))
        self._count += 1
        infos: dict[str, Any] = {}
        if self._truncated.any():
            infos = self._start(self._truncated, ANY)
            self._batch.rewards[self._truncated] = 0.0
        self._truncated = self._count >= self._step_limit
        observations, rewards = map(self._output, (self._batch.observations, self._batch.rewards))
        terminated = np.zeros(self.num_envs, dtype=np.bool_)
        return observations, rewards, terminated, self._truncated.copy(), infos

    def render(self) -> tuple[Any, ...] | None:
        """The scenes, as pixels or as texts."""
        if self.render_mode is None:
            return None
        if not self._samples:
            raise ResetNeeded("There are no scenes yet: call reset first.")
        space, scene = self._sampler.space, self._sampler.environment_class.scene
        vectors = self._batch.vectors.reshape(self.num_envs, -1)
        rewards = np.where(self._count == 0, self._first_rewards, self._batch.rewards).tolist()
        scenes = (
            scene(sample.instance, space.from_vector(vector), reward)
            for sample, vector, reward in zip(self._samples, vectors, rewards, strict=True)
        )
        actions, mode = self._sampler.actions, self.render_mode
        return tuple(self._canvas.render(each, actions, mode) for each in scenes)

    def _start(self, mask: Flags, request: Request) -> dict[str, Any]:
        """Start the next instances of the mask, and return their infos."""
        samples: list[Any] = self._samples or [None] * self.num_envs
        new = {
            number: self._sampler.sample(self._generators[number], request, samples[number])
            for number in np.flatnonzero(mask).tolist()
        }
        samples = [new.get(number, old) for number, old in enumerate(samples)]
        self._batch.start(mask, [each.environment for each in samples], self._generators)
        self._first_rewards[mask] = self._batch.rewards[mask]
        self._samples = samples
        self._count[mask] = 0
        infos = {
            "instance": np.full(self.num_envs, None, dtype=object),
            "complexity": np.zeros(self.num_envs),
            "first_reward": np.where(mask, self._batch.rewards, 0.0),
        }
        for number, sample in new.items():
            infos["instance"][number] = deepcopy(dict(sample.instance.data))
            infos["complexity"][number] = sample.complexity
        return {**infos, **{f"_{name}": mask.copy() for name in infos}}
