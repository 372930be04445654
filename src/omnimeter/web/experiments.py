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
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, replace
from functools import cache, partial
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
from omnimeter.environments.lambda_class import dynamics
from omnimeter.environments.torus import dynamics as torus
from omnimeter.interaction import KernelAgent
from omnimeter.interaction.adapters import adapt
from omnimeter.interaction.handles import AgentFault, read_move
from omnimeter.interaction.kernels import seed_for
from omnimeter.interaction.loop import seated
from omnimeter.protocols.battery import check_instance
from omnimeter.protocols.sample import draw

LONGEST, STEPS = 10_000, 1_000
"""Actions of an experiment, and of one request."""

SECONDS = 1.0
"""After this time the steps of a request end."""

SHOWN = 64
"""Numbers of a field of a state that are shown."""

GAMMA, HORIZON = 0.95, 250
"""What agents with a prior are told, as in the benchmark of Bayesian reinforcement learning."""

DATA = ("file", "journal")
"""Parameters that name files or databases of the server, which pages do not choose."""

_CODE = re.compile(r"\.(py|json)\b|[\w./\\]:[A-Za-z_]")
"""What names a file or a module in a text, also in a part within a part."""


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
        for name, value in self.parameters.items():
            if (name in DATA and value is not None) or any(map(_CODE.search, texts_in(value))):
                message = f"The parameter {name!r} names a file, a module or a database."
                raise InvalidInputError(message, "Such parts are run from the command line.")
        return Spec(self.id, self.parameters)


class Drawing(BaseModel):
    """What an experiment begins with: an environment that is drawn, or given."""

    model_config = ConfigDict(extra="forbid")

    environment: Part
    seed: Annotated[int, Field(ge=0, lt=2**53)] = 0
    complexity: Annotated[float, Field(allow_inf_nan=False)] | None = None
    instance: dict[str, Any] | None = None


class Steps(BaseModel):
    """Some actions: of an agent, or one by hand."""

    model_config = ConfigDict(extra="forbid")

    agent: Part | None = None
    action: Annotated[int, Field(ge=0)] = 0
    steps: Annotated[int, Field(ge=1, le=STEPS)] = 1
    known: Annotated[int, Field(ge=0)] = 0
    views: bool = False


class Place(BaseModel):
    """A step to go to."""

    model_config = ConfigDict(extra="forbid")

    step: Annotated[int, Field(ge=0, le=LONGEST)]
    known: Annotated[int, Field(ge=0)] = 0
    views: bool = False


def texts_in(value: object) -> Iterable[str]:
    """All texts in plain data."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for name, each in value.items():
            yield str(name)
            yield from texts_in(each)
    elif isinstance(value, list | tuple):
        for each in value:
            yield from texts_in(each)


# What pages offer


@cache
def offered(kind: Kind) -> dict[str, dict[str, Any]]:
    """The parts of a kind that pages may have, with the fields of a form for each."""
    known = {}
    for entry in listing(kind):
        if entry.problem or entry.id.startswith("person-"):  # people take studies
            continue
        part = describe(kind, entry.id)
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


@dataclass(frozen=True)
class Course:
    """All that is needed to have an experiment again, elsewhere."""

    spec: Spec
    instance: Instance
    seed: int
    moves: tuple[Move, ...]
    at: int
    watched: Spec | None


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
        self.seen = seated(environment_class, [view])
        self.instance, self.step = exercise.instance, 0
        try:
            self.environment: Environment = self.seen.build(exercise.instance)
            seed = seed_for(self.environment, exercise.stream("environment").seed)
            self.reward, self.observation = self.environment.start(seed)
        except OmnimeterError:
            raise
        except Exception as error:  # a description that was edited may lack anything
            message = f"{exercise.environment_class.label} cannot build this: "
            advice = "Compare it with one that the class draws."
            raise InvalidInputError(f"{message}{type(error).__name__}: {error}.", advice) from error
        self.first_reward = self.reward

    @property
    def view(self) -> str | None:
        """The view that the observation is in."""
        return self.environment.view_of(0)

    def perform(self, action: int) -> None:
        """One step."""
        self.reward, self.observation = self.environment.step(action)
        self.step += 1

    def follow(self, moves: Sequence[Move], end: int) -> None:
        """Go on to after so many moves."""
        for place in range(self.step, end):
            self.perform(moves[place].action)

    def scene(self) -> Mapping[str, Any]:
        """What a person is shown now."""
        return self.seen.scene(self.instance, self.observation, self.reward)


class Player:
    """An agent that acts in an experiment, at times.

    It is told of its own steps alone: when it takes over again, what follows its last action is
    the reward that this action brought, and what is observed now.
    """

    def __init__(self, spec: Spec, environment_class: EnvironmentClass, exercise: Exercise) -> None:
        self.spec, self.stopped = spec, False
        with without_consent("The page", [dict(spec.parameters)]):
            self.agent: Agent = adapt(make(Kind.AGENT, spec))
        self._tell_prior(environment_class)
        self.world = World(environment_class, exercise, self.agent.view)
        own = replace(exercise, agent=spec).stream("agent").seed
        briefing = self.world.environment.briefing()
        if self.agent.sees_scenes:
            shown = partial(self.world.seen.scene, exercise.instance)
            briefing = replace(briefing, scene=shown)
        with faults(spec):
            self.agent.begin(briefing, seed_for(self.agent, own))
        self._reward = self.world.first_reward

    def _tell_prior(self, environment_class: EnvironmentClass) -> None:
        """Tell it the distribution of the class, if it wants to know a prior."""
        inner = self.agent
        while isinstance(deeper := getattr(inner, "inner", None), Agent):
            inner = deeper
        if type(inner).prepare is not Agent.prepare:
            message = f"{self.spec.label} prepares itself offline, which may take hours."
            raise InvalidInputError(message, "omnimeter prepare and omnimeter run let it do so.")
        if type(inner).restore is not Agent.restore:
            prior = Prior(environment_class.distribution(), GAMMA, HORIZON)
            with faults(self.spec):
                self.agent.restore(prior, {})

    def follow(self, moves: Sequence[Move], end: int, deadline: float) -> bool:
        """Live through its own among so many moves; whether that was done by the deadline.

        Raises:
            InvalidInputError: It does not do the same again.
        """
        for place in range(self.world.step, end):
            if time.monotonic() > deadline:
                return False
            move = moves[place]
            if move.agent == self.spec and self._act() != move.action:
                message = f"{self.spec.label} did not do the same again."
                raise InvalidInputError(message, "Its randomness does not come from its seed.")
            self.take_up(move)
        return True

    def choose(self) -> int:
        """Its next action, or -1 to stop."""
        action = self._act()
        self.stopped = action < 0
        return action

    def _act(self) -> int:
        with faults(self.spec):
            answer = self.agent.act(self._reward, self.world.observation)
            return read_move(answer, self.world.environment.actions)[0]

    def take_up(self, move: Move) -> None:
        """An action was done, perhaps its own."""
        self.world.perform(move.action)
        if move.agent == self.spec:
            self._reward = self.world.reward


@contextmanager
def faults(spec: Spec) -> Iterator[None]:
    """What an agent raises becomes an error that names it."""
    try:
        yield
    except OmnimeterError:
        raise
    except AgentFault as trouble:
        raise InvalidInputError(f"{spec.label}: {trouble.fault.message}") from trouble
    except Exception as error:
        message = f"{spec.label} raised {type(error).__name__}: {error}"
        raise InvalidInputError(message) from error


class Experiment:
    """An environment under the eyes of a researcher.

    Args:
        spec: Its class.
        instance: The environment.
        seed: The root of all randomness; it is exercise 0 of it.

    Raises:
        OmnimeterError: It cannot be built.
    """

    def __init__(self, spec: Spec, instance: Instance, seed: int) -> None:
        with without_consent("The page", dict(spec.parameters)):
            self.environment_class: EnvironmentClass = make(Kind.ENVIRONMENT, spec)
        complexity = check_instance(self.environment_class, spec, instance)
        budget = Budget(LONGEST)
        none = Spec("scripted-v1")
        self.exercise = Exercise(none, spec, instance, budget, seed, 0, complexity=complexity)
        self.moves: list[Move] = []
        self.at = 0
        self._worlds: dict[str | None, World] = {}
        self._players: dict[Spec, Player] = {}
        self.watched: Spec | None = None
        self.world()

    @classmethod
    def begun(cls, drawing: Drawing) -> Experiment:
        """The experiment that a page asks for."""
        spec = drawing.environment.spec(Kind.ENVIRONMENT)
        if drawing.instance is not None:
            return cls(spec, Instance(drawing.instance), drawing.seed)
        with without_consent("The page", dict(spec.parameters)):
            made = make(Kind.ENVIRONMENT, spec)
        return cls(spec, draw(made, spec, drawing.seed, 0, drawing.complexity), drawing.seed)

    @classmethod
    def resumed(cls, course: Course) -> Experiment:
        """The experiment of a course."""
        experiment = cls(course.spec, course.instance, course.seed)
        experiment.moves, experiment.at = list(course.moves), course.at
        experiment.watched = course.watched
        return experiment

    def course(self) -> Course:
        """What it is, and what was done in it."""
        drawn = self.exercise
        given = drawn.environment_class, drawn.instance, drawn.seed
        return Course(*given, tuple(self.moves), self.at, self.watched)

    @property
    def complexity(self) -> float:
        """That of the environment."""
        return self.exercise.complexity

    def world(self, view: str | None = None) -> World:
        """The environment now, in some view."""
        if view not in self._worlds:
            self._worlds[view] = World(self.environment_class, self.exercise, view)
        self._worlds[view].follow(self.moves, self.at)
        return self._worlds[view]

    def _player(self, spec: Spec, deadline: float) -> Player | None:
        """An agent, up to now; ``None`` if it takes longer to live through its past again."""
        if spec not in self._players:
            self._players[spec] = Player(spec, self.environment_class, self.exercise)
        player = self._players[spec]
        try:
            return player if player.follow(self.moves, self.at, deadline) else None
        except InvalidInputError:
            del self._players[spec]
            raise

    def step(self, steps: Steps) -> dict[str, Any]:
        """Perform actions, and show what is then."""
        why = ""
        if steps.agent is None:
            self.by_hand(steps.action)
        else:
            why = self.by_agent(steps.agent.spec(Kind.AGENT), steps.steps)
        return {**self.shown(known=steps.known, views=steps.views), "ended": why}

    def by_hand(self, action: int) -> None:
        """Perform an action.

        Raises:
            InvalidInputError: There is none of this number.
        """
        actions = self.world().environment.actions
        if action >= actions:
            message = f"There is no action {action}."
            raise InvalidInputError(message, f"Choose one from 0 to {actions - 1}.")
        self._perform(None, action)

    def by_agent(self, spec: Spec, steps: int) -> str:
        """Let an agent act; why it did not do all steps, if it did not."""
        deadline = time.monotonic() + SECONDS
        self.watched = spec
        for number in range(steps):
            player = self._player(spec, deadline)
            if player is None:
                return "catching-up"
            if player.stopped:
                return "stopped"
            try:
                action = player.choose()
            except InvalidInputError:
                del self._players[spec]
                raise
            if action < 0:
                return "stopped"
            self._perform(spec, action, player)
            if number == 0:  # for which kernels may have been compiled
                deadline = time.monotonic() + SECONDS
            elif time.monotonic() > deadline:
                return "time"
        return ""

    def _perform(self, spec: Spec | None, action: int, player: Player | None = None) -> None:
        if self.at >= LONGEST:
            message = f"An experiment has at most {LONGEST:,} steps."
            raise InvalidInputError(message, "Go back, or begin another one.")
        world = self.world()
        world.perform(action)
        del self.moves[self.at :]  # what was done from here in another course
        move = Move(spec, action, float(world.reward))
        self.moves.append(move)
        self.at += 1
        if player is not None:
            player.take_up(move)

    def go(self, place: Place) -> dict[str, Any]:
        """Go to a step that there has been, and show what was then.

        Raises:
            InvalidInputError: There has been none of this number.
        """
        step = place.step
        if step > len(self.moves):
            message = f"There is no step {step} yet."
            raise InvalidInputError(message, f"Choose one from 0 to {len(self.moves)}.")
        self.at = step
        self._worlds = {view: each for view, each in self._worlds.items() if each.step <= step}
        self._players = {
            spec: each
            for spec, each in self._players.items()
            if each.world.step <= step and not each.stopped
        }
        return self.shown(known=place.known, views=place.views)

    def views(self) -> list[dict[str, Any]]:
        """The observation in each view."""
        names: list[str | None] = [*self.environment_class.views] or [None]
        worlds = [self.world(name) for name in names]
        return [
            {"view": each.view, "observation": np.atleast_1d(each.observation).tolist()}
            for each in {world.view: world for world in worlds}.values()
        ]

    def shown(self, *, known: int = 0, views: bool = False) -> dict[str, Any]:
        """All of it for a page, but for so many first moves, which it knows."""
        world, exercise = self.world(), self.exercise
        drawn = scenes.picture(world.scene(), world.environment.actions)
        who = list(dict.fromkeys(move.agent for move in self.moves))
        player = None
        if self.watched is not None:
            player = self._player(self.watched, time.monotonic() + SECONDS)
        return {
            "environment": {
                "id": exercise.environment_class.id,
                "parameters": dict(exercise.environment_class.parameters),
                "label": exercise.environment_class.label,
            },
            "instance": dict(exercise.instance.data),
            "complexity": exercise.complexity,
            "seed": exercise.seed,
            "actions": world.environment.actions,
            "range": list(world.environment.rewards),
            "step": self.at,
            "first_reward": float(world.first_reward),
            "reward": float(world.reward),
            "who": ["" if each is None else each.label for each in who],
            "known": known,
            "moves": [
                [who.index(each.agent), each.action, each.reward] for each in self.moves[known:]
            ],
            "scene": {**asdict(drawn), "kind": str(world.scene().get("kind", ""))},
            "state": fields_of(world.environment),
            "hidden": asdict(hidden(world)),
            "agent": None if player is None else watched(player),
            "views": self.views() if views else [],
        }

    def agents(self) -> set[Spec | None]:
        """Who has acted so far."""
        return {move.agent for move in self.moves[: self.at]}

    def saved(self, interactions: int | None = None) -> Exercise:
        """The exercise as it went: of the agent that took it all, or of the list of actions."""
        agents = self.agents()
        (only,) = agents if len(agents) == 1 else (None,)
        actions = [move.action for move in self.moves[: self.at]]
        scripted = Spec("scripted-v1", {"actions": actions, "repeat": False} if actions else {})
        budget = Budget(interactions or max(1, self.at))
        return replace(self.exercise, agent=only or scripted, budget=budget)


# What is normally hidden


@dataclass(frozen=True)
class Hidden:
    """What only the environment knows, as far as its class is known here.

    Attributes:
        facts: Names and what they are now.
        cells: The reward that lies in each cell.
        places: Who is in which cell.
        intended: Where who is about to go.
    """

    facts: Mapping[str, str | int | float] = field(default_factory=dict)
    cells: Sequence[float] = ()
    places: Mapping[str, int] = field(default_factory=dict)
    intended: Mapping[str, int] = field(default_factory=dict)


def hidden(world: World) -> Hidden:
    """What the environment is about to do."""
    state = getattr(world.environment, "state", None)
    if isinstance(state, dynamics.LambdaState):
        return hidden_of_lambda(state)
    if isinstance(state, torus.TorusState):
        return hidden_of_torus(state)
    scene = world.scene()
    return hidden_of_mdp(scene) if scene.get("kind") == "mdp" else Hidden()


def hidden_of_mdp(scene: Mapping[str, Any]) -> Hidden:
    """Where the actions lead from here, and the mean reward of each way."""
    facts = {}
    for each in scene["transitions"]:
        if each["from"] == scene["state"]:
            names = " or ".join(str(scene["buttons"][action]) for action in each["actions"])
            state = scene["states"][each["to"]]["name"]
            facts[f"{names} may lead to state {state}"] = f"mean reward {each['reward']:g}"
    return Hidden(facts)


def hidden_of_lambda(state: dynamics.LambdaState) -> Hidden:
    """The rewards in cells, and where Good and Evil want to go.

    Where both want to go to the same cell, one of them will stay.
    """
    actions = int(state.rules[dynamics.ACTIONS])
    action = int(state.pattern[state.clock[dynamics.PHASE]])
    good, evil, own, *others = state.places.tolist()
    objects = {f"object {number}": place for number, place in enumerate(others, 1)}
    return Hidden(
        {
            "next action of the pattern": action,
            "place in the pattern": int(state.clock[dynamics.PHASE]) + 1,
            "steps until Good and Evil change places": int(state.clock[dynamics.UNTIL_SWAP]),
        },
        state.rewards.tolist(),
        {"Good": good, "Evil": evil, "agent": own, **objects},
        {
            "Good": int(state.paths[good * actions + action]),
            "Evil": int(state.paths[evil * actions + action]),
        },
    )


def hidden_of_torus(state: torus.TorusState) -> Hidden:
    """Where all three are, and the next moves of Good and Evil."""
    moves = ("left", "right", "up", "down", "stay")
    x, y, good_x, good_y, evil_x, evil_y = state.places.tolist()
    good, evil = state.turns.tolist()
    return Hidden(
        {
            "agent at": f"({x}, {y})",
            "Good at": f"({good_x}, {good_y})",
            "Evil at": f"({evil_x}, {evil_y})",
            "next move of Good": moves[int(state.good[good])],
            "next move of Evil": moves[int(state.evil[evil])],
        }
    )


def fields_of(thing: object) -> list[dict[str, Any]]:
    """The fields of a state; of what has no kernels, numbers and arrays, its own and its parts'."""
    state = getattr(thing, "state", None)
    if state is not None and hasattr(state, "_fields"):
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
    agent, values = player.agent, None
    if isinstance(agent, KernelAgent):
        state = agent.present_state
        named = [field_shown(name, field) for name, field in zip(state._fields, state, strict=True)]
        if isinstance(state, TableState):
            actions = int(state.numbers[ACTIONS])
            observed = np.atleast_1d(player.world.observation)
            row = int(observation_index(observed, state.sizes)) * actions
            values = state.table[row : row + actions].tolist()
    else:
        named = fields_of(agent)
    return {"label": player.spec.label, "fields": named, "values": values}


# In a process of its own


def answer(requests: Connection) -> None:
    """Compute what one page asks for, until it is closed.

    A request is the name of what is wanted, and what it is given. Each is answered by what is to be
    shown and the course of the experiment, or by an error.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the server ends it
    experiment: Experiment | None = None
    while True:
        try:
            wanted, given = requests.recv()
        except EOFError:
            return
        told: Any = None
        try:
            if isinstance(given, Drawing):
                begun = Experiment.begun(given)
                told = begun.shown() if wanted == "begin" else {"complexity": begun.complexity}
                experiment = begun if wanted == "begin" else experiment
            elif isinstance(given, Course):
                experiment = Experiment.resumed(given)
            elif experiment is not None:
                told = getattr(experiment, wanted)(given)
            course = None if experiment is None else experiment.course()
            requests.send((told, course))
        except OmnimeterError as error:
            requests.send(error)
        except Exception as error:  # of a third party's part
            what = f"{type(error).__name__}: {error}"
            requests.send(InvalidInputError(f"This cannot be computed: {what}"))
