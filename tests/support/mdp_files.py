"""Writes the files of the authors' library (BBRL), as far as their layout is known or inferred."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from omnimeter.contract import MDPDistribution
from omnimeter.contract.agent import FloatArray


def _table(values: FloatArray) -> list[str]:
    """A table action by action, with a row per state."""
    rows = values.swapaxes(0, 1).reshape(-1, len(values))
    return ["\t".join(f"{each:.15g}" for each in row) for row in rows]


def _values(known: MDPDistribution, weights: FloatArray) -> list[str]:
    initial = int(known.initial.argmax()) if known.initial.max() == 1 else -1
    gaussian = int(known.variances is not None)
    return [
        *map(str, (known.states, known.actions, initial)),
        *_table(weights),
        str(gaussian),
        *_table(known.rewards),
        str(gaussian),
        *([] if known.variances is None else _table(known.variances)),
    ]


def distribution_text(known: MDPDistribution) -> str:
    """A distribution file."""
    values = _values(known, known.theta)
    names = ["A long name (5, 3)", "short"]
    header = ["Serializable", "0", "IMDPDistribution", "2", *names, "MDPDistribution", "0"]
    return "\n".join([*header, "DirMultiDistribution", str(len(values)), *values, ""])


def mdp_text(known: MDPDistribution, transitions: FloatArray) -> str:
    """An MDP of an experiment file."""
    values = _values(known, transitions)
    return "\n".join(["Serializable", "0", "MDP", str(len(values)), *values, ""])


def experiment_text(known: MDPDistribution, mdps: Sequence[FloatArray]) -> str:
    """An experiment file of which one MDP has been played, for three steps."""
    lines = ["Serializable", "0", "Experiment", "9", "An experiment", str(len(mdps))]
    for each in mdps:
        text = mdp_text(known, each)
        lines += [str(len(text)), text.removesuffix("\n")]
    return "\n".join([*lines, "1", "0.25", "0", "3", "0\t2\t10", "1", "0.95", "250", "0", ""])


def drawn(known: MDPDistribution, count: int) -> list[FloatArray]:
    """The transition probabilities of some MDPs."""
    rng = np.random.default_rng(3)
    return [known.draw(rng) for _ in range(count)]
