"""What the history of rewards and times in an adaptive test says beside the score."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from omnimeter.contract import NANOSECONDS, Outcome
from omnimeter.protocols.sittings import Sittings
from omnimeter.statistics.reliability import stability


def parts(sittings: Sittings) -> dict[str, Any]:
    """The named numbers beside an adaptive test's score, from its complete rounds.

    ``rounds``: how many are complete. ``level``: the mean complexity of the last one's
    environments. ``slot``: how long it lasted, in seconds or interactions. ``stability``: how
    settled the running score is, from 0 to 1 (Lambda thesis, section 7.3). ``spread``: the standard
    deviation between sittings. ``potential``: the mean of the average rewards where the agent had
    time to act at all. ``speed``: actions per second of its own time. ``idle``: the share of
    exercises in which it had no time to act.
    """
    complete = sittings.complete()
    if not complete:
        return {"rounds": 0}
    last = list(complete[-1].values())
    outcomes = [e for done in complete for e in done.values() if e.payoff is not None]
    if not outcomes:
        return {"rounds": len(complete)}
    values = list(sittings.values().values())
    budget = last[0].exercise.budget
    found = {
        "rounds": len(complete),
        "level": float(np.mean([each.exercise.complexity for each in last])),
        "slot": budget.seconds if budget.interactions is None else budget.interactions,
        "stability": stability(sittings.running()),
        "spread": float(np.std(values, ddof=1)) if len(values) > 1 else None,
        "potential": potential(outcomes),
        "idle": sum(not each.interactions for each in outcomes) / len(outcomes),
    }
    if budget.seconds is not None:
        found["speed"] = speed(outcomes)
    return found


def potential(outcomes: Sequence[Outcome]) -> float | None:
    """How well the agent did where it had time to act, however long it took (section 7.2).

    The mean over these exercises of the average reward (Definition 14).
    """
    acted = [each.total / each.interactions for each in outcomes if each.interactions]
    return float(np.mean(acted)) if acted else None


def speed(outcomes: Sequence[Outcome]) -> float | None:
    """How many actions the agent completed per second of its own time (section 7.2)."""
    actions = sum(each.interactions for each in outcomes)
    spent = sum(each.last_time for each in outcomes)
    return actions * NANOSECONDS / spent if spent else None
