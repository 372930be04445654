"""Experiments: any environment, drawn or edited, stepped, and seen with all that is hidden.

What is done is kept as values: a class, an instance, a seed, and who did which action. All that is
shown is computed from them by the ordinary interfaces, so that any earlier step can be had again
exactly. Each page has a process of its own for that: whatever an agent does, it can be ended, and
participants do not wait for it.
"""

from __future__ import annotations

import ast
import json
import re
import signal
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, replace
from functools import cache, partial
from math import inf
from multiprocessing.connection import Connection
from typing import Annotated, Any

import numpy as np
from pydantic import BaseModel, ConfigDict, Field

from omnimeter import scenes
from omnimeter.agents.shared import observation_index
from omnimeter.agents.temporal_difference import ACTIONS, TableState
from omnimeter.catalogue import Kind, Parameter, describe, listing, make, without_consent
from omnimeter.contract import (
    Agent,
    Budget,
    Environment,
    EnvironmentClass,
    Exercise,
    Instance,
    InvalidInputError,
    OmnimeterError,
    Prior,
    Spec,
)
from omnimeter.interaction.adapters import adapt
from omnimeter.interaction.handles import AgentFault, LocalAgent, read_move, restore
from omnimeter.interaction.kernels import seed_for
from omnimeter.interaction.loop import seated
from omnimeter.protocols.battery import check_instance
from omnimeter.protocols.sample import draw
from omnimeter.web.security import DATA, refused_names

LONGEST, STEPS = 10_000, 1_000
"""Actions of an experiment, and of one request."""

SECONDS = 1.0
"""After this time the steps of a request end."""

SHOWN = 64
"""Numbers of a field of a state that are shown."""

GAMMA, HORIZON = 0.95, 250
"""What agents with a prior are told, as in the benchmark of Bayesian reinforcement learning."""


class Part(BaseModel):
    """A part of the catalogue."""

    model_config = ConfigDict(extra="forbid")

    id: Annotated[str, Field(max_length=100)]
    parameters: Annotated[dict[str, Any], Field(max_length=50)] = {}

    def spec(self, kind: Kind) -> Spec:
        """The spec, if pages may have it.

        Raises:
            InvalidInputError: It is not in the catalogue, or a parameter names a file.
        """
        if self.id not in offered(kind):
            message = f"{self.id!r} is not one of the parts that this page offers."
            raise InvalidInputError(message, "Choose one of the list; files are not loaded here.")
        if refused := refused_names(self.parameters):
            message = f"{refused[0]!r} may name a file, a module, a database or an address."
            raise InvalidInputError(message, "Such parts are run from the command line.")
        return Spec(self.id, self.parameters)


class Drawing(BaseModel):
    """What an experiment begins with: an environment that is drawn, or given."""

    model_config = ConfigDict(extra="forbid")

    environment: Part
    seed: Annotated[int, Field(ge=0, lt=2**53)] = 0
    complexity: Annotated[float, Field(allow_inf_nan=False)] | None = None
    instance: dict[str, Any] | None = None


class Shown(BaseModel):
    """What a page knows already, so many first moves, and whether it shows all views."""

    model_config = ConfigDict(extra="forbid")

    known: Annotated[int, Field(ge=0)] = 0
    views: bool = False


class Steps(Shown):
    """Some actions: of an agent, or one by hand."""

    agent: Part | None = None
    action: Annotated[int, Field(ge=0)] = 0
    steps: Annotated[int, Field(ge=1, le=STEPS)] = 1


class Place(Shown):
    """A step to go to."""

    step: Annotated[int, Field(ge=0, le=LONGEST)]


# What pages offer


@cache
def offered(kind: Kind) -> dict[str, dict[str, Any]]:
    """The parts of a kind that pages may have, with the fields of a form for each."""
    known = {}
    for entry in listing(kind):
        if entry.problem or entry.id.startswith("person-"):  # people take studies
            continue
        part = describe(kind, entry.id)
        if any(each.required and each.name in DATA for each in part.parameters):
            continue
        given = [field_of(each) for each in part.parameters if each.name not in DATA]
        known[entry.id] = {
            "id": entry.id,
            "about": part.doc.split("\n\n")[0].replace("``", ""),
            "fields": given,
        }
    return known


def field_of(parameter: Parameter) -> dict[str, Any]:
    """The field of a form for a parameter; what is neither choice nor number is JSON or a text."""
    annotation = parameter.annotation
    choices = re.fullmatch(r"Literal(\[.*\])( \| None)?", annotation)
    kinds = set(annotation.split(" | ")) - {"None"}
    if choices is not None:
        kind = "choice"
    elif kinds <= {"int", "float"}:
        kind = "number"
    else:
        kind = "truth" if kinds == {"bool"} else "text" if kinds == {"str"} else "json"
    return {
        "name": parameter.name,
        "kind": kind,
        "choices": ast.literal_eval(choices[1]) if choices is not None else [],
        "required": parameter.required,
        "default": json.loads(json.dumps(parameter.default, default=str)),
        "about": parameter.doc.replace("``", ""),
    }


# Experiments


@dataclass(frozen=True)
class Move:
    """One action, who did it (``None`` for the researcher), and what it brought."""

    agent: Spec | None
    action: int
    reward: float


@dataclass
class Course:
    """All that is needed to have an experiment again, elsewhere.

    Attributes:
        spec: The class of its environment.
        instance: The environment.
        seed: The root of all randomness; it is exercise 0 of it.
        moves: All that was done.
        at: After how many moves it is now.
        watched: The agent whose mind is shown.
    """

    spec: Spec
    instance: Instance
    seed: int
    moves: list[Move] = field(default_factory=list)
    at: int = 0
    watched: Spec | None = None


class World:
    """The environment of an experiment in one view, at some step.

    Args:
        environment_class: The class.
        exercise: The instance and the seed.
        view: The view, where the class has several.
    """

    def __init__(
        self, environment_class: EnvironmentClass, exercise: Exercise, view: str | None
    ) -> None:
        self.seen, self.step = seated(environment_class, [view]), 0
        self.scene = partial(self.seen.scene, exercise.instance)  # what a person is shown
        with faults(exercise.environment_class, "Compare it with one that the class draws."):
            self.environment: Environment = self.seen.build(exercise.instance)
            seed = seed_for(self.environment, exercise.stream("environment").seed)
            self.reward, self.observation = self.environment.start(seed)
        self.first_reward = self.reward

    def take(self, move: Move) -> None:
        """What a move does."""
        self.reward, self.observation = self.environment.step(move.action)
        self.step += 1

    def follow(self, moves: Sequence[Move], deadline: float = inf) -> bool:
        """Go on to after these moves; whether that was done by the deadline."""
        for move in moves[self.step :]:
            if time.monotonic() > deadline:
                return False
            self.take(move)
        return True


class Player(World):
    """An agent that acts in an experiment, at times, and the environment in its view.

    It is told of its own steps alone: when it takes over again, what follows its last action is
    the reward that this action brought, and what is observed now.
    """

    def __init__(self, environment_class: EnvironmentClass, exercise: Exercise, spec: Spec) -> None:
        with without_consent("The page", [dict(spec.parameters)]):
            self.agent: Agent = adapt(make(Kind.AGENT, spec))
        super().__init__(environment_class, exercise, self.agent.view)
        self.spec, self._brought = spec, self.reward
        self._choice: int | None = None  # as long as it is not done
        self._handle = LocalAgent(self.agent)
        briefing = self.environment.briefing()
        if self.agent.sees_scenes:
            briefing = replace(briefing, scene=self.scene)
        with faults(spec):
            self._tell_prior(environment_class)
            self._handle.begin(briefing, replace(exercise, agent=spec).stream("agent").seed)

    def _tell_prior(self, environment_class: EnvironmentClass) -> None:
        """Tell it the distribution of the class, if it wants to know a prior."""
        inner = self.agent
        while isinstance(deeper := getattr(inner, "inner", None), Agent):
            inner = deeper
        if type(inner).prepare is not Agent.prepare:
            message = f"{self.spec.label} prepares itself offline, which may take hours."
            raise InvalidInputError(message, "omnimeter prepare and omnimeter run let it do so.")
        if type(inner).restore is not Agent.restore:
            restore(self.agent, Prior(environment_class.distribution(), GAMMA, HORIZON), {})

    @property
    def has_stopped(self) -> bool:
        """Whether it will not act any more."""
        return self._choice is not None and self._choice < 0

    def choose(self) -> int:
        """Its next action, or -1 to stop."""
        if self._choice is None:
            with faults(self.spec):
                answer, _ = self._handle.ask(self._brought, self.observation, None)
                self._choice = read_move(answer, self.environment.actions)[0]
        return self._choice

    def take(self, move: Move) -> None:
        """Live through a move, perhaps its own.

        Raises:
            InvalidInputError: It does not do the same again.
        """
        own = move.agent == self.spec
        if own and self.choose() != move.action:
            message = f"{self.spec.label} did not do the same again."
            raise InvalidInputError(message, "Its randomness does not come from its seed.")
        super().take(move)
        if own:
            self._brought, self._choice = self.reward, None


@contextmanager
def faults(spec: Spec, advice: str = "") -> Iterator[None]:
    """What a part raises becomes an error that names it."""
    try:
        yield
    except OmnimeterError:
        raise
    except AgentFault as trouble:
        raise InvalidInputError(f"{spec.label}: {trouble.fault.message}", advice) from trouble
    except Exception as error:
        message = f"{spec.label} raised {type(error).__name__}: {error}"
        raise InvalidInputError(message, advice) from error


class Experiment:
    """An environment under the eyes of a researcher.

    Args:
        course: What it is, and what was done in it so far.

    Raises:
        OmnimeterError: It cannot be built.
    """

    def __init__(self, course: Course) -> None:
        self.course, spec, instance = course, course.spec, course.instance
        with without_consent("The page", dict(spec.parameters)):
            self.environment_class: EnvironmentClass = make(Kind.ENVIRONMENT, spec)
        complexity = check_instance(self.environment_class, spec, instance)
        none, budget = Spec("scripted-v1"), Budget(LONGEST)
        self.exercise = Exercise(
            none, spec, instance, budget, course.seed, 0, complexity=complexity
        )
        self._worlds: dict[Spec | str | None, World] = {}
        self.world()

    @classmethod
    def begun(cls, drawing: Drawing) -> Experiment:
        """The experiment that a page asks for."""
        spec = drawing.environment.spec(Kind.ENVIRONMENT)
        if drawing.instance is not None:
            return cls(Course(spec, Instance(drawing.instance), drawing.seed))
        with without_consent("The page", dict(spec.parameters)):
            made = make(Kind.ENVIRONMENT, spec)
        drawn = draw(made, spec, drawing.seed, 0, drawing.complexity)
        return cls(Course(spec, drawn, drawing.seed))

    @property
    def past(self) -> list[Move]:
        """What was done up to now."""
        return self.course.moves[: self.course.at]

    def world(self, view: str | None = None) -> World:
        """The environment now, in some view."""
        if view not in self._worlds:
            self._worlds[view] = World(self.environment_class, self.exercise, view)
        self._worlds[view].follow(self.past)
        return self._worlds[view]

    def _player(self, spec: Spec, deadline: float) -> Player | None:
        """An agent, up to now; ``None`` if it takes longer to live through its past again."""
        player = self._worlds.pop(spec, None)
        if not isinstance(player, Player):
            player = Player(self.environment_class, self.exercise, spec)
        followed = player.follow(self.past, deadline)
        self._worlds[spec] = player  # unless it fails
        return player if followed else None

    def step(self, steps: Steps) -> dict[str, Any]:
        """Perform actions, and show what is then."""
        why = ""
        if steps.agent is None:
            self._by_hand(steps.action)
        else:
            why = self._by_agent(steps.agent.spec(Kind.AGENT), steps.steps)
        return {**self.shown(steps), "ended": why}

    def _by_hand(self, action: int) -> None:
        actions = self.world().environment.actions
        if action >= actions:
            message = f"There is no action {action}."
            raise InvalidInputError(message, f"Choose one from 0 to {actions - 1}.")
        self._perform(None, action)

    def _by_agent(self, spec: Spec, steps: int) -> str:
        """Let an agent act; why it did not do all steps, if it did not."""
        deadline = time.monotonic() + SECONDS
        self.course.watched = spec
        for number in range(steps):
            player = self._player(spec, deadline)
            if player is None:
                return "catching-up"
            try:
                action = player.choose()
            except InvalidInputError:
                del self._worlds[spec]
                raise
            if player.has_stopped:
                return "stopped"
            self._perform(spec, action)
            player.follow(self.past)
            if number == 0:  # for which kernels may have been compiled
                deadline = time.monotonic() + SECONDS
            elif time.monotonic() > deadline:
                return "time"
        return ""

    def _perform(self, agent: Spec | None, action: int) -> None:
        course, world = self.course, self.world()
        if course.at >= LONGEST:
            message = f"An experiment has at most {LONGEST:,} steps."
            raise InvalidInputError(message, "Go back, or begin another one.")
        world.take(Move(agent, action, 0.0))
        # What was done from here in another course is replaced.
        course.moves[course.at :] = [Move(agent, action, float(world.reward))]
        course.at += 1

    def go(self, place: Place) -> dict[str, Any]:
        """Go to a step that there has been, and show what was then.

        Raises:
            InvalidInputError: There has been none of this number.
        """
        course, step = self.course, place.step
        if step > len(course.moves):
            message = f"There is no step {step} yet."
            raise InvalidInputError(message, f"Choose one from 0 to {len(course.moves)}.")
        course.at = step
        self._worlds = {
            key: each
            for key, each in self._worlds.items()
            if each.step <= step and not (isinstance(each, Player) and each.has_stopped)
        }
        return self.shown(place)

    def _views(self) -> list[dict[str, Any]]:
        """The observation in each view."""
        worlds = [self.world(name) for name in self.environment_class.views or (None,)]
        seen = {each.environment.view_of(0): each.observation for each in worlds}
        return [
            {"view": view, "observation": np.atleast_1d(observation).tolist()}
            for view, observation in seen.items()
        ]

    def shown(self, how: Shown) -> dict[str, Any]:
        """All of it for a page, but for the moves that it knows."""
        world, exercise, course = self.world(), self.exercise, self.course
        spec, moves = exercise.environment_class, course.moves
        scene = world.scene(world.observation, world.reward)
        drawn = scenes.picture(scene, world.environment.actions)
        who = list(dict.fromkeys(move.agent for move in moves))
        player = None
        if course.watched is not None:
            player = self._player(course.watched, time.monotonic() + SECONDS)
        return {
            "environment": {
                "id": spec.id,
                "parameters": dict(spec.parameters),
                "label": spec.label,
            },
            "instance": dict(exercise.instance.data),
            "complexity": exercise.complexity,
            "seed": exercise.seed,
            "actions": world.environment.actions,
            "range": list(world.environment.rewards),
            "step": course.at,
            "first_reward": float(world.first_reward),
            "reward": float(world.reward),
            "who": ["" if each is None else each.label for each in who],
            "known": how.known,
            "moves": [
                [who.index(each.agent), each.action, each.reward] for each in moves[how.known :]
            ],
            "scene": {**asdict(drawn), "kind": str(scene.get("kind", ""))},
            "state": fields_of(world.environment),
            "hidden": {**NOTHING_HIDDEN, **world.seen.hidden(world.environment)},
            "agent": None if player is None else watched(player),
            "views": self._views() if how.views else [],
        }

    def saved(self, interactions: int | None = None) -> Exercise:
        """The exercise as it went: of the agent that took it all, or of the list of actions."""
        agents = {move.agent for move in self.past}
        (only,) = agents if len(agents) == 1 else (None,)
        actions = [move.action for move in self.past]
        scripted = Spec("scripted-v1", {"actions": actions, "repeat": False} if actions else {})
        budget = Budget(interactions or max(1, self.course.at))
        return replace(self.exercise, agent=only or scripted, budget=budget)


# What is normally hidden


NOTHING_HIDDEN: Mapping[str, Any] = {"facts": {}, "cells": [], "places": {}, "intended": {}}
"""What a class tells that has nothing to hide (``EnvironmentClass.hidden``)."""


def fields_of(thing: object) -> list[dict[str, Any]]:
    """The fields of a state; of what has no kernels, numbers and arrays, its own and its parts'."""
    state: Any
    for state in (getattr(thing, name, None) for name in ("present_state", "state")):
        if hasattr(state, "_fields"):
            return [field_shown(*each) for each in zip(state._fields, state, strict=True)]
    kinds = (bool, int, float, str, np.ndarray)
    shown = []
    for name, value in vars(thing).items():
        parts = vars(value) if hasattr(value, "__dict__") else {}
        known = {name: value, **{f"{name}.{inner}": each for inner, each in parts.items()}}
        shown += [field_shown(*each) for each in known.items() if isinstance(each[1], kinds)]
    return shown


def field_shown(name: str, value: Any) -> dict[str, Any]:
    """A field of a state: its first numbers, as texts."""
    flat = np.ravel(np.asarray(value))
    values = [
        f"{each:.6g}" if isinstance(each, float) else str(each) for each in flat[:SHOWN].tolist()
    ]
    return {"name": name.lstrip("_"), "size": int(flat.size), "values": values}


def watched(player: Player) -> dict[str, Any]:
    """What an agent has in mind: the fields of its state, and the values of its actions now."""
    state, values = getattr(player.agent, "present_state", None), None
    if isinstance(state, TableState):
        actions = int(state.numbers[ACTIONS])
        observed = np.atleast_1d(player.observation)
        row = int(observation_index(observed, state.sizes)) * actions
        values = state.table[row : row + actions].tolist()
    return {"label": player.spec.label, "fields": fields_of(player.agent), "values": values}


# In a process of its own


def answer(requests: Connection) -> None:
    """Compute what one page asks for, until it is closed.

    A request has the course of the page's experiment, which is taken up if none has begun here, the
    name of what is wanted, and what it is given. Each is answered by what is to be shown and the
    course of the experiment then, or by an error.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the server ends it
    experiment: Experiment | None = None
    while True:
        try:
            course, wanted, given = requests.recv()
        except EOFError:
            return
        try:
            if experiment is None and course is not None:
                experiment = Experiment(course)
            if isinstance(given, Drawing):
                begun = Experiment.begun(given)
                told = {"complexity": begun.exercise.complexity}
                if wanted == "begin":
                    told, experiment = begun.shown(Shown()), begun
            elif experiment is None:
                raise InvalidInputError("There is no environment yet.", "Draw one first.")
            else:
                told = getattr(experiment, wanted)(given)
            requests.send((told, experiment and experiment.course))
        except OmnimeterError as error:
            requests.send(error)
        except Exception as error:  # of a third party's part
            what = f"{type(error).__name__}: {error}"
            requests.send(InvalidInputError(f"This cannot be computed: {what}"))
