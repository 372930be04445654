"""What Lambda claims of its environments holds, and where nothing is claimed nothing holds."""

from __future__ import annotations

from collections.abc import Hashable
from itertools import product
from math import inf
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from automata import finding
from lambda_parts import arranged, ring, started, step
from omnimeter.audits import Audit, audit
from omnimeter.audits.states import KernelSimulator
from omnimeter.contract import Claims, Instance, stream
from omnimeter.environments.lambda_class import Lambda
from omnimeter.kernels import KernelEnvironment

SEEDS = st.integers(0, 2**32)
OUT_OF_REACH = {"consumption": "after", "division": "inf", "drop_on_agents": False}
"""A reward lasts for one interaction, and is not left where an agent is."""

COMBINATIONS: list[dict[str, Any]] = [
    dict(zip(("consumption", "vanish", "division", "drop_on_agents", "sharing"), each, strict=True))
    for each in product(
        ("before", "after"), (False, True), (1, 2, "inf"), (False, True), (False, True)
    )
]
SOME: list[dict[str, Any]] = [
    {},
    {"variant": "conceptual"},
    {"consumption": "before", "division": "inf", "drop_on_agents": False},
    {"consumption": "after", "division": 1, "drop_on_agents": False, "vanish": False},
    {"cycle": "never", "objects": ["random", "pattern"], "warm_up": 3},
    {"good": [1.0, 0.25], "evil": [1.0, 0.25], "cycle": "product"},
]


def examined(environment_class: Lambda, instances: int = 8, interactions: int = 504) -> Audit:
    """A small audit, with a confidence at which a balanced class hardly ever fails."""
    return audit(
        environment_class, instances=instances, interactions=interactions, confidence=0.9999
    )


# What is claimed holds


def check_claims(parameters: dict[str, Any], **size: int) -> None:
    result = examined(Lambda(**parameters), **size)
    assert result.ok, result.to_json()
    assert finding(result, "balance").claimed
    reachable = any(parameters.get(name) != rule for name, rule in OUT_OF_REACH.items())
    sensitivity = finding(result, "sensitivity")
    assert sensitivity.claimed == sensitivity.passed == reachable


@pytest.mark.parametrize("parameters", SOME, ids=str)
def test_balanced_and_sensitive(parameters: dict[str, Any]) -> None:
    check_claims(parameters)


@pytest.mark.slow
@pytest.mark.parametrize("parameters", COMBINATIONS, ids=str)
def test_balanced_and_sensitive_in_every_combination(parameters: dict[str, Any]) -> None:
    check_claims(parameters, instances=30, interactions=2520)


@pytest.mark.parametrize("parameters", COMBINATIONS, ids=str)
def test_actions_matter_within_as_many_of_them_as_cells(parameters: dict[str, Any]) -> None:
    """Every sequence of actions is tried, from states that random agents came to."""
    reachable = any(parameters[name] != rule for name, rule in OUT_OF_REACH.items())
    for seed in range(12):
        here = Lambda(cells=2 + seed % 4, stop=0.2, objects=["random"], **parameters)
        environment = started(here, seed)
        rng = np.random.default_rng(seed)
        for _ in range(seed):
            step(environment, int(rng.integers(environment.actions)))
        cells = len(environment.state.rewards)
        assert here.claims().sensitive == (cells if reachable else None)
        assert matters_within(environment, cells) == reachable


def matters_within(environment: KernelEnvironment, limit: int) -> bool:
    """Whether so many actions can bring different sums of rewards, by Definition 7 itself."""
    simulator = KernelSimulator(environment)
    reached: set[tuple[Hashable, float]] = {(simulator.save(), 0.0)}
    for _ in range(limit):
        longer = set()
        for snapshot, total in reached:
            for action in range(environment.actions):
                simulator.restore(snapshot)
                reward = simulator.step(action)
                longer.add((simulator.save(), total + reward))
        reached = longer
        if len({total for _, total in reached}) > 1:
            return True
    return False


# What does not hold is reported, with a witness


def test_an_unreachable_reward_is_detected() -> None:
    sensitivity = finding(examined(Lambda(cells=4, **OUT_OF_REACH)), "sensitivity")
    assert not sensitivity.claimed
    assert not sensitivity.passed
    assert sensitivity.witness is not None
    seed, *path = sensitivity.witness["stream"]
    environment = Lambda().build(Instance(sensitivity.witness["instance"]))
    environment.start(stream(seed, *path).generator())
    for action in sensitivity.witness["actions"]:
        environment.step(action)
    assert not matters_within(environment, sensitivity.witness["horizon"])


@settings(max_examples=30)
@given(st.booleans(), st.integers(1, 3), SEEDS)
def test_out_of_reach_nothing_is_ever_paid(vanish: bool, agents: int, seed: int) -> None:
    here = Lambda(vanish=vanish, **OUT_OF_REACH)  # type: ignore[arg-type]
    environment = started(here.with_views([None] * agents), seed)
    rng = np.random.default_rng(seed)
    for _ in range(50):
        actions = rng.integers(environment.actions, size=agents).tolist()
        assert step(environment, *actions) == [0.0] * agents


def test_good_that_is_worth_more_than_evil_is_detected() -> None:
    balance = finding(examined(Lambda(cells=4, evil=0.5)), "balance")
    assert not balance.claimed
    assert not balance.passed
    assert balance.numbers["low"] > 0
    assert balance.witness is not None
    assert balance.witness["instances"][0]["instance"]["evil"] == [0.5]


class Boastful(Lambda):
    """Claims what does not hold."""

    def claims(self) -> Claims:
        return Claims(balanced=True, sensitive=9)


@pytest.mark.parametrize(
    ("parameters", "check"), [({"evil": 0.5}, "balance"), (OUT_OF_REACH, "sensitivity")]
)
def test_a_false_claim_fails(parameters: dict[str, Any], check: str) -> None:
    result = examined(Boastful(cells=4, **parameters))
    assert not result.ok
    assert not finding(result, check).passed


# To stay where one is (section 4.1.2)


@settings(max_examples=60)
@given(st.sampled_from([1, 2, inf]), SEEDS)
def test_who_stays_is_sure_of_nothing_in_the_conceptual_frame(division: float, seed: int) -> None:
    """Proposition 3.6.2: wherever one has come to, staying there brings 0 for ever."""
    environment = started(Lambda(variant="conceptual", division=division), seed)
    rng = np.random.default_rng(seed)
    for _ in range(seed % 30):
        step(environment, int(rng.integers(environment.actions)))
    step(environment, int(rng.integers(environment.actions)))
    assert [step(environment, 0) for _ in range(60)] == [[0.0]] * 60


@pytest.mark.parametrize("cell", range(3))
def test_who_stays_is_sure_of_nothing_no_longer(cell: int) -> None:
    """In the implemented frame Good and Evil come by, and leave their rewards."""
    environment = arranged(ring(3), [0, 1, cell])
    paid = [step(environment, 0)[0] for _ in range(30)]
    assert sorted(paid[-3:]) == [-1.0, 0.0, 1.0]
    assert paid[:27] == paid[3:]
