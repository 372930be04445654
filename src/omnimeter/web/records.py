"""What is known of a study's participants: how far each is, and tables of what they did."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from omnimeter import results
from omnimeter.catalogue import Kind, make
from omnimeter.contract import Exercise, InvalidInputError, UnknownNameError
from omnimeter.contract.errors import StoreError
from omnimeter.results.files import Layout
from omnimeter.results.journal import Entry, Journals, read_log
from omnimeter.web.attendance import stage_of
from omnimeter.web.studies import Design, Participant, Study

RETURNS = ("resumed", "restarted", "blocked")
"""The events of those who come back in the middle of an exercise."""

COLUMNS = {
    "participant": "string",
    "exercise": "int64",
    "environment_class": "string",
    "complexity": "float64",
    "step": "int64",
    "action": "int64",
    "reward": "float64",
    "reaction_ms": "int64",
    "shown_ms": "int64",
    "received": "float64",
}
"""The columns of the table of interactions, with their types."""


Damaged = dict[Path, StoreError]
"""What of participants cannot be read, by their folders, and why."""

Row = dict[str, Any]
"""A row of a table, by the names of its columns."""


@dataclass(frozen=True)
class Attended:
    """How far a participant is.

    Attributes:
        stage: What they are at; ``invited`` if they have not come yet, ``declined`` until they
            are asked again, and ``damaged`` if it cannot be told.
        exercises: How many exercises they have done.
        interruptions: How often they were away in the middle of an exercise.
        seen: The second of the epoch at which something last happened, if anything did.
        exercise: The number of the exercise that they are at, as long as their test goes on.
        step: How many actions of it they have done.
    """

    stage: str = "invited"
    exercises: int = 0
    interruptions: int = 0
    seen: float | None = None
    exercise: int | None = None
    step: int | None = None

    @classmethod
    def of(cls, design: Design, events: Sequence[Mapping[str, Any]]) -> Attended:
        """How far a participant is, as the log of events says."""
        if not events:
            return cls()
        kinds = [str(event["kind"]) for event in events]
        stage = stage_of(design, events)
        if stage == "consent" and "declined" in kinds:
            stage = "declined"
        acts = [
            (int(each["exercise"]), int(each["step"])) for each in events if each["kind"] == "act"
        ]
        begun = len({exercise for exercise, _ in acts})
        done = begun if "tested" in kinds else max(0, begun - 1)
        exercise, step = acts[-1] if stage == "test" and acts else (None, None)
        return cls(
            stage,
            done,
            sum(map(kinds.count, RETURNS)),
            float(events[-1]["time"]),
            exercise,
            None if step is None else step + 1,
        )


def attended(study: Study, participant: Participant) -> Attended:
    """How far a participant is, also while their session goes on.

    Raises:
        StoreError: What is stored of them cannot be read.
    """
    return Attended.of(study.design, study.events(participant))


def _rows(
    study: Study, of: Callable[[Participant], Iterator[Row]], damaged: Damaged | None
) -> Iterator[Row]:
    """The rows of all participants; of those with damaged files none."""
    for folder, error in study.damaged.items():
        if damaged is None:
            raise error
        damaged[folder] = error
    for participant in study.participants:
        try:
            own = list(of(participant))
        except StoreError as error:
            if damaged is None:
                raise
            damaged[study.folder(participant)] = error
        else:
            yield from own


def interactions(study: Study, damaged: Damaged | None = None) -> Iterator[Row]:
    """Every interaction of every participant, those of tests under way included.

    The reward of the last interaction of an exercise is missing as long as its test is under way.

    Args:
        study: The study.
        damaged: Where participants are noted who are left out because something of theirs cannot be
            read; otherwise that is an error.

    Raises:
        StoreError: Something cannot be read.
    """

    def of(participant: Participant) -> Iterator[Row]:
        told = {
            (int(event["exercise"]), int(event["step"]) + 1): event
            for event in study.events(participant)
            if event["kind"] == "act"
        }
        for number, (exercise, actions, rewards) in enumerate(_taken(study, participant), 1):
            for step, (action, reward) in enumerate(zip(actions, rewards, strict=True), 1):
                event = told.get((number, step), {})
                yield {
                    "participant": participant.name,
                    "exercise": number,
                    "environment_class": exercise.environment_class.label,
                    "complexity": exercise.complexity,
                    "step": step,
                    "action": action,
                    "reward": reward,
                    "reaction_ms": event.get("reaction"),
                    "shown_ms": event.get("shown"),
                    "received": event.get("received"),
                }

    return _rows(study, of, damaged)


Taken = tuple[Exercise, list[int | None], list[float | None]]
"""An exercise, its actions, and what each of them brought."""


def _taken(study: Study, participant: Participant) -> Iterator[Taken]:
    """The exercises of a participant in the order in which they were taken."""
    directory = study.folder(participant) / "evaluation"
    if not Layout(directory).spec.exists():
        return
    record, evaluation = results.Record(directory), study.evaluation(participant)
    outcomes = record.outcomes()
    traces = dict(record.traces())
    journals = Journals(str(Layout(directory).journal))
    protocol = make(Kind.PROTOCOL, evaluation.protocol)
    proposed = protocol.propose(evaluation.agents[0], outcomes) if journals.keys() else ()
    exercises = {each.key: each for each in (*(each.exercise for each in outcomes), *proposed)}
    for key, exercise in sorted(exercises.items(), key=lambda item: item[1].number):
        if key in traces:
            trace = traces[key]
            assert trace.actions is not None  # traces of studies have them
            yield exercise, trace.actions.tolist(), trace.rewards.tolist()
        elif key in journals:
            entries = [Entry(**line) for line in read_log(journals.path(key))]
            actions = [each.action for each in entries]
            yield exercise, actions, [*(each.reward for each in entries[1:]), None][: len(entries)]


def named(study: Study, name: str) -> Participant:
    """The participant of a name.

    Raises:
        UnknownNameError: There is none, or they have withdrawn.
    """
    known = {each.name: each for each in study.participants}
    if name not in known:
        raise UnknownNameError("participant", name, known)
    return known[name]


def happened(study: Study, damaged: Damaged | None = None) -> Iterator[Row]:
    """What happened with all participants, one event after the other (see ``interactions``).

    Raises:
        StoreError: Something cannot be read.
    """

    def of(participant: Participant) -> Iterator[Row]:
        for event in study.events(participant):
            told = {name: each for name, each in event.items() if name not in ("kind", "time")}
            yield {
                "participant": participant.name,
                "time": event["time"],
                "event": event["kind"],
                "data": json.dumps(told, ensure_ascii=False) if told else "",
            }

    return _rows(study, of, damaged)


def answers(study: Study, damaged: Damaged | None = None) -> Iterator[Row]:
    """The answers to the questionnaire, with the time at which they came (see ``interactions``).

    Raises:
        StoreError: Something cannot be read.
    """
    names = [each.name for each in study.design.questions]

    def of(participant: Participant) -> Iterator[Row]:
        for event in study.events(participant):
            if event["kind"] == "answered":
                given = {name: event["answers"].get(name) for name in names}
                yield {"participant": participant.name, "answered": event["time"], **given}

    return _rows(study, of, damaged)


def answer_columns(study: Study) -> dict[str, str]:
    """The columns of the table of answers, with their types."""
    questions = study.design.questions
    asked = {each.name: "int64" if each.kind == "scale" else "string" for each in questions}
    return {"participant": "string", "answered": "float64", **asked}


def export(
    study: Study, out: Path, file_format: str | None = None
) -> tuple[Mapping[Path, int], Damaged]:
    """Write all interactions into a table, and the answers into another one beside it.

    Participants of whom something is damaged are left out of the table that it is needed for.

    Args:
        study: The study.
        out: The file of the interactions; that of the answers has ``-answers`` after its name.
        file_format: ``parquet`` or ``csv``; by default as the name of the file ends.

    Returns:
        How many rows were written into which file, and what is damaged.

    Raises:
        InvalidInputError: There is no such format.
        StoreError: Something cannot be written.
    """
    import pyarrow as pa

    from omnimeter.results.frames import write_table

    kinds: dict[str, Literal["parquet", "csv"]] = {"parquet": "parquet", "csv": "csv"}
    if (chosen := file_format or out.suffix[1:]) not in kinds:
        message = f"There is no format {chosen!r}."
        raise InvalidInputError(message, f"Known: {', '.join(kinds)}.")
    beside = out.with_name(f"{out.stem}-answers{out.suffix}")
    damaged: Damaged = {}
    tables = {
        out: (interactions(study, damaged), COLUMNS),
        beside: (answers(study, damaged), answer_columns(study)),
    }
    written = {}
    for path, (rows, columns) in tables.items():
        table = pa.Table.from_pylist(list(rows), pa.schema(list(columns.items())))
        written[path] = write_table(table.to_reader(), kinds[chosen], path)
    return written, damaged
