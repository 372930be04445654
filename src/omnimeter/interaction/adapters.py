"""Agents made from other objects: objects that act or predict, and plain functions."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from contextlib import suppress
from math import prod
from typing import Any

import numpy as np

from omnimeter.contract import (
    Agent,
    Briefing,
    InvalidInputError,
    Move,
    Observation,
    OmnimeterError,
    Prior,
)
from omnimeter.contract.errors import BrokenPartError
from omnimeter.interaction.handles import shown

_ACCEPTED = (
    "Give an omnimeter.Agent; or an object with act(reward, observation); or one with "
    "predict(observation), as in Stable-Baselines3; or a function of the observation, or of the "
    "reward and the observation, that returns an action; or a function without parameters, or with "
    "defaults only, that makes one of these."
)


def adapt(thing: object) -> Agent:
    """The agent that an object is, or can be made into.

    Args:
        thing: An ``Agent``; an object with ``act`` (and optionally ``begin`` and ``finish``);
            an object with ``predict``; a function ``f(observation)`` or
            ``f(reward, observation)``; a class of such objects; or a function that needs nothing
            and makes one of these.

    Raises:
        InvalidInputError: It is none of these, or a function that makes an agent fails.
    """
    if _makes_agents(thing):
        thing = _made_by(thing)
    # Every class can be called, so for a class only what it defines for its objects counts.
    if isinstance(thing, type) and (
        hasattr(thing, "act")
        or hasattr(thing, "predict")
        or any("__call__" in vars(base) for base in thing.__mro__)
    ):
        kind = thing
        try:
            thing = kind()
        except Exception as error:
            raise InvalidInputError(
                f"{kind.__name__} cannot be made: {type(error).__name__}: {shown(error, str)}.",
                "Give a class that needs no parameters, or an object of it.",
            ) from error
    if isinstance(thing, Agent):
        return thing
    if callable(getattr(thing, "act", None)):
        return _ActingAgent(thing)
    if callable(getattr(thing, "predict", None)):
        return _PredictingAgent(thing)
    if callable(thing) and not isinstance(thing, type):
        return FunctionAgent(thing)
    raise InvalidInputError(f"An agent cannot be made of {shown(thing)}.", _ACCEPTED)


def _makes_agents(thing: Any) -> bool:
    """Whether it is a function that needs nothing, and so no observation."""
    if not callable(thing) or isinstance(thing, type):
        return False
    if any(callable(getattr(thing, name, None)) for name in ("act", "predict")):
        return False
    try:
        parameters = list(inspect.signature(thing).parameters.values())
    except (TypeError, ValueError):  # some functions that are not written in Python do not say
        return False
    varying = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
    if any(each.default is each.empty or each.kind in varying for each in parameters):
        return False
    return not {each.name for each in parameters} & {"observation", "obs", "reward"}


def _made_by(function: Any) -> object:
    try:
        return function()
    except OmnimeterError:
        raise
    except (Exception, SystemExit) as error:
        name = getattr(function, "__name__", None) or shown(function)
        message = f"{name} makes no agent: {type(error).__name__}: {shown(error, str)}."
        raise BrokenPartError(message) from error


class FunctionAgent(Agent):
    """A function of the observation, or of the reward and the observation."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self._function, self.costly = function, _is_costly(function)
        self._wants_reward = _wants_reward(function)

    def act(self, reward: float, observation: Observation) -> int | Move:  # noqa: D102 - see Agent
        if self._wants_reward:
            return _single(self._function(reward, observation))
        return _single(self._function(observation))


class _ActingAgent(FunctionAgent):
    """An object with ``act`` that may have the other methods of an agent and name a ``view``."""

    def __init__(self, thing: Any) -> None:
        super().__init__(thing.act)
        try:
            view = getattr(thing, "view", None)
        except Exception:  # a third party's property may raise anything
            view = None
        self.view = view if isinstance(view, str) else None  # else it means something different
        self.costly = _is_costly(thing)
        self._begin = getattr(thing, "begin", None)
        self._finish = getattr(thing, "finish", None)
        self._prepare = getattr(thing, "prepare", None)
        self._restore = getattr(thing, "restore", None)
        self._recall = getattr(thing, "recall", None)

    def begin(self, briefing: Briefing, rng: np.random.Generator) -> None:
        if self._begin is not None:
            self._begin(briefing, rng)

    def finish(self, reward: float, observation: Observation) -> None:
        if self._finish is not None:
            self._finish(reward, observation)

    def recall(self, reward: float, observation: Observation, action: int) -> None:
        if self._recall is not None:
            self._recall(reward, observation, action)

    def prepare(self, prior: Prior, rng: np.random.Generator) -> Mapping[str, Any]:
        return {} if self._prepare is None else self._prepare(prior, rng)

    def restore(self, prior: Prior, prepared: Mapping[str, Any]) -> None:
        if self._restore is not None:
            self._restore(prior, prepared)


class _PredictingAgent(Agent):
    """A policy with ``predict``, as in Stable-Baselines3.

    It gets ``state`` and ``episode_start`` if it takes them (recurrent policies), its own default
    of ``deterministic`` (else ``False``), and a seed if it has ``set_random_seed``.
    """

    def __init__(self, policy: Any) -> None:
        self._policy, self.costly = policy, _is_costly(policy)
        try:
            parameters = dict(inspect.signature(policy.predict).parameters)
        except (TypeError, ValueError):  # some functions that are not written in Python do not say
            parameters = {}
        self._takes = {"state", "episode_start"} & parameters.keys()
        choice = parameters.get("deterministic")
        required = choice is not None and choice.default is choice.empty
        self._options = {"deterministic": False} if required else {}
        self._state: Any = None
        self._starts = True

    def begin(self, briefing: Briefing, rng: np.random.Generator) -> None:  # noqa: ARG002
        self._state = None
        self._starts = True
        if callable(seed := getattr(self._policy, "set_random_seed", None)):
            seed(int(rng.integers(2**31)))

    def act(self, reward: float, observation: Observation) -> int | Move:  # noqa: ARG002
        memory = {"state": self._state, "episode_start": np.array([self._starts])}
        known = {name: memory[name] for name in self._takes}
        answer = self._policy.predict(observation, **known, **self._options)
        self._starts = False
        if isinstance(answer, tuple) and not isinstance(answer, Move) and len(answer) == 2:
            answer, self._state = answer
        return _single(answer)


def _is_costly(thing: Any) -> bool:
    """Whether an object says that its answers are costly."""
    try:
        return getattr(thing, "costly", False) is True  # else it means something different
    except Exception:  # a third party's property may raise anything
        return False


def _wants_reward(function: Callable[..., Any]) -> bool:
    """Whether it takes the reward too; where both would do, only if the first parameter is it."""
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):  # some functions that are not written in Python do not say
        return False
    possible = []
    for count in (1, 2):
        with suppress(TypeError):
            signature.bind(*[None] * count)
            possible.append(count)
    if not possible:
        raise InvalidInputError(
            f"{shown(function)} cannot be given an observation: its parameters are {signature}.",
            _ACCEPTED,
        )
    return possible == [2] or (len(possible) == 2 and next(iter(signature.parameters)) == "reward")


def _single(action: Any) -> int | Move:
    """An array with one element, as policies return it, as that element."""
    shape = getattr(action, "shape", None)
    one = isinstance(shape, tuple) and prod(shape) == 1 and hasattr(action, "item")
    return action.item() if one else action  # type: ignore[no-any-return] # checked later
