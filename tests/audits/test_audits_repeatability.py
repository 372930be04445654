"""Audits of what cannot be repeated, built again or run compiled."""

from __future__ import annotations

import numpy as np
import pytest

from automata import FAIR, MATCH, Automata, Automaton, finding, small
from broken_environments import InconsistentCups
from omnimeter.audits import audit
from omnimeter.contract import Claims, Environment, Instance, InvalidInputError, Percept
from omnimeter.contract.spec import canonical_json


class Moody(Automata):
    """Every environment that is built pays a little more than the one before."""

    built = 0

    def build(self, instance: Instance) -> Environment:
        type(self).built += 1
        return Automaton(MATCH, [[1.0 / self.built] * 2] * 2)


def test_what_is_not_repeatable_is_detected() -> None:
    result = small(Moody(MATCH, FAIR, Claims(balanced=False)))
    determinism = finding(result, "determinism")
    assert not result.ok
    assert not determinism.passed
    assert determinism.witness is not None
    assert determinism.witness["first"] != determinism.witness["second"]


class Tuples(Automata):
    def draw(self, rng: np.random.Generator, complexity: float | None = None) -> Instance:
        return Instance({"pair": (1, 2)})


class Sets(Automata):
    def draw(self, rng: np.random.Generator, complexity: float | None = None) -> Instance:
        return Instance({"set": {1}, "name": int(rng.integers(9))})


class Endless(Automata):
    def complexity(self, instance: Instance) -> float:
        return float("inf")


class Forgetting(Automata):
    """Drawn without the generator."""

    drawn = 0

    def draw(self, rng: np.random.Generator, complexity: float | None = None) -> Instance:
        type(self).drawn += 1
        return Instance({"name": self.drawn})


class Deaf(Automata):
    """Ignores the complexity that is asked for."""

    def draw(self, rng: np.random.Generator, complexity: float | None = None) -> Instance:
        return Instance({"name": int(rng.integers(1000)) + (complexity is not None)})

    def complexity(self, instance: Instance) -> float:
        return float(instance.data["name"])


class Stubborn(Automata):
    def draw(self, rng: np.random.Generator, complexity: float | None = None) -> Instance:
        if complexity is not None:
            raise InvalidInputError("No.")
        return super().draw(rng)


class TypeReader(Automata):
    """Pays differently when its description was read from JSON."""

    def draw(self, rng: np.random.Generator, complexity: float | None = None) -> Instance:
        return Instance({"rows": ListOfOnes([1])})

    def build(self, instance: Instance) -> Environment:
        pays = 1.0 if isinstance(instance.data["rows"], ListOfOnes) else -1.0
        return Automaton(MATCH, [[pays, -pays]] * 2)


class ListOfOnes(list[int]):
    pass


@pytest.mark.parametrize(
    ("kind", "message"),
    [
        (Tuples, "JSON text changes an instance"),
        (Endless, "not a finite number"),
        (Forgetting, "draws another instance"),
        (Deaf, "another complexity"),
        (Stubborn, "cannot be asked for"),
        (TypeReader, "gives other percepts"),
    ],
)
def test_what_cannot_be_built_again_is_detected(kind: type[Automata], message: str) -> None:
    rebuild = finding(small(kind(MATCH, FAIR)), "rebuild")
    assert not rebuild.passed
    assert message in rebuild.summary
    assert rebuild.witness is not None


def test_what_cannot_even_be_named_fails_every_check_without_a_crash() -> None:
    result = small(Sets(MATCH, FAIR))
    assert not result.ok
    assert all("not JSON serializable" in each.summary for each in result.findings[1:])
    canonical_json(result.to_json())


class Explosive(Automata):
    def build(self, instance: Instance) -> Environment:
        return Bomb(MATCH, FAIR)


class Bomb(Automaton):
    def step(self, action: int) -> Percept:
        raise RuntimeError("boom")


def test_an_environment_that_raises_fails_its_audit_only() -> None:
    result = small(Explosive(MATCH, FAIR))
    assert not result.ok
    assert all(not each.passed for each in result.findings)
    assert all("boom" in each.summary for each in result.findings)


def test_a_compiled_loop_that_disagrees_is_detected() -> None:
    agreement = finding(audit(InconsistentCups(), instances=3, interactions=60), "agreement")
    assert not agreement.passed
    assert agreement.witness is not None
    assert np.array_equal(agreement.witness["compiled"], -agreement.witness["stepwise"])
