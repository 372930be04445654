"""What the tests with and without time say together, and what the harness costs."""

import pytest

from omnimeter.cli.session import harness_sentence
from omnimeter.contract import Interval, Score, Spec
from omnimeter.execution.harness import HarnessCost, measure
from omnimeter.execution.workers import make_environment_class
from omnimeter.protocols.anytime import AnytimeTimed
from omnimeter.reports.summary import characterise

AGENT = Spec("random-v1")


def score(low, high, idle=0.0, rounds=20):
    parts = {"idle": idle, "speed": 5.0, "rounds": rounds}
    return Score((low + high) / 2, Interval(low, high), 10, parts=parts)


@pytest.mark.parametrize(
    ("timed", "untimed", "kind"),
    [
        (score(0.4, 0.5), score(0.4, 0.6), "fast and intelligent"),
        (score(0.2, 0.3), score(0.4, 0.6), "fast and intelligent"),
        (score(-0.1, 0.1), score(0.4, 0.6), "slow but intelligent"),
        (score(-0.5, 0.5, idle=0.9), score(0.4, 0.6), "slow but intelligent"),
        (score(-0.1, 0.5), score(0.4, 0.6), "cannot be told"),
        (score(-0.05, 0.05), score(-0.05, 0.05), "fast but dull"),
        (score(-0.05, 0.05, idle=0.9), score(-0.05, 0.05), "slow and dull"),
        (score(-0.1, 0.2), score(-0.1, 0.1), "cannot be told"),
        (score(0.04, 0.08), score(-0.01, 0.03), "cannot be told"),
        (score(-0.5, 0.5, idle=0.9, rounds=3), score(0.4, 0.6), "cannot be told"),
        (Score(0.0, None, 1), score(0.4, 0.6), "cannot be told"),
        (score(0.4, 0.6), Score(None, Interval(-1, 1), 0), "cannot be told"),
    ],
)
def test_slowness_is_told_from_dullness(timed, untimed, kind):
    character = characterise(AGENT, timed, untimed)
    assert character.kind == kind
    assert character.reason


@pytest.mark.parametrize("isolated", [False, True])
def test_the_harness_is_measured_with_an_agent_that_does_nothing(isolated):
    (first, *_) = AnytimeTimed("cups-v1", time=1.0).propose(AGENT, [])
    cost = measure(make_environment_class(first.environment_class), first, isolated=isolated)
    assert 0 < cost.charged < 1e6
    assert 0 < cost.uncharged < 1e7
    assert cost.interactions > 1000
    assert cost.isolated is isolated


def test_the_harness_in_a_line():
    assert "charged 100 ns per action" in harness_sentence(HarnessCost(100, 2000, 500))
    assert "take 2 µs more" in harness_sentence(HarnessCost(100, 2000, 500))
    assert "process of its own" in harness_sentence(HarnessCost(100, 2000, 500, isolated=True))
