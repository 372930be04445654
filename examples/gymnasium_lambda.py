"""Tabular Q-learning in one Lambda environment through Gymnasium.

Run ``python examples/gymnasium_lambda.py``; it takes a few seconds. The agent learns where Good
will be, and its mean reward ends far above that of an agent that follows Good by sight.
"""

from __future__ import annotations

from collections import defaultdict

import gymnasium
import numpy as np

import omnimeter.gymnasium_adapter  # noqa: F401 - registers the environments

SPACE = (
    "12+3-----|12+++++3-----|1-2------3++|1-----2++++++3-|"
    "12+3++++++|1-----23-------|1++++++2-------3++|1----2+++3+"
)
"""The eight cells of the Lambda thesis, section 5.3."""

RATE, DISCOUNT = 0.05, 0.35


def train(steps: int, reports: int = 5, seed: int = 0) -> list[float]:
    """Learn for some steps; print and return the mean reward of each part."""
    env = gymnasium.make("omnimeter/lambda-v1", space=SPACE, pattern="203210200", view="state")
    rng = np.random.default_rng(seed)
    actions = int(env.action_space.n)
    table: dict[bytes, np.ndarray] = defaultdict(lambda: np.full(actions, 1.0))  # optimistic
    observation, _ = env.reset(seed=seed)
    means = []
    for part in range(reports):
        total = 0.0
        for _ in range(steps // reports):
            values = table[observation.tobytes()]
            action = rng.choice(np.flatnonzero(values == values.max()))
            observation, reward, *_ = env.step(action)
            total += float(reward)
            next_value = table[observation.tobytes()].max()
            values[action] += RATE * (reward + DISCOUNT * next_value - values[action])
        means.append(total / (steps // reports))
        print(f"part {part + 1} of {reports}: mean reward {means[-1]:+.3f}")
    return means


if __name__ == "__main__":
    train(steps=50_000)
