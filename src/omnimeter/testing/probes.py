"""Small environments in which an agent is tried."""

from __future__ import annotations

from omnimeter.contract import EnvironmentClass


def probes() -> list[EnvironmentClass]:
    """Single observations and vectors, in one form or several, chance and none."""
    from omnimeter.environments.buttons import Buttons
    from omnimeter.environments.cups import Cups
    from omnimeter.environments.lambda_class import Lambda

    return [Buttons("bananas"), Buttons("balanced"), Cups(3, 5), Lambda(cells=4, actions=3)]
