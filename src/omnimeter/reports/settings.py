"""Settings as data: an algorithm with its parameters on a problem, its returns and its times.

Computation times are comparable on one machine only (Bayesian RL benchmark, §3.2).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from math import sqrt

import numpy as np

from omnimeter.contract import InvalidInputError, Outcome, Spec
from omnimeter.contract.agent import FloatArray, IntArray
from omnimeter.contract.spec import fingerprint
from omnimeter.estimation import Estimate, Support, mean
from omnimeter.protocols import Result
from omnimeter.protocols.times import Machine, Times, measured_times
from omnimeter.reports.scores import Eligibility, privileged_view, unit_values
from omnimeter.reports.text import MISSING, counted, duration, grouped, listed

TOLERANCE = 1.2
"""Calibrations that differ by more than this factor are those of different machines."""

OUTLIERS = 0.1
"""The share of decisions that may have been calibrated otherwise, on a machine that others use."""

INSTANT = 1e-3
"""An offline phase of up to so many seconds is almost instantaneous (table 1 of the paper)."""


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
        privileged: The view by which the agent was told what others have to find out, if it was.
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
    privileged: str = ""

    def __post_init__(self) -> None:
        if not self.algorithm:
            object.__setattr__(self, "algorithm", self.agent.id)

    @property
    def label(self) -> str:
        """The agent as a person writes it."""
        return self.agent.label

    @property
    def eligibility(self) -> Eligibility:
        """Whether it is ranked with the others, and the mark that says why it is not."""
        return Eligibility(self.faults, privileged=self.privileged)

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
        numbers, values = unit_values(result, agent)
        first = outcomes[0].exercise if outcomes else None
        settings.append(
            Setting(
                problem or (_problem(outcomes[0]) if outcomes else ""),
                agent,
                _mean_returns(numbers % mdps if mdps else numbers, values),
                measured_times(outcomes),
                support=result.support,
                faults=int(outcomes.own_faults.sum()),
                privileged=privileged_view(outcomes),
                draw=fingerprint(
                    [
                        first.environment_class.to_json(),
                        (first.preparation or first).seed,  # that of an exercise may be for noise
                        first.budget.to_json(),
                    ]
                )
                if first
                else "",
            )
        )
    return settings


def _mean_returns(mdps: IntArray, returns: FloatArray) -> dict[int, float]:
    """The mean return in each MDP, in the order of their numbers."""
    known, places, counts = np.unique(mdps, return_inverse=True, return_counts=True)
    means = np.bincount(places, weights=returns) / counts
    return dict(zip(known.tolist(), means.tolist(), strict=True))


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
