"""The columns of the comparison table: a type of environments and a payoff."""

from __future__ import annotations

from dataclasses import dataclass
from math import inf
from typing import Literal, Protocol

from omnimeter.contract import Trace
from omnimeter.payoffs import Average, Diminishing, Discounted, Total

Example = Literal["alternating", "bananas", "bounded", "balanced"]
Range = tuple[float, float]


class Payoff(Protocol):
    """What judges traces, and knows where its values lie."""

    def __call__(self, trace: Trace, /) -> float:
        """What the trace is worth."""
        ...

    def bounds(self, rewards: Range, /) -> Range:
        """Where its values lie when single rewards lie in a range."""
        ...


RIGHT = {
    "alternating": [0, 1],
    "bananas": [0, 1, 2],
    "bounded": [0, 1, 2],
    # The cells (each empty, white or black) in the order of their keys: the white one is right.
    "balanced": [
        next((cell for cell, content in enumerate(cells) if content == 1), 0)
        for cells in ((a, b, c) for a in range(3) for b in range(3) for c in range(3))
    ],
}
"""The right button for each observation."""

RATIOS = (0.5, 0.9, 0.99)
"""The ratios of the geometric weights with which the discounted columns are decided."""


@dataclass(frozen=True)
class EnvironmentType:
    """A type of environments.

    Attributes:
        name: Its name in the table.
        example: The example on which agents are compared.
        members: All examples of the type, on which its promises are examined.
        lucky: An average reward with which a random agent of the example is lucky.
        largest_total: What no total in the example exceeds, above or below 0.
    """

    name: str
    example: Example
    members: tuple[Example, ...]
    lucky: float
    largest_total: float = inf


GENERAL = EnvironmentType("General", "bananas", ("alternating", "bananas", "bounded"), lucky=0.5)
BOUNDED = EnvironmentType("Bounded", "bounded", ("bounded",), lucky=0.25, largest_total=1.0)
BALANCED = EnvironmentType("Balanced", "balanced", ("balanced",), lucky=0.0)


@dataclass(frozen=True)
class Column:
    """One column.

    Attributes:
        environments: The type of environments.
        symbol: The payoff as the table writes it.
        payoffs: The payoff, with each parameter that it may have.
    """

    environments: EnvironmentType
    symbol: str
    payoffs: tuple[Payoff, ...]

    @property
    def name(self) -> str:
        """A short name for programs."""
        return f"{self.environments.name.lower()}-{self.symbol.lower()}"


_TOTAL: tuple[str, tuple[Payoff, ...]] = ("total", (Total(),))
_AVERAGE: tuple[str, tuple[Payoff, ...]] = ("average", (Average(),))
_DISCOUNTED: tuple[str, tuple[Payoff, ...]] = (
    "discounted",
    tuple(Discounted("geometric", ratio) for ratio in RATIOS),
)

COLUMNS = (
    Column(GENERAL, *_TOTAL),
    Column(BOUNDED, *_TOTAL),
    Column(BALANCED, *_TOTAL),
    Column(GENERAL, *_AVERAGE),
    Column(BALANCED, *_AVERAGE),
    Column(GENERAL, *_DISCOUNTED),
    Column(BALANCED, *_DISCOUNTED),
    Column(BALANCED, "diminishing", (Diminishing(),)),
)


@dataclass(frozen=True)
class DiscountedByAll:
    """The discounted reward divided by the sum of all weights, not of those so far.

    Not what the definition says, but what the text around it describes: such values grow with tau.

    Attributes:
        ratio: The ratio of the geometric weights.
    """

    ratio: float

    def __call__(self, trace: Trace) -> float:
        """What the trace is worth."""
        return Discounted("geometric", self.ratio)(trace) * (1 - self.ratio ** len(trace))

    def bounds(self, rewards: Range) -> Range:
        """The range of the rewards, and 0."""
        return Discounted("geometric", self.ratio).bounds(rewards)


BY_ALL = tuple(DiscountedByAll(ratio) for ratio in RATIOS)

PAYOFFS: tuple[Payoff, ...] = (
    *{payoff: None for column in COLUMNS for payoff in column.payoffs},
    *BY_ALL,
)
"""Every payoff once."""
