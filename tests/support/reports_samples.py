"""Results and stores with given payoffs, and a reader of pages."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path

import numpy as np

from omnimeter.contract import (
    Budget,
    Ending,
    Exercise,
    Fault,
    FaultKind,
    Instance,
    Outcome,
    Spec,
    Trace,
)
from omnimeter.protocols import Evaluation, Result
from omnimeter.protocols.evaluation import judge
from omnimeter.results import Record, open_writer

GOOD, FAIR, POOR = Spec("good-v1"), Spec("fair-v1"), Spec("poor-v1")
CUPS = Spec("cups-v1")
SECOND = 1_000_000_000
UNIT = (-1.0, 1.0)
OOPS = Fault(FaultKind.AGENT_ERROR, "It raised ValueError.\nAt line 3.", "Traceback ...")


def an_exercise(agent: Spec, number: int, complexity: float = 3.0, **changes: object) -> Exercise:
    colours = f"{number:03b}".replace("0", "B").replace("1", "W")
    made = Exercise(
        agent=agent,
        environment_class=CUPS,
        instance=Instance({"colours": colours, "rule": "rest"}),
        budget=Budget(4),
        seed=7,
        number=number,
        complexity=complexity,
    )
    return replace(made, **changes)  # type: ignore[arg-type]


def an_outcome(
    agent: Spec,
    number: int,
    payoff: float | None,
    complexity: float = 3.0,
    fault: Fault | None = None,
    interactions: int = 4,
) -> Outcome:
    ending = Ending.BUDGET if fault is None else Ending.FAULT
    exercise = an_exercise(agent, number, complexity)
    return Outcome(exercise, payoff, interactions, 0.0, 4, 4, ending, fault=fault)


def a_result(
    payoffs: Mapping[Spec, Sequence[float | None]], kind: FaultKind = FaultKind.AGENT_ERROR
) -> Result:
    """The result of agents with these payoffs; ``None`` stands for a fault."""
    fault = replace(OOPS, kind=kind)
    protocol = an_evaluation(tuple(payoffs)).make_protocol()
    outcomes = {
        agent: [
            an_outcome(agent, number, payoff, fault=fault if payoff is None else None)
            for number, payoff in enumerate(row)
        ]
        for agent, row in payoffs.items()
    }
    return judge(protocol, outcomes, complete=True)


def an_evaluation(
    agents: tuple[Spec, ...], exercises: int = 4, traces: bool = False, **parameters: object
) -> Evaluation:
    given = {"environment_class": "cups-v1(rule=rest)", "exercises": exercises, "interactions": 40}
    return Evaluation(Spec("sample-v1", {**given, **parameters}), agents, traces)


def a_store(
    path: Path,
    evaluation: Evaluation,
    payoffs: Mapping[Spec, Sequence[float | Fault]],
    traces: bool = False,
) -> Record:
    """An evaluation on disk with these payoffs and faults."""
    protocol = evaluation.make_protocol()
    with open_writer(path, evaluation.to_json()) as writer:
        for agent, row in payoffs.items():
            for exercise, given in zip(protocol.propose(agent, []), row, strict=False):
                fault = given if isinstance(given, Fault) else None
                payoff = None if isinstance(given, Fault) else given
                ending = Ending.BUDGET if fault is None else Ending.FAULT
                outcome = Outcome(exercise, payoff, 4, 0.0, 4, 4, ending, fault=fault)
                trace = Trace(np.full(40, payoff or 0.0), np.arange(40), 40, ending, fault=fault)
                writer.append([outcome], {exercise.key: trace} if traces else None)
    return Record(path)


PLAIN = Spec("random-v1")
FIXED = Spec("constant-v1", {"action": 1})


class Page(HTMLParser):
    """Reads a page and complains when its elements are not closed in order."""

    VOID = frozenset({"meta", "br", "link", "img", "hr", "wbr"})

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.names: list[str] = []
        self.tags: list[str] = []
        self.pieces: list[str] = []
        self.feed(text)
        self.close()
        assert self.open == []
        assert len(set(self.names)) == len(self.names)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.names += [value or "" for name, value in attrs if name == "id"]
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.names += [value or "" for name, value in attrs if name == "id"]

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.pieces.append(data)

    @property
    def text(self) -> str:
        return " ".join("".join(self.pieces).split())


def read(path: Path) -> Page:
    return Page(path.read_text(encoding="utf-8"))
