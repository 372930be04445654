"""The universal Lambda class: its parameters, what it draws, and how instances are built."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property, lru_cache
from itertools import product
from math import inf
from typing import Any, NamedTuple

import numpy as np

from omnimeter.complexity import elias_gamma_length, kt_max
from omnimeter.contract import Instance, InvalidInputError, UnknownNameError
from omnimeter.contract.agent import FloatArray, IntArray
from omnimeter.environments.lambda_class import Lambda
from omnimeter.environments.lambda_class.generator import (
    Consumption,
    Cycle,
    Variant,
    checked_rules,
    max_cycle,
)
from omnimeter.environments.lambda_class.space import paths_of
from omnimeter.environments.lambda_class.views import VIEWS, View, space_of
from omnimeter.environments.shared import nearest, weighted_index
from omnimeter.environments.universal import dynamics, language
from omnimeter.environments.universal.coding import code_length, set_length
from omnimeter.environments.universal.inhabitants import (
    NAMES,
    PERCEPTIONS,
    Perception,
    behaviour_of,
    inputs_of,
    named_inhabitant,
    pattern_program,
    read_behaviour,
)
from omnimeter.environments.universal.language import Program, expand, format_program
from omnimeter.environments.universal.machine import (
    AT,
    MAX_LENGTH,
    MAX_STEPS,
    check_bounds,
    compiled_rules,
)
from omnimeter.environments.universal.spaces import (
    MAX_ACTIONS,
    MAX_CELLS,
    size_bits,
    space_alphabet,
    write_space,
)
from omnimeter.environments.universal.tables import MAX_TABLE_BITS, MAX_TABLE_CELLS, Question, Table, table
from omnimeter.kernels import KernelEnvironment, generator_state

TABLE_BITS = 18
"""The default length up to which all programs are tried: seconds, once."""

TOP_UP = 12
"""How many bits longer than those of the tables drawn programs are at most."""

TRIES = 5_000
"""How many programs beyond the tables are drawn in search of one that fits."""

CANDIDATES = 16
"""How many sets of objects are drawn of which one is chosen."""


class Inhabitant(NamedTuple):
    """The program of Good and Evil, or of an object.

    Attributes:
        program: The program.
        perception: What it reads.
        steps: The largest number of rewriting steps in an interaction; 0 where that depends on
            the space.
    """

    program: Program
    perception: str
    steps: int


class UniversalLambda(Lambda):
    """Lambda environments in which spaces and inhabitants are written by Markov algorithms.

    Cells, agents and rewards are those of ``lambda-v1``, by default with the rules of the thesis'
    conceptual framework (section 3.6). What differs: a Markov algorithm writes the space, and Good,
    Evil and all objects have programs that read what they perceive and write what they do. Good and
    Evil have the same program. Complexity is Kt-max (Definition 9 of the anytime test): the bits of
    the shortest known programs, plus the logarithm of the rewriting steps of an interaction.

    Args:
        actions: The number of actions, the one that stays included; by default drawn.
        cells: The number of cells; by default drawn.
        max_actions: The largest number of actions that is drawn.
        max_cells: The largest number of cells that is drawn.
        space_program: The Markov algorithm of the space, over ``l r u d ...``, ``+``, ``-`` and
            ``:``; needs ``actions``. By default drawn.
        behaviour: The program of Good and Evil: a Markov algorithm, ``pattern:0120``, or a name
            (``still``, ``nearly-static``, ``reactive``, ``imitating``, ``chasing``, ``fleeing``).
            By default drawn.
        perception: What drawn and given programs read: ``nothing``, who else is in the ``cell``,
            the last ``moves`` of the agent, who is in ``adjacent`` cells, or all as a ``string``.
        objects: Further objects: names as above, ``drawn``, or Markov algorithms.
        max_steps: The bound of rewriting steps of a program in an interaction. One that meets it
            stays where it is.
        table_bits: Up to how many bits all programs are tried, to draw from and to find shorter
            ones: seconds for 18, minutes for 24, once.
        variant: The source of the parameters that are left out: ``conceptual`` (the thesis'
            section 3.6) or ``implemented`` (its chapters 4 to 6).
        consumption: As in ``lambda-v1``, like all that follow.
        vanish: Whether a reward disappears when an agent has got it.
        division: By what rewards in cells are divided in each interaction, from 1 to ``inf``.
        drop_on_agents: Whether Good and Evil leave rewards in a cell where an agent is.
        sharing: Whether agents in the same cell share its reward.
        good: The rewards that Good leaves, one or several in turn, each in (0, 1].
        evil: The size of those that Evil leaves.
        cycle: Up to how many interactions pass until Good and Evil change places.
        warm_up: Interactions of a random agent before the test, or ``cycle``.
        view: The view that every agent gets; by default each gets the one it asks for.
    """

    kernels = dynamics.kernels_of(("structure",))
    kernels_of_views = staticmethod(dynamics.kernels_of)

    def __init__(
        self,
        actions: int | None = None,
        cells: int | None = None,
        max_actions: int = 4,
        max_cells: int = 9,
        space_program: str | None = None,
        behaviour: str | None = None,
        perception: Perception = "cell",
        objects: list[str] | None = None,
        max_steps: int = MAX_STEPS,
        table_bits: int = TABLE_BITS,
        variant: Variant = "conceptual",
        consumption: Consumption | None = None,
        vanish: bool | None = None,
        division: float | str | None = None,
        drop_on_agents: bool | None = None,
        sharing: bool = False,
        good: float | list[float] = 1.0,
        evil: float | list[float] = 1.0,
        cycle: Cycle = "power",
        warm_up: int | str = 0,
        view: View | None = None,
    ) -> None:
        super().__init__(
            cells=cells, max_cells=max_cells, actions=actions, variant=variant,
            consumption=consumption, vanish=vanish, division=division,  # type: ignore[arg-type]
            drop_on_agents=drop_on_agents, sharing=sharing, good=good, evil=evil, cycle=cycle,
            warm_up=warm_up, view=view,  # type: ignore[arg-type]
        )  # fmt: skip
        check_bounds(max_steps)
        if perception not in PERCEPTIONS:
            raise UnknownNameError("perception", perception, PERCEPTIONS)
        if not 6 <= table_bits <= MAX_TABLE_BITS:
            raise InvalidInputError(
                f"Tables of programs of up to {table_bits} bits cannot be made.",
                f"Give table_bits from 6 to {MAX_TABLE_BITS}; each bit doubles the time.",
            )
        for name, number, largest in (
            ("actions", max_actions if actions is None else actions, MAX_ACTIONS),
            ("cells", max_cells if cells is None else cells, MAX_CELLS),
        ):
            if not 2 <= number <= largest:
                raise InvalidInputError(
                    f"There cannot be {number} {name} here.", f"Give 2 to {largest}."
                )
        self.max_actions, self.perception = max_actions, perception
        self.max_steps, self.table_bits = max_steps, table_bits
        self.space_program, self.behaviour = space_program, behaviour
        self.objects = list(objects or [])
        if actions is None and (
            space_program is not None or any(map(_is_program, [behaviour or "still", *self.objects]))
        ):
            raise InvalidInputError(
                "A program needs to know which actions there are.",
                "Give actions together with it.",
            )
        if actions is not None:
            if space_program is not None:
                self.cells = write_space(space_program, actions, cells).space.cells
            for given in [behaviour, *self.objects]:
                if given not in (None, "drawn"):
                    self._inhabitant(given, actions)
        if behaviour is None and perception in ("adjacent", "string"):
            raise InvalidInputError(
                f"Programs that perceive {perception!r} are not drawn: what they do depends on the "
                "space.",
                "Give a behaviour, or the perception nothing, cell or moves.",
            )

    # Drawing

    def draw(self, rng: np.random.Generator, complexity: float | None = None) -> Instance:
        """Draw by 2^-complexity, or among those of a complexity."""
        low, high = (-inf, inf) if complexity is None else (complexity, complexity)
        instance = self.draw_between(rng, low, high)
        if instance is not None:
            return instance
        if complexity is None:
            raise InvalidInputError(
                f"No program of up to {self.table_bits} bits writes a space of the wanted size.",
                "Give a larger table_bits, or other numbers of cells and actions.",
            )
        there = sorted({float(each) for n in self._all_actions for each in self._pairs(n).complexities})
        near = " and ".join(f"{each:.12g}" for each in nearest(there, complexity, lambda _: True))
        raise InvalidInputError(
            f"No program of up to {self.table_bits} bits gives an environment of complexity "
            f"{complexity:.12g}.",
            f"The nearest complexities that there are: {near or 'none'}.",
        )

    def draw_between(self, rng: np.random.Generator, low: float, high: float) -> Instance | None:
        """Draw by 2^-complexity within a band: from the tables or, above them, by trying programs.

        With drawn objects a few sets of them are drawn, of which one is chosen in proportion to the
        environments that it leaves in the band: the proportions are then near the right ones.
        """
        tries = 1 if self._steps_are_known else TRIES_IN_SPACES
        least = low if self._steps_are_known else low - self.max_steps.bit_length() - 3
        sets = CANDIDATES if "drawn" in self.objects else 1
        drawn = [self._draw_objects(rng, n) for n in self._all_actions for _ in range(sets)]
        weights = [pairs.mass(least, high) * 2.0**each.bits for each in drawn if (pairs := self._pairs(each.actions, each))]
        if not sum(weights):
            return self._draw_above(rng, low, high) if low > self._top else None
        for _ in range(tries):
            objects = drawn[weighted_index(rng, np.cumsum(weights))]
            instance = self._pick(rng, objects, least, high)
            if low <= self.complexity(instance) <= high:
                return instance
        return None
