"""Whether the interval of an anytime test covers the expected score, whenever it is stopped.

All sittings are independent and alike. So of many, groups of ten are tests, and the mean of all is
what their intervals should cover.
"""

from __future__ import annotations

import numpy as np
import pytest

from omnimeter.catalogue import Kind, make, parse
from omnimeter.contract import Spec
from omnimeter.execution.conduct import Conductor
from omnimeter.protocols.sittings import Sittings
from omnimeter.statistics import mean

TESTS, SITTINGS = 300, 10
AT_LEAST, AT_MOST = 0.93, 0.97
NOISE = 2 * (0.95 * 0.05 / TESTS) ** 0.5
"""What a simulation of so many tests cannot tell apart."""


def taken(protocol: Spec, agent: Spec) -> Sittings:
    """All sittings of a test that is taken in this process."""
    test = make(Kind.PROTOCOL, protocol)
    conductor, done = Conductor(), []
    while proposed := test.propose(agent, done):
        done += [outcome for outcome, _ in conductor.outcomes(proposed, test.payoff())]
    return Sittings(test.sittings, done)


def coverage(scores: np.ndarray) -> float:
    """How many tests of ten sittings have the mean of all sittings in their interval."""
    truth = float(np.mean(scores))
    found = [mean(group, support=(-1, 1)) for group in scores.reshape(TESTS, SITTINGS)]
    return float(np.mean([each.low <= truth <= each.high for each in found]))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("label", "agent", "length"),
    [
        ("automata-v1", "random", {"interactions": 200}),
        ("automata-v1", "q-learning", {"interactions": 200}),
        ("automata-v1", "slowed(agent=q-learning, seconds=0.001)", {"time": 0.2}),
        ("torus-v1", "torus-agent", {"interactions": 200}),
    ],
)
def test_the_interval_covers_the_expected_score_at_every_stopping_time(label, agent, length):
    protocol = "anytime-timed-v1" if "time" in length else "anytime-untimed-v1"
    parameters = {name: value * TESTS * SITTINGS for name, value in length.items()}
    if "time" in parameters:
        parameters |= {"clock": "virtual", "slot": 0.001}
    spec = Spec(
        protocol,
        {"environments": {"id": label}, "sittings": TESTS * SITTINGS, "seed": 11, **parameters},
    )
    table = taken(spec, parse(Kind.AGENT, agent)).table()
    running = np.cumsum(table, axis=0) / np.arange(1, len(table) + 1)[:, None]
    found = {place + 1: coverage(running[place]) for place in range(3, len(running), 3)}
    print(label, agent, {place: round(share, 3) for place, share in found.items()})
    assert len(found) >= 3
    assert min(found.values()) >= AT_LEAST - NOISE
    assert max(found.values()) <= AT_MOST + NOISE
