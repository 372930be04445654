"""The order in which exercises are done: an interrupted evaluation has had its share of each."""

from __future__ import annotations

from collections import Counter

import pytest

from omnimeter.contract import Exercise, Spec
from omnimeter.execution import Isolation, Options, evaluation
from omnimeter.execution.workers import Job
from omnimeter.protocols.battery import Battery

AGENTS = (Spec("random-v1"), Spec("follower-v1"))


def jobs(proposed: dict[Spec, list[Exercise]], options: Options) -> list[Job]:
    return list(evaluation.jobs(proposed, Battery("thesis-table-6-1").payoff(), False, options))


@pytest.mark.parametrize(
    "options",
    [
        Options(isolation=Isolation.NONE),
        Options(isolation=Isolation.PROCESS),
        Options(workers=2, isolation=Isolation.NONE),
    ],
)
def test_the_classes_take_turns(options: Options) -> None:
    battery = Battery("thesis-table-6-1", tests=40)
    (agent, *_) = AGENTS
    given = jobs({agent: battery.propose(agent, [])}, options)
    done: Counter[Spec] = Counter()
    largest = max(len(job.exercises) for job in given)
    for number, job in enumerate(given, start=1):
        done.update(each.environment_class for each in job.exercises)
        if number >= 7:  # every class has had its first turn
            assert len(done) == 7
            assert max(done.values()) - min(done.values()) <= largest
    assert largest <= 10
    assert set(done.values()) == {40}


def test_classes_with_more_exercises_have_more_turns() -> None:
    (agent, *_) = AGENTS
    few = Battery("thesis-table-6-1", tests=10).propose(agent, [])
    many = Battery("thesis-table-6-1", tests=80).propose(agent, [])
    (easy, hard) = (few[0].environment_class, few[-1].environment_class)
    taken = [each for each in few if each.environment_class == easy]
    taken += [each for each in many if each.environment_class == hard]
    done: Counter[Spec] = Counter()
    for job in jobs({agent: taken}, Options(isolation=Isolation.PROCESS)):
        done.update(each.environment_class for each in job.exercises)
        assert abs(8 * done[easy] - done[hard]) <= 8


def test_agents_take_turns() -> None:
    battery = Battery("thesis-table-6-1", tests=3)
    given = list(jobs({agent: battery.propose(agent, []) for agent in AGENTS}, Options()))
    largest = max(len(job.exercises) for job in given)
    done = Counter(dict.fromkeys(AGENTS, 0))
    for job in given:
        done[job.exercises[0].agent] += len(job.exercises)
        assert max(done.values()) - min(done.values()) <= largest
    assert set(done.values()) == {21}
