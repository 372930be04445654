"""The adjustments: their values, what they demand, and the suite that detects broken ones."""

from __future__ import annotations

from collections.abc import Callable
from math import nan

import pytest
from hypothesis import given
from hypothesis import strategies as st

from omnimeter.catalogue import Kind, listing, make, parse, resolve
from omnimeter.contract import InvalidInputError, Spec
from omnimeter.payoffs.parts import Adjustment, Flat, Logarithmic, Share
from omnimeter.testing import AdjustmentSuite

OURS = [entry.id for entry in listing(Kind.ADJUSTMENT) if entry.package == "omnimeter"]

RULES = [name for name in dir(AdjustmentSuite) if name.startswith("test_")]


def failures(adjustment: Callable[[], Adjustment]) -> dict[str, str]:
    """The rules of the suite that an adjustment breaks, and what it is told."""

    class Mine(AdjustmentSuite):
        def make(self) -> Adjustment:
            return adjustment()

    errors = {}
    for rule in RULES:
        try:
            getattr(Mine(), rule)()
        except AssertionError as error:
            errors[rule] = str(error)
    return errors


def test_the_catalogue_has_them() -> None:
    assert OURS == ["flat-v1", "logarithmic-v1", "share-v1"]


@pytest.mark.parametrize("name", OURS)
def test_ours_keep_the_rules(name: str) -> None:
    assert failures(lambda: make(Kind.ADJUSTMENT, Spec(name))) == {}


@pytest.mark.parametrize("scale", [0.001, 50.0])
@pytest.mark.parametrize("kind", [Share, Logarithmic])
def test_the_scale_changes_no_rule(kind: type, scale: float) -> None:
    assert failures(lambda: kind(scale)) == {}


@pytest.mark.parametrize(
    ("adjustment", "length", "complexity", "expected"),
    [
        (Flat(), 1000, 20.0, 1.0),
        (Share(), 0, 9.0, 1.0),
        (Share(), 10, 9.0, 0.5),
        (Share(scale=10), 100, 9.0, 0.5),
        (Share(), 30, 9.0, 0.25),
        (Logarithmic(), 0, 9.0, 1.0),
        (Logarithmic(), 12, 2.0, 0.5),  # log2 4 / log2 16
        (Logarithmic(scale=0.5), 30, 2.0, 1 / 3),  # log2 4 / log2 64
    ],
)
def test_values_by_hand(
    adjustment: Adjustment, length: float, complexity: float, expected: float
) -> None:
    assert adjustment(length, complexity) == pytest.approx(expected)


@given(
    adjustment=st.builds(Share, st.floats(0.1, 100)) | st.builds(Logarithmic, st.floats(0.1, 100)),
    length=st.floats(0, 1e6),
    more=st.floats(0.01, 10),
    complexity=st.floats(0, 1000),
)
def test_they_fall_and_rise_strictly(
    adjustment: Adjustment, length: float, more: float, complexity: float
) -> None:
    here = adjustment(length + more, complexity)
    assert adjustment((length + more) * 1.01, complexity) < here
    assert adjustment(length + more, complexity + 0.1) > here


@pytest.mark.parametrize("scale", [0, -1, nan, float("inf")])
@pytest.mark.parametrize("kind", [Share, Logarithmic])
def test_a_scale_is_positive(kind: type, scale: float) -> None:
    with pytest.raises(InvalidInputError, match="scale"):
        kind(scale)


def test_parameters_are_written_like_those_of_other_parts() -> None:
    assert make(Kind.ADJUSTMENT, parse(Kind.ADJUSTMENT, "share(scale=50)")) == Share(50.0)


def test_an_object_without_bounds_is_rejected(tmp_path) -> None:
    file = tmp_path / "phi.py"
    file.write_text("class Phi:\n    def __call__(self, length, complexity):\n        return 1.0\n")
    with pytest.raises(InvalidInputError, match="an adjustment defines bounds"):
        resolve(Kind.ADJUSTMENT, f"{file}:Phi")


# Broken ones: each breaks one rule, and no other is reported


class Spent(Share):
    def __call__(self, length: float, complexity: float) -> float:
        return super().__call__(length, complexity) if length < 1e6 else 0.0


class Modest(Share):
    def bounds(self) -> tuple[float, float]:
        return 0.0, 0.9


class Patient(Share):
    """Rises with the length."""

    def __call__(self, length: float, complexity: float) -> float:
        return 1 - 1 / (1 + length) / (2 + complexity)


class Deterred(Share):
    """Falls with the complexity."""

    def __call__(self, length: float, complexity: float) -> float:
        return 1 / (1 + length) / (1 + complexity)


class Impure(Share):
    asked = 0

    def __call__(self, length: float, complexity: float) -> float:
        type(self).asked += 1
        return super().__call__(length, complexity) * (1 - 1e-14 * (self.asked % 7))


BROKEN: dict[str, type[Share]] = {
    "test_value_is_a_positive_finite_number": Spent,
    "test_value_lies_within_the_bounds": Modest,
    "test_value_never_rises_with_the_length": Patient,
    "test_value_never_falls_with_the_complexity": Deterred,
    "test_value_depends_on_its_arguments_only": Impure,
}


def test_every_rule_has_one_that_breaks_it() -> None:
    assert set(BROKEN) == set(RULES)


@pytest.mark.parametrize(("rule", "broken"), BROKEN.items())
def test_a_broken_rule_is_reported_and_no_other(rule: str, broken: type[Share]) -> None:
    errors = failures(broken)
    assert set(errors) == {rule}
    assert len(errors[rule]) > 20, "the message must teach"


def test_an_adjustment_can_be_named_instead_of_made() -> None:
    class Mine(AdjustmentSuite):
        adjustment = Flat()

    assert Mine().make() is Mine.adjustment
