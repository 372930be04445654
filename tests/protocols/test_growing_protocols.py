"""Tests that grow: a smaller one has the first exercises of a larger one, and nothing else."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from omnimeter.catalogue import Kind, describe, listing, make
from omnimeter.contract import Spec

AGENT = Spec("random-v1")
GROWING = {
    "sample-v1": {"environment_class": {"id": "cups-v1"}, "interactions": 5},
    "battery-v1": {"battery": "thesis-table-6-1"},
    "bayesian-rl-v1": {"environment_class": {"id": "gc-v1"}, "interactions": 5},
    "perturbation-v1": {
        "environment_class": {"id": "gc-v1"},
        "then": [{"id": "gc-v1"}, {"id": "gc-v1", "parameters": {"variant": "uniform"}}],
        "at": 5,
        "interactions": 10,
    },
}


def made(name, number, **more):
    parameters = {**GROWING[name], **more}
    grows = make(Kind.PROTOCOL, Spec(name, parameters)).grows
    return make(Kind.PROTOCOL, Spec(name, {**parameters, grows: number}))


def keys(protocol):
    return [exercise.key for exercise in protocol.propose(AGENT, [])]


def test_a_protocol_grows_by_a_parameter_that_is_an_attribute():
    grown = set()
    for entry in listing(Kind.PROTOCOL):
        known = {each.name for each in describe(Kind.PROTOCOL, entry.id).parameters}
        if entry.id in GROWING:
            protocol = made(entry.id, 3)
            assert protocol.grows in known
            assert getattr(protocol, protocol.grows) == 3
            assert protocol.indivisible == ""
            grown.add(entry.id)
    assert grown == set(GROWING)


@pytest.mark.parametrize("name", GROWING)
@settings(max_examples=6, deadline=None)
@given(sizes=st.tuples(st.integers(1, 4), st.integers(1, 4)), seed=st.integers(0, 2**32))
def test_a_smaller_test_has_the_first_exercises(name, sizes, seed):
    small, large = sorted(sizes)
    first, every = (keys(made(name, size, seed=seed)) for size in (small, large))
    assert every[: len(first)] == first
    assert len(every) * small == len(first) * large


@pytest.mark.parametrize(
    ("name", "parameters"),
    [
        (
            "sample-v1",
            {"environment_class": {"id": "cups-v1"}, "interactions": 5, "precision": 0.1},
        ),
        ("bayesian-rl-v1", {"environment_class": {"id": "gc-v1"}, "trajectories": 2}),
        ("universal-rewards-v1", {"environment_class": {"id": "cups-v1"}}),
        ("anytime-untimed-v1", {"environment_class": {"id": "automata-v1"}, "interactions": 1000}),
    ],
)
def test_what_cannot_grow_says_why(name, parameters):
    protocol = make(Kind.PROTOCOL, Spec(name, parameters))
    assert protocol.grows == ""
    assert protocol.indivisible


def test_the_order_of_a_universal_test_depends_on_its_size():
    """So a smaller one has not the first exercises of a larger one, and they are not merged."""
    spec = {"environment_class": {"id": "cups-v1"}, "interactions": 5}
    first, every = (
        keys(make(Kind.PROTOCOL, Spec("universal-rewards-v1", {**spec, "exercises": size})))
        for size in (3, 5)
    )
    assert every[:3] != first
