"""One evaluation of Q-learning in Lambda environments, in a process of its own.

Run ``python benchmarks/lambda_evaluation.py EXERCISES INTERACTIONS WORKERS``. It prints how many
seconds the evaluation took, from the drawing of environments to the last outcome on disk.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter

from omnimeter.contract import Spec
from omnimeter.execution import Options, evaluate
from omnimeter.protocols.evaluation import Evaluation
from omnimeter.results import writing

CELLS = 9


@dataclass(frozen=True)
class Cost:
    """What an evaluation cost.

    Attributes:
        seconds: How long it took.
        memory: The largest memory of its process, in bytes.
    """

    seconds: float
    memory: int


def cost(exercises: int, interactions: int, workers: int) -> Cost:
    """Let a fresh process do an evaluation."""
    numbers = [str(number) for number in (exercises, interactions, workers)]
    command = [sys.executable, __file__, *numbers]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        told = process.stdout.read()
        _, status, used = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode != 0:
        raise SystemExit(f"The evaluation ended with {process.returncode}: {' '.join(command)}")
    unit = 1 if sys.platform == "darwin" else 1024
    return Cost(float(told), used.ru_maxrss * unit)


def main(exercises: int, interactions: int, workers: int) -> None:
    parameters = {
        "environments": {"id": "lambda-v1", "parameters": {"cells": CELLS}},
        "exercises": exercises,
        "interactions": interactions,
    }
    evaluation = Evaluation(Spec("sample-v1", parameters), (Spec("q-learning-v1"),))
    with tempfile.TemporaryDirectory() as directory:
        before = perf_counter()
        with writing(Path(directory) / "evaluation", evaluation.to_json()) as writer:
            result = evaluate(evaluation, writer, Options(workers=workers))
        print(perf_counter() - before)
    assert result.complete


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
