"""The searchers of target location: how they walk, what they call targets, and what R_V does."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from math import comb, prod

import numpy as np
import pytest

from omnimeter.agents.searchers import BayesSearcher, RuleSearcher, Sweep
from omnimeter.contract import (
    Briefing,
    Budget,
    Ending,
    Exercise,
    InvalidInputError,
    Space,
    Spec,
    stream,
)
from omnimeter.environments.cups import Cups
from omnimeter.environments.pworld import PWorld, located
from omnimeter.environments.pworld.tasks import FEATURES, HIKER, WARMTHS
from omnimeter.interaction import run_single

SEARCHERS = [Sweep, RuleSearcher, BayesSearcher, partial(BayesSearcher, profiles="learnt")]


def searched(world, make, number=0, turns=2_000):
    """The search of an agent in one instance, and its trace."""
    instance = world.draw(stream(1, "instance", number).generator())
    exercise = Exercise(
        Spec("agent"), Spec("class"), instance, Budget(interactions=turns), seed=2, number=number
    )
    (trace,) = run_single(world, make, [exercise], record=True)
    assert trace.fault is None, trace.fault
    return located(instance, trace, world.perception), trace


def test_a_search_is_read_from_a_recorded_trace_only():
    done, trace = searched(PWorld(), Sweep)
    assert (trace.actions == 4).sum() == done.tp[-1] + done.fp[-1]
    assert trace.rewards.sum() == pytest.approx(done.tp[-1] - done.fp[-1] * 5 / 10)
    with pytest.raises(InvalidInputError, match="no actions"):
        located(PWorld().draw(stream(0).generator()), replace(trace, actions=None), 1)


def test_what_is_covered_depends_on_perception_which_has_to_be_said():
    world = PWorld(perception=3)
    instance = world.draw(stream(1, "instance", 0).generator())
    done, trace = searched(world, Sweep)
    assert done.area[-1] > located(instance, trace, 1).area[-1]
    with pytest.raises(TypeError, match="perception"):
        located(instance, trace)


def briefed(agent, world, number=0):
    instance = world.draw(stream(1, "instance", number).generator())
    agent.begin(world.build(instance).briefing(), stream(3).generator())
    return agent


@pytest.mark.parametrize("perception", [0, 1, 2])
@pytest.mark.parametrize("size", [2, 5, 8])
def test_a_sweep_identifies_all_targets_and_stops(size, perception):
    world = PWorld(size=size, perception=perception, targets=2, lookalikes=2)
    for number in range(5):
        done, trace = searched(world, Sweep, number)
        assert trace.ending is Ending.STOPPED
        assert done.counts().sensitivity == 1
        assert done.area[-1] == 1 or done.tp[-1] == 2


def test_a_sweep_of_lanes_is_about_as_short_as_can_be():
    """One object: lanes are three rows apart, and the first one may be a corner away."""
    world = PWorld(size=9, targets=1, lookalikes=0)
    lengths = [len(searched(world, Sweep, number)[0]) for number in range(20)]
    assert max(lengths) <= 3 * 9 + 2 * 3 + 2 * 9
    assert np.mean(lengths) < 9 * 9 / 3


@pytest.mark.parametrize(
    ("make", "name"),
    [*zip(SEARCHERS, ["sweep", "rule-searcher", *["bayes-searcher"] * 2], strict=True)],
)
def test_other_tasks_and_classes_are_refused(make, name):
    rng = stream(0).generator()
    for world in (PWorld(task="map"), Cups()):
        briefing = world.build(world.draw(rng)).briefing()
        with pytest.raises(
            InvalidInputError, match=f"agent {name} can only locate targets"
        ) as error:
            make().begin(briefing, rng)
        assert "pworld-v1" in error.value.advice
    with pytest.raises(InvalidInputError, match="another one"):
        make().begin(Briefing(4, Space((3, 3))), rng)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: BayesSearcher(accuracy=1.5), "value of accuracy is 1.5"),
        (lambda: BayesSearcher(lessons=-1), "-1 lessons"),
        (lambda: RuleSearcher(conditions=[]), "no conditions"),
        (lambda: briefed(RuleSearcher(conditions=["not wings"]), PWorld()), "'wings'"),
    ],
)
def test_wrong_parameters_are_refused(make, message):
    with pytest.raises(InvalidInputError, match=message):
        make()


def test_the_posterior_is_that_of_naive_bayes():
    world = PWorld(size=8, targets=5, lookalikes=10)
    agent = briefed(BayesSearcher(), world)
    columns = list(world.columns)
    codes = np.zeros(len(columns), dtype=np.int64)
    for name in ("two-legged", "backpack", "radio"):
        codes[columns.index(name)] = 1
    codes[columns.index("warmth")] = 1 + 4
    weights = {}
    for kind, prior in ((HIKER, 5 / 15), ("ranger", 5 / 15), ("animal", 5 / 15)):
        shares = [p[kind] if codes[columns.index(f)] else 1 - p[kind] for f, p in FEATURES.items()]
        warm = comb(9, 4) * WARMTHS[kind] ** 4 * (1 - WARMTHS[kind]) ** 5
        weights[kind] = prior * prod(shares) * warm
    assert agent.posterior(codes) == pytest.approx(weights[HIKER] / sum(weights.values()))
    assert agent.posterior(np.full(len(columns), -1)) == pytest.approx(1 / 3)


def test_rules_need_more_conditions_where_accuracy_is_worth_more():
    """Of six: half of them, two thirds, ..., all."""
    world = PWorld()
    columns = list(world.columns)
    codes = np.zeros(len(columns), dtype=np.int64)  # the three negative conditions hold
    needed = {}
    for accuracy in (0.0, 0.3, 0.6, 1.0):
        agent = briefed(RuleSearcher(accuracy), world)
        for held in range(4):
            with_features = codes.copy()
            for name in ("two-legged", "backpack", "tent")[:held]:
                with_features[columns.index(name)] = 1
            if agent.is_target(with_features):
                needed.setdefault(accuracy, 3 + held)
    assert needed == {0.0: 3, 0.3: 4, 0.6: 5, 1.0: 6}


@pytest.mark.parametrize("make", [RuleSearcher, BayesSearcher])
def test_a_higher_value_of_accuracy_gives_more_precision_and_fewer_targets(make):
    """R_V is told by the environment; ten worlds each, the same but for R_V."""
    values = {}
    for accuracy in (0.1, 0.5, 0.9):
        world = PWorld(size=12, targets=12, lookalikes=24, accuracy=accuracy)
        runs = [searched(world, make, number)[0] for number in range(10)]
        tp, fp = (sum(int(getattr(run, name)[-1]) for run in runs) for name in ("tp", "fp"))
        values[accuracy] = tp / (tp + fp), tp / 120
    (low, all_), (middle, most), (high, few) = values.values()
    assert low < middle < high
    assert all_ > most > few
    same = searched(PWorld(accuracy=0.1), partial(make, accuracy=0.9))[1]
    assert same.same_as(searched(PWorld(accuracy=0.9), make)[1])


def test_beliefs_are_visited_first_and_what_is_perceived_replaces_them():
    right, wrong = (PWorld(size=12, targets=9, lookalikes=18, inconsistency=i) for i in (0, 1))
    runs = {
        world: [searched(world, BayesSearcher, number)[0] for number in range(10)]
        for world in (right, wrong)
    }
    early = {world: sum(run.tp[35] for run in each) for world, each in runs.items()}
    assert early[right] > 1.2 * early[wrong]
    ends = [[run.counts() for run in each] for each in runs.values()]
    different = sum(one != other for one, other in zip(*ends, strict=True))
    assert different <= 2  # only those that stopped early may differ


def test_a_learner_tells_kinds_apart_after_its_lessons():
    world = PWorld(size=16, targets=20, lookalikes=40, background=2, variability=0.5)
    learner = partial(BayesSearcher, profiles="learnt", lessons=10)
    runs = [searched(world, learner, number)[0] for number in range(6)]
    first = np.mean([run.tp[np.argmax(run.tp + run.fp >= 10)] / 10 for run in runs])
    last = np.mean([run.counts().ppv for run in runs])
    assert abs(first - 1 / 3) < 0.25
    assert last > first + 0.15
    assert np.mean([run.counts().specificity for run in runs]) > 0.6
