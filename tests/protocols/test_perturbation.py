"""The perturbation protocol: levels, recovery, degrees, and what stopping is worth."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from omnimeter import api
from omnimeter.catalogue import Kind, make
from omnimeter.contract import (
    Ending,
    Fault,
    FaultKind,
    InvalidInputError,
    Outcome,
    Spec,
    Trace,
)
from omnimeter.environments.cups import Cups
from omnimeter.execution import evaluate
from omnimeter.payoffs import LaterAverage
from omnimeter.protocols import Evaluation, Result
from omnimeter.protocols.perturbation import Levels, levels
from omnimeter.reports import result_json
from omnimeter.reports.degrees import degree_figure, degree_table

STEADY = f"{Path(__file__).parents[1] / 'environments' / 'test_switch.py'}:Steady"


def made(**parameters: Any) -> Any:
    return make(Kind.PROTOCOL, Spec("perturbation-v1", parameters))


# Levels


def rewards(*pieces: tuple[float, int]) -> Any:
    return np.concatenate([np.full(count, value) for value, count in pieces])


@pytest.mark.parametrize(
    ("pieces", "options", "expected"),
    [
        # 0.9 of the loss of 1 is made up when 9 of the last 10 rewards are 1 again.
        ([(0.0, 10), (1.0, 10), (0.0, 30), (1.0, 20)], {}, Levels(1, 0, 1, 39)),
        ([(1.0, 20), (0.0, 30), (1.0, 20)], {"share": 0.5}, Levels(1, 0, 1, 35)),
        ([(1.0, 20), (0.0, 30), (0.5, 20)], {}, Levels(1, 0, 0.5, None)),
        ([(1.0, 20), (0.0, 30), (0.5, 20)], {"reference": "end"}, Levels(1, 0, 0.5, 39)),
        ([(1.0, 20), (0.0, 50)], {"reference": "end"}, Levels(1, 0, 0, 0)),
        ([(1.0, 20), (0.5, 50)], {"reference": "end"}, Levels(1, 0.5, 0.5, 0)),
        ([(1.0, 20), (2.0, 50)], {}, Levels(1, 2, 2, 0)),
        ([(-3.0, 20), (-5.0, 20), (-3.0, 30)], {}, Levels(-3, -5, -3, 29)),
    ],
)
def test_levels(pieces: Any, options: Any, expected: Levels) -> None:
    assert levels(rewards(*pieces), 20, 10, **options) == expected


def test_levels_that_differ_by_rounding_are_the_same() -> None:
    measured = levels(np.full(1000, 0.1), 500, 50)
    assert measured.recovery == 0
    assert measured.before == pytest.approx(0.1)


def trace(given: Any, planned: int, lowest: float = -1.0) -> Trace:
    times = np.arange(1, len(given) + 1) * 10**9
    return Trace(given, times, planned * 10**9, Ending.STOPPED, planned=planned, lowest=lowest)


def test_only_what_comes_later_counts_and_what_is_not_done_is_worth_the_least() -> None:
    payoff = LaterAverage(after=4)
    assert payoff(trace(rewards((9.0, 4), (1.0, 4)), 8)) == 1.0
    assert payoff(trace(rewards((9.0, 4), (1.0, 2)), 8, lowest=-3.0)) == -1.0
    assert payoff(trace(rewards((9.0, 2)), 8, lowest=-3.0)) == -3.0
    assert payoff(trace(rewards((9.0, 2)), 8, lowest=-np.inf)) == 0.0
    assert payoff.bounds((-3.0, 9.0)) == (-3.0, 9.0)
    with pytest.raises(InvalidInputError, match="None of 3 interactions"):
        payoff(trace(rewards((9.0, 2)), 3))


# The protocol


@pytest.fixture(scope="module")
def result() -> Result:
    """Two second classes: with 0 and with 3 changed propositions in one of two squares."""
    then = [STEADY, f"{STEADY}(reward=-1,colour=blue)"]
    parameters = {"environment_class": STEADY, "then": then, "at": 20, "exercises": 8}
    agents = Spec("random-v1"), Spec("scripted-v1", {"actions": [0] * 25})
    return evaluate(Evaluation(Spec("perturbation-v1", parameters), agents))


def test_the_score_is_the_mean_after_the_change_with_what_is_lost(result: Result) -> None:
    score = result.scores[Spec("random-v1")]
    assert score.value == pytest.approx(-0.25)
    part = {name: score.parts[name] for name in ("before", "loss", "final", "recovered")}
    assert part == pytest.approx({"before": 0.5, "loss": 0.75, "final": -0.25, "recovered": 0.5})
    assert "recovery" not in score.parts, "half of the exercises never recover"
    assert result.design.payoff == Spec("later-average-v1", {"after": 20})


def test_degrees_are_told_apart(result: Result) -> None:
    same, changed = result.scores[Spec("random-v1")].parts["degrees"]
    assert (same["degree"], same["count"], same["value"], same["recovery"]) == (0, 4, 0.5, 0)
    assert (changed["degree"], changed["value"], changed["loss"]) == (1.5, -1, 1.5)
    assert changed["recovered"] == 0
    assert "recovery" not in changed
    table, figure = degree_table(result), degree_figure(result)
    assert table is not None
    names = [row[1].text.partition(" ") for row in table.rows]
    assert [degree for degree, _, _ in names] == ["0", "1.5"] * 2
    assert "blue" in names[1][2], "the second class is named"
    assert figure is not None
    assert figure.curves[0].places == (0, 1.5)


def test_an_agent_that_stops_gets_the_lowest_reward_for_the_rest(result: Result) -> None:
    """5 of 20 interactions after the change bring 0.5 or -1, the others the lowest."""
    (stopped,) = [each for agent, each in result.scores.items() if agent.id == "scripted-v1"]
    values = [each["value"] for each in stopped.parts["degrees"]]
    assert values == [0.5, -1.0], "where rewards never differ, the lowest is the only one"
    lows = [each.remarks["levels"]["final"] for each in _outcomes(result, "scripted-v1")]
    assert set(lows) == {0.5, -1.0}


def _outcomes(result: Result, name: str) -> list[Outcome]:
    return [each for agent, done in result.outcomes.items() if agent.id == name for each in done]


def test_many_degrees_are_put_together_and_names_stay() -> None:
    protocol = made(environment_class="gc", at=10, exercises=18)
    outcomes = [
        Outcome(each, 0.0, 20, 0.0, 0, 0, Ending.BUDGET) for each in protocol.propose(Spec("a"), [])
    ]
    (whole,) = protocol.score(outcomes).parts["degrees"]
    assert (whole["label"], whole["count"], "degree" in whole) == ("gc-v1", 18, False)
    protocol = made(environment_class="gc", at=10, exercises=18)
    protocol.__dict__["degrees"] = [k / 10 for k in range(18)]  # as if there was an overlay
    groups = protocol.score(outcomes).parts["degrees"]
    assert [each["count"] for each in groups] == [5, 5, 4, 4]
    assert groups[0]["degree"] == pytest.approx(0.2)
    assert [each["label"] for each in groups[:2]] == ["0 to 0.4", "0.5 to 0.9"]


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"at": 0}, "There cannot be 0 interactions before"),
        ({"at": 50, "interactions": 50}, "not within the 50"),
        ({"at": 50, "window": 60}, "A window of 60 .* Give a number from 1 to 50"),
        ({"share": 0}, "The share is 0"),
        ({"exercises": 0}, "There cannot be 0 exercises"),
        ({"environment_class": "switch(at=5)", "at": 50}, "after 5 interactions, not after 50"),
    ],
)
def test_wrong_parameters_are_refused(parameters: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidInputError, match=message):
        made(**{"environment_class": "gc", **parameters})


def test_an_agent_must_be_perturbed_at_that_moment() -> None:
    agent = Spec("perturbed-v1", {"agent": "random-v1", "at": 5, "noise": 1.0})
    around = Spec("monitored-v1", {"agent": agent.to_json()})
    for each in (agent, around):
        with pytest.raises(InvalidInputError, match="after 5 interactions, not after 50"):
            made(environment_class="gc", at=50).propose(each, [])


def test_failing_where_it_goes_badly_gains_nothing_in_any_row() -> None:
    """Half of the exercises fail: rows by degree are as wide as the score, and none recovered."""
    protocol = made(environment_class="torus", then=["torus", "torus(size=9)"], at=10, exercises=40)
    fault = Fault(FaultKind.AGENT_ERROR, "lost")
    outcomes = [
        Outcome(each, *((0.5, 20) if each.number % 4 < 2 else (None, 15)), 0.0, 0, 0,
                Ending.BUDGET, fault=None if each.number % 4 < 2 else fault,
                remarks={"levels": Levels(0, 0, 0, 0)._asdict()} if each.number % 4 < 2 else {})
        for each in protocol.propose(Spec("a"), [])
    ]  # fmt: skip
    score = protocol.score(outcomes)
    assert score.parts["recovered"] == 0.5
    assert len(score.parts["degrees"]) == 2
    for row in score.parts["degrees"]:
        assert row["count"] == 10
        low, high = row["interval"]
        assert low < 0
        assert high > 0.6
        assert row["recovered"] == 0.5


# From Python


def test_perturbed_agents_are_evaluated_from_python(tmp_path: Path) -> None:
    agents = ["random", "perturbed(agent=random,at=20,actions=permuted)"]
    result = api.evaluate(agents, "gc", at=20, exercises=4, out=tmp_path / "out", seed=0)
    assert result.evaluation.protocol.id == "perturbation-v1"
    data = json.loads(json.dumps(result_json(result.judged)))
    assert [each["label"] for each in data["scores"][0]["parts"]["degrees"]] == ["gc-v1"]
    page = result.report().read_text(encoding="utf-8")
    assert "In how many exercises the level was regained" in page
    assert "By degree of perturbation" not in page, "there is one only"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"then": "gc"}, "then= has no effect without at="),
        ({"at": 5, "seconds": 3.0}, "seconds= cannot be given together with at="),
        ({"at": 5, "joint": True}, "joint= cannot be given together with at="),
        ({"at": 5, "then": [Cups(), Cups(rule="rest")]}, "Two environment classes have the name"),
    ],
)
def test_what_does_not_fit_is_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidInputError, match=message):
        api.evaluate("random", "gc", **options)
