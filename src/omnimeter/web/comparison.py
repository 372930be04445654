"""Agents in the place of people: each takes exactly what every participant of a study took."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from math import nan
from pathlib import Path
from typing import Any

import numpy as np

from omnimeter import results
from omnimeter.api.evaluation import AgentLike, agent_specs, check_sandbox, running_options
from omnimeter.api.result import opened
from omnimeter.catalogue import objects
from omnimeter.contract import ClockKind, InvalidInputError, Outcomes, Spec
from omnimeter.contract.agent import FloatArray
from omnimeter.contract.errors import StoreError
from omnimeter.contract.protocol import Memory
from omnimeter.contract.spec import fingerprint
from omnimeter.contract.text import clean_line
from omnimeter.execution import Options, check
from omnimeter.execution.units import Receipt, Unit, processes, this_process, unfinished, units_in
from omnimeter.protocols import Evaluation, summarise
from omnimeter.protocols.battery import Item, find_battery
from omnimeter.reports.people import PEOPLE, People, Questions, Taken, Taker
from omnimeter.results.files import Layout
from omnimeter.web.attendance import stage_of
from omnimeter.web.studies import Design, Participant, Question, Study

Tell = Callable[[str, int, int], None]
"""Told what is being done, how many steps are over, and of how many."""


def _silent(doing: str, done: int, total: int) -> None:
    """Tell it to no one."""


def compare(
    study: Study,
    agents: AgentLike | Sequence[AgentLike],
    *,
    workers: int = 1,
    texts: bool = False,
    tell: Tell = _silent,
) -> People:
    """Let agents take what each participant with a complete test took, and compare them.

    An agent takes the exercises of a battery twice: with ``carried`` memory, as people have, and
    with ``fresh`` memory. What is stored in the study is not run again, so that a second call only
    computes, and an interrupted one goes on.

    Args:
        study: The study.
        agents: One agent or several, as ``omnimeter.evaluate`` takes them.
        workers: Processes that work at once.
        texts: Whether the words of free answers are shown on the page.
        tell: Told how far it is.

    Raises:
        InvalidInputError: No participant has a complete test, or an agent cannot take it.
        StoreError: Something is damaged or cannot be stored; damaged tests of participants are
            left out, and named.
    """
    specs, things = agent_specs(agents)
    specs = tuple(dict.fromkeys(specs))
    if not specs:
        raise InvalidInputError("There is no agent to compare.", "Give one, such as random.")
    if any(spec.id.startswith("person-") for spec in specs):
        message = "A person cannot take the place of another one."
        raise InvalidInputError(message, "Give other agents.")
    tested = _tests(study)
    present = tested.present
    if not present:
        message = f"No participant of {study.path} has a complete test yet."
        advice = "Compare them when some have answered all exercises."
        raise InvalidInputError(message, advice)
    objects.use(things)
    if workers > 1:
        objects.pack()
    memories: list[Memory] = ["carried", "fresh"] if study.design.test is None else ["fresh"]
    places = [
        Place(study, agent, memory, participant)
        for agent in specs
        for memory in memories
        for participant in present
    ]
    tests = {place: _stored(place) for place in places}
    if left := [place for place, test in tests.items() if test is None]:
        _take(left, running_options(workers), tell)
        tests |= {place: _stored(place) for place in left}
    return People(_gathered(study, tested, tests, texts=texts))


@dataclass(frozen=True)
class Place:
    """An agent in the place of a participant.

    Attributes:
        memory: Whether it keeps what it learnt from exercise to exercise.
    """

    study: Study
    agent: Spec
    memory: Memory
    participant: Participant

    @cached_property
    def evaluation(self) -> Evaluation:
        """What it takes: what the participant took, but for the memory."""
        study = self.study
        taken = study.design.evaluation(self.agent, study.seed, self.participant.number)
        if study.design.test is not None:
            return taken
        changed = {**taken.protocol.parameters, "memory": self.memory}
        return replace(taken, protocol=replace(taken.protocol, parameters=changed))

    @property
    def directory(self) -> Path:
        """Where it is stored; the last part differs between memories, as names of units do."""
        name = re.sub(r"[^a-z0-9.-]+", "-", self.agent.label.lower()).strip("-.")[:40]
        name = f"{name}-{fingerprint(self.agent.to_json())[:8]}"
        return self.study.path / "agents" / name / f"{self.participant.name}-{self.memory}"

    @property
    def taker(self) -> Taker:
        """What tables call it."""
        return Taker(self.agent.label, self.memory)


def _take(places: Sequence[Place], options: Options, tell: Tell) -> None:
    """Carry out what is not finished of all places."""
    first = {(each.agent, each.memory): each.evaluation for each in reversed(places)}
    for evaluation in first.values():
        check(evaluation)
    if options.workers > 1 and any(
        each.make_protocol().describe().clock is ClockKind.WALL for each in first.values()
    ):
        raise InvalidInputError(
            "There cannot be several workers= while real time counts: they would disturb each "
            "other's.",
            "Leave out workers=.",
        )
    # No agent in a process of its own may see the seed, or what people did.
    hidden = (*options.hidden, str(places[0].study.path.absolute()))
    options = replace(options, hidden=hidden)
    check_sandbox([agent for agent, _ in first], options)
    units: list[Unit] = []
    for each in places:
        evaluation = each.evaluation
        with opened(evaluation, each.directory):
            units += units_in(evaluation, each.directory, options)
    left = unfinished(units)
    done = 0

    def finished(receipt: Receipt) -> None:
        nonlocal done
        if receipt.damage is not None:
            raise receipt.damage
        if receipt.reason:
            raise StoreError(receipt.reason, "Call it again: what is finished is stored.")
        done += 1
        tell("Agents in the place of people", done, len(left))

    if left:
        tell("Agents in the place of people", 0, len(left))
        executor = this_process if options.workers == 1 else processes(options.workers)
        executor(left, finished)


# What is stored.


@dataclass(frozen=True)
class _Test:
    """What one taker got in the place of one participant, by columns (``Taken``)."""

    payoffs: FloatArray
    complexities: FloatArray
    level: float
    outcomes: Outcomes
    support: tuple[float, float] | None


class _UnfinishedError(Exception):
    """Why a test is not complete, in words."""


def _test_of(
    study: Study, participant: Participant, evaluation: Evaluation, directory: Path
) -> _Test:
    """The test that is stored in a directory, of a participant or of an agent in their place.

    Raises:
        _UnfinishedError: It is not complete.
        StoreError: It is damaged.
    """
    if not Layout(directory).spec.exists():
        raise _UnfinishedError("did not begin the test")
    record = results.Record(directory)
    if record.spec != evaluation.to_json():
        message = f"{directory} is not what the study says that this participant took."
        raise StoreError(message, "Restore the files of the study.")
    result = summarise(evaluation, record.outcomes())
    agent = evaluation.agents[0]
    done, value = result.outcomes[agent], result.scores[agent].value
    if not result.complete or result.stopped:
        raise _UnfinishedError("did not finish the test")
    if not done.paid.all():
        raise _UnfinishedError("had a fault in an exercise")
    if study.design.test is not None:
        if value is None:
            raise _UnfinishedError("did not finish the test")
        course = result.courses[agent]
        level = course[-1].level if course else nan
        return _Test(np.array([value]), np.array([nan]), level, done, result.support)
    columns = study.design.places(study.seed, participant.number)
    payoffs, complexities = np.empty(len(columns)), np.empty(len(columns))
    payoffs[columns], complexities[columns] = done.payoffs, done.complexities
    return _Test(payoffs, complexities, nan, done, result.support)


@dataclass(frozen=True)
class _Tested:
    """What is stored of participants.

    Attributes:
        present: Their complete tests.
        events: What happened with these participants.
        absent: The others, by what is missing.
        damaged: What of these is damaged.
    """

    present: dict[Participant, _Test]
    events: dict[Participant, list[dict[str, Any]]]
    absent: dict[str, list[str]]
    damaged: dict[Path, StoreError]


def _tests(study: Study) -> _Tested:
    """What is stored of all participants."""
    tested = _Tested({}, {}, {}, study.damaged)
    if tested.damaged:
        tested.absent["with damaged files"] = [folder.name for folder in tested.damaged]
    for one, directory in study:
        events: list[dict[str, Any]] = []
        try:
            events = study.events(one)
            tested.present[one] = _test_of(study, one, study.evaluation(one), directory)
            tested.events[one] = events
        except _UnfinishedError as error:
            is_blocked = stage_of(study.design, events) == "blocked"
            why = "away too long" if is_blocked else str(error)
            tested.absent.setdefault(why, []).append(one.name)
        except StoreError as error:
            tested.damaged[directory] = error
            tested.absent.setdefault("with damaged files", []).append(one.name)
    return tested


def _stored(place: Place) -> _Test | None:
    """What an agent got, if that is complete."""
    try:
        return _test_of(place.study, place.participant, place.evaluation, place.directory)
    except _UnfinishedError:
        return None


def _gathered(
    study: Study,
    tested: _Tested,
    tests: Mapping[Place, _Test | None],
    *,
    texts: bool,
) -> Taken:
    """What people and agents got."""
    design, present, events = study.design, tested.present, tested.events
    people = list(present.values())
    score = design.test is not None
    orders = [design.places(study.seed, one.number) or [0] for one in present]
    taken: dict[Taker, list[_Test | None]] = {Taker(PEOPLE): [*people]}
    for each, test in tests.items():  # of each taker in the order of the participants
        person = present[each.participant].outcomes
        if test and not score and not np.array_equal(test.outcomes.instances, person.instances):
            message = f"{each.directory} has other exercises than {each.participant.name} had."
            raise StoreError(message, "The files of the study were changed: restore them.")
        taken.setdefault(each.taker, []).append(test)
    missing = np.full(people[0].payoffs.shape, nan)
    payoffs = {
        taker: np.stack([missing if test is None else test.payoffs for test in own])
        for taker, own in taken.items()
    }
    levels = {
        taker: np.array([nan if test is None else test.level for test in own])
        for taker, own in taken.items()
    }
    supports = [test.support for test in people if test.support is not None]
    support = None
    if len(supports) == len(people):
        support = min(low for low, _ in supports), max(high for _, high in supports)
    names = ["test"] if score else exercise_names(find_battery(design.battery or "").exercises)
    return Taken(
        title=design.title,
        participants=tuple(one.name for one in present),
        absent={why: tuple(those) for why, those in tested.absent.items()},
        withdrawn=study.withdrawn,
        exercises=tuple(names),
        payoffs=payoffs,
        complexities=np.stack([test.complexities for test in people]),
        positions=np.argsort(orders, axis=1) + 1,
        support=support,
        levels=levels if score else {},
        reactions=[
            _reactions(events[one], order) for one, order in zip(present, orders, strict=True)
        ],
        questions=list(_questions(design, list(events.values()), texts=texts)),
        restarts={one.name: count for one in present if (count := _restarts(events[one]))},
        damaged=tested.damaged,
    )


def exercise_names(items: Sequence[Item]) -> list[str]:
    """A short name for each exercise of a battery: what tells its class from the others'.

    That is a parameter of which each has another value, where all are of one class with such a
    parameter; otherwise the class, with its place in the battery where there are several of it.
    """
    specs = [item.environment_class for item in items]
    if len({spec.id for spec in specs}) == 1 < len(specs):
        for name in specs[0].parameters:
            values = [spec.parameters.get(name) for spec in specs]
            if len({repr(value) for value in values}) == len(specs):
                return [clean_line(f"{name} {value}") for value in values]
    labels = [clean_line(spec.id.removesuffix("-v1")) for spec in specs]
    several = {label for label in labels if labels.count(label) > 1}
    return [f"{n}: {label}" if label in several else label for n, label in enumerate(labels, 1)]


def _reactions(events: Sequence[Mapping[str, Any]], order: Sequence[int]) -> list[FloatArray]:
    """The milliseconds of a participant's answers, by columns; of what was repeated, the last."""
    single = len(order) == 1
    known: dict[tuple[int, int], float] = {}
    for event in events:
        if event["kind"] == "act" and "exercise" in event and event.get("reaction") is not None:
            known[int(event["exercise"]), int(event["step"])] = float(event["reaction"])
    columns: list[list[float]] = [[] for _ in order]
    for (exercise, _), reaction in sorted(known.items()):
        columns[0 if single else order[exercise - 1]].append(reaction)
    return [np.array(each) for each in columns]


def _restarts(events: Sequence[Mapping[str, Any]]) -> int:
    """How often a participant began an exercise anew after an interruption."""
    return sum(event["kind"] == "restarted" for event in events)


def _questions(
    design: Design, events: Sequence[Sequence[Mapping[str, Any]]], *, texts: bool
) -> Iterator[Questions]:
    """What participants answered to each question."""
    given = [e["answers"] for own in events for e in own if e["kind"] == "answered"]
    for each in design.questions if given else ():
        told = [answers[each.name] for answers in given if answers.get(each.name) is not None]
        options = _options(each)
        if options:
            told = [answer for answer in told if answer in options]
        yield Questions(each.name, each.kind, options, tuple(told), len(given), shown=texts)


def _options(question: Question) -> tuple[int | str, ...]:
    if question.kind == "scale":
        return tuple(range(1, question.steps + 1))
    return question.options if question.kind == "choice" else ()
