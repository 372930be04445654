"""Agents perturbed in the middle of an exercise: permuted actions, noise, lost memory, delay."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from omnimeter.agents.shared import delay_from_seconds, require
from omnimeter.catalogue import Kind, given_spec, make
from omnimeter.contract import Agent, Briefing
from omnimeter.contract.agent import MEMORY, FloatArray, IntArray
from omnimeter.interaction.adapters import adapt
from omnimeter.interaction.wrapping import OuterKernels, wrap_agent
from omnimeter.kernels import below, generator_state, kernel, uniform

COUNT, AT, DELAY = range(3)
MISSING, NOISE, ERASED = range(3)


class PerturbedState(NamedTuple):
    """What happens to the agent inside.

    Attributes:
        sizes: How many values each component of an observation has.
        permutation: The action that is performed in place of each; empty if actions stay.
        numbers: Actions chosen so far; after how many the perturbation begins; the nanoseconds that
            are added to each action.
        shares: The probabilities that a component is missing, and that it is replaced; the share of
            the memory that is erased.
    """

    rng: NDArray[np.uint64]
    sizes: IntArray
    permutation: IntArray
    numbers: IntArray
    shares: FloatArray


@kernel
def begin(state: Any) -> None:
    """Draw the permutation, any but the identity; no action chosen yet."""
    state.numbers[COUNT] = 0
    actions = len(state.permutation)
    identity = actions > 1
    for action in range(actions):
        state.permutation[action] = action
    while identity:
        for action in range(actions - 1, 0, -1):
            other = below(state.rng, action + 1)
            moved = state.permutation[action]
            state.permutation[action] = state.permutation[other]
            state.permutation[other] = moved
        for action in range(actions):
            identity = identity and state.permutation[action] == action


@kernel
def observe(state: Any, reward: Any, observation: Any, seen: Any) -> Any:
    """Replace components at random, each on its own; rewards stay."""
    state.numbers[COUNT] += 1
    missing = state.shares[MISSING]
    either = missing + state.shares[NOISE]
    if state.numbers[COUNT] > state.numbers[AT] and either > 0.0:
        for component in range(len(seen)):
            drawn = uniform(state.rng)
            if drawn < missing:
                seen[component] = 0
            elif drawn < either:
                seen[component] = below(state.rng, state.sizes[component])
            else:
                seen[component] = observation[component]
    return reward


@kernel
def perform(state: Any, action: Any) -> Any:
    """Perform another action, if actions are permuted; what is no action stays, to be reported."""
    if state.numbers[COUNT] > state.numbers[AT] and action < len(state.permutation):
        return state.permutation[action]
    return action


@kernel
def delay(state: Any) -> Any:
    """Take longer."""
    return state.numbers[DELAY] if state.numbers[COUNT] > state.numbers[AT] else 0


@kernel
def request(state: Any) -> Any:
    """Erase memory, once."""
    if state.numbers[COUNT] == state.numbers[AT] + 1 and state.shares[ERASED] > 0.0:
        state.shares[ERASED] = -state.shares[ERASED]
        return MEMORY
    return -1


@kernel
def amount(state: Any) -> Any:
    """The share of the memory to erase."""
    return abs(state.shares[ERASED])


PERTURBED = OuterKernels(PerturbedState, begin=begin, observe=observe, action=perform, delay=delay)
ERASING = OuterKernels(
    PerturbedState,
    begin=begin,
    observe=observe,
    action=perform,
    delay=delay,
    request=request,
    amount=amount,
)


class Perturbed(Agent):
    """Acts as another agent does until something happens to it, of which it is not told.

    Perturbations of the agent itself, in the sense of the paper on perturbation tolerance. Several
    can happen at once. Around an agent of kernels it runs compiled.

    Args:
        agent: The agent to perturb: ``q-learning``, ``my_agent.py:MyAgent``, or
            the JSON of a spec.
        at: The number of interactions before it happens.
        actions: ``permuted``: from then on each action is performed in place of another, by a
            random permutation that is not the identity.
        noise: The probability that a component of an observation is replaced by a random value.
        missing: The probability that a component of an observation is replaced by 0.
        erased: The share of its memory, chosen at random, that is erased once. The agent must have
            the method ``adjust``.
        delay: How many seconds each action takes longer than the agent itself declares.
    """

    def __new__(
        cls,
        agent: str | dict[str, Any],
        at: int,
        actions: Literal["permuted"] | None = None,
        noise: float = 0.0,
        missing: float = 0.0,
        erased: float = 0.0,
        delay: float = 0.0,
    ) -> Any:
        """An agent around the other one."""
        require(at >= 0, f"There cannot be {at} interactions before.", "Give a number from 0 up.")
        shares = {"noise": noise, "missing": missing, "erased": erased}
        for name, share in shares.items():
            require(0 <= share <= 1, f"{name} is {share}.", "Give a number from 0 to 1.")
        require(
            noise + missing <= 1,
            f"Components cannot be noisy with probability {noise} and missing with {missing}.",
            "Give probabilities whose sum is at most 1.",
        )
        require(
            bool(actions or delay or any(shares.values())),
            "Nothing happens to the agent.",
            "Give at least one of actions, noise, missing, erased and delay.",
        )
        delay_ns = delay_from_seconds(delay) if delay else 0
        inner = adapt(make(Kind.AGENT, given_spec(Kind.AGENT, agent)))
        state = _Begun(actions == "permuted", (at, delay_ns), (missing, noise, erased))
        return wrap_agent(inner, ERASING if erased else PERTURBED, state)


@dataclass(frozen=True, slots=True)
class _Begun:
    """Makes the state at the beginning of an exercise."""

    permuted: bool
    numbers: tuple[int, int]
    shares: tuple[float, float, float]

    def __call__(self, briefing: Briefing) -> PerturbedState:
        actions = briefing.actions if self.permuted else 0
        return PerturbedState(
            generator_state(),
            np.array(briefing.space.sizes, dtype=np.int64),
            np.arange(actions, dtype=np.int64),
            np.array([0, *self.numbers], dtype=np.int64),
            np.array(self.shares, dtype=np.float64),
        )
