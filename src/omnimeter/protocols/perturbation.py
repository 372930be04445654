"""The perturbation protocol: something changes in an exercise; what is lost, and when regained.

Perturbation tolerance is how quickly an agent re-establishes its performance after a change in the
world or in itself. Here the change is abrupt, at a known interaction, and no agent is told.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from math import inf, isfinite
from statistics import fmean
from typing import Any, Literal, NamedTuple

import numpy as np

from omnimeter.catalogue import Kind, given_spec, make
from omnimeter.contract import (
    Budget,
    EnvironmentClass,
    InvalidInputError,
    Outcome,
    Outcomes,
    Payoff,
    Score,
    Spec,
    Trace,
    stream,
)
from omnimeter.contract.agent import FloatArray
from omnimeter.contract.errors import check_count
from omnimeter.contract.protocol import Design, Metric
from omnimeter.payoffs import LaterAverage
from omnimeter.protocols.sample import (
    FIRST_BLOCK,
    FixedProtocol,
    Planned,
    Proposed,
    SpecLike,
    Units,
    draw,
    mean_score,
)

METRICS = (
    Metric("before", "before", "The mean reward just before the change, over a window."),
    Metric("loss", "loss", "By how much the mean reward is lower over the window just after it."),
    Metric("final", "at the end", "The mean reward over the last window."),
    Metric(
        "recovered",
        "recovered",
        "In how many exercises the level was regained, or nothing was lost.",
        "percent",
    ),
    Metric(
        "recovery",
        "recovery time",
        "Interactions from the change until the level was regained: the median of all exercises. "
        "It is not known where half of them or more did not recover.",
        "amount",
    ),
)

ROUNDING = 1e-9
"""The part of a level that may be rounding."""

GROUPS = 4
"""So many degrees of perturbation of one class have rows of their own; more are put together."""


class Levels(NamedTuple):
    """The performance of one exercise before and after the change.

    Attributes:
        before: The mean reward over the last window before the change.
        after: That over the first window after it.
        final: That over the last window.
        recovery: The interactions after the change at the end of the first window in which the
            level is regained; 0 if nothing has to be, ``None`` if it never is.
    """

    before: float
    after: float
    final: float
    recovery: int | None


def levels(
    rewards: FloatArray,
    at: int,
    window: int,
    share: float = 0.9,
    reference: Literal["before", "end"] = "before",
) -> Levels:
    """What a change does to the rewards of an exercise.

    Args:
        rewards: The reward of every interaction.
        at: After how many interactions the change happens.
        window: Over how many interactions rewards are averaged.
        share: The level is regained when this share of the way from the level after the change to
            the level of reference has been made up.
        reference: The level ``before`` the change, or that at the ``end``.
    """
    before = fmean(rewards[at - window : at])
    sums = np.concatenate(([0.0], np.cumsum(rewards[at:])))
    running = (sums[window:] - sums[:-window]) / window
    after, final = float(running[0]), float(running[-1])
    goal = before if reference == "before" else final
    recovery: int | None = None
    if min(before, goal) <= after + ROUNDING * max(abs(before), abs(after)):
        recovery = 0
    else:
        reached = np.flatnonzero(running >= after + share * (goal - after))
        recovery = window + int(reached[0]) if len(reached) else None
    return Levels(before, after, final, recovery)


@dataclass(frozen=True)
class _AfterChange(LaterAverage):
    """The payoff, which keeps the levels with the outcome."""

    window: int = 1
    share: float = 0.9
    reference: Literal["before", "end"] = "before"

    def remarks(self, trace: Trace) -> dict[str, Any]:
        """The levels of a trace, for ``Outcome.remarks``."""
        rewards = self.rewards(trace)
        measured = levels(rewards, self.after, self.window, self.share, self.reference)
        return {"levels": measured._asdict()}


class Perturbation(FixedProtocol):
    """Something changes in the middle of every exercise, and no agent is told.

    Either the environment turns into another one (``then``, or the class ``switch``), or something
    happens to the agents themselves (``perturbed``). The score is the mean reward per interaction
    after the change. Interactions that an agent does not perform count as the lowest possible
    reward, so that stopping after a change gains nothing. Beside it are the level before the
    change, what is lost just after it, the level at the end and how long it takes to recover, all
    of them by the degree of the perturbation too: the number of propositions by which a square
    differs in both environments (overlay difference, equation 3, over the size), where both can be
    seen as overlays, and else the name of the second class.

    Args:
        environment_class: The class of the environments at the beginning.
        then: The class of those that they turn into; of several, each in turn. By default the
            environment does not change.
        at: The number of interactions before the change.
        exercises: How many exercises each agent takes; 20 by default.
        interactions: The length of an exercise; by default it goes on after the change for as long
            as before.
        window: Over how many interactions levels are averaged; by default a tenth of the shorter
            of both phases.
        share: The level is regained when this share of what was lost has been made up.
        reference: What is to be regained: the level ``before`` the change, or that at the ``end``,
            for environments that cannot be as good as those before.
        seed: The root of all randomness.
    """

    grows = "exercises"

    def __init__(
        self,
        environment_class: SpecLike,
        then: SpecLike | list[SpecLike] | None = None,
        at: int = 1000,
        exercises: int | None = None,
        interactions: int | None = None,
        window: int | None = None,
        share: float = 0.9,
        reference: Literal["before", "end"] = "before",
        seed: int = 0,
    ) -> None:
        self.exercises = FIRST_BLOCK if exercises is None else exercises
        length = 2 * at if interactions is None else interactions
        shorter = min(at, length - at)
        self.window = max(1, shorter // 10) if window is None else window
        check_count(self.exercises, "exercises")
        for valid, problem, advice in (
            (at >= 1, f"There cannot be {at} interactions before the change.", "Give 1 or more."),
            (
                length > at,
                f"The change after {at} interactions is not within the {length} of an exercise.",
                "Give more interactions, or an earlier change.",
            ),
            (
                1 <= self.window <= max(shorter, 1),
                f"A window of {window} interactions does not fit into both phases.",
                f"Give a number from 1 to {shorter}.",
            ),
            (0 < share <= 1, f"The share is {share}.", "Give a number above 0, at most 1."),
        ):
            if not valid:
                raise InvalidInputError(problem, advice)
        self.at, self.share, self.reference = at, share, reference
        self.budget = Budget(interactions=length)
        spec = given_spec(Kind.ENVIRONMENT, environment_class)
        _check_moment(spec, at)
        seconds = then if isinstance(then, list) else [then]
        self.specs = [spec if each is None else _switch(spec, each, at) for each in seconds]
        self.parts = len(self.specs)
        super().__init__({"id": "later-average-v1", "parameters": {"after": at}}, seed)
        self.check_payoff(self.budget)

    def payoff(self) -> Payoff:
        """The mean reward after the change."""
        return _AfterChange(self.at, self.window, self.share, self.reference)

    @cached_property
    def _made(self) -> list[EnvironmentClass]:
        """The class of each part of the test."""
        return [make(Kind.ENVIRONMENT, spec) for spec in self.specs]

    def classes(self) -> list[EnvironmentClass]:
        """The classes of the parts that come up."""
        return self._made[: self.exercises]

    def plan_exercise(self, number: int) -> Planned:
        """The exercise in the drawn environment of its number."""
        spec, made = self.specs[number % self.parts], self._made[number % self.parts]
        drawn = draw(made, spec, self.seed, number)
        return Planned(spec, made, drawn, self.budget, made.complexity(drawn))

    @cached_property
    def degrees(self) -> list[float | None]:
        """The degree of the perturbation in each exercise, where it is known."""
        degrees: list[float | None] = []
        for number, each in enumerate(map(self.planned, range(self.exercises))):
            difference = getattr(each.environment_class, "difference", None)
            rng = stream(self.seed, "overlay", number).generator()
            degrees.append(None if difference is None else difference(each.instance, rng))
        return degrees

    def propose(self, agent: Spec, outcomes: Sequence[Outcome]) -> Proposed:
        """All the exercises that the agent has not taken yet.

        Raises:
            InvalidInputError: The agent is perturbed at another moment.
        """
        _check_moment(agent, self.at)
        return super().propose(agent, outcomes)

    def score(self, outcomes: Sequence[Outcome]) -> Score:
        """The mean payoff with its 95 % interval, what was lost and regained, and the degrees."""
        outcomes = Outcomes.of(outcomes)
        score = super().score(outcomes)
        parts = {**score.parts, **summary(outcomes)}
        parts["degrees"] = []
        rows = np.full(self.exercises, -1)
        rows[outcomes.numbers] = np.arange(len(outcomes))
        for group, numbers in self.groups:
            own = outcomes.take(rows[numbers][rows[numbers] >= 0])
            part = mean_score(Units.of(own), 1, self.bounds(), own.fault_counts())
            if part.value is not None and part.interval is not None:
                values = {"count": part.count, "value": part.value, "interval": part.interval[:2]}
                parts["degrees"].append({**group, **summary(own), **values})
        return replace(score, parts=parts)

    @cached_property
    def groups(self) -> list[tuple[dict[str, Any], list[int]]]:
        """The exercises of each second class or, of a single one, of similar degrees."""
        degrees = self.degrees
        ordered = sorted({each for each in degrees if each is not None})
        if self.parts > 1 or None in degrees:
            names = self._seconds()
            parts = [list(range(k, self.exercises, self.parts)) for k in range(self.parts)]
        else:
            ranges = np.array_split(np.array(ordered), min(len(ordered), GROUPS))
            names = [""] * len(ranges)
            parts = [[k for k, each in enumerate(degrees) if each in own] for own in ranges]
        groups: list[tuple[dict[str, Any], list[int]]] = []
        for name, numbers in zip(names, parts, strict=True):
            known = [each for k in numbers if (each := degrees[k]) is not None]
            ends = [f"{end(known):.3g}" for end in (min, max) if known]
            label = f"{' to '.join(dict.fromkeys(ends))} {name}".strip()
            groups.append(
                ({"label": label, **({"degree": fmean(known)} if known else {})}, numbers)
            )
        return sorted(groups, key=lambda group: float(group[0].get("degree", inf)))

    def _seconds(self) -> list[str]:
        """What tells the second classes apart: their labels, or parameters of the same class."""
        seconds = [each.parameters.get("second", each.label) for each in self.specs]
        labels = [e if isinstance(e, str) else Spec.from_json(e).label for e in seconds]
        ids = {label.partition("(")[0] for label in labels}
        if len(ids) > 1 or len(set(labels)) == 1:
            return labels
        return [label.partition("(")[2].removesuffix(")") or "default" for label in labels]

    def settings(self) -> dict[str, str]:
        """The change, and how levels are measured."""
        level = "the level before" if self.reference == "before" else "the level at the end"
        return {
            "Change": f"after {self.at} interactions",
            "Levels": f"averages over {self.window} interactions",
            "Recovery": f"when {self.share:.0%} of the way to {level} is made up",
        }

    def describe(self) -> Design:
        """Independent exercises of the same length, with what is lost and regained."""
        return replace(
            super().describe(),
            length=self.budget.interactions,
            environments=self.specs[0].label if self.parts == 1 else "",
            metrics=METRICS,
        )


def _check_moment(spec: Spec, at: int) -> None:
    """Check that what changes by itself does so when the protocol expects it."""
    inner = spec.parameters.get("agent")
    if isinstance(inner, str | dict):
        _check_moment(given_spec(Kind.AGENT, inner), at)
    own = spec.parameters.get("at", at) if spec.id in ("switch-v1", "perturbed-v1") else at
    if own != at:
        message = f"{spec.label} changes after {own} interactions, not after {at}."
        raise InvalidInputError(message, f"Give {at} there, or another moment to the test.")


def _switch(first: Spec, second: SpecLike, at: int) -> Spec:
    """The spec of environments that turn into those of another class."""
    then = given_spec(Kind.ENVIRONMENT, second)
    ends = [each.to_json() if each.digest else each.label for each in (first, then)]
    return Spec("switch-v1", {"first": ends[0], "second": ends[1], "at": at})


def summary(outcomes: Outcomes) -> Mapping[str, float]:
    """What was lost and regained in some exercises; what is not known is left out.

    An exercise that ended in a fault of the agent's own has not recovered.
    """
    known = [
        Levels(**levels) for levels, rows in outcomes.remarks("levels") for _ in range(len(rows))
    ]
    if not known:
        return {}
    failed = int(outcomes.own_faults.sum())
    regained = [inf if each.recovery is None else each.recovery for each in known]
    times = sorted([*regained, *[inf] * failed])
    middle = (times[(len(times) - 1) // 2] + times[len(times) // 2]) / 2
    values = {
        "before": fmean(each.before for each in known),
        "loss": fmean(each.before - each.after for each in known),
        "final": fmean(each.final for each in known),
        "recovered": fmean(isfinite(each) for each in times),
    }
    return values | ({"recovery": middle} if isfinite(middle) else {})
