"""Audits at complexities: the instances that the anytime tests choose there, and no others."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from math import inf, nan
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from automata import finding
from ladder import Coin, Ladder
from omnimeter.audits import Audit, audit
from omnimeter.audits.subject import Subject
from omnimeter.cli import main
from omnimeter.contract import EnvironmentClass, Instance, InvalidInputError, Percept
from omnimeter.environments.automata import Automata
from omnimeter.environments.cups import Cups
from omnimeter.environments.torus import Torus

RUNGS = {"2": 4, "3": 4, "4": 4, "5": 4}


class Gift(Coin):
    """Pays 1 whatever is done."""

    def step(self, action: int) -> Percept:
        return Percept(1.0, 0)


class Slanted(Ladder):
    """Pays 1 on one rung, which is drawn least often."""

    def __init__(self) -> None:
        super().__init__(RUNGS)

    def draw(self, rng: np.random.Generator, complexity: float | None = None) -> Instance:
        return super().draw(rng, 2.0 if complexity is None else complexity)

    def build(self, instance: Instance) -> Coin:
        return Gift(0) if self.complexity(instance) == 5 else super().build(instance)


def at(environment_class: EnvironmentClass, *complexities: float, instances: int = 4) -> Audit:
    return audit(
        environment_class, instances=instances, interactions=252, complexities=complexities
    )


def subject(environment_class: EnvironmentClass, *complexities: float, count: int = 6) -> Subject:
    return Subject(environment_class, count, 10, 0, 0.99, complexities=complexities)


@pytest.mark.parametrize(
    ("environment_class", "complexities"),
    [
        (Automata(), (17, 30.5, 250, 465)),
        (Torus(), (10, 20.5, 60, 123)),
        (Cups(rule="rest"), (3, 5, 8)),
    ],
)
def test_classes_are_fit_for_testing_from_their_lowest_to_their_highest_complexity(
    environment_class: EnvironmentClass, complexities: tuple[float, ...]
) -> None:
    for complexity in complexities:
        result = at(environment_class, complexity)
        assert [each.check for each in result.findings if each.passed is False] == []
    assert at(environment_class, *complexities).ok


def test_complexities_are_taken_in_turn() -> None:
    drawn = subject(Ladder(RUNGS), 5, 2, 4.5)
    drawn_at = [drawn.environment_class.complexity(each) for each in drawn.instances]
    for complexity, high in zip(drawn_at, (5, 2, 4.5) * 2, strict=True):
        assert high - 1 <= complexity <= high
    assert drawn.instances == [drawn.draw(number) for number in range(6)]
    assert drawn.draw(0, 3.0).data["complexity"] == 3  # a requested complexity goes first


def test_without_complexities_a_class_draws_by_itself() -> None:
    cups = Cups(3, 5)
    drawn = Subject(cups, 5, 10, 0, 0.99)
    alone = [cups.draw(drawn.stream("instance", n).generator()) for n in range(5)]
    assert drawn.instances == alone
    assert "complexities" not in audit(cups, instances=1, interactions=10).settings


def test_an_imbalance_at_one_complexity_is_detected_there() -> None:
    assert audit(Slanted(), instances=20, interactions=252).ok
    assert at(Slanted(), 2, instances=20).ok
    result = at(Slanted(), 6, instances=20)
    assert not result.ok
    assert not finding(result, "balance").passed
    assert not finding(at(Slanted(), 2, 3, 6, instances=30), "balance").passed


def test_the_complexities_are_recorded() -> None:
    result = at(Cups(), 4, 6.5)
    assert result.settings["complexities"] == [4, 6.5]
    assert result.to_json()["settings"]["complexities"] == [4, 6.5]


@pytest.mark.parametrize("complexity", [1.0, 1.9, 7.5, 100.0])
def test_a_complexity_without_instances_is_an_error(complexity: float) -> None:
    with pytest.raises(InvalidInputError, match=rf"complexity {complexity:g}.* from 2 to 5\."):
        at(Ladder(RUNGS), 3, complexity)


def test_a_gap_between_complexities_is_an_error_too() -> None:
    with pytest.raises(InvalidInputError, match=r"complexity 5 to 6.* from 2 to 9\."):
        at(Ladder({"2": 1, "9": 1}), 6)


@pytest.mark.parametrize("complexity", [0.0, -3.0, inf, -inf, nan])
def test_an_invalid_complexity_is_an_error(complexity: float) -> None:
    with pytest.raises(InvalidInputError, match="finite numbers above 0"):
        at(Ladder(RUNGS), 3, complexity)


def test_every_complexity_needs_an_instance() -> None:
    with pytest.raises(InvalidInputError, match="one instance for each complexity"):
        at(Ladder(RUNGS), 2, 3, 4, instances=2)


def test_a_class_that_draws_elsewhere_fails() -> None:
    class Astray(Ladder):
        def draw_between(self, rng: Any, low: float, high: float) -> Instance | None:
            return Instance({"complexity": 2.0, "number": 0})

    result = at(Astray(RUNGS), 5)
    assert not result.ok
    assert (
        "Between 4 and 5 the class drew an instance of complexity 2" in result.findings[0].summary
    )


def test_a_class_that_cannot_draw_is_not_an_input_error() -> None:
    class Broken(Ladder):
        def draw_between(self, rng: Any, low: float, high: float) -> Instance | None:
            raise ZeroDivisionError("oops")

    assert "ZeroDivisionError: oops" in at(Broken(RUNGS), 5).findings[0].summary


# The command


@pytest.fixture
def typed(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> Callable[..., tuple[int, str, str]]:
    """Types a command; gives the exit code, the output and the errors."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "200")

    def type_in(*options: str) -> tuple[int, str, str]:
        arguments = ["--instances", "4", "--interactions", "60", *options]
        monkeypatch.setattr(sys, "argv", ["omnimeter", "audit", *arguments])
        code: Any = 0
        try:
            main()
        except SystemExit as leaving:
            code = leaving.code or 0
        return code, *capsys.readouterr()

    return type_in


def test_the_command_takes_complexities(typed: Callable[..., tuple[int, str, str]]) -> None:
    code, out, _ = typed("automata", "--complexity", "30", "--complexity", "200.5")
    assert code == 0
    assert "automata-v1 at complexities 30 and 200.5 is fit for testing." in out
    code, out, _ = typed("torus", "--complexity", "20", "--json")
    assert code == 0
    assert json.loads(out)["settings"]["complexities"] == [20.0]
    _, out, _ = typed("buttons")
    assert "buttons-v1 is fit for testing." in out


@pytest.mark.parametrize(
    ("complexity", "message"), [("2", "from 3 to 1000"), ("nan", "finite"), ("-1", "finite")]
)
def test_the_command_reports_invalid_complexities(
    typed: Callable[..., tuple[int, str, str]], complexity: str, message: str
) -> None:
    code, out, err = typed("cups", "--complexity", complexity)
    assert (code, out) == (2, "")
    assert message in err
    assert "Traceback" not in err
