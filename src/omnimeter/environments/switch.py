"""One environment that goes on as another, of which the agent is not told: ``switch-v1``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from copy import copy
from dataclasses import replace
from typing import Any, Self

import numpy as np

from omnimeter.catalogue import Kind, given_spec, make
from omnimeter.contract import (
    Briefing,
    Claims,
    Environment,
    EnvironmentClass,
    Instance,
    InvalidInputError,
    Observation,
    Percept,
)
from omnimeter.contract.overlay import Overlay, Value
from omnimeter.interaction.wrapping import wrap_environments
from omnimeter.kernels import EnvironmentKernels, KernelEnvironment, generator_state
from omnimeter.measures import overlay_difference

DRAWS = 100
"""How many environments are drawn to go on with, until one fits the first."""


class Switch(EnvironmentClass):
    """An environment that turns into another one after some interactions, as abruptly as can be.

    A perturbation of the world in the sense of the paper on perturbation tolerance: the reward of
    interaction ``at`` still comes from the first environment, the observation after it already
    from the second, and nothing else tells the agent. Both must have the same actions and
    observations; rewards may be those of either. Where both are of one kind that says so (an MDP,
    a grid), the agent stays in the state in which it is; otherwise the second begins as it always
    does. Of several draws of the second class the first that fits is taken. The complexity is that
    of the more complex one.

    Args:
        first: The class of the environment at the beginning: ``grid``, ``gc(states=5)``,
            ``my_class.py:MyClass``, or the JSON of a spec.
        second: The class of the environment that it turns into; by default it is another draw of
            the first class.
        at: The number of interactions in the first environment, 1 or more.
    """

    def __init__(
        self,
        first: str | dict[str, Any] = "gc-v1",
        second: str | dict[str, Any] | None = None,
        at: int = 1000,
    ) -> None:
        if at < 1:
            message = f"There cannot be {at} interactions before the switch."
            raise InvalidInputError(message, "Give a number from 1 up.")
        specs = [given_spec(Kind.ENVIRONMENT, each) for each in (first, second or first)]
        self.at, self.labels = at, [spec.label for spec in specs]
        self._take(*(make(Kind.ENVIRONMENT, spec) for spec in specs))

    def _take(self, first: EnvironmentClass, second: EnvironmentClass) -> None:
        self.first, self.second = first, second
        views = [view for view in first.views if view in second.views]
        self.views: Sequence[str] = views  # type: ignore[misc] # those of its parts
        self.privileged: Sequence[str] = [  # type: ignore[misc]
            view for view in views if view in {*first.privileged, *second.privileged}
        ]
        self.kernels: EnvironmentKernels | None = None
        if first.kernels is not None and second.kernels is not None:
            carried = first.carried if first.kernels == second.kernels else ()
            self.kernels = wrap_environments(first.kernels, second.kernels, carried)

    def draw(self, rng: np.random.Generator, complexity: float | None = None) -> Instance:
        """Draw both, of the wanted complexity where one is given."""
        first = self.first.draw(rng, complexity)
        for draws in range(1, DRAWS + 1):
            second = self.second.draw(rng, complexity)
            instance = Instance({"first": first.data, "second": second.data, "at": self.at})
            try:
                self._built(instance)
            except InvalidInputError:
                if draws == DRAWS:
                    raise
                continue
            break
        return instance

    def _built(self, instance: Instance) -> tuple[Environment, Environment]:
        """Both environments.

        Raises:
            InvalidInputError: They have other actions or observations.
        """
        first, second = (made.build(part) for made, part in self._parts(instance))
        shapes = [
            f"{each.actions} actions and observations of sizes {list(each.space.sizes)}"
            for each in (first, second)
        ]
        if shapes[0] != shapes[1] or first.space != second.space:
            (one, other), single = self.labels, [each.space.single for each in (first, second)]
            how = f"{one} has {shapes[0]}, {other} has {shapes[1]}"
            if shapes[0] == shapes[1]:
                how = f"observations are integers in {one if single[0] else other} only"
            message = f"The environment cannot turn into the other: {how}."
            raise InvalidInputError(message, "Choose classes with the same actions and views.")
        return first, second

    def _parts(self, instance: Instance) -> list[tuple[EnvironmentClass, Instance]]:
        data = instance.data
        return [(self.first, Instance(data["first"])), (self.second, Instance(data["second"]))]

    def build(self, instance: Instance) -> Environment:
        """Build both; of kernels, if both are."""
        first, second = self._built(instance)
        at: int = instance.data["at"]
        if self.kernels is None:
            return _Switched(first, second, at)
        return _KernelSwitched(self.kernels, first, second, at)

    def complexity(self, instance: Instance) -> float:
        """The complexity of the more complex one."""
        return max(made.complexity(part) for made, part in self._parts(instance))

    def complexity_range(self) -> tuple[float, float]:
        """The complexities that both have."""
        lows, highs = zip(*(e.complexity_range() for e in (self.first, self.second)), strict=True)
        return max(lows), min(highs)

    def reward_range(self) -> tuple[float, float] | None:
        """The lowest and the highest reward of either, where both are known."""
        first, second = self.first.reward_range(), self.second.reward_range()
        return None if first is None or second is None else _hull(first, second)

    def claims(self) -> Claims:
        """What both claim; just before the switch, what counts may be in the second one."""
        both = self.first.claims(), self.second.claims()
        balanced = [each.balanced for each in both]
        horizons = [each.sensitive for each in both if each.sensitive is not None]
        return Claims(
            balanced="limit" if all(balanced) and "limit" in balanced else all(balanced),
            sensitive=sum(horizons) if len(horizons) == 2 else None,
        )

    def scene(
        self, instance: Instance, observation: Observation, reward: float = 0.0
    ) -> Mapping[str, Any]:
        """What the first one shows: the switch is not to be seen."""
        return self.first.scene(Instance(instance.data["first"]), observation, reward)

    def with_views(self, views: Sequence[str | None]) -> Self:
        """The same with the view that the agent asks for, in both."""
        if len(views) != 1:
            super().with_views(views)  # which refuses
        asked = [view if view in self.views else None for view in views]
        seen = copy(self)
        seen._take(self.first.with_views(asked), self.second.with_views(asked))
        return seen

    def overlay(self, instance: Instance, rng: np.random.Generator, steps: int) -> Overlay:
        """The squares of the first until the switch, and then what holds in those of the second."""
        at: int = instance.data["at"]
        (first, before), (second, after) = self._parts(instance)
        overlay = first.overlay(before, rng, min(steps, at))
        if steps > at:
            overlay = continued(overlay, second.overlay(after, rng, steps - at))
        return overlay

    def difference(self, instance: Instance, rng: np.random.Generator) -> float | None:
        """The degree of the perturbation.

        What the class says, if both are of one; otherwise how many propositions of a square change
        at the switch, on average: the overlay difference D_o (equation 3) of both environments as
        they begin, over the number of squares. ``None`` where one of them has no overlay, or they
        have not the same squares.
        """
        parts = self._parts(instance)
        if type(self.first) is type(self.second):
            own = self.first.degree(*(part for _, part in parts))
            if own is not None:
                return own
        try:
            one, other = (made.overlay(part, rng, 1) for made, part in parts)
            return overlay_difference(one, other).total / one.adjacency.size
        except InvalidInputError:
            return None


class _Switched(Environment):
    """Two environments one after the other, of which at least one has no kernels."""

    def __init__(self, first: Environment, second: Environment, at: int) -> None:
        self._first, self._second, self._at = first, second, at
        self.actions, self.space = first.actions, first.space
        self.rewards = _hull(first.rewards, second.rewards)

    def briefing(self, seat: int = 0) -> Briefing:
        return replace(self._first.briefing(seat), rewards=self.rewards)

    def start(self, rng: np.random.Generator) -> Percept:
        self._count = 0
        own, self._later = rng.spawn(2)
        return self._first.start(own)

    def step(self, action: int) -> Percept:
        self._count += 1
        if self._count > self._at:
            return self._second.step(action)
        percept = self._first.step(action)
        if self._count == self._at:
            percept = Percept(percept.reward, self._second.start(self._later).observation)
        return percept


class _KernelSwitched(KernelEnvironment):
    """Two environments of kernels one after the other."""

    def __init__(self, kernels: EnvironmentKernels, first: Any, second: Any, at: int) -> None:
        counter = np.array([0, at], dtype=np.int64)
        state = kernels.state(generator_state(), counter, *first.state, *second.state)
        view = first.view_of(0)
        views = () if view is None else (view,)
        rewards = _hull(first.rewards, second.rewards)
        super().__init__(kernels, state, first.actions, first.space, rewards, views=views)
        self._first = first

    def briefing(self, seat: int = 0) -> Briefing:
        told: Briefing = self._first.briefing(seat)
        return replace(told, rewards=self.rewards)


def _hull(first: tuple[float, float], second: tuple[float, float]) -> tuple[float, float]:
    """The lowest and the highest reward in either range."""
    lows, highs = zip(first, second, strict=True)
    return min(lows), max(highs)


def continued(first: Overlay, second: Overlay) -> Overlay:
    """An overlay in whose squares, after its time, the propositions of another one hold.

    Raises:
        InvalidInputError: They have not the same number of squares.
    """
    if first.adjacency.size != second.adjacency.size:
        counts = f"{first.adjacency.size} squares, the other {second.adjacency.size}"
        message = f"The overlays cannot be compared: one has {counts}."
        raise InvalidInputError(message, "Choose environments of the same size.")
    labels: dict[str, dict[Value, int]] = {}
    for overlay in (first, second):
        for name, values in overlay.columns.items():
            known = labels.setdefault(name, {})
            for value in values:
                known.setdefault(value, len(known) + 1)
    before, after = _recoded(first, labels), _recoded(second, labels)
    square, column = np.nonzero(before.at(before.duration) != after.codes)
    turn = np.full(len(square), before.duration + 1)
    switched = np.stack([turn, square, column, after.codes[square, column]], axis=1)
    later = after.changes + np.array([before.duration, 0, 0, 0])
    return replace(
        before,
        changes=np.concatenate([before.changes, switched, later]).astype(np.int64),
        duration=before.duration + after.duration,
    )


def _recoded(overlay: Overlay, labels: Mapping[str, Mapping[Value, int]]) -> Overlay:
    """The same overlay with columns and codes as given."""
    numbers = list(labels)
    codes = np.zeros((overlay.adjacency.size, len(labels)), dtype=np.int32)
    changes = overlay.changes.copy()
    for column, (name, values) in enumerate(overlay.columns.items()):
        table = np.array([0, *(labels[name][value] for value in values)], dtype=np.int32)
        codes[:, numbers.index(name)] = table[overlay.codes[:, column]]
        rows = overlay.changes[:, 2] == column
        changes[rows, 2] = numbers.index(name)
        changes[rows, 3] = table[overlay.changes[rows, 3]]
    columns = {name: list(known) for name, known in labels.items()}
    return replace(overlay, columns=columns, codes=codes, changes=changes)
