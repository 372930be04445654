"""What an agent may be told before all exercises: a distribution over finite MDPs as its prior."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import ceil, log
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from omnimeter.contract.agent import FloatArray
from omnimeter.contract.errors import InvalidInputError
from omnimeter.contract.spec import JsonData, Spec, Stream, fingerprint, stream


@dataclass(frozen=True, slots=True, eq=False)
class MDPDistribution:
    """A flat Dirichlet-multinomial distribution over finite MDPs (Bayesian RL benchmark, §5.2).

    Every row of transition probabilities is drawn from a Dirichlet distribution of its own; the
    rewards are the same in all MDPs, and known.

    Attributes:
        theta: The concentrations, ``[state, action, successor]``; where one is 0, that transition
            is impossible.
        rewards: The reward of each transition, or its mean, in the same shape.
        variances: The variance of each reward, in the same shape; ``None`` where rewards are
            constant.
        initial: The probability of each initial state.

    Raises:
        InvalidInputError: An array has a wrong shape, or numbers that cannot be; see ``of``.
    """

    theta: FloatArray
    rewards: FloatArray
    initial: FloatArray
    variances: FloatArray | None = None

    def __post_init__(self) -> None:
        # Several agents are told the same distribution: none may change it for the others.
        for array in (self.theta, self.rewards, self.initial, self.variances):
            if array is not None:
                array.setflags(write=False)

    @classmethod
    def of(
        cls,
        theta: ArrayLike,
        rewards: ArrayLike,
        initial: int | ArrayLike = 0,
        variances: ArrayLike | None = None,
    ) -> MDPDistribution:
        """A distribution, checked.

        Args:
            theta: ``[state, action, successor]``.
            rewards: In the same shape, or ``[successor]``, ``[state, action]`` broadcast to it.
            initial: The initial state, -1 for any with the same probability, or probabilities.
            variances: As the rewards.
        """
        weights = _array(theta, "theta")
        if weights.ndim != 3 or weights.shape[0] != weights.shape[2] or 0 in weights.shape:
            raise InvalidInputError(
                f"theta has the shape {weights.shape}.", "Give [states][actions][states]."
            )
        if (weights < 0).any():
            x, u, y = (int(each) for each in np.argwhere(weights < 0)[0])
            message = f"theta of state {x}, action {u}, successor {y} is {weights[x, u, y]:g}."
            raise InvalidInputError(message, "Give numbers from 0 up.")
        if (empty := np.argwhere(weights.sum(axis=2) <= 0)).size:
            x, u = (int(each) for each in empty[0])
            message = f"The row of theta of state {x}, action {u} sums to 0."
            raise InvalidInputError(message, "Give each row at least one successor.")
        spread = None if variances is None else _table(variances, weights, "variances")
        if spread is not None and (spread < 0).any():
            raise InvalidInputError("A variance is negative.", "Give numbers from 0 up.")
        start = _initial(initial, len(weights))
        return cls(weights, _table(rewards, weights, "rewards"), start, spread)

    @property
    def states(self) -> int:
        """The number of states."""
        return len(self.theta)

    @property
    def actions(self) -> int:
        """The number of actions."""
        return int(self.theta.shape[1])

    @property
    def possible(self) -> np.ndarray[Any, np.dtype[np.bool_]]:
        """Which transitions are possible."""
        return self.theta > 0

    def reward_range(self) -> tuple[float, float]:
        """The lowest and the highest reward of a possible transition, R_min and R_max."""
        rewards = self.rewards[self.possible]
        return float(rewards.min()), float(rewards.max())

    def draw(self, rng: np.random.Generator) -> FloatArray:
        """The transition probabilities of an MDP, ``[state, action, successor]``."""
        drawn = rng.standard_gamma(self.theta)
        for x, u in np.argwhere(drawn.sum(axis=2) <= 0):
            # All variates of small concentrations a underflow, and their logarithms are needed:
            # G(a) is distributed as G(a + 1) U^(1/a), with a uniform U.
            shapes = self.theta[x, u]
            possible = shapes > 0
            logs = np.full(len(shapes), -np.inf)
            small = shapes[possible]
            logs[possible] = (
                np.log(rng.standard_gamma(small + 1)) + np.log(rng.random(len(small))) / small
            )
            drawn[x, u] = np.exp(logs - logs.max())
        return np.asarray(drawn / drawn.sum(axis=2, keepdims=True))

    def to_json(self) -> dict[str, Any]:
        """The distribution as plain data."""
        data = {
            "theta": self.theta.tolist(),
            "rewards": self.rewards.tolist(),
            "initial": self.initial.tolist(),
        }
        return data if self.variances is None else {**data, "variances": self.variances.tolist()}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> MDPDistribution:
        """The distribution that ``to_json`` wrote."""
        return cls.of(data["theta"], data["rewards"], data["initial"], data.get("variances"))


def _array(given: ArrayLike, name: str) -> FloatArray:
    try:
        array = np.array(given, dtype=np.float64)
    except (TypeError, ValueError) as error:
        advice = "Give nested lists of numbers, all rows as long as each other."
        raise InvalidInputError(f"{name} is not an array of numbers.", advice) from error
    if not np.isfinite(array).all():
        raise InvalidInputError(f"{name} holds a number that is not finite.", "Give numbers.")
    return array


def _table(given: ArrayLike, theta: FloatArray, name: str) -> FloatArray:
    table = _array(given, name)
    by_pair = table.ndim == 2  # [state, action]
    try:
        return np.array(np.broadcast_to(table[:, :, None] if by_pair else table, theta.shape))
    except ValueError as error:
        message = f"{name} has the shape {table.shape}, but theta {theta.shape}."
        advice = "Give both in the same shape, or one for each successor, or [states][actions]."
        raise InvalidInputError(message, advice) from error


def _initial(given: int | ArrayLike, states: int) -> FloatArray:
    if isinstance(given, int | np.integer):
        if not -1 <= given < states:
            message = f"The initial state {given} does not exist."
            raise InvalidInputError(message, f"Give 0 to {states - 1}, or -1 for any.")
        return np.full(states, 1 / states) if given == -1 else np.eye(states)[given]
    start = _array(given, "initial")
    if start.shape != (states,) or (start < 0).any() or start.sum() <= 0:
        message = f"The initial distribution {start.tolist()} does not fit {states} states."
        raise InvalidInputError(message, "Give a state, -1 for any, or one probability per state.")
    return np.asarray(start / start.sum())


def horizon(highest: float, gamma: float, error: float = 0.01) -> int:
    """T = ceil(log(error (1 - gamma) / R_max) / log gamma), the steps after which rewards matter
    less than the error (Bayesian RL benchmark, §3.2).

    Args:
        highest: R_max, the largest absolute reward.
        gamma: The discount factor.
        error: The truncation error.
    """  # noqa: D205 - one formula
    require_discount(gamma)
    if not error > 0:
        raise InvalidInputError(f"The truncation error is {error}.", "Give a number above 0.")
    return max(1, ceil(log(error * (1 - gamma) / highest) / log(gamma))) if highest > 0 else 1


def require_discount(gamma: float) -> None:
    """Check that a discount factor lies between 0 and 1."""
    if not 0 < gamma < 1:
        message = f"The discount factor gamma is {gamma}."
        raise InvalidInputError(message, "Give a number above 0, below 1.")


@dataclass(frozen=True, slots=True, eq=False)
class Prior:
    """What an agent is told before all exercises, for its offline phase.

    Attributes:
        distribution: The MDPs that it may meet, as far as is known.
        gamma: The discount factor of the return.
        horizon: The number T of steps of a trajectory.
    """

    distribution: MDPDistribution
    gamma: float
    horizon: int


@dataclass(frozen=True)
class Preparation(JsonData):
    """What determines what an agent prepares in its offline phase, besides the agent itself.

    Attributes:
        prior: The environment class whose distribution is the prior.
        gamma: The discount factor.
        horizon: The number of steps of a trajectory.
        seed: The root of its randomness.
    """

    prior: Spec
    gamma: float
    horizon: int
    seed: int = 0

    def __post_init__(self) -> None:
        require_discount(self.gamma)
        if self.horizon < 1:
            raise InvalidInputError(f"The horizon is {self.horizon}.", "Give at least 1 step.")

    def key(self, agent: Spec) -> str:
        """The identity of what an agent prepares."""
        return fingerprint({"agent": agent.unnamed.to_json(), **self.to_json()})

    def stream(self, agent: Spec) -> Stream:
        """The randomness of an agent's offline phase."""
        return stream(self.seed, "prepare").child(agent.stream_key)
