"""The four worked examples of the papers, as data."""

from __future__ import annotations

from typing import Any

MATCHING = [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]]
"""Button B_i pays when the ball is in cell C_i."""

EXAMPLES: dict[str, dict[str, Any]] = {
    # Fixed-time payoffs, "Example": the ball changes cells in turn, a right button pays 0.1.
    "alternating": {
        "scenes": [[0], [1]],
        "pays": [[0.1, 0.0, 0.0], [0.0, 0.1, 0.0]],
        "order": "turn",
        "values": [2],
        "first_reward": 0.0,
        "shrink": 1.0,
        "rewards": [0.0, 1.0],
    },
    # Anytime test, Example 1: a banana for the button of the ball's cell, and one to begin with.
    "bananas": {
        "scenes": [[0], [1], [2]],
        "pays": MATCHING,
        "order": "chance",
        "values": [3],
        "first_reward": 1.0,
        "shrink": 1.0,
        "rewards": [0.0, 1.0],
    },
    # Anytime test, Example 2: reward-bounded, r_k = 1 / 2**(k - 1) for a right button.
    "bounded": {
        "scenes": [[0], [1], [2]],
        "pays": MATCHING,
        "order": "chance",
        "values": [3],
        "first_reward": 0.0,
        "shrink": 0.5,
        "rewards": [0.0, 1.0],
    },
    # Anytime test, Example 4: three cells, one empty (0), one white (1), one black (2).
    "balanced": {
        "scenes": [[0, 1, 2], [0, 2, 1], [1, 0, 2], [1, 2, 0]],
        "pays": [[0.0, 1.0, -1.0], [0.0, -1.0, 1.0], [1.0, 0.0, -1.0], [1.0, -1.0, 0.0]],
        "order": "chance",
        "values": [3, 3, 3],
        "first_reward": 0.0,
        "shrink": 1.0,
        "rewards": [-1.0, 1.0],
    },
}
