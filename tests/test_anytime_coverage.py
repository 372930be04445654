"""Whether the interval of an anytime test covers the expected score, whenever it is stopped.

All sittings are independent and alike. So any ten of many are a test, and the mean of all is what
their intervals should cover.
"""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import t

from omnimeter.catalogue import Kind, make, parse
from omnimeter.contract import Spec
from omnimeter.execution.conduct import Conductor
from omnimeter.protocols.sittings import Sittings
from omnimeter.statistics import mean

ALL, SITTINGS, TESTS = 3000, 10, 20_000
AT_LEAST, AT_MOST = 0.93, 0.97


def taken(protocol: Spec, agent: Spec) -> Sittings:
    """All sittings of a test that is taken in this process."""
    test = make(Kind.PROTOCOL, protocol)
    conductor, done = Conductor(), []
    while proposed := test.propose(agent, done):
        done += [outcome for outcome, _ in conductor.outcomes(proposed, test.payoff())]
    return Sittings(test.sittings, done)


def covered(scores: np.ndarray, level: float = 0.95) -> np.ndarray:
    """Whether the interval of a test of ten of these sittings has the mean of all in it.

    It is always the same tests, whatever the scores of their sittings are.
    """
    rng = np.random.default_rng(0)
    tests = scores[rng.integers(len(scores), size=(TESTS, SITTINGS))]
    half = t.ppf((1 + level) / 2, SITTINGS - 1) * tests.std(axis=1, ddof=1) / SITTINGS**0.5
    found = np.abs(tests.mean(axis=1) - scores.mean()) <= half
    for place in np.flatnonzero(np.ptp(tests, axis=1) == 0):  # all the same: another rule
        estimate = mean(tests[place], level, support=(-1, 1))
        found[place] = estimate.low <= scores.mean() <= estimate.high
    return found


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
    parameters = {name: value * ALL for name, value in length.items()}
    if "time" in parameters:
        parameters |= {"clock": "virtual", "slot": 0.001}
    spec = Spec(
        protocol,
        {"environments": {"id": label}, "sittings": ALL, "seed": 11, **parameters},
    )
    table = taken(spec, parse(Kind.AGENT, agent)).table()
    running = np.cumsum(table, axis=0) / np.arange(1, len(table) + 1)[:, None]
    found = {place: covered(scores).mean() for place, scores in enumerate(running, start=1)}
    print(label, agent, {place: round(share, 3) for place, share in found.items()})
    assert len(found) >= 10
    assert min(found.values()) >= AT_LEAST
    assert max(found.values()) <= AT_MOST
    stopped_badly = 1 - np.all([covered(scores) for scores in running], axis=0).mean()
    watched = 1 - np.all([covered(s, 1 - 0.05 / len(running)) for s in running], axis=0).mean()
    print(f"not covered after some round: {stopped_badly:.3f}, if watched {watched:.3f}")
    assert stopped_badly > 0.07  # so it does matter
    assert watched <= 0.05
