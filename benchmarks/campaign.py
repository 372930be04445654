"""What reports over very many outcomes take: benchmarks/campaign.py report|campaign [--outcomes N].

``report`` is the page of one evaluation. Its outcomes are synthetic columns in memory, so that
reading a store is not measured. Processor time is that of page and JSON, peak memory that of the
whole process, imports and columns included.

``campaign`` is ``omnimeter report`` of a campaign of five agents in four classes under five seeds,
whose stores are real and whose outcomes are synthetic, and how long it takes until such a campaign
goes on with its last unit. Writing the stores is not measured; with ``--keep DIR`` they stay for
the next time.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from time import perf_counter, process_time
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from omnimeter.contract import Ending, Exercise, Outcome, Outcomes, Protocol, Spec, Trace
from omnimeter.contract.agent import IntArray
from omnimeter.contract.errors import StoreError
from omnimeter.contract.outcomes import COLUMNS, ENDINGS
from omnimeter.contract.spec import fingerprint
from omnimeter.execution.units import Receipt, Tell, Unit, evaluation_of
from omnimeter.protocols import Evaluation, summarise
from omnimeter.reports import result_json
from omnimeter.reports.page import gather, render
from omnimeter.results import Writer

AGENTS = 5
DIFFERENT = 20  # environments of a class
MOST_SECONDS, MOST_MEGABYTES = 8.0, 600.0
"""What a report over a million outcomes may take; reading the store may take as much again."""

CLASSES, SEEDS = ("cups", "buttons", "lambda", "automata"), 5
MOST_CAMPAIGN_SECONDS, MOST_CAMPAIGN_MEGABYTES = 20.0, 1000.0
"""What the report of a campaign with a million outcomes may take, processor time and memory."""
MOST_RESUMING_SECONDS = 3.0
"""What it may take until such a campaign goes on, by the clock on the wall."""

PLAN = """\
title = "A million outcomes"
seeds = {seeds}
[[agents]]
agent = "constant"
grid = {{ action = [0, 1, 2, 3, 4] }}
[[tests]]
name = "sample"
class = {classes}
exercises = {exercises}
interactions = 10
"""

GOING_ON = """import os, sys
import omnimeter as om

def begin(units, tell):
    print(len(units), flush=True)
    os._exit(0)

om.campaign(sys.argv[1]).run(executor=begin)
"""


class Columns(Outcomes):
    """Outcomes of one agent that are columns, and objects only where one is asked for."""

    def __init__(self, columns: dict[str, NDArray[Any]], first: Exercise) -> None:
        self._arrays, self._first = columns, first

    def __len__(self) -> int:
        return len(self._arrays["number"])

    def objects(self, rows: IntArray) -> list[Outcome]:
        """A report of plain results needs none, which would each be read from a file."""
        raise NotImplementedError(f"{len(rows)} objects were asked for")

    def compute(self, name: str) -> NDArray[Any]:
        """All columns are there."""
        raise KeyError(name)

    def remarks(self, name: str) -> list[tuple[Any, IntArray]]:  # noqa: ARG002
        """None of the outcomes has any."""
        return []

    def distinct_exercises(self) -> list[Exercise]:
        """They differ in nothing but instance, complexity and number."""
        return [self._first]

    def take(self, rows: IntArray) -> Self:
        """The outcomes of some rows."""
        arrays = {name: array[rows] for name, array in self._arrays.items()}
        return type(self)(arrays, self._first)


class Everything(Outcomes):
    """The outcomes of all agents."""

    def __init__(self, parts: dict[Spec, Columns]) -> None:
        super().__init__()
        self._parts = parts

    def by_agent(self, agents: Iterable[Spec]) -> dict[Spec, Outcomes]:
        """The outcomes of each agent."""
        return {agent: self._parts[agent] for agent in agents}


class Record:
    """What a report reads of an evaluation."""

    seed = None
    path = Path()
    damaged: dict[Path, StoreError] = {}  # noqa: RUF012 - nothing is put in

    def __init__(self, evaluation: Evaluation, outcomes: Everything) -> None:
        self.spec, self._outcomes = evaluation.to_json(), outcomes
        self.fingerprint = fingerprint(self.spec)

    def outcomes(self) -> Everything:
        """All outcomes."""
        return self._outcomes

    def traces(self) -> Iterator[tuple[str, Trace]]:
        """No traces were kept."""
        return iter(())

    def provenance(self) -> list[dict[str, Any]]:
        """Nothing is known."""
        return []


def columns(count: int, agent: int) -> dict[str, NDArray[Any]]:
    """Columns of one agent; payoffs have something in common with those of the others."""
    rng, common = np.random.default_rng(agent + 1), np.random.default_rng(0)
    numbers = np.arange(count)
    complexities = common.integers(3, 20, count).astype(np.float64)
    hard = common.normal(0.0, 0.3, count)
    payoffs = np.clip(0.1 * agent + hard + rng.normal(0, 0.3, count), -1, 1).round(3)
    made = {
        "number": numbers,
        "key": rng.integers(0, 2**63, count, dtype=np.uint64),
        "instance": common.integers(0, 2**63, count, dtype=np.uint64),
        "complexity": complexities,
        "payoff": payoffs,
        "paid": np.ones(count, np.bool_),
        "interactions": np.full(count, 10),
        "total": 10 * payoffs,
        "last_time": np.full(count, 10**10),
        "fault": np.zeros(count, np.int8),
        "attempts": np.ones(count, np.int64),
        "ending": np.full(count, ENDINGS.index("budget"), np.int8),
    }
    return {name: made[name].astype(kind) for name, (kind, _) in COLUMNS.items()}


def report(count: int) -> dict[str, float]:
    """Make the page and the JSON of a sample; seconds, megabytes and characters."""
    agents = [Spec("constant-v1", {"action": action}) for action in range(AGENTS)]
    each = count // AGENTS
    parameters = {"environment_class": "cups-v1", "exercises": each, "interactions": 10, "seed": 1}
    evaluation = Evaluation(Spec("sample-v1", parameters), tuple(agents))
    protocol: Protocol = evaluation.make_protocol()
    record: Any = Record(
        evaluation,
        Everything(
            {
                agent: Columns(columns(each, place), protocol.propose(agent, [])[0])
                for place, agent in enumerate(agents)
            }
        ),
    )
    begun, used = perf_counter(), process_time()
    page = render(gather(record))
    seconds, page_cpu = perf_counter() - begun, process_time() - used
    used = process_time()
    json.dumps(result_json(summarise(evaluation, record.outcomes())))
    return {
        "outcomes": count,
        "page_s": seconds,
        "page_cpu_s": page_cpu,
        "json_cpu_s": process_time() - used,
        "page_kb": len(page) / 1000,
        "peak_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
    }


def written(units: Sequence[Unit], tell: Tell) -> None:
    """Instead of carrying out units, write outcomes of theirs."""
    for unit in units:
        writer = Writer(unit.directory, ())
        evaluation = evaluation_of(writer)
        protocol: Protocol = evaluation.make_protocol()
        rng = np.random.default_rng([int(unit.key[:8], 16), unit.first])
        for agent in unit.agents:
            proposed = protocol.propose(agent, [])
            few = [proposed[number] for number in range(DIFFERENT)]
            place = evaluation.agents.index(agent)
            numbers = range(unit.first, unit.last or len(proposed))
            payoffs = np.clip(0.05 * place + rng.normal(0, 0.4, len(numbers)), -1, 1).round(3)
            outcomes = []
            for number, payoff in zip(numbers, payoffs.tolist(), strict=True):
                exercise = replace(few[number % DIFFERENT], number=number, complexity=number % 20)
                outcome = Outcome(
                    exercise, payoff, 10, 10 * payoff, 9 * 10**9, 10**10, Ending.BUDGET,
                    remarks={"path": "compiled"},
                )  # fmt: skip
                outcomes.append(outcome)
            writer.append(outcomes)
        tell(Receipt(unit.key, len(outcomes), 0.0))


def all_but_one(units: Sequence[Unit], tell: Tell) -> None:
    """Write outcomes of all units but the last."""
    written(units[:-1], tell)


def nothing(units: Sequence[Unit], tell: Tell) -> None:
    """Leave everything as it is."""


def campaign(count: int, keep: Path | None) -> dict[str, float]:
    """Write a campaign and measure ``omnimeter report`` of it; seconds, megabytes."""
    import omnimeter as om

    with tempfile.TemporaryDirectory() as temporary:
        folder = keep or Path(temporary)
        folder.mkdir(parents=True, exist_ok=True)
        file = folder / "study.toml"
        exercises = count // (AGENTS * len(CLASSES) * SEEDS)
        values = {"seeds": list(range(SEEDS)), "classes": list(CLASSES), "exercises": exercises}
        file.write_text(PLAN.format(**values))
        study = om.campaign(file)
        if not study.status().complete:
            study.run(executor=all_but_one)
            study.run(executor=nothing)  # merges what many workers have written
        resuming = resumed(file)
        study.run(executor=written)
        begun, earlier = perf_counter(), resource.getrusage(resource.RUSAGE_CHILDREN)
        command = [sys.executable, "-m", "omnimeter", "report", str(study.path), "--json"]
        told = json.loads(subprocess.run(command, check=True, capture_output=True).stdout)
        used = resource.getrusage(resource.RUSAGE_CHILDREN)
        seconds = perf_counter() - begun
        assert told["complete"]
        assert sum(score["exercises"] for score in told["scores"]) == exercises * 100
        return {
            "outcomes": exercises * 100,
            "report_s": seconds,
            "report_cpu_s": (used.ru_utime + used.ru_stime) - (earlier.ru_utime + earlier.ru_stime),
            "page_kb": Path(told["report"]).stat().st_size / 1000,
            "peak_mb": used.ru_maxrss / 1024,
            **resuming,
        }


def resumed(file: Path) -> dict[str, float]:
    """How long it takes until a campaign goes on, of which one unit is left; else that none is."""
    seconds = []
    for _ in range(2):  # the first one may have to compile
        begun = perf_counter()
        command = [sys.executable, "-c", GOING_ON, str(file)]
        left = subprocess.run(command, check=True, capture_output=True, text=True).stdout
        seconds.append(perf_counter() - begun)
    return {"left": float(left or 0), "resuming_s": min(seconds)}


def main() -> int:
    """Measure; say whether it is within the bounds."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("part", choices=["report", "campaign"])
    parser.add_argument("--outcomes", type=int, default=1_000_000)
    parser.add_argument("--keep", type=Path, help="where the stores of a campaign stay")
    given = parser.parse_args()
    if given.part == "campaign":
        measured = campaign(given.outcomes, given.keep)
        print(json.dumps({name: round(number, 2) for name, number in measured.items()}))
        slow = measured["report_cpu_s"] > MOST_CAMPAIGN_SECONDS
        slow |= measured["resuming_s"] > MOST_RESUMING_SECONDS
        return int(slow or measured["peak_mb"] > MOST_CAMPAIGN_MEGABYTES)
    measured = report(given.outcomes)
    print(json.dumps({name: round(number, 2) for name, number in measured.items()}))
    return int(measured["page_cpu_s"] > MOST_SECONDS or measured["peak_mb"] > MOST_MEGABYTES)


if __name__ == "__main__":
    sys.exit(main())
