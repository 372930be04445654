"""Many outcomes by columns: numbers are arrays, and objects are made where they are asked for."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from operator import eq
from typing import Any, NamedTuple, Self, overload

import numpy as np
from numpy.typing import NDArray

from omnimeter.contract.agent import FloatArray, IntArray
from omnimeter.contract.exercise import OWN, Ending, Exercise, FaultKind, Outcome
from omnimeter.contract.spec import Spec

BLOCK = 512
"""Objects that are made at once while outcomes are iterated over."""

FAULTS = ("", *map(str, FaultKind))
"""The kinds of faults by their codes in ``Outcomes.faults``; 0 is none."""

ENDINGS = tuple(map(str, Ending))
"""How exercises end, by their codes in ``Outcomes.endings``."""

INFRASTRUCTURE = FAULTS.index(FaultKind.INFRASTRUCTURE)


STOPPED = "stopped"
"""The remark on the outcome after which an agent took no more exercises: after how many faults of
its own in a row. Where exercises are fixed, each such fault says ``FAULT_LIMIT`` instead."""

FAULT_LIMIT = "fault_limit"
"""The remark on a fault of the agent's own: how many of them in a row are its last. Exercises may
be taken at the same time elsewhere; those after such a row do not count (``stopped_at``)."""


def _code(key: str) -> int:
    """A key, sixteen hexadecimal digits, as a number; its order is that of the keys."""
    return int(key, 16)


def _kind(exercise: Exercise) -> tuple[Any, ...]:
    """All but instance, complexity and number."""
    return (
        exercise.agent, exercise.environment_class, exercise.budget, exercise.clock,
        exercise.timeout, exercise.joint, exercise.seated, exercise.preparation, exercise.seed,
    )  # fmt: skip


COLUMNS: Mapping[str, tuple[Any, Callable[[Outcome], Any]]] = {
    "number": (np.int64, lambda each: each.exercise.number),
    "key": (np.uint64, lambda each: _code(each.exercise.key)),
    "instance": (np.uint64, lambda each: _code(each.exercise.instance.key)),
    "complexity": (np.float64, lambda each: each.exercise.complexity),
    "payoff": (np.float64, lambda each: np.nan if each.payoff is None else each.payoff),
    "paid": (np.bool_, lambda each: each.payoff is not None),
    "interactions": (np.int64, lambda each: each.interactions),
    "total": (np.float64, lambda each: each.total),
    "last_time": (np.int64, lambda each: each.last_time),
    "fault": (np.int8, lambda each: 0 if each.fault is None else FAULTS.index(each.fault.kind)),
    "attempts": (np.int64, lambda each: each.attempts),
    "ending": (np.int8, lambda each: ENDINGS.index(each.ending)),
}
"""Each column: its type, and its value in one outcome."""


class Outcomes(Sequence[Outcome]):
    """Outcomes in some order, as a sequence of objects and as columns.

    What is computed over many outcomes uses the columns, which cost a few bytes each. Objects are
    made when the sequence is indexed or iterated over; a store then reads only those. This class
    holds objects itself; a store has its own (``Record.outcomes``).
    """

    def __init__(self, outcomes: Iterable[Outcome] = ()) -> None:
        self._objects: Sequence[Outcome] = list(outcomes)
        self._arrays: dict[str, NDArray[Any]] = {}

    @classmethod
    def of(cls, outcomes: Sequence[Outcome]) -> Outcomes:
        """The same outcomes with columns; those that have columns are given back."""
        return outcomes if isinstance(outcomes, Outcomes) else Outcomes(outcomes)

    # What a store does otherwise: objects, columns and remarks of some rows.

    def objects(self, rows: IntArray) -> list[Outcome]:
        """The outcomes in some rows, as objects."""
        return [self._objects[row] for row in rows.tolist()]

    def compute(self, name: str) -> NDArray[Any]:
        """Compute a column."""
        kind, value = COLUMNS[name]
        return np.fromiter(map(value, self._objects), dtype=kind, count=len(self._objects))

    def remarks(self, name: str) -> list[tuple[Any, IntArray]]:
        """The different values of a remark, each with the rows whose outcomes have it."""
        rows: dict[str, tuple[Any, list[int]]] = {}
        for row, each in enumerate(self._objects):
            if name in each.remarks:
                value = each.remarks[name]
                rows.setdefault(repr(value), (value, []))[1].append(row)
        return [(value, np.array(where)) for value, where in rows.values()]

    def remark_texts(self) -> list[str | None]:
        """The remarks of each outcome as JSON; ``None`` where there are none."""
        return [json.dumps(each.remarks) if each.remarks else None for each in self._objects]

    def classes(self) -> list[tuple[Spec, IntArray]]:
        """The different environment classes, each with the rows whose exercises are in it."""
        rows: dict[Spec, list[int]] = {}
        for row, each in enumerate(self._objects):
            rows.setdefault(each.exercise.environment_class, []).append(row)
        return [(spec, np.array(where)) for spec, where in rows.items()]

    def distinct_exercises(self) -> list[Exercise]:
        """One exercise of each kind: they differ in more than instance, complexity and number."""
        kinds: dict[Any, Exercise] = {}
        for each in self._objects:
            kinds.setdefault(_kind(each.exercise), each.exercise)
        return list(kinds.values())

    def by_agent(self, agents: Iterable[Spec]) -> dict[Spec, Outcomes]:
        """The outcomes of each of some agents."""
        groups: dict[Spec, list[Outcome]] = {agent: [] for agent in agents}
        for each in self._objects:
            if each.exercise.agent in groups:
                groups[each.exercise.agent].append(each)
        return {agent: Outcomes(own) for agent, own in groups.items()}

    @property
    def shards(self) -> list[str]:
        """The shards of a store that they are in; none where there is no store."""
        return []

    def take(self, rows: IntArray) -> Self:
        """The outcomes of some rows, in the order of the rows."""
        chosen = type(self)(self.objects(rows))
        chosen._arrays = {name: array[rows] for name, array in self._arrays.items()}
        return chosen

    # Columns.

    def column(self, name: str) -> NDArray[Any]:
        """One column, computed once; not to be written to."""
        if name not in self._arrays:
            self._arrays[name] = self.compute(name)
        return self._arrays[name]

    @property
    def numbers(self) -> IntArray:
        """The numbers of the exercises."""
        return self.column("number")

    @property
    def keys(self) -> NDArray[np.uint64]:
        """The keys of the exercises, as numbers."""
        return self.column("key")

    @property
    def instances(self) -> NDArray[np.uint64]:
        """The keys of the instances, as numbers."""
        return self.column("instance")

    @property
    def complexities(self) -> FloatArray:
        """The complexities of the environments."""
        return self.column("complexity")

    @property
    def payoffs(self) -> FloatArray:
        """The payoffs; not a number where there is none (``paid``)."""
        return self.column("payoff")

    @property
    def paid(self) -> NDArray[np.bool_]:
        """Which of them have a payoff."""
        return self.column("paid")

    @property
    def interactions(self) -> IntArray:
        """How many actions were completed."""
        return self.column("interactions")

    @property
    def totals(self) -> FloatArray:
        """The sums of all rewards."""
        return self.column("total")

    @property
    def last_times(self) -> IntArray:
        """The nanoseconds of the last actions."""
        return self.column("last_time")

    @property
    def faults(self) -> NDArray[np.int8]:
        """The kinds of faults, as places in ``FAULTS``; 0 where there is none."""
        return self.column("fault")

    @property
    def own_faults(self) -> NDArray[np.bool_]:
        """Which of them ended in a fault of the agent itself."""
        return np.isin(self.faults, [FAULTS.index(each) for each in OWN])

    @property
    def hidden_payoffs(self) -> NDArray[np.bool_]:
        """Which ended in a fault that may depend on how well the agent did (``hides_payoff``)."""
        return np.asarray((self.faults != 0) & (self.faults != INFRASTRUCTURE))

    @property
    def attempts(self) -> IntArray:
        """How often each was begun."""
        return self.column("attempts")

    @property
    def endings(self) -> NDArray[np.int8]:
        """How they ended, as places in ``ENDINGS``."""
        return self.column("ending")

    def fault_counts(self) -> dict[str, int]:
        """How many of them ended in each kind of fault, of those that occur."""
        codes, counts = np.unique(self.faults, return_counts=True)
        pairs = zip(codes.tolist(), counts.tolist(), strict=True)
        return {FAULTS[code]: count for code, count in pairs if code}

    def where(self, chosen: NDArray[np.bool_]) -> Self:
        """The outcomes that are chosen, in their order."""
        return self if chosen.all() else self.take(np.flatnonzero(chosen))

    def in_order(self) -> Self:
        """The same outcomes by the number and the key of their exercises."""
        numbers = self.numbers
        if (numbers[1:] > numbers[:-1]).all():
            return self
        return self.take(np.lexsort((self.keys, numbers)))

    # Objects.

    def __len__(self) -> int:
        return len(self._objects)

    @overload
    def __getitem__(self, place: int) -> Outcome: ...
    @overload
    def __getitem__(self, place: slice) -> Self: ...
    def __getitem__(self, place: int | slice) -> Outcome | Self:
        rows = np.arange(len(self))
        if isinstance(place, slice):
            return self.take(rows[place])
        return self.objects(rows[[place]])[0]

    def __iter__(self) -> Iterator[Outcome]:
        for first in range(0, len(self), BLOCK):
            yield from self.objects(np.arange(first, min(first + BLOCK, len(self))))

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Sequence):
            return NotImplemented
        return len(self) == len(other) and all(map(eq, self, other))

    __hash__ = None  # type: ignore[assignment] # as of every sequence that is compared by its items

    def __repr__(self) -> str:
        return f"<{len(self)} outcomes>"


class JoinedOutcomes(Outcomes):
    """Some rows of several ``Outcomes``, which stay where they are.

    Args:
        parts: What is joined, one after the other.
        rows: Which rows, counted through all parts, in their order; all by default.
    """

    def __init__(self, parts: Sequence[Outcomes], rows: IntArray | None = None) -> None:
        super().__init__()
        self._parts = tuple(parts)
        self._starts = np.cumsum([0, *map(len, self._parts)])
        self._rows = np.arange(self._starts[-1]) if rows is None else rows

    def _split(self, rows: IntArray) -> Iterator[tuple[Outcomes, IntArray, IntArray]]:
        """Each part that some rows are in, which of the rows these are, and where they are in it.

        Args:
            rows: Rows as they are counted through all parts.
        """
        place = np.searchsorted(self._starts, rows, side="right") - 1
        for number, part in enumerate(self._parts):
            own = np.flatnonzero(place == number)
            if len(own):
                yield part, own, rows[own] - self._starts[number]

    def objects(self, rows: IntArray) -> list[Outcome]:  # noqa: D102 - see Outcomes
        made: dict[int, Outcome] = {}
        for part, own, places in self._split(self._rows[rows]):
            made.update(zip(own.tolist(), part.objects(places), strict=True))
        return [made[place] for place in range(len(rows))]

    def compute(self, name: str) -> NDArray[Any]:  # noqa: D102 - see Outcomes
        columns = [np.empty(0, COLUMNS[name][0]), *(part.column(name) for part in self._parts)]
        return np.concatenate(columns)[self._rows]

    def remarks(self, name: str) -> list[tuple[Any, IntArray]]:  # noqa: D102 - see Outcomes
        known: dict[str, tuple[Any, list[IntArray]]] = {}
        for part, own, places in self._split(self._rows):
            for value, where in part.take(places).remarks(name):
                known.setdefault(repr(value), (value, []))[1].append(own[where])
        return [(value, np.sort(np.concatenate(rows))) for value, rows in known.values()]

    def remark_texts(self) -> list[str | None]:  # noqa: D102 - see Outcomes
        texts: dict[int, str | None] = {}
        for part, own, places in self._split(self._rows):
            texts.update(zip(own.tolist(), part.take(places).remark_texts(), strict=True))
        return [texts[place] for place in range(len(self))]

    def classes(self) -> list[tuple[Spec, IntArray]]:  # noqa: D102 - see Outcomes
        known: dict[Spec, list[IntArray]] = {}
        for part, own, places in self._split(self._rows):
            for spec, where in part.take(places).classes():
                known.setdefault(spec, []).append(own[where])
        return [(spec, np.sort(np.concatenate(rows))) for spec, rows in known.items()]

    def distinct_exercises(self) -> list[Exercise]:  # noqa: D102 - see Outcomes
        kinds: dict[Any, Exercise] = {}
        for part, _, places in self._split(self._rows):
            for exercise in part.take(places).distinct_exercises():
                kinds.setdefault(_kind(exercise), exercise)
        return list(kinds.values())

    def by_agent(self, agents: Iterable[Spec]) -> dict[Spec, Outcomes]:
        """The outcomes of each of some agents, part by part."""
        agents = list(agents)
        split = [part.take(places).by_agent(agents) for part, _, places in self._split(self._rows)]
        return {agent: JoinedOutcomes([groups[agent] for groups in split]) for agent in agents}

    @property
    def shards(self) -> list[str]:
        """None: they may be in several stores."""
        return []

    def take(self, rows: IntArray) -> Self:  # noqa: D102 - see Outcomes
        chosen = type(self)(self._parts, self._rows[rows])
        chosen._arrays = {name: array[rows] for name, array in self._arrays.items()}
        return chosen

    def __len__(self) -> int:
        return len(self._rows)


class Stop(NamedTuple):
    """The number of the exercise that was an agent's last, and after how many faults in a row."""

    number: int
    limit: int


def stopped_at(outcomes: Outcomes) -> Stop | None:
    """Where the agent of some outcomes was stopped because of faults of its own, if it was.

    They count in the order of the numbers of exercises, whenever these were done. An exercise that
    is not done interrupts a row, and a fault of the infrastructure does not count.
    """
    told = outcomes.remarks(STOPPED)
    stops = [Stop(int(outcomes.numbers[rows].min()), int(limit)) for limit, rows in told]
    own, row, last = outcomes.own_faults, 0, None
    if limits := outcomes.remarks(FAULT_LIMIT):
        limit = max(int(limit) for limit, _ in limits)  # a later run may have raised it
        numbers = outcomes.numbers
        spared = set(numbers[(outcomes.faults != 0) & ~own].tolist())
        for place in sorted(np.flatnonzero(own).tolist(), key=lambda place: int(numbers[place])):
            number = int(numbers[place])
            joined = last is not None and all(k in spared for k in range(last + 1, number))
            row, last = row + 1 if joined else 1, number
            if row >= limit:
                stops.append(Stop(number, limit))
                break
    return min(stops, default=None)


def that_count(outcomes: Outcomes) -> Outcomes:
    """The outcomes of an agent that count: if it was stopped among fixed exercises, up to then."""
    if not outcomes.own_faults.any() or not outcomes.remarks(FAULT_LIMIT):
        return outcomes
    stop = stopped_at(outcomes)
    return outcomes if stop is None else outcomes.where(outcomes.numbers <= stop.number)
