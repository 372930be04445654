"""The agent that knows the MDP: the most that others can reach."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from omnimeter.agents.shared import require
from omnimeter.contract import Briefing, Prior
from omnimeter.contract.agent import FloatArray, IntArray
from omnimeter.contract.prior import require_discount
from omnimeter.kernels import AgentKernels, KernelAgent, kernel


class PolicyState(NamedTuple):
    """The action in each state."""

    policy: IntArray


@kernel
def policy_act(state: Any, reward: Any, observation: Any) -> Any:  # noqa: ARG001
    """Follow the policy."""
    return state.policy[observation[0]]


def optimal_values(transitions: FloatArray, rewards: FloatArray, gamma: float) -> FloatArray:
    """The optimal value of each state and action, by policy iteration: exact but for rounding.

    Args:
        transitions: The probability of each transition, ``[state, action, successor]``.
        rewards: The reward of each state and action.
        gamma: The discount factor.
    """
    states = np.arange(len(transitions))
    policy = rewards.argmax(axis=1)
    while True:
        followed = np.eye(len(states)) - gamma * transitions[states, policy]
        values = np.linalg.solve(followed, rewards[states, policy])
        quality = np.asarray(rewards + gamma * transitions @ values)
        gain = quality.max(axis=1) - quality[states, policy]
        if gain.max() <= 1e-11 * (1 + np.abs(values).max()):  # what rounding may do
            return quality
        policy = quality.argmax(axis=1)


class Optimal(KernelAgent):
    """Knows the MDP, and performs the best action: the upper reference of the Bayesian agents.

    It is told the MDP in the view ``model``, which MDP classes have. The best policy is that of an
    infinite horizon, found by policy iteration.

    Args:
        gamma: The discount factor of the return, where no prior tells it.
    """

    kernels = AgentKernels(PolicyState, act=policy_act)
    view = "model"

    def __init__(self, gamma: float = 0.95) -> None:
        require_discount(gamma)
        self.gamma = gamma

    def restore(self, prior: Prior, prepared: Mapping[str, Any]) -> None:  # noqa: ARG002
        """Take the discount factor of the prior."""
        self.gamma = prior.gamma

    def initial_state(self, briefing: Briefing) -> PolicyState:
        """The best policy."""
        told = {"transitions", "rewards"} <= briefing.remarks.keys()
        advice = "Use it with an MDP class, for example gc-v1."
        require(told, "The optimal agent has to be told the MDP, and was not.", advice)
        transitions = np.array(briefing.remarks["transitions"], dtype=np.float64)
        rewards = (transitions * np.array(briefing.remarks["rewards"])).sum(axis=2)
        return PolicyState(optimal_values(transitions, rewards, self.gamma).argmax(axis=1))
