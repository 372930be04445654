"""The words of tables and reports, each explained in one to three sentences.

``omnimeter explain`` shows them, and report pages beside the tables that use them.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache

from omnimeter.contract import UnknownNameError


@dataclass(frozen=True, slots=True)
class Term:
    """A word and what it means.

    Attributes:
        name: The word.
        text: What it means.
        page: Where the documentation says more, below ``docs``.
        source: The paper's definition or section, where there is one.
        also: Other words for it, and heads of columns that mean it.
    """

    name: str
    text: str
    page: str
    source: str = ""
    also: tuple[str, ...] = ()


TERMS = (
    Term(
        "actions per second",
        "Actions per second of the agent's own time.",
        "tests.md#time",
        also=("actions/s",),
    ),
    Term(
        "adjustment",
        "How a payoff counts in the score by the complexity of its environment.",
        "tests.md",
        "anytime intelligence test, Definition 15",
    ),
    Term(
        "agent",
        "What takes exercises: an algorithm, a model, a program or a person. A name marked * "
        "had a privileged view, one marked † had faults of its own.",
        "trust.md#how-agents-are-ranked",
        also=(
            "algorithm",
            "marks",
            "*",
            "†",
            "participant",
        ),
    ),
    Term(
        "anytime test",
        "A test that adapts and can be stopped at any moment: success leads to harder "
        "environments and longer exercises, failure to easier ones.",
        "tests.md#one-repetition",
        "anytime intelligence test, Definitions 18 and 19",
    ),
    Term(
        "at the end",
        "In a test with a change: the mean reward over the last window.",
        "perturbing.md#a-world-that-changes",
    ),
    Term(
        "balanced",
        "A class is balanced if random behaviour has an expected reward of 0 there, so that "
        "scores of 0 mean the same everywhere.",
        "commands/audit.md",
        "anytime intelligence test, Definition 13",
        also=("balance",),
    ),
    Term(
        "battery",
        "A fixed list of exercises in a file, the same for all who take it.",
        "commands/run.md#batteries",
    ),
    Term(
        "before",
        "In a test with a change: the mean reward over a window just before it.",
        "perturbing.md#a-world-that-changes",
        also=("levels",),
    ),
    Term(
        "bounded",
        "Said of an interval that rests on the lowest and the highest possible value alone: nearly "
        "all values are the same, or a few lie far from the others, so that the usual intervals "
        "cannot be relied on. It is long; more exercises make it shorter.",
        "intervals.md#the-mean",
        also=("‡",),
    ),
    Term(
        "budget",
        "How long an exercise lasts: a number of interactions, or seconds.",
        "standard.md#5-budgets-and-clocks",
        also=(
            "budget of an exercise",
            "length",
        ),
    ),
    Term(
        "claimed",
        "What an environment class says of itself, which an audit examines.",
        "commands/audit.md",
        also=(
            "check",
            "finding",
            "audit",
        ),
    ),
    Term(
        "clock",
        "Which time counts: what the agent itself takes (a wall clock), or what it declares "
        "(a virtual clock, with which a test can be repeated exactly).",
        "standard.md#5-budgets-and-clocks",
    ),
    Term(
        "complexity",
        "How much it takes to describe an environment, in bits. Each class has a measure of its "
        "own, so complexities of different classes are not compared; `omnimeter list "
        "environment --complexities` tells which there are.",
        "standard.md#3-environment-classes-and-instances",
        "anytime intelligence test, Definition 9",
        also=("possible",),
    ),
    Term(
        "Definition 10",
        "A universal test with some environments and some interactions in each: the mean of the "
        "accumulated rewards.",
        "tests.md",
        "anytime intelligence test, Definition 10",
    ),
    Term(
        "Definition 15",
        "A universal test with balanced environments, average rewards and an adjustment by "
        "complexity.",
        "tests.md",
        "anytime intelligence test, Definition 15",
    ),
    Term(
        "Definition 17",
        "The test of Definition 15 with a time for each environment instead of a number of "
        "interactions.",
        "tests.md",
        "anytime intelligence test, Definition 17",
    ),
    Term(
        "Definition 18",
        "The anytime test that takes time into account: exercises have a length in seconds, so "
        "quick agents get further.",
        "tests.md#time",
        "anytime intelligence test, Definition 18",
    ),
    Term(
        "Definition 19",
        "The anytime test that disregards time: exercises have a length in interactions.",
        "tests.md#one-repetition",
        "anytime intelligence test, Definition 19",
    ),
    Term(
        "Definition 7",
        "Sensitive: the agent can always make a difference to its rewards within some number of "
        "actions.",
        "commands/audit.md",
        "anytime intelligence test, Definition 7",
        also=("sensitive",),
    ),
    Term(
        "difference",
        "The mean difference between two agents on what both finished: the same environments "
        "with the same randomness. It is a real one where its interval does not contain 0.",
        "reports.md#which-differences-are-real",
        also=("worse by",),
    ),
    Term(
        "discount factor",
        "By how much less each reward counts than the one before.",
        "bayesian-rl.md#what-is-measured",
    ),
    Term(
        "environment class",
        "Draws environments of a wanted complexity from a random stream, and builds them: the "
        "reference machine of the papers.",
        "standard.md#3-environment-classes-and-instances",
        also=(
            "class",
            "environment",
            "environments drawn without a wish",
        ),
    ),
    Term(
        "exercise",
        "One agent in one environment for a given number of interactions or seconds. It is the "
        "unit of a test that does not adapt.",
        "standard.md#1-the-order-of-events",
        also=(
            "exercises",
            "of",
            "n",
        ),
    ),
    Term(
        "fault",
        "Why an exercise could not be finished: an error of the agent, a time-out, or the "
        "infrastructure. Those of the agent's own widen its interval and rank it last; those of "
        "the infrastructure change no rank.",
        "standard.md#8-faults",
        also=("faults",),
    ),
    Term(
        "idle",
        "The share of exercises that were over before the agent had acted; each counts as 0.",
        "tests.md#time",
    ),
    Term(
        "in common",
        "How many exercises, or runs of an adaptive test, both agents finished.",
        "reports.md#which-differences-are-real",
    ),
    Term(
        "interactions",
        "How often the agent was given a reward and an observation and answered with an action.",
        "standard.md#1-the-order-of-events",
        also=("mean interactions",),
    ),
    Term(
        "interval",
        "Where the true score lies: 95 of 100 such intervals contain it.",
        "intervals.md#which-interval-is-printed",
        also=("95 % interval",),
    ),
    Term(
        "joint",
        "All agents are in the same environment at once, each in a place of its own.",
        "standard.md#14-several-agents-at-once",
    ),
    Term(
        "Kt",
        "Levin's complexity: the length of a program plus the logarithm of the time that it "
        "takes. Automata and torus are graded by the largest Kt of what an agent may see, series "
        "of the C-test by that of their first twelve letters, environments of lambda-universal by "
        "their programs.",
        "classes/automata.md",
        "anytime intelligence test, Definition 9",
        also=("kt-max",),
    ),
    Term(
        "level",
        "In an anytime test the mean complexity of the environments in the last round.",
        "tests.md#one-repetition",
        "anytime intelligence test, Definitions 18 and 19 (xi)",
    ),
    Term(
        "loss",
        "In a test with a change: by how much the mean reward is lower over a window just after "
        "it than before.",
        "perturbing.md#a-world-that-changes",
        also=("change",),
    ),
    Term(
        "measure",
        "A number that describes an environment, such as its size or variability.",
        "perturbation.md",
        also=("value",),
    ),
    Term(
        "memory",
        "What an agent keeps from one exercise to the next: nothing (fresh), or all that it "
        "learnt (carried).",
        "commands/run.md#memory-between-exercises",
    ),
    Term(
        "offline",
        "The time of an agent's offline phase, in which it is told a prior before any exercise.",
        "bayesian-rl.md#what-is-measured",
        also=("offline, s",),
    ),
    Term(
        "p",
        "The smallest error rate at which the interval excludes 0: how likely a difference at "
        "least as large would be between equal agents, at the most.",
        "reports.md#which-differences-are-real",
        also=("p-value",),
    ),
    Term(
        "paired",
        "Agents are compared exercise by exercise in the same environments with the same "
        "randomness, which is more precise than two scores side by side.",
        "reports.md#which-differences-are-real",
    ),
    Term(
        "part",
        "What the catalogue lists: an environment class, an agent, a test, a payoff and so on. "
        "Its id has a version, and its package says where it comes from.",
        "commands/list.md",
        also=(
            "id",
            "kind",
            "package",
            "parameter",
            "parameters",
            "type",
            "default",
            "meaning",
            "what it is",
        ),
    ),
    Term(
        "payoff",
        "What an exercise is worth: a pure function of its rewards and times to a number.",
        "standard.md#12-payoffs-and-protocols",
        "fixed-time payoffs, section 3",
        also=("mean payoff",),
    ),
    Term(
        "per decision",
        "The time of one decision of an agent: its mean, what 99 % do not exceed, the longest, "
        "and the processor time.",
        "bayesian-rl.md#what-is-measured",
        also=(
            "its processor time",
            "99 %",
            "longest",
            "online, ms per decision",
        ),
    ),
    Term(
        "potential",
        "The mean of the average rewards in those exercises in which the agent had time to act "
        "at all: what it would get if time did not count.",
        "tests.md#time",
    ),
    Term(
        "precision",
        "Half the length of an interval at which the test of an agent ends.",
        "commands/run.md#stopping-and-precision-as-a-goal",
    ),
    Term(
        "prior",
        "The distribution over environments that an agent is told before any exercise.",
        "bayesian-rl.md#what-is-measured",
    ),
    Term(
        "published",
        "The score that the paper prints for the same setting.",
        "bayesian-rl.md#the-published-experiments",
    ),
    Term(
        "random numbers of transitions",
        "Whether all agents meet the same ones, so that differences between them are more precise.",
        "bayesian-rl.md",
    ),
    Term(
        "recovered",
        "In how many exercises the level from before the change was regained, or nothing was lost.",
        "perturbing.md#a-world-that-changes",
    ),
    Term(
        "recovery time",
        "Interactions from the change until the level was regained: the median of all exercises.",
        "perturbing.md#a-world-that-changes",
        also=("recovery",),
    ),
    Term(
        "repetition",
        "One whole run of an adaptive test from its beginning. Repetitions are independent, so "
        "they carry the interval.",
        "tests.md#several-repetitions-and-what-exactly-is-estimated",
        also=("repetitions",),
    ),
    Term(
        "score",
        "The mean of what all exercises, or all runs of an adaptive test, were worth; what it "
        "estimates is said below each table.",
        "tests.md#several-repetitions-and-what-exactly-is-estimated",
    ),
    Term(
        "seated beside each agent",
        "Agents that are in all environments too, act there and have no score. They belong to the "
        "test: scores with others beside the agent, or with none, are those of other tests.",
        "standard.md#14-several-agents-at-once",
        also=("fault of a seated agent",),
    ),
    Term(
        "seed",
        "The root of all randomness of a test. Without a given one a secret seed is drawn, "
        "which no agent can know.",
        "commands/run.md#the-seed",
        also=("seeds",),
    ),
    Term(
        "simultaneous interval",
        "Intervals that all hold at once with a confidence of 95 %: the error rate is divided "
        "among the pairs of agents, as the best one was selected by the same numbers.",
        "reports.md#which-differences-are-real",
        also=(
            "simultaneous 95 %",
            "simultaneous",
        ),
    ),
    Term(
        "slot",
        "In an anytime test the length of an exercise; each is half as long again as the one "
        "before. Tables show that of the last round.",
        "tests.md#one-repetition",
        "anytime intelligence test, Definitions 18 and 19 (tau)",
    ),
    Term(
        "spread",
        "The standard deviation between the scores of repetitions.",
        "tests.md#several-repetitions-and-what-exactly-is-estimated",
    ),
    Term(
        "stability",
        "How little the running score moved in the second half of the rounds, from 0 to 1. It "
        "is not an interval: another repetition may end elsewhere.",
        "tests.md#one-repetition",
    ),
    Term(
        "stage",
        "How far a participant of a study is, how often they were interrupted, and when they "
        "were last seen.",
        "people.md",
        also=(
            "interruptions",
            "last seen",
        ),
    ),
    Term(
        "test",
        "Which exercises there are and how they are scored: a protocol with its parameters.",
        "standard.md#12-payoffs-and-protocols",
        also=("protocol",),
    ),
    Term(
        "time-out",
        "How long an agent may take for one action, and what happens when it takes longer.",
        "standard.md#6-a-time-out-per-action",
        also=("time-out of an action",),
    ),
    Term(
        "traces",
        "All rewards and times of an exercise. Where they are kept, other payoffs can be "
        "computed later.",
        "standard.md#9-what-is-recorded",
    ),
    Term(
        "verdict",
        "What a comparison shows: better, worse, no difference shown (these exercises cannot "
        "tell), or too few exercises.",
        "reports.md#which-differences-are-real",
    ),
    Term(
        "won",
        "On how many of the exercises that two agents have in common the first one got more, or "
        "less.",
        "commands/compare.md#two-agents",
        also=("lost",),
    ),
    Term(
        "Z",
        "How many standard errors a score lies below the best one: the statistic of the test by "
        "which candidates are discarded.",
        "bayesian-rl.md#decisions-under-bounds-on-time",
    ),
)
"""All of them, in alphabetical order."""


@cache
def _by_word() -> dict[str, Term]:
    words = {name.lower(): term for term in TERMS for name in term.also}
    return words | {term.name.lower(): term for term in TERMS}


def plain(word: str) -> str:
    """A word as it is looked up: in small letters, on one line, without what can be left out."""
    return re.sub(r"\s+", " ", word.strip().lower().replace("\N{NO-BREAK SPACE}", " "))


def term_of(word: str) -> Term | None:
    """The term that a word or the head of a column stands for; ``None`` if it is not explained."""
    known, word = _by_word(), plain(word)
    return known.get(word) or known.get(word.removesuffix("s"))


def explained(word: str) -> Term:
    """The same of what a user asks for.

    Raises:
        UnknownNameError: It is not explained; the message names the nearest.
    """
    if (term := term_of(word)) is None:
        raise UnknownNameError("term", plain(word), [*_by_word()])
    return term


def terms_in(headings: Iterable[str]) -> list[Term]:
    """What the heads of a table stand for, each once, in their order."""
    words = (part for heading in headings for part in heading.split("\n"))
    return list(dict.fromkeys(term for word in words if (term := term_of(word))))
