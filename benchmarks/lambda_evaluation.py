"""One evaluation of Q-learning in Lambda environments, in a process of its own.

Run ``python benchmarks/lambda_evaluation.py EXERCISES INTERACTIONS WORKERS``. It prints what the
evaluation cost, from the drawing of environments to the last outcome on disk: see ``Cost``.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from multiprocessing import active_children
from pathlib import Path
from time import perf_counter, process_time

from omnimeter.contract import Outcome, Spec
from omnimeter.execution import Observer, Options, evaluate
from omnimeter.protocols.evaluation import Evaluation
from omnimeter.results import open_writer

CELLS = 9


@dataclass(frozen=True)
class Cost:
    """What an evaluation cost.

    Attributes:
        seconds: How long it took.
        busy: Processor seconds of the process itself and of the busiest one beside it: what it
            would at most have taken with a core for each.
        memory: The largest memory of its process, in bytes.
    """

    seconds: float
    busy: float
    memory: float


def cost(exercises: int, interactions: int, workers: int) -> Cost:
    """Let a fresh process do an evaluation."""
    numbers = [str(number) for number in (exercises, interactions, workers)]
    command = [sys.executable, __file__, *numbers]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
    return Cost(*map(float, done.stdout.split()))


class Workers(Observer):
    """Watches how much processor time the processes beside this one have had.

    Attributes:
        busiest: The seconds of the one that has had most, as of the last exercise.
    """

    busiest = 0.0

    def finished(self, agent: Spec, outcomes: Sequence[Outcome]) -> None:  # noqa: ARG002, D102 - see Observer
        used = [_processor_seconds(child.pid) for child in active_children()]
        self.busiest = max(self.busiest, *used, 0.0)


def _processor_seconds(process: int | None) -> float:
    # The name of the program, which stands in parentheses, may hold anything.
    numbers = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    return sum(map(int, numbers[11:13])) / os.sysconf("SC_CLK_TCK")


def _most_memory() -> int:
    """The largest memory of this process so far.

    What ``getrusage`` says would also count the process that started this one.
    """
    lines = Path("/proc/self/status").read_text().splitlines()
    return 1024 * next(int(line.split()[1]) for line in lines if line.startswith("VmHWM"))


def main(exercises: int, interactions: int, workers: int) -> None:
    parameters = {
        "environment_class": {"id": "lambda-v1", "parameters": {"cells": CELLS}},
        "exercises": exercises,
        "interactions": interactions,
    }
    evaluation = Evaluation(Spec("sample-v1", parameters), (Spec("q-learning-v1"),))
    with tempfile.TemporaryDirectory() as directory:
        watching = Workers()
        before, used = perf_counter(), process_time()
        with open_writer(Path(directory) / "evaluation", evaluation.to_json()) as writer:
            result = evaluate(evaluation, writer, Options(workers=workers), watching)
        seconds, busy = perf_counter() - before, process_time() - used + watching.busiest
    assert result.complete
    print(seconds, busy, _most_memory())


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
