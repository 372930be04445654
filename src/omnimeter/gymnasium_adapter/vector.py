"""Many environments of one class as Gymnasium's vector environment, stepped in one call."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from gymnasium.error import ResetNeeded
from gymnasium.utils.seeding import np_random
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import batch_space
from numpy.typing import NDArray

from omnimeter.contract import (
    Environment,
    EnvironmentClass,
    EnvironmentKernels,
    Instance,
    InvalidInputError,
    Percept,
    Space,
    Spec,
)
from omnimeter.contract.agent import FloatArray, IntArray
from omnimeter.contract.kernels import State
from omnimeter.gymnasium_adapter.environment import (
    Drawn,
    Source,
    Wanted,
    action_space,
    check_render_mode,
    most_steps,
    no_such_action,
    observation_space,
    scene_text,
    wanted,
    wanted_now,
)
from omnimeter.interaction import KernelEnvironmentClass
from omnimeter.interaction.compilation import batch_entries
from omnimeter.interaction.kernels import end_to_end, part, seed_state


class Batch(ABC):
    """Environments with the same spaces, each in its place.

    Attributes:
        rewards: What each one gave last.
        seen: What is seen in each one now, end to end.
        observations: The same, as Gymnasium wants it.
    """

    def __init__(self, count: int, space: Space) -> None:
        width = len(space.sizes)
        self.rewards = np.zeros(count)
        self.seen = np.zeros(count * width, dtype=np.int64)
        self.observations = self.seen if space.single else self.seen.reshape(count, width)

    @abstractmethod
    def start(
        self,
        chosen: NDArray[np.bool_],
        environments: Sequence[Environment],
        generators: Sequence[np.random.Generator],
    ) -> None:
        """Begin anew in the chosen places, with what is now there; the others stay as they are."""

    @abstractmethod
    def advance(self, actions: IntArray) -> None:
        """Act once in every place. Nothing is checked."""


def batch_for(environment_class: EnvironmentClass, count: int, space: Space) -> Batch:
    """The fastest batch that a class allows."""
    if isinstance(environment_class, KernelEnvironmentClass):
        return CompiledBatch(environment_class.kernels, count, space)
    return PlainBatch(count, space)


class CompiledBatch(Batch):
    """Environments made of kernels. Their states are copied into one, end to end."""

    def __init__(self, kernels: EnvironmentKernels, count: int, space: Space) -> None:
        super().__init__(count, space)
        entries = batch_entries(kernels)
        self._start_many, self._advance_many = entries.start_many, entries.advance_many
        self._seen_at = np.arange(count + 1) * len(space.sizes)
        self._inside: list[Environment | None] = [None] * count
        self._states: State = None
        self._at: Any = None
        self._places: list[State] = []

    def start(  # noqa: D102 - see Batch
        self,
        chosen: NDArray[np.bool_],
        environments: Sequence[Environment],
        generators: Sequence[np.random.Generator],
    ) -> None:
        numbers = np.flatnonzero(chosen).tolist()
        self._let_in(numbers, environments)
        for number in numbers:
            seed_state(self._places[number], generators[number])
        self._start_many(self._states, self._at, chosen, self.rewards, self.seen, self._seen_at)

    def advance(self, actions: IntArray) -> None:  # noqa: D102 - see Batch
        self._advance_many(self._states, self._at, actions, self.rewards, self.seen, self._seen_at)

    def _let_in(self, numbers: Sequence[int], environments: Sequence[Environment]) -> None:
        """Copy the states of those who are new; who stays is begun anew by its own kernel."""
        new: dict[int, State] = {
            number: environments[number].state  # type: ignore[attr-defined] # made of kernels
            for number in numbers
            if environments[number] is not self._inside[number]
        }
        if self._places and all(_as_large(self._places[at], new[at]) for at in new):
            for number, state in new.items():
                for mine, theirs in zip(self._places[number], state, strict=True):
                    mine[:] = theirs
        elif new:
            count = len(environments)
            states = [new[at] if at in new else self._places[at] for at in range(count)]
            self._states, self._at = end_to_end(states)
            self._places = [part(self._states, self._at, at) for at in range(count)]
        for number in new:
            self._inside[number] = environments[number]


class PlainBatch(Batch):
    """Environments without kernels, one after the other."""

    def start(  # noqa: D102 - see Batch
        self,
        chosen: NDArray[np.bool_],
        environments: Sequence[Environment],
        generators: Sequence[np.random.Generator],
    ) -> None:
        self._environments = list(environments)
        for number in np.flatnonzero(chosen).tolist():
            self._show(number, environments[number].start(generators[number]))

    def advance(self, actions: IntArray) -> None:  # noqa: D102 - see Batch
        for number, action in enumerate(actions.tolist()):
            self._show(number, self._environments[number].step(action))

    def _show(self, number: int, percept: Percept) -> None:
        self.rewards[number], self.observations[number] = percept


def _as_large(one: State, other: State) -> bool:
    return all(len(mine) == len(theirs) for mine, theirs in zip(one, other, strict=True))


Flags = NDArray[np.bool_]


def read_actions(given: object, count: int, actions: int) -> IntArray:
    """One action for each environment, as kernels take them.

    Raises:
        InvalidInputError: They are not that.
    """
    array = np.asarray(given)
    if array.shape != (count,) or array.dtype.kind not in "iu":
        raise InvalidInputError(
            f"These are not actions: {given!r}.", f"Give an array of {count} integers."
        )
    if array.min() < 0 or array.max() >= actions:
        wrong = array[(array < 0) | (array >= actions)]
        raise no_such_action(int(wrong[0]), actions)
    return np.ascontiguousarray(array, dtype=np.int64)


def read_seeds(given: int | Sequence[int | None] | None, count: int) -> list[int | None]:
    """One seed for each environment: from one number they count upwards, as in Gymnasium.

    Raises:
        InvalidInputError: There are too few or too many.
    """
    if given is None:
        return [None] * count
    if isinstance(given, int | np.integer):
        return [int(given) + number for number in range(count)]
    if len(given) != count:
        raise InvalidInputError(
            f"There are {len(given)} seeds for {count} environments.", "Give one for each."
        )
    return list(given)


def read_mask(given: object, count: int) -> Flags:
    """Which environments are meant: all, where nothing is said.

    Raises:
        InvalidInputError: It does not say so for each.
    """
    if given is None:
        return np.ones(count, dtype=np.bool_)
    if isinstance(given, np.ndarray) and given.shape == (count,) and given.dtype == np.bool_:
        return given.copy()
    raise InvalidInputError(
        f"The reset_mask {given!r} cannot be used.", f"Give an array of {count} booleans."
    )


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
            scene_text(show(drawn.instance, space.from_vector(vector)))
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
