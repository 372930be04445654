"""The cost of the payoffs of a trace, relative to running the exercise.

Run ``python benchmarks/payoffs.py``. There is no limit: it shows which payoffs would be worth work.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import partial

import numpy as np
from loop import AGENT, CUPS, make_exercises
from measuring import fastest

from omnimeter.catalogue import Kind, listing, make
from omnimeter.contract import Spec
from omnimeter.interaction import run_single

INTERACTIONS = 100_000
ENDS = 1_000
"""Points of a curve."""


def main() -> int:
    exercises = make_exercises(1, INTERACTIONS)
    (trace,) = run_single(CUPS, AGENT, exercises)
    ends = np.linspace(0, trace.end_ns, ENDS).astype(np.int64)
    rivals: dict[str, Callable[[], object]] = {
        "the loop": lambda: list(run_single(CUPS, AGENT, exercises))
    }
    for entry in listing(Kind.PAYOFF):
        payoff = make(Kind.PAYOFF, Spec(entry.id))
        rivals[entry.id] = partial(payoff, trace)
        rivals[f"{entry.id} at {ENDS} ends"] = partial(payoff.along, trace, ends)
    costs = {name: best / INTERACTIONS for name, best in fastest(rivals).items()}
    print(f"{'':32}{'ns per interaction':>20}{'of the loop':>14}")
    for name, cost in costs.items():
        print(f"{name:32}{cost:20.2f}{cost / costs['the loop']:13.2f}x")
    return 0


if __name__ == "__main__":
    sys.exit(main())
