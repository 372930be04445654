"""Descriptions of Lambda environments that come from elsewhere, and how spaces are drawn again."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from omnimeter.catalogue import Kind, describe
from omnimeter.contract import Instance, OmnimeterError
from omnimeter.environments.lambda_class import Lambda
from omnimeter.environments.lambda_class.space import read_space


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"evil": []}, "evil has no reward"),
        ({"good": [5]}, "The reward 5 of good is not in"),
        ({"good": [0.5, "x"]}, "good is"),
        ({"division": 0}, "cannot be divided by 0"),
        ({"division": "two"}, "cannot be divided by two"),
        ({"consumption": "zzz"}, "no consumption 'zzz'"),
        ({"cycle": "zzz"}, "no cycle 'zzz'"),
        ({"warm_up": -5}, "cannot last for -5"),
        ({"warm_up": 10**12}, "cannot last for"),
        ({"vanish": "no"}, "vanish is 'no'"),
        ({"objects": ["zzz"]}, "no behaviour 'zzz'"),
        ({"objects": ["pattern:03"]}, "'pattern:03': The pattern is wrong at character 2"),
        ({"pattern": "03"}, "wrong at character 2"),
        ({"space": "1+|1"}, "only one successor"),
    ],
)
def test_a_description_from_elsewhere_is_checked(change: dict[str, Any], said: str) -> None:
    world = Lambda(space="ring-4", pattern="01")
    drawn = world.draw(np.random.default_rng(0))
    with pytest.raises(OmnimeterError, match=said):
        world.build(Instance({**drawn.data, **change}))


@pytest.mark.parametrize(
    "given",
    [
        {"variant": "x"}, {"cycle": "x"}, {"view": "x"}, {"consumption": "x"},
        {"complexity_measure": "x"}, {"redraw": "x"}, {"vanish": "x"}, {"good": [True]},
        {"objects": ["pattern:01"]},
    ],
)  # fmt: skip
def test_unknown_values_are_rejected(given: dict[str, Any]) -> None:
    with pytest.raises(OmnimeterError) as raised:
        Lambda(**given)
    assert raised.value.advice


def test_the_values_of_a_parameter_are_listed() -> None:
    parameters = {each.name: each for each in describe(Kind.ENVIRONMENT, "lambda").parameters}
    assert parameters["cycle"].annotation == "Literal['power', 'product', 'never']"
    assert parameters["consumption"].annotation == "Literal['before', 'after'] | None"


def test_blanks_around_bars_are_no_part_of_a_description() -> None:
    assert str(read_space("1+ | 1+ |1+")) == "1+|1+|1+"


def _actions(world: Lambda, count: int) -> list[int]:
    rng = np.random.default_rng(1)
    return [read_space(world.draw(rng).data["space"]).actions for _ in range(count)]


def test_sizes_are_kept_when_only_connections_are_drawn_again() -> None:
    """Half of the spaces then have two actions; drawn again as a whole, these are rare."""
    kept = _actions(Lambda(cells=6, stop=1, redraw="connections"), 400)
    anew = _actions(Lambda(cells=6, stop=1), 400)
    assert 0.4 < np.mean(np.array(kept) == 2) < 0.6
    assert np.mean(np.array(anew) == 2) < 0.1
