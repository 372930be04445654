"""Computation times of agents as data: of an offline phase and of decisions, on each machine.

Section 2.3 of the Bayesian RL benchmark: B_-1 is the time of the offline phase, B_0, B_1, ... are
those of the decisions, and a feature phi of them is what a bound is put on.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import reduce
from math import log2
from operator import add, itemgetter
from typing import Any

import numpy as np

from omnimeter.contract import Outcome, Outcomes, UnknownNameError

STEPS = 8
"""Bin b of a histogram of times counts those whose nanoseconds round to 2^(b / STEPS)."""


@dataclass(frozen=True, slots=True)
class Machine:
    """Where times were measured.

    Attributes:
        name: The processor.
        calibration_us: The microseconds that a fixed computation took there; 0 if not known.
    """

    name: str = ""
    calibration_us: float = 0.0

    def __str__(self) -> str:
        return f"{self.name or 'unknown machine'} (calibration {self.calibration_us:g} µs)"


@dataclass(frozen=True)
class Times:
    """Computation times in seconds: B_-1 of the offline phase, B_0, B_1, ... of the decisions.

    Attributes:
        offline: The real time of the offline phase; 0 for an agent that has none.
        offline_cpu: Its processor time; ``None`` where that is not known.
        decisions: How many decisions were measured, over all trajectories.
        wall: The real time of all of them.
        cpu: Their processor time; ``None`` where that is not known.
        longest: The real time of the longest decision.
        histogram: How many decisions took about 2^(b/8) ns of real time, by b.
    """

    offline: float = 0.0
    offline_cpu: float | None = 0.0
    decisions: int = 0
    wall: float = 0.0
    cpu: float | None = 0.0
    longest: float = 0.0
    histogram: Mapping[int, int] = field(default_factory=dict)

    @property
    def mean(self) -> float | None:
        """The mean real time of a decision; ``None`` where none was measured."""
        return self.wall / self.decisions if self.decisions else None

    @property
    def mean_cpu(self) -> float | None:
        """The mean processor time of a decision; ``None`` where that is not known."""
        return None if self.cpu is None or not self.decisions else self.cpu / self.decisions

    def quantile(self, share: float) -> float | None:
        """The real time within which this share of decisions was taken, to 4.4 %."""
        wanted, seen = share * sum(self.histogram.values()), 0
        for place, count in sorted(self.histogram.items()):
            seen += count
            if seen >= wanted:
                return min(2 ** (place / STEPS) * 1e-9, self.longest)
        return None

    def __add__(self, other: Times) -> Times:
        def both(first: float | None, second: float | None) -> float | None:
            return None if first is None or second is None else first + second

        places = {*self.histogram, *other.histogram}
        histogram = {b: self.histogram.get(b, 0) + other.histogram.get(b, 0) for b in places}
        return Times(
            self.offline + other.offline,
            both(self.offline_cpu, other.offline_cpu),
            self.decisions + other.decisions,
            self.wall + other.wall,
            both(self.cpu, other.cpu),
            max(self.longest, other.longest),
            histogram,
        )

    def scaled(self, ratio: float) -> Times:
        """The times on a machine that takes so many times as long."""
        shift = round(STEPS * log2(ratio))
        return Times(
            self.offline * ratio,
            None if self.offline_cpu is None else self.offline_cpu * ratio,
            self.decisions,
            self.wall * ratio,
            None if self.cpu is None else self.cpu * ratio,
            self.longest * ratio,
            {place + shift: count for place, count in self.histogram.items()},
        )


Feature = Callable[[Times], float | None]
"""The function phi of the computation times that a bound is put on (§2.3); ``None``: not known."""

FEATURES: Mapping[str, tuple[str, Feature]] = {
    "offline": ("offline time", lambda times: times.offline),
    "offline-cpu": ("offline processor time", lambda times: times.offline_cpu),
    "mean": ("mean online time per decision", lambda times: times.mean),
    "cpu": ("mean online processor time per decision", lambda times: times.mean_cpu),
    "max": ("longest online time of a decision", lambda times: times.longest or None),
    "median": ("median online time per decision", lambda times: times.quantile(0.5)),
    "p90": ("90 % quantile of online times per decision", lambda times: times.quantile(0.9)),
    "p99": ("99 % quantile of online times per decision", lambda times: times.quantile(0.99)),
}
"""Named features, of the offline phase and of one decision, with what they are in words."""


def feature(name: str | Feature) -> tuple[str, Feature]:
    """A feature and what it is called, given its name or a function of ``Times``.

    Raises:
        UnknownNameError: There is no feature of this name.
    """
    if not isinstance(name, str):
        return getattr(name, "__name__", "time").replace("_", " ").strip("<>"), name
    if name not in FEATURES:
        raise UnknownNameError("feature of computation times", name, FEATURES)
    return FEATURES[name]


def measured_times(outcomes: Sequence[Outcome]) -> dict[Machine, Times]:
    """The times of one agent on each machine; its offline phase took place once."""
    outcomes = Outcomes.of(outcomes)
    machines, which = [Machine()], np.zeros(len(outcomes), np.int64)
    for value, rows in outcomes.remarks("machine"):
        which[rows] = len(machines)
        machines.append(_machine(value))
    # What was measured, with its row and its machine, in the order of the rows.
    known: list[tuple[int, Machine, Times]] = []
    phases = [(int(rows.min()), value) for value, rows in outcomes.remarks("offline") if value]
    if phases:
        row, offline = min(phases, key=itemgetter(0))
        there = _machine(offline["machine"]) if "machine" in offline else machines[which[row]]
        known.append((row, there, Times(offline["wall_s"], offline.get("cpu_s"))))
    for online, rows in outcomes.remarks("online"):
        if online:
            times = Times(
                decisions=online["decisions"],
                wall=online["wall_s"],
                cpu=online.get("cpu_s"),
                longest=online["max_s"],
                histogram={int(b): count for b, count in online["histogram"].items()},
            )
            known += ((row, machines[which[row]], times) for row in rows.tolist())
    known.sort(key=itemgetter(0))  # sums of floats depend on the order
    measured: dict[Machine, list[Times]] = {}
    for _, machine, times in known:
        measured.setdefault(machine, []).append(times)
    return {machine: _total(each) for machine, each in measured.items()}


def _total(parts: Sequence[Times]) -> Times:
    """The sum of many, which are added one after the other."""
    histogram: Counter[int] = Counter()
    for each in parts:
        histogram.update(each.histogram)
    return Times(
        reduce(add, (each.offline for each in parts), 0.0),
        _known_sum([each.offline_cpu for each in parts]),
        sum(each.decisions for each in parts),
        reduce(add, (each.wall for each in parts), 0.0),
        _known_sum([each.cpu for each in parts]),
        max(each.longest for each in parts),
        dict(histogram),
    )


def _known_sum(numbers: Sequence[float | None]) -> float | None:
    """The sum of numbers; ``None`` where one of them is not known."""
    known = [each for each in numbers if each is not None]
    return reduce(add, known, 0.0) if len(known) == len(numbers) else None


def _machine(data: Mapping[str, Any] | None) -> Machine:
    return Machine(data["name"], float(data["calibration_us"])) if data else Machine()
