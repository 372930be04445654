"""Environment classes of finite MDPs: drawing, building, complexity, views and scenes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from copy import copy
from dataclasses import replace
from itertools import accumulate, chain
from typing import Any, Self

import numpy as np

from omnimeter.contract import (
    Briefing,
    Claims,
    Instance,
    InvalidInputError,
    MDPDistribution,
    Observation,
)
from omnimeter.contract.agent import FloatArray, single
from omnimeter.contract.overlay import Graph, Overlay
from omnimeter.environments.mdp import scene as scenes
from omnimeter.environments.mdp.dynamics import FARTHEST, KERNELS, MDPState
from omnimeter.environments.mdp.files import StoredMDPs, read_file
from omnimeter.kernels import KernelEnvironment, KernelEnvironmentClass, generator_state

VIEWS = ("state", "model")
"""What an agent may ask for: the state alone, or the MDP in the remarks of its briefing too."""


class MDPEnvironment(KernelEnvironment):
    """A finite MDP. In the view ``model`` the briefing tells its transitions and rewards."""

    rewards_of: FloatArray  # the mean reward of every transition, [state, action, successor]

    def briefing(self, seat: int = 0) -> Briefing:  # noqa: D102 - see Environment
        briefing = super().briefing(seat)
        if briefing.view != "model":
            return briefing
        state: MDPState = self.state
        transitions = np.zeros(self.rewards_of.shape)
        rows = transitions.reshape(-1, len(transitions))
        for row, start, end in zip(rows, state.starts[:-1], state.starts[1:], strict=True):
            row[state.successors[start:end]] = np.diff(state.cumulative[start:end], prepend=0.0)
        remarks = {"transitions": transitions.tolist(), "rewards": self.rewards_of.tolist()}
        return replace(briefing, remarks=remarks)


class FiniteMDPs(KernelEnvironmentClass):
    """Finite MDPs drawn from a flat Dirichlet-multinomial distribution (benchmark, §5.2).

    An instance has the possible successors of every state and action, and their probabilities.
    Rewards and initial states belong to the class.
    """

    kernels = KERNELS
    views = VIEWS
    privileged = ("model",)
    carried = ("place",)

    def __init__(self, distribution: MDPDistribution, *, rescale: bool = False) -> None:
        self.rescale = rescale
        self._distribution = _rescaled(distribution) if rescale else distribution
        self._view = VIEWS[0]

    def distribution(self) -> MDPDistribution:
        """The distribution that is drawn from, with rewards as they are paid."""
        return self._distribution

    def action_names(self) -> Sequence[str]:
        """What the actions are called in a scene."""
        return [str(number) for number in range(1, self._distribution.actions + 1)]

    def state_names(self) -> Sequence[str]:
        """What the states are called in a scene."""
        return [str(number) for number in range(1, self._distribution.states + 1)]

    def positions(self) -> Sequence[scenes.Position]:
        """Where the states lie in a scene."""
        return scenes.circle(self._distribution.states)

    def draw(self, rng: np.random.Generator, complexity: float | None = None) -> Instance:
        """Draw the transition probabilities; the complexity of all MDPs of a class is the same."""
        low, high = self.complexity_range()
        if complexity is not None and not low <= complexity <= high:
            raise InvalidInputError(
                f"All MDPs of this class have complexity {low:g}, not {complexity:g}.",
                "Leave the complexity out, or ask for that one.",
            )
        known = self._distribution
        return instance_of(known.draw(rng), known.possible)

    def with_views(self, views: Sequence[str | None]) -> Self:
        """The same class with the view that an agent asks for."""
        super().with_views(views)  # raises if there are several
        view = next((each for each in views if each in VIEWS), VIEWS[0])
        if view == self._view:
            return self
        seen = copy(self)
        seen._view = view
        return seen

    def build(self, instance: Instance) -> MDPEnvironment:
        """Make the MDP."""
        known = self._distribution
        successors, cumulative = _checked(instance, known)
        sizes = [len(row) for row in successors]
        flat = np.array([*chain.from_iterable(successors)], dtype=np.int64)
        pairs = np.repeat(np.arange(len(sizes)), sizes)
        low, high = self.reward_range()
        rewards = known.rewards.reshape(len(sizes), -1)[pairs, flat]
        spread = np.empty(0)
        if known.variances is not None:
            spread = np.sqrt(known.variances.reshape(len(sizes), -1)[pairs, flat])
        state = MDPState(
            rng=generator_state(),
            noise=np.zeros(len(sizes), dtype=np.uint64),
            place=np.array([0, known.actions], dtype=np.int64),
            starts=np.cumsum([0, *sizes], dtype=np.int64),
            successors=flat,
            cumulative=np.array([*chain.from_iterable(cumulative)]),
            rewards=rewards,
            deviations=spread,
            initial=np.cumsum(known.initial),
            first_reward=np.array([min(max(0.0, low), high)]),
        )
        made = MDPEnvironment(
            KERNELS, state, known.actions, single(known.states), (low, high), views=(self._view,)
        )
        made.rewards_of = known.rewards
        return made

    def reward_range(self) -> tuple[float, float]:
        """The lowest and the highest reward of a possible transition, noise included."""
        known = self._distribution
        if known.variances is None:
            return known.reward_range()
        far = FARTHEST * np.sqrt(known.variances[known.possible])
        means = known.rewards[known.possible]
        return float((means - far).min()), float((means + far).max())

    def claims(self) -> Claims:
        """Neither balanced nor sensitive: rewards are what they are, and actions may be alike."""
        return Claims(balanced=False)

    def complexity(self, instance: Instance) -> float:
        """The number of possible transitions, which is the size of the MDP's description."""
        return float(sum(len(row) for rows in instance.data["successors"] for row in rows))

    def complexity_range(self) -> tuple[float, float]:
        """The number of transitions that are possible in the class, twice."""
        possible = float(self._distribution.possible.sum())
        return possible, possible

    def overlay(self, instance: Instance, rng: np.random.Generator, steps: int) -> Overlay:  # noqa: ARG002
        """The states, each with its name and the mean reward of each action, which never change.

        Those that cannot be reached from an initial state are left out.
        """
        known, data = self._distribution, instance.data
        rows = zip(data["successors"], data["probabilities"], strict=True)
        leads = [
            [
                {to: p for to, p in zip(*action, strict=True) if p > 0}
                for action in zip(*row, strict=True)
            ]
            for row in rows
        ]
        reached = dict.fromkeys(np.flatnonzero(known.initial).tolist())
        for state in (waiting := list(reached)):
            following = {to for action in leads[state] for to in action} - reached.keys()
            reached |= dict.fromkeys(following)
            waiting += following
        numbers = {state: number for number, state in enumerate(sorted(reached))}
        names = self.state_names()
        squares: list[dict[str, Any]] = []
        for state in numbers:
            squares.append({"state": names[state]})
            for number, (name, action) in enumerate(
                zip(self.action_names(), leads[state], strict=True)
            ):
                means = (p * known.rewards[state, number, to] for to, p in action.items())
                squares[-1][f"reward of {name}"] = round(float(sum(means)), 12)
        successors = [
            sorted({numbers[to] for action in leads[state] for to in action}) for state in numbers
        ]
        overlay = Overlay.of(Graph(successors), squares, names=[names[state] for state in numbers])
        return replace(overlay, duration=steps)

    def scene(
        self, instance: Instance, observation: Observation, reward: float = 0.0
    ) -> Mapping[str, Any]:
        """The states, the transitions that are possible with their rewards, and the actions."""
        rewards = self._distribution.rewards
        names, places, buttons = self.state_names(), self.positions(), self.action_names()
        (state,) = np.atleast_1d(observation).tolist()
        return scenes.scene(instance, rewards, state, reward, places, names, buttons)

    def hidden(self, environment: Any) -> Mapping[str, Any]:
        """Where the actions lead from here, and the mean reward of each way."""
        state: MDPState = environment.state
        here, actions = state.place.tolist()
        ways: dict[tuple[int, float], list[str]] = {}
        for action, name in enumerate(self.action_names()):
            first, end = state.starts[here * actions + action :][:2].tolist()
            paid = state.rewards[first:end].tolist()
            for way in zip(state.successors[first:end].tolist(), paid, strict=True):
                ways.setdefault(way, []).append(name)
        names = self.state_names()
        return {
            "facts": {
                f"{' or '.join(using)} may lead to state {names[to]}": f"mean reward {paid:g}"
                for (to, paid), using in sorted(ways.items())
            }
        }


def instance_of(transitions: FloatArray, possible: np.ndarray[Any, np.dtype[np.bool_]]) -> Instance:
    """The instance with some transition probabilities, ``[state, action, successor]``.

    Args:
        transitions: The probabilities.
        possible: Which of them to keep.
    """
    pairs = [list(zip(*each, strict=True)) for each in zip(transitions, possible, strict=True)]
    return Instance(
        {
            "successors": [[np.flatnonzero(mask).tolist() for _, mask in row] for row in pairs],
            "probabilities": [[row[mask].tolist() for row, mask in rows] for rows in pairs],
        }
    )


def _checked(
    instance: Instance, known: MDPDistribution
) -> tuple[list[list[int]], list[list[float]]]:
    """The successors of each pair and their cumulative probabilities, which kernels trust."""
    successors = [row for rows in instance.data["successors"] for row in rows]
    given = [row for rows in instance.data["probabilities"] for row in rows]
    shape = {len(rows) for name in ("successors", "probabilities") for rows in instance.data[name]}
    if len(successors) != known.states * known.actions or shape != {known.actions}:
        message = f"The instance does not have {known.states} states and {known.actions} actions."
        raise InvalidInputError(message, "Build it with the class that drew it.")
    cumulative = []
    for pair, (row, probabilities) in enumerate(zip(successors, given, strict=True)):
        sums = list(accumulate(probabilities))
        fits = len(row) == len(sums) > 0 and min(row) >= 0 and max(row) < known.states
        if not fits or min(probabilities) < 0 or not abs(sums[-1] - 1) < 1e-6:
            x, u = divmod(pair, known.actions)
            message = f"The successors {row} of state {x}, action {u} and their probabilities "
            message += f"{probabilities} are not a distribution over {known.states} states."
            raise InvalidInputError(message, "Build an instance that the class drew.")
        cumulative.append([each / sums[-1] for each in sums])
    return successors, cumulative


def _rescaled(given: MDPDistribution) -> MDPDistribution:
    """The distribution with its rewards mapped linearly from their range to [-1, 1]."""
    low, high = given.reward_range()
    factor = 2 / (high - low) if high > low else 0.0
    rewards = (given.rewards - (low + high) / 2) * factor
    rewards = np.where(given.possible, rewards.clip(-1, 1), rewards)  # against rounding
    spread = None if given.variances is None else given.variances * factor**2
    return replace(given, rewards=rewards, variances=spread)


class MDP(FiniteMDPs):
    """Finite MDPs, drawn from a distribution that is given or stands in a file.

    Every row of transition probabilities is drawn from a Dirichlet distribution of its own, a flat
    Dirichlet-multinomial distribution (Bayesian RL benchmark, 5.2). Rewards are the same in all
    MDPs: constant, or normally distributed where variances are given; they are then at most 8.57
    standard deviations from their mean, as far as 53 random bits reach. Without any parameter there
    are two states and two actions, every theta is 1, and reaching the second state pays 1.

    Args:
        theta: The concentrations, ``[state][action][successor]``; 0 where a transition is
            impossible.
        rewards: The reward of each transition, or its mean, in the same shape; or one for each
            successor, or for each state and action.
        initial: The initial state, counted from 0, -1 for any with the same probability, or the
            probability of each.
        variances: The variance of each reward, as the rewards.
        file: The path of a file in place of these: TOML, JSON or NumPy (``.npz``) with
            the same names, or a distribution file of the authors' library. An experiment file of
            that library holds MDPs: exercise k is in MDP k then, counted from 0.
        rescale: Whether rewards are mapped linearly to [-1, 1].
    """

    def __init__(
        self,
        theta: list[Any] | None = None,
        rewards: list[Any] | None = None,
        initial: int | list[float] = 0,
        variances: list[Any] | None = None,
        file: str | None = None,
        rescale: bool = False,
    ) -> None:
        self.file = file
        self._stored: list[Instance] = []
        if file is not None:
            if not theta == rewards == variances is None or initial != 0:
                message = f"Both a file and what it holds are given: {file}."
                raise InvalidInputError(message, "Give either the file or theta and rewards.")
            known = read_file(file)
            if isinstance(known, StoredMDPs):
                self._stored = [instance_of(each, each > 0) for each in known.transitions]
                known = known.shared
        else:
            if (theta is None) != (rewards is None):
                given, needed = ("rewards", "theta") if theta is None else ("theta", "rewards")
                raise InvalidInputError(f"There are {given} without {needed}.", "Give both.")
            if theta is None:
                theta, rewards = np.ones((2, 2, 2)).tolist(), [0.0, 1.0]
            assert rewards is not None  # both are given, or none
            known = MDPDistribution.of(theta, rewards, initial, variances)
        super().__init__(known, rescale=rescale)

    def distribution(self) -> MDPDistribution:
        """The distribution that is drawn from, with rewards as they are paid."""
        if self._stored:
            message = f"{self.file} holds {len(self._stored)} MDPs, not their distribution."
            raise InvalidInputError(message, "Give a distribution as the prior.")
        return super().distribution()

    def draw(self, rng: np.random.Generator, complexity: float | None = None) -> Instance:
        """Draw an MDP; of those of a file each has the same probability."""
        if not self._stored:
            return super().draw(rng, complexity)
        wanted = self.complexity_range() if complexity is None else (complexity, complexity)
        among = self.members(*wanted, len(self._stored))
        if not among:
            message = f"{self.file} holds no MDP of complexity {complexity:g}."
            raise InvalidInputError(message, "Leave the complexity out.")
        return among[rng.integers(len(among))]

    def numbered(self, number: int) -> Instance | None:
        """The MDP of some number in an experiment file."""
        if not self._stored:
            return None
        if number >= len(self._stored):
            message = f"{self.file} holds {len(self._stored)} MDPs; there is no MDP {number}."
            raise InvalidInputError(message, f"Ask for at most {len(self._stored)} exercises.")
        return self._stored[number]

    def members(self, low: float, high: float, limit: int) -> list[Instance] | None:
        """The MDPs of an experiment file."""
        among = [each for each in self._stored if low <= self.complexity(each) <= high]
        return among if self._stored and len(among) <= limit else None

    def complexity_range(self) -> tuple[float, float]:
        """The lowest and the highest number of possible transitions."""
        if not self._stored:
            return super().complexity_range()
        complexities = [self.complexity(each) for each in self._stored]
        return min(complexities), max(complexities)
