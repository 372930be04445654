"""Decisions: the best agents under bounds on computation time (Bayesian RL benchmark, §3.2)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from math import ceil, comb, inf, log
from typing import Any

import numpy as np

from omnimeter.contract import InvalidInputError
from omnimeter.contract.errors import UnknownNameError
from omnimeter.estimation import Estimate, mean, paired_difference, paired_z, stratified_test
from omnimeter.protocols.times import Feature, feature
from omnimeter.reports.comparisons import ERROR_RATE, Comparison, Verdict, verdict_of
from omnimeter.reports.settings import INSTANT, Setting, on_one_machine, time_text
from omnimeter.reports.tables import Cell, Table, finite, published_cell
from omnimeter.reports.text import (
    MISSING,
    counted,
    decimals,
    interval,
    listed,
    number,
    p_value,
    printable,
)

CRITICAL: Mapping[str, float] = {"z-one-sided": 1.645, "z-two-sided": 1.96}
"""Above which Z a difference is significant: in Appendix C, and in the authors' library."""

SIMULTANEOUS = "simultaneous"
TESTS = (SIMULTANEOUS, *CRITICAL)
"""How an agent is shown to be worse than the best one: by an interval of the difference that holds
for all pairs of algorithms at once, or by a paired Z-test."""

LEAST_PAIRS = 30
"""The fewest MDPs on which Appendix C admits a Z-test."""

LEAST_HELD_OUT = 60
"""From so many MDPs on, settings are chosen on one half of them and tested on the other."""

ROUNDING = 1e-9
"""Relative differences of times up to this are rounding errors."""


@dataclass(frozen=True)
class Candidate:
    """The chosen setting of one algorithm, tested against the best.

    Attributes:
        setting: The setting.
        among: Out of how many settings of the algorithm it was chosen.
        score: Its mean return on the MDPs of the test, with its 95 % interval.
        selected: Its mean return on the MDPs on which it was chosen.
        comparison: How far it is from the best, with simultaneous intervals; ``None`` for the best.
        z: Z of the best against it; ``None`` for the best, and below 30 MDPs.
        worse: Whether each test shows it to be worse than the best; ``None`` where it cannot say.
        best: Whether the test of the decision does not show that.
        offline: Its offline time, as the decision counts it.
        online: Its online time per decision, as the decision counts it.
    """

    setting: Setting
    among: int
    score: Estimate
    selected: float
    comparison: Comparison | None
    z: float | None
    worse: Mapping[str, bool | None]
    best: bool
    offline: float | None
    online: float | None


@dataclass(frozen=True)
class Decision:
    """Which agents are best under two bounds.

    Attributes:
        problem: What the problem is called.
        offline_bound: K1 in seconds; infinite without one.
        online_bound: K2 in seconds; infinite without one.
        features: What is bounded, in words: offline and online.
        test: The test that decides (``TESTS``).
        candidates: The chosen setting of each algorithm, the best first.
        discarded: Why each of the other settings was not considered.
        mdps: The number of MDPs of the test.
        held_out: Whether settings were chosen on other MDPs than those of the test.
        remarks: What one must know to read it.
    """

    problem: str
    offline_bound: float
    online_bound: float
    features: tuple[str, str]
    test: str
    candidates: tuple[Candidate, ...]
    discarded: tuple[tuple[Setting, str], ...]
    mdps: int
    held_out: bool
    remarks: tuple[str, ...]

    @property
    def best(self) -> list[Setting]:
        """The settings that are not shown to be worse than the best, the best first."""
        return [each.setting for each in self.candidates if each.best]

    @property
    def bounds(self) -> str:
        """The bounds in words; empty without any."""
        pairs = zip(self.features, (self.offline_bound, self.online_bound), strict=True)
        return " and ".join(f"{name} ≤ {time_text(k)}" for name, k in pairs if k < inf)

    @property
    def sentence(self) -> str:
        """The decision in a sentence or two."""
        where = f"Under {self.bounds}, " if self.bounds else "Without bounds, "
        if not self.candidates:
            if all(setting.faults for setting, _ in self.discarded):
                return f"{where}no setting is left: all had faults of their own."
            return f"{where}no setting is left."
        first, *others = [each.label for each in self.best]
        tested = f"{counted(self.mdps, 'held-out MDP' if self.held_out else 'MDP')}"
        among = max(each.among for each in self.candidates)
        if len(self.candidates) == 1:  # nothing is tested
            how = "is the only setting"
            if among > 1:
                how = f"has the highest mean of {among} settings of the only algorithm"
            return f"{where}{first} {how} ({tested})."
        if others:
            are = "is" if len(others) == 1 else "are"
            how = f"has the highest mean; {listed(others)} {are} not shown to be worse"
        else:
            best = ", each with its best setting" if among > 1 else ""
            how = f"is the best of {len(self.candidates)} algorithms{best}"
        return f"{where}{first} {how} ({test_in_words(self.test)}, {tested})."


def test_in_words(test: str) -> str:
    """By what an algorithm is shown to be worse."""
    return "by simultaneous 95 % intervals" if test == SIMULTANEOUS else f"by the {test} test"


def best_under(
    settings: Sequence[Setting],
    offline_bound: float = inf,
    online_bound: float = inf,
    *,
    test: str = SIMULTANEOUS,
    held_out: bool | None = None,
    mix: bool = False,
    offline: str | Feature = "offline",
    online: str | Feature = "mean",
) -> Decision:
    """Decide which agents are best under bounds K1 and K2 on their computation times (§3.2).

    (i) Settings that take longer are discarded; (ii) of each algorithm the setting with the highest
    mean is chosen; (iii) the best are those that are not shown to be worse than the best of them.
    All of them are tested, not only until the first that is worse.

    The highest of many means is too high, even if all settings are equal (winner's curse). So,
    where some algorithm has several settings, they are chosen on the even-numbered MDPs and tested
    on the odd-numbered ones, if there are 60 or more.

    Args:
        settings: Settings of one problem, of whichever evaluations, on the same MDPs.
        offline_bound: K1, in seconds.
        online_bound: K2, in seconds per decision.
        test: ``simultaneous``, ``z-one-sided`` (1.645, Appendix C) or ``z-two-sided`` (1.96).
        held_out: Whether settings are chosen on other MDPs than they are tested on; by default if
            there are 60 MDPs or more.
        mix: Whether times that were measured on different machines are scaled and mixed.
        offline: What K1 bounds: the name of a feature, or a function of ``Times``.
        online: What K2 bounds, likewise.

    Raises:
        InvalidInputError: The settings are not of one problem, their machines differ, a bound is
            negative, or there are too few MDPs for the test.
    """
    return _Study(settings, test, held_out, mix, offline, online).decide(
        offline_bound, online_bound
    )


class _Study:
    """Settings whose times can be compared, and how decisions about them are made."""

    def __init__(
        self,
        settings: Sequence[Setting],
        test: str,
        held_out: bool | None,
        mix: bool,
        offline: str | Feature,
        online: str | Feature,
    ) -> None:
        if not settings:
            raise InvalidInputError("There are no settings.", "Give at least one.")
        if test not in TESTS:
            raise UnknownNameError("test", test, TESTS)
        for name, values in (
            ("problems", {each.problem for each in settings}),
            ("sets of MDPs", {each.draw for each in settings}),
        ):
            if len(values) > 1:
                raise InvalidInputError(
                    f"These settings are of {len(values)} {name}.",
                    "Decide problem by problem, for evaluations with the same seed and budget.",
                )
        for label, count in Counter(each.label for each in settings).items():
            if count > 1:
                raise InvalidInputError(f"The setting {label} is given twice.", "Give it once.")
        self.settings, self.machines = on_one_machine(settings, mix=mix)
        self.test, self.held_out = test, held_out
        named = feature(offline), feature(online)
        self.features = named[0][0], named[1][0]
        self.times = [tuple(phi(each.times) for _, phi in named) for each in self.settings]
        self._chosen: dict[tuple[int, ...], tuple[Any, ...]] = {}

    def decide(self, offline_bound: float, online_bound: float) -> Decision:
        bounds = offline_bound, online_bound
        if not all(bound >= 0 for bound in bounds):
            raise InvalidInputError(
                f"The bounds are {offline_bound} and {online_bound} seconds.",
                "Give times of 0 or more.",
            )
        admitted, discarded = [], []
        for place, setting in enumerate(self.settings):
            reason = ""
            if setting.faults or not setting.returns:
                faults = f"{counted(setting.faults, 'fault')} of its own"
                reason = faults if setting.faults else "no trajectory"
            elif setting.privileged:
                reason = f"view {setting.privileged}, which tells what others have to find out"
            for name, time, bound in zip(self.features, self.times[place], bounds, strict=True):
                if time is None and bound < inf:
                    reason = reason or f"{name} not known"
                elif time is not None and time > bound * (1 + ROUNDING):
                    reason = reason or f"{name} above the bound"
            if reason:
                discarded.append((setting, reason))
            else:
                admitted.append(place)
        # Many bounds admit the same settings.
        key = tuple(admitted)
        if key not in self._chosen:
            self._chosen[key] = self._candidates(admitted)
        candidates, mdps, held_out, remarks = self._chosen[key]
        remarks = [*remarks, *([self.machines] if self.machines else [])]
        if not candidates:
            shortest = [
                f"{name} {time_text(min(known))}"
                for name, times in zip(self.features, zip(*self.times, strict=True), strict=True)
                if (known := [time for time in times if time is not None])
            ]
            remarks.append(f"The shortest of all settings: {', '.join(shortest) or 'not known'}.")
        return Decision(
            self.settings[0].problem,
            *bounds,
            self.features,
            self.test,
            candidates,
            tuple(discarded),
            mdps,
            held_out,
            tuple(remarks),
        )

    def _halves(self, admitted: Sequence[int], several: bool) -> tuple[Any, ...]:
        """The MDPs for choosing and for testing, whether they differ, and what to say of it.

        Args:
            admitted: The places of the settings within the bounds.
            several: Whether some algorithm has several of them.
        """
        returns = [self.settings[place].returns for place in admitted]
        common = sorted(set.intersection(*map(set, returns)))
        most = max(map(len, returns))
        if len(common) < 2:
            raise InvalidInputError(
                f"These settings have {counted(len(common), 'MDP')} in common.",
                "Let all of them play at least two of the same MDPs.",
            )
        remarks = []
        if len(common) < most:
            remarks.append(
                f"Only the {len(common)} of {most} MDPs count that all settings have finished."
            )
        enough = len(common) >= LEAST_HELD_OUT
        held_out = several and enough if self.held_out is None else self.held_out
        if held_out:
            choosing, testing = ([n for n in common if n % 2 == odd] for odd in (0, 1))
            if min(len(choosing), len(testing)) < 2:
                raise InvalidInputError(
                    f"{counted(len(common), 'MDP')} cannot be divided into two halves.",
                    "Play more MDPs, or use all of them for both (--all-mdps, held_out=False).",
                )
            remarks.append(
                f"The setting of each algorithm was chosen on {len(choosing)} even-numbered MDPs "
                f"and tested on {len(testing)} odd-numbered ones."
            )
            return choosing, testing, True, remarks
        if several:
            later = f" From {LEAST_HELD_OUT} MDPs on, some are held out by default."
            remarks.append(
                "The setting of an algorithm was chosen by the same MDPs as it is tested on, so "
                "the score of the best of many settings is too high, and that of an algorithm with "
                f"more settings the more so (winner's curse).{'' if enough else later}"
            )
        return common, common, False, remarks

    def _candidates(self, admitted: Sequence[int]) -> tuple[Any, ...]:
        """The chosen setting of each algorithm, tested; how many MDPs, held out or not; remarks."""
        if not admitted:
            return (), 0, False, []
        among = Counter(self.settings[place].algorithm for place in admitted)
        choosing, testing, held_out, remarks = self._halves(admitted, max(among.values()) > 1)
        chosen: dict[str, tuple[float, int]] = {}
        for place in admitted:
            setting = self.settings[place]
            value = float(np.mean([setting.returns[n] for n in choosing]))
            if setting.algorithm not in chosen or value > chosen[setting.algorithm][0]:
                chosen[setting.algorithm] = value, place
        samples = {
            place: [self.settings[place].returns[n] for n in testing]
            for _, place in chosen.values()
        }
        selected = {place: value for value, place in chosen.values()}
        ranked = sorted(samples, key=lambda place: -float(np.mean(samples[place])))
        if len(testing) < LEAST_PAIRS and len(ranked) > 1:
            few = f"A Z-test needs {LEAST_PAIRS} MDPs (Appendix C); there are {len(testing)}."
            if self.test in CRITICAL:
                raise InvalidInputError(
                    few, f"Play more, or use the test {SIMULTANEOUS}, or all MDPs for both."
                )
            remarks.append(few)
        tested = []
        for place in ranked:
            setting = self.settings[place]
            comparison, z = None, None
            worse: dict[str, bool | None] = dict.fromkeys(TESTS, False)
            if place != ranked[0]:
                both = samples[place], samples[ranked[0]]
                comparison = self._compared(place, ranked[0], *both, comb(len(ranked), 2))
                worse[SIMULTANEOUS] = comparison.verdict is Verdict.WORSE
                z = paired_z(*reversed(both)) if len(testing) >= LEAST_PAIRS else None
                worse |= {
                    name: None if z is None else z >= limit for name, limit in CRITICAL.items()
                }
            tested.append(
                Candidate(
                    setting,
                    among[setting.algorithm],
                    mean(samples[place], support=setting.support),
                    selected[place],
                    comparison,
                    z,
                    worse,
                    not worse[self.test],
                    *self.times[place],
                )
            )
        return tuple(tested), len(testing), held_out, remarks

    def _compared(
        self, place: int, best: int, ours: list[float], theirs: list[float], pairs: int
    ) -> Comparison:
        """A setting against the best, with an interval that holds for so many pairs at once."""
        setting, reference = self.settings[place], self.settings[best]
        support = None
        if setting.support and reference.support:  # of evaluations that may differ
            (low, high), (lowest, highest) = setting.support, reference.support
            support = min(low, lowest), max(high, highest)
        estimate = paired_difference(ours, theirs, 1 - ERROR_RATE / pairs, support)
        p_value = min(1.0, pairs * stratified_test([ours], [theirs], support))
        return Comparison(
            setting.agent,
            reference.agent,
            estimate.value,
            estimate.low,
            estimate.high,
            len(ours),
            p_value,
            verdict_of(estimate.low, estimate.high),
            "MDP",
            pairs,
            estimate.bounded,
        )


@dataclass(frozen=True)
class BoundsGrid:
    """The best algorithms under each pair of bounds (figure 8 of the paper).

    Attributes:
        offline: The bounds K1, in seconds, ascending.
        online: The bounds K2, in seconds per decision, ascending.
        best: The algorithms that are not shown to be worse than the best, the best first, by the
            place of K2 and the place of K1.
        features: What is bounded, in words: offline and online.
        test: The test that decides.
        remarks: What one must know to read it.
    """

    problem: str
    offline: tuple[float, ...]
    online: tuple[float, ...]
    best: tuple[tuple[tuple[str, ...], ...], ...]
    features: tuple[str, str]
    test: str
    remarks: tuple[str, ...]


def bounds_grid(
    settings: Sequence[Setting],
    factor: float = 5.0,
    *,
    test: str = SIMULTANEOUS,
    held_out: bool | None = None,
    mix: bool = False,
    offline: str | Feature = "offline",
    online: str | Feature = "mean",
) -> BoundsGrid:
    """The best algorithms under bounds from the shortest to the longest time of any setting.

    Each bound is ``factor`` times the one before; those of the authors' library are on trajectories
    of 250 decisions, ours on a single decision. Offline times of up to 1 ms are not told apart:
    those of agents without an offline phase differ by what is measured around nothing. Other
    arguments are those of ``best_under``.

    Raises:
        InvalidInputError: As ``best_under``, the factor is not above 1, or no time is known.
    """
    if not factor > 1:
        raise InvalidInputError(f"The factor between bounds is {factor}.", "Give one above 1.")
    study = _Study(settings, test, held_out, mix, offline, online)
    columns, rows = (
        _bounds([max(time, least) for time in each if time is not None], factor)
        for least, each in zip((INSTANT, 0.0), zip(*study.times, strict=True), strict=True)
    )
    if not (columns and rows):
        raise InvalidInputError(
            "No setting has computation times.", "Run the settings with measured decisions."
        )
    decisions = [[study.decide(column, row) for column in columns] for row in rows]
    best = tuple(
        tuple(tuple(each.algorithm for each in decision.best) for decision in line)
        for line in decisions
    )
    remarks = dict.fromkeys(decisions[-1][-1].remarks)
    return BoundsGrid(
        study.settings[0].problem, columns, rows, best, study.features, test, tuple(remarks)
    )


def _bounds(times: Sequence[float], factor: float) -> tuple[float, ...]:
    """Powers of the factor in microseconds: the first that admit the shortest and longest time."""
    if not any(time > 0 for time in times):
        return (0.0,) if times else ()
    low, high = (
        ceil(log(time / 1e-6) / log(factor) - ROUNDING)
        for time in (min(time for time in times if time > 0), max(times))
    )
    return tuple(1e-6 * factor**power for power in range(low, high + 1))


def decision_table(decision: Decision) -> Table:
    """The chosen setting of each algorithm with its times, and how far it is from the best."""
    candidates = decision.candidates
    places = decimals(n for each in candidates for n in (each.score.low, each.score.high))
    published = any(each.setting.published for each in candidates)
    rows = []
    for each in candidates:
        score, its = each.score, each.comparison
        ends = interval(score.low, score.high, places)
        times = map(time_text, (each.offline, each.online))
        difference = Cell("", {"difference": None})
        if its is not None:
            text = number(its.difference, places, signed=True)
            text += f"\n{interval(its.low, its.high, places, signed=True)}\n{p_value(its.p_value)}"
            data = {"difference": its.difference, "difference_low": its.low}
            difference = Cell(text, {**data, "difference_high": its.high, "p_value": its.p_value})
        shown = [name for name in TESTS if each.worse[name]]
        verdict = "best" if its is None else "among the best" if each.best else "worse"
        rows.append(
            (
                Cell(
                    f"{each.setting.algorithm}\n{each.setting.parameters}".strip(),
                    {"agent": printable(each.setting.label)},
                ),
                Cell(str(each.among), {"settings": each.among}),
                Cell(
                    f"{number(score.value, places)}\n{ends}",
                    {"score": score.value, "low": score.low, "high": score.high},
                ),
                Cell("\n".join(times), {"offline_s": each.offline, "online_s": each.online}),
                difference,
                Cell(MISSING if each.z is None else number(each.z, 2), {"z": each.z}),
                Cell(
                    "all tests" if len(shown) == len(TESTS) else "\n".join(shown) or "none",
                    {name: each.worse[name] for name in TESTS},
                ),
                Cell(verdict, {"best": each.best}, "strong" if each.best else "dim"),
                *[published_cell(each.setting)] * published,
            )
        )
    headings = (
        "Agent",
        "Of",
        "Score\n95 % interval",
        "Offline\nper decision",
        "Difference\nsimultaneous 95 %\np",
        "Z",
        "Worse by",
        "Verdict",
        *["Published"] * published,
    )
    return Table(headings, tuple(rows))


def decision_json(decision: Decision) -> dict[str, Any]:
    """A decision for a program; times are in seconds."""
    records = [
        dict(chain.from_iterable(cell.data.items() for cell in row))
        for row in decision_table(decision).rows
    ]
    data: dict[str, Any] = {
        "problem": decision.problem,
        "offline_bound": decision.offline_bound,
        "online_bound": decision.online_bound,
        "features": list(decision.features),
        "test": decision.test,
        "mdps": decision.mdps,
        "held_out": decision.held_out,
        "best": [each.label for each in decision.best],
        "candidates": records,
        "discarded": [
            {"agent": each.label, "reason": reason} for each, reason in decision.discarded
        ],
        "remarks": list(decision.remarks),
    }
    result: dict[str, Any] = finite(data)
    return result
