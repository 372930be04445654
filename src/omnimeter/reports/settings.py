"""Settings as data: an algorithm with its parameters on a problem, its returns and its times.

Computation times are comparable on one machine only (Bayesian RL benchmark, §3.2).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from math import log2, sqrt
from typing import Any

import numpy as np

from omnimeter.contract import InvalidInputError, Outcome, Spec
from omnimeter.contract.errors import UnknownNameError
from omnimeter.contract.exercise import is_own_fault
from omnimeter.contract.spec import fingerprint
from omnimeter.estimation import Estimate, Support, mean
from omnimeter.protocols import Result
from omnimeter.reports.scores import unit_values
from omnimeter.reports.text import MISSING, counted, duration, grouped, listed

TOLERANCE = 1.2
"""Calibrations that differ by more than this factor are those of different machines."""

OUTLIERS = 0.1
"""The share of decisions that may have been calibrated otherwise, on a machine that others use."""

INSTANT = 1e-3
"""An offline phase of up to so many seconds is almost instantaneous (table 1 of the paper)."""

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
        return f"{self.name or 'unknown machine'} (calibration {grouped(self.calibration_us)} µs)"


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

FEATURES: Mapping[str, Feature] = {
    "offline": lambda times: times.offline,
    "offline-cpu": lambda times: times.offline_cpu,
    "mean": lambda times: times.mean,
    "cpu": lambda times: times.mean_cpu,
    "max": lambda times: times.longest if times.decisions else None,
    "median": lambda times: times.quantile(0.5),
    "p90": lambda times: times.quantile(0.9),
    "p99": lambda times: times.quantile(0.99),
}
"""Named features: of the offline phase, and of one decision."""

DESCRIPTIONS: Mapping[str, str] = {
    "offline": "offline time",
    "offline-cpu": "offline processor time",
    "mean": "mean online time per decision",
    "cpu": "mean online processor time per decision",
    "max": "longest online time of a decision",
    "median": "median online time per decision",
    "p90": "90 % quantile of online times per decision",
    "p99": "99 % quantile of online times per decision",
}


def feature(name: str | Feature) -> tuple[str, Feature]:
    """A feature and what it is called, given its name or a function of ``Times``.

    Raises:
        UnknownNameError: There is no feature of this name.
    """
    if not isinstance(name, str):
        return getattr(name, "__name__", "time").replace("_", " ").strip("<>"), name
    if name not in FEATURES:
        raise UnknownNameError("feature of computation times", name, FEATURES)
    return DESCRIPTIONS[name], FEATURES[name]


@dataclass(frozen=True, eq=False)
class Setting:
    """An agent, that is an algorithm with its parameters, on a problem.

    Attributes:
        problem: What the problem is called.
        agent: The agent.
        returns: The discounted return in each MDP, by the MDP's number; their mean, where an MDP
            has several trajectories.
        measured: Its computation times on each machine.
        algorithm: Of which algorithm it is one setting; the id of the agent by default.
        support: Between which numbers every return lies, where that is known.
        faults: How many trajectories ended in a fault of the agent.
        draw: What decided on the MDPs; settings can be compared if it is the same.
        published: The published score and half-width, where there are any.
    """

    problem: str
    agent: Spec
    returns: Mapping[int, float]
    measured: Mapping[Machine, Times] = field(default_factory=dict)
    algorithm: str = ""
    support: Support | None = None
    faults: int = 0
    draw: str = ""
    published: tuple[float, float] | None = None

    def __post_init__(self) -> None:
        if not self.algorithm:
            object.__setattr__(self, "algorithm", self.agent.id)

    @property
    def label(self) -> str:
        """The agent as a person writes it."""
        return self.agent.label

    @property
    def parameters(self) -> str:
        """The parameters as a person writes them."""
        return self.label.removeprefix(self.agent.id).removeprefix("(").removesuffix(")")

    @cached_property
    def times(self) -> Times:
        """All its computation times; only of one machine do they mean something."""
        return sum(self.measured.values(), Times())

    @cached_property
    def score(self) -> Estimate | None:
        """The mean return with its 95 % interval; ``None`` without any."""
        return mean(list(self.returns.values()), support=self.support) if self.returns else None

    @property
    def half_width(self) -> float | None:
        """1.96 s / sqrt(N), with N - 1 in s, as the published intervals were computed (eq. 1)."""
        count = len(self.returns)
        if count < 2:
            return None
        return 1.96 * float(np.std(list(self.returns.values()), ddof=1)) / sqrt(count)


def settings_of(result: Result, problem: str = "", mdps: int | None = None) -> list[Setting]:
    """The settings of an evaluation; an agent whose decisions were not measured has no times.

    Args:
        result: The result of an evaluation of Bayesian RL agents.
        problem: What to call the problem; by default its test class, and its prior if that differs.
        mdps: How many MDPs there are, where some have several trajectories and the protocol does
            not say so (``Protocol.values``): trajectory k is then in MDP ``k % mdps``.
    """
    settings = []
    for agent, outcomes in result.outcomes.items():
        values: dict[int, list[float]] = {}
        for number, value in unit_values(result, agent).items():
            values.setdefault(number % mdps if mdps else number, []).append(value)
        first = outcomes[0].exercise if outcomes else None
        settings.append(
            Setting(
                problem or (_problem(outcomes[0]) if outcomes else ""),
                agent,
                {number: sum(each) / len(each) for number, each in sorted(values.items())},
                _measured(outcomes),
                support=result.support,
                faults=sum(map(is_own_fault, outcomes)),
                draw=fingerprint(
                    [first.environment_class.to_json(), first.seed, first.budget.to_json()]
                )
                if first
                else "",
            )
        )
    return settings


def time_text(seconds: float | None) -> str:
    """A computation time as people read it."""
    if seconds is None:
        return MISSING
    return duration(seconds) if seconds else "0 s"


def algorithm_names(settings: Iterable[Setting]) -> dict[str, str]:
    """What figures call each algorithm: without its version or folder, as long as it is unique."""
    algorithms = list(dict.fromkeys(each.algorithm for each in settings))
    short = {each: re.sub(r"^.*[/:]|-v\d+$", "", each) for each in algorithms}
    names = list(short.values())
    return {each: name if names.count(name) == 1 else each for each, name in short.items()}


def _problem(outcome: Outcome) -> str:
    exercise = outcome.exercise
    name, prior = exercise.environment_class.label, exercise.preparation
    known = prior is None or prior.prior == exercise.environment_class
    return name if known or prior is None else f"{name} with prior {prior.prior.label}"


def _measured(outcomes: Sequence[Outcome]) -> dict[Machine, Times]:
    """The times of one agent on each machine; its offline phase took place once."""
    measured: dict[Machine, Times] = {}
    prepared = False
    for each in outcomes:
        remarks: Mapping[str, Any] = each.remarks
        online, offline = remarks.get("online"), remarks.get("offline")
        machine = _machine(remarks.get("machine"))
        if offline and not prepared:
            prepared = True
            there = _machine(offline.get("machine")) if "machine" in offline else machine
            phase = Times(offline["wall_s"], offline.get("cpu_s"))
            measured[there] = measured.get(there, Times()) + phase
        if online:
            times = Times(
                decisions=online["decisions"],
                wall=online["wall_s"],
                cpu=online.get("cpu_s"),
                longest=online["max_s"],
                histogram={int(b): count for b, count in online["histogram"].items()},
            )
            measured[machine] = measured.get(machine, Times()) + times
    return measured


def _machine(data: Mapping[str, Any] | None) -> Machine:
    return Machine(data["name"], float(data["calibration_us"])) if data else Machine()


def on_one_machine(settings: Sequence[Setting], *, mix: bool = False) -> tuple[list[Setting], str]:
    """The settings with times that can be compared, and what had to be done for it.

    Times are comparable if they were measured on the same processor, and the calibrations of no
    two settings, nor of more than a tenth of the decisions of one, differ by more than 20 %.

    Args:
        settings: The settings.
        mix: Whether times of different machines are scaled, by their calibrations, to the machine
            on which most settings were measured.

    Raises:
        InvalidInputError: They were measured on different machines and may not be mixed, or one of
            these was not calibrated.
    """
    known = [each for each in settings if each.measured]
    pairs = [pair for each in known for pair in each.measured.items()]
    names = list(dict.fromkeys(machine.name for machine, _ in pairs))
    typical = [_typical(each.measured.items()) for each in known]
    if (
        len(names) < 2
        and max(typical, default=0.0) <= TOLERANCE * min(typical, default=0.0)
        and all(map(_is_steady, (each.measured for each in known), typical))
    ):
        return list(settings), ""
    machines = {
        name: Machine(name, _typical([pair for pair in pairs if pair[0].name == name]))
        for name in names
    }
    slowest = max(machine.calibration_us for machine, _ in pairs)
    fastest = min(machine.calibration_us for machine, _ in pairs)
    spread = (
        f"{listed(map(str, machines.values()))}, with calibrations from {grouped(fastest)} to "
        f"{grouped(slowest)} µs"
    )
    if not mix:
        raise InvalidInputError(
            "The computation times of these settings cannot be compared: they were measured on "
            f"different machines, or on one whose speed changed: {spread}.",
            "Run all settings on one machine, or allow scaled times (--mix-machines, mix=True).",
        )
    if not fastest:
        raise InvalidInputError(
            "Times of different machines cannot be scaled: one of them has no calibration.",
            "Run its settings again, so that it is calibrated.",
        )
    amounts = {
        name: sum(any(m.name == name for m in each.measured) for each in known) for name in names
    }
    reference = machines[max(names, key=lambda name: amounts[name])]

    def rescaled(setting: Setting) -> Setting:
        ratios = {m: reference.calibration_us / m.calibration_us for m in setting.measured}
        times = sum((t.scaled(ratios[m]) for m, t in setting.measured.items()), Times())
        return replace(setting, measured={reference: times} if setting.measured else {})

    note = (
        f"Times were measured on {counted(len(names), 'machine')} ({spread}), and are scaled by "
        f"the calibrations to those on {reference}."
    )
    return list(map(rescaled, settings)), note


def _typical(pairs: Iterable[tuple[Machine, Times]]) -> float:
    """The median of the calibrations, over decisions."""
    weighted = sorted((machine.calibration_us, times.decisions or 1) for machine, times in pairs)
    half, seen = sum(weight for _, weight in weighted) / 2, 0
    for calibration, weight in weighted:
        seen += weight
        if seen >= half:
            return calibration
    return 0.0


def _is_steady(measured: Mapping[Machine, Times], usual: float) -> bool:
    """Whether hardly any decisions were calibrated far from the median."""
    weights = {m: t.decisions or 1 for m, t in measured.items()}
    away = sum(
        weight
        for machine, weight in weights.items()
        if not usual / TOLERANCE <= machine.calibration_us <= usual * TOLERANCE
    )
    return away <= OUTLIERS * sum(weights.values())
