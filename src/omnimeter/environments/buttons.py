"""The button-and-ball examples of both papers, as an environment class."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from omnimeter.contract import Claims, Instance, InvalidInputError, Observation, Space
from omnimeter.contract.agent import FloatArray, IntArray
from omnimeter.contract.overlay import Graph, Overlay
from omnimeter.kernels import (
    EnvironmentKernels,
    KernelEnvironment,
    KernelEnvironmentClass,
    below,
    generator_state,
    kernel,
)

Example = Literal[
    "alternating", "bananas", "bounded", "balanced",
    "switch", "switch-bounded", "switch-balanced", "switch-often", "fate",
]  # fmt: skip


class ButtonsState(NamedTuple):
    """A box with buttons."""

    rng: NDArray[np.uint64]
    scenes: IntArray  # the observation of each scene, scene after scene
    pays: FloatArray  # the reward of each action in each scene, scene after scene
    sizes: IntArray  # the number of scenes, of actions, a scene's width, the order of scenes
    scene: IntArray  # the number of the current scene
    numbers: FloatArray  # the first reward, the factor of every further one, its current product


TURN, CHANCE, LAST, OTHERS, NEVER = range(5)
ORDERS = {"turn": TURN, "chance": CHANCE, "last": LAST, "others": OTHERS, "never": NEVER}
"""What changes the scene: every button, to the next or to any; the last; all others; none."""


@kernel
def reset(state: Any) -> Any:
    """Show the first scene, drawn unless they come in turn, and give the first reward."""
    state.numbers[2] = state.numbers[1]
    state.scene[0] = 0 if state.sizes[3] == TURN else below(state.rng, state.sizes[0])
    return state.numbers[0]


@kernel
def step(state: Any, action: Any) -> Any:
    """Pay for a button in the scene that was shown, then show the next scene."""
    reward = state.pays[state.scene[0] * state.sizes[1] + action] * state.numbers[2]
    state.numbers[2] *= state.numbers[1]
    order, last = state.sizes[3], action == state.sizes[1] - 1
    if order == CHANCE:
        state.scene[0] = below(state.rng, state.sizes[0])
    elif order == TURN or (order == LAST and last) or (order == OTHERS and not last):
        state.scene[0] = (state.scene[0] + 1) % state.sizes[0]
    return reward


@kernel
def observe(state: Any, out: Any) -> None:
    """Show the scene."""
    width = state.sizes[2]
    for cell in range(width):
        out[cell] = state.scenes[state.scene[0] * width + cell]


KERNELS = EnvironmentKernels(ButtonsState, reset, step, observe)

BALL = {
    "scenes": [[0], [1], [2]],
    "pays": [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]],  # button B_i pays in cell C_i
    "order": "chance",
    "values": [3],
    "first_reward": 0.0,
    "shrink": 1.0,
    "rewards": [0.0, 1.0],
}
"""The ball is in one of three cells, drawn anew in each interaction."""

SWITCH = {
    **BALL,
    "scenes": [[0], [1]],
    "pays": [[1.0] * 19 + [0.0], [0.0] * 19 + [1.0]],  # what the cell pays where the ball ends up
    "order": "last",
    "values": [2],
}
"""The ball is in one of two cells, of which one pays; the last of 20 buttons moves it."""

EXAMPLES: dict[str, dict[str, Any]] = {
    # Fixed-time payoffs, "Example": the ball changes cells in turn, a right button pays 0.1.
    "alternating": {
        **BALL,
        "scenes": [[0], [1]],
        "pays": [[0.1, 0.0, 0.0], [0.0, 0.1, 0.0]],
        "order": "turn",
        "values": [2],
    },
    # Anytime test, Example 1: a banana for the button of the ball's cell, and one to begin with.
    "bananas": {**BALL, "first_reward": 1.0},
    # Anytime test, Example 2: reward-bounded, r_k = 1 / 2**(k - 1) for a right button.
    "bounded": {**BALL, "shrink": 0.5},
    # Anytime test, Example 4: three cells, one empty (0), one white (1), one black (2).
    "balanced": {
        **BALL,
        "scenes": [[0, 1, 2], [0, 2, 1], [1, 0, 2], [1, 2, 0]],
        "pays": [[0.0, 1.0, -1.0], [0.0, -1.0, 1.0], [1.0, 0.0, -1.0], [1.0, -1.0, 0.0]],
        "values": [3, 3, 3],
        "rewards": [-1.0, 1.0],
    },
    # Ours: rewards that depend on the past, by which an agent that stops can choose among futures.
    "switch": SWITCH,
    "switch-bounded": {**SWITCH, "shrink": 0.5},
    "switch-balanced": {
        **SWITCH,
        "pays": [[1.0] * 19 + [-1.0], [-1.0] * 19 + [1.0]],
        "rewards": [-1.0, 1.0],
    },
    "switch-often": {
        **SWITCH,
        "pays": [[-1.0] * 19 + [1.0], [1.0] * 19 + [-1.0]],
        "order": "others",
        "rewards": [-1.0, 1.0],
    },
    # Ours: the first cell decides for ever whether a button pays or costs.
    "fate": {
        **BALL,
        "scenes": [[0], [1]],
        "pays": [[1.0, 0.0, 0.0], [-1.0, 0.0, 0.0]],
        "order": "never",
        "values": [2],
        "rewards": [-1.0, 1.0],
    },
}


class Buttons(KernelEnvironmentClass):
    """A ball in a cell and some buttons: the worked examples of the papers, and ours.

    Args:
        example: ``alternating`` (fixed-time payoffs), ``bananas``, ``bounded`` or ``balanced``
            (anytime test, Examples 1, 2 and 4). Ours, whose rewards depend on the past:
            ``switch``, ``switch-bounded`` and ``switch-balanced``, where one of 20 buttons moves
            the ball between a good and a bad cell; ``switch-often``, where 19 of them do; and
            ``fate``, where it never moves. Those with rewards below 0 are balanced.
    """

    kernels = KERNELS

    def __init__(self, example: Example = "balanced") -> None:
        self.example = example

    def draw(self, rng: np.random.Generator, complexity: float | None = None) -> Instance:  # noqa: ARG002
        """Return the example; there is nothing to draw."""
        instance = Instance(EXAMPLES[self.example])
        own = self.complexity(instance)
        if complexity not in (None, own):
            raise InvalidInputError(
                f"The example {self.example!r} has complexity {own:g}, not {complexity:g}.",
                "Leave the complexity out, or ask for that one.",
            )
        return instance

    def members(self, low: float, high: float, limit: int) -> list[Instance]:  # noqa: ARG002
        """The example, if its complexity is asked for."""
        example = Instance(EXAMPLES[self.example])
        return [example] if low <= self.complexity(example) <= high else []

    def build(self, instance: Instance) -> KernelEnvironment:
        """Build the box.

        Raises:
            InvalidInputError: The description is not one of a box.
        """
        data = instance.data
        scenes, pays = np.array(data["scenes"]), np.array(data["pays"], dtype=np.float64)
        _check(data, scenes, pays)
        (number, width), buttons = scenes.shape, pays.shape[1]
        state = ButtonsState(
            rng=generator_state(),
            scenes=scenes.ravel(),
            pays=pays.ravel(),
            sizes=np.array([number, buttons, width, ORDERS[data["order"]]], dtype=np.int64),
            scene=np.zeros(1, dtype=np.int64),
            numbers=np.array(
                [data["first_reward"], data["shrink"], data["shrink"]], dtype=np.float64
            ),
        )
        space = Space(tuple(data["values"]), single=len(data["values"]) == 1)
        low, high = data["rewards"]
        return KernelEnvironment(KERNELS, state, buttons, space, (low, high))

    def reward_range(self) -> tuple[float, float]:
        """That of the example."""
        low, high = EXAMPLES[self.example]["rewards"]
        return low, high

    def claims(self) -> Claims:
        """The choice of a button matters at once; those with rewards below 0 are balanced."""
        return Claims(balanced=EXAMPLES[self.example]["rewards"][0] < 0, sensitive=1)

    def complexity(self, instance: Instance) -> float:
        """The number of scenes; the papers define no complexity for these examples."""
        return float(len(instance.data["scenes"]))

    def complexity_range(self) -> tuple[float, float]:
        """The complexity of the example, twice."""
        return (self.complexity(Instance(EXAMPLES[self.example])),) * 2

    def overlay(self, instance: Instance, rng: np.random.Generator, steps: int) -> Overlay:  # noqa: ARG002
        """The scenes, each with what is in its cells and what each button pays at a time."""
        data = instance.data
        number = len(data["scenes"])
        ways = {"chance": range(number), "never": ()}  # otherwise some button leads to the next
        successors = [
            [*ways.get(data["order"], ((scene + 1) % number,))] for scene in range(number)
        ]
        moments = [
            [
                {f"cell {cell}": content for cell, content in enumerate(scene, 1)}
                | {
                    f"reward of B{button}": reward * data["shrink"] ** time
                    for button, reward in enumerate(pays, 1)
                }
                for scene, pays in zip(data["scenes"], data["pays"], strict=True)
            ]
            for time in range(1, steps + 1)
        ]
        return Overlay.of(Graph(successors), moments[0], moments[1:])

    def scene(
        self,
        instance: Instance,
        observation: Observation,
        reward: float = 0.0,  # noqa: ARG002 - cells and buttons are all there is to see
    ) -> Mapping[str, Any]:
        """The buttons, and the cells from left to right: one ball, or one of a colour in each."""
        contents = [int(content) for content in np.atleast_1d(observation)]
        if len(contents) == 1:
            cells = ["empty"] * instance.data["values"][0]
            cells[contents[0]] = "ball"
        else:
            cells = [("empty", "white", "black")[content] for content in contents]
        buttons = [f"B{number}" for number, _ in enumerate(instance.data["pays"][0], start=1)]
        return {"kind": "buttons", "cells": cells, "buttons": buttons}


def _check(data: Mapping[str, Any], scenes: IntArray, pays: FloatArray) -> None:
    """A description may come from anywhere, and kernels trust what they are given."""
    low, high = map(float, data["rewards"])
    sizes = np.array(data["values"])
    wrong = [
        scenes.ndim != 2 or scenes.size == 0 or scenes.dtype.kind != "i",
        pays.ndim != 2 or len(pays) != len(scenes) or pays.size == 0,
        sizes.ndim != 1 or sizes.shape != scenes.shape[1:] or sizes.dtype.kind != "i",
    ]
    if any(wrong) or np.any(scenes < 0) or np.any(scenes >= sizes):
        message = "The scenes, pays and values of the buttons do not fit together."
        advice = "Give each scene as many contents as there are values, and a pay for each button."
        raise InvalidInputError(message, advice)
    factor, first = float(data["shrink"]), float(data["first_reward"])
    paid = np.append(pays, first)
    if not (0 < factor <= 1 and np.all((low <= paid) & (paid <= high))):
        message = "A reward of the buttons is not between the lowest and the highest."
        raise InvalidInputError(message, "Give shrink above 0 up to 1, and rewards that hold all.")
