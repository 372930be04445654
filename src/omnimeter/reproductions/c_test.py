"""The C-test: its printed series, and what harder ones are to agents (anytime test, 3.2)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import islice, pairwise
from math import log2
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from omnimeter.agents.predictors import PPM, NGram, Solomonoff
from omnimeter.agents.simple import RandomAgent
from omnimeter.contract import Agent, Budget, Exercise, stream
from omnimeter.environments.c_test import CTest, complexity, encode, written
from omnimeter.estimation import Estimate, difference, mean
from omnimeter.interaction import run_single
from omnimeter.payoffs import PlannedAverage
from omnimeter.reproductions import plots, shared
from omnimeter.reproductions.shared import (
    REWARDS,
    SIMULATED,
    Report,
    Reproduced,
    Statement,
    fmt,
    silent,
    write_records,
)
from omnimeter.series.machine import run

if TYPE_CHECKING:
    from matplotlib.axes import Axes


class Printed(NamedTuple):
    """A series of the paper's figure 2, with its k; and how deep we search to explain it."""

    series: str
    answer: str
    k: int
    depth: int


PRINTED = (
    Printed("adgj", "m", 9, 9),
    Printed("aazcyex", "g", 12, 9),
    Printed("cabdbccecd", "d", 14, 11),
)

GRADES = ((16.0, 21.0), (21.0, 24.0), (24.0, 27.0), (27.0, 30.0), (30.0, 33.0))
"""Bands of complexity, in bits. Simpler series are few."""


class Mode(NamedTuple):
    """How series are presented: the feedback, and the interactions and series of a grade."""

    feedback: str
    title: str
    interactions: int
    series: int


MODES = (
    Mode("end", "One question for each series", 1, 400),
    Mode("each", "Every letter is asked for, 40 of each series", 40, 60),
)


class Subject(NamedTuple):
    """An agent, with its line in the figure."""

    name: str
    agent: Agent
    colour: str
    line: str = "-"


SUBJECTS = (
    Subject("Solomonoff", Solomonoff(), "#0072b2"),
    Subject("n-gram, steps", NGram(of="steps"), "#d55e00"),
    Subject("PPM, steps", PPM(of="steps"), "#cc79a7", "--"),
    Subject("n-gram, letters", NGram(), "#009e73"),
    Subject("PPM, letters", PPM(), "#7a5195", "--"),
    Subject("random", RandomAgent(), "#6f7683"),
)
UPPER, *LEARNERS, RANDOM = (each.name for each in SUBJECTS)

NEAR_THE_TOP = 0.85
"""From this average on. The first letters of a series that is shown from its beginning on cannot be
known."""

Results = Mapping[tuple[str, str], Sequence[Sequence[float]]]
"""For each feedback and agent the average rewards in the series of each grade."""


def _explanations(report: Report) -> tuple[list[dict[str, Any]], list[Statement]]:
    """The simplest program of each printed series, and its answer."""
    rows, statements = [], []
    for place, printed in enumerate(PRINTED):
        named = ", ".join(printed.series)
        report(f"all programs that write {named}", 0.1 * place)
        environment_class = CTest(series=printed.series, depth=printed.depth)
        program = environment_class.draw(np.random.default_rng(0)).data["program"]
        answer = written(program, len(printed.series) + 1)[-1]
        _, steps = next(islice(run(program), len(printed.series), None))
        rows.append(
            {
                "series": named,
                "answer": answer,
                "answer.published": printed.answer,
                "program": program,
                "bits": len(encode(program)),
                "k": round(complexity(program), 2),
                "k.published": printed.k,
                "instructions": round(len(program) + log2(steps), 2),
            }
        )
        statements.append(
            Statement(
                f"The series {named} (k = {printed.k}) goes on with {printed.answer}.",
                f"Its simplest program, {program}, goes on with {answer}. Of all programs of up to "
                f"{printed.depth} instructions, none that goes on otherwise comes within 3 bits.",
                answer == printed.answer,
            )
        )
    ours = [row["k"] for row in rows]
    counted = ", ".join(f"{row['instructions']:.1f}" for row in rows)
    statements.append(
        Statement(
            "These three series are of increasing complexity: k = 9, 12 and 14.",
            f"On our machine, with three bits for each instruction, they have {ours[0]:.1f}, "
            f"{ours[1]:.1f} and {ours[2]:.1f}. With one bit for each instruction, and the steps up "
            f"to the answer, it would be {counted}. Rule: they are in this order.",
            all(one < other for one, other in pairwise(ours)),
        )
    )
    return rows, statements


def _exercises(mode: Mode) -> list[list[Exercise]]:
    """The same series for all agents, those of each grade by 2^-complexity."""
    environment_class = CTest(mode.feedback)  # type: ignore[arg-type] # one of the names
    budget = Budget(interactions=mode.interactions)
    graded = []
    for grade, (low, high) in enumerate(GRADES):
        exercises = []
        for number in range(mode.series):
            rng = stream(grade, "c-test", number).generator()
            instance = environment_class.draw_between(rng, low, high)
            assert instance is not None  # there are some in every grade
            exercises.append(Exercise(SIMULATED, SIMULATED, instance, budget, grade, number))
        graded.append(exercises)
    return graded


def measure(modes: Sequence[Mode] = MODES, report: Report = silent) -> Results:
    """Let all agents continue the same series."""
    results = {}
    payoff = PlannedAverage()
    for mode in modes:
        environment_class = CTest(mode.feedback)  # type: ignore[arg-type]
        graded = _exercises(mode)
        for place, subject in enumerate(SUBJECTS):
            done = (modes.index(mode) + place / len(SUBJECTS)) / len(modes)
            report(f"{subject.name}: {mode.title.lower()}", done)
            results[mode.feedback, subject.name] = [
                [payoff(trace) for trace in run_single(environment_class, subject.agent, exercises)]
                for exercises in graded
            ]
    return results


def _estimates(results: Results, feedback: str, name: str) -> list[Estimate]:
    return [mean(values, support=REWARDS) for values in results[feedback, name]]


def statements(results: Results, mode: Mode) -> list[Statement]:
    """What harder series are to agents, in one way of presenting them."""
    where = mode.title.lower()
    random = [
        mean(values, confidence=0.999, support=REWARDS) for values in results[mode.feedback, RANDOM]
    ]
    upper = _estimates(results, mode.feedback, UPPER)
    said = [
        Statement(
            f"A random agent gets 0, however complex the series are ({where}).",
            f"{_list(random)}, 99.9 % intervals. Rule: all contain 0.",
            all(map(shared.contains_zero, random)),
        ),
        Statement(
            f"Prediction by all programs, as Solomonoff has it, does not fail ({where}).",
            f"{_list(upper)}. Rule: all are above {NEAR_THE_TOP:g}.",
            all(each.low > NEAR_THE_TOP for each in upper),
        ),
    ]
    recurring = ", ".join(f"{share:.0%}" for share in _recurring(mode))
    for name in LEARNERS:
        values = results[mode.feedback, name]
        fall = difference(values[0], values[-1])
        all_grades = _list(_estimates(results, mode.feedback, name))
        said.append(
            Statement(
                f"The more complex a series, the harder it is: {name} ({where}).",
                f"{all_grades}. From the lowest grade to the highest it falls by {fmt(fall, 2)}. "
                "Rule: the fall is above 0.",
                fall.low > 0,
                f"an agent that compares letters can only expect one that was there before, as in "
                f"{recurring} of the series of these grades; many of the simplest series never "
                "repeat a letter"
                if "letters" in name
                else "",
            )
        )
    return said


def _recurring(mode: Mode) -> list[float]:
    """In which share of the series of each grade the answer is among the letters before it."""
    shares = []
    for exercises in _exercises(mode):
        programs = (
            (each.instance.data["program"], each.instance.data["shown"]) for each in exercises
        )
        series = [written(program, shown + 1) for program, shown in programs]
        shares.append(sum(each[-1] in each[:-1] for each in series) / len(series))
    return shares


def _list(estimates: Sequence[Estimate]) -> str:
    return ", ".join(fmt(each, 2) for each in estimates)


def _draw(results: Results, modes: Sequence[Mode], out: Path) -> dict[str, Path]:
    with plots.styled_figure(10.5, 4.4) as figure:
        for place, mode in enumerate(modes):
            axes = figure.add_axes((0.06 + 0.5 * place, 0.12, 0.3, 0.66))
            _draw_mode(axes, results, mode)
        plots.add_header(
            figure,
            "More complex series are harder for agents that compare steps, not letters",
            "Average reward by complexity: a right letter of four pays 1, a wrong one -1/3. "
            "Solomonoff knows all programs. Bands are 95 % intervals.",
        )
        return plots.write_figure(figure, out / "c-test")


def _draw_mode(axes: Axes, results: Results, mode: Mode) -> None:
    places = [sum(grade) / 2 for grade in GRADES]
    ends = []
    for subject in SUBJECTS:
        band = shared.bands(_estimates(results, mode.feedback, subject.name))
        plots.plot_band(axes, places, band, subject.colour, ls=subject.line, marker="o", ms=3)
        ends.append((float(band[0, -1]), subject.name, subject.colour))
    plots.grid_and_zero(axes)
    plots.panel_title(axes, mode.title)
    axes.set(xlabel="complexity Kt (bits)", ylabel="average reward", ylim=(-0.15, 1.05))
    plots.label_ends(axes, ends)


def reproduce(out: Path, report: Report = silent, modes: Sequence[Mode] = MODES) -> Reproduced:
    """Explain the printed series, and let agents continue series of all grades."""
    printed, said = _explanations(report)
    results = measure(modes, lambda doing, done: report(doing, 0.3 + 0.7 * done))
    rows = [
        {
            "feedback": mode.feedback,
            "agent": subject.name,
            "lowest": low,
            "highest": high,
            **{key: round(value, 3) for key, value in shared.fields(estimate, "score").items()},
        }
        for mode in modes
        for subject in SUBJECTS
        for (low, high), estimate in zip(
            GRADES, _estimates(results, mode.feedback, subject.name), strict=True
        )
    ]
    for mode in modes:
        said += statements(results, mode)
    files = {
        "table": write_records(out / "c-test.csv", rows),
        "printed series": write_records(out / "c-test-printed.csv", printed),
    }
    return Reproduced(
        name="c-test",
        title="Series of letters that go on in one way only (the C-test)",
        statements=said,
        figures={f"{row['series']}.k": row["k"] for row in printed},
        rows=rows,
        files=files | _draw(results, modes, out),
        findings="docs/findings.md#the-c-test",
    )
