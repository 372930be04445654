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
from itertools import product
from pathlib import Path
from time import process_time

import numpy as np
import pyarrow as pa
from measuring import examine_parts, verdict

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
from omnimeter.results.files import Layout, read_key
from omnimeter.results.tables import encode_outcomes, outcome_table

SPEC = {"protocol": {"id": "sample-v1"}, "seed": 1}
BATCH = 512
ROUNDS = 5
MILLION = 1_000_000
OUTCOMES_PER_SECOND = 20_000
INTERACTIONS_PER_SECOND = 2_000_000
BYTES_PER_INTERACTION = 5.0
BYTES_PER_OUTCOME = 100.0
READING_SECONDS, READING_BYTES = 1.5, 350e6
OPENING_SECONDS = 3.0
AGENTS = [Spec("q-learning-v1", {"alpha": step / 10}) for step in range(1, 5)]
LAMBDA = Spec("lambda-v1")


def instances(count: int) -> list[Instance]:
    """Some Lambda environments."""
    environment_class: EnvironmentClass = make(Kind.ENVIRONMENT, LAMBDA)
    rng = np.random.default_rng(1)
    return [environment_class.draw(rng) for _ in range(count)]


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
                    exercise,
                    payoff,
                    1000,
                    1000 * payoff,
                    999_000_000_000,
                    1_000_000_000_000,
                    Ending.BUDGET,
                    remarks={"path": "compiled"},
                )
            )
        yield batch


def writing() -> bool:
    """Outcomes stored per second, in shards of 512."""
    batches = list(outcomes(20 * BATCH, instances(20)))
    for batch in batches:
        for each in batch:
            _ = each.exercise.key  # which the evaluation has asked for long before
    taken = []
    for _ in range(ROUNDS):
        with tempfile.TemporaryDirectory() as directory, open_writer(directory, SPEC) as writer:
            before = process_time()
            for batch in batches:
                writer.append(batch)
            taken.append(process_time() - before)
    rate = 20 * BATCH / min(taken)
    print(f"outcomes: {rate:,.0f} per second of processor time")
    return verdict("storing outcomes", rate / OUTCOMES_PER_SECOND, at_least=1)


def stored_traces(
    exercises: list[Exercise], traces: list[Trace], batch: int
) -> tuple[float, float, float]:
    """Interactions stored and read per second of processor time, and bytes for each."""
    done = [Outcome(each, 0.5, 1, 0.5, 1, 1, Ending.BUDGET) for each in exercises]
    keyed = {each.key: trace for each, trace in zip(exercises, traces, strict=True)}
    interactions = sum(map(len, traces))
    writing, reading, size = [], [], 0
    for _ in range(ROUNDS):
        with tempfile.TemporaryDirectory() as directory, open_writer(directory, SPEC) as writer:
            before = process_time()
            for first in range(0, len(done), batch):
                portion = done[first : first + batch]
                writer.append(portion, {e.exercise.key: keyed[e.exercise.key] for e in portion})
            writing.append(process_time() - before)
            before = process_time()
            assert sum(len(trace) for _, trace in Record(directory).traces()) == interactions
            reading.append(process_time() - before)
            size = sum(file.stat().st_size for file in Path(directory, "traces").iterdir())
    return interactions / min(writing), interactions / min(reading), size / interactions


def traces() -> bool:
    """Traces of Lambda exercises: interactions stored per second, and the bytes of each."""
    kinds, holds = instances(50), True
    environment_class: EnvironmentClass = make(Kind.ENVIRONMENT, LAMBDA)
    agent = make(Kind.AGENT, AGENTS[0])
    for length, count, batch in ((1000, 1000, 100), (10, 5000, 500)):
        exercises = [
            Exercise(AGENTS[0], LAMBDA, kinds[n % len(kinds)], Budget(interactions=length), 1, n)
            for n in range(count)
        ]
        recorded = list(run_single(environment_class, agent, exercises, record=True))
        stored, read, size = stored_traces(exercises, recorded, batch)
        print(
            f"traces of {length} interactions: {stored:,.0f} stored and {read:,.0f} read per "
            f"second of processor time, {size:.2f} bytes each"
        )
        if length == 1000:
            rate = stored / INTERACTIONS_PER_SECOND
            holds &= verdict("storing interactions", rate, at_least=1)
            holds &= verdict("bytes of each", size / BYTES_PER_INTERACTION, at_most=1)
    return holds


def large(directory: Path) -> None:
    """Make an evaluation of a million outcomes, whose shards are like those of ``append``."""
    (batch,) = outcomes(BATCH, instances(20))
    pattern, kinds = outcome_table(batch)
    per_agent, rng = MILLION // len(AGENTS), np.random.default_rng(3)
    with open_writer(directory, SPEC):
        pass
    layout = Layout(directory)
    key = read_key(layout)
    assert key is not None
    for number, agent in product(range(0, per_agent, BATCH), AGENTS):
        count = min(BATCH, per_agent - number)
        table, codes = pattern.slice(0, count), rng.integers(2**63, size=count)
        changed = {
            "key": [f"{code:016x}" for code in codes.tolist()],
            "number": np.arange(number, number + count),
            "payoff": rng.normal(size=count),
            "agent": [agent.label] * count,
            "agent_key": [agent.key] * count,
        }
        for name, column in changed.items():
            place = table.schema.get_field_index(name)
            array = pa.array(column, table.schema.field(name).type)
            table = table.set_column(place, table.schema.field(name), array)
        shard, content = encode_outcomes(table, kinds, key)
        layout.outcome_shard(shard).write_bytes(content)


def measured(code: str, directory: Path) -> tuple[float, float]:
    """Seconds of processor time and bytes of memory of some code in a fresh process."""
    done = subprocess.run(
        [sys.executable, "-c", MEASURE.format(code=code), str(directory)],
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    seconds, memory = map(float, done.stdout.split())
    return seconds, memory


MEASURE = """
import sys
from pathlib import Path
from time import process_time
from omnimeter.results.store import Record, open_writer
SPEC = {{"protocol": {{"id": "sample-v1"}}, "seed": 1}}
before = process_time()
{code}
lines = Path("/proc/self/status").read_text().splitlines()
memory = 1024 * next(int(line.split()[1]) for line in lines if line.startswith("VmHWM"))
print(process_time() - before, memory)
"""
READ = """
outcomes = Record(sys.argv[1]).outcomes()
assert len(outcomes) == 1_000_000 and outcomes.payoffs.sum() != 0
"""
OPEN = """
with open_writer(sys.argv[1], SPEC) as writer:
    assert len(writer.outcomes()) == 1_000_000
"""


def reading() -> bool:
    """A million outcomes: merged, read by columns, and opened for writing."""
    with tempfile.TemporaryDirectory() as name:
        directory = Path(name)
        large(directory)
        for what, code in (("read before merging", READ), ("opened and merged", OPEN)):
            seconds, memory = measured(code, directory)
            print(f"{what}: {seconds:.2f} s of processor time, {memory / 1e6:.0f} MB")
        shards = Path(directory, "outcomes").iterdir()
        size = sum(file.stat().st_size for file in shards) / MILLION
        runs = [measured(READ, directory) for _ in range(3)]
        seconds, memory = (min(column) for column in zip(*runs, strict=True))
        print(f"read: {seconds:.2f} s, {memory / 1e6:.0f} MB; {size:.1f} bytes per outcome on disk")
        holds = verdict("seconds of reading", seconds / READING_SECONDS, at_most=1)
        holds &= verdict("memory of reading", memory / READING_BYTES, at_most=1)
        holds &= verdict("bytes per outcome", size / BYTES_PER_OUTCOME, at_most=1)
        runs = [measured(OPEN, directory) for _ in range(3)]
        seconds, memory = (min(column) for column in zip(*runs, strict=True))
        print(f"opened for writing: {seconds:.2f} s, {memory / 1e6:.0f} MB")
        return verdict("seconds of opening", seconds / OPENING_SECONDS, at_most=1) and holds


PARTS: dict[str, Callable[[], bool]] = {"writing": writing, "traces": traces, "reading": reading}


if __name__ == "__main__":
    sys.exit(examine_parts(PARTS, sys.argv[1:]))
