"""Draws ``anytime-repetition.png``: one repetition of the anytime test, exercise by exercise.

Run ``python docs/images/anytime_repetition.py``.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
from matplotlib import rc_context
from matplotlib.figure import Figure

from omnimeter.catalogue import Kind, make
from omnimeter.contract import Outcome, Spec
from omnimeter.execution.workers import ExerciseRunner
from omnimeter.reports.style import INK, LINE, MUTED, SERIES, STYLE, WIDTH

TEST = Spec(
    "anytime-untimed-v1",
    {"environment_class": {"id": "automata-v1"}, "interactions": 1000, "repetitions": 1, "seed": 3},
)


def repetition() -> list[Outcome]:
    test, agent, runner, done = (
        make(Kind.PROTOCOL, TEST),
        Spec("q-learning-v1"),
        ExerciseRunner(),
        [],
    )
    while proposed := test.propose(agent, done):
        done += [outcome for outcome, _ in runner.outcomes(proposed, test.payoff())]
    return done


def draw(done: list[Outcome]) -> Figure:
    rewards = np.array([each.payoff for each in done])
    numbers = np.arange(1, len(done) + 1)
    running = [moment.value for moment in make(Kind.PROTOCOL, TEST).course(done)]
    lengths = [each.exercise.budget.max_interactions for each in done]
    figure = Figure(figsize=(WIDTH, 5.2))
    upper, middle, lower = figure.subplots(3, sharex=True, height_ratios=[2, 2, 1.3])
    upper.plot(numbers, [each.exercise.complexity for each in done], "o-", color=SERIES[2])
    upper.set(ylabel="Complexity\nof the environment")
    middle.axhline(0, color=LINE)
    middle.bar(numbers, rewards, width=0.6, color=SERIES[5], label="reward of the exercise")
    middle.plot(numbers, running, "-", color=INK, label="score so far")
    middle.set(ylabel="Reward", ylim=(-1.05, 1.05))
    middle.legend(frameon=False, loc="lower right", ncols=2)
    lower.bar(numbers, lengths, width=0.6, color=MUTED)
    lower.set(ylabel="Interactions", yscale="log", xlabel="Exercise of the repetition")
    lower.yaxis.set_major_formatter("{x:.0f}")
    lower.set_xticks(numbers)
    figure.align_ylabels()
    return figure


def main() -> None:
    with rc_context(STYLE):
        draw(repetition()).savefig(Path(__file__).parent / "anytime-repetition.png", dpi=150)


if __name__ == "__main__":
    main()
