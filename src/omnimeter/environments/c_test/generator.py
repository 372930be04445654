"""The environment class of the C-test, and its scene."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from string import ascii_lowercase
from typing import Any, Literal, get_args

import numpy as np

from omnimeter.contract import Briefing, Claims, Instance, InvalidInputError, Observation, Space
from omnimeter.environments.c_test.dynamics import ANSWER, COUNT, KERNELS, CTestState
from omnimeter.environments.c_test.population import (
    MAX_SHOWN,
    TOLERANCE,
    Item,
    Population,
    given,
    population,
)
from omnimeter.kernels import KernelEnvironment, KernelEnvironmentClass, generator_state
from omnimeter.series.machine import (
    INSTRUCTIONS,
    MAX_LETTERS,
    MIN_LETTERS,
    complexity,
    read,
    spell,
)
from omnimeter.series.search import MAX_DEPTH

Feedback = Literal["each", "end"]

MAX_MARGIN, MAX_STABILITY = 12.0, 8


class CTestEnvironment(KernelEnvironment):
    """A series that goes on; the briefing says what the numbers of an observation are."""

    remarks: Mapping[str, Any]

    def briefing(self, seat: int = 0) -> Briefing:
        """What is told: the size of the alphabet, the number of options, the kind of feedback."""
        told = super().briefing(seat)
        return Briefing(told.actions, told.space, told.rewards, self.remarks)


class CTest(KernelEnvironmentClass):
    """Series of letters to be continued: the C-test, the passive precursor of the anytime test.

    A series is what a program of a small machine writes: an accumulator and a register of letters,
    with instructions for the next and the previous letter, to exchange and to copy the two, to
    write, and to repeat a block as often as the number of a letter; at its end a program begins
    again. A series is drawn only if its beginning leaves no question how it goes on
    (Hernandez-Orallo 1998; anytime test, section 3.2): all programs up to a length were run, and no
    other explanation comes near.

    The right letter pays 1. With n options a wrong one pays -1 / (n - 1), and the options stand in
    a random order, so that a random agent gets exactly 0 on average.

    Complexity is Kt: the bits of the simplest program, plus the logarithm of its steps to the
    twelfth letter. Draws have probability 2^-complexity.

    Args:
        feedback: ``each``: the series begins with nothing, and after every guess its next letter is
            shown. ``end``: its beginning is shown, the first action is the answer, and whatever is
            done afterwards pays 0.
        choices: The number of options, one of which is right; 0 for all letters of the alphabet.
        letters: The size of the alphabet, from 2 to 26. It is a circle: a follows its last letter.
        depth: The length of the longest programs that are searched, 1 to 11 instructions.
        margin: The least number of bits by which any other explanation of what is shown is more
            complex, 0.1 to 12.
        stability: For how many numbers of shown letters, up to what is shown, the explanation is
            the same, 1 to 8.
        series: Draws nothing but this series, as ``a,d,g,j``, up to 11 letters.
    """

    kernels = KERNELS

    def __init__(
        self,
        feedback: Feedback = "each",
        choices: int = 4,
        letters: int = MAX_LETTERS,
        depth: int = 9,
        margin: float = 3.0,
        stability: int = 3,
        series: str = "",
    ) -> None:
        def require(valid: bool, problem: str, advice: str) -> None:
            if not valid:
                raise InvalidInputError(problem, advice)

        require(
            feedback in (kinds := get_args(Feedback)),
            f"There is no feedback {feedback!r}.",
            f"Give one of {', '.join(kinds)}.",
        )
        require(
            MIN_LETTERS <= letters <= MAX_LETTERS,
            f"An alphabet cannot have {letters} letters.",
            f"Give letters from {MIN_LETTERS} to {MAX_LETTERS}.",
        )
        require(
            choices == 0 or 2 <= choices <= letters,
            f"There cannot be {choices} options among {letters} letters.",
            f"Give choices from 2 to {letters}, or 0 for all letters.",
        )
        require(
            1 <= depth <= MAX_DEPTH,
            f"Programs of up to {depth} instructions are not searched.",
            f"Give a depth from 1 to {MAX_DEPTH}.",
        )
        require(
            0.1 <= margin <= MAX_MARGIN,
            f"The margin is {margin} bits.",
            f"Give a margin from 0.1 to {MAX_MARGIN:g}.",
        )
        require(
            1 <= stability <= MAX_STABILITY,
            f"The stability is {stability}.",
            f"Give a stability from 1 to {MAX_STABILITY}.",
        )
        plain = "".join(series.replace(",", " ").split())
        unknown = next((each for each in plain if each not in ascii_lowercase[:letters]), None)
        require(
            unknown is None,
            f"The series {series!r} has {unknown!r}, which is no letter of this alphabet.",
            f"Its letters are {ascii_lowercase[0]} to {ascii_lowercase[letters - 1]}.",
        )
        require(
            len(plain) <= MAX_SHOWN and bool(plain) == bool(series),
            f"The series {series!r} has {len(plain)} letters.",
            f"Give 1 to {MAX_SHOWN} letters, for example a,d,g,j.",
        )
        self.feedback, self.choices, self.letters = feedback, choices, letters
        self.depth, self.margin, self.stability = depth, margin, stability
        self.series = plain

    @property
    def _population(self) -> Population:
        """All series that may be drawn; searched when they are needed."""
        return population(self.depth, self.letters, self.margin, self.stability)

    @property
    def _given(self) -> Item:
        return given(self.series, self.depth, self.letters, self.margin)

    def _instance(self, item: Item) -> Instance:
        return Instance({"program": item.program, "shown": item.shown, "letters": self.letters})

    def _band(self, low: float, high: float) -> list[Item]:
        """The series that was given, if it lies in a band."""
        within = (
            low - TOLERANCE <= complexity(self._given.program, self.letters) <= high + TOLERANCE
        )
        return [self._given] if within else []

    def draw(self, rng: np.random.Generator, complexity: float | None = None) -> Instance:
        """Draw by 2^-complexity, also among those of a wanted complexity.

        Raises:
            InvalidInputError: There is none of this complexity, or at all.
        """
        low, high = self.complexity_range()
        wanted = complexity
        if complexity is not None:
            low, high = complexity - TOLERANCE, complexity + TOLERANCE
        instance = self.draw_between(rng, low, high)
        if instance is None:
            near = (
                self.complexity_range()[:1]
                if self.series
                else self._population.nearest(wanted or 0)
            )
            names = " and ".join(f"{each:.3f}" for each in near)
            raise InvalidInputError(
                f"No series has complexity {wanted:g}.", f"The nearest that there are: {names}."
            )
        return instance

    def draw_between(self, rng: np.random.Generator, low: float, high: float) -> Instance | None:
        """Draw a series of a band, in proportion to 2^-complexity."""
        if self.series:
            item = next(iter(self._band(low, high)), None)
        else:
            item = self._population.draw(rng, low, high)
        return None if item is None else self._instance(item)

    def members(self, low: float, high: float, limit: int) -> Sequence[Instance] | None:
        """All series of a band, the simplest first."""
        items = self._band(low, high) if self.series else self._population.members(low, high, limit)
        return None if items is None or len(items) > limit else [*map(self._instance, items)]

    def build(self, instance: Instance) -> CTestEnvironment:
        """Make the machine, before its first letter.

        Raises:
            InvalidInputError: The description is malformed, or of another alphabet.
        """
        item = self._read(instance)
        code, tops = read(item.program)
        shown = item.shown if self.feedback == "end" else 0
        state = CTestState(
            rng=generator_state(),
            code=code,
            tops=tops,
            machine=np.zeros(4, dtype=np.int64),
            seen=np.zeros(MAX_SHOWN, dtype=np.int64),
            options=np.zeros(max(1, self.choices), dtype=np.int64),
            now=np.array([self.letters, self.choices, shown, self.feedback == "each", 0, 0, 0]),
        )
        sizes = (self.letters + 1,) * MAX_SHOWN + (self.letters,) * self.choices
        space = Space(sizes + (2,) * (self.feedback == "end"))
        environment = CTestEnvironment(KERNELS, state, self.choices or self.letters, space)
        environment.remarks = {
            "task": "continue", "letters": self.letters, "choices": self.choices,
            "shown": MAX_SHOWN, "feedback": self.feedback,
        }  # fmt: skip
        return environment

    def _read(self, instance: Instance) -> Item:
        data = dict(instance.data)
        program, shown, letters = (data.pop(each, None) for each in ("program", "shown", "letters"))
        valid = isinstance(program, str) and type(shown) is int and 1 <= shown <= MAX_SHOWN
        if data or not valid or letters != self.letters:
            raise InvalidInputError(
                f"This describes no series of {self.letters} letters: {dict(instance.data)}.",
                f'A description looks like {{"program": "w+++", "shown": 4, "letters": '
                f"{self.letters}}}.",
            )
        return Item(program, shown)

    def reward_range(self) -> tuple[float, float]:
        """Rewards lie between -1 and 1."""
        return -1.0, 1.0

    def claims(self) -> Claims:
        """Balanced; every guess matters at once where each is marked, only the first otherwise."""
        return Claims(balanced=True, sensitive=1 if self.feedback == "each" else None)

    def complexity(self, instance: Instance) -> float:
        """Kt of the program."""
        return complexity(self._read(instance).program, self.letters)

    def complexity_range(self) -> tuple[float, float]:
        """From the simplest series to the most complex one that is unquestionable.

        Raises:
            InvalidInputError: There is none.
        """
        if self.series:
            alone = complexity(self._given.program, self.letters)
            return alone, alone
        complexities = self._population.complexities
        if not complexities:
            raise InvalidInputError(
                f"No series that programs of up to {self.depth} instructions write is "
                f"unquestionable by {self.margin:g} bits and {self.stability} times stable.",
                "Give a greater depth, or a smaller margin or stability.",
            )
        return complexities[0], complexities[-1]

    def scene(
        self,
        instance: Instance,  # noqa: ARG002 - the program is what has to be found
        observation: Observation,
        reward: float = 0.0,
    ) -> Mapping[str, Any]:
        """The last letters of the series, the options, and whether it was answered."""
        seen = np.atleast_1d(observation).tolist()
        shown = [each - 1 for each in seen[:MAX_SHOWN] if each]
        options = (
            seen[MAX_SHOWN : MAX_SHOWN + self.choices] if self.choices else range(self.letters)
        )
        return {
            "kind": "c-test",
            "letters": list(spell(shown)),
            "buttons": list(spell(options)),
            "answered": self.feedback == "end" and bool(seen[-1]),
            "reward": reward,
        }

    def hidden(self, environment: Any) -> Mapping[str, Any]:
        """The program and the next letter."""
        state: CTestState = environment.state
        return {
            "facts": {
                "program": "".join(INSTRUCTIONS[each] for each in state.code.tolist()),
                "letters so far": int(state.now[COUNT]),
                "next letter": spell([int(state.now[ANSWER])]),
            }
        }
