"""Agents with kernels and an accessible state, and how often they choose each action."""

from __future__ import annotations

from collections import Counter
from math import sqrt
from typing import Any

from omnimeter.contract import Briefing
from omnimeter.kernels import KernelAgent


def begun(agent: KernelAgent, briefing: Briefing, seed: int = 0) -> Any:
    """The state of an agent that begins, which can be inspected while the agent acts."""
    state = agent.initial_state(briefing)
    agent.initial_state = lambda _: state
    agent.begin(briefing, seed)
    return state


def check_shares(counts: Counter[int], shares: dict[int, float]) -> None:
    """Each action as often as its probability says, within five standard deviations."""
    total = sum(counts.values())
    assert set(counts) == set(shares)
    for action, share in shares.items():
        assert abs(counts[action] - total * share) < 5 * sqrt(total * share * (1 - share))
