"""Small environments in which an agent is tried."""

from __future__ import annotations

from omnimeter.contract import EnvironmentClass


def probes() -> list[EnvironmentClass]:
    """Single observations and vectors, chance and none, three actions and more."""
    from omnimeter.environments.buttons import Buttons
    from omnimeter.environments.cups import Cups

    return [Buttons("bananas"), Buttons("balanced"), Cups(3, 5)]
