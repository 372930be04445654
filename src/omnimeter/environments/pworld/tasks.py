"""The four tasks in a world: gathering, locating targets, mapping, and telling a listener."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from omnimeter.contract import Instance, InvalidInputError, Trace
from omnimeter.contract.overlay import Value
from omnimeter.environments.pworld.elements import LEAVES, Listener, Plants
from omnimeter.environments.pworld.world import Element, World
from omnimeter.measures.performance import Search, search

MOVES = 4
"""The first actions of every task: up, down, left and right."""

HIKER, RANGER, ANIMAL = "hiker", "ranger", "animal"
"""The kinds of objects; hikers are the targets."""

FEATURES: dict[str, dict[str, float]] = {
    "two-legged": {HIKER: 0.95, RANGER: 0.95, ANIMAL: 0.1},
    "backpack": {HIKER: 0.8, RANGER: 0.4, ANIMAL: 0.02},
    "tent": {HIKER: 0.5, RANGER: 0.2, ANIMAL: 0.02},
    "uniform": {HIKER: 0.1, RANGER: 0.8, ANIMAL: 0.02},
    "radio": {HIKER: 0.2, RANGER: 0.8, ANIMAL: 0.05},
    "fur": {HIKER: 0.05, RANGER: 0.05, ANIMAL: 0.9},
    "moving": {HIKER: 0.4, RANGER: 0.6, ANIMAL: 0.7},
}
"""The probability of each feature, given the kind of the object."""

WARMTH = "warmth"
LEVELS = 10
"""The named value of every object, a level from 0 to 9."""

WARMTHS = {HIKER: 0.6, RANGER: 0.5, ANIMAL: 0.8}
"""The level of a kind is binomial, of 9 trials with this probability."""

FOOD, POISON = "food", "poison"
"""The kinds of plants."""

PERIOD = 10
"""A question of the mapping task is asked in every so many turns."""


@dataclass(frozen=True)
class Setting:
    """How large a world is and how many objects are in it."""

    size: int
    background: int
    targets: int
    lookalikes: int

    @property
    def ground(self) -> list[str]:
        """The names of the background columns."""
        return [f"ground-{number}" for number in range(1, self.background + 1)]


def stakes(targets: int, others: int) -> tuple[float, float]:
    """What a target pays and anything else costs, so that all of them together are worth 0.

    The larger of the two is 1. Without anything else there is nothing to balance.
    """
    if targets == 0 or others == 0:
        return 1.0, float(targets > 0)
    return min(1.0, others / targets), min(1.0, targets / others)


class Task:
    """What an agent has to do in a world, besides walking, and what that pays.

    Attributes:
        columns: The columns of the objects, with their labels.
        buttons: The names of the actions after the moves.
        extra: The sizes of further components of observations, after the window.
    """

    columns: ClassVar[Mapping[str, Sequence[Value]]] = {}
    buttons: Sequence[str] = ()
    extra: tuple[int, ...] = ()

    def __init__(self, setting: Setting) -> None:
        self.setting = setting

    def draw_objects(self, rng: np.random.Generator) -> list[dict[str, Any]]:  # noqa: ARG002
        """Objects in different squares: square, kind and what holds there."""
        return []

    def elements(self) -> list[tuple[str, Element]]:
        """The elements that belong to the task, new ones, with their names."""
        return []

    def start(self, instance: Instance) -> None:
        """Begin in a new world."""

    def act(self, world: World, action: int) -> float:  # noqa: ARG002 - for tasks with more actions
        """React to an action that is not a move, or to -1 for a move; the reward."""
        return 0.0

    def turn(self, world: World, rng: np.random.Generator) -> float:  # noqa: ARG002 - likewise
        """What follows after the elements have acted; the reward."""
        return 0.0

    def told(self) -> list[int]:
        """The further components of the observation."""
        return []


class Locate(Task):
    """Decide of every object whether it is a target: 4 says that one is here, 5 that none is.

    The first declaration about an object counts, and nothing else does. To call a hiker a target
    pays, another object costs, as in ``stakes``: who calls all objects targets gets 0 in
    the end, and so does who calls none so.
    """

    columns: ClassVar[Mapping[str, Sequence[Value]]] = {
        **dict.fromkeys(FEATURES, (True,)),
        WARMTH: tuple(range(LEVELS)),
    }
    buttons: Sequence[str] = ("target", "no target")

    def draw_objects(self, rng: np.random.Generator) -> list[dict[str, Any]]:
        """Targets, and look-alikes of which each is a ranger or an animal."""
        targets, others = self.setting.targets, self.setting.lookalikes
        kinds = [HIKER] * targets + [
            (RANGER, ANIMAL)[each] for each in rng.integers(2, size=others)
        ]
        squares = rng.choice(self.setting.size**2, size=len(kinds), replace=False).tolist()
        return [
            {"square": square, "kind": kind, "holds": draw_features(rng, kind)}
            for square, kind in zip(squares, kinds, strict=True)
        ]

    def start(self, instance: Instance) -> None:
        """Nothing is declared yet."""
        self._open = objects(instance)

    def act(self, world: World, action: int) -> float:
        """Pay for the first declaration about the object here, if there is one."""
        if action < MOVES:
            return 0.0
        kind = self._open.pop(world.positions["agent"], None)
        if kind is None or action > MOVES:
            return 0.0
        gain, loss = stakes(self.setting.targets, self.setting.lookalikes)
        return gain if kind == HIKER else -loss


class Gather(Task):
    """Eat ripe plants of the species that is food: 4 eats what grows here.

    Which of the two leaves is food is drawn with the world. A ripe plant pays or costs as in
    ``stakes``, others nothing.
    """

    columns: ClassVar[Mapping[str, Sequence[Value]]] = Plants.columns
    buttons: Sequence[str] = ("eat",)

    def draw_objects(self, rng: np.random.Generator) -> list[dict[str, Any]]:
        """Plants of both species in any stage."""
        kinds = [FOOD] * self.setting.targets + [POISON] * self.setting.lookalikes
        leaves = dict(zip((FOOD, POISON), rng.permutation(LEAVES).tolist(), strict=True))
        squares = rng.choice(self.setting.size**2, size=len(kinds), replace=False).tolist()
        stages = rng.choice(Plants.columns["plant"], size=len(kinds)).tolist()
        return [
            {"square": square, "kind": kind, "holds": {"plant": stage, "leaf": leaves[kind]}}
            for square, kind, stage in zip(squares, kinds, stages, strict=True)
        ]

    def elements(self) -> list[tuple[str, Element]]:
        """What lets the plants ripen, wither and grow."""
        return [("plants", Plants())]

    def start(self, instance: Instance) -> None:
        """Read which leaf is food."""
        self._kinds = {each["holds"]["leaf"]: each["kind"] for each in instance.data["objects"]}

    def act(self, world: World, action: int) -> float:
        """Eat the plant that is here."""
        eaten = world.eat("agent") if action == MOVES else {}
        kind = self._kinds.get(eaten.get("leaf"))
        if kind is None or eaten.get("plant") != "ripe":
            return 0.0
        gain, loss = stakes(self.setting.targets, self.setting.lookalikes)
        return gain if kind == FOOD else -loss


class Map(Task):
    """Answer questions about what holds where: 4 says that it does not hold, 5 that it does.

    Every tenth turn a square and a background column are asked for: the further components are its
    row, its column and the number of the proposition, each from 1 on; 0 without a question. The
    next action answers, +1 if it is right and -1 if not; a move does not answer, and gets 0.
    Of each proposition half of the questions are about a square where it holds, if there is any.
    """

    buttons: Sequence[str] = ("does not hold", "holds")

    def __init__(self, setting: Setting) -> None:
        super().__init__(setting)
        self.extra = (setting.size + 1, setting.size + 1, setting.background + 1)

    def start(self, instance: Instance) -> None:  # noqa: ARG002
        """Nothing is asked yet."""
        self._asked: tuple[int, int] | None = None

    def act(self, world: World, action: int) -> float:
        """Judge an answer."""
        asked, self._asked = self._asked, None
        if asked is None or action < MOVES:
            return 0.0
        return 1.0 if (world.codes[asked] > 0) == (action > MOVES) else -1.0

    def turn(self, world: World, rng: np.random.Generator) -> float:
        """Ask, if it is time."""
        if world.turn % PERIOD == 0:
            column = int(rng.integers(self.setting.background))
            squares = np.flatnonzero((world.codes[:, column] > 0) == bool(rng.integers(2)))
            square = rng.choice(squares if len(squares) else world.size**2)
            self._asked = int(square), column
        return 0.0

    def told(self) -> list[int]:
        """The row, the column and the proposition that are asked for."""
        if self._asked is None:
            return [0, 0, 0]
        row, column = divmod(self._asked[0], self.setting.size)
        return [row + 1, column + 1, self._asked[1] + 1]


class Tell(Locate):
    """Send the listener to targets: actions from 4 on are symbols, one for each row or column.

    Two symbols in succession are a message, a row and a column. The listener goes there, hears
    nothing until it arrives, and takes what is there. A hiker pays, anything else costs, as in
    ``stakes`` for the hikers that are left and all other squares: a message at random is worth 0.
    Further components of observations: the symbol that waits for the second one, from 1 on, and
    whether the listener is on its way.
    """

    extra: tuple[int, ...]

    def __init__(self, setting: Setting) -> None:
        super().__init__(setting)
        self.buttons = [str(symbol) for symbol in range(setting.size)]
        self.extra = (setting.size + 1, 2)
        self._listener = Listener()

    def elements(self) -> list[tuple[str, Element]]:
        """The listener."""
        self._listener = Listener()
        return [("listener", self._listener)]

    def start(self, instance: Instance) -> None:
        """No symbol was sent yet."""
        super().start(instance)
        self._first = 0

    def act(self, world: World, action: int) -> float:
        """Send a symbol; a move breaks a message off."""
        if action < MOVES:
            self._first = 0
        elif self._first == 0:
            self._first = action - MOVES + 1
        else:
            if self._listener.destination is None:
                self._listener.destination = (self._first - 1) * world.size + action - MOVES
            self._first = 0
        return 0.0

    def turn(self, world: World, rng: np.random.Generator) -> float:  # noqa: ARG002
        """Pay for what the listener took in this turn."""
        if self._listener.collected is None:
            return 0.0
        left = sum(kind == HIKER for kind in self._open.values())
        gain, loss = stakes(left, world.size**2 - left)
        return gain if self._open.pop(self._listener.collected[0], None) == HIKER else -loss

    def told(self) -> list[int]:
        """The first symbol, and whether the listener is on its way."""
        return [self._first, int(self._listener.destination is not None)]


TASKS: dict[str, type[Task]] = {"gather": Gather, "locate": Locate, "map": Map, "tell": Tell}


def draw_features(rng: np.random.Generator, kind: str) -> dict[str, Value]:
    """What an object of a kind characterises its square by."""
    holds: dict[str, Value] = {
        name: True for name, shares in FEATURES.items() if rng.random() < shares[kind]
    }
    holds[WARMTH] = int(rng.binomial(LEVELS - 1, WARMTHS[kind]))
    return holds


def profiles(setting: Setting) -> dict[str, Any]:
    """What is known of the kinds of objects.

    Returns:
        ``prior``: the share of each kind, targets first. ``features``: the probability of each
        feature by kind. ``activations``: of each named value the number of its levels and, by
        kind, the probability of its binomial distribution.
    """
    everything = setting.targets + setting.lookalikes
    other = setting.lookalikes / everything / 2
    return {
        "prior": {HIKER: setting.targets / everything, RANGER: other, ANIMAL: other},
        "features": FEATURES,
        "activations": {WARMTH: [LEVELS, WARMTHS]},
    }


def objects(instance: Instance) -> dict[int, str]:
    """The kind of the object in each square that has one, at first, which no agent is told."""
    return {each["square"]: each["kind"] for each in instance.data["objects"]}


def located(instance: Instance, trace: Trace, perception: int) -> Search:
    """What an agent identified and covered in task ``locate``, turn by turn.

    Args:
        instance: The world.
        trace: What happened, with actions and observations.
        perception: How many steps away squares are perceived in it: these are covered.

    Raises:
        InvalidInputError: Actions and observations were not recorded.
    """
    if trace.actions is None or trace.observations is None:
        message = "The trace has no actions and observations."
        raise InvalidInputError(message, "Run the exercise with record=True.")
    size = instance.data["size"]
    said = np.select([trace.actions == MOVES, trace.actions == MOVES + 1], [1, 0], -1)
    kinds = {square: kind == HIKER for square, kind in objects(instance).items()}
    return search(kinds, (size, size), trace.observations[:, :2], said, perception)
