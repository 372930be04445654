"""The file of a campaign: from TOML to a plan, with the line and the key of every mistake."""

from __future__ import annotations

import difflib
import inspect
import json
import re
import tomllib
from collections.abc import Callable, Mapping, Sequence, Set
from contextlib import suppress
from dataclasses import replace
from itertools import product
from math import isfinite, prod
from pathlib import Path
from typing import Any, TypeGuard

from omnimeter.api import universal
from omnimeter.api.campaign_plan import Entry, Plan, as_text
from omnimeter.api.cluster import (
    EXECUTORS,
    RESOURCES,
    SETTINGS,
    check_address,
    resources_in,
    slurm_resources,
    slurm_settings,
)
from omnimeter.api.evaluation import evaluate, plan, running_options
from omnimeter.api.toml_lines import Where, key_lines
from omnimeter.catalogue import (
    Kind,
    files_in,
    make,
    normalised,
    parse,
    parse_agents,
    place_of,
)
from omnimeter.catalogue.specs import LONGEST
from omnimeter.contract import InvalidInputError, OmnimeterError, Spec
from omnimeter.contract.errors import BrokenPartError
from omnimeter.contract.spec import fingerprint, read_bytes
from omnimeter.contract.text import clean_line
from omnimeter.execution.workers import Isolation, is_isolated
from omnimeter.interaction.handles import shown
from omnimeter.protocols import Evaluation
from omnimeter.protocols.evaluation import TWICE

LARGEST = 1 << 20
"""Bytes of a campaign's file."""

MOST_EVALUATIONS = 10_000
"""Evaluations of one campaign."""

MOST_AGENTS = 1_000
"""Agents of one campaign."""

MOST_MISTAKES = 10
"""Mistakes that one message tells."""

DRAWN = 16
"""Exercises of each evaluation that are drawn, to see whether that can be done."""

DEEPEST = 50
"""Tables and lists in each other; each part of a dotted key is a table."""

LONGEST_NAME = 64
"""Characters of the name of an evaluation, which is also that of its directory."""


def _names(function: Callable[..., Any]) -> dict[str, Any]:
    """The parameters of a function with their defaults."""
    parameters = inspect.signature(function).parameters.values()
    return {each.name: each.default for each in parameters}


_LIMITS = _names(running_options).keys() - {"workers"}
_OTHERWISE = _LIMITS | {"agents", "environment_class", "seed", "out", "workers", "progress"}
_OF_SAMPLES = {name: each for name, each in _names(evaluate).items() if name not in _OTHERWISE}
_OF_UNIVERSAL = _names(universal.test).keys() - _OTHERWISE
_FLAGS = {"joint", "traces", "privileged", "unbalanced", "count_seated"}
_COMMON = {"name", "agents", "set", "grid", "traces", "privileged"}
_KEYS = {
    "": {"title", "seeds", "repetitions", "agents", "tests", "run", "limits", "slurm"},
    "agents": {"agent", "group", "grid"},
    "tests": _COMMON | {"class", "protocol"} | _OF_SAMPLES.keys() | _OF_UNIVERSAL,
    "run": {"workers", "executor", "address"},
}
"""The keys of each table; those of a test are what ``evaluate`` and ``test`` take."""

_ABOUT = {"name", "agents", "grid", "class"}
_APART = {"battery", "joint", "traces", "privileged"}
_SET = 'Write set.rule = "rest"'
_NOT_IN_GRID = {"name", "agents", "grid", "class", "protocol", "traces", "privileged"}
_PARTS = {
    "prior": Kind.ENVIRONMENT,
    "then": Kind.ENVIRONMENT,
    "payoff": Kind.PAYOFF,
    "adjustment": Kind.ADJUSTMENT,
}
_EXAMPLE = 'Write [[agents]] with agent = "random" and [[tests]] with class = "cups".'


def read_plan(path: str | Path) -> tuple[Plan, bytes]:
    """The plan in a campaign's file, and the content of the file.

    Nothing is run. Relative names of files begin in the folder of the file.

    Raises:
        InvalidInputError: It cannot be read, or has mistakes; the message tells up to ten, each
            with its line and key.
    """
    path = Path(path)
    content = read_bytes(path, "`omnimeter campaign new` writes an example.")
    return parse_plan(content, path), content


def parse_plan(content: bytes, path: Path) -> Plan:
    """The plan in the content of a campaign's file; see ``read_plan``."""
    name = clean_line(str(path))
    if len(content) > LARGEST:
        message = f"{name} is larger than {LARGEST >> 20} MB."
        raise InvalidInputError(message, "Give grids instead of long lists.")
    try:
        text = content.decode("utf-8-sig").replace("\r\n", "\n")
        data = tomllib.loads(text)
        if _is_deeper(data, DEEPEST):
            raise RecursionError
    except UnicodeDecodeError as error:
        line = content[: error.start].count(b"\n") + 1
        raise InvalidInputError(f"{name}, line {line}: this is not UTF-8.", "Fix it.") from error
    except tomllib.TOMLDecodeError as error:
        said = str(error)
        place = re.search(r" \(at (?:line (\d+), column (\d+)|end of document)\)$", said)
        line = int(place[1]) if place and place[1] else text.count("\n") + 1
        said = said[: place.start()] if place else said
        message = f"{name}, line {line}: this is not TOML: {said[:LONGEST]}."
        raise InvalidInputError(message, "Texts need quotes; tables are [[agents]].") from error
    except (ValueError, RecursionError) as error:  # a number of thousands of digits, deep nesting
        message = f"{name} is not TOML: it is nested too deeply, or a number in it is too long."
        raise InvalidInputError(message, "Fix the file.") from error
    folder = path.absolute().parent
    with files_in(folder):
        return replace(_Reader(name, text, data).plan(path.stem), folders=(str(folder),))


def _is_deeper(value: object, depth: int) -> bool:
    """Whether there are more tables and lists in each other."""
    level = [value]
    for _ in range(depth + 1):
        tables = [each for each in level if isinstance(each, dict | list)]
        level = [v for each in tables for v in (each.values() if isinstance(each, dict) else each)]
    return bool(level)


class _MistakeError(Exception):
    """A mistake in the file: where, what, and what to do."""


class _Place:
    """Tells errors of the code in it with their place in the file."""

    def __init__(
        self,
        tell: Callable[[Where, str, str], None],
        where: Where,
        table: Mapping[str, Any],
        otherwise: Where,
    ) -> None:
        self._tell, self._where, self._table, self._otherwise = tell, where, table, otherwise

    def __enter__(self) -> None: ...

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> bool:
        if isinstance(error, _MistakeError):
            self._tell(*error.args)
        elif isinstance(error, OmnimeterError):
            paths = [path for key in _named(error.message) for path in _places(key)]
            place = next((path for path in paths if _has(self._table, path)), self._otherwise)
            self._tell((*self._where, *place), _as_keys(error.message), _as_keys(error.advice))
        else:
            return False
        return True


def _must(condition: object, where: Where, message: str, advice: str = "") -> None:
    if not condition:
        raise _MistakeError(where, message, advice)


class _Reader:
    """Reads the tables of one file and collects its mistakes."""

    def __init__(self, name: str, text: str, data: dict[str, Any]) -> None:
        self._name, self._data = name, data
        self._lines = key_lines(text)
        self._mistakes: dict[str, int] = {}  # with their lines

    def plan(self, title: str) -> Plan:
        """The plan.

        Raises:
            InvalidInputError: There are mistakes.
        """
        data = self._table((), self._data, _KEYS[""])
        if not self._is_plain((), self._data):
            self._raise()
        given = data.get("title", clean_line(title))
        self._is_line(("title",), given)
        agents, groups = self._agents(data.get("agents"))
        seeds = self._seeds(data)
        limits = self._limits(data.get("limits", {}), set(groups.values()))
        run = self._table(("run",), data.get("run", {}), _KEYS["run"])
        with self._at(("run", "workers")):
            running_options(workers=run.get("workers", 1))
        executor = run.get("executor", "processes")
        if not isinstance(executor, str) or executor not in EXECUTORS:
            known = f"Known: {', '.join(EXECUTORS)}."
            self._tell(("run", "executor"), f"there is no executor {shown(executor)}.", known)
        address = run.get("address")
        if address is not None:
            with self._at(("run", "address")):
                check_address(address)
        slurm = self._slurm(data.get("slurm", {}), set(groups.values()))
        entries = self._tests(data.get("tests"), agents, groups, seeds)
        self._raise()
        of_agents = {agent.label: groups[agent.label] for agent in agents if groups[agent.label]}
        workers = run.get("workers")
        return Plan(given, entries, of_agents, limits, workers, executor, address, slurm)

    def _tell(self, where: Where, message: str, advice: str = "") -> None:
        """Keep a mistake with its line and key."""
        place = where
        while place and place not in self._lines:
            place = place[:-1]
        line = f", line {self._lines[place]}" if place in self._lines else ""
        key = "".join(f"[{each}]" if isinstance(each, int) else f".{each}" for each in where)
        key = f", {clean_line(key[1:][:LONGEST])}" if key else ""
        text = f"{self._name}{line}{key}: {message} {advice}".strip()
        self._mistakes.setdefault(text, self._lines.get(place, 0))

    def _raise(self) -> None:
        mistakes = sorted(self._mistakes, key=lambda text: self._mistakes[text])
        if not mistakes:
            return
        if len(mistakes) == 1:
            raise InvalidInputError(mistakes[0])
        told = mistakes[:MOST_MISTAKES]
        more = len(mistakes) - len(told)
        told += [f"... and {more} more."] if more else []
        message = f"{self._name} has {len(mistakes)} mistakes:\n" + "\n".join(told)
        raise InvalidInputError(message, "Fix them and give the same command again.")

    def _at(
        self, where: Where, table: Mapping[str, Any] | None = None, otherwise: Where = ()
    ) -> _Place:
        """Tell an error with its place: the key of the table that its message names."""
        return _Place(self._tell, where, table or {}, otherwise)

    def _table(self, where: Where, given: Any, known: Set[str] | None) -> dict[str, Any]:
        """A table without unknown keys, or an empty one where it is none."""
        if not isinstance(given, dict):
            self._tell(where, f"{shown(given)} is no table.", "Write name = value in a table.")
            return {}
        if known is None:
            return given
        for key in given:
            if key not in known:
                advice = f"Known: {', '.join(sorted(known))}."
                meant = {"environment_class": "class", "seed": "seeds"}.get(key) or key
                close = difflib.get_close_matches(meant[:100], sorted(known), n=1, cutoff=0.5)
                if where[:1] == ("tests",) and key in _LIMITS:
                    advice = "Limits are in the table [limits], or [limits.GROUP]."
                elif where[:1] == ("tests",) and meant == "seeds":
                    advice = "Seeds are at the top of the file: seeds = [0, 1]."
                elif close:
                    advice = f"Did you mean {close[0]!r}?"
                self._tell((*where, key), "there is no such key.", advice)
        # What was meant is read too, so that it is not told to be missing.
        meant_keys = {_KEY_OF.get(key, key): each for key, each in given.items()}
        return {key: each for key, each in meant_keys.items() if key in known}

    def _is_plain(self, where: Where, value: Any) -> bool:
        """Whether all values are what JSON has; no dates, no infinities."""
        if isinstance(value, dict | list):
            inner = value.items() if isinstance(value, dict) else enumerate(value)
            return not [key for key, each in inner if not self._is_plain((*where, key), each)]
        if isinstance(value, float) and not isfinite(value):
            self._tell(where, "this number is not finite.", "Give another one, or leave it out.")
        elif isinstance(value, int) and abs(value) >= 1 << 63:
            self._tell(where, "this number is too large.", "Numbers have at most 63 bits.")
        elif not isinstance(value, int | float | str):
            self._tell(where, "a date or a time cannot be used.", "Write a text in quotes.")
        else:
            return True
        return False

    def _tables(self, name: str, given: Any) -> list[dict[str, Any]]:
        """An array of tables with at least one."""
        if isinstance(given, list) and given:
            return [self._table((name, k), each, _KEYS[name]) for k, each in enumerate(given)]
        what = f"there is no [[{name}]]." if given is None or given == [] else "this is no list."
        self._tell((name,) if given is not None else (), what, _EXAMPLE)
        return []

    def _seeds(self, data: Mapping[str, Any]) -> list[int] | int:
        """The seeds, or how many secret ones are drawn."""
        seeds, repetitions = data.get("seeds"), data.get("repetitions", 1)
        if seeds is None:
            if isinstance(repetitions, bool) or not isinstance(repetitions, int):
                self._tell(("repetitions",), "this is no whole number.", "Write repetitions = 3")
            elif not 1 <= repetitions <= MOST_EVALUATIONS:
                advice = f"Give a number from 1 to {MOST_EVALUATIONS:,}."
                self._tell(("repetitions",), f"there cannot be {repetitions}.", advice)
            else:
                return repetitions
            return 1
        if "repetitions" in data:
            advice = "seeds = [0, 1] are known to all; repetitions = 2 draws two secret ones."
            self._tell(("repetitions",), "this cannot be given together with seeds.", advice)
        right = isinstance(seeds, list) and all(type(s) is int and s >= 0 for s in seeds)
        if not right or not seeds or len(set(seeds)) < len(seeds):
            advice = "Write different whole numbers from 0 on: seeds = [0, 1]"
            self._tell(("seeds",), "these are no seeds.", advice)
            return [0]
        return list(seeds)

    def _limits(self, given: Any, groups: set[str]) -> dict[str, dict[str, Any]]:
        """The limits of all agents and of groups."""
        groups -= {""}
        table = self._table(("limits",), given, _LIMITS | groups)
        limits = {"": {name: each for name, each in table.items() if name in _LIMITS}}
        for name in groups & table.keys():
            limits[name] = self._table(("limits", name), table[name], _LIMITS)
        for group, each in limits.items():
            for name, value in each.items():
                with self._at(("limits", group, name) if group else ("limits", name)):
                    running_options(**{name: value})
        return {name: each for name, each in limits.items() if each}

    def _slurm(self, given: Any, groups: set[str]) -> dict[str, dict[str, Any]]:
        """The settings and resources of array jobs, and the resources of groups."""
        groups -= {""}
        table = self._table(("slurm",), given, SETTINGS | RESOURCES | groups)
        jobs = {"": {name: each for name, each in table.items() if name not in groups}}
        for name in sorted(groups & table.keys()):
            jobs[name] = self._table(("slurm", name), table[name], RESOURCES)
        before = len(self._mistakes)
        for group, each in jobs.items():
            for name, value in each.items():
                with self._at(("slurm", group, name) if group else ("slurm", name)):
                    check: Callable[..., Any] = slurm_settings
                    check = slurm_resources if name in RESOURCES else check
                    check(**{name: value})
        jobs = {name: each for name, each in jobs.items() if each}
        if len(self._mistakes) == before:
            for group in jobs:  # whether its tasks have more time than the warning
                where = ("slurm", group) if group else ("slurm",)
                with self._at(where, jobs[group]):
                    resources_in(Plan("", (), slurm=jobs), group)
        return jobs

    def _grid(self, where: Where, given: Any, known: Set[str] | None) -> list[dict[str, Any]]:
        """The points of a grid, each with the values of all names; one without any by default.

        Values of the table ``set`` in it have names that begin with ``set.``.
        """
        table = self._table((*where, "grid"), given, known)
        choices: dict[str, tuple[Where, Any]] = {}
        for name, values in table.items():
            if name == "set" and known is not None:
                inner = self._table((*where, "grid", "set"), values, None)
                for key, each in inner.items():
                    choices[f"set.{key}"] = (*where, "grid", "set", key), each
            else:
                choices[name] = (*where, "grid", name), values
        for name, (place, values) in choices.items():
            texts = [_as_normal(v) for v in values] if isinstance(values, list) else []
            if not texts:
                self._tell(place, "this is no list of values.", "Write for example [0.1, 0.2]")
            elif len(set(texts)) < len(texts):
                self._tell(place, "a value is there twice.", "Give each once.")
                choices[name] = place, list(dict(zip(texts, values, strict=True)).values())
        lists = [values for _, values in choices.values() if isinstance(values, list)]
        if len(lists) < len(choices):
            return [{}]
        if prod(map(len, lists)) > MOST_EVALUATIONS:
            advice = f"There are at most {MOST_EVALUATIONS:,}."
            self._tell((*where, "grid"), "there are too many combinations.", advice)
            return [{}]
        return [dict(zip(choices, values, strict=True)) for values in product(*lists)]

    def _agents(self, given: Any) -> tuple[list[Spec], dict[str, str]]:
        """All agents, and the group of each by its label (empty: none)."""
        agents: list[Spec] = []
        known: set[str] = set()  # labels may be different: alpha=1, alpha=1.0
        groups: dict[str, str] = {}
        for number, table in enumerate(self._tables("agents", given)):
            where: Where = ("agents", number)
            text, group = table.get("agent"), table.get("group", "")
            if not isinstance(text, str):
                self._tell((*where, "agent"), "the agent is missing.", 'Write agent = "random"')
                continue
            if not isinstance(group, str) or ("group" in table and not group.strip()):
                self._tell((*where, "group"), "this is no text.", 'Write group = "learners"')
                continue
            if group in _LIMITS | SETTINGS | RESOURCES:
                advice = "Call it otherwise: that is a key of [limits] or [slurm]."
                self._tell((*where, "group"), f"no group can be called {group!r}.", advice)
            points = self._grid(where, table.get("grid", {}), None)
            with self._at((*where, "agent")):
                for spec in parse_agents(text):
                    for point in points:
                        with self._at(where, {"grid": table.get("grid")}, ("agent",)):
                            both = {**spec.parameters, **point}
                            made = replace(spec, parameters=both, digest="")
                            made = normalised(Kind.AGENT, made)
                            if not is_isolated(made, Isolation.AUTO):
                                with suppress(BrokenPartError):  # its exercises end in faults
                                    make(Kind.AGENT, made)
                            if (key := _as_normal(made.to_json())) in known or (
                                made.name and made.name in groups
                            ):
                                self._tell(where, f"{made.label} is there twice.", TWICE)
                            elif len(agents) < MOST_AGENTS:
                                groups[made.label] = group
                                agents.append(made)
                                known.add(key)
                            else:
                                advice = f"There are at most {MOST_AGENTS:,}."
                                self._tell(("agents",), "there are too many.", advice)
        return agents, groups

    def _is_line(self, where: Where, value: Any) -> TypeGuard[str]:
        """Whether a value is a text that can be shown in one line."""
        said = ""
        if not isinstance(value, str) or not value.strip():
            said = "this is no text."
        elif clean_line(value) != value:
            said = f"{shown(value)} has characters that cannot be shown."
        if said:
            self._tell(where, said, f'Write {where[-1]} = "..."')
        return not said

    def _tests(
        self, given: Any, agents: list[Spec], groups: Mapping[str, str], seeds: list[int] | int
    ) -> tuple[Entry, ...]:
        """The evaluations of all tests."""
        entries: list[Entry] = []
        taken: set[str] = set()
        named: dict[str, int] = {}
        idle = {*groups.values()}
        repetitions: list[int | None] = [None] * seeds if isinstance(seeds, int) else [*seeds]
        for number, table in enumerate(self._tables("tests", given)):
            where: Where = ("tests", number)
            classes = table.get("class")
            several = classes if isinstance(classes, list) and classes else [classes]
            first = next(
                (table[key] for key in ("class", "battery", "protocol") if key in table), ""
            )
            default = first if isinstance(first, str) and first else f"test {number + 1}"
            name = table.get("name", _without_parameters(default))
            if not self._is_line((*where, "name"), name):
                continue
            if name in named:
                other = f"tests[{named[name]}] has the name {name!r} too."
                self._tell((*where, "name") if "name" in table else where, other, "Give a name.")
            named.setdefault(name, number)
            taking = self._chosen(where, table, agents, groups)
            idle -= {groups[agent.label] for agent in taking}
            points = self._grid(where, table.get("grid", {}), _KEYS["tests"] - _NOT_IN_GRID)
            if len(entries) + len(several) * len(points) * len(repetitions) > MOST_EVALUATIONS:
                advice = f"There are at most {MOST_EVALUATIONS:,} in all."
                self._tell(where, "there are too many evaluations.", advice)
                continue
            alike: dict[str, int] = {}
            for (place, one), point in product(enumerate(several), points):
                planned = self._evaluation(where, table, one, point, taking)
                if planned is None or self._is_again(where, place, point, planned, alike):
                    continue
                evaluation, label, expected = planned
                for repetition, seed in enumerate(repetitions, 1):
                    made = evaluation
                    if made.needs_seed and seed is not None:
                        made = made.with_seed(seed)
                    elif repetition > 1 and not made.needs_seed:
                        break  # a test without randomness of its own
                    said = [name, *([label] if len(several) > 1 else [])]
                    said += [f"{key.removeprefix('set.')} {as_text(v)}" for key, v in point.items()]
                    said.append(f"seed {seed}" if seed is not None else str(repetition))
                    drawn = repetition if seed is None else 0
                    unique = _directory_name(said, taken)
                    taken.add(unique)
                    entry = Entry(unique, made, name, label, point, drawn, expected)
                    entries.append(entry)
        for number, table in enumerate(self._data["agents"] if not self._mistakes else ()):
            if (group := table.get("group", "")) in idle:
                what = f"the group {group!r}" if group else "agents without a group"
                advice = "Leave these agents out, or let a test take them."
                self._tell(("agents", number), f"no test takes {what}.", advice)
        return tuple(entries)

    def _is_again(
        self,
        where: Where,
        place: int,
        point: Mapping[str, Any],
        planned: tuple[Evaluation, str, int | None],
        alike: dict[str, int],
    ) -> bool:
        """Whether a test has an evaluation already, which would look like another seed of it.

        Those that it has are noted with the places of their classes.
        """
        key = _as_normal(planned[0].to_json())
        if key not in alike:
            alike[key] = place
            return False
        what, wrong = planned[1], (*where, "class", place)
        if alike[key] == place:
            what = ", ".join(f"{name} = {as_text(value)}" for name, value in point.items())
            wrong = (*where, "grid")
        self._tell(wrong, f"{what} is there twice.", "Give it once.")
        return True

    def _chosen(
        self, where: Where, table: Mapping[str, Any], agents: list[Spec], groups: Mapping[str, str]
    ) -> list[Spec]:
        """The agents that take a test."""
        chosen = table.get("agents")
        if chosen is None:
            return agents
        known = sorted({group for group in groups.values() if group})
        if not isinstance(chosen, list) or not chosen:
            advice = 'Write for example agents = ["learners"]'
            self._tell((*where, "agents"), "this is no list of groups.", advice)
            return agents
        for each in chosen:
            if each not in known:
                advice = f"Known: {', '.join(known)}." if known else 'Write group = "..." there.'
                if close := difflib.get_close_matches(str(each)[:100], known, n=1, cutoff=0.5):
                    advice = f"Did you mean {close[0]!r}?"
                self._tell((*where, "agents"), f"no agent is in a group {shown(each)}.", advice)
        return [agent for agent in agents if groups[agent.label] in chosen] or agents

    def _evaluation(
        self,
        where: Where,
        table: Mapping[str, Any],
        class_text: Any,
        point: Mapping[str, Any],
        agents: list[Spec],
    ) -> tuple[Evaluation, str, int | None] | None:
        """The evaluation of a test at a point of its grid, without its seed.

        With the label of its class, and the number of exercises that is expected.
        """
        with self._at(where, table):
            values = {key: each for key, each in table.items() if key not in _ABOUT}
            settings = values.pop("set", {})
            _must(isinstance(settings, dict), (*where, "set"), "this is no table.", _SET)
            inner = {k.removeprefix("set."): v for k, v in point.items() if k.startswith("set.")}
            values |= {k: v for k, v in point.items() if not k.startswith("set.")}
            settings = {**settings, **inner}
            for name in sorted(_FLAGS & values.keys()):
                flag = isinstance(values[name], bool)
                _must(flag, (*where, name), "this is neither true nor false.")
            for name in sorted({"protocol", "battery", *_PARTS} & values.keys()):
                several = values[name] if name == "then" else [values[name]]
                several = several if isinstance(several, list) else [several]
                texts = several and all(isinstance(each, str) for each in several)
                _must(texts, (*where, name), "this is no text.", f'Write {name} = "..."')
            spec = None
            if class_text is not None:
                place = (*where, "class")
                advice = 'Write class = "cups", or a list of classes.'
                _must(isinstance(class_text, str), place, "this is no text.", advice)
                spec = self._part(place, where, Kind.ENVIRONMENT, class_text, settings)
            elif "protocol" not in values:
                advice = "Give a class too, or a protocol."
                _must(not settings, (*where, "set"), "these are parameters of a class.", advice)
            taking = agents or [Spec("random-v1")]  # that there is none is told already
            evaluation = self._planned(where, values, settings, spec, taking)
            seeded = evaluation.with_seed(0 if evaluation.needs_seed else None)
            protocol = seeded.make_protocol()
            alone = spec is not None and not protocol.seated
            label = spec.label if spec and alone else protocol.describe().environments
            try:
                list(protocol.propose(taking[0], [])[:DRAWN])
            except OmnimeterError as error:
                raise InvalidInputError(f"{label}: {error.message}", error.advice) from error
            return evaluation, label, protocol.expected()
        return None

    def _part(
        self, place: Where, where: Where, kind: Kind, text: str, settings: Mapping[str, Any]
    ) -> Spec:
        """A part with the parameters of ``set``, if it can be made.

        Raises:
            _MistakeError: It cannot.
        """
        try:
            spec = parse(kind, text)
            spec = replace(spec, parameters={**spec.parameters, **settings}, digest="")
            spec = normalised(kind, spec)
            if kind is Kind.ENVIRONMENT:
                make(kind, spec)
        except OmnimeterError as error:
            for name in re.findall(r"parameter '(\w+)'", error.message):
                for path in ((*where, "set", name), (*where, "grid", "set", name)):
                    place = path if path in self._lines else place
            raise _MistakeError(place, error.message, error.advice) from error
        return spec

    def _planned(
        self,
        where: Where,
        values: dict[str, Any],
        settings: Mapping[str, Any],
        spec: Spec | None,
        agents: list[Spec],
    ) -> Evaluation:
        """The evaluation that the same values give in Python.

        Raises:
            OmnimeterError: They contradict each other, or one cannot be used.
            _MistakeError: The same, with its place.
        """
        kept: dict[str, Any] = {k: values.pop(k, False) for k in ("traces", "privileged")}
        if "protocol" in values:
            others = [*(["class"] if spec else []), *sorted(values.keys() - {"protocol"})]
            wrong = (*where, *others[:1])
            advice = "Its parameters are those of set: set.exercises = 10"
            _must(not others, wrong, "this cannot be given with a protocol.", advice)
            located = {name: self._located(value) for name, value in settings.items()}
            place, text = (*where, "protocol"), values["protocol"]
            made = self._part(place, where, Kind.PROTOCOL, text, located)
            return Evaluation(made, tuple(agents), **kept)
        for name in _PARTS.keys() & values.keys():
            given = values[name]
            several = given if isinstance(given, list) else [given]
            parts = [parse(_PARTS[name], each) for each in several]
            values[name] = parts if isinstance(given, list) else parts[0]
        if "definition" in values:
            number = values["definition"]
            whole = isinstance(number, int) and not isinstance(number, bool)
            _must(whole, (*where, "definition"), "this is no number.", "Write definition = 19")
            others = sorted(values.keys() - _OF_UNIVERSAL)
            advice = f"It takes {', '.join(sorted(_OF_UNIVERSAL - _FLAGS))}."
            _must(not others, (*where, *others[:1]), "a definition does not take this.", advice)
            _must(spec, where, "the class is missing.", 'Write class = "automata"')
            assert spec is not None
            return universal.test(agents, spec, **values, **kept).evaluation
        others = sorted(values.keys() - _OF_SAMPLES.keys())
        advice = "Give its definition: 18 where time counts, 19 for interactions; or 10, 15, 17."
        _must(not others, (*where, *others[:1]), "this is of a universal test.", advice)
        battery, joint = values.pop("battery", None), values.pop("joint", False)
        if battery is not None and Path(place_of(battery)).is_file():
            battery = place_of(battery)
        defaults = {name: each for name, each in _OF_SAMPLES.items() if name not in _APART}
        given = {**defaults, **values}
        evaluation, _ = plan(agents, spec, battery, given, joint=joint, traces=kept["traces"])
        return replace(evaluation, privileged=kept["privileged"])

    def _located(self, value: Any) -> Any:
        """A parameter of a protocol; a part in a file with its digest."""
        if isinstance(value, str) and re.search(r"\.py\W*:", value):
            return parse(Kind.ENVIRONMENT, value).to_json()
        return value


_KEY_OF: Mapping[str, str] = {"environment_class": "class"}


def _named(message: str) -> list[str]:
    """The keys that a message names, the likeliest first."""
    patterns = (r"\b(\w+)=", r"\b[Pp]arameter '(\w+)'", r"\b[Tt]he (\w+) ", r"\b(\w{6,})\b")
    words = [word for pattern in patterns for word in re.findall(pattern, message)]
    return [_KEY_OF.get(word, word) for word in words]


def _places(key: str) -> list[tuple[str, ...]]:
    """Where a key can be in a table of a test or of agents."""
    return [(key,), ("grid", key), ("set", key), ("grid", "set", key)]


def _has(table: Mapping[str, Any], path: tuple[str, ...]) -> bool:
    """Whether a table has a key, or one in a table in it."""
    for key in path:
        if not isinstance(table, Mapping) or key not in table:
            return False
        table = table[key]
    return True


def _as_keys(text: str) -> str:
    """A message of the Python API with parameters (``time=60``) as keys (``time = 60``)."""

    def written(match: re.Match[str]) -> str:
        before = text[: match.start()]
        if before.count("(") > before.count(")"):  # of a part, as in switch(first=gc, at=3)
            return match[0]
        name = _KEY_OF.get(match[1], match[1])
        if not re.match(r"[\w'\"\[{-]", text[match.end() :]):  # "Give time= or interactions=."
            return name
        return f"{name} = "

    return re.sub(r"(?<![\w(,-])([a-z_]+)=(?!=)", written, text)


def _as_normal(value: Any) -> str:
    """A value as a text, the same for numbers that are the same: 1 and 1.0."""

    def normal(given: Any) -> Any:
        if isinstance(given, dict):
            return {key: normal(each) for key, each in given.items()}
        if isinstance(given, list):
            return [*map(normal, given)]
        return int(given) if isinstance(given, float) and given.is_integer() else given

    return json.dumps(normal(value), sort_keys=True)


def _without_parameters(text: str) -> str:
    """The name of a part alone: of a file that of the object, without its folder."""
    return re.split(r"[/\\]", text.partition("(")[0].strip())[-1] or text


def _directory_name(parts: Sequence[str], taken: set[str]) -> str:
    """A name that every file system can have, and that is not taken."""
    slugs = [re.sub(r"[^a-z0-9.]+", "-", part.lower()).strip("-.") for part in parts]
    plain = name = "-".join(slug for slug in (slugs[0] or "test", *slugs[1:]) if slug)
    unclear = not all(slugs)  # letters of other scripts are left out
    told = list(parts)
    while len(name) > LONGEST_NAME or name in taken or unclear:
        name = f"{plain[: LONGEST_NAME - 9].strip('-.')}-{fingerprint(told)[:8]}"
        unclear = False
        told.append("")  # another name, if that is taken too
    return name
