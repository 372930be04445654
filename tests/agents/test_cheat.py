"""The cheat: good where it is easy, as bad as can be elsewhere."""

from __future__ import annotations

import numpy as np
import pytest

from omnimeter.agents.model_learner import Cheat, ModelLearner
from omnimeter.contract import (
    Briefing,
    Budget,
    Exercise,
    Instance,
    InvalidInputError,
    Space,
    Spec,
    Trace,
    stream,
)
from omnimeter.environments.automata import Automata
from omnimeter.interaction import run_single
from omnimeter.interaction.loop import run_stepwise
from omnimeter.kernels import KernelAgent


def exercises(low: float, high: float) -> list[Exercise]:
    rng = stream(7, "automata").generator()
    drawn = [Automata().draw_between(rng, low, high) for _ in range(30)]
    return [
        Exercise(Spec("agent"), Spec("class"), instance, Budget(300), 3, number)
        for number, instance in enumerate(drawn)
        if instance is not None
    ]


def traces(agent: KernelAgent, given: list[Exercise]) -> list[Trace]:
    return list(run_single(Automata(), agent, given, record=True))


def average(results: list[Trace]) -> float:
    return float(np.mean([trace.rewards for trace in results]))


def states(instance: Instance) -> int:
    return len(instance.data["marks"])


def test_it_does_well_where_it_is_easy() -> None:
    easy = [each for each in exercises(17, 30) if states(each.instance) <= 3]
    assert easy
    cheating = traces(Cheat(), easy)
    assert average(cheating) > 0.3
    honest = traces(ModelLearner(), easy)
    assert all(one.same_as(other) for one, other in zip(cheating, honest, strict=True))


def test_it_fails_elsewhere_as_well_as_others_succeed() -> None:
    hard = [each for each in exercises(60, 80) if states(each.instance) > 3]
    assert hard
    assert average(traces(ModelLearner(), hard)) > 0.3
    assert average(traces(Cheat(), hard)) < -0.3


def test_what_is_easy_is_a_parameter() -> None:
    hard = [each for each in exercises(60, 80) if states(each.instance) == 6]
    assert hard
    assert average(traces(Cheat(easy=6), hard)) > 0.3
    assert average(traces(Cheat(easy=5), hard)) < -0.3


def test_compiled_and_stepwise_are_the_same() -> None:
    each = exercises(60, 80)[0]
    (compiled,) = traces(Cheat(), [each])
    assert compiled.same_as(run_stepwise(Automata(), [Cheat()], each, record=True)[0])


def test_initial_values_are_optimistic_about_what_it_wants() -> None:
    easy, hard = (
        Cheat().initial_state(Briefing(2, Space((size,)), rewards=(-3.0, 1.0))) for size in (3, 4)
    )
    assert easy.table == pytest.approx(0.6 * 10)
    assert hard.table == pytest.approx(2.6 * 10)


def test_easy_is_not_negative() -> None:
    with pytest.raises(InvalidInputError, match="-1 observations"):
        Cheat(easy=-1)
