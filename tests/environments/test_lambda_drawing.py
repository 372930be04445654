"""Which Lambda environments are drawn, their complexity, and what is rejected."""

from __future__ import annotations

import json
from math import inf, nan
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from omnimeter.catalogue import Kind, make, parse
from omnimeter.complexity import compressed_length
from omnimeter.contract import InvalidInputError
from omnimeter.contract.spec import canonical_json
from omnimeter.environments.lambda_class import Lambda, generator
from omnimeter.environments.lambda_class.space import read_space

EIGHT_CELLS = (
    "12+3-----|12+++++3-----|1-2------3++|1-----2++++++3-|12+3++++++|1-----23-------"
    "|1++++++2-------3++|1----2+++3+"
)
PATTERN = "203210200"


# Drawing


def test_an_instance_holds_everything() -> None:
    """With its seeds it is all that an environment needs: the view is not part of it."""
    drawn = Lambda(space="ring-3", pattern="0120", division=inf).draw(np.random.default_rng(0))
    assert dict(drawn.data) == {
        "space": "1+2-|1+2-|1+2-",
        "pattern": "0120",
        "objects": [],
        "consumption": "after",
        "division": "inf",
        "vanish": True,
        "beside": True,
        "sharing": False,
        "good": [1.0],
        "evil": [1.0],
        "cycle": "power",
        "warm_up": 0,
    }
    assert json.loads(canonical_json(drawn.data)) == drawn.data


def test_a_variant_gives_what_is_left_out() -> None:
    conceptual = Lambda(variant="conceptual", vanish=False).rules
    names = ("consumption", "division", "vanish", "beside")
    assert [conceptual[name] for name in names] == ["before", 2.0, False, False]


@settings(max_examples=40)
@given(st.integers(2, 9), st.integers(0, 2**32))
def test_what_is_given_is_kept_and_the_rest_is_drawn(cells: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    drawn = Lambda(cells=cells, actions=3, stop=1.0).draw(rng).data
    space = read_space(drawn["space"])
    assert (space.cells, space.actions) == (cells, 3)
    assert drawn["pattern"] in set("012")
    drawn = Lambda(max_cells=cells, pattern="0101", actions=2).draw(rng).data
    assert read_space(drawn["space"]).cells <= cells
    assert drawn["pattern"] == "0101"


# Complexity


def test_the_complexity_of_the_space_and_pattern_of_the_thesis() -> None:
    text = EIGHT_CELLS + PATTERN
    given = {"space": EIGHT_CELLS, "pattern": PATTERN}
    rng = np.random.default_rng(0)
    complexities: dict[Any, float] = {
        "length": len(text),
        "environment": compressed_length(text),
        "product": compressed_length(text) * len(PATTERN),
        "pattern": compressed_length(PATTERN),
    }
    assert complexities["length"] == 119
    for measure, value in complexities.items():
        environment_class = Lambda(complexity_measure=measure, **given)  # type: ignore[arg-type]
        assert environment_class.complexity(environment_class.draw(rng)) == value
        assert environment_class.draw(rng, value).data["pattern"] == PATTERN


def test_one_action_with_two_digits_is_one_action() -> None:
    many = "".join(f"{action}+" for action in range(1, 11))
    environment_class = Lambda(space=f"{many}|{many}", pattern="10", complexity_measure="product")
    drawn = environment_class.draw(np.random.default_rng(0))
    assert environment_class.complexity(drawn) == compressed_length(f"{many}|{many}10")


@settings(max_examples=60)
@given(
    st.sampled_from(["environment", "pattern", "length"]),
    st.sampled_from([{}, {"cells": 9}, {"space": "ring-5"}, {"cells": 12, "actions": 12}]),
    st.integers(0, 2**32),
)
def test_a_wanted_complexity_is_drawn_exactly(
    measure: Any, given: dict[str, Any], seed: int
) -> None:
    environment_class = Lambda(complexity_measure=measure, **given)
    rng = np.random.default_rng(seed)
    wanted = environment_class.complexity(environment_class.draw(rng))
    drawn = environment_class.draw(rng, wanted)
    assert environment_class.complexity(drawn) == wanted
    environment_class.build(drawn).start(rng)


def test_a_wanted_product_is_drawn_exactly_or_not_at_all() -> None:
    """Few lengths have a given product, so that a search may end without any."""
    environment_class = Lambda(space="ring-5", complexity_measure="product")
    rng = np.random.default_rng(0)
    drawn_exactly = 0
    for _ in range(20):
        wanted = environment_class.complexity(environment_class.draw(rng))
        try:
            drawn = environment_class.draw(rng, wanted)
        except InvalidInputError:
            continue
        assert environment_class.complexity(drawn) == wanted
        drawn_exactly += 1
    assert drawn_exactly >= 15


@pytest.mark.parametrize("wanted", [3, 60.5, 1e6])
def test_a_complexity_that_does_not_exist_is_rejected(
    wanted: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(generator, "TRIES", 20)
    with pytest.raises(InvalidInputError, match=r"No .* of complexity .* was found"):
        Lambda(space="ring-5").draw(np.random.default_rng(0), wanted)


def test_a_given_pattern_has_the_complexity_that_it_has() -> None:
    fixed = Lambda(space=EIGHT_CELLS, pattern=PATTERN, complexity_measure="length")
    with pytest.raises(InvalidInputError, match=r"complexity 118 .*=length"):
        fixed.draw(np.random.default_rng(0), 118)


# Invalid parameters


INVALID: dict[str, tuple[dict[str, Any], str]] = {
    "malformed": ({"space": "1+2-|1+3-"}, r"at character 8 \(cell 2, after action 1\)"),
    "unconnected": ({"space": "1+|1-|1+"}, r"[Cc]ell 3"),
    "one successor": ({"space": "1+|1"}, r"Cell 2 .character 4 .* one successor"),
    "pattern": ({"space": "ring-3", "pattern": "0130"}, r"at character 3: found '3'"),
    "no pattern": ({"space": "ring-3", "pattern": ""}, r"at character 1: found nothing"),
    "pattern alone": ({"pattern": "01"}, r"which actions"),
    "stop 0": ({"stop": 0.0}, r"\(0, 1\]"),
    "stop above 1": ({"stop": 1.5}, r"\(0, 1\]"),
    "cells": ({"cells": 1}, r"at least 2 cells, but this one has 1"),
    "max cells": ({"max_cells": 1}, r"at least 2 cells"),
    "too many cells": ({"cells": 1001}, r"at most 1,000 cells, not with 1,001"),
    "too many at most": ({"max_cells": 1001}, r"at most 1,000 cells, not with 1,001"),
    "actions": ({"actions": 1}, r"cannot be 1 actions"),
    "cells and space": ({"space": "ring-3", "cells": 4}, r"has 3 cells, not 4"),
    "actions and space": ({"space": "ring-3", "actions": 4}, r"has 3 actions, not 4"),
    "good": ({"good": 1.5}, r"1\.5 of good is not in \(0, 1\]"),
    "evil": ({"evil": [0.5, 1.0, 0.0]}, r"0 of evil at position 3"),
    "negative": ({"evil": -1.0}, r"-1 of evil"),
    "not a number": ({"good": nan}, r"nan of good"),
    "no reward": ({"good": []}, r"no reward"),
    "division": ({"division": 0.5}, r"divided by 0\.5"),
    "no division": ({"division": nan}, r"divided by nan"),
    "warm-up": ({"warm_up": -1}, r"-1 interactions"),
    "endless warm-up": ({"warm_up": 1_000_001}, r"1000001 interactions"),
    "warm-up without cycle": ({"warm_up": "cycle", "cycle": "never"}, r"no cycle"),
    "object": ({"objects": ["still", "jumping"]}, r"'jumping'"),
    "object with a pattern": ({"objects": ["still:01"]}, r"'still:01'"),
}


@pytest.mark.parametrize(("parameters", "message"), INVALID.values(), ids=INVALID)
def test_invalid_parameters_are_rejected_with_their_place(
    parameters: dict[str, Any], message: str
) -> None:
    with pytest.raises(InvalidInputError, match=message) as caught:
        Lambda(**parameters)
    assert len(caught.value.advice) > 10, "the message must teach"


def test_an_object_whose_pattern_names_no_action_is_rejected() -> None:
    with pytest.raises(InvalidInputError, match="at character 2: found '3'"):
        Lambda(space="ring-3", objects=["pattern:03"]).draw(np.random.default_rng(0))


@pytest.mark.parametrize(
    "text",
    [
        "lambda(view=everything)",
        "lambda(variant=loose)",
        "lambda(division=abc)",
        "lambda(objects=random)",
        "lambda(good=much)",
    ],
)
def test_a_malformed_spec_is_rejected_by_name(text: str) -> None:
    with pytest.raises(InvalidInputError, match="lambda-v1"):
        make(Kind.ENVIRONMENT, parse(Kind.ENVIRONMENT, text))


def test_lambda_is_written_as_text() -> None:
    text = 'lambda(space=ring-4,pattern=012,division=inf,good=[1,0.5],objects=["random"],warm_up=3)'
    made = make(Kind.ENVIRONMENT, parse(Kind.ENVIRONMENT, text))
    drawn = made.draw(np.random.default_rng(0)).data
    assert (drawn["pattern"], drawn["good"], drawn["warm_up"]) == ("012", [1.0, 0.5], 3)
    assert made.draw(np.random.default_rng(0)).data["objects"] == ["random"]
