"""Whether the interval of an anytime test covers the expected score, whenever it is stopped.

All repetitions are independent and alike. So any twenty of many are a test, and the mean of all is
what their intervals should cover.
"""

from __future__ import annotations

import numpy as np
import pytest

from omnimeter.catalogue import Kind, make, parse
from omnimeter.contract import Spec
from omnimeter.estimation import mean
from omnimeter.execution.workers import ExerciseRunner
from omnimeter.protocols.repetitions import Repetitions

ALL, REPETITIONS, TESTS = 3000, 20, 800
AT_LEAST, AT_MOST = 0.92, 0.98


def taken(protocol: Spec, agent: Spec) -> Repetitions:
    """All repetitions of a test that is taken in this process."""
    test = make(Kind.PROTOCOL, protocol)
    runner, done = ExerciseRunner(), []
    while proposed := test.propose(agent, done):
        done += [outcome for outcome, _ in runner.outcomes(proposed, test.payoff())]
    return Repetitions(test.repetitions, done, test.share)


def covered(scores: np.ndarray, level: float = 0.95) -> np.ndarray:
    """Whether the interval of a test of twenty of these repetitions has the mean of all in it.

    It is always the same tests, whatever the scores of their repetitions are.
    """
    rng = np.random.default_rng(0)
    tests = scores[rng.integers(len(scores), size=(TESTS, REPETITIONS))]
    estimates = [mean(each, level, support=(-1, 1)) for each in tests]
    return np.array([each.low <= scores.mean() <= each.high for each in estimates])


def running(label: str, agent: str, length: dict[str, float]) -> np.ndarray:
    """The score of each of many repetitions (column) after each round (row)."""
    protocol = "anytime-timed-v1" if "time" in length else "anytime-untimed-v1"
    whole = {name: value * ALL for name, value in length.items() if name != "slot"}
    given = {"environment_class": {"id": label}, "repetitions": ALL, "seed": 11, **length, **whole}
    clock = {"clock": "virtual"} if "time" in length else {}
    done = taken(Spec(protocol, {**given, **clock}), parse(Kind.AGENT, agent))
    places = range(1, len(done.complete()) + 1)
    return np.array([list(done.values(rounds=place).values()) for place in places])


def missed_in_some_round(scores: np.ndarray, level: float) -> float:
    """In how many tests the interval of at least one round misses its true value."""
    return float(1 - np.all([covered(each, level) for each in scores], axis=0).mean())


SLOW = "slowed(agent=q-learning, seconds=0.001)"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("label", "agent", "length"),
    [
        ("automata-v1", "random", {"interactions": 200}),
        ("automata-v1", "q-learning", {"interactions": 200}),
        ("automata-v1", SLOW, {"time": 0.2, "slot": 0.001}),
        ("torus-v1", "torus-agent", {"interactions": 200}),
    ],
)
def test_the_interval_covers_the_expected_score_at_every_stopping_time(label, agent, length):
    scores = running(label, agent, length)
    shares = [round(float(covered(each).mean()), 3) for each in scores]
    at_all = missed_in_some_round(scores, 0.95)
    watched = missed_in_some_round(scores, 1 - 0.05 / len(scores))
    print(label, agent, shares, f"missed in some round: {at_all:.3f}, if watched {watched:.3f}")
    assert len(shares) >= 10
    assert min(shares) >= AT_LEAST
    assert max(shares) <= AT_MOST
    assert at_all > 0.08  # so it matters whether the test was watched
    assert watched <= 0.05


@pytest.mark.slow
def test_watching_many_rounds_is_seldom_wrong_either():
    scores = running("automata-v1", SLOW, {"time": 0.2, "slot": 1e-6})
    watched = missed_in_some_round(scores, 1 - 0.05 / len(scores))
    print(len(scores), f"rounds, missed in some, if watched: {watched:.3f}")
    assert len(scores) >= 25
    assert watched <= 0.05
