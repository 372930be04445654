"""Optional parts of the contract of environments: seats, views and bands of complexity.

Every environment and environment class has the defaults below. A class for one agent, with one view
and no adaptive test in mind, need not know them.
"""

from __future__ import annotations

from math import ceil, floor, inf
from typing import TYPE_CHECKING, ClassVar, Self

import numpy as np

from omnimeter.contract.errors import InvalidInputError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from omnimeter.contract.agent import Space
    from omnimeter.contract.environment import Instance, Percept


class Seats:
    """Several agents in one environment (``docs/standard.md``, section 14).

    Such an environment is started and advanced by ``start_joint`` and ``step_joint``. Actions and
    range of rewards are the same for all seats.

    Attributes:
        seats: How many agents act in it at once.
    """

    seats: int = 1
    space: Space

    if TYPE_CHECKING:  # of ``Environment``

        def start(self, rng: np.random.Generator) -> Percept: ...  # noqa: D102
        def step(self, action: int) -> Percept: ...  # noqa: D102

    def space_of(self, seat: int) -> Space:  # noqa: ARG002 - for environments whose seats differ
        """The observation space of a seat."""
        return self.space

    def view_of(self, seat: int) -> str | None:  # noqa: ARG002 - for classes with several views
        """The name of the view in a seat, where the class has several."""
        return None

    def start_joint(self, rng: np.random.Generator) -> Sequence[Percept]:
        """Restart; what ``start`` returns, for each seat."""
        return [self.start(rng)]

    def step_joint(self, actions: Sequence[int]) -> Sequence[Percept]:
        """React to one action for each seat; what ``step`` returns, for each seat."""
        (action,) = actions
        return [self.step(action)]


class Views:
    """Several views among which agents choose, and seats for several agents.

    Attributes:
        views: The names of the views; empty where there is only one.
    """

    views: ClassVar[Sequence[str]] = ()

    def with_views(self, views: Sequence[str | None]) -> Self:
        """The same class with one seat for each view.

        What it draws and its complexities stay the same.

        Args:
            views: The view that each agent asks for, in the order of their seats. ``None``, or a
                view that the class does not have, gets the class's default.

        Raises:
            InvalidInputError: There are not so many seats.
        """
        if len(views) > 1:
            raise InvalidInputError(
                f"{type(self).__name__} has one seat, not {len(views)}.",
                "Let each agent take its exercises alone.",
            )
        return self


class ComplexityBands:
    """What adaptive tests ask of an environment class: instances in a band of complexities."""

    if TYPE_CHECKING:  # of ``EnvironmentClass``

        def draw(self, rng: np.random.Generator, complexity: float) -> Instance: ...  # noqa: D102

    def complexity_range(self) -> tuple[float, float]:
        """The lowest and the highest complexity that can be drawn, as far as it is known."""
        return (1.0, inf)

    def draw_between(self, rng: np.random.Generator, low: float, high: float) -> Instance | None:
        """Draw an instance of complexity H, ``low <= H <= high``, in proportion to 2^-H.

        A class that does not override this does not weight its instances: it is asked for the
        whole-number complexities of the band, each with the same probability.

        Returns:
            The instance; ``None`` when the class has none in this band.
        """
        lowest, highest = self.complexity_range()
        band = range(ceil(max(low, lowest)), floor(min(high, highest)) + 1)
        for complexity in rng.permutation(np.array(band, dtype=np.int64)).tolist():
            try:
                return self.draw(rng, complexity)
            except InvalidInputError:
                continue
        return None

    def members(
        self,
        low: float,  # noqa: ARG002 - for classes that can be listed
        high: float,  # noqa: ARG002
        limit: int,  # noqa: ARG002
    ) -> Sequence[Instance] | None:
        """All instances of complexity ``low`` to ``high``, always in the same order.

        Returns:
            The instances; ``None`` when they cannot be listed or are more than ``limit``.
        """
        return None
