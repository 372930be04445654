"""Which Lambda environments there can be, and how they are drawn and built."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from copy import copy
from functools import cached_property
from itertools import count
from typing import Any, ClassVar, Literal

import numpy as np

from omnimeter.contract import Claims, Instance, InvalidInputError, Observation
from omnimeter.environments.lambda_class.building import (
    FRAMES,
    Consumption,
    Cycle,
    Frame,
    build,
    check_object,
    checked,
    draw_object,
    kernels_of,
    one_of,
)
from omnimeter.environments.lambda_class.complexity import (
    SOME_TRIES,
    TRIES,
    Grade,
    graded,
    highest,
    not_found,
    pattern_of_complexity,
)
from omnimeter.environments.lambda_class.drawing import (
    check_drawn_cells,
    check_stop,
    draw_pattern,
    draw_space,
    format_pattern,
    parse_pattern,
)
from omnimeter.environments.lambda_class.observing import FORMS
from omnimeter.environments.lambda_class.scene import scene
from omnimeter.environments.lambda_class.space import CellSpace, format_space, read_space
from omnimeter.kernels import KernelEnvironment, KernelEnvironmentClass

Redraw = Literal["all", "connections"]
Form = Literal["structure", "state", "string", "string-others", "adjacent", "foresight"]


class Lambda(KernelEnvironmentClass):
    """Cells with Good and Evil, who repeat one pattern and leave rewards behind.

    An agent moves through the cells of a directed graph. So do Good, who leaves positive rewards,
    and Evil, who leaves negative ones. Both follow the same pattern of actions and change places
    from time to time, so that chance is worth nothing. This is the environment class of the Lambda
    thesis, as its chapter 4 implements it.

    Args:
        cells: The number of cells; by default it is drawn, each further cell half as likely.
        most_cells: The largest number of cells that is drawn.
        actions: The number of actions, the one that stays included; by default it is drawn.
        space: The space itself: a description such as ``1+2-|1+2-|1+2-``, or ``ring-8``,
            ``grid-3x4``, ``torus-3x4``; by default it is drawn.
        pattern: The actions that Good and Evil repeat, such as ``203210200``; by default drawn.
        stop: The probability with which a drawn pattern ends after each of its actions.
        objects: Further objects by their behaviours: ``random``, ``still``, ``pattern`` (drawn),
            or a given one such as ``pattern:0120``.
        frame: Where the parameters that are left out come from: ``implemented`` (the thesis'
            chapters 4 to 6) or ``conceptual`` (its section 3.6).
        consumption: Whether agents get the reward of a cell ``before`` or ``after`` the update of
            all cells' rewards. After it, the whole reward is only where Good is.
        vanish: Whether a reward disappears when an agent has got it.
        division: By what rewards in cells are divided in each interaction, from 1 to ``inf``.
        beside: Whether Good and Evil leave rewards in a cell where an agent is.
        sharing: Whether agents in the same cell share its reward.
        good: The rewards that Good leaves, one or several in turn, each in (0, 1].
        evil: The size of those that Evil leaves.
        cycle: Up to how many interactions pass until Good and Evil change places: cells to the
            ``power`` of actions, their ``product``, or they ``never`` do.
        warm_up: Interactions of a random agent before the test; ``cycle`` draws their number like
            the time until Good and Evil change places, up to 10,000.
        grade: What complexity is: the compressed length of the ``environment`` (space and
            pattern), that times the length of the pattern (``product``), the compressed length of
            the ``pattern`` alone, or the plain ``length``.
        observation: The form of observation for every agent; by default each gets the form that it
            asks for, and ``structure`` if it asks for none.
        redraw: What is drawn again when a drawn space is not valid: ``all`` of it, with the numbers
            of cells and actions that are not given, or only the ``connections``.
    """

    kernels = kernels_of(("structure",))
    views: ClassVar[Sequence[str]] = FORMS

    def __init__(
        self,
        cells: int | None = None,
        most_cells: int = 9,
        actions: int | None = None,
        space: str | None = None,
        pattern: str | None = None,
        stop: float = 0.01,
        objects: list[str] | None = None,
        frame: Frame = "implemented",
        consumption: Consumption | None = None,
        vanish: bool | None = None,
        division: float | Literal["inf"] | None = None,
        beside: bool | None = None,
        sharing: bool = False,
        good: float | list[float] = 1.0,
        evil: float | list[float] = 1.0,
        cycle: Cycle = "power",
        warm_up: int | Literal["cycle"] = 0,
        grade: Grade = "environment",
        observation: Form | None = None,
        redraw: Redraw = "all",
    ) -> None:
        self.cells = cells
        self.most_cells = most_cells
        self.actions = actions
        self.space = None if space is None else self._given_space(space)
        self.pattern = None if pattern is None else self._given_pattern(pattern)
        check_stop(stop)
        self.stop = stop
        self.objects = [check_object(each, self.actions) for each in objects or []]
        self.redraw = one_of("redraw", redraw, Redraw)
        self.grade = one_of("grade", grade, Grade)
        self.observation = None if observation is None else one_of("form", observation, Form)
        self._sit((observation or "structure",))
        given = {
            "consumption": consumption,
            "division": division,
            "vanish": vanish,
            "beside": beside,
        }
        said = {name: value for name, value in given.items() if value is not None}
        always = {
            "sharing": sharing,
            "good": good,
            "evil": evil,
            "cycle": cycle,
            "warm_up": warm_up,
        }
        self.rules = checked({**FRAMES[one_of("frame", frame, Frame)], **said, **always})
        self._check_sizes()

    def _given_space(self, text: str) -> CellSpace:
        space = read_space(text)
        for name, wanted, found in (
            ("cells", self.cells, space.cells),
            ("actions", self.actions, space.actions),
        ):
            if wanted not in (None, found):
                raise InvalidInputError(
                    f"The space has {found} {name}, not {wanted}.",
                    f"Leave out {name}, or the space.",
                )
        self.cells, self.actions = space.cells, space.actions
        return space

    def _given_pattern(self, text: str) -> str:
        if self.actions is None:
            raise InvalidInputError(
                "A pattern needs to know which actions there are.",
                "Give space or actions together with the pattern.",
            )
        parse_pattern(text, self.actions)
        return text

    def _check_sizes(self) -> None:
        check_drawn_cells(self.most_cells)
        if self.space is None and self.cells is not None:
            check_drawn_cells(self.cells)
        if self.actions is not None and self.actions < 2:
            raise InvalidInputError(
                f"There cannot be {self.actions} actions.", "Give 2 or more: staying is one."
            )

    def draw(self, rng: np.random.Generator, complexity: float | None = None) -> Instance:
        """Draw a space, a pattern and further objects, as far as they are not given.

        For a wanted complexity patterns are as long as they must be, whatever ``stop`` says.
        """
        if complexity is None:
            space = self._draw_space(rng)
            pattern = self.pattern or format_pattern(
                draw_pattern(rng, space.actions, self.stop), space.actions
            )
            return self._instance(rng, space, pattern)
        found = self._search(rng, complexity, TRIES)
        if found is None:
            raise not_found(complexity, self.grade)
        return found

    def _search(self, rng: np.random.Generator, complexity: float, tries: int) -> Instance | None:
        for _ in range(tries):
            space = self._draw_space(rng)
            found = self._pattern_of(rng, space, complexity)
            if found is not None:
                return self._instance(rng, space, found)
        return None

    def _draw_space(self, rng: np.random.Generator) -> CellSpace:
        if self.space is not None:
            return self.space
        keep_sizes = self.redraw == "connections"
        return draw_space(rng, self.cells, self.most_cells, self.actions, keep_sizes=keep_sizes)

    def _pattern_of(
        self, rng: np.random.Generator, space: CellSpace, complexity: float
    ) -> str | None:
        description = format_space(space)
        if self.pattern is not None:
            fits = graded(self.grade, description, self.pattern) == complexity
            return self.pattern if fits else None
        return pattern_of_complexity(
            rng, space.actions, complexity, lambda text: graded(self.grade, description, text)
        )

    def _instance(self, rng: np.random.Generator, space: CellSpace, pattern: str) -> Instance:
        objects = [draw_object(rng, each, space.actions, self.stop) for each in self.objects]
        return Instance(
            {"space": format_space(space), "pattern": pattern, "objects": objects, **self.rules}
        )

    def complexity(self, instance: Instance) -> float:
        """How long the shortest description is that compression finds."""
        return graded(self.grade, instance.data["space"], instance.data["pattern"])

    def complexity_range(self) -> tuple[float, float]:
        """The lowest complexity that is found, and one that patterns of two actions still reach."""
        return self._complexity_range

    @cached_property
    def _complexity_range(self) -> tuple[float, float]:
        if self.pattern is not None and self.space is not None:
            grade = graded(self.grade, format_space(self.space), self.pattern)
            return grade, grade
        rng = np.random.default_rng(0)  # a few tries find a level that can be drawn with ease
        lowest = next(each for each in count(1) if self._search(rng, each, SOME_TRIES))
        return float(lowest), max(float(lowest), highest(self.grade))

    def with_views(self, views: Sequence[str | None]) -> Lambda:
        """The same class for agents who are there together, each with its form of observation."""
        asked = [view if view in FORMS else None for view in views]
        forms = tuple(self.observation or view or "structure" for view in asked)
        if forms == self.forms:
            return self
        seated = copy(self)
        seated._sit(forms)
        return seated

    def _sit(self, forms: tuple[str, ...]) -> None:
        self.forms = forms
        self.kernels = kernels_of(forms)

    def build(self, instance: Instance) -> KernelEnvironment:
        """Make the space and everybody in it."""
        return build(instance, self.forms)

    def claims(self) -> Claims:
        """Balanced if Good and Evil leave the same; sensitive within as many actions as cells.

        Whatever an agent does, Good and Evil go the same way. By the number of cells it can be in
        any of them, having come from another: so it can choose between a cell with a positive
        reward and one with a negative reward. Only where a reward lasts for no longer than one
        interaction, and is never left beside an agent, nobody ever gets anything.
        """
        rules = self.rules
        out_of_reach = (
            rules["consumption"] == "after" and rules["division"] == "inf" and not rules["beside"]
        )
        largest = self.most_cells if self.cells is None else self.cells
        return Claims(
            balanced=rules["good"] == rules["evil"],
            sensitive=None if out_of_reach else largest,
        )

    def scene(
        self, instance: Instance, observation: Observation, reward: float = 0.0
    ) -> Mapping[str, Any]:
        """Coloured cells with neutral symbols, and the last reward as up, neutral or down.

        The class that ``with_views`` gave must be asked: only that one knows the form.
        """
        return scene(instance, self.forms, np.atleast_1d(observation).tolist(), reward)
