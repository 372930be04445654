"""Small problems for Bayesian planners, and what they do in them.

``python planner_parts.py`` prints the runs, so that those of another process can be compared.
"""

from __future__ import annotations

import json
from typing import Any

import numpy as np

from choosing import begun
from omnimeter.agents.bayesian.bamcp import BAMCP
from omnimeter.agents.bayesian.bfs3 import BFS3
from omnimeter.agents.bayesian.exhaustive import BayesOptimal
from omnimeter.agents.bayesian.model import BayesianAgent
from omnimeter.contract import Briefing, MDPDistribution, Prior, Space

TWO = MDPDistribution.of(
    [[[1, 1], [3, 1]], [[1, 2], [2, 1]]],
    [[[0, 1], [0.5, 0]], [[0, 0.25], [1, 0.5]]],
)
"""Two states, two actions."""

THREE = MDPDistribution.of(
    [[[0.3, 0.7, 2.0], [1, 0, 0]], [[0, 1, 1.5], [0.2, 0.2, 0.2]], [[1, 1, 1], [0, 0, 4]]],
    [[1.0, -0.5], [0.0, 2.0], [0.3, 0.3]],
)
"""Three states, rows of one to three successors, concentrations that are not whole numbers."""


def started(
    agent: BayesianAgent,
    known: MDPDistribution,
    horizon: int = 4,
    gamma: float = 0.9,
    seed: int = 0,
) -> Any:
    """The state of an agent that begins with a prior."""
    prior = Prior(known, gamma, horizon)
    agent.restore(prior, agent.prepare(prior, np.random.default_rng(0)))
    briefing = Briefing(known.actions, Space((known.states,), single=True), rewards=(-9.0, 9.0))
    return begun(agent, briefing, seed)


def planners() -> dict[str, BayesianAgent]:
    """One agent of each kind, small enough to run as plain Python."""
    return {
        "bamcp": BAMCP(40, 5),
        "bfs3": BFS3(12, 4, 3),
        "bfs3 printed": BFS3(12, 4, 3, "printed"),
        "bayes-optimal": BayesOptimal(3),
    }


def run(agent: BayesianAgent, steps: int = 12) -> list[Any]:
    """Actions, states and values of an agent in an MDP, bit for bit."""
    state = started(agent, THREE, steps)
    rng = np.random.default_rng(5)
    transitions, x, reward = THREE.draw(rng), 0, 0.0
    record = []
    for _ in range(steps):
        u = int(agent.act(reward, x))  # type: ignore[arg-type] # no delay
        values = state.returns if isinstance(agent, BAMCP) else state.values
        record.append([u, x, [float(each).hex() for each in values[: THREE.actions]]])
        y = int(rng.choice(THREE.states, p=transitions[x, u]))
        x, reward = y, float(THREE.rewards[x, u, y])
    return record


if __name__ == "__main__":
    print(json.dumps({name: run(agent) for name, agent in planners().items()}))
