"""The rules of a Lambda environment, its objects, and its state built from a description."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from math import inf, isfinite
from typing import Any, Literal, get_args

import numpy as np

from omnimeter.contract import Instance, InvalidInputError, UnknownNameError
from omnimeter.contract.agent import IntArray
from omnimeter.environments.lambda_class import dynamics, observing
from omnimeter.environments.lambda_class.drawing import draw_pattern, format_pattern, parse_pattern
from omnimeter.environments.lambda_class.dynamics import LambdaState
from omnimeter.environments.lambda_class.observing import FORMS, space_of
from omnimeter.environments.lambda_class.space import read_space
from omnimeter.kernels import EnvironmentKernels, KernelEnvironment, generator_state

Frame = Literal["implemented", "conceptual"]
Consumption = Literal["before", "after"]
Cycle = Literal["power", "product", "never"]

FRAMES: dict[str, dict[str, Any]] = {
    "implemented": {"consumption": "after", "division": "inf", "vanish": True, "beside": True},
    "conceptual": {"consumption": "before", "division": 2.0, "vanish": True, "beside": False},
}
"""What is done where nothing else is said: sections 5.1 and 3.6.3 of the Lambda thesis."""

LONGEST_CYCLE = 2**31 - 1
"""Kernels draw no greater numbers. Where the bound is above it, this is the bound."""

LONGEST_WARM_UP = 1_000_000
"""Interactions; each beginning takes the time of all of them."""


def checked(given: Mapping[str, Any]) -> dict[str, Any]:
    """The rules of an environment as they are kept in its description.

    Raises:
        InvalidInputError: A value cannot be.
        UnknownNameError: A word means nothing.
    """
    for name in ("vanish", "beside", "sharing"):
        if not isinstance(given[name], bool):
            raise InvalidInputError(f"{name} is {given[name]!r}.", "Give true or false.")
    cycle = one_of("cycle", given["cycle"], Cycle)
    return {
        "consumption": one_of("consumption", given["consumption"], Consumption),
        "division": division_of(given["division"]),
        "vanish": given["vanish"],
        "beside": given["beside"],
        "sharing": given["sharing"],
        "good": rewards_of("good", given["good"]),
        "evil": rewards_of("evil", given["evil"]),
        "cycle": cycle,
        "warm_up": warm_up_of(given["warm_up"], cycle),
    }


def one_of(name: str, given: object, words: Any) -> Any:
    """A word of those that a parameter may be."""
    if given not in get_args(words):
        raise UnknownNameError(name, str(given), get_args(words))
    return given


def division_of(given: float | str) -> float | str:
    """A division factor from 1 to infinity, as JSON knows it."""
    try:
        number = float(given)
    except (TypeError, ValueError):
        number = 0.0
    if not number >= 1:  # nor is what is not a number
        raise InvalidInputError(
            f"Rewards in cells cannot be divided by {given}.", "Give division from 1 to inf."
        )
    return "inf" if number == inf else number


def rewards_of(name: str, given: object) -> list[float]:
    """What Good or Evil drops, in turn: numbers above 0, at most 1."""
    rewards = []
    for each in given if isinstance(given, list | tuple) else [given]:
        if not isinstance(each, int | float) or isinstance(each, bool):
            raise InvalidInputError(
                f"{name} is {given!r}.", f"Give {name} one number or several, in (0, 1]."
            )
        rewards.append(float(each))
    for position, reward in enumerate(rewards, start=1):
        if not (isfinite(reward) and 0 < reward <= 1):
            where = f" at position {position}" if len(rewards) > 1 else ""
            raise InvalidInputError(
                f"The reward {reward:g} of {name}{where} is not in (0, 1].",
                f"Give {name} above 0 and at most 1; of Evil's rewards the size counts.",
            )
    if not rewards:
        raise InvalidInputError(f"{name} has no reward.", f"Give {name} one number or several.")
    return rewards


def warm_up_of(given: int | str, cycle: str) -> int | str:
    """How many interactions of a random agent come first: a number, or drawn as a swap is."""
    if given == "cycle":
        if cycle == "never":
            raise InvalidInputError(
                "A warm-up cannot be drawn like the cycle when there is no cycle.",
                "Give warm_up as a number, or cycle=power.",
            )
        return given
    if not isinstance(given, int) or isinstance(given, bool) or not 0 <= given <= LONGEST_WARM_UP:
        raise InvalidInputError(
            f"A warm-up cannot last for {given} interactions.",
            f"Give a number from 0 to {LONGEST_WARM_UP:,}, or cycle.",
        )
    return given


def longest_cycle(cycle: str, cells: int, actions: int) -> int:
    """Up to how many interactions pass until Good and Evil change places; 0 if they never do.

    The bound stands in section 3.6.2 without its typography: it may be the power or the product.
    """
    bounds = {"power": int(cells**actions), "product": cells * actions, "never": 0}
    return min(bounds[cycle], LONGEST_CYCLE)


BEHAVIOURS = ("random", "still", "pattern")
"""In the order of their codes in ``dynamics.py``."""


def check_object(text: str, actions: int | None) -> str:
    """The behaviour of an object, as it is written: random, still, pattern or pattern:0120.

    Args:
        text: What is written.
        actions: How many actions there are, where that is known already.

    Raises:
        InvalidInputError: There is no such behaviour, or its pattern is wrong.
    """
    behaviour, colon, _ = text.partition(":")
    if behaviour not in BEHAVIOURS or (colon and behaviour != "pattern"):
        raise InvalidInputError(
            f"There is no behaviour {text!r} of objects.",
            "Give random, still, pattern (drawn like the pattern of Good and Evil), or a pattern "
            "such as pattern:0120.",
        )
    if colon and actions is None:
        raise InvalidInputError(
            f"The object {text!r} needs to know which actions there are.",
            "Give space or actions together with it.",
        )
    if colon and actions is not None:
        try:
            script_of(text, actions)
        except InvalidInputError as error:
            raise InvalidInputError(
                f"The object {text!r}: {error.message}", error.advice
            ) from error
    return text


def draw_object(rng: np.random.Generator, text: str, actions: int, stop: float) -> str:
    """The same behaviour with its pattern, drawn if it was not given."""
    if text == "pattern":
        return f"pattern:{format_pattern(draw_pattern(rng, actions, stop), actions)}"
    return text


def script_of(text: str, actions: int) -> IntArray:
    """The actions that an object repeats, none if it has no pattern."""
    behaviour, _, pattern = text.partition(":")
    if behaviour != "pattern":
        return np.empty(0, dtype=np.int64)
    return parse_pattern(pattern, actions)


def _kernels(observe: Callable[..., None]) -> EnvironmentKernels:
    return EnvironmentKernels(
        state=LambdaState,
        reset=dynamics.reset,
        step=dynamics.step,
        observe=observe,
        step_joint=dynamics.step_joint,
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
