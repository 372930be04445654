"""One anytime test by interactions: Q-learning in automata, ten repetitions.

Run ``python benchmarks/anytime_test.py INTERACTIONS ...`` for a process of its own. It takes a test
of each length and prints a line for each: see ``Cost``. With ``NUMBA_DISABLE_JIT=1`` the same test
is taken by ordinary Python.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from contextlib import closing
from dataclasses import astuple, dataclass
from pathlib import Path
from time import perf_counter, process_time

from omnimeter.contract import Outcome, Spec
from omnimeter.execution import evaluate
from omnimeter.execution.workers import ExerciseRunner
from omnimeter.protocols.anytime import AnytimeUntimed
from omnimeter.protocols.evaluation import Evaluation
from omnimeter.results import open_writer

AGENT = Spec("q-learning-v1")
ENVIRONMENTS = "automata-v1"
WARM_UP = 100


@dataclass(frozen=True)
class Cost:
    """What a test cost.

    Attributes:
        score: The score, to see that it was the same test.
        seconds: Processor seconds.
        waiting: Seconds by the clock on the wall.
        memory: The largest memory of its process so far, in bytes.
    """

    score: float
    seconds: float
    waiting: float
    memory: float


def take_test(interactions: int, seed: int = 0) -> Cost:
    """The whole test without a store: choosing, building, running, judging, scoring."""
    before, used = perf_counter(), process_time()
    protocol = AnytimeUntimed(ENVIRONMENTS, interactions, seed=seed)
    outcomes: list[Outcome] = []
    with closing(ExerciseRunner()) as runner:
        while exercises := protocol.propose(AGENT, outcomes):
            done = runner.outcomes(exercises, protocol.payoff())
            outcomes += [outcome for outcome, _ in done]
    score = protocol.score(outcomes).value
    seconds, waiting = process_time() - used, perf_counter() - before
    assert score is not None
    assert sum(outcome.interactions for outcome in outcomes) == interactions
    return Cost(score, seconds, waiting, _most_memory())


def take_stored_test(interactions: int, seed: int = 0) -> Cost:
    """The same as an evaluation, with every outcome on disk.

    With a seed that was not used before: what was chosen for it would still be known.
    """
    parameters = {"environment_class": ENVIRONMENTS, "interactions": interactions, "seed": seed}
    evaluation = Evaluation(Spec("anytime-untimed-v1", parameters), (AGENT,))
    with tempfile.TemporaryDirectory() as directory:
        before, used = perf_counter(), process_time()
        with open_writer(Path(directory) / "evaluation", evaluation.to_json()) as writer:
            result = evaluate(evaluation, writer)
        seconds, waiting = process_time() - used, perf_counter() - before
    assert result.complete
    score = result.scores[AGENT].value
    assert score is not None
    return Cost(score, seconds, waiting, _most_memory())


def in_fresh_process(lengths: Sequence[int], *, compiled: bool = True) -> list[Cost]:
    """Tests of some lengths, one after the other, in a process that has done nothing before."""
    environment_class = {**os.environ, "NUMBA_DISABLE_JIT": "0" if compiled else "1"}
    done = subprocess.run(
        [sys.executable, __file__, *map(str, lengths)],
        stdout=subprocess.PIPE,
        text=True,
        check=True,
        env=environment_class,
    )
    return [Cost(*map(float, line.split())) for line in done.stdout.splitlines()]


def _most_memory() -> int:
    lines = Path("/proc/self/status").read_text().splitlines()
    return 1024 * next(int(line.split()[1]) for line in lines if line.startswith("VmHWM"))


def main(lengths: Sequence[int]) -> None:
    take_test(WARM_UP)  # compiles the loop, and counts the automata of every size
    for length in lengths:
        print(*map(repr, astuple(take_test(length))))


if __name__ == "__main__":
    main([int(length) for length in sys.argv[1:]])
