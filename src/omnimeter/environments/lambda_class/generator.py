"""The Lambda environment class: its parameters, what it draws, and how instances are built."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from copy import copy
from functools import cached_property, partial
from itertools import count
from math import inf, isfinite
from typing import Any, ClassVar, Literal, Self, get_args

import numpy as np

from omnimeter.contract import (
    Claims,
    Instance,
    InvalidInputError,
    Observation,
    UnknownNameError,
)
from omnimeter.contract.agent import IntArray
from omnimeter.contract.environment import Symmetry
from omnimeter.contract.overlay import Graph, Overlay
from omnimeter.environments.lambda_class import dynamics, patterns
from omnimeter.environments.lambda_class.complexity import (
    FEW_TRIES,
    MAX_PATTERN,
    TRIES,
    ComplexityMeasure,
    complexity_of,
    highest,
    pattern_of_complexity,
)
from omnimeter.environments.lambda_class.space import (
    CellSpace,
    check_number_of_cells,
    draw_space,
    paths_of,
    read_space,
)
from omnimeter.environments.lambda_class.views import VIEWS, View, kernels_of, scene, space_of
from omnimeter.environments.shared import random_run
from omnimeter.kernels import KernelEnvironment, KernelEnvironmentClass, generator_state

Variant = Literal["implemented", "conceptual"]
Consumption = Literal["before", "after"]
Cycle = Literal["power", "product", "never"]
Redraw = Literal["all", "connections"]

VARIANTS: dict[str, dict[str, Any]] = {
    "implemented": {"consumption": "after", "division": "inf", "vanish": True, "beside": True},
    "conceptual": {"consumption": "before", "division": 2.0, "vanish": True, "beside": False},
}
"""Defaults: sections 5.1 and 3.6.3 of the Lambda thesis. The parameter ``drop_on_agents`` is the
rule ``beside`` of an instance."""

MAX_CYCLE = 2**31 - 1
"""Kernels draw no greater numbers. Where the bound is above it, this is the bound."""

MAX_WARM_UP = 1_000_000
"""Interactions; each beginning takes the time of all of them."""


class Lambda(KernelEnvironmentClass):
    """Cells with Good and Evil, which repeat one pattern and leave rewards behind.

    An agent moves through the cells of a directed graph. So do Good, which leaves positive rewards,
    and Evil, which leaves negative ones. Both follow the same pattern of actions and change places
    from time to time, so that random behaviour is worth nothing. This is the environment class of
    the Lambda thesis, as its chapter 4 implements it.

    Args:
        cells: The number of cells; by default it is drawn, each further cell half as likely.
        max_cells: The largest number of cells that is drawn.
        actions: The number of actions, the one that stays included; by default it is drawn.
        space: A description such as ``1+2-|1+2-|1+2-``, or ``ring-8``, ``grid-3x4``, ``torus-3x4``;
            by default it is drawn.
        pattern: The actions that Good and Evil repeat, such as ``203210200``; by default drawn.
        stop: The probability with which a drawn pattern ends after each of its actions.
        objects: Further objects by their behaviours: ``random``, ``still``, ``pattern`` (drawn),
            or a given one such as ``pattern:0120``.
        variant: The source of the parameters that are left out: ``implemented`` (the thesis'
            chapters 4 to 6) or ``conceptual`` (its section 3.6).
        consumption: Whether agents get the reward of a cell ``before`` or ``after`` the update of
            all cells' rewards. After it, the whole reward is only where Good is.
        vanish: Whether a reward disappears when an agent has got it.
        division: By what rewards in cells are divided in each interaction, from 1 to ``inf``.
        drop_on_agents: Whether Good and Evil leave rewards in a cell where an agent is.
        sharing: Whether agents in the same cell share its reward.
        good: The rewards that Good leaves, one or several in turn, each in (0, 1].
        evil: The size of those that Evil leaves.
        cycle: Up to how many interactions pass until Good and Evil change places: cells to the
            ``power`` of actions, their ``product``, or they ``never`` do.
        warm_up: Interactions of a random agent before the test; ``cycle`` draws their number like
            the time until Good and Evil change places, up to 10,000.
        complexity_measure: The compressed length of the ``environment`` (space and pattern), that
            times the length of the pattern (``product``), the compressed length of the ``pattern``
            alone, or the plain ``length``.
        view: The view of every agent; by default each gets the one that it asks for, or
            ``structure``.
        redraw: What is drawn again when a drawn space is not valid: ``all`` of it, with the numbers
            of cells and actions that are not given, or only the ``connections``.
    """

    kernels = kernels_of(("structure",))
    kernels_of_views = staticmethod(kernels_of)
    views: ClassVar[Sequence[str]] = VIEWS
    privileged = ("foresight",)

    def __init__(
        self,
        cells: int | None = None,
        max_cells: int = 9,
        actions: int | None = None,
        space: str | None = None,
        pattern: str | None = None,
        stop: float = 0.01,
        objects: list[str] | None = None,
        variant: Variant = "implemented",
        consumption: Consumption | None = None,
        vanish: bool | None = None,
        division: float | Literal["inf"] | None = None,
        drop_on_agents: bool | None = None,
        sharing: bool = False,
        good: float | list[float] = 1.0,
        evil: float | list[float] = 1.0,
        cycle: Cycle = "power",
        warm_up: int | Literal["cycle"] = 0,
        complexity_measure: ComplexityMeasure = "environment",
        view: View | None = None,
        redraw: Redraw = "all",
    ) -> None:
        check_number_of_cells(max_cells, drawn=True)
        self.cells, self.max_cells, self.actions = cells, max_cells, actions
        self.space = None if space is None else read_space(space)
        if self.space is not None:
            self.cells, self.actions = self.space.cells, self.space.actions
            sizes = (("cells", cells, self.cells), ("actions", actions, self.actions))
            for name, wanted, given in sizes:
                if wanted not in (None, given):
                    raise InvalidInputError(
                        f"The space has {given} {name}, not {wanted}.",
                        f"Leave out {name}, or the space.",
                    )
        elif cells is not None:
            check_number_of_cells(cells, drawn=True)
        if self.actions is not None and self.actions < 2:
            raise InvalidInputError(
                f"There cannot be {self.actions} actions.", "Give 2 or more: staying is one."
            )
        if pattern is not None:
            if self.actions is None:
                raise InvalidInputError(
                    "A pattern needs to know which actions there are.",
                    "Give space or actions together with the pattern.",
                )
            patterns.parse_pattern(pattern, self.actions)
        self.pattern = pattern
        patterns.check_stop(stop)
        self.stop = stop
        self.objects = list(objects or [])
        for behaviour in self.objects:
            if behaviour != "pattern":  # that one is drawn
                patterns.script_of(behaviour, self.actions)
        self.redraw = _one_of("redraw", redraw, Redraw)
        self.complexity_measure = _one_of(
            "complexity_measure", complexity_measure, ComplexityMeasure
        )
        self.view = None if view is None else _one_of("view", view, View)
        self.seat_views: tuple[str, ...] = (view or "structure",)
        self.kernels = self.kernels_of_views(self.seat_views)
        rules = {
            "consumption": consumption,
            "division": division,
            "vanish": vanish,
            "beside": drop_on_agents,
            "sharing": sharing,
            "good": good,
            "evil": evil,
            "cycle": cycle,
            "warm_up": warm_up,
        }
        defaults = VARIANTS[_one_of("variant", variant, Variant)]
        self.rules = checked_rules(
            {name: defaults.get(name) if rule is None else rule for name, rule in rules.items()}
        )

    def draw(self, rng: np.random.Generator, complexity: float | None = None) -> Instance:
        """Draw a space, a pattern and further objects, as far as they are not given.

        For a wanted complexity patterns are as long as they must be, whatever ``stop`` is.
        """
        if complexity is None:
            space = self._draw_space(rng)
            pattern = self.pattern or self._draw_pattern(rng, space.actions)
            return self._instance(rng, space, pattern)
        instance = self._search(rng, complexity, TRIES)
        if instance is None:
            raise InvalidInputError(
                f"No Lambda environment of complexity {complexity:g} was found "
                f"(complexity_measure={self.complexity_measure}).",
                "Give a whole number. Fewer cells are simpler, longer patterns more complex; "
                f"patterns have at most {MAX_PATTERN:,} actions.",
            )
        return instance

    def _search(self, rng: np.random.Generator, complexity: float, tries: int) -> Instance | None:
        for _ in range(tries):
            space = self._draw_space(rng)
            measure = partial(complexity_of, self.complexity_measure, str(space))
            if self.pattern is None:
                pattern = pattern_of_complexity(rng, space.actions, complexity, measure)
            else:
                pattern = self.pattern if measure(self.pattern) == complexity else None
            if pattern is not None:
                return self._instance(rng, space, pattern)
        return None

    def _draw_space(self, rng: np.random.Generator) -> CellSpace:
        if self.space is not None:
            return self.space
        keep_sizes = self.redraw == "connections"
        return draw_space(rng, self.cells, self.max_cells, self.actions, keep_sizes=keep_sizes)

    def _draw_pattern(self, rng: np.random.Generator, actions: int) -> str:
        return patterns.format_pattern(patterns.draw_pattern(rng, actions, self.stop), actions)

    def _instance(self, rng: np.random.Generator, space: CellSpace, pattern: str) -> Instance:
        objects = [
            f"pattern:{self._draw_pattern(rng, space.actions)}" if each == "pattern" else each
            for each in self.objects
        ]
        return Instance({"space": str(space), "pattern": pattern, "objects": objects, **self.rules})

    def with_views(self, views: Sequence[str | None]) -> Self:
        """The same class for agents in a joint exercise, each with its view."""
        known = [view if view in VIEWS else None for view in views]
        seat_views = tuple(self.view or view or "structure" for view in known)
        if seat_views == self.seat_views:
            return self
        seated = copy(self)
        seated.seat_views, seated.kernels = seat_views, self.kernels_of_views(seat_views)
        return seated

    def build(self, instance: Instance) -> KernelEnvironment:
        """Build the environment of an instance, with a seat for each view."""
        paths = paths_of(instance.data["space"])
        cells, actions = paths.shape
        views = self.seat_views
        # A description may come from anywhere, and kernels trust what they are given.
        data = checked_rules(instance.data)
        scripts = [patterns.script_of(each, actions) for each in data["objects"]]
        behaviours = [patterns.BEHAVIOURS.index(each.partition(":")[0]) for each in data["objects"]]
        flags = (data["consumption"] == "after", data["vanish"], data["beside"], data["sharing"])
        cycle = max_cycle(data["cycle"], cells, actions)
        warm_up = -1 if data["warm_up"] == "cycle" else data["warm_up"]
        state = dynamics.LambdaState(
            rng=generator_state(),
            agents_rng=generator_state(),
            paths=paths.ravel().copy(),
            pattern=patterns.parse_pattern(data["pattern"], actions),
            places=np.zeros(2 + len(views) + len(scripts), dtype=np.int64),
            rewards=np.zeros(cells),
            good=np.array(data["good"], dtype=np.float64),
            evil=np.array(data["evil"], dtype=np.float64),
            division=np.array([float(data["division"])]),
            rules=np.array([actions, *flags, cycle, warm_up], dtype=np.int64),
            clock=np.zeros(4, dtype=np.int64),
            behaviours=np.array(behaviours, dtype=np.int64),
            scripts=np.array([action for script in scripts for action in script], dtype=np.int64),
            script_at=np.cumsum([0, *map(len, scripts)]).astype(np.int64),
            script_now=np.zeros(len(scripts), dtype=np.int64),
            views=np.array([VIEWS.index(view) for view in views], dtype=np.int64),
            actions=np.zeros(len(views), dtype=np.int64),
            paid=np.zeros(len(views)),
        )
        first, *others = (space_of(view, cells, actions, len(state.places)) for view in views)
        return KernelEnvironment(self.kernels, state, actions, first, others=others, views=views)

    def reward_range(self) -> tuple[float, float]:
        """Rewards lie between -1 and 1."""
        return -1.0, 1.0

    def claims(self) -> Claims:
        """Balanced if Good and Evil leave the same; sensitive within as many actions as cells.

        Whatever an agent does, Good and Evil go the same way. By the number of cells it can be in
        any of them, having come from another: so it can choose between a cell with a positive
        reward and one with a negative reward. Only where a reward lasts for no longer than one
        interaction, and is never left where an agent is, no agent ever gets anything.
        """
        rules = self.rules
        out_of_reach = (
            rules["consumption"] == "after" and rules["division"] == "inf" and not rules["beside"]
        )
        largest = self.max_cells if self.cells is None else self.cells
        sensitive = None if out_of_reach else largest
        return Claims(balanced=rules["good"] == rules["evil"], sensitive=sensitive)

    def complexity(self, instance: Instance) -> float:
        """The length of the description, compressed as ``complexity_measure`` says."""
        data = instance.data
        return complexity_of(self.complexity_measure, data["space"], data["pattern"])

    def complexity_range(self) -> tuple[float, float]:
        """The lowest complexity that is found, and one that patterns of two actions still reach."""
        return self._complexity_range

    @cached_property
    def _complexity_range(self) -> tuple[float, float]:
        if self.pattern is not None and self.space is not None:
            return (complexity_of(self.complexity_measure, str(self.space), self.pattern),) * 2
        rng = np.random.default_rng(0)  # a few tries find a complexity that can be drawn with ease
        lowest = next(each for each in count(1) if self._search(rng, each, FEW_TRIES))
        return float(lowest), max(float(lowest), highest(self.complexity_measure))

    def scene(
        self, instance: Instance, observation: Observation, reward: float = 0.0
    ) -> Mapping[str, Any]:
        """Coloured cells with neutral symbols, and the last reward as up, neutral or down.

        Ask the class that ``with_views`` returned: only that one knows the view.
        """
        return scene(instance, self.seat_views, np.atleast_1d(observation).tolist(), reward)

    def hidden(self, environment: Any) -> Mapping[str, Any]:
        """The rewards in cells, who is where, and where Good and Evil want to go.

        Where both want to go to the same cell, one of them will stay.
        """
        state: dynamics.LambdaState = environment.state
        actions, phase = int(state.rules[dynamics.ACTIONS]), int(state.clock[dynamics.PHASE])
        action = int(state.pattern[phase])
        good, evil, own, *others = state.places.tolist()
        return {
            "facts": {
                "next action of the pattern": action,
                "place in the pattern": phase + 1,
                "steps until Good and Evil change places": int(state.clock[dynamics.UNTIL_SWAP]),
            },
            "cells": state.rewards.tolist(),
            "places": {"Good": good, "Evil": evil, "agent": own}
            | {f"object {number}": place for number, place in enumerate(others, 1)},
            "intended": {
                name: int(state.paths[place * actions + action])
                for name, place in (("Good", good), ("Evil", evil))
            },
        }

    def symmetry(self, environment: Any) -> Symmetry | None:
        """Good and Evil change places; with their rewards all others turn round."""
        if self.rules["good"] != self.rules["evil"]:
            return None
        state: dynamics.LambdaState = environment.state
        swap = state.clock[dynamics.UNTIL_SWAP]
        changing = self._changing_parts(state)

        def mirror() -> None:
            for part in (state.places, *self._parts_of_both(state)):
                part[: dynamics.FIRST_SEAT] = part[: dynamics.FIRST_SEAT][::-1].copy()
            np.negative(state.rewards, out=state.rewards)

        def prepare(event: int) -> None:
            if swap:
                state.clock[dynamics.UNTIL_SWAP] = 1 if event else 2

        place = b"".join(part.tobytes() for part in changing)
        rewards = (state.rewards + 0.0).tobytes()  # -0.0 and 0.0 are alike
        return Symmetry(place, (place, rewards, int(swap)), mirror, 1 + bool(swap), prepare)

    @staticmethod
    def _changing_parts(state: Any) -> Sequence[IntArray]:
        """What changes in an environment besides rewards, times and buffers."""
        clock = state.clock[[dynamics.PHASE, dynamics.GOOD_DROP, dynamics.EVIL_DROP]]
        return state.places, clock, state.script_now

    @staticmethod
    def _parts_of_both(state: Any) -> Sequence[IntArray]:  # noqa: ARG004 - for further classes
        """What Good and Evil have besides their places, a row for each of the two first."""
        return ()

    def overlay(self, instance: Instance, rng: np.random.Generator, steps: int) -> Overlay:
        """The cells, with Good, Evil, further objects and the reward in each.

        A random agent takes rewards in the first seat meanwhile; agents are not propositions.
        """
        environment = self.build(instance)
        paths = paths_of(instance.data["space"])
        objects = [f"object {number}" for number in range(1, len(instance.data["objects"]) + 1)]
        moments = []
        for state in random_run(environment, rng, steps):
            cells = [{"reward": float(reward)} for reward in state.rewards]
            others = state.places[dynamics.FIRST_SEAT + len(self.seat_views) :]
            places = [*state.places[: dynamics.FIRST_SEAT], *others]
            for name, place in zip(["good", "evil", *objects], places, strict=True):
                cells[place][name] = True
            moments.append(cells)
        names = [f"cell {number}" for number in range(1, len(paths) + 1)]
        return Overlay.of(Graph(paths.tolist()), moments[0], moments[1:], names)


def checked_rules(given: Mapping[str, Any]) -> dict[str, Any]:
    """A description with the rules of the environment as they are stored.

    Raises:
        InvalidInputError: A value is impossible.
        UnknownNameError: A value is not among those that there are.
    """
    for name in ("vanish", "beside", "sharing"):
        if not isinstance(given[name], bool):
            shown = "drop_on_agents (beside)" if name == "beside" else name
            raise InvalidInputError(f"{shown} is {given[name]!r}.", "Give true or false.")
    cycle, warm_up = _one_of("cycle", given["cycle"], Cycle), given["warm_up"]
    if warm_up == "cycle" and cycle == "never":
        raise InvalidInputError(
            "A warm-up cannot be drawn like the cycle when there is no cycle.",
            "Give warm_up as a number, or cycle=power.",
        )
    if warm_up != "cycle" and not (type(warm_up) is int and 0 <= warm_up <= MAX_WARM_UP):
        raise InvalidInputError(
            f"A warm-up cannot last for {warm_up} interactions.",
            f"Give a number from 0 to {MAX_WARM_UP:,}, or cycle.",
        )
    try:
        division = float(given["division"])
    except (TypeError, ValueError):
        division = 0.0
    if not division >= 1:  # catches NaN too
        raise InvalidInputError(
            f"Rewards in cells cannot be divided by {given['division']}.",
            "Give division from 1 to inf.",
        )
    _one_of("consumption", given["consumption"], Consumption)
    return {
        **given,
        "division": "inf" if division == inf else division,  # as JSON can hold it
        "good": _rewards("good", given["good"]),
        "evil": _rewards("evil", given["evil"]),
    }


def _one_of(name: str, given: object, values: Any) -> Any:
    if given not in get_args(values):
        raise UnknownNameError(name, str(given), get_args(values))
    return given


def _rewards(name: str, given: object) -> list[float]:
    """The rewards of Good or Evil, in turn: numbers above 0, at most 1."""
    rewards: Sequence[Any] = given if isinstance(given, list | tuple) else [given]
    if any(isinstance(each, bool) or not isinstance(each, int | float) for each in rewards):
        raise InvalidInputError(
            f"{name} is {given!r}.", f"Give {name} one number or several, in (0, 1]."
        )
    for position, reward in enumerate(rewards, start=1):
        if not (isfinite(reward) and 0 < reward <= 1):
            where = f" at position {position}" if len(rewards) > 1 else ""
            raise InvalidInputError(
                f"The reward {reward:g} of {name}{where} is not in (0, 1].",
                f"Give {name} above 0 and at most 1; of Evil's rewards the size counts.",
            )
    if not rewards:
        raise InvalidInputError(f"{name} has no reward.", f"Give {name} one number or several.")
    return [float(each) for each in rewards]


def max_cycle(cycle: str, cells: int, actions: int) -> int:
    """The largest number of interactions until Good and Evil change places; 0 if they never do.

    The bound of section 3.6.2 is printed without its typography: it may be the power or the
    product.
    """
    bounds = {"power": int(cells**actions), "product": cells * actions, "never": 0}
    return min(bounds[cycle], MAX_CYCLE)
