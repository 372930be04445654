"""The twelve features, each decided by running agents under the virtual clock.

Features 1 and 2 ask what a type of environments promises: they are decided on every example of the
type. The others ask how a payoff treats agents: they are decided on the type's own example.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import combinations

from omnimeter.reproductions.payoff_table.columns import BALANCED, EnvironmentType, Payoff
from omnimeter.reproductions.payoff_table.laboratory import payoffs
from omnimeter.statistics import difference, mean

LEVEL = 0.999
"""Of every interval in a decision: with some hundred decisions, chance decides none of them."""

ROUNDING = 1e-12
"""What a difference between numbers of the size of rewards may come to by rounding."""

FELT = 0.02
"""A gain below this part of the distance between random and perfect is called none."""


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


def _gain(kind: EnvironmentType, payoff: Payoff, tau: float, who: str, **how: float) -> float:
    """What a random agent gains by choosing its times, as a part of what skill could gain."""
    tempted = payoffs(payoff, kind.example, who, tau, 2000, rate=10, **how)
    constant = payoffs(payoff, kind.example, "random", tau, 2000, rate=10)
    expert = payoffs(payoff, kind.example, "apprentice", tau, 50, rate=10).mean()
    gap = difference(tempted, constant, LEVEL)
    return float(gap.low if gap.value > 0 else gap.value) / float(expert - constant.mean())


def stopping_resisted(kind: EnvironmentType, payoff: Payoff) -> Verdict:
    """10: no random agent gains in the long run by stopping when its average is good."""
    gains = {
        threshold: _gain(kind, payoff, 1000, "stopper", threshold=threshold)
        for threshold in (0.0, 0.5)
    }
    best = max(gains, key=lambda threshold: gains[threshold])
    return Verdict(
        gains[best] < FELT,
        f"stopping above an average of {best:g} gains {gains[best]:.1%} or more of what skill does",
    )


def modulation_resisted(kind: EnvironmentType, payoff: Payoff) -> Verdict:
    """11: no random agent gains by resting while its average is good or after good rewards."""
    threshold = 0.0 if kind is BALANCED else 0.5
    gains = {
        "resting for half of the time so far": _gain(
            kind, payoff, 1000, "rester", threshold=threshold, rest=0.1, growth=0.5
        ),
        "resting for 100 s": _gain(kind, payoff, 1000, "rester", threshold=threshold, rest=100),
        "resting to the end": _gain(kind, payoff, 1000, "rester", threshold=threshold, rest=1e4),
        "waiting for 10 s": _gain(kind, payoff, 1000, "waiter", wait=10),
    }
    best = max(gains, key=lambda policy: gains[policy])
    return Verdict(gains[best] < FELT, f"{best} gains {gains[best]:.1%} or more of what skill does")


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
