"""Reference agents of target location: sweep, rules and Bayes (perturbation tolerance).

All walk in the same lanes, as far apart as they can see, and leave them for objects that they want
to call targets; they differ in which these are. They stop when as many targets are confirmed, by a
positive reward, as there are, or when all squares were seen.
"""

from __future__ import annotations

import re
from abc import abstractmethod
from collections.abc import Mapping, Sequence
from math import comb
from typing import Any, Literal

import numpy as np

from omnimeter.agents.shared import require
from omnimeter.contract import STOP, Agent, Briefing, Move, Observation
from omnimeter.contract.agent import FloatArray, IntArray

UP, DOWN, LEFT, RIGHT, TARGET = range(5)
"""Actions of target location that these agents use."""

ACTIVATION = "warmth"
"""The column that is known of every object, and of nothing else."""

CONDITIONS = ("two-legged", "backpack", "tent", "not uniform", "not radio", "not fur")
"""What is evident about hikers."""

Square = tuple[int, int]


class Sweep(Agent):
    """Walks in lanes over the whole world and calls every object a target.

    It classifies nothing: what it identifies is what walking alone is worth. Lanes are so far
    apart that it perceives all squares between them.
    """

    def begin(self, briefing: Briefing, rng: np.random.Generator) -> None:  # noqa: ARG002
        """Read what the task is.

        Raises:
            InvalidInputError: It is not target location in a PWorld.
        """
        remarks = briefing.remarks
        name = re.sub(r"(?<=.)([A-Z])", r"-\1", type(self).__name__).lower()
        require(
            remarks.get("task") == "locate" and ACTIVATION in remarks.get("columns", {}),
            f"The agent {name} can only locate targets; the task here is "
            f"{remarks.get('task', 'another one')}.",
            "Use it with pworld-v1 and task=locate, or another agent here.",
        )
        self.size, self.targets = int(remarks["size"]), int(remarks["targets"])
        self.columns = list(remarks["columns"])
        self.range = int(remarks["perception"])
        self.window = [(int(down), int(right)) for down, right in remarks["window"]]
        self.unseen = np.ones((self.size, self.size), dtype=np.bool_)
        self.wanted: set[Square] = set()
        self.judged: set[Square] = set()
        self.confirmed = 0
        self.declared: Square | None = None
        self.evidence: dict[Square, IntArray] = {}
        self.lanes: list[Square] = []
        self.place = 0  # of the next square in the lanes

    def act(self, reward: float, observation: Observation) -> int | Move:
        """Call the object here a target, go to the nearest that may be one, or on in the lane."""
        assert isinstance(observation, np.ndarray)  # begin has seen the columns
        here = (int(observation[0]), int(observation[1]))
        if self.declared is not None:
            self.confirmed += reward > 0
            self.learn(self.evidence[self.declared], reward > 0)
            self.declared = None
        self._perceive(here, observation)
        if self.confirmed == self.targets:
            return STOP
        if here in self.wanted:
            self.wanted.discard(here)
            self.judged.add(here)
            self.declared = here
            return TARGET
        goal = min(self.wanted, key=lambda each: (_distance(here, each), each), default=None)
        if goal is None:
            goal = self._next_in_lanes(here)
        return STOP if goal is None else _step(here, goal)

    def _perceive(self, here: Square, observation: IntArray) -> None:
        """Note what is in the window, and which objects are worth a visit."""
        width = 1 + len(self.columns)
        squares = observation[2 : 2 + width * len(self.window)].reshape(-1, width)
        activation = self.columns.index(ACTIVATION)
        for (down, right), (inside, *codes) in zip(self.window, squares.tolist(), strict=True):
            square = (here[0] + down, here[1] + right)
            if not inside:
                continue
            self.unseen[square] = False
            self.wanted.discard(square)  # what is seen counts, not what was believed
            if codes[activation] and square not in self.judged:
                self.evidence[square] = np.array(codes)
                if self.is_target(self.evidence[square]):
                    self.wanted.add(square)

    def _next_in_lanes(self, here: Square) -> Square | None:
        """The next square of the lanes from which something unseen will be seen."""
        if not self.lanes:
            rows = list(range(self.range, self.size, 2 * self.range + 1))
            if not rows or rows[-1] + self.range < self.size - 1:
                rows.append(self.size - 1)
            columns = range(self.size)
            upwards, leftwards = 2 * here[0] >= self.size, 2 * here[1] >= self.size
            for place, row in enumerate(reversed(rows) if upwards else rows):
                lane = [(row, column) for column in columns]
                self.lanes += lane[::-1] if (place % 2 == 1) != leftwards else lane
        while self.place < len(self.lanes):
            row, column = self.lanes[self.place]
            if self.unseen[max(0, row - self.range) : row + self.range + 1, column].any():
                return row, column
            self.place += 1
        return None

    def is_target(self, codes: IntArray) -> bool:  # noqa: ARG002 - for agents that classify
        """Whether an object that has these codes shall be called a target."""
        return True

    def learn(self, codes: IntArray, target: bool) -> None:
        """Take note of what an object that was called a target has turned out to be."""


def _distance(one: Square, other: Square) -> int:
    return abs(one[0] - other[0]) + abs(one[1] - other[1])


def _step(here: Square, goal: Square) -> int:
    """The first move of a shortest way; along the column first, as the way back to a lane is."""
    if here[0] != goal[0]:
        return UP if goal[0] < here[0] else DOWN
    return LEFT if goal[1] < here[1] else RIGHT


class _Classifier(Sweep):
    """A searcher that heeds the value of accuracy R_V.

    Args:
        accuracy: R_V, from 0 to 1; by default what the environment tells.
    """

    def __init__(self, accuracy: float | None = None) -> None:
        valid = accuracy is None or 0 <= accuracy <= 1
        problem = f"The value of accuracy is {accuracy}."
        require(valid, problem, "Give a number from 0 to 1.")
        self.accuracy = accuracy

    def begin(self, briefing: Briefing, rng: np.random.Generator) -> None:
        """Read what the task is, and how much accuracy is worth."""
        super().begin(briefing, rng)
        told = float(briefing.remarks.get("accuracy", 0.5))
        self.value_of_accuracy = told if self.accuracy is None else self.accuracy
        self.instruct(briefing.remarks)

    @abstractmethod
    def instruct(self, remarks: Mapping[str, Any]) -> None:
        """Read what is told about kinds of objects."""


class RuleSearcher(_Classifier):
    """Sweeps, and calls an object a target if enough of some conditions hold.

    With the value of accuracy R_V, at least a share (1 + R_V) / 2 of the conditions must hold: half
    of them where accuracy is worth nothing, all where it is worth everything.

    Args:
        accuracy: R_V, from 0 to 1; by default what the environment tells.
        conditions: Names of propositions that hold for targets, or ``not`` and a name.
    """

    def __init__(
        self, accuracy: float | None = None, conditions: Sequence[str] = CONDITIONS
    ) -> None:
        super().__init__(accuracy)
        require(len(conditions) > 0, "There are no conditions.", "Give at least one.")
        self.conditions = list(conditions)

    def instruct(self, remarks: Mapping[str, Any]) -> None:  # noqa: ARG002 - columns are read
        """Read which column each condition is about.

        Raises:
            InvalidInputError: There is no such column.
        """
        names = [each.removeprefix("not ") for each in self.conditions]
        for name in names:
            problem = f"A condition is about {name!r}, which no proposition is called here."
            require(name in self.columns, problem, f"Choose among {', '.join(self.columns)}.")
        self.places = np.array([self.columns.index(name) for name in names])
        self.holds = np.array([not each.startswith("not ") for each in self.conditions])

    def is_target(self, codes: IntArray) -> bool:
        """Whether enough conditions hold."""
        share = float(np.mean((codes[self.places] > 0) == self.holds))
        return share >= (1 + self.value_of_accuracy) / 2


class BayesSearcher(_Classifier):
    """Sweeps, and calls an object a target if that is probable enough.

    The probability is that of naive Bayes: what is perceived of an object is independent given its
    kind. It must be at least R_V, the value of accuracy. Before it sweeps it goes to squares where,
    by the initial knowledge base, that holds; what it perceives there replaces what it believed.

    Args:
        accuracy: R_V, from 0 to 1; by default what the environment tells.
        profiles: Whether it knows the profiles of the kinds and the knowledge base, as they are
            ``told``, or has ``learnt`` them in this exercise from the rewards of its declarations.
            Then it does not know which propositions matter, and counts all of them (with one
            count more for each value); it calls the first objects targets to learn.
        lessons: The number of these.
    """

    def __init__(
        self,
        accuracy: float | None = None,
        profiles: Literal["told", "learnt"] = "told",
        lessons: int = 8,
    ) -> None:
        super().__init__(accuracy)
        require(lessons >= 0, f"There are {lessons} lessons.", "Give a number from 0 up.")
        self.profiles, self.lessons = profiles, lessons

    def instruct(self, remarks: Mapping[str, Any]) -> None:
        """Read the profiles of kinds and the knowledge base, or begin to count."""
        sizes = [1 + len(labels) for labels in remarks["columns"].values()]
        if self.profiles == "learnt":
            targets, others = int(remarks["targets"]), int(remarks["lookalikes"])
            self.prior = np.array([targets, others]) / (targets + others)
            self.tables = [np.ones((2, size)) for size in sizes]
            self.relevant = list(range(len(sizes)))
            return
        self.prior, tables = read_profiles(remarks["profiles"])
        self.relevant = [self.columns.index(name) for name in tables]
        self.tables = list(tables.values())
        believed: dict[Square, IntArray] = {}
        for row, column, name, value in remarks["knowledge"]:
            codes = believed.setdefault((row, column), np.full(len(sizes), -1))
            labels = list(remarks["columns"][name])
            codes[self.columns.index(name)] = 0 if value is False else 1 + labels.index(value)
        self.wanted = {square for square, codes in believed.items() if self.is_target(codes)}

    def posterior(self, codes: IntArray) -> float:
        """The probability that an object is a target; a code of -1 is not known."""
        probability = self.prior.copy()
        for place, table in zip(self.relevant, self.tables, strict=True):
            if codes[place] >= 0:
                probability *= table[:, codes[place]] / table.sum(axis=1)
                probability /= probability.sum()  # many factors would vanish
        return float(probability[0])

    def is_target(self, codes: IntArray) -> bool:
        """Whether it is probable enough, or there is something to learn."""
        if self.profiles == "learnt" and len(self.judged) < self.lessons:
            return True
        return self.posterior(codes) >= self.value_of_accuracy

    def learn(self, codes: IntArray, target: bool) -> None:
        """Count what was perceived of this object, and judge the others anew, if that is learnt."""
        if self.profiles == "told":
            return
        for table, code in zip(self.tables, codes, strict=True):
            table[0 if target else 1, code] += 1
        left = self.evidence.keys() - self.judged
        self.wanted = {square for square in left if self.is_target(self.evidence[square])}


def read_profiles(profiles: Mapping[str, Any]) -> tuple[FloatArray, dict[str, FloatArray]]:
    """The prior of each kind, targets first, and the probability of each code of each column."""
    kinds = list(profiles["prior"])
    prior = np.array([profiles["prior"][kind] for kind in kinds])
    tables = {}
    for name, shares in profiles["features"].items():
        holds = np.array([shares[kind] for kind in kinds])
        tables[name] = np.stack([1 - holds, holds], axis=1)
    for name, (levels, shares) in profiles["activations"].items():
        share = np.array([shares[kind] for kind in kinds])[:, None]
        level = np.arange(levels)
        weights = np.array([comb(levels - 1, each) for each in level])
        binomial = weights * share**level * (1 - share) ** (levels - 1 - level)
        tables[name] = np.concatenate([np.zeros((len(kinds), 1)), binomial], axis=1)
    return prior, tables
