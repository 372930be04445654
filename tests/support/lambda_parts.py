"""What the tests of Lambda share: environments that are arranged as a test needs them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from omnimeter.contract import stream
from omnimeter.contract.agent import IntArray
from omnimeter.environments.lambda_class import Lambda
from omnimeter.environments.lambda_class.dynamics import EVIL, FIRST_SEAT, GOOD, drop
from omnimeter.environments.lambda_class.views import observe_from
from omnimeter.interaction import KernelEnvironment


def started(environment_class: Lambda, seed: int = 0) -> KernelEnvironment:
    """An environment that was drawn and started."""
    environment = environment_class.build(environment_class.draw(stream(seed, "draw").generator()))
    environment.start_joint(stream(seed, "start").generator())
    return environment


def arranged(environment_class: Lambda, places: Sequence[int]) -> KernelEnvironment:
    """An environment at the beginning of an interaction, with everything in a given cell.

    Args:
        environment_class: The class.
        places: The cells of Good, of Evil, of the agents and of the further objects.
    """
    environment = started(environment_class)
    environment.state.places[:] = places
    environment.state.rewards[:] = 0.0
    drop(environment.state)
    return environment


def step(environment: KernelEnvironment, *actions: int) -> list[float]:
    """The reward of each agent for their actions."""
    return [percept.reward for percept in environment.step_joint(actions)]


def good_of(environment: KernelEnvironment) -> int:
    """Where Good is."""
    return int(environment.state.places[GOOD])


def evil_of(environment: KernelEnvironment) -> int:
    """Where Evil is."""
    return int(environment.state.places[EVIL])


def agents_of(environment: KernelEnvironment) -> list[int]:
    """Where the agents are."""
    cells: list[int] = environment.state.places[FIRST_SEAT:][: environment.seats].tolist()
    return cells


def others_of(environment: KernelEnvironment) -> list[int]:
    """Where Good, Evil and the further objects are: everything but the agents."""
    places = environment.state.places.tolist()
    cells: list[int] = places[:FIRST_SEAT] + places[FIRST_SEAT + environment.seats :]
    return cells


def observed(environment: KernelEnvironment, seat: int = 0) -> list[int]:
    """What is seen from a seat as things stand."""
    out: IntArray = np.zeros(len(environment.space_of(seat).sizes), dtype=np.int64)
    observe_from(environment.state, seat, out)
    cells: list[int] = out.tolist()
    return cells


def ring(cells: int, agents: int = 1, **rules: Any) -> Lambda:
    """A ring on which Good and Evil go round and are never exchanged."""
    rules = {"pattern": "1", "cycle": "never", **rules}
    return Lambda(space=f"ring-{cells}", **rules).with_views([None] * agents)
