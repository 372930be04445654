"""Parts made from specs: parameters known, missing, coerced and rejected."""

from __future__ import annotations

import sys
from dataclasses import dataclass, field
from enum import Enum
from typing import TYPE_CHECKING, Any, Literal

import pytest

from omnimeter.catalogue import Kind, describe, make
from omnimeter.contract import Agent, InvalidInputError, Spec, UnknownNameError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from nowhere import Unknown  # type: ignore[import-not-found] # seen by type checkers only


class Colour(Enum):
    RED = "red"


class Silent(Agent):
    def act(self, reward, observation):
        return 0


class Given(Silent):
    """Remembers what it was given.

    Long text.

    Args:
        rate: How often,
            in hertz.
        label (str): What: a name.

    Raises:
        ValueError: The rate is negative.
    """

    def __init__(
        self,
        rate: float,
        label: str = "none",
        sizes: tuple[int, ...] = (1, 2),
        colour: Colour = Colour.RED,
        mode: Literal["slow", "fast"] = "slow",
        steps: Sequence[int] | None = None,
        strange: Unknown = None,
        bare=None,
        part: Spec | None = None,
    ) -> None:
        if rate < 0:
            raise ValueError("the rate is negative.")
        if rate == 0:
            raise UnknownNameError("rate", "zero", ["one"])
        if rate > 1000:
            raise OSError("too fast")
        self.given = {name: value for name, value in locals().items() if name != "self"}


@dataclass
class Fields(Silent):
    """Holds two lists.

    Attributes:
        first: The one.
        second: The other.
    """

    first: list[int] = field(default_factory=lambda: [3])
    second: list[float] = field(default_factory=list)


class Documented(Silent):
    """Has more to say.

    Attributes:
        memory: Not a parameter.
    """

    def __init__(self, depth: "int" = 2) -> None:  # noqa: UP037 - as a text on purpose
        """Begin.

        Args:
            depth: How deep.
        """
        self.depth = depth


class Open(Silent):
    def __init__(self, *, size: int = 1, **more: Any) -> None:
        self.given = {"size": size, **more}


class Abstract(Agent):
    """Cannot be made."""


def policy(observation, depth: int = 1, *, width: int = 2):
    return observation, depth, width


class Caller:
    def __call__(self, observation, depth=1):
        return 0


single = Silent()
caller = Caller()


def made(name: str, **parameters: Any) -> Any:
    return make(Kind.AGENT, Spec(f"{__name__}:{name}", parameters))


def error_message(name: str, **parameters: Any) -> str:
    with pytest.raises(InvalidInputError) as caught:
        made(name, **parameters)
    return str(caught.value)


@pytest.mark.parametrize(
    ("name", "value", "expected"),
    [
        ("rate", 3, 3.0),
        ("rate", "3", 3.0),
        ("label", "x", "x"),
        ("label", 10, "10"),
        ("sizes", [3, 4], (3, 4)),
        ("colour", "red", Colour.RED),
        ("mode", "fast", "fast"),
        ("steps", [1, 2], [1, 2]),
        ("steps", None, None),
        ("strange", {"a": [1]}, {"a": [1]}),
        ("bare", [1], [1]),
        ("part", {"id": "cups-v1", "parameters": {"a": 1}}, Spec("cups-v1", {"a": 1})),
    ],
)
def test_values_become_what_is_annotated(name: str, value: object, expected: object) -> None:
    agent = made("Given", **{"rate": 1, name: value})
    assert agent.given[name] == expected
    assert type(agent.given[name]) is type(expected)


@pytest.mark.parametrize(
    ("name", "value", "reason"),
    [
        ("rate", "ten", 'cannot be "ten": input should be a valid number.*Expected: float'),
        ("sizes", [1, "x"], r'cannot be \[1, "x"\]: \[1\]: .*valid integer.*tuple\[int, ...\]'),
        ("colour", "blue", "cannot be .*'red'.*Expected: Colour"),
        ("mode", "medium", "cannot be .*'slow' or 'fast'"),
        ("steps", 3, "cannot be 3: .*Expected: Sequence"),
        ("label", ["x"] * 99, r"cannot be \[\"x\", .*\.\.\.: .*valid string"),
    ],
)
def test_values_that_do_not_fit(name: str, value: object, reason: str) -> None:
    with pytest.raises(InvalidInputError, match=f"parameter '{name}' of .*Given {reason}"):
        made("Given", **{"rate": 1, name: value})


def test_unknown_parameter() -> None:
    message = error_message("Given", raet=3)
    assert "Given has no parameter 'raet'. Did you mean 'rate'? Known: rate, label, " in message
    assert "It has no parameters" in error_message("Silent", rate=3)


def test_missing_parameter() -> None:
    assert "Given needs the parameter 'rate'. Write" in error_message("Given", label="x")


def test_open_ended_constructor_takes_anything() -> None:
    assert made("Open", size="2", other=[3]).given == {"size": 2, "other": [3]}


def test_constructor_that_raises() -> None:
    assert "Given(rate=-1) cannot be made: the rate is negative." in error_message("Given", rate=-1)
    assert "Given: There is no rate 'zero'. Known: one." in error_message("Given", rate=0)
    message = error_message("Given", rate=1e6)
    assert "test_catalogue_making.py, line " in message
    assert message.endswith("OSError: too fast.")
    assert "abstract" in error_message("Abstract")


def test_functions_are_taken_as_they_are_and_of_objects_there_are_copies() -> None:
    assert made("policy") is policy
    for name, thing in (("single", single), ("caller", caller)):
        assert type(made(name)) is type(thing)
        assert made(name) is not thing
    for name in ("single", "caller"):
        assert "is a single object, which takes no parameters" in error_message(name, depth=1)


def test_dataclasses_are_made() -> None:
    assert made("Fields", second=["1", 2]) == Fields([3], [1.0, 2.0])
    assert made("Documented", depth="3").depth == 3


def test_function_is_bound_to_its_parameters() -> None:
    assert made("policy", depth="3", width=4)(9) == (9, 3, 4)
    assert "has no parameter 'observation'. Known: depth, width" in error_message(
        "policy", observation=1
    )


def test_pydantic_is_not_needed_without_parameters(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pydantic", None)
    assert isinstance(made("Silent"), Silent)


def test_description() -> None:
    description = describe(Kind.AGENT, f"{__name__}:Given")
    assert (description.id, description.package) == (f"{__name__}:Given", "")
    assert description.doc == (
        "Remembers what it was given.\n\nLong text.\n\n"
        "Raises:\n    ValueError: The rate is negative."
    )
    rate, label, sizes, *_ = description.parameters
    assert (rate.name, rate.annotation, rate.required) == ("rate", "float", True)
    assert rate.doc == "How often, in hertz."
    assert (label.default, label.required, label.doc) == ("none", False, "What: a name.")
    assert (sizes.annotation, sizes.default, sizes.doc) == ("tuple[int, ...]", (1, 2), "")


def test_attributes_of_a_dataclass_are_its_parameters() -> None:
    description = describe(Kind.AGENT, f"{__name__}:Fields")
    assert description.doc == "Holds two lists."
    first, second = description.parameters
    assert (first.annotation, first.default, first.doc) == ("list[int]", [3], "The one.")
    assert (second.default, second.doc) == ([], "The other.")


def test_constructor_may_document_its_parameters_itself() -> None:
    description = describe(Kind.AGENT, f"{__name__}:Documented")
    assert description.doc.endswith("Attributes:\n    memory: Not a parameter.")
    assert [parameter.doc for parameter in description.parameters] == ["How deep."]


def test_description_of_functions_and_objects() -> None:
    depth, width = describe(Kind.AGENT, f"{__name__}:policy").parameters
    assert (depth.annotation, depth.default, width.default) == ("int", 1, 2)
    assert describe(Kind.AGENT, f"{__name__}:single").parameters == []
