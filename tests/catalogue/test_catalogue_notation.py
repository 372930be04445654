"""What a person types, and the character at which it goes wrong."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from omnimeter.catalogue import alternatives
from omnimeter.catalogue.specs import read_assignment, read_call
from omnimeter.contract import InvalidInputError, Spec


@pytest.mark.parametrize(
    ("text", "name", "parameters"),
    [
        ("random", "random", {}),
        (" random ", "random", {}),
        ("random()", "random", {}),
        ("random( )", "random", {}),
        ("random(rate=10)", "random", {"rate": 10}),
        ('random-v1(rate=1e1, label="x")', "random-v1", {"rate": 10.0, "label": "x"}),
        ("random(label=two parts ,b=null)", "random", {"label": "two parts", "b": None}),
        ("random(label='a,b)')", "random", {"label": "a,b)"}),
        (r'random(label="a\",(b")', "random", {"label": 'a",(b'}),
        ('random(a=[1,[2,3]],b={"c":[4,5],"d":")"})', "random", {
            "a": [1, [2, 3]], "b": {"c": [4, 5], "d": ")"},
        }),
        ("outer(part=inner-v1(x=1,y=2),z=true)", "outer", {"part": "inner-v1(x=1,y=2)", "z": True}),
        ("my_agent.py:MyAgent(depth=3)", "my_agent.py:MyAgent", {"depth": 3}),
        ("a(x=007,y=1.2.3,z=-)", "a", {"x": "007", "y": "1.2.3", "z": "-"}),
        ('a(x="")', "a", {"x": ""}),
        ("a(x=k=v)", "a", {"x": "k=v"}),
        ("my agent (v2).py:MyAgent", "my agent (v2).py:MyAgent", {}),
        ("a(1).py:X(depth=3)", "a(1).py:X", {"depth": 3}),
        ("(old) a/b,c (2).py:X.Y ( d = 1 )", "(old) a/b,c (2).py:X.Y", {"d": 1}),
        ("C:\\a(1)\\b.py:X()", "C:\\a(1)\\b.py:X", {}),
        ('"a(.py:X"', "a(.py:X", {}),
        ('"a\\"(é.py:X" (d=1)', 'a"(é.py:X', {"d": 1}),
        ('slowed(agent="a,b.py:X"(d=1),s=2)', "slowed", {"agent": '"a,b.py:X"(d=1)', "s": 2}),
        ("slowed(agent=my.py:X(depth=3))", "slowed", {"agent": "my.py:X(depth=3)"}),
    ],
)  # fmt: skip
def test_reading(text: str, name: str, parameters: dict[str, Any]) -> None:
    assert read_call(text) == (name, parameters)


@pytest.mark.parametrize(
    ("text", "position", "reason"),
    [
        ("random(rate=10", 7, r"the '\(' is never closed"),
        ("random(a=[1,2)", 10, r"the '\[' is never closed"),
        ('random(a="x)', 10, 'the " is never closed'),
        ("random(a=1) b", 13, "'b' follows"),
        ("random(10)", 8, "'key=value' is expected"),
        ("random(a=1,)", 12, "'key=value' is expected"),
        ("random(,a=1)", 8, "'key=value' is expected"),
        ("random(a=1,a=2)", 12, "'a' is given twice"),
        ("random(a=)", 10, "the value is missing"),
        ("random(a=[1,])", 13, "not JSON"),
        ('random(a={"x":1,y:2})', 17, "not JSON"),
        ("random(a=NaN)", 10, "not a number"),
        ("random(a=[1e999])", 10, "too large"),
        ("random(2x=1)", 8, "'key=value' is expected"),
        ("slowed(agent=my.py:X", 7, r"the '\(' is never closed"),
        ('"a.py:X" b', 9, r"here '\(' is expected"),
        ('random(a={"x":1,"x":2})', 10, "the key 'x' is given twice"),
        ("random(a=" + "[" * 9999 + "]" * 9999 + ")", 29, "nested too deeply"),
        ("random(a=" + "[" * 9999, 29, "nested too deeply"),
        ('random(a="\\ud800")', 10, "not Unicode"),
        ("random(a=" + "9" * 5000 + ")", 10, "too large"),
    ],
)
def test_mistakes_have_a_position(text: str, position: int, reason: str) -> None:
    with pytest.raises(InvalidInputError, match=f"character {position}: .*{reason}"):
        read_call(text)


def test_assignment_takes_all_that_follows() -> None:
    assert read_assignment("label=it's, (well") == ("label", "it's, (well")
    assert read_assignment(" rate = 3 ") == ("rate", 3)
    with pytest.raises(InvalidInputError, match="character 1: here 'key=value'"):
        read_assignment("rate")


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=8,
)  # fmt: skip
names = st.from_regex(r"[A-Za-z_]\w*", fullmatch=True)


@given(st.dictionaries(names, json_values, max_size=4))
def test_whatever_is_written_as_json_is_read_again(parameters: dict[str, Any]) -> None:
    inside = ", ".join(f"{name}={json.dumps(value)}" for name, value in parameters.items())
    assert read_call(f"part-v1({inside})") == ("part-v1", parameters)


@given(
    st.text(alphabet="ab ()[]{},:=.'\"\\/é", min_size=1),
    st.dictionaries(names, json_values, max_size=2),
    st.booleans(),
)
def test_label_of_any_file_is_read_again(
    file: str, parameters: dict[str, Any], inside: bool
) -> None:
    spec = Spec(f"{file}.py:MyAgent", parameters)
    assert read_call(spec.label) == (spec.id, spec.parameters)
    if inside:
        outer = Spec("slowed-v1", {"agent": spec.to_json()})
        _, given = read_call(outer.label)
        assert read_call(given["agent"]) == (spec.id, spec.parameters)


@given(st.text(alphabet="ab=,()[]{}\"'\\1. ", max_size=20))
def test_any_text_is_read_or_refused(text: str) -> None:
    try:
        name, _ = read_call(text)
    except InvalidInputError as error:
        assert 1 <= int(str(error).split("character ")[1].split(":")[0]) <= len(text) + 1  # noqa: PT017 - both ways are fine
    else:
        assert text.strip().startswith(name)


@pytest.mark.parametrize(
    ("text", "stands_for"),
    [
        ("q", ["q"]),
        ("q(a=1)", ["q(a=1)"]),
        ("q(a=1|2)", ["q(a=1)", "q(a=2)"]),
        ("q(a=0.1 | 0.2, b=x|y)", [
            "q(a=0.1 , b=x)", "q(a=0.1 , b=y)", "q(a= 0.2, b=x)", "q(a= 0.2, b=y)",
        ]),
        ('q(a=[1,2]|[3],b={"c":"d|e"})', ['q(a=[1,2],b={"c":"d|e"})', 'q(a=[3],b={"c":"d|e"})']),
        ("""q(a='x|y',b="x|y")""", ["""q(a='x|y',b="x|y")"""]),
        ("q(a='x|y'|z)", ["q(a='x|y')", "q(a=z)"]),
        ("slowed(agent=q(a=1|2)|r,s=3)", [
            "slowed(agent=q(a=1),s=3)", "slowed(agent=q(a=2),s=3)", "slowed(agent=r,s=3)",
        ]),
        ('slowed(agent="a|b.py:X"(d=1|2))', [
            'slowed(agent="a|b.py:X"(d=1))', 'slowed(agent="a|b.py:X"(d=2))',
        ]),
        ("a|b (v|2).py:X(d=1|2)", ["a|b (v|2).py:X(d=1)", "a|b (v|2).py:X(d=2)"]),
        ("q(a=(x|y))", ["q(a=(x|y))"]),
        ("q(a|b)", ["q(a|b)"]),
    ],
)  # fmt: skip
def test_alternatives(text: str, stands_for: list[str]) -> None:
    assert alternatives(text) == stands_for


@pytest.mark.parametrize("text", ["q(a=1|)", "q(a=|1)", "q(a=1||2)", "q(a= | )"])
def test_an_alternative_cannot_be_missing(text: str) -> None:
    with pytest.raises(InvalidInputError, match=r"character 5: a value is missing beside '\|'"):
        alternatives(text)


def test_there_are_not_too_many_alternatives() -> None:
    values = "|".join(map(str, range(10)))
    assert len(alternatives(f"q(a={values},b={values},c={values})")) == 1000
    with pytest.raises(InvalidInputError, match="more than 1,000"):
        alternatives(f"q(a={values},b={values},c={values},d=1|2)")


@given(st.dictionaries(st.sampled_from("abc"), st.text(), min_size=1))
def test_a_label_stands_for_itself(parameters: dict[str, str]) -> None:
    """Texts with bars are in quotes there."""
    label = Spec("random-v1", parameters).label
    assert alternatives(label) == [label]
