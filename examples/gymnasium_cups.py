"""Tabular Q-learning on cups through Gymnasium, without any other part of Omnimeter.

Run ``python examples/gymnasium_cups.py``; it takes some seconds and prints a learning curve.
"""

from __future__ import annotations

import gymnasium
import numpy as np

import omnimeter.gymnasium_adapter  # noqa: F401 - registers the environments

CUPS = {"complexity": 4, "rule": "rest"}
RATE, DISCOUNT, EXPLORATION = 0.002, 0.9, 0.1


def rows(observations: np.ndarray) -> np.ndarray:
    """The row of the table for each observation: its colours read as a binary number."""
    return observations @ (1 << np.arange(observations.shape[-1]))


def train(reports: list[int]) -> np.ndarray:
    """Learn in many environments at once, and print the mean reward since the last report."""
    vector = gymnasium.make_vec("omnimeter/cups-v1", num_envs=256, **CUPS)
    rng = np.random.default_rng(0)
    actions_each = int(vector.single_action_space.n)
    table = np.zeros((2 ** int(CUPS["complexity"]), actions_each))
    states = rows(vector.reset(seed=0)[0])
    total, reported = 0.0, 0
    for step in range(1, reports[-1] + 1):
        explores = rng.random(256) < EXPLORATION
        actions = np.where(explores, rng.integers(actions_each, size=256), table[states].argmax(1))
        observations, rewards, *_ = vector.step(actions)
        next_states = rows(observations)
        errors = rewards + DISCOUNT * table[next_states].max(1) - table[states, actions]
        np.add.at(table, (states, actions), RATE * errors)
        states = next_states
        total += rewards.mean()
        if step in reports:
            print(f"until step {step:4}: mean reward {total / (step - reported):+.3f}")
            total, reported = 0.0, step
    return table


def evaluate(table: np.ndarray, seed: int, interactions: int = 2000) -> float:
    """The mean reward of the greedy policy in one new environment."""
    env = gymnasium.make("omnimeter/cups-v1", interactions=interactions, **CUPS)
    observation, _ = env.reset(seed=seed)
    total, truncated = 0.0, False
    while not truncated:
        action = table[rows(observation)].argmax()
        observation, reward, _, truncated, _ = env.step(action)
        total += float(reward)
    return total / interactions


if __name__ == "__main__":
    learned = train(reports=[10, 30, 100, 300, 1000, 3000])
    means = [evaluate(learned, seed) for seed in range(1000, 1010)]
    print(f"in ten new environments, greedy policy: mean reward {np.mean(means):+.3f}")
