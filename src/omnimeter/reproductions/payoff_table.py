"""The comparison table of twelve features and eight payoffs, decided by running agents."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import combinations, product
from math import inf
from pathlib import Path
from typing import NamedTuple

import numpy as np

from omnimeter.agents.opportunists import Rester, Stopper, Waiter
from omnimeter.agents.simple import RandomAgent
from omnimeter.agents.simulated import Apprentice
from omnimeter.audits import audit
from omnimeter.contract import Trace
from omnimeter.contract.agent import FloatArray
from omnimeter.contract.exercise import NANOSECONDS
from omnimeter.environments.buttons import Buttons, Example
from omnimeter.estimation import Estimate, difference, mean, paired_difference
from omnimeter.interaction import KernelAgent
from omnimeter.payoffs import Average, Diminishing, Discounted, Total
from omnimeter.payoffs.functions import diminished
from omnimeter.reproductions import plots, shared
from omnimeter.reproductions.shared import (
    REWARDS,
    Report,
    Reproduced,
    Statement,
    Steps,
    Sulker,
    fmt,
    join,
    silent,
)

RIGHT = {
    "alternating": [0, 1],
    "bananas": [0, 1, 2],
    "bounded": [0, 1, 2],
    # The cells (each empty, white or black) in the order of their keys: the white one is right.
    "balanced": [
        next((cell for cell, content in enumerate(cells) if content == 1), 0)
        for cells in ((a, b, c) for a in range(3) for b in range(3) for c in range(3))
    ],
}
"""The right button for each observation."""

RATIOS = (0.5, 0.9, 0.99)
"""The ratios of the geometric weights with which the discounted columns are decided."""


REST_ABOVE: dict[Example, float] = {
    "bananas": 0.5, "switch": 0.5, "bounded": 0.25, "switch-bounded": 0.25,
    "balanced": 0.0, "switch-balanced": 0.0, "fate": 0.0,
}  # fmt: skip
"""In the examples where time policies are tried, what is a good average and a good reward."""


@dataclass(frozen=True)
class EnvironmentKind:
    """A type of environments, a column heading of the table.

    Attributes:
        example: Where agents are compared.
        members: All examples of the type, on which the values of random agents are examined.
        tried: Where time policies are tried: the paper's example, and ours in which rewards depend
            on the past.
        largest_total: The largest absolute total in its examples.
        balanced: Whether a constant-rate random agent's expectation is 0, by definition.
    """

    name: str
    example: Example
    members: tuple[Example, ...]
    tried: tuple[Example, ...]
    largest_total: float = inf
    balanced: bool = False


GENERAL = EnvironmentKind(
    "General", "bananas", ("alternating", "bananas", "bounded", "switch"), ("bananas", "switch")
)
BOUNDED = EnvironmentKind(
    "Bounded", "bounded", ("bounded", "switch-bounded"), ("bounded", "switch-bounded"), 1.0
)
BALANCED = EnvironmentKind(
    "Balanced", "balanced", ("balanced", "switch-balanced", "fate"),
    ("balanced", "switch-balanced", "fate"), balanced=True,
)  # fmt: skip
ERGODIC = replace(BALANCED, tried=("balanced", "switch-balanced"))
"""The balanced examples in which every state can be reached again."""


@dataclass(frozen=True)
class Column:
    """One column of the table: a type of environments, and a payoff with all its parameters."""

    environments: EnvironmentKind
    symbol: str
    payoffs: tuple[Payoff, ...]

    @property
    def name(self) -> str:
        """Its name in rows and figures."""
        return f"{self.environments.name.lower()}-{self.symbol.lower()}"


_DISCOUNTED = tuple(Discounted("geometric", ratio) for ratio in RATIOS)

COLUMNS = (
    Column(GENERAL, "total", (Total(),)),
    Column(BOUNDED, "total", (Total(),)),
    Column(BALANCED, "total", (Total(),)),
    Column(GENERAL, "average", (Average(),)),
    Column(BALANCED, "average", (Average(),)),
    Column(GENERAL, "discounted", _DISCOUNTED),
    Column(BALANCED, "discounted", _DISCOUNTED),
    Column(BALANCED, "diminishing", (Diminishing(),)),
)


@dataclass(frozen=True)
class DiscountedByAll:
    """The discounted reward divided by the sum of all weights, not of those so far.

    Not what the definition says, but what the text around it describes: such values grow with tau.
    """

    ratio: float

    def __call__(self, trace: Trace) -> float:
        """The payoff of a trace."""
        return Discounted("geometric", self.ratio)(trace) * (1 - self.ratio ** len(trace))

    def bounds(self, rewards: tuple[float, float]) -> tuple[float, float]:
        """The range of the rewards, and 0."""
        return Discounted("geometric", self.ratio).bounds(rewards)


Payoff = Total | Average | Discounted | Diminishing | DiscountedByAll
BY_ALL = tuple(DiscountedByAll(ratio) for ratio in RATIOS)
PAYOFFS: tuple[Payoff, ...] = (Total(), Average(), *_DISCOUNTED, Diminishing(), *BY_ALL)

AGENTS: dict[str, Callable[..., KernelAgent]] = {
    "random": RandomAgent,
    "stopper": Stopper,
    "rester": Rester,
    "waiter": Waiter,
    "sulker": Sulker,
}


@lru_cache(maxsize=256)
def values_of(
    example: Example, kind: str, parameters: tuple[tuple[str, float], ...], tau: float, runs: int
) -> dict[Payoff, FloatArray]:
    """The payoffs of an agent's runs, all of them computed in one pass."""
    given = dict(parameters)
    make = AGENTS.get(kind)
    agent = Apprentice(RIGHT[example], **given) if make is None else make(**given)  # type: ignore[arg-type]
    traces = shared.simulate(Buttons(example), agent, tau, runs)
    table = np.array([[payoff(trace) for payoff in PAYOFFS] for trace in traces])
    return dict(zip(PAYOFFS, table.T, strict=True))


def payoffs(
    payoff: Payoff, example: Example, kind: str, tau: float, runs: int = 1000, **parameters: float
) -> FloatArray:
    """The payoff of each run of an agent: run k has the same random streams for every agent.

    Args:
        payoff: The payoff.
        example: The environment.
        kind: A key of ``AGENTS``, or ``apprentice``.
        tau: How long, in seconds.
        runs: How many runs.
        parameters: The parameters of the agent.
    """
    return values_of(example, kind, tuple(sorted(parameters.items())), tau, runs)[payoff]


PUBLISHED = (
    ("No", "No", "Yes", "No", "Yes", "No", "Yes", "Yes"),
    ("No", "No", "Yes", "No", "Yes", "No", "Yes", "Yes"),
    ("No", "No", "No", "Yes", "Yes", "No", "No", "Yes"),
    ("No", "No", "No", "Yes", "Yes", "No", "No", "Yes"),
    ("No", "No", "No", "Yes", "Yes", "*", "*", "Yes"),
    ("Yes", "Yes", "Yes", "Yes", "Yes", "Yes", "Yes", "Yes"),
    ("Yes", "No", "Yes", "Yes", "Yes", "No", "No", "Yes"),
    ("No", "Yes", "No", "Yes", "Yes", "Yes", "Yes", "Yes"),
    ("No", "No", "No", "Yes", "Yes", "No", "No", "Yes"),
    ("Yes", "Yes", "No", "No", "No", "Yes", "No", "Yes"),
    ("Yes", "Yes", "No", "No", "No", "Yes", "No", "No"),
    ("Yes", "Yes", "Yes", "Yes", "Yes", "Yes", "Yes", "Yes"),
)
"""Twelve features, eight columns."""

REASONS: dict[tuple[int, str], str] = {
    **dict.fromkeys(
        product((3, 9), ("general-discounted", "balanced-discounted")),
        "it depends on the ratio of the weights, as the paper says itself of feature 5: what comes "
        "after a learner's 20 random actions has "
        f"{join((100 * ratio**20 for ratio in RATIOS), '.2g')} % of all weight with the ratios "
        f"{join(RATIOS, 'g')}",
    ),
    **dict.fromkeys(
        product((10, 11), ("general-discounted",)),
        "the definition divides by the weights so far, so a run that ends when lucky is worth the "
        "average of what it had. Divided by the sum of all weights, as the text around the "
        "definition describes it, the cell is as printed",
    ),
    (10, "balanced-diminishing"): "in the example fate half of the runs can only lose, the other "
    "half can only gain, and an agent that stops after a bad reward never stops in the good half. "
    "Where every state can be reached again the cell is as printed",
}
"""Why a cell differs, by feature and column."""

CONFIDENCE = 0.999
"""Of every interval in a decision: high enough for some hundred decisions at once."""

ROUNDING = 1e-12  # the largest difference by rounding between numbers of the size of rewards

NEGLIGIBLE = 0.02
"""A gain below this part of the largest reward is negligible, whatever skill gains."""

LONG, RATE, POLICY_RUNS = 1000.0, 10.0, 2000
"""The seconds, actions per second and runs with which time policies are tried."""


class Verdict(NamedTuple):
    """Whether a payoff has a feature, and the numbers that decided it, as text."""

    holds: bool
    evidence: str


Feature = Callable[[EnvironmentKind, Payoff], Verdict]


def central(kind: EnvironmentKind, payoff: Payoff) -> Verdict:
    """1: random agents get 0 on average, at every rate and length."""
    estimates = [
        mean(payoffs(payoff, example, "random", tau, rate=rate), CONFIDENCE)
        for example in kind.members
        for rate in (1, 10)
        for tau in (10, 100)
    ]
    farthest = max(estimates, key=lambda estimate: abs(estimate.value))
    return Verdict(
        all(shared.contains_zero(estimate) for estimate in estimates),
        f"random agents average up to {farthest.value:.3g}",
    )


def independent(kind: EnvironmentKind, payoff: Payoff) -> Verdict:
    """2: a random agent's value is the same for every rate and length."""
    same, widest = True, 0.0
    for example in kind.members:
        samples = [
            payoffs(payoff, example, "random", tau, rate=rate)
            for rate in (1, 10)
            for tau in (1, 10, 100)
        ]
        for one, other in combinations(samples, 2):
            gap = difference(one, other, CONFIDENCE)
            same = same and shared.contains_zero(gap)
            widest = max(widest, abs(gap.value))
    return Verdict(same, f"random agents differ by up to {widest:.3g} over rates and lengths")


def mediocrity_avoided(kind: EnvironmentKind, payoff: Payoff) -> Verdict:
    """3: a competent slow agent beats one a hundred times faster and hardly better than random."""
    competent = payoffs(payoff, kind.example, "apprentice", 100, 300, explores=20, rate=1)
    fast = payoffs(payoff, kind.example, "apprentice", 100, 300, skill=0.05, rate=100)
    gap = difference(competent, fast, CONFIDENCE)
    return Verdict(
        gap.low > 0,
        f"competent and slow {competent.mean():.3g}, mediocre and fast {fast.mean():.3g}",
    )


def infinite_rates(kind: EnvironmentKind, payoff: Payoff) -> Verdict:
    """4: as rates grow, a learner's value stays bounded and tends to that of its final skill."""
    learner, expert, random = (
        payoffs(payoff, kind.example, agent, 100, 100, rate=300, **parameters).mean()
        for agent, parameters in (
            ("apprentice", {"explores": 20}),
            ("apprentice", {}),
            ("random", {}),
        )
    )
    share = (learner - random) / (expert - random)
    return Verdict(
        bool(abs(expert) <= 1 and share > 0.95),
        f"at 300 actions/s a perfect agent gets {expert:.3g}, a learner {share:.0%} of its lead",
    )


def better_before_faster(kind: EnvironmentKind, payoff: Payoff) -> Verdict:
    """5: a better agent beats a worse one that is twenty times faster."""
    better = payoffs(payoff, kind.example, "apprentice", 100, explores=20, rate=1)
    worse = payoffs(payoff, kind.example, "apprentice", 100, explores=20, skill=0.5, rate=20)
    gap = difference(better, worse, CONFIDENCE)
    return Verdict(
        gap.low > 0, f"better and slower {better.mean():.3g}, worse and faster {worse.mean():.3g}"
    )


def speed_rewarded(kind: EnvironmentKind, payoff: Payoff) -> Verdict:
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


def early_like_late(kind: EnvironmentKind, payoff: Payoff) -> Verdict:
    """7: being good in the first half is worth as much as in the second."""
    early, late, expert, unskilled = (
        payoffs(payoff, kind.example, "apprentice", 100, rate=1, **parameters).mean()
        for parameters in ({"competent": 50}, {"explores": 50}, {}, {"skill": 0})
    )
    gap = (early - late) / (expert - unskilled)
    return Verdict(bool(abs(gap) < 0.05), f"the first half is worth {gap:+.0%} of the whole more")


def bounded(kind: EnvironmentKind, payoff: Payoff) -> Verdict:
    """8: a perfect agent's value stays within the range of single rewards for every length."""
    values = [
        payoffs(payoff, kind.example, "apprentice", tau, 20, rate=10).mean()
        for tau in (10, 100, 1000, 10_000)
    ]
    return Verdict(
        max(map(abs, values)) <= 1 + 1e-9,
        f"a perfect agent gets {values[0]:.3g} in 10 s, {values[-1]:.3g} in 10,000 s",
    )


def slowing_tolerated(kind: EnvironmentKind, payoff: Payoff) -> Verdict:
    """9: a learner that needs longer and longer beats a hasty agent that is hardly competent."""
    gaps = [
        difference(
            payoffs(
                payoff, kind.example, "apprentice", tau, 300, explores=20, rate=10, slowing=0.01
            ),
            payoffs(payoff, kind.example, "apprentice", tau, 200, skill=0.05, rate=10),
            CONFIDENCE,
        )
        for tau in (100, 1000, 3000)
    ]
    return Verdict(
        all(gap.low > 0 for gap in gaps),
        f"the slowing learner leads by {gaps[0].value:.3g} in 100 s, "
        f"{gaps[-1].value:.3g} in 3,000 s",
    )


def gain_of(
    kind: EnvironmentKind,
    example: Example,
    payoff: Payoff,
    agent: str,
    seconds: float | None = None,
    **parameters: float,
) -> Estimate:
    """What a random agent gains by choosing its times, in units of the largest reward.

    Every run is compared with the same run of an agent that goes on at a constant rate. Where that
    agent's expectation is 0 by the definition of the environments, it is 0 that counts: in the sum
    of so many rewards the runs differ by much more than anything that is gained.
    """
    tau = LONG if seconds is None else seconds
    low, high = payoff.bounds(REWARDS)
    largest = min(kind.largest_total, RATE * tau)  # one reward for each action, at most 1
    support = max(low, -largest), min(high, largest)
    values = payoffs(payoff, example, agent, tau, POLICY_RUNS, rate=RATE, **parameters)
    if kind.balanced:
        return mean(values, CONFIDENCE, support)
    constant = payoffs(payoff, example, "random", tau, POLICY_RUNS, rate=RATE)
    return paired_difference(values, constant, CONFIDENCE, support)


def judge_gains(gains: Mapping[str, Estimate]) -> Verdict:
    """Decide whether the gains of all policies are negligible.

    Yes when the interval of every policy ends below ``NEGLIGIBLE``, No when that of some policy
    begins above it. Otherwise the runs were too few: this is no Yes, and the evidence says so.
    """
    best = max(gains, key=lambda policy: gains[policy].high)
    holds = gains[best].high < NEGLIGIBLE
    clearest = max(gains, key=lambda policy: gains[policy].low)
    undecided = not holds and gains[clearest].low <= NEGLIGIBLE
    if not holds and not undecided:
        best = clearest
    value, low, high = (
        f"{number:z.3g}" for number in (gains[best].value, gains[best].low, gains[best].high)
    )
    return Verdict(
        holds,
        f"{'undecided: ' if undecided else ''}the best policy tried, {best}, gains {value} "
        f"[{low}, {high}]",
    )


def stopping_resisted(kind: EnvironmentKind, payoff: Payoff) -> Verdict:
    """10: no random agent gains in the long run by stopping, when lucky or when unlucky."""
    gains = {}
    for example in kind.tried:
        for threshold in (0.0, 0.25, 0.5):
            policy = f"stopping above an average of {threshold:g} in {example}"
            gains[policy] = gain_of(kind, example, payoff, "stopper", threshold=threshold)
        policy = f"stopping after a bad reward in {example}"
        gains[policy] = gain_of(kind, example, payoff, "sulker", threshold=REST_ABOVE[example])
    return judge_gains(gains)


def modulation_resisted(kind: EnvironmentKind, payoff: Payoff) -> Verdict:
    """11: no random agent gains in the long run by resting, after good rewards or after bad."""
    gains = {}
    for example in kind.tried:
        good = REST_ABOVE[example]
        rests: dict[str, tuple[str, dict[str, float]]] = {
            "while its average is good, for half of the time so far": (
                "rester", {"rest": 0.1, "growth": 0.5, "threshold": good},
            ),
            "while its average is good, for 100 s": ("rester", {"rest": 100.0, "threshold": good}),
            "while its average is good, to the end": ("rester", {"rest": 1e4, "threshold": good}),
            "after a good reward, for 10 s": ("waiter", {"wait": 10.0}),
            "after a bad reward, for 10 s": ("sulker", {"wait": 10.0, "threshold": good}),
            "after a bad reward, to the end": ("sulker", {"threshold": good}),
        }  # fmt: skip
        for policy, (agent, given) in rests.items():
            gains[f"resting {policy}, in {example}"] = gain_of(
                kind, example, payoff, agent, **given
            )
    return judge_gains(gains)


def exact_gain(interactions: int) -> float:
    """The expected total of stopping after the first bad reward in ``switch-balanced``: at most 9.

    In the good cell k actions bring a good reward each with probability q = 0.95, and after the
    first that does not a bad one and the end: 18 (1 - q^k). Half of the runs begin there; the
    others have a bad reward at once, or move to the good cell with the first action.
    """
    q = 0.95
    well = 18 * (1 - q**interactions)
    badly = -q + (1 - q) * (1 + 18 * (1 - q ** (interactions - 1)))
    return (well + badly) / 2


def scale_independent(kind: EnvironmentKind, payoff: Payoff) -> Verdict:
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


class Cell(NamedTuple):
    """One cell of the table: our answer and the published one."""

    feature: int
    column: str
    ours: str
    published: str
    evidence: str

    @property
    def agrees(self) -> bool:
        """Whether both are the same."""
        return self.ours == self.published


def _decide(feature: Feature, kind: EnvironmentKind, payoffs: Sequence[Payoff]) -> tuple[str, str]:
    """Yes or No for every parameter of a payoff, or a star when it depends on it; the evidence."""
    verdicts = [feature(kind, payoff) for payoff in payoffs]
    answers = {verdict.holds for verdict in verdicts}
    answer = "*" if len(answers) > 1 else "Yes" if True in answers else "No"
    return answer, "; ".join(verdict.evidence for verdict in verdicts)


def _decide_row(number: int) -> list[tuple[str, str]]:
    """The answers to the question of this number, one for each column."""
    _, feature = FEATURES[number - 1]
    return [_decide(feature, column.environments, column.payoffs) for column in COLUMNS]


def draw(cells: Sequence[Cell], out: Path) -> dict[str, Path]:
    """Draw the table and write it."""
    from matplotlib.figure import Figure
    from matplotlib.patches import Rectangle

    figure = Figure(figsize=(12, 6.2), layout="constrained")
    axes = figure.add_subplot()
    colours, other = {"Yes": "#cfe8dc", "No": "#f6ddd3", "*": "#ece7f2"}, "#b5442b"
    for cell in cells:
        x = [column.name for column in COLUMNS].index(cell.column)
        y = cell.feature - 1
        axes.add_patch(Rectangle((x, y), 1, 1, facecolor=colours[cell.ours], edgecolor="white"))
        axes.text(x + 0.5, y + 0.5, cell.ours, ha="center", va="center", fontsize=11)
        if not cell.agrees:
            corner = (x + 0.04, y + 0.06)
            axes.add_patch(Rectangle(corner, 0.92, 0.88, fill=False, edgecolor=other, lw=2))
            axes.text(
                x + 0.92, y + 0.84, f"paper: {cell.published}", ha="right", va="center",
                fontsize=6.5, color=other,
            )  # fmt: skip
    axes.set(xlim=(0, len(COLUMNS)), ylim=(len(FEATURES), 0))
    axes.set_xticks(
        [x + 0.5 for x in range(len(COLUMNS))],
        [f"{column.environments.name}\n{column.symbol}" for column in COLUMNS],
    )
    axes.set_yticks(
        [y + 0.5 for y in range(len(FEATURES))],
        [f"{number}. {question}" for number, (question, _) in enumerate(FEATURES, start=1)],
    )
    axes.xaxis.tick_top()
    axes.tick_params(length=0)
    axes.spines[:].set_visible(False)
    axes.set_title(
        "What each payoff does, decided by running agents. Framed: the paper says otherwise.",
        loc="left", fontsize=11, pad=12,
    )  # fmt: skip
    return plots.write_figure(figure, out / "table")


def _statements(cells: list[Cell], agreeing: int, diminishing: int) -> list[Statement]:
    statements = [
        Statement(
            "The average with diminishing history in balanced environments gets 11 yes of 12.",
            f"It gets {diminishing}.",
            diminishing == 11,
            "feature 10 fails in one of our examples, where not every state can be reached again",
        ),
        Statement(
            f"The table has {len(cells)} cells.", f"{agreeing} of them agree with ours.", None
        ),
    ]
    return statements + [
        Statement(
            f"Feature {cell.feature}, {cell.column}: {cell.published}.",
            f"{cell.ours}: {cell.evidence}.",
            False,
            REASONS.get((cell.feature, cell.column), ""),
        )
        for cell in cells
        if not cell.agrees
    ]


def _further_statements() -> list[Statement]:
    """What the reasons rest on, and what the text says beside the table."""
    statements = []
    for number, feature in ((10, stopping_resisted), (11, modulation_resisted)):
        answer, evidence = _decide(feature, GENERAL, BY_ALL)
        claim = f"Feature {number}, general-discounted, divided by the sum of all weights: Yes."
        statements.append(Statement(claim, f"{answer}: {evidence}.", answer == "Yes"))
    answer, evidence = _decide(stopping_resisted, ERGODIC, (Diminishing(),))
    claim = "Feature 10, balanced-diminishing, where every state can be reached again: Yes."
    statements.append(Statement(claim, f"{answer}: {evidence}.", answer == "Yes"))
    return [*statements, *_stopping_after_bad(), *_exponential_cost()]


def _stopping_after_bad() -> list[Statement]:
    """What stopping after a bad reward gains in ``switch-balanced``, which the audit calls fit."""
    lengths = (10.0, 100.0, 1000.0)
    totals, values = (
        [gain_of(BALANCED, "switch-balanced", payoff, "sulker", tau) for tau in lengths]
        for payoff in (Total(), Diminishing())
    )
    exact = [exact_gain(int(RATE * tau)) for tau in lengths]
    pairs = list(zip(totals, exact, strict=True))
    fit = audit(Buttons("switch-balanced")).fit
    after = f"after {join(lengths, 'g')} s"
    return [
        Statement(
            "Balanced environments do not make the total reward robust against stopping.",
            f"In switch-balanced, which the audit calls {'fit' if fit else 'unfit'} for testing, "
            "one of 20 actions changes the sign of all rewards. A random agent that stops after "
            f"its first bad reward has a total of {', '.join(fmt(each, 2) for each in totals)} "
            f"{after}; exactly {join(exact, '.2f')}.",
            fit and all(0 < each.low <= value <= each.high for each, value in pairs),
        ),
        Statement(
            "With diminishing history stopping gains nothing in the limit; of finite times the "
            "paper says nothing.",
            f"The same agent has {', '.join(map(fmt, values))} {after}.",
            None,
        ),
    ]


def _exponential_cost() -> list[Statement]:
    """What becomes of a learner whose every decision takes as long as all before it."""
    doubling = (NANOSECONDS / RATE * 2.0 ** np.arange(30)).astype(np.int64)
    factorial = (NANOSECONDS / RATE * np.cumprod(np.arange(1.0, 14))).astype(np.int64)
    acted = (4, 8, 12)
    kept, lost = (
        diminished(times, [times[count] - 1 for count in acted]) for times in (doubling, factorial)
    )
    lengths = (100.0, 1000.0, 1e4)
    ends = (np.array(lengths) * NANOSECONDS).astype(np.int64)
    along = Diminishing().along
    learners = (
        Apprentice(RIGHT["balanced"], explores=20, rate=RATE),
        Apprentice(RIGHT["balanced"], explores=20, rate=RATE, skill=0.5, slowing=0.01),
    )
    # Rewards depend on the number of actions only, so the exact learner's times are given here.
    quick, slow = (
        shared.simulate(Buttons("balanced"), learner, seconds, 1000)
        for learner, seconds in zip(learners, (len(doubling) / RATE, lengths[-1]), strict=True)
    )
    exact = np.array([along(replace(trace, times=doubling), ends) for trace in quick])
    approximate = np.array([along(trace, ends) for trace in slow])
    gaps = [
        difference(one, other, CONFIDENCE)
        for one, other in zip(approximate.T, exact.T, strict=True)
    ]
    return [
        Statement(
            "Feature 9: if each decision takes exponential time, t_(i+1) > 2 t_i, then n* goes to "
            "zero between interactions.",
            f"Just before action {join([count + 1 for count in acted], 'd')} n* is "
            f"{join(kept, 'd')} with t_(i+1) = 2 t_i, and {join(lost, 'd')} with t_(i+1) = "
            "(i + 1) t_i.",
            not kept.any(),
            "n* = floor(n t_n / tau) falls to n / c before the next action if t_(i+1) = c t_i, and "
            "to 0 only if c is above n, so if the time grows faster than exponentially",
        ),
        Statement(
            "Feature 9: an agent that approximates in polynomial time can then get more with "
            "diminishing history.",
            f"In the balanced example the approximate learner, right in half of its actions after "
            f"20, leads the exact one, whose times double, by {', '.join(map(fmt, gaps))} after "
            f"{join(lengths, 'g')} s.",
            all(gap.low > 0 for gap in gaps),
        ),
    ]


def reproduce(out: Path, report: Report = silent) -> Reproduced:
    """Decide the twelve features of eight payoffs by running agents under the virtual clock."""
    steps = Steps(out)
    cells: list[Cell] = []
    rows = []
    for number, (question, _) in enumerate(FEATURES, start=1):
        report(question, (number - 1) / len(FEATURES))
        row = {"feature": f"{number}. {question}"}
        decided = zip(COLUMNS, steps(_decide_row, number), PUBLISHED[number - 1], strict=True)
        for column, (answer, evidence), published in decided:
            cells.append(Cell(number, column.name, answer, published, evidence))
            row |= {column.name: answer, column.name + shared.PUBLISHED_FIELD: published}
        rows.append(row)
    details = [cell._asdict() | {"agrees": cell.agrees} for cell in cells]
    numbers = {"Yes": 1.0, "*": 0.5, "No": 0.0}
    agreeing = sum(cell.agrees for cell in cells)
    diminishing = sum(c.ours == "Yes" for c in cells if c.column == COLUMNS[-1].name)
    return Reproduced(
        name="payoff-table",
        title="Twelve features of eight payoffs: ours and the published ones",
        findings="docs/findings.md#the-comparison-table",
        statements=[*_statements(cells, agreeing, diminishing), *steps(_further_statements)],
        figures={
            "cells": len(cells),
            "cells.agreeing": agreeing,
            "cells.explained": sum((c.feature, c.column) in REASONS for c in cells if not c.agrees),
            "diminishing.yes": diminishing,
            **{f"{c.feature}.{c.column}": numbers[c.ours] for c in cells},
        },
        rows=rows,
        files={
            "table": shared.write_records(out / "table.csv", rows),
            "evidence": shared.write_records(out / "evidence.csv", details),
            **draw(cells, out),
        },
    )
