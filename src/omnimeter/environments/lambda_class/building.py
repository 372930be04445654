"""From the description of a Lambda environment to its state."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from omnimeter.contract import EnvironmentKernels, Instance, IntArray
from omnimeter.environments.lambda_class import dynamics, observing
from omnimeter.environments.lambda_class.description import read_space
from omnimeter.environments.lambda_class.dynamics import LambdaState
from omnimeter.environments.lambda_class.objects import BEHAVIOURS, check_object, script_of
from omnimeter.environments.lambda_class.observing import FORMS, space_of
from omnimeter.environments.lambda_class.patterns import parse_pattern
from omnimeter.environments.lambda_class.rules import checked, longest_cycle
from omnimeter.interaction import KernelEnvironment
from omnimeter.interaction.randomness import generator_state


def _kernels(observe: Callable[..., None]) -> EnvironmentKernels:
    return EnvironmentKernels(
        state=LambdaState,
        reset=dynamics.reset,
        step=dynamics.step,
        observe=observe,
        step_together=dynamics.step_together,
        observe_from=observing.observe_from,
    )


ALONE = {form: _kernels(observe) for form, observe in observing.OBSERVERS.items()}
"""For one agent, by its form of observation."""

TOGETHER = _kernels(observing.observe_first)
"""For several, whatever forms they have: compiled once for all of them."""


def kernels_of(forms: Sequence[str]) -> EnvironmentKernels:
    """How environments move that have a seat for each form of observation."""
    return ALONE[forms[0]] if len(forms) == 1 else TOGETHER


def build(instance: Instance, forms: Sequence[str]) -> KernelEnvironment:
    """The environment of an instance, with a seat for each form of observation."""
    paths = paths_of(instance.data["space"])
    cells, actions = paths.shape
    state = _state(instance, paths, forms)
    first, *others = (space_of(form, cells, actions, len(state.places)) for form in forms)
    return KernelEnvironment(kernels_of(forms), state, actions, first, others=others, views=forms)


@lru_cache(maxsize=1024)
def paths_of(description: str) -> IntArray:
    """The cell that each action leads to from each cell; nobody may write into it."""
    paths = read_space(description).successors()
    paths.setflags(write=False)
    return paths


def _state(instance: Instance, paths: IntArray, forms: Sequence[str]) -> LambdaState:
    # A description may come from anywhere, and kernels trust what they are given.
    data = {**instance.data, **checked(instance.data)}
    cells, actions = paths.shape
    scripts = [script_of(check_object(each, actions), actions) for each in data["objects"]]
    ends = np.cumsum([0, *map(len, scripts)])
    return LambdaState(
        rng=generator_state(),
        agents_rng=generator_state(),
        paths=paths.ravel().copy(),
        pattern=parse_pattern(data["pattern"], actions),
        places=np.zeros(2 + len(forms) + len(scripts), dtype=np.int64),
        rewards=np.zeros(cells),
        good=np.array(data["good"], dtype=np.float64),
        evil=np.array(data["evil"], dtype=np.float64),
        division=np.array([float(data["division"])]),
        rules=_rules(data, cells, actions),
        clock=np.zeros(4, dtype=np.int64),
        behaviours=np.array([_behaviour(each) for each in data["objects"]], dtype=np.int64),
        scripts=np.array([action for script in scripts for action in script], dtype=np.int64),
        script_at=ends.astype(np.int64),
        script_now=np.zeros(len(scripts), dtype=np.int64),
        forms=np.array([FORMS.index(form) for form in forms], dtype=np.int64),
        actions=np.zeros(len(forms), dtype=np.int64),
        paid=np.zeros(len(forms)),
    )


def _rules(data: Mapping[str, Any], cells: int, actions: int) -> IntArray:
    warm_up = data["warm_up"]
    rules = np.zeros(7, dtype=np.int64)
    rules[dynamics.ACTIONS] = actions
    rules[dynamics.AFTER] = data["consumption"] == "after"
    rules[dynamics.VANISH] = data["vanish"]
    rules[dynamics.BESIDE] = data["beside"]
    rules[dynamics.SHARING] = data["sharing"]
    rules[dynamics.CYCLE] = longest_cycle(data["cycle"], cells, actions)
    rules[dynamics.WARM_UP] = -1 if warm_up == "cycle" else warm_up
    return rules


def _behaviour(text: str) -> int:
    return BEHAVIOURS.index(text.partition(":")[0])
