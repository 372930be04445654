"""Views that tell what others have to find out: only an evaluation that grants them gives them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import omnimeter as om
from omnimeter.contract import FaultKind
from omnimeter.environments.lambda_class import Lambda
from omnimeter.environments.mdp import GeneralisedChain

SMALL: dict[str, Any] = {"exercises": 3, "interactions": 20, "seed": 0}
PEEKING = '''
from omnimeter import Agent

class Peeking(Agent):
    """Asks for a view by which it knows more than others."""

    view = "model"

    def act(self, reward, observation):
        return 0

    def adjust(self, request, amount):
        pass
'''


def refused(result: om.Result, agent: str) -> bool:
    """Whether all exercises of an agent ended at once in a fault that names the option."""
    (done,) = [each for spec, each in result.outcomes.items() if spec.label == agent]
    faults = [each.fault for each in done]
    assert {fault is None for fault in faults} in ({True}, {False})
    for each, fault in zip(done, faults, strict=True):
        if fault is not None:
            assert fault.kind is FaultKind.AGENT_ERROR
            assert "--privileged" in fault.message
            assert each.interactions == 0
            assert "privileged" not in each.remarks
    return faults[0] is not None


def told(result: om.Result, agent: str) -> set[str | None]:
    """What the outcomes of an agent remark on its view."""
    return {
        each.remarks.get("privileged")
        for spec, done in result.outcomes.items()
        for each in done
        if spec.label == agent
    }


@pytest.mark.parametrize(
    "agent",
    [
        "optimal-v1",
        "slowed-v1(agent=optimal-v1, seconds=0.1)",
        "perturbed-v1(agent=optimal-v1, at=10, noise=0.5)",
    ],
)
def test_an_agent_is_refused_unless_it_is_granted(agent: str) -> None:
    result = om.evaluate([agent, "random"], "gc", **SMALL)
    label = result.agents[0]
    assert refused(result, label)
    assert not refused(result, "random-v1")
    granted = om.evaluate([agent, "random"], "gc", **SMALL, privileged=True)
    assert not refused(granted, label)
    assert told(granted, label) == {"model"}
    assert told(granted, "random-v1") == {None}
    assert granted.scores["random-v1"] == result.scores["random-v1"]


@pytest.mark.parametrize(
    ("agent", "workers"),
    [
        ("peeking.py:Peeking", 1),
        ("peeking.py:Peeking", 2),
        ("monitored(agent=peeking.py:Peeking)", 1),
    ],
)
def test_an_agent_with_a_process_of_its_own_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, agent: str, workers: int
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("peeking.py").write_text(PEEKING)
    result = om.evaluate([agent, "random"], "gc", **SMALL, workers=workers)
    assert refused(result, result.agents[0])
    assert not refused(result, "random-v1")
    granted = om.evaluate(agent, "gc", **SMALL, workers=workers, privileged=True)
    assert not refused(granted, granted.agents[0])
    assert told(granted, granted.agents[0]) == {"model"}


@pytest.mark.parametrize(
    "given",
    [
        {
            "battery": {
                "title": "One",
                "exercises": [{"environment_class": "gc", "interactions": 20}],
            }
        },
        {"environment_class": "switch(first=gc, second=gc, at=5)", **SMALL},
        {"environment_class": "gc", "then": "gc", "at": 10, "exercises": 2},
        {"environment_class": "gc", "prior": "gc", "exercises": 2, "interactions": 10},
        {"environment_class": "gc", **SMALL, "memory": "carried"},
    ],
    ids=["battery", "switch", "change", "prior", "carried"],
)
def test_every_kind_of_evaluation_asks_for_the_grant(given: dict[str, Any]) -> None:
    given = {"seed": 0, **given}
    assert refused(om.evaluate("optimal", **given), "optimal-v1")
    granted = om.evaluate("optimal", **given, privileged=True)
    assert told(granted, "optimal-v1") == {"model"}


def test_a_universal_test_asks_for_the_grant() -> None:
    small: dict[str, Any] = {"interactions": 40, "repetitions": 2, "unbalanced": True, "seed": 0}
    assert refused(om.test("optimal", "gc", **small).run(), "optimal-v1")
    assert told(om.test("optimal", "gc", **small, privileged=True).run(), "optimal-v1") == {"model"}


def test_the_others_of_a_joint_run_go_on() -> None:
    small = {**SMALL, "joint": True}
    result = om.evaluate(["oracle", "random"], "lambda(cells=4)", **small)
    assert refused(result, "oracle-v1")
    assert not refused(result, "random-v1")
    granted = om.evaluate(["oracle", "random"], "lambda(cells=4)", **small, privileged=True)
    assert told(granted, "oracle-v1") == {"foresight"}
    assert told(granted, "random-v1") == {None}


def test_a_view_that_the_class_imposes_is_granted_too() -> None:
    imposing = "lambda(cells=4, view=foresight)"
    assert refused(om.evaluate("random", imposing, **SMALL), "random-v1")
    granted = om.evaluate("random", imposing, **SMALL, privileged=True)
    assert told(granted, "random-v1") == {"foresight"}


def test_who_asks_in_vain_needs_no_grant() -> None:
    result = om.evaluate("random", "lambda(cells=4, view=structure)", **SMALL)
    assert not refused(result, "random-v1")

    class Asking(om.Agent):
        view = "foresight"

        def act(self, reward: float, observation: om.Observation) -> int:
            return 0

    elsewhere = om.evaluate(Asking, "cups", **SMALL)  # which has no such view
    assert not refused(elsewhere, "python:Asking")
    imposed = om.evaluate(Asking, "lambda(cells=4, view=structure)", **SMALL, privileged=True)
    assert told(imposed, "python:Asking") == {None}


def test_which_views_are_privileged() -> None:
    assert list(Lambda.privileged) == ["foresight"]
    assert list(GeneralisedChain.privileged) == ["model"]
