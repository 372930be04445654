"""Python arguments of wrong types and sizes: one error of ours each."""

from __future__ import annotations

import inspect
from pathlib import Path
from typing import Any

import pytest

import omnimeter

WRONG: list[Any] = [
    "x", "", "\0", "\ud800", -1, 1.5, 10**20, float("nan"), float("inf"), [], {}, [None],
    {"a": 1}, object(), b"x", 3 + 1j, ("a",), len,
]  # fmt: skip
FINE = {"progress", "out", "joint", "traces", "privileged", "seed"}  # of which some are possible
NUMBERS_AND_NAMES = [
    each.name
    for each in inspect.signature(omnimeter.evaluate).parameters.values()
    if each.kind is each.KEYWORD_ONLY and each.name not in FINE
]


@pytest.mark.parametrize("name", NUMBERS_AND_NAMES)
def test_evaluate_refuses(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    small: dict[str, Any] = {"exercises": 1, "interactions": 5, "seed": 1}
    refused = 0
    for value in WRONG:
        try:
            omnimeter.evaluate("random", "cups", **(small | {name: value}))
        except omnimeter.OmnimeterError as error:
            assert error.message  # noqa: PT017 - some of the values are possible
            refused += 1
    assert refused >= len(WRONG) - 3


@pytest.mark.parametrize("name", ["traces", "privileged"])
def test_flags_are_true_or_false(name: str) -> None:
    flag: dict[str, Any] = {name: "maybe"}
    with pytest.raises(omnimeter.OmnimeterError, match=f"{name}='maybe' cannot be used"):
        omnimeter.evaluate("random", "cups", exercises=1, interactions=5, **flag)


@pytest.mark.parametrize("value", [None, *WRONG], ids=lambda each: type(each).__name__)
def test_what_is_no_part(value: Any) -> None:
    if value is not len:  # a function can be an agent
        with pytest.raises(omnimeter.OmnimeterError):
            omnimeter.evaluate(value, "cups", exercises=1, interactions=5)
    with pytest.raises(omnimeter.OmnimeterError):
        omnimeter.evaluate("random", value, exercises=1, interactions=5)
