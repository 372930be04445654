"""The universal tests by the numbers of their definitions, and which options each of them takes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import isfinite
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from omnimeter.contract import Spec

LENGTHS = ("time", "interactions")
"""The two options that say how long a test is."""


@dataclass(frozen=True)
class Definition:
    """A test of the paper.

    Attributes:
        number: Its number (anytime test).
        protocol: Its id in the catalogue.
        title: What it is called.
        parameters: The options it takes, each with the name of the parameter that it becomes.
        balanced: Whether it is for balanced environments only.
    """

    number: int
    protocol: str
    title: str
    parameters: Mapping[str, str]
    balanced: bool = True

    @property
    def name(self) -> str:
        """The number in words."""
        return f"Definition {self.number}"

    @property
    def length(self) -> str:
        """The option that says how long it is."""
        return "time" if "time" in self.parameters else "interactions"


def _same(*options: str) -> dict[str, str]:
    return {option: option for option in options}


_SAMPLE = _same("exercises", "seed")
_ADJUSTED = _SAMPLE | _same("adjustment", "unbalanced")
_CLOCK = _same("payoff", "clock", "tick")
_ADAPTIVE = _same("sittings", "level", "slot", "payoff", "seed", "unbalanced")

DEFINITIONS = {
    each.number: each
    for each in (
        Definition(
            10,
            "universal-rewards-v1",
            "Universal intelligence by accumulated rewards",
            _SAMPLE | _same("interactions"),
            balanced=False,
        ),
        Definition(
            15,
            "universal-adjusted-v1",
            "Universal intelligence by adjusted rewards",
            _ADJUSTED | _same("interactions"),
        ),
        Definition(
            17,
            "universal-timed-v1",
            "Universal intelligence considering time",
            _ADJUSTED | _CLOCK | {"time": "seconds"},
        ),
        Definition(
            18,
            "anytime-timed-v1",
            "Anytime test with time",
            _ADAPTIVE | _CLOCK | _same("time"),
        ),
        Definition(
            19,
            "anytime-untimed-v1",
            "Anytime test without time",
            _ADAPTIVE | _same("interactions"),
        ),
    )
}
"""All of them, by their numbers."""

OPTIONS = frozenset(option for each in DEFINITIONS.values() for option in each.parameters)
"""The options that some of them take."""


def choose(
    number: int | None, time: float | None, interactions: int | None, both: bool
) -> tuple[Definition, ...]:
    """Which tests are wanted: one, or with and without time one after the other.

    Raises:
        InvalidInputError: The options contradict each other or say too little, or there is no such
            definition.
    """
    from omnimeter.contract import InvalidInputError

    if number is not None and number not in DEFINITIONS:
        known = ", ".join(map(str, DEFINITIONS))
        raise InvalidInputError(f"No test is called Definition {number}.", f"Known: {known}.")
    if both:
        if number is not None:
            raise InvalidInputError(
                "--both takes Definitions 18 and 19.", "Leave out --definition, or --both."
            )
        if time is None:
            raise InvalidInputError(
                "--both needs the length of the test with time.", "Give --time SECONDS."
            )
        return DEFINITIONS[18], DEFINITIONS[19]
    if time is not None and interactions is not None:
        raise InvalidInputError(
            "A test is as long as --time or as --interactions says, not both.",
            "Give one of them, or --both for two tests one after the other.",
        )
    if time is None and interactions is None:
        raise _unsaid("It is not said how long the test is.")
    length = "interactions" if time is None else "time"
    chosen = DEFINITIONS[number or {"time": 18, "interactions": 19}[length]]
    if chosen.length != length:
        raise InvalidInputError(
            f"{chosen.name} takes --{chosen.length}, not --{length}.",
            "--time is for Definitions 17 and 18, --interactions for 10, 15 and 19.",
        )
    return (chosen,)


def _unsaid(message: str) -> Exception:
    from omnimeter.contract import InvalidInputError

    return InvalidInputError(
        message, "Give --time SECONDS (time counts) or --interactions N (it does not)."
    )


def protocol_spec(definition: Definition, environments: Spec, given: Mapping[str, Any]) -> Spec:
    """The protocol of a definition with those of the given options that it takes.

    Raises:
        InvalidInputError: A number is not finite, or not above 0, or not whole where it must be.
    """
    from omnimeter.catalogue import Kind, parse
    from omnimeter.contract import Spec

    taken = {
        parameter: _number(option, given[option], definition)
        for option, parameter in definition.parameters.items()
        if given.get(option) is not None
    }
    for name, kind in (("payoff", Kind.PAYOFF), ("adjustment", Kind.ADJUSTMENT)):
        if name in taken:
            taken[name] = parse(kind, taken[name]).to_json()
    return Spec(definition.protocol, {"environments": environments.to_json(), **taken})


def _number(option: str, value: Any, definition: Definition) -> Any:
    """The value of an option; one that is a number must be one that can be."""
    from omnimeter.contract import InvalidInputError

    if option == "seed" or isinstance(value, bool | str):
        return value
    if not (isfinite(value) and value > 0):
        raise InvalidInputError(f"--{option} is {value}.", "Give a finite number above 0.")
    if option == "slot" and definition.length == "interactions":
        if value != int(value):
            raise InvalidInputError(
                f"The first slot is {value:g} interactions.", "Give a whole number from 1 up."
            )
        return int(value)
    return value
