"""The loops of the Lambda thesis, written down as the text has them, slowly and in plain Python.

They know nothing of the kernels. Only what is random in the text is taken from elsewhere: the first
cells, which one gives way, where random objects go, and when Good and Evil are exchanged.
"""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol


class Placed(NamedTuple):
    """The cells of Good, Evil, the agents and the further objects."""

    good: int
    evil: int
    agents: list[int]
    objects: list[int]


class RandomDecisions(Protocol):
    """All that is random."""

    def placement(self) -> Placed:
        """All first cells."""

    def good_stays(self) -> bool:
        """Whether Good is the one that does not move, when both moved into the same cell."""

    def object_goes(self, number: int) -> int:
        """To which cell an object goes that moves at random."""

    def exchanges(self) -> bool:
        """Whether the interactions of the cycle clause have gone by."""


@dataclass
class Seen:
    """The state between two interactions, as far as it is compared."""

    placed: Placed
    cells: list[float]
    rewards: list[float]


Loop = Generator[Seen, list[int], None]
"""Gives what is seen before each interaction, and is sent the actions of the agents."""


@dataclass
class World:
    """A space and the patterns of the objects that follow one.

    Attributes:
        paths: Where each action leads from each cell.
        pattern: What Good and Evil do.
        objects: How the further objects behave.
        good: What Good drops, in turn.
        evil: What Evil drops, in turn.
    """

    paths: list[list[int]]
    pattern: list[int]
    objects: list[str]
    good: list[float]
    evil: list[float]

    def moved(self, cell: int, actions: list[int], i: int) -> int:
        """Where an action of a pattern leads in interaction i, counted from 1."""
        return self.paths[cell][actions[(i - 1) % len(actions)]]

    def moved_pair(
        self, good: int, evil: int, i: int, decisions: RandomDecisions
    ) -> tuple[int, int]:
        """Step 5 of section 4.4, for Good and Evil."""
        to_good, to_evil = (self.moved(cell, self.pattern, i) for cell in (good, evil))
        if to_good == to_evil:
            if to_good == good:  # Good did not move: it was Evil that came
                to_evil = evil
            elif to_evil == evil or decisions.good_stays():
                to_good = good
            else:
                to_evil = evil
        return to_good, to_evil

    def moved_objects(self, cells: list[int], i: int, decisions: RandomDecisions) -> list[int]:
        """Where the further objects go."""
        moved = []
        for number, (cell, behaviour) in enumerate(zip(cells, self.objects, strict=True)):
            if behaviour == "still":
                moved.append(cell)
            elif behaviour == "random":
                moved.append(decisions.object_goes(number))
                assert moved[-1] in self.paths[cell]
            else:
                script = [int(action) for action in behaviour.removeprefix("pattern:")]
                moved.append(self.moved(cell, script, i))
        return moved


def implemented(world: World, rules: dict[str, Any], decisions: RandomDecisions) -> Loop:
    """The main loop of section 4.4, with the parameters of section 4.1.5.

    Rewards that are consumed "after the update" lie where Good and Evil now are: the update
    is the division of all cells, and then what Good and Evil drop where they have come to.
    """
    good, evil, agents, objects = decisions.placement()
    cells = [0.0 for _ in world.paths]
    rewards = [0.0 for _ in agents]
    division = float(rules["division"])

    def drop(i: int) -> None:
        for cell, reward in (
            (good, world.good[(i - 1) % len(world.good)]),
            (evil, -world.evil[(i - 1) % len(world.evil)]),
        ):
            if rules["drop_on_agents"] or cell not in agents:
                cells[cell] = reward

    def consume() -> None:
        for number, cell in enumerate(agents):
            sharers = agents.count(cell) if rules["sharing"] else 1
            rewards[number] = cells[cell] / sharers
        if rules["vanish"]:
            for cell in agents:
                cells[cell] = 0.0

    def divide() -> None:
        for cell, reward in enumerate(cells):
            cells[cell] = reward / division

    i = 0
    while True:
        i += 1
        # 1. Put Good and Evil elsewhere if the interactions of the cycle clause have gone by.
        if i > 1 and decisions.exchanges():
            good, evil = evil, good
        # 2. Good and Evil drop their rewards in their cells.
        drop(i)
        # 3. and 4. Each agent is given the last reward and the observation, and chooses its action.
        actions = yield Seen(Placed(good, evil, agents, objects), list(cells), list(rewards))
        # 5. All actions are done at once.
        good, evil = world.moved_pair(good, evil, i, decisions)
        agents = [world.paths[cell][action] for cell, action in zip(agents, actions, strict=True)]
        objects = world.moved_objects(objects, i, decisions)
        # 6. and 7. Rewards are worked out, and those of the cells are updated.
        if rules["consumption"] == "before":
            consume()
            divide()
        else:
            divide()
            drop(i + 1)
            consume()


def conceptual(world: World, decisions: RandomDecisions) -> Loop:
    """The sixteen steps of section 3.6.3; the sum of rewards is left out."""
    given = 0.0  # 1. and 4.
    cells = [0.0 for _ in world.paths]  # 2.
    good, evil, (agent,), objects = decisions.placement()  # 3.
    i = 0  # 5.
    while True:
        i = i + 1  # 6.
        if i > 1 and decisions.exchanges():  # the cycle clause, section 3.6.2
            good, evil = evil, good
        for j in range(len(cells)):  # 7.
            if good == j and agent != j:
                cells[j] = world.good[(i - 1) % len(world.good)]
        for j in range(len(cells)):  # 8.
            if evil == j and agent != j:
                cells[j] = -world.evil[(i - 1) % len(world.evil)]
        # 9.
        (action,) = yield Seen(Placed(good, evil, [agent], objects), list(cells), [given])
        agent = world.paths[agent][action]  # 10.
        good, evil = world.moved_pair(good, evil, i, decisions)  # 11.
        objects = world.moved_objects(objects, i, decisions)
        given = cells[agent]  # 12.
        cells[agent] = 0.0  # 13.
        for j in range(len(cells)):  # 14.
            cells[j] = cells[j] / 2
