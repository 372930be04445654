"""The twelve features, each decided by running agents under the virtual clock.

Features 1 and 2 ask what a type of environments promises: they are decided on every example of the
type. The others ask how a payoff treats agents: they are decided on the type's own example.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from itertools import combinations

from omnimeter.reproductions.payoff_table.columns import EnvironmentType, Payoff
from omnimeter.reproductions.payoff_table.laboratory import payoffs
from omnimeter.statistics import Estimate, difference, mean, paired_difference

LEVEL = 0.999
"""Of every interval in a decision: with some hundred decisions, chance decides none of them."""

ROUNDING = 1e-12
"""What a difference between numbers of the size of rewards may come to by rounding."""

FELT = 0.02
"""A gain below this part of the distance between random and perfect is called none."""

LONG, RATE, TEMPTED = 1000.0, 10.0, 2000
"""The seconds, the actions per second and the runs with which policies are tempted to gain."""


@dataclass(frozen=True)
class Verdict:
    """Whether a payoff has a feature.

    Attributes:
        holds: Whether it has.
        evidence: The numbers that decided, for a reader.
    """

    holds: bool
    evidence: str


Feature = Callable[[EnvironmentType, Payoff], Verdict]


def central(kind: EnvironmentType, payoff: Payoff) -> Verdict:
    """1: random agents get 0 on average, at every rate and length."""
    estimates = [
        mean(payoffs(payoff, example, "random", tau, rate=rate), LEVEL)
        for example in kind.members
        for rate in (1, 10)
        for tau in (10, 100)
    ]
    farthest = max(estimates, key=lambda estimate: abs(estimate.value))
    return Verdict(
        all(estimate.low <= 0 <= estimate.high for estimate in estimates),
        f"random agents average up to {farthest.value:.3g}",
    )


def independent(kind: EnvironmentType, payoff: Payoff) -> Verdict:
    """2: a random agent's value is the same for every rate and length."""
    same, widest = True, 0.0
    for example in kind.members:
        samples = [
            payoffs(payoff, example, "random", tau, rate=rate)
            for rate in (1, 10)
            for tau in (1, 10, 100)
        ]
        for one, other in combinations(samples, 2):
            gap = difference(one, other, LEVEL)
            same = same and gap.low <= 0 <= gap.high
            widest = max(widest, abs(gap.value))
    return Verdict(same, f"random agents differ by up to {widest:.3g} over rates and lengths")


def mediocrity_avoided(kind: EnvironmentType, payoff: Payoff) -> Verdict:
    """3: a competent slow agent beats one a hundred times faster and hardly better than random."""
    competent = payoffs(payoff, kind.example, "apprentice", 100, 300, explores=20, rate=1)
    fast = payoffs(payoff, kind.example, "apprentice", 100, 300, skill=0.05, rate=100)
    gap = difference(competent, fast, LEVEL)
    return Verdict(
        gap.low > 0,
        f"competent and slow {competent.mean():.3g}, mediocre and fast {fast.mean():.3g}",
    )


def infinite_rates(kind: EnvironmentType, payoff: Payoff) -> Verdict:
    """4: as rates grow, a learner's value stays bounded and tends to that of its final skill."""
    learner, expert, chance = (
        payoffs(payoff, kind.example, who, 100, 100, rate=300, **how).mean()
        for who, how in (("apprentice", {"explores": 20}), ("apprentice", {}), ("random", {}))
    )
    share = (learner - chance) / (expert - chance)
    return Verdict(
        bool(abs(expert) <= 1 and share > 0.95),
        f"at 300 actions/s a perfect agent gets {expert:.3g}, a learner {share:.0%} of its lead",
    )


def better_before_faster(kind: EnvironmentType, payoff: Payoff) -> Verdict:
    """5: a better agent beats a worse one that is twenty times faster."""
    better = payoffs(payoff, kind.example, "apprentice", 100, explores=20, rate=1)
    worse = payoffs(payoff, kind.example, "apprentice", 100, explores=20, skill=0.5, rate=20)
    gap = difference(better, worse, LEVEL)
    return Verdict(
        gap.low > 0, f"better and slower {better.mean():.3g}, worse and faster {worse.mean():.3g}"
    )


def speed_rewarded(kind: EnvironmentType, payoff: Payoff) -> Verdict:
    """6: of two agents that do the same, the faster never scores less in any run, and some more."""
    gaps = [
        payoffs(payoff, kind.example, "apprentice", tau, explores=5, rate=10)
        - payoffs(payoff, kind.example, "apprentice", tau, explores=5, rate=1)
        for tau in (10, 100)
    ]
    return Verdict(
        all(gap.min() > -ROUNDING for gap in gaps) and any(gap.mean() > ROUNDING for gap in gaps),
        f"ten times faster gains {gaps[0].mean():.3g} in 10 s, {gaps[1].mean():.3g} in 100 s",
    )


def early_like_late(kind: EnvironmentType, payoff: Payoff) -> Verdict:
    """7: being good in the first half is worth as much as in the second."""
    early, late, expert, chance = (
        payoffs(payoff, kind.example, "apprentice", 100, rate=1, **how)
        for how in ({"competent": 50}, {"explores": 50}, {}, {"skill": 0})
    )
    gap = (early.mean() - late.mean()) / (expert.mean() - chance.mean())
    return Verdict(bool(abs(gap) < 0.05), f"the first half is worth {gap:+.0%} of the whole more")


def bounded(kind: EnvironmentType, payoff: Payoff) -> Verdict:
    """8: a perfect agent's value stays within the range of single rewards for every length."""
    values = [
        payoffs(payoff, kind.example, "apprentice", tau, 20, rate=10).mean()
        for tau in (10, 100, 1000, 10_000)
    ]
    return Verdict(
        max(map(abs, values)) <= 1 + 1e-9,
        f"a perfect agent gets {values[0]:.3g} in 10 s, {values[-1]:.3g} in 10,000 s",
    )


def slowing_tolerated(kind: EnvironmentType, payoff: Payoff) -> Verdict:
    """9: a learner that needs longer and longer beats a hasty agent that is hardly competent."""
    gaps = [
        difference(
            payoffs(
                payoff, kind.example, "apprentice", tau, 300, explores=20, rate=10, slowing=0.01
            ),
            payoffs(payoff, kind.example, "apprentice", tau, 200, skill=0.05, rate=10),
            LEVEL,
        )
        for tau in (100, 1000, 3000)
    ]
    return Verdict(
        all(gap.low > 0 for gap in gaps),
        f"the slowing learner leads by {gaps[0].value:.3g} in 100 s, "
        f"{gaps[-1].value:.3g} in 3,000 s",
    )


def _gain(kind: EnvironmentType, payoff: Payoff, who: str, **how: float) -> Estimate:
    """What a random agent gains by choosing its times, as a share of what skill gains.

    Every run is compared with the same run of an agent that goes on at a constant rate.
    """
    tempted, constant = (
        payoffs(payoff, kind.example, name, LONG, TEMPTED, rate=RATE, **more)
        for name, more in ((who, how), ("random", {}))
    )
    expert = payoffs(payoff, kind.example, "apprentice", LONG, 50, rate=RATE)
    low, high = payoff.bounds((-1.0, 1.0))
    largest = min(kind.largest_total, RATE * LONG)  # one reward for each action, at most 1
    support = max(low, -largest), min(high, largest)
    gap = paired_difference(tempted, constant, LEVEL, support)
    skill = float(expert.mean() - constant.mean())
    return Estimate(gap.value / skill, gap.low / skill, gap.high / skill, gap.level, gap.count)


def judge_gains(gains: Mapping[str, Estimate]) -> Verdict:
    """Whether none of the policies gains anything that is felt.

    Yes when the interval of every policy ends below ``FELT``, No when that of some policy begins
    above it. Otherwise the runs were too few to tell: this is no Yes, and the evidence says so.
    """
    tempting = max(gains, key=lambda policy: gains[policy].low)
    hopeful = max(gains, key=lambda policy: gains[policy].high)
    if gains[hopeful].high < FELT:
        best, word = hopeful, ""
    elif gains[tempting].low > FELT:
        best, word = tempting, ""
    else:
        best, word = hopeful, "undecided: "
    value, low, high = (
        f"{100 * share:z.1f} %" for share in (gains[best].value, gains[best].low, gains[best].high)
    )
    return Verdict(
        gains[hopeful].high < FELT,
        f"{word}the best policy tried, {best}, gains {value} [{low}, {high}] of what skill does",
    )


def stopping_resisted(kind: EnvironmentType, payoff: Payoff) -> Verdict:
    """10: no random agent gains in the long run by stopping when its average is good."""
    return judge_gains(
        {
            f"stopping above an average of {threshold:g}": _gain(
                kind, payoff, "stopper", threshold=threshold
            )
            for threshold in (0.0, 0.25, 0.5)
        }
    )


def modulation_resisted(kind: EnvironmentType, payoff: Payoff) -> Verdict:
    """11: no random agent gains by resting while its average is good or after good rewards."""
    rests = {
        "resting for half of the time so far": {"rest": 0.1, "growth": 0.5},
        "resting for 100 s": {"rest": 100.0},
        "resting to the end": {"rest": 1e4},
    }
    gains = {
        policy: _gain(kind, payoff, "rester", threshold=kind.lucky, **how)
        for policy, how in rests.items()
    }
    return judge_gains(gains | {"waiting for 10 s": _gain(kind, payoff, "waiter", wait=10)})


def scale_independent(kind: EnvironmentType, payoff: Payoff) -> Verdict:
    """12: in minutes instead of seconds, every run has the same value."""
    seconds = payoffs(payoff, kind.example, "apprentice", 60, 100, explores=20, rate=1, slowing=0.1)
    minutes = payoffs(
        payoff, kind.example, "apprentice", 3600, 100, explores=20, rate=1 / 60, slowing=6
    )
    gap = float(abs(seconds - minutes).max())
    return Verdict(gap < 1e-12, f"the largest change is {gap:.3g}")


FEATURES: tuple[tuple[str, Feature], ...] = (
    ("Do random agents get a central value (preferably 0)?", central),
    ("Is a random agent's result independent from tau and the rate?", independent),
    ("Is it avoided that a fast mediocre agent scores well?", mediocrity_avoided),
    ("Does it work well when rates tend to infinity?", infinite_rates),
    ("Do better but slower agents beat worse but faster ones?", better_before_faster),
    ("Do faster agents beat slow ones of equal performance?", speed_rewarded),
    ("Are the first interactions as relevant as the rest?", early_like_late),
    ("Is it bounded for all tau?", bounded),
    ("Does it work well when actions need more and more time?", slowing_tolerated),
    ("Is it robust against stopping policies?", stopping_resisted),
    ("Is it robust against time modulation policies?", modulation_resisted),
    ("Is it scale independent (other time units)?", scale_independent),
)
