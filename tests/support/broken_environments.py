"""An environment class that keeps every rule, and others that break one each."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from copy import copy
from dataclasses import replace
from itertools import product
from typing import Any, ClassVar

import numpy as np

from omnimeter.contract import (
    Claims,
    Environment,
    EnvironmentClass,
    Instance,
    Observation,
    Percept,
    Space,
)
from omnimeter.contract.overlay import Lattice, Overlay
from omnimeter.environments.cups import Cups
from omnimeter.kernels import KernelEnvironment


class Dial(Environment):
    """A hand on a dial, which may slip, and a light that shows whether it did."""

    actions = 3

    def __init__(self, data: Mapping[str, Any]) -> None:
        self.data = data
        self.space = Space((data["size"], 2))
        self.hand = 0

    def start(self, rng: np.random.Generator) -> Percept:
        self.rng = rng
        self.hand = 0
        return Percept(0.0, np.array([0, 0]))

    def step(self, action: int) -> Percept:
        if not 0 <= action < self.actions:
            raise ValueError(f"there is no action {action}")
        slipped = int(self.rng.random() < 0.2)
        self.hand = (self.hand + action + slipped) % self.data["size"]
        return Percept(float(self.data["pays"][self.hand]), np.array([self.hand, slipped]))


class Dials(EnvironmentClass):
    """Keeps every rule."""

    environment: type[Dial] = Dial

    def draw(self, rng: np.random.Generator, complexity: float | None = None) -> Instance:
        size = int(rng.integers(3, 6)) if complexity is None else int(complexity)
        return Instance({"size": size, "pays": [int(x) for x in rng.integers(-1, 2, size)]})

    def complexity(self, instance: Instance) -> float:
        return float(instance.data["size"])

    def build(self, instance: Instance) -> Environment:
        return self.environment(instance.data)


class TupleDials(Dials):
    def draw(self, rng: np.random.Generator, complexity: float | None = None) -> Instance:
        data = super().draw(rng, complexity).data
        return Instance({**data, "pays": tuple(data["pays"])})


class CountedDials(Dials):
    drawn = 0

    def draw(self, rng: np.random.Generator, complexity: float | None = None) -> Instance:
        type(self).drawn += 1
        return Instance({**super().draw(rng, complexity).data, "number": self.drawn})


class GloballyDrawnDials(Dials):
    def draw(self, rng: np.random.Generator, complexity: float | None = None) -> Instance:
        np.random.random()
        return super().draw(rng, complexity)


class WordyDials(Dials):
    def complexity(self, instance: Instance) -> Any:
        return str(instance.data["size"])


class DeafDials(Dials):
    def draw(self, rng: np.random.Generator, complexity: float | None = None) -> Instance:
        return super().draw(rng, None if complexity is None else complexity + 1)


class BackwardDials(Dials):
    def complexity_range(self) -> tuple[float, float]:
        return 9.0, 3.0

    def draw_between(self, rng: np.random.Generator, low: float, high: float) -> Instance:
        return self.draw(rng, round((low + high) / 2))


class WideDials(Dials):
    def draw_between(self, rng: np.random.Generator, low: float, high: float) -> Instance:
        return self.draw(rng, high + 2)


class TwiceListedDials(Dials):
    def members(self, low: float, high: float, limit: int) -> list[Instance]:
        pays = product((-1, 0, 1), repeat=round((low + high) / 2))
        listed = [Instance({"size": len(each), "pays": list(each)}) for each in pays]
        return [*listed, listed[0]]


class Diary(Dial):
    def step(self, action: int) -> Percept:
        percept = super().step(action)
        self.data["diary"].append(action)
        return percept


class DiaryDials(Dials):
    environment = Diary

    def draw(self, rng: np.random.Generator, complexity: float | None = None) -> Instance:
        return Instance({**super().draw(rng, complexity).data, "diary": []})


class BoastfulDials(Dials):
    def claims(self) -> Claims:
        return Claims(sensitive=0)


class OddlyCounted(Dial):
    actions = np.int64(3)  # type: ignore[assignment]


class OddlyCountedDials(Dials):
    environment = OddlyCounted


class BoundedDials(Dials):
    def reward_range(self) -> tuple[float, float]:
        return 0.0, 1.0


class Listing(Dial):
    def step(self, action: int) -> Percept:
        reward, observation = super().step(action)
        return Percept(reward, observation.tolist())  # type: ignore[union-attr]


class ListingDials(Dials):
    environment = Listing


class Tolerant(Dial):
    def step(self, action: int) -> Percept:
        return super().step(action % self.actions)


class TolerantDials(Dials):
    environment = Tolerant


class Siamese(Dial):
    hand = 0

    def __setattr__(self, name: str, value: Any) -> None:
        if name == "hand":
            type(self).hand = value
        else:
            super().__setattr__(name, value)


class SiameseDials(Dials):
    environment = Siamese


class Restless(Dial):
    def start(self, rng: np.random.Generator) -> Percept:
        hand = self.hand
        percept = super().start(rng)
        self.hand = hand
        return percept


class RestlessDials(Dials):
    environment = Restless


class AgeingDials(Dials):
    built = 0

    def build(self, instance: Instance) -> Environment:
        type(self).built += 1
        pays = [(-1) ** self.built] * instance.data["size"]
        return Dial({**instance.data, "pays": pays})


class Gambling(Dial):
    def step(self, action: int) -> Percept:
        np.random.random()
        return super().step(action)


class GamblingDials(Dials):
    environment = Gambling


class Overwriting(Dial):
    def start(self, rng: np.random.Generator) -> Percept:
        self.shown = super().start(rng).observation
        return Percept(0.0, self.shown)

    def step(self, action: int) -> Percept:
        reward, observation = super().step(action)
        self.shown[:] = observation  # type: ignore[index]
        return Percept(reward, self.shown)


class OverwritingDials(Dials):
    environment = Overwriting


class Mortal(Dial):
    age = 0

    def step(self, action: int) -> Percept:
        self.age += 1
        if self.age > 1000:
            raise StopIteration("the episode is over")
        return super().step(action)


class MortalDials(Dials):
    environment = Mortal


class ArtfulDials(Dials):
    def scene(
        self, instance: Instance, observation: Observation, reward: float = 0.0
    ) -> Mapping[str, Any]:
        return {"image": observation}


class UnsteadyDials(Dials):
    asked = 0

    def overlay(self, instance: Instance, rng: np.random.Generator, steps: int) -> Overlay:
        type(self).asked += 1
        size = instance.data["size"]
        overlay = Overlay.of(Lattice((size,), torus=True), [{"asked": self.asked}] * size)
        return replace(overlay, duration=steps)


class SharedDial(Environment):
    """A dial with a hand for each agent; all slip at once, and some see the light."""

    actions = 3

    def __init__(self, data: Mapping[str, Any], views: Sequence[str]) -> None:
        self.data = data
        self.chosen = views
        self.seats = len(views)
        self.space = self.space_of(0)

    def space_of(self, seat: int) -> Space:
        size = self.data["size"]
        return Space((size, 2)) if self.chosen[seat] == "light" else Space((size,))

    def view_of(self, seat: int) -> str | None:
        return self.chosen[seat]

    def seen(self, seat: int, slipped: int) -> Observation:
        return np.array([self.hands[seat], slipped][: len(self.space_of(seat).sizes)])

    def start(self, rng: np.random.Generator) -> Percept:
        return self.start_joint(rng)[0]

    def step(self, action: int) -> Percept:
        return self.step_joint([action])[0]

    def start_joint(self, rng: np.random.Generator) -> list[Percept]:
        self.rng = rng
        self.hands = [0] * self.seats
        return [Percept(0.0, self.seen(seat, 0)) for seat in range(self.seats)]

    def step_joint(self, actions: Sequence[int]) -> list[Percept]:
        if not all(0 <= action < self.actions for action in actions):
            raise ValueError(f"there are no actions {actions}")
        slipped = int(self.rng.random() < 0.2)
        moved = zip(self.hands, actions, strict=True)
        self.hands = [(hand + action + slipped) % self.data["size"] for hand, action in moved]
        pays = [float(self.data["pays"][hand]) for hand in self.hands]
        return [Percept(paid, self.seen(seat, slipped)) for seat, paid in enumerate(pays)]


class SharedDials(Dials):
    """Keeps every rule, with two views and any number of seats."""

    views: ClassVar[Sequence[str]] = ("light", "dark")
    chosen: tuple[str, ...] = ("light",)
    shared: type[SharedDial] = SharedDial

    def known(self, view: str | None) -> str:
        return view if view in self.views else "light"

    def with_views(self, views: Sequence[str | None]) -> EnvironmentClass:
        seated = copy(self)
        seated.chosen = tuple(self.known(view) for view in views)
        return seated

    def build(self, instance: Instance) -> Environment:
        return self.shared(instance.data, self.chosen)


class Indiscreet(SharedDial):
    def seen(self, seat: int, slipped: int) -> Observation:
        return np.array([self.hands[seat], slipped])


class IndiscreetDials(SharedDials):
    shared = Indiscreet


class UnwelcomingDials(SharedDials):
    def known(self, view: str | None) -> str:
        return super().known(view) if view is None or view in self.views else "dark"


class PersonalDials(SharedDials):
    def draw(self, rng: np.random.Generator, complexity: float | None = None) -> Instance:
        return Instance({**super().draw(rng, complexity).data, "for": list(self.chosen)})


class Favouring(SharedDial):
    def step_joint(self, actions: Sequence[int]) -> list[Percept]:
        return super().step_joint(actions)[:1]


class FavouringDials(SharedDials):
    shared = Favouring


class Moody(SharedDial):
    def start(self, rng: np.random.Generator) -> Percept:
        return super().start(rng)._replace(reward=1.0)


class MoodyDials(SharedDials):
    shared = Moody


class Mirror(KernelEnvironment):
    def step(self, action: int) -> Percept:
        reward, observation = super().step(action)
        return Percept(-reward, observation)


class InconsistentCups(Cups):
    """The stepwise loop sees the negated rewards of the compiled one."""

    def __init__(self) -> None:
        super().__init__(3, 3)

    def build(self, instance: Instance) -> KernelEnvironment:
        honest = super().build(instance)
        return Mirror(honest.kernels, honest.state, honest.actions, honest.space)


BROKEN: dict[str, tuple[type[EnvironmentClass], set[str]]] = {
    # The rule, the class that breaks it, and the rules that it necessarily breaks too.
    "test_instances_are_json": (TupleDials, set()),
    "test_draws_are_repeatable": (
        CountedDials,
        {"test_draws_use_only_their_generator", "test_views_do_not_change_instances"},
    ),
    "test_draws_use_only_their_generator": (GloballyDrawnDials, set()),
    "test_complexity_is_finite": (WordyDials, set()),
    "test_requested_complexity_is_drawn": (DeafDials, {"test_draws_between_stay_between"}),
    "test_complexity_range_is_ordered": (BackwardDials, set()),
    "test_draws_between_stay_between": (WideDials, set()),
    "test_members_are_complete": (TwiceListedDials, set()),
    "test_instances_are_not_modified": (DiaryDials, set()),
    "test_claims_are_valid": (BoastfulDials, set()),
    "test_environments_describe_themselves": (OddlyCountedDials, set()),
    "test_reward_range_is_that_of_all": (BoundedDials, set()),
    "test_percepts_keep_the_contract": (ListingDials, set()),
    "test_invalid_actions_raise": (TolerantDials, set()),
    "test_environments_are_independent": (SiameseDials, set()),
    "test_start_resets_everything": (RestlessDials, set()),
    "test_percepts_are_repeatable": (
        AgeingDials,
        {
            "test_instances_are_json",
            "test_environments_are_independent",
            "test_environments_use_only_their_generator",
            "test_one_seat_is_the_same_jointly",
        },
    ),
    "test_environments_use_only_their_generator": (GamblingDials, set()),
    "test_observations_can_be_kept": (OverwritingDials, set()),
    "test_environments_never_end": (MortalDials, set()),
    "test_scenes_are_json": (ArtfulDials, set()),
    "test_compiled_and_stepwise_agree": (InconsistentCups, set()),
    "test_views_keep_the_contract": (IndiscreetDials, {"test_seats_keep_the_contract"}),
    "test_unknown_views_get_the_default": (UnwelcomingDials, set()),
    "test_views_do_not_change_instances": (PersonalDials, set()),
    "test_seats_keep_the_contract": (FavouringDials, set()),
    "test_one_seat_is_the_same_jointly": (MoodyDials, set()),
    "test_overlays_are_repeatable": (UnsteadyDials, set()),
}
