"""The store: writing outcomes and traces, reading them by columns, and opening a large evaluation.

Run ``python benchmarks/store.py [writing] [traces] [reading]``. It ends with 1 if a bar does not
hold. Processor time is judged. The large evaluation has a million outcomes with few different
environments, in shards of 512 that the first opening merges.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from time import process_time

import numpy as np
from measuring import examine_parts, fastest, verdict

from omnimeter.catalogue import Kind, make
from omnimeter.contract import (
    Budget,
    Ending,
    EnvironmentClass,
    Exercise,
    Instance,
    Outcome,
    Spec,
    Trace,
)
from omnimeter.interaction import run_single
from omnimeter.results import Record, open_writer

SPEC = {"protocol": {"id": "sample-v1"}, "seed": 1}
BATCH = 512
MILLION = 1_000_000
OUTCOMES_PER_SECOND = 20_000
INTERACTIONS_PER_SECOND = 2_000_000
BYTES_PER_INTERACTION = 5.0
BYTES_PER_OUTCOME = 100.0
READING_SECONDS, READING_BYTES = 1.5, 300e6
OPENING_SECONDS = 3.0
AGENTS = [Spec("q-learning-v1", {"alpha": step / 10}) for step in range(1, 5)]
LAMBDA = Spec("lambda-v1")


def instances(count: int) -> list[Instance]:
    """Some Lambda environments."""
    environment_class: EnvironmentClass = make(Kind.ENVIRONMENT, LAMBDA)
    rng = np.random.default_rng(1)
    return [environment_class.draw(rng, 9) for _ in range(count)]


def outcomes(count: int, kinds: list[Instance]) -> Iterator[list[Outcome]]:
    """Outcomes in batches; agent after agent, as workers write them."""
    budget, rng = Budget(interactions=1000), np.random.default_rng(2)
    for first in range(0, count, BATCH):
        batch = []
        for place in range(first, min(first + BATCH, count)):
            agent, number = divmod(place, -(-count // len(AGENTS)))
            exercise = Exercise(
                AGENTS[agent], LAMBDA, kinds[number % len(kinds)], budget, 1, number, complexity=9.0
            )
            payoff = float(rng.normal())
            batch.append(
                Outcome(
                    exercise, payoff, 1000, 1000 * payoff, 999_000_000_000, 1_000_000_000_000,
                    Ending.BUDGET, remarks={"path": "compiled"},
                )  # fmt: skip
            )
        yield batch


def writing() -> bool:
    """Outcomes stored per second, in shards of 512."""
    batches = list(outcomes(20 * BATCH, instances(20)))
    for batch in batches:
        for each in batch:
            _ = each.exercise.key  # which the evaluation has asked for long before

    def store() -> None:
        with tempfile.TemporaryDirectory() as directory, open_writer(directory, SPEC) as writer:
            before = process_time()
            for batch in batches:
                writer.append(batch)
            taken.append(process_time() - before)

    taken: list[float] = []
    fastest({"store": store}, rounds=5)
    rate = 20 * BATCH / min(taken)
    print(f"stored outcomes per second: {rate:,.0f}")
    return verdict("storing outcomes", rate / OUTCOMES_PER_SECOND, at_least=1)
