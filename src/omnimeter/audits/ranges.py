"""Whether rewards stay in the range that their environment declares."""

from __future__ import annotations

import numpy as np

from omnimeter.audits.finding import Finding, counted
from omnimeter.audits.subject import RUNS, Subject


def check_range(subject: Subject) -> Finding:
    """Every reward seen lies in the declared range; also, whether that is [-1, 1].

    Symmetric rewards are Definition 12 of the anytime test.
    """
    runs = subject.runs
    declared = np.array([environment.rewards for environment in subject.environments])
    inside = (declared[:, 0] <= runs.lowest) & (runs.highest <= declared[:, 1])
    low, high = float(declared[:, 0].min()), float(declared[:, 1].max())
    symmetric = bool(np.all(declared == (-1.0, 1.0)))
    witness = None
    if inside.all():
        summary = f"All rewards lie in the declared range [{low:g}, {high:g}]"
    else:
        first = int(np.argmin(inside))
        summary = (
            f"In {np.sum(~inside)} of {counted(subject.count, 'instance')} a reward is out of range"
        )
        witness = {
            "instance": dict(subject.instances[first].data),
            "declared": declared[first],
            "lowest": runs.lowest[first],
            "highest": runs.highest[first],
        }
    return Finding(
        "range",
        claimed=True,
        passed=bool(inside.all()),
        summary=summary + (", which is symmetric." if symmetric else ", which is not [-1, 1]."),
        numbers={
            "declared": [low, high],
            "lowest": float(runs.lowest.min()),
            "highest": float(runs.highest.max()),
            "symmetric": symmetric,
            "rewards": subject.count * RUNS * subject.interactions,
        },
        witness=witness,
    )
