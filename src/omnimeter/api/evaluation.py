"""Evaluating agents from Python: what is given becomes specs, and a session carries it out."""

from __future__ import annotations

import re
import secrets
import shutil
import sys
from collections.abc import Iterator, Mapping, Sequence, Set
from contextlib import closing, nullcontext
from dataclasses import replace
from functools import cached_property
from math import isfinite
from numbers import Integral, Real
from pathlib import Path
from typing import Any, Literal

import numpy as np

from omnimeter.api.result import MemoryRecord, Result, consented, opened
from omnimeter.caching import announce
from omnimeter.catalogue import (
    Kind,
    check_name,
    checked_name,
    objects,
    parse,
    parse_agents,
    place_of,
    with_digest,
)
from omnimeter.contract import (
    EnvironmentClass,
    InvalidInputError,
    Outcome,
    Protocol,
    Spec,
    UnknownNameError,
)
from omnimeter.contract.errors import check_count
from omnimeter.contract.protocol import Memory
from omnimeter.execution import Isolation, Journaling, Observer, Options, Run, Sandboxing, check
from omnimeter.execution.preparing import Prepared
from omnimeter.execution.preparing import prepare as carry_out_offline
from omnimeter.execution.units import Receipt, processes, unfinished, units_in
from omnimeter.execution.workers import is_isolated
from omnimeter.interaction.adapters import adapt
from omnimeter.interaction.handles import shown
from omnimeter.interaction.process import Limits
from omnimeter.interaction.sandbox import Mechanism
from omnimeter.protocols import Evaluation, summarise
from omnimeter.protocols.battery import snapshot
from omnimeter.protocols.bayesian import BayesianRL
from omnimeter.protocols.sample import FIRST_BLOCK, MOST_EXERCISES, default_payoff
from omnimeter.protocols.seating import Seating, code_length

AgentLike = Any
"""A spec (``"random(rate=10)"``, ``"my_agent.py:MyAgent"``), a ``Spec``, or a Python object: a
class or an object of ``Agent``, an object with ``act`` or ``predict``, a function, or a function
without parameters that makes one of these. Several are given as a list, or as a dictionary by the
names that they are to have. A text may give a name, too: ``"my_agent.py:MyAgent as mine"``."""

EnvironmentClassLike = str | Spec | EnvironmentClass | type[EnvironmentClass]
"""A spec of an environment class, or a Python class or object."""

LARGEST_NUMBER = 1e300
"""The largest number that is read; most have bounds of their own."""

MOST_WORKERS = 1024
"""Processes that work at once at most."""

LONGEST_RUN = 86_400.0
"""Seconds after which an exercise or an offline phase is ended: a day."""

Progress = Observer | bool
"""An observer; or whether to print one line per agent to the standard error."""


def read_spec(kind: Kind, given: Any) -> Spec:
    """The spec of a part that is given as a text or as a spec."""
    if not isinstance(given, str | Spec):
        message = f"{shown(given)} is no {kind}."
        raise InvalidInputError(message, f"Give {kind.phrase} as a text or a Spec.")
    return parse(kind, given) if isinstance(given, str) else with_digest(given)


def agent_specs(
    agents: AgentLike | Sequence[AgentLike] | Mapping[str, AgentLike],
) -> tuple[tuple[Spec, ...], dict[str, Any]]:
    """The specs of some agents, and those that were given as Python objects, by their ids.

    Raises:
        InvalidInputError: Something is no agent, or two objects have the same name.
    """
    specs: list[Spec] = []
    things: dict[str, Any] = {}
    if isinstance(agents, Mapping):
        for name, given in agents.items():
            if not isinstance(name, str) or isinstance(given, list | tuple | Mapping):
                message = f"{shown(name)}: {shown(given)} is no agent with a name."
                raise InvalidInputError(message, 'Give {"mine": agent, "other": agent}.')
            own, objects_of_own = agent_specs(given)
            if len(own) > 1:
                message = f"The name {name!r} is for one agent, and {given!r} stands for several."
                raise InvalidInputError(message, "Give them one by one.")
            check_name(name)
            plain = objects.PREFIX + re.sub(r"\W", "_", name)
            for thing in objects_of_own.values():
                if plain in things:
                    message = f"The name {name!r} differs from another one in its signs only."
                    raise InvalidInputError(message, "Give the agents names of other letters.")
                own, things[plain] = (Spec(plain),), thing
            specs.append(checked_name(replace(own[0], name=name)))
        return tuple(specs), things
    for each in agents if isinstance(agents, list | tuple) else [agents]:
        if isinstance(each, str):
            specs += parse_agents(each)
            continue
        if isinstance(each, Spec):
            specs.append(checked_name(read_spec(Kind.AGENT, each)))
            continue
        if not isinstance(each, type):
            adapt(each)  # raises for what is no agent
        specs.append(_object_spec(each))
        if specs[-1].id in things:
            raise InvalidInputError(
                f"Two agents have the name {specs[-1].id}, which would give them the same "
                "random numbers.",
                'Name them: {"one": agent, "other": agent}.',
            )
        things[specs[-1].id] = each
    return tuple(specs), things


def class_spec(environment_class: EnvironmentClassLike) -> tuple[Spec, dict[str, Any]]:
    """The spec of an environment class and, if it is a Python object, that object by its id.

    Raises:
        InvalidInputError: It is no environment class.
    """
    if isinstance(environment_class, str | Spec):
        return read_spec(Kind.ENVIRONMENT, environment_class), {}
    kind = environment_class if isinstance(environment_class, type) else type(environment_class)
    if not issubclass(kind, EnvironmentClass):
        raise InvalidInputError(
            f"{shown(environment_class)} is no environment class.",
            "Give an id, a Spec, or a class or object of omnimeter.EnvironmentClass.",
        )
    spec = _object_spec(environment_class)
    return spec, {spec.id: environment_class}


def _object_spec(thing: Any) -> Spec:
    name = getattr(thing, "__name__", None) or type(thing).__name__
    return Spec(objects.PREFIX + (re.sub(r"\W", "", name) or "object"))


def running_options(
    workers: int = 1,
    isolation: str = "auto",
    action_timeout: float = 10.0,
    memory_limit: int | None = 2048,
    prepare_timeout: float = LONGEST_RUN,
    begin_timeout: float = 60.0,
    exercise_timeout: float = LONGEST_RUN,
    sandbox: str = "auto",
    fault_limit: int = 10,
    journal: str = "auto",
) -> Options:
    """How to run, which does not change the result; the parameters are those of ``evaluate``.

    Raises:
        InvalidInputError: There are no workers, or a limit is not possible.
        UnknownNameError: There is no such isolation, sandbox or way of journaling.
    """
    counts: dict[str, Any] = {"workers": workers, "fault_limit": fault_limit}
    for name, value in counts.items():
        if isinstance(value, bool) or not isinstance(value, Integral):
            message = f"{name}={shown(value)} cannot be used."
            raise InvalidInputError(message, "Give a whole number.")
    check_count(workers, "workers", MOST_WORKERS)
    if isolation not in list(Isolation):
        raise UnknownNameError("isolation", isolation, list(Isolation))
    if sandbox not in list(Sandboxing):
        raise UnknownNameError("sandbox", sandbox, list(Sandboxing))
    if journal not in list(Journaling):
        raise UnknownNameError("way of journaling", journal, list(Journaling))
    if fault_limit < 1:
        message = f"The fault_limit={fault_limit} cannot be used."
        raise InvalidInputError(message, "Give fault_limit=1 or more.")
    limits = Limits(
        seconds_per_action=action_timeout,
        memory_mb=memory_limit,
        seconds_to_begin=begin_timeout,
        seconds_to_prepare=prepare_timeout,
        seconds_per_exercise=exercise_timeout,
    )
    return Options(
        workers,
        Isolation(isolation),
        limits,
        Sandboxing(sandbox),
        fault_limit,
        journal=Journaling(journal),
    )


UNCONTAINED = (
    "The processes of agents are not contained: nothing on this machine can do it. They can reach "
    "your files and the network. `omnimeter doctor` says how to get a sandbox."
)
"""The warning of an evaluation of agents in processes of their own without a sandbox."""


def check_sandbox(agents: Sequence[Spec], options: Options) -> None:
    """Warn if agents in processes of their own should be contained and cannot be.

    Raises:
        InvalidInputError: A sandbox is required, and there is none on this machine.
    """
    wanted = options.sandboxing is Sandboxing.REQUIRED
    if options.sandboxing is Sandboxing.AUTO:
        wanted = any(is_isolated(agent, options.isolation) for agent in agents)
    if wanted and options.sandbox.mechanism is Mechanism.NONE:
        announce(UNCONTAINED, warn=True)


def directory_of(given: object) -> Path:
    """The directory that a user gives.

    Raises:
        InvalidInputError: It cannot be one.
    """
    if not isinstance(given, str | Path) or "\0" in str(given):
        message = f"{shown(given)} is no directory."
        raise InvalidInputError(message, "Give its path.")
    return Path(given)


class Session:
    """An evaluation that is going to be carried out, at once or round by round.

    Args:
        evaluation: The protocol and the agents.
        things: Agents and environment class that were given as Python objects, by their ids.
        out: The directory to store it in; nothing is stored without one.
        options: How to run it.
    """

    def __init__(
        self,
        evaluation: Evaluation,
        things: Mapping[str, Any] | None = None,
        out: str | Path | None = None,
        options: Options = Options(),  # noqa: B008 - a frozen value
    ) -> None:
        self.evaluation = evaluation
        self.out = None if out is None else directory_of(out)
        self._things = dict(things or {})
        self._options = options
        if self.out is not None:
            self._options = replace(options, hidden=(*options.hidden, str(self.out.absolute())))
        self._last: Result | None = None
        self._checked = False
        self._replaces: Mapping[str, Any] | None = None
        self._go_on()
        if self._things and options.isolation is Isolation.PROCESS:
            raise InvalidInputError(
                f"{', '.join(self._things)} cannot run in a process of its own.",
                "Give isolation='auto', or put the agent into a file: my_agent.py:MyAgent.",
            )

    def _go_on(self) -> None:
        """Take up a stored evaluation that this one extends by further agents or exercises."""
        from omnimeter.results import Record
        from omnimeter.results.files import Layout, write_errors

        if self.out is None:
            return
        with write_errors(self.out):
            if not Layout(self.out).spec.exists():
                return
        record = Record(self.out)
        objects.use(self._things)
        stored = Evaluation.from_json(record.spec)
        grown = self.evaluation.continued(stored, record.seed, record.outcomes)
        if grown is not None:
            self.evaluation, self._replaces = grown, record.spec

    @cached_property
    def _secret(self) -> int | None:
        """The seed that is drawn for the test, or was when it began; ``None`` for its own."""
        from omnimeter.results import Record
        from omnimeter.results.files import Layout, write_errors

        if self.out is not None:
            with write_errors(self.out):
                begun = Layout(self.out).spec.exists()
            if begun:
                return Record(self.out).seed
        return secrets.randbits(63) if self.evaluation.needs_seed else None

    @cached_property
    def _memory(self) -> nullcontext[MemoryRecord]:
        return nullcontext(MemoryRecord(self.evaluation.to_json(), self._secret))

    @property
    def protocol(self) -> Protocol:
        """The protocol, ready to propose exercises."""
        objects.use(self._things)
        return self.evaluation.with_seed(self._secret).make_protocol()

    def check(self) -> None:
        """Find out whether everything can be made, before anything is run or stored.

        Raises:
            OmnimeterError: What cannot be made, and why.
        """
        objects.use(self._things)
        if not self._checked:
            if self._options.workers > 1:
                objects.pack()
            check(self.evaluation.with_seed(self._secret))
            check_sandbox(self.evaluation.members, self._options)
            self._checked = True

    def run(self, progress: Progress = False) -> Result:
        """Carry out what is not finished yet; Ctrl-C ends it early with a valid result.

        Args:
            progress: An observer, or whether to print how far it is.
        """
        try:
            for _ in self._rounds(progress):
                pass
        except KeyboardInterrupt:
            if self._last is None:  # nothing has begun
                raise
        assert self._last is not None  # set when the run ended
        return self._last

    def __iter__(self) -> Iterator[Result]:
        """Carry it out; the result so far after each round. Leave the loop at any time."""
        return self._rounds()

    @property
    def result(self) -> Result:
        """The result so far; what has not been started is run to its end first."""
        return self.run() if self._last is None else self._last

    def _rounds(self, progress: Progress = False) -> Iterator[Result]:
        self.check()
        new = self.out is not None and not self.out.exists()
        stored: Any = self._memory
        if self.out is not None:
            stored = opened(self.evaluation, self.out, self._secret, self._replaces)
        with stored as store:
            observer = _PrintedProgress() if progress is True else progress or None
            evaluation, shared = self.evaluation.with_seed(store.seed), self._is_shared
            run = Run(evaluation, store, self._options, None if shared else observer)

            def so_far() -> Result:
                return Result(self.evaluation, store, run.outcomes(), run.complete, self._things)

            try:
                if shared:
                    self._share(store, observer or Observer())
                with closing(iter(run)) as rounds:  # of a shared one, what was given up
                    for _ in rounds:
                        self._last = so_far()
                        yield self._last
                        objects.use(self._things)  # the caller may have run something else
            except InvalidInputError:  # parameters of an agent that is only loaded elsewhere
                if self.out is not None and new and not store.keys():
                    shutil.rmtree(self.out)
                raise
            finally:
                self._last = so_far()

    @property
    def _is_shared(self) -> bool:
        """Whether several processes take it in slices, which they store themselves."""
        protocol = self.protocol
        several = self.out is not None and self._options.workers > 1
        return several and protocol.fixed and protocol.memory == "fresh"

    def _share(self, store: Any, observer: Observer) -> None:
        """Let several processes carry out what is not finished, slice by slice."""
        from omnimeter.results import Record

        assert self.out is not None
        agents = self.evaluation.agents
        observer.started(agents, self.protocol.expected())
        units = units_in(self.evaluation.with_seed(store.seed), self.out, self._options)
        left = unfinished(units)
        for agent, done in store.outcomes().by_agent(agents).items():
            if len(done):
                observer.finished(agent, done)
        by_key = {unit.key: unit for unit in left}

        def tell(receipt: Receipt) -> None:
            if receipt.damage is not None:
                raise receipt.damage
            new = Record(store.path, receipt.shards).outcomes()
            for agent, done in new.by_agent(by_key[receipt.unit].agents).items():
                observer.finished(agent, done)

        processes(self._options.workers)(left, tell)


class _PrintedProgress(Observer):
    """Prints how many exercises each agent has done, on the standard error."""

    def started(self, agents: Sequence[Spec], expected: int | None) -> None:
        self._done = dict.fromkeys(agents, 0)
        self._expected = "" if expected is None else f" of {expected}"

    def finished(self, agent: Spec, outcomes: Sequence[Outcome]) -> None:
        self._done[agent] += len(outcomes)
        text = f"{agent.label}: {self._done[agent]}{self._expected} exercises"
        print(f"\r{text:<60}", end="", file=sys.stderr, flush=True)


def evaluate(
    agents: AgentLike | Sequence[AgentLike] | Mapping[str, AgentLike],
    environment_class: EnvironmentClassLike | None = None,
    *,
    battery: str | Path | Mapping[str, Any] | None = None,
    tests: int = 1,
    exercises: int | None = None,
    precision: float | None = None,
    interactions: int | None = None,
    seconds: float | None = None,
    complexity: float | Sequence[float] | None = None,
    payoff: str | Spec | None = None,
    clock: str | None = None,
    tick: float = 1.0,
    timeout: float | None = None,
    timeout_rule: str = "no-reward",
    joint: bool = False,
    seated: AgentLike | Sequence[AgentLike] = (),
    similar: Result | str | Path | Sequence[Result | str | Path] = (),
    count_seated: bool = False,
    memory: Memory = "fresh",
    prior: EnvironmentClassLike | None = None,
    gamma: float | None = None,
    truncation_error: float | None = None,
    trajectories: int | None = None,
    noise: str | None = None,
    then: EnvironmentClassLike | Sequence[EnvironmentClassLike] | None = None,
    at: int | None = None,
    window: int | None = None,
    seed: int | None = None,
    traces: bool = False,
    out: str | Path | None = None,
    workers: int = 1,
    isolation: str = "auto",
    action_timeout: float = 10.0,
    memory_limit: int | None = 2048,
    prepare_timeout: float = LONGEST_RUN,
    begin_timeout: float = 60.0,
    exercise_timeout: float = LONGEST_RUN,
    sandbox: str = "auto",
    fault_limit: int = 10,
    journal: str = "auto",
    privileged: bool = False,
    progress: Progress = False,
) -> Result:
    """Let agents take exercises in drawn environments, and score them, as ``omnimeter run`` does.

    Args:
        agents: One agent, a list, or a dictionary of agents by the names they are given: specs
            (``"q-learning"``), ``Spec``s, classes or objects of ``Agent``, objects with ``act`` or
            ``predict``, functions. A Python object has the id ``python:NAME``, from its name, or
            else its class or function, which keys its random numbers; it runs in this process, and
            every exercise gets a copy of it.
        environment_class: An id (``"lambda"``), a ``Spec``, or a Python class or object.
        battery: Instead of a class: the name of a battery, its JSON file, or its content.
        tests: How many times the battery is taken.
        exercises: How many environments are drawn; every agent gets the same ones. 20 by default;
            with a precision at most 10,000.
        precision: Half the length of the interval at which an agent has taken enough exercises.
            The interval then holds at every number of exercises at once.
        interactions: The length of an exercise; 1000 if no length is given.
        seconds: The length of an exercise in seconds.
        complexity: The complexity of the environments; of several, each in turn.
        payoff: What an exercise is worth; by default ``planned-average`` of a number of
            interactions, and ``diminishing`` of a time.
        clock: ``wall`` or ``virtual``; by default wall for seconds.
        tick: Virtual seconds of an undeclared action.
        timeout: Seconds after which an action comes too late.
        timeout_rule: What then takes its place: ``no-reward`` or ``random-action``.
        joint: Whether all agents are in the environments at once.
        seated: Agents that sit beside each agent in each of its exercises, in the following seats.
            They act and learn, and are not evaluated.
        similar: Stored evaluations, or results: from each, one more agent is drawn for every
            exercise, the likelier the closer its score there is to that of the agent beside it.
        count_seated: Whether the complexity of an exercise includes the length of the code of
            those seated beside the agent, in bits.
        memory: ``fresh`` (every exercise gets a new agent) or ``carried`` (one agent takes all
            exercises in order).
        prior: The class of MDPs that agents are told of in an offline phase, before they act in
            MDPs of the environment class: the protocol ``bayesian-rl``, with its computation times.
        gamma: With a prior: the discount factor; 0.95 by default.
        truncation_error: With a prior: how much the return may miss, which gives the length of an
            exercise where none is given; 0.01 by default.
        trajectories: With a prior: how many trajectories each agent has in each MDP; 1 by default.
        noise: With a prior: ``common`` random numbers for all agents, or ``independent`` ones.
        then: The class of environments that those of the environment class turn into, or several:
            the protocol ``perturbation``, with what agents lose and regain.
        at: The number of interactions before that, or before something happens to the agents.
        window: With ``at``: over how many interactions levels are averaged; by default a tenth of
            the shorter phase.
        seed: The root of all random numbers. By default one is drawn, which agents cannot know;
            ``result.seed`` tells it when all exercises are done.
        traces: Whether every interaction is kept.
        out: The directory to store the evaluation in; nothing is stored without it. One that was
            interrupted there goes on.
        workers: How many processes carry out exercises.
        isolation: Which agents get processes of their own: ``auto`` (those from files),
            ``process`` (all) or ``none``.
        action_timeout: Seconds after which an isolated agent that hangs is ended.
        memory_limit: Megabytes that an isolated agent may use.
        prepare_timeout: Seconds after which the offline phase of an isolated agent is ended.
        begin_timeout: Seconds that an isolated agent may take to be loaded and to begin.
        exercise_timeout: Seconds of real time after which an exercise is ended in any case.
        sandbox: Whether the processes of isolated agents are contained by the operating system:
            ``auto`` (as far as this machine can), ``required`` or ``none``.
        fault_limit: After how many faults of its own in a row an agent takes no more exercises.
        journal: Whose answers are kept one by one, with ``out``, so that an interrupted exercise
            goes on where it was: those of agents that are costly (``auto``), ``all`` or ``none``.
        privileged: Whether agents may have views that tell what others have to find out.
        progress: An observer, or whether to print how far it is.

    Returns:
        The scores and everything behind them. Ctrl-C ends it early with the result so far.

    Raises:
        OmnimeterError: Something that was given cannot be used; the message says what to do.
    """
    given = {
        "tests": tests,
        "exercises": exercises,
        "precision": precision,
        "interactions": interactions,
        "seconds": seconds,
        "complexity": complexity,
        "payoff": payoff,
        "clock": clock,
        "tick": tick,
        "timeout": timeout,
        "timeout_rule": timeout_rule,
        "memory": memory,
        "prior": prior,
        "gamma": gamma,
        "truncation_error": truncation_error,
        "trajectories": trajectories,
        "noise": noise,
        "then": then,
        "at": at,
        "window": window,
        "seed": seed,
        "seated": seated,
        "similar": similar,
        "count_seated": count_seated,
    }
    evaluation, things = plan(agents, environment_class, battery, given, joint=joint, traces=traces)
    evaluation = replace(evaluation, privileged=privileged)
    how = running_options(
        workers,
        isolation,
        action_timeout,
        memory_limit,
        prepare_timeout,
        begin_timeout,
        exercise_timeout,
        sandbox,
        fault_limit,
        journal,
    )
    return Session(evaluation, things, out, how).run(progress)


def prepare(
    agents: AgentLike | Sequence[AgentLike] | Mapping[str, AgentLike],
    prior: EnvironmentClassLike,
    *,
    gamma: float = 0.95,
    horizon: int | None = None,
    seed: int = 0,
    again: bool = False,
    isolation: str = "auto",
    memory_limit: int | None = 2048,
    prepare_timeout: float = LONGEST_RUN,
    sandbox: str = "auto",
) -> list[Prepared]:
    """Carry out the offline phase of agents, as ``omnimeter prepare`` does.

    What they prepare is kept, and taken up by an evaluation with the same prior, discount factor,
    horizon and seed.

    Args:
        agents: As for ``evaluate``.
        prior: The class of MDPs that agents are told of.
        gamma: The discount factor.
        horizon: The steps of a trajectory; by default those after which the return misses less
            than 0.01.
        seed: The root of all random numbers.
        again: Whether to prepare even what was prepared before.
        isolation: As for ``evaluate``.
        memory_limit: As for ``evaluate``.
        prepare_timeout: As for ``evaluate``.
        sandbox: As for ``evaluate``.

    Returns:
        What each agent prepared, with the time that it took.
    """
    specs, things = agent_specs(agents)
    spec, own = class_spec(prior)
    objects.use({**things, **own})
    planned = BayesianRL(spec.to_json(), exercises=1, interactions=horizon, gamma=gamma, seed=seed)
    options = running_options(
        isolation=isolation,
        memory_limit=memory_limit,
        prepare_timeout=prepare_timeout,
        sandbox=sandbox,
    )
    check_sandbox(specs, options)
    return [
        carry_out_offline(
            agent,
            planned.preparation,
            isolated=is_isolated(agent, options.isolation),
            limits=options.limits,
            sandbox=options.sandbox,
            again=again,
        )
        for agent in specs
    ]


OF_A_CLASS = frozenset(
    (
        "exercises", "precision", "interactions", "seconds", "complexity", "clock", "timeout",
        "seated",
    )
)  # fmt: skip
"""What says which exercises there are in an environment class; a battery says it itself."""


OF_A_PRIOR = frozenset(("gamma", "truncation_error", "trajectories", "noise"))
OF_ANOTHER = {"prior": OF_A_PRIOR, "at": frozenset(("then", "window"))}
"""What says more of an evaluation with a prior, or with a change in the middle of exercises."""


def is_number(value: object) -> bool:
    """Whether something is a real number; ``True`` and texts are none."""
    return isinstance(value, Real) and not isinstance(value, bool)


SEATING = ("seated", "similar", "count_seated")
"""What says who is seated beside agents."""


def joined(one: Mapping[str, Any], other: Mapping[str, Any]) -> dict[str, Any]:
    """The Python objects of both, by their ids.

    Raises:
        InvalidInputError: Two have the same name.
    """
    for name in one.keys() & other.keys():
        if one[name] is not other[name]:
            message = f"Two agents have the name {name}."
            raise InvalidInputError(message, "Give their classes different names.")
    return {**one, **other}


def seats_of(
    seated: AgentLike | Sequence[AgentLike] | None,
    similar: Result | str | Path | Sequence[Result | str | Path] | None,
    count_seated: bool | None = None,
) -> tuple[list[dict[str, Any]], dict[str, Any]]:
    """The seats beside agents as protocols take them, and the Python objects that sit there.

    Raises:
        InvalidInputError: Something is no agent, or an evaluation has none that can be drawn.
    """
    specs, things = agent_specs([] if seated is None else seated)
    stored: Sequence[Any] = similar if isinstance(similar, list | tuple) else [similar]
    seats = [Seating((agent,)) for agent in specs]
    seats += [_similar_seat(each) for each in stored if each is not None]
    if not isinstance(count_seated, bool | None) or (count_seated and not seats):
        message = f"count_seated={shown(count_seated)} cannot be used."
        advice = (
            "It counts agents seated by seated= or similar=: give one of these, or leave it out."
        )
        raise InvalidInputError(message, advice)
    if count_seated:
        seats = [replace(s, bits=tuple(map(code_length, s.agents))) for s in seats]
    return [seat.to_json() for seat in seats], things


def _similar_seat(stored: Any) -> Seating:
    """The seat for an agent drawn from a stored evaluation, with all scores there.

    Agents with faults of their own have none that counts. What is not of the catalogue is not
    drawn: an evaluation may come from anywhere, and naming it is no consent to run what it names.
    """
    place = place_of(stored) if isinstance(stored, str) else stored  # also of a campaign's file
    result = place if isinstance(place, Result) else load(place)
    scores = {
        agent: score.value
        for agent, score in result.judged.scores.items()
        if score.value is not None and not result.judged.outcomes[agent].own_faults.any()
    }
    foreign = [
        agent
        for agent in scores
        if is_isolated(agent, Isolation.AUTO) or objects.is_object(agent.id)
    ]
    if foreign:
        names = ", ".join(agent.label for agent in foreign)
        announce(f"Not drawn, since no agents of the catalogue: {names}.", warn=True)
    drawn = sorted((agent.unnamed for agent in scores.keys() - set(foreign)), key=lambda a: a.key)
    if not drawn:
        message = f"{shown(stored, str)} has no agents of the catalogue with scores."
        raise InvalidInputError(message, "Give another evaluation, or seat agents by name.")
    return Seating(
        tuple(dict.fromkeys(drawn)), {agent.stream_key: v for agent, v in scores.items()}
    )


def plan(
    agents: AgentLike | Sequence[AgentLike] | Mapping[str, AgentLike],
    environment_class: EnvironmentClassLike | None,
    battery: str | Path | Mapping[str, Any] | None,
    given: Mapping[str, Any],
    *,
    joint: bool = False,
    traces: bool = False,
) -> tuple[Evaluation, dict[str, Any]]:
    """The evaluation that ``evaluate`` carries out, and the Python objects in it.

    Its parameters are those of ``evaluate``; ``given`` are all that the protocol may take.

    Raises:
        InvalidInputError: There is not just a class or a battery, or a number is not finite.
    """
    if (environment_class is None) == (battery is None):
        raise InvalidInputError(
            "Exercises come from either an environment class or a battery.",
            "Give environment_class= or battery=, for example environment_class=cups.",
        )
    specs, things = agent_specs(agents)
    parameters = {
        name: value.item() if isinstance(value, np.generic) else value
        for name, value in given.items()
        if value is not None
    }
    seats, beside = seats_of(*(parameters.pop(name, None) for name in SEATING))
    things = joined(things, beside)
    _require_finite(parameters)
    parameters |= {"seated": seats} if seats else {}
    for name, planned, example in (
        ("prior", _plan_with_prior, "prior=gc"),
        ("at", _plan_with_change, "at=1000"),
    ):
        if name in parameters:
            return planned(specs, things, environment_class, parameters, joint, traces)
        if extra := sorted(OF_ANOTHER[name] & parameters.keys()):
            message = f"{extra[0]}= has no effect without {name}=."
            raise InvalidInputError(message, f"Give {name}=, for example {example}.")
    if battery is None and not {"interactions", "seconds"} & parameters.keys():
        parameters["interactions"] = 1000
    payoff = parameters.get("payoff", default_payoff(timed="seconds" in parameters))
    parameters["payoff"] = read_spec(Kind.PAYOFF, payoff).to_json()
    if parameters.get("memory") == "fresh":  # the default, which old records do not mention
        del parameters["memory"]
    if battery is not None:
        alone = OF_A_CLASS & parameters.keys()
        if joint or alone:
            name = "joint" if joint else min(alone)
            raise InvalidInputError(
                f"{name}= cannot be given together with battery=.",
                "The battery says what its exercises are.",
            )
        chosen = sorted({"tests", "payoff", "seed", "memory"} & parameters.keys())
        content = snapshot(str(battery) if isinstance(battery, Path) else battery)
        protocol = {**{name: parameters[name] for name in chosen}, "battery": content}
        return Evaluation(Spec("battery-v1", protocol), specs, traces), things
    assert environment_class is not None  # one of both is given
    spec, own = class_spec(environment_class)
    parameters.pop("tests", None)
    parameters.setdefault("exercises", MOST_EXERCISES if "precision" in parameters else FIRST_BLOCK)
    parameters["environment_class"] = spec.to_json()
    for name in {"seconds", "tick", "timeout", "precision"} & parameters.keys():
        if not is_number(parameters[name]):
            message = f"{name}={parameters[name]!r} cannot be used."
            raise InvalidInputError(message, "Give a number.")
        parameters[name] = float(parameters[name])  # the same spec for 1 and 1.0
    if "complexity" in parameters:
        complexities = np.atleast_1d(parameters["complexity"]).astype(float).tolist()
        parameters["complexity"] = complexities if len(complexities) > 1 else complexities[0]
    if joint:
        parameters["joint"] = [agent.to_json() for agent in specs]
    return Evaluation(Spec("sample-v1", parameters), specs, traces), joined(things, own)


NAMES = frozenset(("clock", "timeout_rule", "memory", "noise"))
PARTS = frozenset(("payoff", "prior", "then"))
"""What is given as a text, or as a part; all else as numbers."""


def _require_finite(parameters: Mapping[str, Any]) -> None:
    """Check that numbers are numbers and names are texts before anything is computed from them."""
    for name, value in parameters.items():
        if name in NAMES and not isinstance(value, str):
            raise InvalidInputError(f"{name}={shown(value)} cannot be used.", "Give a name.")
        if name in NAMES | PARTS:
            continue
        several = isinstance(value, list | tuple | np.ndarray) and name == "complexity"
        numbers = list(value) if several else [value]
        if not numbers or not all(map(is_number, numbers)):
            raise InvalidInputError(f"{name}={shown(value)} cannot be used.", "Give a number.")
        if not all(isfinite(each) for each in numbers if isinstance(each, float)):
            raise InvalidInputError(f"The {name} is {value}.", "Give a finite number.")
        if any(abs(each) > LARGEST_NUMBER for each in numbers):
            message = f"{name}={shown(value)} is too large."
            raise InvalidInputError(message, f"Give a number of up to {LARGEST_NUMBER:g}.")


def _chosen(
    given: Mapping[str, Any],
    taken: Set[str],
    environment_class: EnvironmentClassLike | None,
    joint: bool,
    protocol: tuple[str, str],
) -> tuple[dict[str, Any], EnvironmentClassLike]:
    """What was given for a protocol that takes only some of it, and the class that it needs.

    Raises:
        InvalidInputError: Something else was given.
    """
    defaults = {"tests": 1, "tick": 1.0, "timeout_rule": "no-reward", "memory": "fresh"}
    parameters = {name: each for name, each in given.items() if each != defaults.get(name)}
    refused = sorted(parameters.keys() - taken) + ["joint"] * joint
    name, advice = protocol
    if environment_class is None or refused:
        message = f"{refused[0] if refused else 'battery'}= cannot be given together with {name}=."
        raise InvalidInputError(message, advice)
    return parameters, environment_class


def _plan_with_change(
    agents: tuple[Spec, ...],
    things: Mapping[str, Any],
    environment_class: EnvironmentClassLike | None,
    given: Mapping[str, Any],
    joint: bool,
    traces: bool,
) -> tuple[Evaluation, dict[str, Any]]:
    """The evaluation of agents in exercises in which something changes."""
    taken = {"then", "at", "window", "exercises", "interactions", "seed"}
    advice = "A test with a change has a class, for example environment_class=gc, then=gc, at=1000."
    parameters, first = _chosen(given, taken, environment_class, joint, ("at", advice))
    spec, own = class_spec(first)
    parameters["environment_class"] = spec.to_json()
    then = parameters.get("then")
    if then is not None:
        several = then if isinstance(then, list | tuple) else [then]
        described = [class_spec(each) for each in several]
        parameters["then"] = [each.to_json() for each, _ in described]
        for name, thing in (pair for _, more in described for pair in more.items()):
            if own.setdefault(name, thing) is not thing:
                message = f"Two environment classes have the name {name}."
                raise InvalidInputError(message, "Give their classes different names.")
    parameters.setdefault("exercises", FIRST_BLOCK)
    parameters.setdefault("interactions", 2 * parameters["at"])
    evaluation = Evaluation(Spec("perturbation-v1", parameters), agents, traces)
    return evaluation, {**things, **own}


def _plan_with_prior(
    agents: tuple[Spec, ...],
    things: Mapping[str, Any],
    environment_class: EnvironmentClassLike | None,
    given: Mapping[str, Any],
    joint: bool,
    traces: bool,
) -> tuple[Evaluation, dict[str, Any]]:
    """The evaluation of agents that are told of a prior."""
    taken = {"prior", "exercises", "interactions", "payoff", "seed", *OF_A_PRIOR}
    advice = "A test with a prior has MDPs of a class, for example prior=gc, environment_class=gc."
    parameters, test = _chosen(given, taken, environment_class, joint, ("prior", advice))
    spec, own = class_spec(test)
    prior, other = class_spec(parameters.pop("prior"))
    if "payoff" in parameters:
        parameters["payoff"] = read_spec(Kind.PAYOFF, parameters["payoff"]).to_json()
    parameters |= {"environment_class": spec.to_json(), "prior": prior.to_json()}
    parameters.setdefault("exercises", FIRST_BLOCK)
    evaluation = Evaluation(Spec("bayesian-rl-v1", parameters), agents, traces)
    return evaluation, {**things, **own, **other}


def load(
    directory: str | Path,
    *,
    payoff: str | Spec | None = None,
    environment_class: EnvironmentClassLike | None = None,
    trust: bool = False,
    damaged: Literal["error", "skip"] = "error",
) -> Result:
    """The result of a stored evaluation. Runs nothing, and imports no code that is named there.

    Args:
        directory: Where it is stored.
        payoff: Judge the traces that were kept by this payoff instead of its own.
        environment_class: The environment class again, if it was a Python object, which no record
            can rebuild.
        trust: Import files and modules of which its test is made, such as ``own.py:Payoff``. Agents
            are never imported.
        damaged: What is done with a damaged file of results: it is an error, or it is left out and
            noted in ``result.record.damaged``.

    Raises:
        StoreError: There is no evaluation, or it is damaged.
        InvalidInputError: Its environment class cannot be rebuilt, no traces were kept, or it names
            code that is not trusted.
    """
    from omnimeter.reports.page import rejudge, with_payoff
    from omnimeter.results import Record

    record = Record(directory_of(directory), damaged=damaged)
    evaluation = Evaluation.from_json(record.spec)
    things = {} if environment_class is None else class_spec(environment_class)[1]
    objects.use(things)
    chosen = None if payoff is None else read_spec(Kind.PAYOFF, payoff)
    with consented(record, chosen, trust=trust):
        if chosen is None:
            judged = summarise(evaluation.with_seed(record.seed), record.outcomes())
        else:
            judged, evaluation = rejudge(record, chosen), with_payoff(evaluation, chosen)
    outcomes, complete = judged.outcomes, judged.complete
    return Result(evaluation, record, outcomes, complete, things, chosen, trust)
