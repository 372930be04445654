"""The universal Lambda class: its parameters, what it draws, and how instances are built."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from copy import deepcopy
from functools import cached_property, lru_cache
from itertools import pairwise, product
from math import inf
from typing import Any, NamedTuple, get_args

import numpy as np

from omnimeter.complexity import kt_max
from omnimeter.contract import Claims, Instance, InvalidInputError, UnknownNameError
from omnimeter.contract.agent import FloatArray, IntArray
from omnimeter.environments.lambda_class import Lambda
from omnimeter.environments.lambda_class.dynamics import EVIL_DROP, GOOD_DROP, UNTIL_SWAP
from omnimeter.environments.lambda_class.generator import (
    Consumption,
    Cycle,
    Variant,
    checked_rules,
    max_cycle,
)
from omnimeter.environments.lambda_class.patterns import parse_pattern
from omnimeter.environments.lambda_class.space import paths_of
from omnimeter.environments.lambda_class.views import VIEWS, View, space_of
from omnimeter.environments.shared import nearest, weighted_index
from omnimeter.environments.universal import dynamics
from omnimeter.environments.universal.coding import code_length, set_length
from omnimeter.environments.universal.inhabitants import (
    FORMS,
    MAX_WORD,
    NAMES,
    PERCEPTIONS,
    Perception,
    behaviour_of,
    drawn_behaviour,
    inputs_of,
    key_of_lanes,
    mixed,
    named_inhabitant,
    pattern_program,
    read_behaviour,
)
from omnimeter.environments.universal.language import (
    EXAMPLES,
    PlainRule,
    Program,
    expand,
)
from omnimeter.environments.universal.machine import (
    AT,
    MAX_LENGTH,
    MAX_STEPS,
    check_bounds,
    compiled_rules,
    used_rules,
)
from omnimeter.environments.universal.spaces import (
    MAX_ACTIONS,
    MAX_CELLS,
    size_bits,
    write_space,
)
from omnimeter.environments.universal.tables import (
    MAX_TABLE_BITS,
    MAX_TABLE_CELLS,
    Question,
    Table,
    table,
)
from omnimeter.kernels import KernelEnvironment, generator_state

TABLE_BITS = 25
"""The default length up to which all programs are tried: seconds, once."""

ABOVE = 250.0
"""How far above the environments of the tables others are drawn."""

EMPTY_BITS = 2
"""The code of the program without rules."""

FIGURE = "figure-3.3"
_FIGURE_PARTS = {True: f"{FIGURE}-good-and-evil", False: f"{FIGURE}-object"}
"""The worked environment of the thesis (3.6.6): its space, Good and Evil, and its object."""

TRIES = 2_000
"""How many programs or environments are drawn in search of one that fits."""

TRIES_IN_SPACES = 100
"""The same where each of them has to be measured."""

SAMPLE = 60
"""How many of these are measured to see by how much complexities differ from what is expected."""

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
        max_cells: The largest number of cells that is drawn, 16 at most: larger spaces are given.
        space_program: The Markov algorithm of the space, over ``l r u d ...``, ``+``, ``-`` and
            ``:``; needs ``actions``. By default drawn.
        behaviour: The program of Good and Evil: a Markov algorithm, ``pattern:0120``, or a name
            (``still``, ``nearly-static``, ``reactive``, ``imitating``, ``chasing``, ``fleeing``).
            By default drawn; ``figure-3.3`` is that of the thesis' example, as it is of
            ``space_program`` and ``objects``, with 3 actions.
        perception: What programs read: ``nothing``, who else is in the ``cell``, or the last
            ``moves`` of the agent. A given program may say otherwise by a first line such as
            ``reads string``: ``adjacent`` is who is in the cells that actions lead to, ``string``
            all cells.
        objects: Further objects: names as above, ``drawn``, or Markov algorithms.
        max_steps: The bound of rewriting steps of a program in an interaction. One that meets it
            stays where it is.
        table_bits: Up to how many bits all programs are tried, to draw from and to find shorter
            ones: seconds for 25, minutes for 28, once.
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
        max_actions: int = 3,
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
        if perception not in (names := get_args(Perception)):
            raise UnknownNameError("perception", perception, names)
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
        if space_program == FIGURE:
            space_program = EXAMPLES[f"{FIGURE}-space"].text
        self.space_program = space_program
        self.behaviour = None if behaviour == "drawn" else behaviour
        self.objects = list(objects or [])
        given = [each for each in (behaviour, *self.objects) if each not in (None, "drawn")]
        if actions is None and (space_program is not None or any(map(_is_program, given))):
            raise InvalidInputError(
                "A program needs to know which actions there are.",
                "Give actions together with it.",
            )
        if actions is not None and space_program is not None:
            self.cells = write_space(space_program, actions, cells).space.cells
        for number, each in enumerate((behaviour, *self.objects)):
            if each not in (None, "drawn"):
                self._inhabitant(str(each), actions or 2, special=number == 0)
        self._tables: dict[Question, Table] = {}
        self._all_pairs: dict[tuple[int, int, int], Pairs] = {}
        self._measurements: dict[str, tuple[int, list[Program]]] = {}

    # Drawing

    def draw(self, rng: np.random.Generator, complexity: float | None = None) -> Instance:
        """Draw by 2^-complexity, or among those of a complexity."""
        low, high = (-inf, inf) if complexity is None else (complexity, complexity)
        instance = self.draw_between(rng, low, high)
        if instance is not None:
            return instance
        there = [] if self._steps_are_known else list(self._sample[0])
        for actions in self._all_actions if self._steps_are_known else ():
            there += self._pairs(actions, self._draw_objects(rng, actions)).complexities.tolist()
        if complexity is None or not there:
            raise self._nothing()
        near = " and ".join(f"{x:.12g}" for x in nearest(sorted(there), complexity, lambda _: True))
        raise InvalidInputError(
            f"No program of up to {self.table_bits} bits gives an environment of complexity "
            f"{complexity:.12g}.",
            f"The nearest complexities of the tables: {near}. Above them, up to "
            f"{self.complexity_range()[1]:.4g}, give a band: the anytime tests do.",
        )

    def _nothing(self) -> InvalidInputError:
        advice = "Give a larger table_bits, or other numbers of cells and actions."
        if self.cells is not None and self.cells > MAX_TABLE_CELLS:
            advice = f"Spaces of up to {MAX_TABLE_CELLS} cells are drawn; give a space_program."
        return InvalidInputError(
            f"No program of up to {self.table_bits} bits writes a space of the wanted size.", advice
        )

    def draw_between(self, rng: np.random.Generator, low: float, high: float) -> Instance | None:
        """Draw by 2^-complexity within a band: from the tables or, above them, by trying programs.

        Of drawn objects there are several candidates, of which one is chosen in proportion to the
        environments that it leaves in the band; the proportions are near the right ones then.
        """
        lowest, highest = self.complexity_range()
        shifts = [0.0]
        if not self._steps_are_known:  # nor how many rules are used
            shifts = rng.choice(self._shifts, TRIES_IN_SPACES).tolist()
        elif low > highest or high < lowest:
            return None
        count = CANDIDATES if "drawn" in self.objects else 1
        sets = [self._draw_objects(rng, n) for n in self._all_actions for _ in range(count)]
        for shift in shifts:
            least, most = low - shift, high - shift
            weights = [self._pairs(x.actions, x).mass(least, most) * x.weight for x in sets]
            if not sum(weights):
                continue
            objects = sets[weighted_index(rng, np.cumsum(weights))]
            pairs = self._pairs(objects.actions, objects)
            instance, _ = pairs.pick(self, rng, objects, least, most)
            if low <= self.complexity(instance) <= high:
                return instance
        return self._draw_above(rng, low, high)

    @property
    def _all_actions(self) -> range:
        """The numbers of actions that can be drawn."""
        if self.actions is not None:
            return range(self.actions, self.actions + 1)
        return range(2, self.max_actions + 1)

    @property
    def _steps_are_known(self) -> bool:
        """Whether the steps of all programs are the same in all spaces."""
        given = [each for each in (self.behaviour, *self.objects) if each not in (None, "drawn")]
        results = [
            self._inhabitant(str(each), self._all_actions[0], special=False) for each in given
        ]
        return all(each.perception not in ("adjacent", "string") for each in results)

    def _table(
        self, actions: int, *, special: bool | None = None, perception: str | None = None
    ) -> Table:
        """The table of spaces or, for Good and Evil or for objects, of behaviours."""
        question = Question(actions)
        if special is not None:
            perception = perception or self.perception
            question = Question(actions, perception, special, self.max_steps)
        known = self._tables.get(question)
        if known is None:
            known = self._tables[question] = table(question, self.table_bits)
        return known

    def _inhabitant(self, given: str, actions: int, *, special: bool) -> Inhabitant:
        """The inhabitant that a name, a pattern or a program stands for."""
        if given == FIGURE:
            given = "reads string\n" + EXAMPLES[_FIGURE_PARTS[special]].text
        perception: str = self.perception
        if given in NAMES:
            perception, given = named_inhabitant(given, actions)
        elif given.startswith("pattern:"):
            pattern = parse_pattern(given.removeprefix("pattern:"), actions)
            perception, given = "nothing", pattern_program(pattern.tolist(), actions)
        elif not _is_program(given):
            raise UnknownNameError("inhabitant", given, (*NAMES, FIGURE))
        elif reads := re.match(r"\s*reads\s+(\S+?)\s*([;\n]|$)", given):
            perception, given = reads[1], given[reads.end() :]
        program = read_behaviour(given, perception, actions, len(self.objects))
        return Inhabitant(program, perception, 0)

    def _known(self, inhabitant: Inhabitant, actions: int, *, special: bool) -> Inhabitant:
        """The shorter program that is known to do the same, if there is one, with its steps."""
        inputs = inputs_of(inhabitant.perception, actions, special=special)
        if inputs is None:
            return inhabitant
        behaviour = behaviour_of(
            inhabitant.program, inputs, actions, special=special, max_steps=self.max_steps
        )
        known = inhabitant._replace(steps=behaviour.steps)
        behaviours = self._table(actions, special=special, perception=inhabitant.perception)
        place = behaviours.places.get(behaviour.key)
        if place is None or behaviours.bits[place] >= code_length(inhabitant.program):
            return known
        return Inhabitant(
            behaviours.program(place), inhabitant.perception, int(behaviours.steps[place])
        )

    def _draw_objects(self, rng: np.random.Generator, actions: int) -> Objects:
        """All objects, the drawn ones by 2^-bits."""
        results, drawn_bits = [], 0
        for given in self.objects:
            if given == "drawn":
                behaviours = self._table(actions, special=False)
                place = weighted_index(rng, behaviours.cumulative)
                drawn_bits += int(behaviours.bits[place])
                steps = int(behaviours.steps[place])
                results.append(Inhabitant(behaviours.program(place), self.perception, steps))
            else:
                inhabitant = self._inhabitant(given, actions, special=False)
                results.append(self._known(inhabitant, actions, special=False))
        return Objects(actions, tuple(results), 2.0**drawn_bits)

    def _pairs(self, actions: int, objects: Objects) -> Pairs:
        """All pairs of a space and a behaviour, beside these objects."""
        key = (actions, objects.bits, objects.steps)
        if key not in self._all_pairs:
            self._all_pairs[key] = Pairs.of(
                self._spaces(actions), self._behaviours(actions), objects.bits, objects.steps
            )
        return self._all_pairs[key]

    def _spaces(self, actions: int) -> Options:
        """The spaces that can be drawn, or the given one."""
        if self.space_program is not None:
            bits, steps = self._given_space(actions)
            return Options.of([bits], [steps])
        spaces = self._table(actions)
        if self.cells is None:
            places = np.flatnonzero(spaces.cells <= self.max_cells)
        else:
            places = np.flatnonzero(spaces.cells == self.cells)
        sizes = [size_bits(cells, actions) for cells in spaces.cells[places].tolist()]
        return Options.of(spaces.bits[places] + sizes, spaces.steps[places], places)

    def _given_space(self, actions: int) -> tuple[int, int]:
        """The bits and steps of the given space, or of a shorter program that writes it."""
        assert self.space_program is not None
        written = write_space(self.space_program, actions, self.cells)
        bits, steps = written.bits, written.steps
        spaces = self._table(actions)
        place = spaces.places.get(key_of_paths(written.space.successors()))
        if place is not None:
            shorter = int(spaces.bits[place]) + size_bits(written.space.cells, actions)
            if shorter < bits:
                return shorter, int(spaces.steps[place])
        return bits, steps

    def _behaviours(self, actions: int) -> Options:
        """The behaviours of Good and Evil that can be drawn, or the given one."""
        if self.behaviour is None:
            behaviours = self._table(actions, special=True)
            return Options.of(behaviours.bits, behaviours.steps, np.arange(len(behaviours)))
        shown = self._inhabitant(self.behaviour, actions, special=True)
        special = self._known(shown, actions, special=True)
        return Options.of([code_length(special.program)], [special.steps])

    def _draw_above(self, rng: np.random.Generator, low: float, high: float) -> Instance | None:
        """Try programs of known forms for Good and Evil until an environment is within the band.

        Those that behave as a shorter program of the table does are left out, and those with too
        many memories to tell. Of random programs beyond the tables hardly one in 10,000 is new.
        """
        if self.behaviour is not None or not self._steps_are_known:
            return None
        if high <= self._complexity_range[0] + self.table_bits - EMPTY_BITS:
            return None  # the simplest space with the shortest program beyond the table is above it
        for _ in range(TRIES):
            actions = int(rng.choice(self._all_actions))
            objects = self._draw_objects(rng, actions)
            spaces = self._spaces(actions)
            if not len(spaces.bits):
                continue
            form = FORMS[rng.integers(len(FORMS))]
            # the longest words that the simplest space leaves room for, and shorter ones
            most = int(np.clip((high - self._complexity_range[0]) / 2, 1, MAX_WORD))
            size = int(rng.integers(1, most + 1))
            text = drawn_behaviour(rng, form, self.perception, actions, size)
            program = read_behaviour(text, self.perception, actions)
            bits = code_length(program)
            if bits <= self.table_bits or not low <= bits + int(spaces.bits[0]) + 64 or bits > high:
                continue
            inputs = inputs_of(self.perception, actions, special=True)
            assert inputs is not None  # others are not drawn
            key, steps = behaviour_of(
                program, inputs, actions, special=True, max_steps=self.max_steps
            )
            if not key or key in self._table(actions, special=True).places:
                continue
            pairs = Pairs.of(spaces, Options.of([bits], [steps]), objects.bits, objects.steps)
            if pairs.mass(low, high):
                special = Inhabitant(program, self.perception, steps)
                return pairs.pick(self, rng, objects, low, high, special)[0]
        return None

    def instance(
        self, space: int | None, special: Inhabitant | int | None, objects: Objects
    ) -> Instance:
        """The instance of a space and a behaviour, each a place in its table or the given one."""
        actions = objects.actions
        if space is None:
            assert self.space_program is not None
            text, written = self.space_program, write_space(self.space_program, actions, self.cells)
            space_bits, space_steps = self._given_space(actions)
        else:
            spaces = self._table(actions)
            text = str(spaces.program(space))
            written = write_space(text, actions, int(spaces.cells[space]))
            space_bits, space_steps = written.bits, written.steps
        if special is None:
            assert self.behaviour is not None
            shown = self._inhabitant(self.behaviour, actions, special=True)
            special = self._known(shown, actions, special=True)
        elif isinstance(special, int):
            behaviours = self._table(actions, special=True)
            program, steps = behaviours.program(special), int(behaviours.steps[special])
            special = shown = Inhabitant(program, self.perception, steps)
        else:
            shown = special
        data = {
            "actions": actions,
            "space": str(written.space),
            "space_program": text,
            "behaviour": {"perception": shown.perception, "program": str(shown.program)},
            "objects": [
                {"perception": each.perception, "program": str(each.program)}
                for each in objects.inhabitants
            ],
            "max_steps": self.max_steps,
            **self.rules,
        }
        bits, steps = code_length(special.program), 2 * special.steps + objects.steps
        object_bits = objects.bits
        if not self._steps_are_known:
            key = Instance(data).key
            if key not in self._measurements:
                self._measurements[key] = self._measured(Instance(data))
            steps, (good, evil, *others) = self._measurements[key]
            bits = max(code_length(good), code_length(evil)) if special == shown else bits
            object_bits = bits_of_set(others)
        data["bits"] = space_bits + 1 + bits + object_bits
        data["steps"] = max(space_steps, steps, 1)
        return Instance(data)

    def _measured(self, instance: Instance) -> tuple[int, list[Program]]:
        """The largest number of steps in an interaction, and the programs without unused rules.

        A random agent acts meanwhile. Of rules that it never sees applied none is charged.
        """
        environment = self.with_views([None]).build(instance)
        rng = np.random.default_rng(0)
        environment.start(rng)
        state: dynamics.UniversalState = environment.state
        given = instance.data["behaviour"], instance.data["behaviour"], *instance.data["objects"]
        programs = [
            read_behaviour(each["program"], each["perception"], environment.actions, len(given) - 2)
            for each in given
        ]
        met: list[set[tuple[tuple[int, ...], tuple[int, ...]]]] = [set() for _ in given]
        for action in rng.integers(environment.actions, size=MEASURED).tolist():
            for inhabitant, known in enumerate(met):
                text = dynamics.perceived(state, inhabitant)
                first = inhabitant * MAX_LENGTH
                memory = state.memories[first : first + state.sizes[inhabitant]]
                known.add((text, tuple(memory.tolist())))
            environment.step(action)
        live = [
            used_rules(program, known, self.max_steps)
            for program, known in zip(programs, met, strict=True)
        ]
        return int(state.clock[dynamics.MOST_STEPS]), live

    def complexity(self, instance: Instance) -> float:
        """Kt-max (Definition 9): the bits of all programs, and the logarithm of their steps."""
        return kt_max(instance.data["bits"], instance.data["steps"])

    @cached_property
    def _complexity_range(self) -> tuple[float, float]:
        rng = np.random.default_rng(0)
        ranges = [
            self._pairs(n, self._draw_objects(rng, n)).complexities[[0, -1]]
            for n in self._all_actions
            if len(self._pairs(n, self._draw_objects(rng, n)).complexities)
        ]
        if not ranges:
            raise self._nothing()
        if not self._steps_are_known:
            measured, shifts = self._sample
            return min(measured), float(np.max(ranges)) + max(shifts)
        above = ABOVE if self.behaviour is None else 0
        return float(np.min(ranges)), float(np.max(ranges)) + above

    @property
    def _shifts(self) -> list[float]:
        return self._sample[1]

    @cached_property
    def _sample(self) -> tuple[list[float], list[float]]:
        """Measured complexities, and by how much these differ from what all rules would cost."""
        rng = np.random.default_rng(0)
        measured, shifts = [], []
        for number in range(SAMPLE):
            actions = self._all_actions[number % len(self._all_actions)]
            objects = self._draw_objects(rng, actions)
            pairs = self._pairs(actions, objects)
            if len(pairs.complexities):
                instance, expected = pairs.pick(self, rng, objects, -inf, inf)
                measured.append(self.complexity(instance))
                shifts.append(measured[-1] - expected)
        return measured, shifts

    # Environments

    def build(self, instance: Instance) -> KernelEnvironment:
        """Build the environment of an instance, with a seat for each view."""
        data = checked_rules(instance.data)
        paths = paths_of(data["space"])
        cells, actions = paths.shape
        views, objects = self.seat_views, data["objects"]
        check_bounds(data["max_steps"])
        programs = [
            read_behaviour(each["program"], each["perception"], actions, len(objects))
            for each in (data["behaviour"], data["behaviour"], *objects)
        ]
        length = cells - 1 + 2 + len(views) + len(objects) + actions
        if length > MAX_LENGTH and any(
            each["perception"] == "string" for each in (data["behaviour"], *objects)
        ):
            raise InvalidInputError(
                f"What inhabitants perceive as a string has {length} symbols here; programs read "
                f"at most {MAX_LENGTH}.",
                "Give fewer cells, or another perception.",
            )
        plain = [plain_rules(program) for program in programs[1:]]
        ends = np.cumsum([0, *map(len, plain)])
        spans = [(ends[0], ends[1]), *pairwise(ends)]
        rules = compiled_rules(rule for each in plain for rule in each)
        perceptions = [
            PERCEPTIONS.index(each["perception"])
            for each in (data["behaviour"], data["behaviour"], *objects)
        ]
        flags = (data["consumption"] == "after", data["vanish"], data["beside"], data["sharing"])
        cycle = max_cycle(data["cycle"], cells, actions)
        warm_up = -1 if data["warm_up"] == "cycle" else data["warm_up"]

        def zeros(size: int) -> IntArray:
            return np.zeros(size, dtype=np.int64)

        state = dynamics.UniversalState(
            rng=generator_state(),
            agents_rng=generator_state(),
            paths=paths.ravel().copy(),
            places=zeros(2 + len(views) + len(objects)),
            rewards=np.zeros(cells),
            good=np.array(data["good"], dtype=np.float64),
            evil=np.array(data["evil"], dtype=np.float64),
            division=np.array([float(data["division"])]),
            rules=np.array([actions, *flags, cycle, warm_up, data["max_steps"]], dtype=np.int64),
            clock=zeros(dynamics.MOST_STEPS + 1),
            views=np.array([VIEWS.index(view) for view in views], dtype=np.int64),
            actions=zeros(len(views)),
            paid=np.zeros(len(views)),
            fields=rules.fields,
            symbols=rules.symbols,
            programs=np.array(spans, dtype=np.int64).ravel(),
            perceptions=np.array(perceptions, dtype=np.int64),
            memories=zeros(len(programs) * MAX_LENGTH),
            sizes=zeros(len(programs)),
            intended=zeros(len(programs)),
            text=zeros(MAX_LENGTH),
            memory=zeros(MAX_LENGTH),
            counts=zeros(AT + 1),
        )
        first, *others = (space_of(view, cells, actions, len(state.places)) for view in views)
        return KernelEnvironment(self.kernels, state, actions, first, others=others, views=views)

    def claims(self) -> Claims:
        """Balanced if Good and Evil leave the same; with rewards that last, every one is in reach.

        An agent that stays gets nothing more. It can instead go to a cell with a reward: within as
        many actions as there are cells. Where rewards last for no longer than one interaction, Good
        and Evil may keep away from it.
        """
        last = self.rules["division"] != "inf" and self.rules["consumption"] == "before"
        largest = self.max_cells if self.cells is None else self.cells
        balanced = self.rules["good"] == self.rules["evil"]
        return Claims(balanced=balanced, sensitive=largest if last else None)

    def hidden(self, environment: Any) -> Mapping[str, Any]:
        """The rewards in cells, who is where, and where each inhabitant wants to go."""
        state: dynamics.UniversalState = environment.state
        after = deepcopy(environment)  # what they decide does not depend on what the agent does
        after.step(0)
        good, evil, own, *others = state.places.tolist()
        names = ["Good", "Evil", *(f"object {n}" for n in range(1, len(others) + 1))]
        until_swap = int(state.clock[UNTIL_SWAP])
        return {
            "facts": {"steps until Good and Evil change places": until_swap},
            "cells": state.rewards.tolist(),
            "places": {"Good": good, "Evil": evil, "agent": own}
            | dict(zip(names[2:], others, strict=True)),
            "intended": dict(zip(names, after.state.intended.tolist(), strict=True)),
        }

    @staticmethod
    def _changing_parts(state: Any) -> Sequence[IntArray]:
        clock = state.clock[[GOOD_DROP, EVIL_DROP, dynamics.LAST_ACTION]]
        memories = state.memories.reshape(len(state.sizes), -1)
        used = np.arange(memories.shape[1]) < state.sizes[:, np.newaxis]
        return state.places, clock, state.sizes, np.where(used, memories, 0)

    @staticmethod
    def _parts_of_both(state: Any) -> Sequence[IntArray]:
        return state.sizes, state.intended, state.memories.reshape(len(state.sizes), -1)


MEASURED = 1_000
"""Interactions in which steps are measured where they depend on the space."""


@lru_cache(maxsize=4096)
def plain_rules(program: Program) -> tuple[PlainRule, ...]:
    """The plain rules of a program."""
    return expand(program)


def _is_program(given: str) -> bool:
    """Whether it is not a name, and so depends on the actions there are."""
    signs = ("→", "->")
    return (
        any(sign in given for sign in signs)
        or given.startswith(("reads ", "pattern:", FIGURE))
        or not given.strip()
    )


def bits_of_set(programs: Sequence[Program]) -> int:
    """The bits of all programs; of those that perceive the same, shared rules are written once."""
    alphabets = {program.alphabet for program in programs}
    return sum(set_length([each for each in programs if each.alphabet == one]) for one in alphabets)


def key_of_paths(successors: IntArray) -> int:
    """The key of a space in tables."""
    lanes = np.full(2, len(successors), dtype=np.int64)
    mix, key = (getattr(each, "py_func", each) for each in (mixed, key_of_lanes))
    for cell in successors.ravel().tolist():
        mix(lanes, 0, cell)
    return int(key(lanes, 0))


class Objects(NamedTuple):
    """The objects of an environment.

    Attributes:
        actions: The number of actions.
        inhabitants: The objects.
        weight: One over the probability with which the drawn ones were drawn.
    """

    actions: int
    inhabitants: tuple[Inhabitant, ...]
    weight: float

    @property
    def bits(self) -> int:
        """The bits of their number and of their programs, shared rules once."""
        return bits_of_set([each.program for each in self.inhabitants])

    @property
    def steps(self) -> int:
        """The largest number of rewriting steps in an interaction."""
        return sum(each.steps for each in self.inhabitants)


class Options(NamedTuple):
    """Programs that may be drawn, grouped by their bits and steps.

    Attributes:
        bits: Of each group.
        steps: Of each group.
        members: Of each group, the places in the table; ``None`` for a given program.
    """

    bits: IntArray
    steps: IntArray
    members: list[IntArray | None]

    @classmethod
    def of(cls, bits: Any, steps: Any, places: IntArray | None = None) -> Options:
        """Group programs."""
        if places is None:
            return cls(np.array(bits), np.array(steps), [None])
        both = np.stack([bits, steps], axis=1).reshape(len(places), 2)
        groups, number = np.unique(both, axis=0, return_inverse=True)
        members: list[IntArray | None] = [
            places[number.ravel() == each] for each in range(len(groups))
        ]
        return cls(groups[:, 0], groups[:, 1], members)

    def count(self, group: int) -> int:
        """How many programs a group has."""
        members = self.members[group]
        return 1 if members is None else len(members)

    def pick(self, rng: np.random.Generator, group: int) -> int | None:
        """One of a group."""
        members = self.members[group]
        return None if members is None else int(rng.choice(members))


class Pairs(NamedTuple):
    """All pairs of a group of spaces and one of behaviours, by complexity.

    Attributes:
        spaces: The groups of spaces.
        behaviours: The groups of behaviours.
        complexities: Of the pairs, in ascending order.
        cumulative: The sums of the weights 2^-complexity of the environments up to each.
        places: The group of spaces and that of behaviours of each pair.
    """

    spaces: Options
    behaviours: Options
    complexities: FloatArray
    cumulative: FloatArray
    places: IntArray

    @classmethod
    def of(cls, spaces: Options, behaviours: Options, bits: int, steps: int) -> Pairs:
        """Combine all groups, beside objects of so many bits and steps."""
        results = []
        for one, other in product(range(len(spaces.bits)), range(len(behaviours.bits))):
            longest = max(int(spaces.steps[one]), 2 * int(behaviours.steps[other]) + steps, 1)
            total = int(spaces.bits[one]) + 1 + int(behaviours.bits[other]) + bits
            results.append(
                (kt_max(total, longest), spaces.count(one) * behaviours.count(other), one, other)
            )
        results.sort()
        complexities = np.array([each[0] for each in results])
        weights = np.array([each[1] for each in results]) * 2.0**-complexities
        places = np.array([each[2:] for each in results], dtype=np.int64).reshape(-1, 2)
        return cls(spaces, behaviours, complexities, np.cumsum(weights), places)

    def band(self, low: float, high: float) -> tuple[int, int]:
        """The first pair of a band and the one after its last."""
        first = int(np.searchsorted(self.complexities, low, side="left"))
        return first, int(np.searchsorted(self.complexities, high, side="right"))

    def mass(self, low: float, high: float) -> float:
        """The weight of all environments in a band."""
        first, end = self.band(low, high)
        if end <= first:
            return 0.0
        return float(self.cumulative[end - 1] - (self.cumulative[first - 1] if first else 0.0))

    def pick(
        self,
        environment_class: UniversalLambda,
        rng: np.random.Generator,
        objects: Objects,
        low: float,
        high: float,
        special: Inhabitant | None = None,
    ) -> tuple[Instance, float]:
        """Draw an environment of a band that has some; with the complexity that it has here."""
        first, end = self.band(low, high)
        before = self.cumulative[first - 1] if first else 0.0
        place = min(first + weighted_index(rng, self.cumulative[first:end] - before), end - 1)
        one, other = self.places[place].tolist()
        space, behaviour = self.spaces.pick(rng, one), self.behaviours.pick(rng, other)
        instance = environment_class.instance(
            space, behaviour if special is None else special, objects
        )
        return instance, float(self.complexities[place])
