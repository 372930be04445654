"""What a campaign carries out: its evaluations, and how they are run."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from omnimeter.api.evaluation import running_options
from omnimeter.catalogue import check_digest, files_in, parts_in
from omnimeter.contract import InvalidInputError, Outcomes, Spec
from omnimeter.contract.spec import JsonData, fingerprint
from omnimeter.contract.text import clean_line
from omnimeter.execution.workers import Options
from omnimeter.interaction.handles import shown
from omnimeter.protocols import Evaluation

_NAME = re.compile(r"[a-z0-9][a-z0-9.-]{,99}")
"""The names of evaluations; a plan that comes from elsewhere may hold anything."""


def _check_shown(*texts: str) -> None:
    for text in texts:
        if clean_line(text) != text:
            raise InvalidInputError(f"{shown(text)} has characters that cannot be shown.")


@dataclass(frozen=True)
class Entry(JsonData):
    """One evaluation of a campaign.

    Attributes:
        name: Readable and unique; its directory has this name.
        evaluation: The protocol, with its seed if that is not secret, and the agents.
        test: The name of the test in the file.
        environment_class: The label of the class; empty where there is none or are several.
        point: The values of the grid.
        repetition: Which of the secret seeds it has, from 1 on; 0 where its seed is given.
        expected: How many exercises each agent takes, where that is known beforehand.
    """

    name: str
    evaluation: Evaluation
    test: str
    environment_class: str = ""
    point: Mapping[str, Any] = field(default_factory=dict)
    repetition: int = 0
    expected: int | None = None

    def __post_init__(self) -> None:
        if not _NAME.fullmatch(self.name):
            raise InvalidInputError(f"{self.name[:100]!r} cannot be the name of a directory.")
        _check_shown(self.test, self.environment_class)

    def extends(self, other: Entry) -> bool:
        """Whether another one goes on as this one: with more exercises or agents, or the same."""
        seed = 0 if other.evaluation.needs_seed else None  # whatever it is
        if replace(self, evaluation=other.evaluation, expected=other.expected) != other:
            return False
        return self.evaluation.continued(other.evaluation, seed, Outcomes) is not None

    @property
    def setting(self) -> str:
        """The test with its point in the grid, for tables."""
        named = ((name.removeprefix("set."), value) for name, value in self.point.items())
        values = ", ".join(f"{name}={as_text(value)}" for name, value in named)
        return f"{self.test} ({clean_line(values)})" if values else self.test


@dataclass(frozen=True)
class Plan(JsonData):
    """What a campaign carries out, and how.

    Attributes:
        title: What people call it.
        entries: The evaluations, in order.
        groups: The group of each agent that is in one, by its label.
        limits: The limits of all agents (``""``) and of groups, by the names of ``evaluate``.
        workers: Processes that work at once; by default as many as there are processors.
        executor: What carries it out.
        address: That of a Ray cluster; without it one is started.
        slurm: The settings and resources of array jobs (``""``), and resources of groups.
        folders: Where relative names of files begin: the folder of the campaign's file. Once it is
            stored, as seen from its directory, and absolute.
    """

    title: str
    entries: tuple[Entry, ...]
    groups: Mapping[str, str] = field(default_factory=dict)
    limits: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    workers: int | None = None
    executor: str = "processes"
    address: str | None = None
    slurm: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    folders: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        _check_shown(self.title)

    @cached_property
    def fingerprint(self) -> str:
        """A short name that depends on what is evaluated, and not on how it is carried out."""
        return fingerprint([entry.to_json() for entry in self.entries])

    @property
    def agents(self) -> list[Spec]:
        """All agents, in the order of the file."""
        return list(dict.fromkeys(a for entry in self.entries for a in entry.evaluation.agents))

    def check_files(self, folder: str) -> None:
        """Check that the files of agents and tests are in a folder as they were.

        Raises:
            InvalidInputError: One is missing, or has other content.
        """
        with files_in(folder):
            for part in self._of_files:
                check_digest(part)

    def has_sources(self, folder: str) -> bool:
        """Whether any source of agents and tests is in a folder, whatever its content."""
        sources = {part.id.rpartition(":")[0] for part in self._of_files} - {""}
        return any(Path(folder, each).exists() for each in sources)

    @cached_property
    def _of_files(self) -> set[Spec]:
        """The parts of which there is a digest, in agents and tests."""
        made = dict.fromkeys((*self.agents, *(each.evaluation.protocol for each in self.entries)))
        return {part for spec in made for part in parts_in(spec) if part.digest}

    def options(self, agents: Sequence[Spec]) -> Options:
        """How the exercises of some agents are carried out: of several, under the first's limits.

        Raises:
            InvalidInputError: A limit cannot be used.
        """
        group = self.groups.get(agents[0].label, "")
        return running_options(**{**self.limits.get("", {}), **self.limits.get(group, {})})

    def is_elsewhere(self, other: Plan) -> bool:
        """Whether another plan only has other folders of the same files: older ones had paths."""
        here, there = (list(map(_placeless, plan.entries)) for plan in (self, other))
        return self.fingerprint != other.fingerprint and here == there

    def extends(self, other: Plan) -> bool:
        """Whether it only has more exercises, agents or tests than another plan.

        Further seeds of a test are none of it: no interval over seeds allows for their number to be
        decided after results were seen.
        """
        here, there = ({entry.name: entry for entry in each.entries} for each in (self, other))
        known = {(entry.setting, entry.environment_class) for entry in other.entries}
        return all(
            (entry.setting, entry.environment_class) not in known
            for name, entry in here.items()
            if name not in there
        ) and all(name in here and here[name].extends(entry) for name, entry in there.items())

    def difference(self, other: Plan) -> str:
        """How what another plan evaluates differs from this one; empty where it does not."""
        here, there = ({entry.name: entry for entry in each.entries} for each in (self, other))
        for missing, verb in (
            (here.keys() - there.keys(), "has"),
            (there.keys() - here.keys(), "has not"),
        ):
            if missing:
                first = sorted(missing)[0]
                more = f" and {len(missing) - 1} more" if len(missing) > 1 else ""
                return f"the file {verb} the evaluation {first}{more}"
        for name, entry in here.items():
            if said := _difference(entry.evaluation, there[name].evaluation):
                return f"in the evaluation {name} the file has other {said}"
        return "" if self.fingerprint == other.fingerprint else "the order of the tests differs"


def _placeless(entry: Entry) -> tuple[object, ...]:
    """What an evaluation of a plan is, without the folders of files."""
    given = entry.evaluation
    keys = [spec.stream_key for spec in (given.protocol, *given.agents)]
    return entry.name, keys, given.traces, given.privileged


def _difference(first: Evaluation, second: Evaluation) -> str:
    if first.agents != second.agents:
        pairs = {agent.id for agent in first.agents} ^ {agent.id for agent in second.agents}
        pairs = pairs or {agent.id for agent in set(first.agents) ^ set(second.agents)}
        changed = {a.label for a in first.agents} == {a.label for a in second.agents}
        what = "agents" if not changed else "contents of files"
        return f"{what} ({', '.join(sorted(pairs)) or 'their order'})"
    here, there = first.protocol.parameters, second.protocol.parameters
    if first.protocol.id != second.protocol.id:
        return f"protocols ({first.protocol.id}, {second.protocol.id})"
    names = [name for name in sorted({*here, *there}) if here.get(name) != there.get(name)]
    return ", ".join(names) or ("" if first == second else "traces or privileges")


def as_text(value: Any) -> str:
    """A value of a grid, as it is in names."""
    return value if isinstance(value, str) else json.dumps(value)
