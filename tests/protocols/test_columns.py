"""Scores from columns: the same from lists, in any order, and without drawing or making objects."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from omnimeter.contract import Ending, Fault, FaultKind, Outcome, Outcomes, Spec
from omnimeter.environments.cups import Cups
from omnimeter.protocols.battery import Battery
from omnimeter.protocols.bayesian import BayesianRL
from omnimeter.protocols.evaluation import Evaluation, judge, summarise
from omnimeter.protocols.perturbation import Perturbation
from omnimeter.protocols.sample import KEPT, Sample
from omnimeter.protocols.universal import UniversalAdjusted

AGENT, OTHER = Spec("random-v1"), Spec("constant-v1")
ITEM = {"environment_class": "cups-v1", "interactions": 5}
TESTS = {
    "sample": Sample("cups-v1", exercises=12, interactions=5, complexity=[3, 4, 6]),
    "precision": Sample("cups-v1", interactions=5, precision=0.1),
    "battery": Battery({"title": "Three alike", "exercises": [ITEM] * 3}, tests=4),
    "adjusted": UniversalAdjusted("cups-v1", 12, 5, adjustment="logarithmic-v1"),
    "bayesian": BayesianRL("gc-v1", exercises=4, interactions=5, trajectories=3),
    "perturbation": Perturbation("corners-v1", "corners-v1(rewards=[-10,10])", 4, exercises=12),
}
PAYOFFS = st.sampled_from([-1.0, -0.25, 0.1, 0.3, 1.0, None, "lost"])


def outcome(exercise, given):
    """What came of an exercise; ``None`` is a fault of the agent's own."""
    if isinstance(given, float):
        remarks = {"levels": {"before": given, "after": 0.0, "final": given, "recovery": None}}
        return Outcome(exercise, given, 5, given, 5, 5, Ending.BUDGET, remarks=remarks)
    kind = FaultKind.INFRASTRUCTURE if given == "lost" else FaultKind.AGENT_ERROR
    return Outcome(exercise, None, 0, 0.0, 0, 0, Ending.FAULT, fault=Fault(kind, "Oh."))


@pytest.mark.parametrize("name", TESTS)
@given(payoffs=st.lists(PAYOFFS, max_size=12), seed=st.integers(0, 99))
@settings(max_examples=30, deadline=None)
def test_a_score_is_the_same_from_a_list_and_from_columns_in_any_order(name, payoffs, seed):
    test = TESTS[name]
    done = [outcome(*each) for each in zip(test.propose(AGENT, []), payoffs, strict=False)]
    columns = Outcomes(done)
    assert test.score(done) == test.score(columns)
    assert test.values(done) == test.values(columns)
    order = np.random.default_rng(seed).permutation(len(done))
    expected, shuffled = (judge(test, {AGENT: each}, True) for each in (done, columns.take(order)))
    assert shuffled.scores == expected.scores
    assert shuffled.values == expected.values
    assert shuffled.outcomes[AGENT] == done
    left = test.propose(AGENT, columns.take(order))
    assert left == test.propose(AGENT, done)
    assert len(left) == len(left.numbers) == len(test.propose(AGENT, [])) - len(done)


class Counted(Cups):
    """Counts what is drawn."""

    drawn = 0

    def draw(self, rng, complexity=None):
        type(self).drawn += 1
        return super().draw(rng, complexity)


class Unsaid(Counted):
    """Does not say between which numbers rewards lie."""

    drawn = 0

    def reward_range(self):
        return None


def test_an_exercise_is_drawn_when_it_is_asked_for():
    sample = Sample(f"{__file__}:Counted", exercises=1_000_000, interactions=5)
    counted = type(sample.environment_class)
    proposed = sample.propose(AGENT, [])
    assert len(proposed) == len(proposed[:]) == 1_000_000
    assert sample.bounds() == (-1, 1)
    middle, others = proposed[500_000:500_003], sample.propose(OTHER, [])
    assert counted.drawn == 0
    assert [each.number for each in middle] == [500_000, 500_001, 500_002]
    assert middle[1] == proposed[500_001]
    assert [each.instance for each in others[500_000:500_003]] == [e.instance for e in middle]
    assert counted.drawn == 3
    assert proposed[-1].number == 999_999
    with pytest.raises(IndexError):
        proposed[1_000_000]


def test_what_is_kept_of_drawn_exercises_is_bounded():
    sample = Sample("cups-v1", exercises=3 * KEPT, interactions=5)
    first = sample.planned(0)
    assert sample.planned(0) is first
    for number in range(1, KEPT + 1):
        sample.planned(number)
    assert sample.planned(0) == first
    assert sample.planned(0) is not first


def test_a_finished_evaluation_is_judged_without_drawing():
    what = Evaluation(
        Spec("sample-v1", {"environment_class": f"{__file__}:Counted", "exercises": 6,
                           "interactions": 5, "seed": 3}), (AGENT,),
    )  # fmt: skip
    protocol = what.make_protocol()
    done = [outcome(each, 0.5) for each in protocol.propose(AGENT, [])]
    counted = type(protocol.environment_class)
    before = counted.drawn
    assert summarise(what, done).complete
    assert not summarise(what, done[1:]).complete
    assert counted.drawn == before


def test_bounds_of_a_class_that_does_not_say_its_range_are_those_of_its_environments():
    quiet = Sample(f"{__file__}:Unsaid", exercises=5, interactions=5)
    usual = Sample("cups-v1", exercises=5, interactions=5)
    assert quiet.bounds() == usual.bounds() == (-1, 1)
    assert type(quiet.environment_class).drawn == 5


def test_outcomes_are_grouped_by_their_agents():
    sample = TESTS["sample"]
    ours, theirs = (
        [outcome(each, 0.1) for each in sample.propose(agent, [])] for agent in (AGENT, OTHER)
    )
    mixed = [each for pair in zip(theirs, ours, strict=True) for each in pair]
    groups = Outcomes(mixed).by_agent((AGENT, OTHER, Spec("third")))
    assert [list(each) for each in groups.values()] == [ours, theirs, []]
    assert groups[AGENT] == ours
    assert groups[AGENT] != theirs
    assert groups[AGENT] != [replace(ours[0], payoff=0.2), *ours[1:]]
