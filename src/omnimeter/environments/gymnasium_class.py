"""Environments of Gymnasium as an environment class: ``gymnasium-v1``."""

from __future__ import annotations

import difflib
import importlib
import json
import math
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from omnimeter.caching import announce
from omnimeter.catalogue.consent import check_consent
from omnimeter.contract import (
    Claims,
    Environment,
    EnvironmentClass,
    Instance,
    InvalidInputError,
    Observation,
    OmnimeterError,
    Percept,
    Space,
    UnknownNameError,
    stream,
)
from omnimeter.contract.agent import FloatArray, IntArray
from omnimeter.contract.spec import canonical_json

if TYPE_CHECKING:
    import gymnasium

COMPLEXITY = 1.0
"""That of all instances: Gymnasium grades nothing."""

RANDOM_STEPS = 20_000
"""Random steps from which the range of rewards is estimated where it is not given."""

SEEDS = 2**31
"""How many instances there are."""

UNBOUNDED = 1e6
"""Bounds of observations beyond this stand for none: old environments write infinity so."""

PACKAGES = {"ALE": "ale_py", "BabyAI": "minigrid", "MiniGrid": "minigrid"}
"""The modules of some other packages, by what their ids begin with, for advice."""

MOST_INTEGERS = 2**16
"""Integers of a component that are observed as they are; of more than these, as intervals."""


class Gymnasium(EnvironmentClass):
    """An environment of Gymnasium, whose episodes are joined into one exercise.

    An instance is a seed: the first reset is given it, and all further randomness comes from the
    generator that it made. When an episode is over, terminated or truncated, the agent sees its
    last observation; its next action, whatever it is, resets the environment and brings the first
    observation of the next episode with the reward 0. Rewards are mapped from their range to
    [-1, 1], the 0 of resets too, or else the nearest in the range; rewards outside of it are cut
    off, which is announced once. Actions must be ``Discrete``. Observations are vectors of all
    their components: integers as they are, floating-point numbers as the intervals that they lie
    in. Gymnasium grades nothing: all instances have complexity 1. Nothing is claimed; what
    does not hold in an environment (mostly balance), ``omnimeter audit`` tells.

    Args:
        id: The id in Gymnasium with its version, with ``module:`` before it where a module has to
            be imported first.
        arguments: What else ``gymnasium.make`` is given.
        low: The lowest reward. Without ``low`` and ``high`` they are the lowest and the highest
            of 20,000 steps of a random agent, always the same ones, and of 0; instances tell them.
        high: The highest reward.
        bins: How many intervals of equal width each floating-point component is divided into, or a
            list with the number of each.
        clip: Where a component has no bound above, how far beyond the lower bound its intervals
            reach, and the same below; without both they reach from -clip to clip. Values outside
            are in the first or the last interval. Also a list with that of each component.
    """

    def __init__(
        self,
        id: str = "FrozenLake-v1",  # noqa: A002 - as Gymnasium calls it
        arguments: dict[str, Any] | None = None,
        low: float | None = None,
        high: float | None = None,
        bins: int | list[int] = 8,
        clip: float | list[float] = 10.0,
    ) -> None:
        self.id, self.arguments = id, canonical_json(arguments or {})
        if (low is None) != (high is None):
            raise InvalidInputError("Only one end of the range of rewards is given.", RANGE)
        if low is not None and high is not None and not _is_range(low, high):
            raise InvalidInputError(f"Rewards cannot lie between {low:g} and {high:g}.", RANGE)
        self._given = None if low is None or high is None else (low, high)
        with_spaces = _make(self.id, self.arguments)
        self._first_action, self._actions = _actions(self.id, with_spaces.action_space)
        self._reader = _reader(self.id, with_spaces.observation_space, bins, clip)
        with_spaces.close()

    def draw(self, rng: np.random.Generator, complexity: float | None = None) -> Instance:
        """Draw a seed."""
        if complexity is not None and complexity != COMPLEXITY:
            raise InvalidInputError(
                f"{self.id} has nothing of complexity {complexity:g}: Gymnasium grades nothing, so "
                f"that all instances have complexity {COMPLEXITY:g}.",
                "Leave the complexity out.",
            )
        low, high = self._given or _estimated_range(self.id, self.arguments)
        return Instance({"seed": int(rng.integers(SEEDS)), "low": low, "high": high})

    def complexity(self, instance: Instance) -> float:
        """The same for all."""
        del instance
        return COMPLEXITY

    def complexity_range(self) -> tuple[float, float]:
        """The complexity of all, twice."""
        return COMPLEXITY, COMPLEXITY

    def build(self, instance: Instance) -> Environment:
        """Make the environment in Gymnasium."""
        made = _make(self.id, self.arguments)
        return GymnasiumEnvironment(
            self.id, made, instance, self._first_action, self._actions, self._reader
        )

    def reward_range(self) -> tuple[float, float]:
        """Rewards are mapped to [-1, 1]."""
        return -1.0, 1.0

    def claims(self) -> Claims:
        """Nothing: a random agent may well be better or worse than 0."""
        return Claims(balanced=False, sensitive=None)


RANGE = "Give both low and high, with low < high."


def _is_range(low: float, high: float) -> bool:
    return math.isfinite(low) and math.isfinite(high) and low < high


class GymnasiumEnvironment(Environment):
    """One environment of Gymnasium that goes on for ever, episode after episode."""

    def __init__(
        self,
        name: str,
        made: gymnasium.Env[Any, Any],
        instance: Instance,
        first_action: int,
        actions: int,
        reader: _Reader,
    ) -> None:
        self._name, self._made, self._first_action, self._reader = name, made, first_action, reader
        self._seed: int = instance.data["seed"]
        self._low, self._high = float(instance.data["low"]), float(instance.data["high"])
        self._scale = 2 / (self._high - self._low)
        self._over = False
        self.actions, self.space = actions, reader.space

    def __getstate__(self) -> dict[str, Any]:
        """Refuse to be copied if the copy would be a new environment, as ``EzPickle`` makes it."""
        from gymnasium import Wrapper
        from gymnasium.utils import EzPickle

        layer: Any = self._made
        while isinstance(layer, Wrapper) and not isinstance(layer, EzPickle):
            layer = layer.env
        if isinstance(layer, EzPickle):
            raise TypeError(f"{self._name} cannot be copied in the middle of an episode")
        return vars(self)

    def start(self, rng: np.random.Generator) -> Percept:  # noqa: ARG002 - the seed says all
        """Reset with the seed."""
        observation, _ = self._made.reset(seed=self._seed)
        return self._begun(observation)

    def _begun(self, observation: Any) -> Percept:
        self._over = False
        return Percept(self._mapped(0.0), self._reader.read(observation))

    def _mapped(self, reward: float) -> float:
        """A reward from its range to [-1, 1], and no further."""
        return min(max((reward - self._low) * self._scale - 1, -1.0), 1.0)

    def step(self, action: int) -> Percept:
        """Take the action or, after an end, begin the next episode instead."""
        if not 0 <= action < self.actions:
            raise ValueError(f"there is no action {action}")
        if self._over:
            return self._begun(self._made.reset()[0])
        observation, given, terminated, truncated, _ = self._made.step(self._first_action + action)
        self._over = bool(terminated or truncated)
        reward = float(given)
        if not self._low <= reward <= self._high:
            self._announce(reward)
        return Percept(self._mapped(reward), self._reader.read(observation))

    def _announce(self, reward: float) -> None:
        """Say, once for each environment and process, that a reward is cut off."""
        if math.isnan(reward):
            raise OmnimeterError(f"{self._name} gave a reward that is not a number.")
        if self._name not in _cut:
            _cut.add(self._name)
            announce(
                f"{self._name} gave the reward {reward:g}, which is not between {self._low:g} and "
                f"{self._high:g}. All such rewards are cut off. Give low and high to have others.",
                warn=True,
            )


_cut: set[str] = set()  # what was announced


# Making them


def _make(name: str, arguments: str) -> gymnasium.Env[Any, Any]:
    """An environment of Gymnasium.

    Raises:
        InvalidInputError: It cannot be made, or its module may not be imported.
        UnknownNameError: Gymnasium does not know it.
    """
    import gymnasium
    from gymnasium.envs.registration import parse_env_id
    from gymnasium.error import Error

    module, _, own = name.rpartition(":")
    try:
        version = parse_env_id(own)[2]
    except Error:
        version = None
    if version is None:
        message = f"{name!r} is no id of Gymnasium with a version."
        raise InvalidInputError(message, "Write it as 'FrozenLake-v1' or 'module:Name-v0'.")
    if module:
        check_consent(name)
        try:
            importlib.import_module(module)
        except Exception as error:
            message = f"The module {module!r} of {name} cannot be imported: {error}."
            advice = "Install its package, or correct the name."
            if isinstance(error, ModuleNotFoundError) and error.name == module:
                advice = (
                    f"Install its package, mostly by 'pip install {module}', or correct the name."
                )
            raise InvalidInputError(message, advice) from error
    if own not in gymnasium.registry:
        namespaces = {each.namespace for each in gymnasium.registry.values()}
        similar = difflib.get_close_matches(own[:100], gymnasium.registry, cutoff=0.5)
        if module or (similar and parse_env_id(own)[0] in namespaces):
            raise UnknownNameError("Gymnasium environment", own, gymnasium.registry)
        needed = PACKAGES.get(re.split("[/-]", own)[0], "its_module")
        raise InvalidInputError(
            f"Gymnasium itself has no environment {_shown(own)!r}.",
            f"One of another package needs its module before the id, '{needed}:{_shown(own)}', "
            "and the package has to be installed.",
        )
    try:
        # Its checker warns of what others are to fix, at every step.
        return gymnasium.make(own, disable_env_checker=True, **json.loads(arguments))
    except Exception as error:
        reason = str(error).rstrip(".")
        message = f"Gymnasium cannot make {name}: {type(error).__name__}: {reason}."
        raise InvalidInputError(
            message, "Correct its arguments, or install what it needs."
        ) from error


def _actions(name: str, space: gymnasium.Space[Any]) -> tuple[int, int]:
    """The first action, and how many there are."""
    from gymnasium.spaces import Discrete

    if not isinstance(space, Discrete):
        raise InvalidInputError(
            f"{name} has no finite number of actions: {_shown(space)}.",
            "Only Discrete actions can be used: choose another environment or register a wrapped "
            "one.",
        )
    return int(space.start), int(space.n)


def _shown(space: object) -> str:
    text = " ".join(str(space).split())
    return text if len(text) <= 100 else f"{text[:100]}..."


@lru_cache(maxsize=64)
def _estimated_range(name: str, arguments: str) -> tuple[float, float]:
    """The lowest and the highest reward of a random agent, and of resets: always the same."""
    rng = stream(0, "gymnasium rewards").generator()
    made = _make(name, arguments)
    first, actions = _actions(name, made.action_space)
    made.reset(seed=int(rng.integers(SEEDS)))
    low = high = 0.0
    for action in rng.integers(first, first + actions, size=RANDOM_STEPS).tolist():
        _, reward, terminated, truncated, _ = made.step(action)
        low, high = min(low, float(reward)), max(high, float(reward))
        if terminated or truncated:
            made.reset()
    made.close()
    if not _is_range(low, high):
        raise InvalidInputError(
            f"The range of rewards of {name} cannot be estimated: in {RANDOM_STEPS:,} random steps "
            f"they were between {low:g} and {high:g}.",
            "Give low and high.",
        )
    return low, high


# Observations


@dataclass(frozen=True)
class _Reader:
    """How observations become vectors of integers: the interval in which each component lies.

    An integer that is observed as it is has an interval of its own.
    """

    name: str
    space: Space
    lows: FloatArray
    scales: FloatArray
    counts: IntArray

    def read(self, observation: Any) -> Observation:
        """What an agent gets for an observation of Gymnasium."""
        if self.space.single:
            return int(observation) - int(self.lows[0])
        values = _end_to_end(observation) if isinstance(observation, tuple) else observation
        places = (np.asarray(values, dtype=np.float64).reshape(-1) - self.lows) * self.scales
        if math.isnan(places.sum()) and np.isnan(places).any():  # the sum is quick
            raise OmnimeterError(f"{self.name} gave an observation that is not a number.")
        # What is above 0 is rounded down by the conversion, and nothing else is left.
        seen: IntArray = np.minimum(np.maximum(places, 0.0), self.counts - 1.0).astype(np.int64)
        return seen


def _end_to_end(observation: tuple[Any, ...]) -> list[float]:
    """The numbers of a tuple of observations."""
    numbers: list[float] = []
    for each in observation:
        numbers += _end_to_end(each) if isinstance(each, tuple) else np.ravel(each).tolist()
    return numbers


class _Part(NamedTuple):
    """Some components: where their intervals begin, how many in a unit, and how many in all."""

    lows: FloatArray
    scales: FloatArray
    counts: IntArray


def _reader(
    name: str, space: gymnasium.Space[Any], bins: int | list[int], clip: float | list[float]
) -> _Reader:
    from gymnasium.spaces import Discrete

    divided = _Divided(name, bins, clip)
    parts = list(_parts(name, space, divided))
    divided.check_all_used()
    lows, scales, counts = map(np.concatenate, zip(*parts, strict=True))
    sizes = Space(tuple(counts.tolist()), single=isinstance(space, Discrete))
    return _Reader(name, sizes, lows, scales, counts)


def _parts(name: str, space: gymnasium.Space[Any], divided: _Divided) -> Iterator[_Part]:
    from gymnasium.spaces import Box, Discrete, MultiBinary, MultiDiscrete, Tuple

    match space:
        case Tuple():
            for each in space.spaces:
                yield from _parts(name, each, divided)
        case Discrete():
            yield _integers(np.array([space.start]), np.array([space.n]))
        case MultiDiscrete():
            yield _integers(space.start.ravel(), space.nvec.ravel())
        case MultiBinary():
            count = math.prod(space.shape)
            yield _integers(np.zeros(count), np.full(count, 2))
        case Box():
            yield _box(space, divided)
        case _:
            raise InvalidInputError(
                f"Observations of {name} cannot be read: {_shown(space)}.",
                "They may be Discrete, MultiDiscrete, MultiBinary, Box, or a Tuple of these. Take "
                "another environment, or register one in a wrapper such as FlattenObservation.",
            )


def _integers(lows: Any, counts: Any) -> _Part:
    return _Part(np.asarray(lows, dtype=np.float64), np.ones(len(counts)), counts.astype(np.int64))


def _box(space: gymnasium.spaces.Box, divided: _Divided) -> _Part:
    """Integers of few values as they are, everything else by intervals."""
    lows, highs = space.low.ravel().astype(np.float64), space.high.ravel().astype(np.float64)
    scales, counts = np.ones(len(lows)), np.zeros(len(lows), dtype=np.int64)
    whole = np.issubdtype(space.dtype, np.integer)
    for place, (low, high) in enumerate(zip(lows.tolist(), highs.tolist(), strict=True)):
        if whole and high - low < MOST_INTEGERS:
            counts[place] = int(high - low) + 1
        else:
            lows[place], highest, counts[place] = divided.next(low, high)
            width = highest - lows[place]
            scales[place] = counts[place] / width if width else 0.0
    return _Part(lows, scales, counts)


class _Divided:
    """The intervals of each component that is divided into some, in order."""

    def __init__(self, name: str, bins: int | list[int], clip: float | list[float]) -> None:
        self._name, self._used = name, 0
        self._bins, self._clip = bins, clip
        if not all(1 <= each <= MOST_INTEGERS for each in _listed(bins)):
            message = f"Observations cannot be divided into {bins} intervals."
            raise InvalidInputError(message, f"Give numbers from 1 to {MOST_INTEGERS:,} as bins.")
        if not all(math.isfinite(each) and each > 0 for each in _listed(clip)):
            message = f"Intervals cannot reach as far as {clip}."
            raise InvalidInputError(message, "Give numbers above 0 as clip.")

    def next(self, low: float, high: float) -> tuple[float, float, int]:
        """Where the intervals of the next component begin and end, and how many there are."""
        at, self._used = self._used, self._used + 1
        # One component too many is an error that is told when all are counted.
        reach, bins = (each[at % len(each)] for each in (_listed(self._clip), _listed(self._bins)))
        below, above = low < -UNBOUNDED, high > UNBOUNDED
        if below:
            low = -reach if above else high - reach
        if above:
            high = reach if below else low + reach
        return low, high, int(bins)

    def check_all_used(self) -> None:
        """Check that lists have a value for each component."""
        lists: dict[str, Any] = {"bins": self._bins, "clip": self._clip}
        for what, values in lists.items():
            if isinstance(values, list) and len(values) != self._used:
                raise InvalidInputError(
                    f"{what} has {len(values)} values, but {self._used} components of observations "
                    f"of {self._name} are divided into intervals.",
                    "Give one for each, or one for all.",
                )


def _listed(values: Any) -> list[Any]:
    return (values or [2]) if isinstance(values, list) else [values]
