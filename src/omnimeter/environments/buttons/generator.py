"""Which boxes with buttons there are, and how they are built."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

import numpy as np

from omnimeter.contract import Claims, Instance, InvalidInputError, Observation, Space
from omnimeter.environments.buttons.complexity import complexity
from omnimeter.environments.buttons.dynamics import KERNELS, ButtonsState
from omnimeter.environments.buttons.examples import EXAMPLES
from omnimeter.environments.buttons.scene import scene
from omnimeter.interaction import KernelEnvironment, KernelEnvironmentClass
from omnimeter.interaction.randomness import generator_state


class Buttons(KernelEnvironmentClass):
    """A ball in a cell and three buttons: the worked examples of the papers.

    Args:
        example: ``alternating`` (fixed-time payoffs), ``bananas``, ``bounded`` or ``balanced``
            (anytime test, Examples 1, 2 and 4). Only ``balanced`` is balanced.
    """

    kernels = KERNELS

    def __init__(
        self, example: Literal["alternating", "bananas", "bounded", "balanced"] = "balanced"
    ) -> None:
        self.example = example

    def draw(self, rng: np.random.Generator, complexity: float | None = None) -> Instance:  # noqa: ARG002
        """The example; there is nothing to draw."""
        instance = Instance(EXAMPLES[self.example])
        if complexity not in (None, self.complexity(instance)):
            raise InvalidInputError(
                f"The example {self.example!r} has complexity {self.complexity(instance):g}, "
                f"not {complexity:g}.",
                "Leave the complexity out, or ask for that one.",
            )
        return instance

    def complexity(self, instance: Instance) -> float:
        """The number of scenes."""
        return complexity(instance)

    def complexity_range(self) -> tuple[float, float]:
        """That of the example."""
        grade = complexity(Instance(EXAMPLES[self.example]))
        return grade, grade

    def members(self, low: float, high: float, most: int) -> list[Instance]:  # noqa: ARG002
        """The example, if its complexity is asked for."""
        example = Instance(EXAMPLES[self.example])
        return [example] if low <= complexity(example) <= high else []

    def build(self, instance: Instance) -> KernelEnvironment:
        """Make the box."""
        data = instance.data
        scenes, pays = np.array(data["scenes"]), np.array(data["pays"])
        sizes = np.array([len(scenes), pays.shape[1], scenes.shape[1], data["order"] == "chance"])
        first, shrink = data["first_reward"], data["shrink"]
        state = ButtonsState(
            rng=generator_state(),
            scenes=scenes.ravel(),
            pays=pays.ravel(),
            sizes=sizes.astype(np.int64),
            scene=np.zeros(1, dtype=np.int64),
            numbers=np.array([first, shrink, shrink]),
        )
        values = tuple(data["values"])
        low, high = data["rewards"]
        return KernelEnvironment(
            KERNELS, state, pays.shape[1], Space(values, single=len(values) == 1), (low, high)
        )

    def claims(self) -> Claims:
        """Every button matters at once; only one example is balanced."""
        return Claims(balanced=self.example == "balanced", sensitive=1)

    def scene(
        self,
        instance: Instance,
        observation: Observation,
        reward: float = 0.0,  # noqa: ARG002 - cells and buttons are all there is to see
    ) -> Mapping[str, Any]:
        """Cells and buttons."""
        seen = [int(cell) for cell in np.atleast_1d(observation)]
        return scene(seen, cells=instance.data["values"][0])
