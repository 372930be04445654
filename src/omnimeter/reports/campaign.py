"""The scores of a campaign: its evaluations, and each agent in each test over all seeds."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field, replace
from math import isclose
from pathlib import Path
from statistics import fmean
from typing import TYPE_CHECKING, NamedTuple

from omnimeter.catalogue import files_in, without_consent
from omnimeter.contract import Outcomes, Score, Spec
from omnimeter.contract.errors import StoreError
from omnimeter.contract.spec import JsonData
from omnimeter.estimation import (
    Estimate,
    combined_mean,
    stratified_mean,
)
from omnimeter.protocols import Evaluation, Result, summarise
from omnimeter.reports.comparisons import (
    ERROR_RATE,
    Samples,
    samples_of,
    strata_of,
    support_of,
    watched_over,
)
from omnimeter.reports.scores import (
    Eligibility,
    eligibility_of,
    eligibility_over,
)
from omnimeter.results import files

if TYPE_CHECKING:
    from omnimeter.results import Record

STRATIFIED = 20
"""Values of all seeds from which on their spread makes the interval, as it makes differences'."""


@dataclass(frozen=True)
class Member:
    """An evaluation of a campaign.

    Attributes:
        name: Its name, which is that of its directory.
        path: Its directory, which there need not be yet.
        evaluation: What is evaluated.
        test: The test with its point in the grid.
        environment_class: The label of the class; empty where there is none or are several.
        expected: How many exercises each agent takes, where that is known beforehand.
        damaged: Where damaged files are noted, which are left out.
        folder: Where relative names of files begin.
    """

    name: str
    path: Path
    evaluation: Evaluation
    test: str
    environment_class: str = ""
    expected: int | None = None
    damaged: dict[Path, StoreError] = field(default_factory=dict)
    folder: str = ""

    @property
    def needs_seed(self) -> bool:
        """Whether its seed was drawn, and is not in the plan."""
        with files_in(self.folder):
            return self.evaluation.needs_seed

    @property
    def group(self) -> tuple[str, str]:
        """What it has in common with the evaluations of the same test under other seeds."""
        return self.test, self.environment_class


@dataclass(frozen=True)
class CampaignScore(JsonData):
    """The score of an agent in a test, over all seeds.

    Attributes:
        test: The test with its point in the grid.
        environment_class: The label of the class; empty where there is none or are several.
        agent: The label of the agent.
        value: The mean of the scores under each seed.
        low: The lower end of its 95 % interval. Until it is complete this one holds at every
            moment, whatever is the reason for stopping there.
        high: The upper end.
        evaluations: Of how many evaluations, one for each seed.
        expected: How many there are in the plan.
        exercises: Exercises with a payoff.
        faults: How many exercises ended in faults, by their kinds.
        complete: Whether all these evaluations are complete.
        own_faults: How many exercises ended in faults of its own, for which it is ranked last.
        privileged: The view by which it was told what others have to find out, if it was.
        bounded: Whether the interval only rests on the possible payoffs (``Estimate.bounded``).
        extended: The numbers of exercises that the test had before it was extended. Where payoffs
            are bounded, the interval holds at every number.
    """

    test: str
    environment_class: str
    agent: str
    value: float | None
    low: float | None
    high: float | None
    evaluations: int
    expected: int
    exercises: int
    faults: Mapping[str, int] = field(default_factory=dict)
    complete: bool = True
    own_faults: int = 0
    privileged: str = ""
    bounded: bool = False
    extended: tuple[int, ...] = ()

    @property
    def eligibility(self) -> Eligibility:
        """Whether it is ranked with the others."""
        return Eligibility(self.own_faults, privileged=self.privileged)


class Scored(NamedTuple):
    """How an agent did under one seed; with neither score nor samples if that has not begun."""

    score: Score | None = None
    eligibility: Eligibility = Eligibility()
    complete: bool = False
    samples: Samples | None = None


def campaign_scores(members: Sequence[Member], *, trust: bool = False) -> list[CampaignScore]:
    """The score of each agent in each test, over all seeds, with its 95 % interval.

    Args:
        members: The evaluations of a campaign.
        trust: Import code that their tests name.

    Raises:
        StoreError: An evaluation is damaged.
        InvalidInputError: Code is named that is not trusted.
    """
    scored: dict[tuple[str, str], dict[Spec, list[Scored]]] = {}
    for member in members:
        with read_member(member, trust=trust) as opened:
            add_scores(scored.setdefault(member.group, {}), member, opened)
    rows = ((group, *row) for group, own in scored.items() for row in own.items())
    return [combined_score(*row) for row in rows]


def add_scores(
    scored: dict[Spec, list[Scored]], member: Member, opened: tuple[Record, Result] | None
) -> None:
    """Add how each agent of an evaluation did."""
    result = None if opened is None else opened[1]
    for agent in member.evaluation.agents:
        own = Scored()
        if result is not None:
            eligibility = eligibility_of(result.outcomes.get(agent, Outcomes()))
            score = result.scores.get(agent)
            own = Scored(score, eligibility, result.complete, samples_of(result))
        scored.setdefault(agent, []).append(own)


@contextmanager
def read_member(member: Member, *, trust: bool) -> Iterator[tuple[Record, Result] | None]:
    """A stored evaluation and what it says; ``None`` if it has not begun, or cannot be read."""
    from omnimeter.results import Record

    begun = files.Layout(member.path).has_begun
    record = Record.intact(member.path, member.damaged) if begun else None
    if record is None:
        yield None
        return
    evaluation = Evaluation.from_json(record.spec).with_seed(record.seed)
    consent = nullcontext() if trust else without_consent(str(record.path), record.spec)
    with consent, files_in(member.folder):
        result = summarise(evaluation, record.outcomes())
        # One that was drawn is secret until the evaluation is complete.
        given = member.evaluation.protocol.parameters.get("seed")
        seed = record.seed if given is None and result.complete else given
        yield record, replace(result, seed=seed)


def combined_score(group: tuple[str, str], agent: Spec, scored: Sequence[Scored]) -> CampaignScore:
    """The scores of an agent under each seed as one."""
    scores = [each.score for each in scored if each.score is not None]
    eligibility = eligibility_over(each.eligibility for each in scored)
    complete = all(each.complete for each in scored)
    values = [score.value for score in scores if score.value is not None]
    low, high, bounded = None, None, False
    seeds = [each.samples for each in scored if each.samples is not None]
    extended = {size for each in seeds for size in each.design.extended}
    ends = None
    if (not complete or extended) and values and eligibility.is_sound:
        ends = watched_over(seeds, (agent,), 1 - ERROR_RATE, len(scored))
    if ends or not complete:
        low, high = ends or (None, None)
    # An interval only where every value has one, and where no seed lost its value by faults, which
    # may have hidden anything; all values count in the mean.
    elif complete and not any(score.value is None and score.faults for score in scores):
        known = [
            Estimate(s.value, *s.interval[:3], s.count, bounded=s.interval.bounded)
            for s in scores
            if s.value is not None and s.interval is not None
        ]
        if known and len(known) == len(values):
            whole = _over_strata(agent, seeds, scores) or combined_mean(known)
            low, high, bounded = whole.low, whole.high, whole.bounded
    faults = Counter[str]()
    for score in scores:
        faults.update(score.faults)
    value = fmean(values) if values else None
    return CampaignScore(
        *(*group, agent.label),
        value=value,
        low=low if low is None or value is None else min(low, value),
        high=high if high is None or value is None else max(high, value),
        evaluations=len(values),
        expected=len(scored),
        exercises=sum(score.count for score in scores),
        faults=dict(faults),
        complete=complete,
        own_faults=eligibility.own_faults,
        privileged=eligibility.privileged,
        bounded=bounded,
        extended=tuple(sorted(extended)),
    )


def _over_strata(agent: Spec, seeds: Sequence[Samples], scores: Sequence[Score]) -> Estimate | None:
    """The mean over seeds as that of strata; ``None`` where the interval of each has to count.

    That is so where faults, a precision or an extension made it, where there is but one, and where
    the scores are no means of the values. Of fewer than ``STRATIFIED`` values too: if few of them
    are far from the rest, most seeds do not show it.
    """
    if len(seeds) < 2 or any(score.faults for score in scores):
        return None
    if any(each.design.sequential for each in seeds):
        return None
    strata, _ = strata_of(seeds, agent, agent)
    if sum(map(len, strata)) < STRATIFIED:
        return None
    whole = stratified_mean(strata, support=support_of(seeds))
    value = fmean(score.value for score in scores if score.value is not None)
    return whole if isclose(whole.value, value, rel_tol=1e-9, abs_tol=1e-12) else None
