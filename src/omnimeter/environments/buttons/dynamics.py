"""How the buttons pay: by a table of scenes and actions, scenes in turn or by chance."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from omnimeter.contract import EnvironmentKernels, FloatArray, IntArray, kernel
from omnimeter.interaction.randomness import below


class ButtonsState(NamedTuple):
    """A box with buttons.

    Attributes:
        rng: The state of the generator.
        scenes: What is seen in each scene, scene after scene.
        pays: The reward of each action in each scene, scene after scene.
        sizes: The number of scenes, of actions, the width of a scene, whether scenes are random.
        scene: The number of the scene now.
        numbers: The first reward; the factor by which every further reward shrinks; the factor now.
    """

    rng: NDArray[np.uint64]
    scenes: IntArray
    pays: FloatArray
    sizes: IntArray
    scene: IntArray
    numbers: FloatArray


@kernel
def reset(state: Any) -> Any:
    """Show the first scene and give the first reward."""
    state.numbers[2] = state.numbers[1]
    state.scene[0] = below(state.rng, state.sizes[0]) if state.sizes[3] == 1 else 0
    return state.numbers[0]


@kernel
def step(state: Any, action: Any) -> Any:
    """Pay for a button in the scene that was shown, then show the next scene."""
    reward = state.pays[state.scene[0] * state.sizes[1] + action] * state.numbers[2]
    state.numbers[2] *= state.numbers[1]
    if state.sizes[3] == 1:
        state.scene[0] = below(state.rng, state.sizes[0])
    else:
        state.scene[0] = (state.scene[0] + 1) % state.sizes[0]
    return reward


@kernel
def observe(state: Any, out: Any) -> None:
    """Show the scene."""
    width = state.sizes[2]
    for cell in range(width):
        out[cell] = state.scenes[state.scene[0] * width + cell]


KERNELS = EnvironmentKernels(ButtonsState, reset, step, observe)
