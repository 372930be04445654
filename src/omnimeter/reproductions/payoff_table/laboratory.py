"""Simulated agents in the papers' examples, run once and judged by every payoff."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache

import numpy as np

from omnimeter.agents.apprentice import Apprentice
from omnimeter.agents.opportunists import Rester, Stopper, Waiter
from omnimeter.agents.random_agent import RandomAgent
from omnimeter.contract import FloatArray
from omnimeter.environments.buttons import Buttons
from omnimeter.interaction import KernelAgent
from omnimeter.reproductions.payoff_table.columns import PAYOFFS, RIGHT, Example, Payoff
from omnimeter.reproductions.simulation import simulate

AGENTS: dict[str, Callable[..., KernelAgent]] = {
    "random": RandomAgent,
    "stopper": Stopper,
    "rester": Rester,
    "waiter": Waiter,
}


@lru_cache(maxsize=256)
def _values(
    example: Example, kind: str, parameters: tuple[tuple[str, float], ...], tau: float, runs: int
) -> dict[Payoff, FloatArray]:
    """The runs of an agent, judged by all payoffs of the table while they pass by."""
    given = dict(parameters)
    make = AGENTS.get(kind)
    agent = Apprentice(RIGHT[example], **given) if make is None else make(**given)  # type: ignore[arg-type]
    traces = simulate(Buttons(example), agent, tau, runs)
    table = np.array([[payoff(trace) for payoff in PAYOFFS] for trace in traces])
    return dict(zip(PAYOFFS, table.T, strict=True))


def payoffs(
    payoff: Payoff, example: Example, kind: str, tau: float, runs: int = 1000, **parameters: float
) -> FloatArray:
    """The payoff of each run of an agent: run k has the same chances for every agent.

    Args:
        payoff: What judges the traces.
        example: The environment.
        kind: ``random``, ``stopper``, ``rester``, ``waiter`` or ``apprentice``.
        tau: How long, in seconds.
        runs: How many runs.
        parameters: The parameters of the agent.
    """
    return _values(example, kind, tuple(sorted(parameters.items())), tau, runs)[payoff]
