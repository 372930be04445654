"""PPO in one file of plain PyTorch, on cups; what it learns takes part in evaluations.

Run ``python examples/plain_ppo.py``; it takes some seconds, prints a learning curve and writes
``plain_ppo.pt`` beside itself. Then ``omnimeter run --agent examples/plain_ppo.py:Trained --class
'cups(rule=rest)' --complexity 4`` scores it.
"""

from __future__ import annotations

import sys
from pathlib import Path

import gymnasium
import numpy as np
import torch
from torch import nn

import omnimeter.gymnasium_adapter  # noqa: F401 - registers the environments
from omnimeter import Agent, Briefing

CUPS = 4
WEIGHTS = Path(__file__).parent / "plain_ppo.pt"

ENVIRONMENTS, STEPS, EPOCHS, MINIBATCHES = 64, 32, 4, 4
RATE, DISCOUNT, TRACE, CLIP, ENTROPY = 2.5e-3, 0.95, 0.9, 0.2, 0.01


class Networks(nn.Module):
    """A policy and a value of the colours."""

    def __init__(self) -> None:
        super().__init__()
        self.policy, self.value = (
            nn.Sequential(nn.Linear(CUPS, 64), nn.Tanh(), nn.Linear(64, outputs))
            for outputs in (CUPS, 1)
        )

    def distribution(self, seen: torch.Tensor) -> torch.distributions.Categorical:
        """Of the actions, for each observation."""
        return torch.distributions.Categorical(logits=self.policy(seen))


def tensor(observations: np.ndarray) -> torch.Tensor:
    """Colours as numbers around 0."""
    return torch.as_tensor(2.0 * observations - 1.0, dtype=torch.float32)


def advantages(rewards: torch.Tensor, values: torch.Tensor) -> torch.Tensor:
    """Generalised advantage estimation; episodes never end. ``values`` has one row more."""
    result, last = torch.zeros_like(rewards), torch.zeros(rewards.shape[1])
    for step in reversed(range(len(rewards))):
        error = rewards[step] + DISCOUNT * values[step + 1] - values[step]
        result[step] = last = error + DISCOUNT * TRACE * last
    return result


def update(networks: Networks, optimizer: torch.optim.Optimizer, batch: list[torch.Tensor]) -> None:
    """Some epochs over one batch: observations, actions, log-probabilities, advantages, returns."""
    count = len(batch[0])
    for _ in range(EPOCHS):
        for part in torch.randperm(count).chunk(MINIBATCHES):
            seen, actions, before, gains, returns = (each[part] for each in batch)
            distribution = networks.distribution(seen)
            ratio = (distribution.log_prob(actions) - before).exp()
            gains = (gains - gains.mean()) / (gains.std() + 1e-8)
            clipped = ratio.clamp(1 - CLIP, 1 + CLIP)
            gained = torch.min(ratio * gains, clipped * gains).mean()
            missed = (networks.value(seen).squeeze(1) - returns).pow(2).mean()
            loss = 0.5 * missed - gained - ENTROPY * distribution.entropy().mean()
            optimizer.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(networks.parameters(), 0.5)
            optimizer.step()


def train(updates: int = 100, seed: int = 0) -> tuple[Networks, list[float]]:
    """The networks, and the mean reward of each batch."""
    torch.set_num_threads(1)  # networks as small as these only wait for more
    torch.manual_seed(seed)
    vector = gymnasium.make_vec(
        "omnimeter/cups-v1", ENVIRONMENTS, complexity=CUPS, rule="rest", copy=True
    )
    networks = Networks()
    optimizer = torch.optim.Adam(networks.parameters(), lr=RATE)
    seen, means = tensor(vector.reset(seed=seed)[0]), []
    for number in range(updates):
        rows: list[tuple[torch.Tensor, ...]] = []
        with torch.no_grad():
            for _ in range(STEPS):
                distribution = networks.distribution(seen)
                actions = distribution.sample()
                observations, rewards, *_ = vector.step(actions.numpy())
                value = networks.value(seen).squeeze(1)
                paid = torch.as_tensor(rewards, dtype=torch.float32)
                rows.append((seen, actions, distribution.log_prob(actions), value, paid))
                seen = tensor(observations)
            last = networks.value(seen).squeeze(1)
        columns = [torch.stack(each) for each in zip(*rows, strict=True)]
        values, paid = columns.pop(3), columns.pop(3)
        gains = advantages(paid, torch.cat([values, last[None]]))
        batch = [each.flatten(0, 1) for each in (*columns, gains, gains + values)]
        update(networks, optimizer, batch)
        means.append(float(paid.mean()))
        if number % 20 == 19:
            print(f"after {number + 1:3} updates: mean reward {np.mean(means[-20:]):+.3f}")
    return networks, means


class Trained(Agent):
    """What was learnt, as an agent.

    Args:
        weights: The file with the weights.
    """

    files = ("plain_ppo.pt",)

    def __init__(self, weights: str = str(WEIGHTS)) -> None:
        self.networks = Networks()
        self.networks.load_state_dict(torch.load(weights, weights_only=True))

    def begin(self, briefing: Briefing, rng: np.random.Generator) -> None:  # noqa: ARG002
        """Draw from the generator that the exercise gives."""
        self.rng = rng

    def act(self, reward: float, observation: np.ndarray) -> int:  # noqa: ARG002
        """Draw an action from the policy."""
        with torch.no_grad():
            shares = self.networks.distribution(tensor(observation)).probs.double().numpy()
        return int(self.rng.choice(CUPS, p=shares / shares.sum()))


if __name__ == "__main__":
    target = Path(sys.argv[1]) if len(sys.argv) > 1 else WEIGHTS
    torch.save(train()[0].state_dict(), target)
    print(f"written: {target}")
