"""How much the last exercise of a repetition, which is cut off, should count (Definitions 18, 19).

The text ends a test in the middle of an exercise, and does not say what that one is worth. One
interaction more should not move the expected score of a test visibly.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from omnimeter.catalogue import Kind, make
from omnimeter.contract import Budget, Outcome, Spec, Trace
from omnimeter.contract.agent import FloatArray
from omnimeter.contract.exercise import NANOSECONDS
from omnimeter.estimation import mean
from omnimeter.execution.workers import make_agent, make_environment_class, outcome_of
from omnimeter.interaction import run_single
from omnimeter.protocols.anytime import Anytime
from omnimeter.reports.style import SERIES
from omnimeter.reproductions import plots
from omnimeter.reproductions.anytime.shared import part_of
from omnimeter.reproductions.shared import Report, Statement, Steps, join

AGENT, ENVIRONMENT_CLASS = Spec("q-learning-v1"), "automata-v1"

FIRST = 10  # the curves begin after so many whole exercises, which have 179 interactions

TICK = 1e-6  # of Definition 18, under the virtual clock

RULES = {
    "share": "counts by its share of the slot (ours)",
    "whole": "counts like a whole one",
    "omitted": "is left out",
    "merged": "is added to the last whole one",
}
"""What may be done with an exercise that is cut off, in words."""

TICKS = (200, 500, 1000, 2000, 4000)  # lengths that are labelled in the figure

VISIBLE = 0.002
"""A step of the expected score by more than this, for one interaction, would be visible."""


@dataclass(frozen=True)
class Curve:
    """The expected score by the length of a repetition, in interactions, by each of the rules.

    Attributes:
        definition: The number of the test.
        lengths: The lengths.
        scores: The scores of all repetitions (columns) at each length (rows), by rule.
    """

    definition: int
    lengths: FloatArray
    scores: Mapping[str, FloatArray]

    def steps(self, rule: str) -> FloatArray:
        """By how much each further interaction moves the mean, where two lengths are neighbours."""
        means = self.scores[rule].mean(axis=1)
        return np.asarray(np.diff(means)[np.diff(self.lengths) < 2])

    def rows(self) -> list[dict[str, Any]]:
        """The mean by each rule at each length, and the half width of the interval of ours."""
        return [
            {
                "definition": self.definition,
                "length": round(float(length)),
                **{rule: float(table[place].mean()) for rule, table in self.scores.items()},
                "half-width": (one := mean(self.scores["share"][place])).high - one.value,
            }
            for place, length in enumerate(self.lengths)
        ]


def curves(
    repetitions: int,
    rounds: int,
    report: Report,
    steps: Steps = Steps(),  # noqa: B008 - a frozen value
) -> list[Curve]:
    """The curves of both tests.

    Args:
        repetitions: From how many repetitions.
        rounds: How many whole exercises the longest has.
        report: Called with the progress.
        steps: Where finished curves are kept.
    """
    results = []
    for place, definition in enumerate((19, 18)):
        part = part_of(report, place, 2, f"the end of repetitions, Definition {definition}")
        results.append(steps(_curve, definition, repetitions, rounds, report=part))
    return results


def _test(definition: int, repetitions: int) -> Anytime:
    """The test of a definition."""
    clock: dict[str, Any] = {"clock": "virtual", "tick": TICK}
    completed: dict[str, Any] = {"payoff": "average-v1"}  # of cut traces; no agent stops here
    name, more = ("timed", clock) if definition == 18 else ("untimed", completed)
    total = {"time": 1e6} if definition == 18 else {"interactions": 10**12 * repetitions}
    parameters = {"environment_class": ENVIRONMENT_CLASS, "repetitions": repetitions, **total}
    test: Anytime = make(Kind.PROTOCOL, Spec(f"anytime-{name}-v1", {**parameters, **more}))
    return test


def _curve(definition: int, repetitions: int, rounds: int, report: Report) -> Curve:
    """The curve of one test, whose exercises go on for as long again as the next one would last.

    So each trace has in it what the exercise is worth if it is cut off earlier, and if what would
    be left for the next one is added to it.
    """
    test = _test(definition, repetitions)
    payoff, tick = test.payoff(), round(test.clock.tick * NANOSECONDS)
    environment_class = make_environment_class(Spec(ENVIRONMENT_CLASS))
    done: list[Outcome] = []
    slots: list[int] = []  # in nanoseconds
    rewards: list[FloatArray] = []  # of whole exercises, by repetition
    traces: list[Trace] = []
    lengths: list[float] = []
    scores: dict[str, list[FloatArray]] = {rule: [] for rule in RULES}
    for place in range(rounds):
        report("", place / rounds)
        exercises = sorted(test.propose(AGENT, done), key=lambda each: each.number)
        slots.append(_nanoseconds(exercises[0].budget, tick))
        longer = [replace(each, budget=_longer(each.budget)) for each in exercises]
        last, traces = traces, [*run_single(environment_class, lambda: make_agent(AGENT), longer)]
        for end in _ends(slots[-1], tick) if place >= min(FIRST, rounds - 1) else ():
            share, total = end / slots[-1], np.sum(rewards, axis=0)
            cut = np.array([payoff(each.until(end)) for each in traces])
            added = np.array([payoff(each.until(slots[-2] + end)) for each in last])
            as_whole = (total + cut) / (place + 1)
            scores["share"].append((total + share * cut) / (place + share))
            scores["whole"].append(as_whole)
            scores["omitted"].append(as_whole if share == 1 else total / place)
            merged = (total - rewards[-1] + added) / place
            scores["merged"].append(as_whole if share == 1 else merged)
            lengths.append((sum(slots[:-1]) + end) / tick)
        pairs = zip(exercises, traces, strict=True)
        outcomes = [outcome_of(each, trace.until(slots[-1]), payoff) for each, trace in pairs]
        rewards.append(np.array([each.payoff for each in outcomes]))
        done += outcomes
    report("", 1.0)
    tables = {rule: np.array(rows) for rule, rows in scores.items()}
    return Curve(definition, np.array(lengths), tables)


def _nanoseconds(budget: Budget, tick: int) -> int:
    return budget.end_ns if budget.interactions is None else budget.interactions * tick


def _longer(budget: Budget) -> Budget:
    """The budget with that of the next exercise added: slots grow by one half."""
    if budget.interactions is None:
        return Budget(seconds=2.5 * (budget.seconds or 0.0))
    return Budget(interactions=budget.interactions + -(-3 * budget.interactions // 2))


def _ends(slot: int, tick: int) -> list[int]:
    """Where a slot may be cut off: after one interaction, before the last, and between."""
    count = slot // tick
    inner = np.geomspace(1, count - 1, 12).round().astype(int).tolist()
    return sorted({*(each * tick for each in inner), (count - 1) * tick, slot})


def figures(results: list[Curve]) -> dict[str, float]:
    """The largest step of the mean score for one interaction, by test and rule."""
    return {
        f"definition-{curve.definition}.step-{rule}": float(np.abs(curve.steps(rule)).max())
        for curve in results
        for rule in RULES
    }


def statement(results: list[Curve]) -> Statement:
    """Which rule lets one interaction more move the score, and by how much."""
    steps, texts = figures(results), []
    for curve in results:
        name = f"definition-{curve.definition}"
        words = "; ".join(f"{RULES[each]}, {steps[f'{name}.step-{each}']:.4f}" for each in RULES)
        texts.append(f"Definition {curve.definition}: if it {words}")
    count = results[0].scores["share"].shape[1]
    spans = join((results[0].lengths[0], results[0].lengths[-1]), ",.0f", " to ")
    return Statement(
        "The text does not say what the last exercise counts, which is cut off. One interaction "
        "more must not move the expected score visibly.",
        f"Q-learning in automata, {count} repetitions, {spans} interactions each. The largest step "
        f"of the mean score from one interaction to the next: {'. '.join(texts)}. Rule: by its "
        f"share of the slot, not more than {VISIBLE:g}.",
        max(steps[f"definition-{each.definition}.step-share"] for each in results) <= VISIBLE,
    )


def draw(results: list[Curve], out: Path) -> dict[str, Path]:
    """Draw the curves of both tests, one panel each."""
    with plots.styled_figure(11.5, 4.2) as figure:
        for curve, left in zip(results, (0.06, 0.45), strict=True):
            axes = figure.add_axes((left, 0.13, 0.32, 0.67))
            ends = []
            for (rule, words), colour in zip(RULES.items(), SERIES, strict=False):
                means = curve.scores[rule].mean(axis=1)
                axes.plot(curve.lengths, means, color=colour, lw=1.7 if rule == "share" else 1.1)
                ends.append((float(means[-2]), words, colour))
            axes.set_xscale("log")
            axes.set(xlabel="interactions in a repetition", ylabel="mean score")
            axes.set_xticks([each for each in TICKS if curve.lengths[0] <= each])
            axes.xaxis.set_major_formatter(plots.THOUSANDS)
            axes.minorticks_off()
            axes.set(xlim=(curve.lengths[0], curve.lengths[-1]))
            axes.grid(axis="y")
            plots.panel_title(axes, f"Definition {curve.definition}")
        plots.label_ends(axes, ends)
        plots.add_header(
            figure,
            "The last exercise, which is cut off, must not count like a whole one",
            f"Score of Q-learning in automata by the length of a repetition, mean of "
            f"{results[0].scores['share'].shape[1]}, if the last exercise …",
        )
        files = plots.write_figure(figure, out / "remainder")
    return {f"{name} of the remainder": path for name, path in files.items()}
