"""What exercises cost around their interactions: benchmarks/units.py [PART ...].

Processor time is that of this process and its workers, and the clock on the wall is read where the
question is how long one waits.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from resource import RUSAGE_CHILDREN, RUSAGE_SELF, getrusage
from time import perf_counter

import numpy as np
from measuring import examine_parts

from omnimeter.api.evaluation import plan
from omnimeter.api.result import opened
from omnimeter.contract import Agent, Ending, Exercise, Outcome
from omnimeter.execution.units import (
    evaluation_of,
    processes,
    this_process,
    unfinished,
    units_in,
    units_of,
)
from omnimeter.execution.workers import Isolation, Options
from omnimeter.results import Record, Writer

EXERCISES, INTERACTIONS = 10_000, 1_000
AGENTS = ("q-learning", "random")
LONG = 200
"""Times as many interactions: what they take more is the loop's own time."""


class Slow(Agent):
    """An agent in Python: 1,000 of its actions take about ten milliseconds."""

    def act(self, reward: float, observation: object) -> int:  # noqa: ARG002
        """Spend some time, and do the first thing."""
        sum(range(300))
        return 0


def made(path: Path, agents: object, environment_class: str, exercises: int, length: int) -> Path:
    """A new evaluation that nothing has begun."""
    settings = {"exercises": exercises, "interactions": length, "seed": 0}
    evaluation, _ = plan(agents, environment_class, None, settings)
    with opened(evaluation, path):
        return path


def processor() -> float:
    """The processor time of this process and of workers that have ended."""
    used = (getrusage(who) for who in (RUSAGE_SELF, RUSAGE_CHILDREN))
    return sum(each.ru_utime + each.ru_stime for each in used)


def _ignore(receipt: object) -> None:
    """Receipts are not looked at."""


def timed(
    path: Path, execute: Callable[..., None], options: Options | None = None
) -> tuple[float, float]:
    """Seconds by the clock on the wall and of the processor that a whole evaluation takes."""
    units = units_in(evaluation_of(Record(path)), path, options)
    begun, used = perf_counter(), processor()
    execute(units, _ignore)
    return perf_counter() - begun, processor() - used


def single() -> bool:
    """What an exercise of 1,000 interactions takes in one process beside these."""
    holds = True
    for name in ("cups", "automata", "lambda"):
        with tempfile.TemporaryDirectory() as folder:
            root = Path(folder)
            timed(made(root / "warm", AGENTS, name, 20, INTERACTIONS), this_process)
            few = EXERCISES // LONG
            _, loop = timed(
                made(root / "loop", AGENTS, name, few, LONG * INTERACTIONS), this_process
            )
            took = min(
                timed(made(root / f"{k}", AGENTS, name, EXERCISES, INTERACTIONS), this_process)[1]
                for k in range(3)
            )
        overhead = (took - loop) / (len(AGENTS) * EXERCISES) * 1e6
        bar = 120.0 if name == "cups" else None
        text = "" if bar is None else f", the bar is {bar:g}"
        print(f"{name}: {overhead:.0f} us of processor time per exercise around the loop{text}")
        holds &= bar is None or overhead <= bar
    return holds


def shared() -> bool:
    """Short exercises with two workers: less than 1 ms each, and never slower than with one."""
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        timed(made(root / "warm", AGENTS, "cups", 20, INTERACTIONS), this_process)
        count = 5 * EXERCISES
        alone, _ = timed(made(root / "one", AGENTS, "cups", count, INTERACTIONS), processes(1))
        two, used = timed(made(root / "two", AGENTS, "cups", count, INTERACTIONS), processes(2))
    each = used / (len(AGENTS) * count) * 1e3
    print(f"{2 * count} exercises: {alone:.1f} s with one worker, {two:.1f} s with two")
    print(f"{each:.3f} ms of processor time per exercise, the bar is 1")
    print(f"one worker takes {alone / two:.2f}x, the bar is at least 1x")
    return each <= 1 and alone >= two


def python() -> bool:
    """Exercises of 10 ms: two workers at least 1.85 times as fast, but for their start."""
    with tempfile.TemporaryDirectory() as folder:
        root, agent = Path(folder), f"{Path(__file__).stem}:Slow"
        here = Options(isolation=Isolation.NONE)  # an agent that is trusted
        seconds = {}
        for workers in (1, 2):
            long, short = (
                timed(
                    made(root / f"{workers}-{n}", [agent], "cups", n, 1_000),
                    processes(workers),
                    here,
                )[0]
                for n in (2_000, 20)
            )
            seconds[workers] = long - short
    ratio = seconds[1] / seconds[2]
    print(f"exercises of {seconds[1] / 1_980 * 1e3:.1f} ms: two workers are {ratio:.2f}x as fast, "
          "the bar is at least 1.85x")  # fmt: skip
    return ratio >= 1.85


def resuming() -> bool:
    """Going on with an evaluation of 1,000,000 finished outcomes."""
    with tempfile.TemporaryDirectory() as folder:
        path = made(Path(folder) / "e", AGENTS, "cups", 500_100, 10)
        store(path, 500_000)
        evaluation, _ = plan(
            AGENTS, "cups", None, {"exercises": 500_100, "interactions": 10, "seed": 0}
        )
        with opened(evaluation, path):  # merges what many writers have left
            pass
        begun = perf_counter()
        with opened(evaluation, path):
            left = unfinished(units_of(path))
        took = perf_counter() - begun
    print(f"it begins after {took:.1f} s, the bar is 3; {len(left)} units are left")
    return took <= 3 and len(left) == 2


def store(path: Path, count: int) -> None:
    """Let each agent have had the first exercises, with made-up results."""
    writer, rng = Writer(path, ()), np.random.default_rng(0)
    evaluation = evaluation_of(writer)
    exercises = evaluation.make_protocol().propose(evaluation.agents[0], [])
    first, instances = exercises[0], [each.instance for each in exercises[:100]]
    for agent in evaluation.agents:
        for start in range(0, count, 4096):
            numbers = range(start, min(start + 4096, count))
            payoffs = rng.normal(0, 0.1, len(numbers)).round(4).tolist()
            given = (
                replace(first, agent=agent, number=k, instance=instances[k % 100]) for k in numbers
            )
            writer.append(map(outcome, given, payoffs))


def outcome(exercise: Exercise, payoff: float) -> Outcome:
    """An outcome with this payoff."""
    return Outcome(exercise, payoff, 10, 10 * payoff, 9, 10, Ending.BUDGET)


PARTS = {"single": single, "shared": shared, "python": python, "resuming": resuming}

if __name__ == "__main__":
    sys.exit(examine_parts(PARTS, sys.argv[1:]))
