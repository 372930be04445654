"""The kernels of Lambda do what the loops of the thesis do, step by step."""

from __future__ import annotations

from math import inf
from typing import Any

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from lambda_reference import Loop, Placed, Seen, World, conceptual, implemented
from omnimeter.contract import Instance, Percept
from omnimeter.environments.lambda_class import Lambda
from omnimeter.environments.lambda_class.dynamics import FIRST_SEAT, UNTIL_SWAP
from omnimeter.environments.lambda_class.space import read_space
from omnimeter.interaction import KernelEnvironment

REWARDS = st.sampled_from([1.0, 0.5, 0.3])
LISTS = st.lists(REWARDS, min_size=1, max_size=3)
RULES = st.fixed_dictionaries(
    {
        "consumption": st.sampled_from(["before", "after"]),
        "vanish": st.booleans(),
        "division": st.sampled_from([1, 1.5, 2, 3, inf]),
        "drop_on_agents": st.booleans(),
        "sharing": st.booleans(),
    }
)
OBJECTS = st.lists(st.sampled_from(["random", "still", "pattern"]), max_size=2)
DRAWN = st.fixed_dictionaries(
    {
        "cells": st.integers(2, 6),
        "stop": st.sampled_from([0.1, 0.5]),
        "objects": OBJECTS,
        "good": LISTS,
        "evil": LISTS,
        "cycle": st.sampled_from(["power", "product", "never"]),
    }
)
SEEDS = st.integers(0, 2**32)


class Read:
    """The random decisions of an environment, read from it afterwards."""

    def __init__(self, environment: KernelEnvironment) -> None:
        self.environment = environment
        self.before = self.placement()
        self.exchanged = False

    def placement(self) -> Placed:
        cells = self.environment.state.places.tolist()
        seats = FIRST_SEAT + self.environment.seats
        return Placed(*cells[:FIRST_SEAT], cells[FIRST_SEAT:seats], cells[seats:])

    def step(self, actions: list[int]) -> list[Percept]:
        self.before = self.placement()
        self.exchanged = self.environment.state.clock[UNTIL_SWAP] == 1
        return list(self.environment.step_joint(actions))

    def good_stays(self) -> bool:
        after = self.placement()
        good, evil = (after.evil, after.good) if self.exchanged else (after.good, after.evil)
        stayed = good == self.before.good
        assert stayed != (evil == self.before.evil)
        return stayed

    def object_goes(self, number: int) -> int:
        return self.placement().objects[number]

    def exchanges(self) -> bool:
        return self.exchanged


def world_of(instance: Instance) -> World:
    data = instance.data
    pattern = [int(action) for action in data["pattern"]]
    paths = read_space(data["space"]).successors().tolist()
    return World(paths, pattern, data["objects"], data["good"], data["evil"])


def check_loop(read: Read, loop: Loop, percepts: list[Percept], rng: np.random.Generator) -> None:
    """Every step of an environment is that of a loop, whatever the actions."""
    seen = next(loop)
    for _ in range(60):
        check_same(read, seen, percepts)
        environment = read.environment
        actions = rng.integers(environment.actions, size=environment.seats).tolist()
        percepts = read.step(actions)
        seen = loop.send(actions)


def check_same(read: Read, seen: Seen, percepts: list[Percept]) -> None:
    """Bit for bit, but for the sign of a zero."""
    assert read.placement() == seen.placed
    assert read.environment.state.rewards.tolist() == seen.cells
    assert [percept.reward for percept in percepts] == seen.rewards


@settings(max_examples=150)
@given(RULES, DRAWN, st.integers(1, 4), SEEDS)
def test_the_implemented_loop_is_that_of_the_text(
    rules: dict[str, Any], drawn: dict[str, Any], agents: int, seed: int
) -> None:
    rng = np.random.default_rng(seed)
    environment_class = Lambda(**rules, **drawn).with_views([None] * agents)
    instance = environment_class.draw(rng)
    environment = environment_class.build(instance)
    percepts = list(environment.start_joint(rng))
    read = Read(environment)
    check_loop(read, implemented(world_of(instance), rules, read), percepts, rng)


@settings(max_examples=100)
@given(DRAWN, SEEDS)
def test_the_conceptual_loop_is_that_of_the_text(drawn: dict[str, Any], seed: int) -> None:
    rng = np.random.default_rng(seed)
    environment_class = Lambda(variant="conceptual", **drawn)
    instance = environment_class.draw(rng)
    environment = environment_class.build(instance)
    percepts = [environment.start(rng)]
    read = Read(environment)
    check_loop(read, conceptual(world_of(instance), read), percepts, rng)


@settings(max_examples=50)
@given(DRAWN, SEEDS)
def test_the_default_variant_is_that_of_the_experiments(drawn: dict[str, Any], seed: int) -> None:
    """Section 5.1: after the update, for one interaction, also where the agent is."""
    rng = np.random.default_rng(seed)
    instance = Lambda(**drawn).draw(rng)
    environment = Lambda(**drawn).build(instance)
    percepts = [environment.start(rng)]
    read = Read(environment)
    rules = {
        "consumption": "after",
        "division": inf,
        "vanish": True,
        "drop_on_agents": True,
        "sharing": False,
    }
    check_loop(read, implemented(world_of(instance), rules, read), percepts, rng)
