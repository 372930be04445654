"""The audits report what is wrong, and only that."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from automata import FAIR, MATCH, Automata, Coin, Coins, finding, small
from omnimeter.audits import Finding, audit
from omnimeter.audits.checks import check_balance, class_mean, contains_zero
from omnimeter.audits.subject import Subject
from omnimeter.contract import (
    Claims,
    Environment,
    EnvironmentClass,
    Instance,
    InvalidInputError,
    Percept,
    stream,
)
from omnimeter.contract.spec import canonical_json
from omnimeter.environments.automata import Automata as Machines
from omnimeter.environments.buttons import Buttons
from omnimeter.environments.cups import Cups

# What is right passes


@pytest.mark.parametrize("rule", ["published", "rest"])
def test_cups_pass(rule: Any) -> None:
    result = audit(Cups(rule=rule))
    assert result.ok
    assert [each.check for each in result.findings] == [
        "range", "balance", "sensitivity", "structure", "determinism", "rebuild", "agreement",
    ]  # fmt: skip
    assert finding(result, "sensitivity").passed == (rule == "rest")


@pytest.mark.parametrize("example", ["alternating", "bananas", "bounded", "balanced"])
def test_buttons_keep_their_claims(example: Any) -> None:
    result = audit(Buttons(example))
    assert result.ok
    assert finding(result, "balance").passed == (example == "balanced")
    assert finding(result, "sensitivity").numbers["needed_horizon"] == 1
    assert finding(result, "range").numbers["symmetric"] == (example == "balanced")


def test_a_class_without_kernels_is_audited_too() -> None:
    result = small(Automata(MATCH, FAIR, Claims(sensitive=1)))
    assert result.ok
    assert "agreement" not in [each.check for each in result.findings]
    assert finding(result, "sensitivity").numbers["decided_exactly"] == len(
        {stream(0, "audit", "instance", n).generator().integers(1000) for n in range(8)}
    )


def test_an_audit_is_json_and_repeatable() -> None:
    first, second = (audit(Cups(3, 4), instances=5).to_json() for _ in range(2))
    assert canonical_json(first) == canonical_json(second)
    assert first["settings"] == {
        "instances": 5, "interactions": 2520, "seed": 0, "confidence": 0.99,
    }  # fmt: skip
    assert audit(Cups(3, 4), instances=5, seed=1).to_json() != first


def test_progress_is_reported_as_text_and_numbers() -> None:
    reported: list[str | float] = []
    small(Automata(MATCH, FAIR), progress=reported.append)
    shares = [each for each in reported if isinstance(each, float)]
    assert shares == sorted(shares)
    assert shares[-1] == 1.0
    assert "balance" in reported


@pytest.mark.parametrize("wrong", [{"instances": 0}, {"interactions": 0}, {"confidence": 1.0}])
def test_an_empty_audit_is_an_error(wrong: dict[str, Any]) -> None:
    with pytest.raises(InvalidInputError):
        audit(Cups(), **wrong)


# Range


def test_a_reward_out_of_range_is_reported_with_its_instance() -> None:
    result = small(Automata(MATCH, [[1.5, -1.5], [0.0, 0.0]]))
    reward_range = finding(result, "range")
    assert not result.ok
    assert not reward_range.passed
    assert reward_range.witness is not None
    assert reward_range.witness["highest"] == 1.5
    assert set(reward_range.witness["instance"]) == {"name"}
    assert not finding(result, "balance").passed  # Definition 13 begins with symmetric rewards


def test_a_reward_that_is_no_number_is_out_of_range() -> None:
    result = small(Automata(MATCH, [[float("nan"), 0.0], [0.0, 0.0]]))
    assert not finding(result, "range").passed
    canonical_json(result.to_json())


# Balance


def test_cups_that_are_not_balanced_by_themselves_are_identified_exactly() -> None:
    environment_class = Cups()
    result = audit(environment_class, instances=60)
    balance = finding(result, "balance")
    drawn = {
        environment_class.draw(stream(0, "audit", "instance", n).generator()).data["colours"]
        for n in range(60)
    }
    odd = [colours for colours in drawn if len(colours) % 2 == 1]
    assert balance.passed
    assert balance.numbers["unbalanced_instances"] == len(odd)
    assert balance.witness is not None
    for each in balance.witness["instances"]:
        colours = each["instance"]["colours"]
        # Of the patterns that can be reached, half of all, one pays: white if blacks are even.
        sign = 1 if colours.count("B") % 2 == 0 else -1
        assert each["exact"]
        assert each["mean"] == pytest.approx(sign / 2 ** (len(colours) - 1))
        assert colours in odd


def test_cups_that_rest_are_balanced_one_by_one() -> None:
    assert finding(audit(Cups(rule="rest")), "balance").numbers["unbalanced_instances"] == 0


def test_a_slight_imbalance_is_caught() -> None:
    result = audit(Coins(0.05), interactions=400)
    balance = finding(result, "balance")
    assert not result.ok
    assert not balance.passed
    assert balance.numbers["low"] < 0.05 < balance.numbers["high"]


def test_an_imbalance_that_is_not_claimed_away_is_reported_only() -> None:
    result = small(Coins(0.5, Claims(balanced=False)))
    assert result.ok
    assert not finding(result, "balance").passed


def test_a_constant_imbalance_is_decided_exactly() -> None:
    result = small(Automata([[0, 0]], [[0.05, 0.05]]))
    balance = finding(result, "balance")
    assert not balance.passed
    assert balance.numbers["low"] == balance.numbers["high"] == pytest.approx(0.05)
    assert balance.witness is not None
    assert balance.witness["instances"][0]["exact"]


def test_few_equal_values_prove_nothing() -> None:
    """Two instances that agree say little about a class."""
    result = small(Automata([[0, 0]], [[0.05, 0.05]]), instances=2)
    assert finding(result, "balance").passed


def test_a_cycle_is_not_cut_off() -> None:
    cycle = Automata([[1, 1], [2, 2], [0, 0]], [[1.0, 1.0], [0.0, 0.0], [-1.0, -1.0]])
    assert finding(audit(cycle, instances=8), "balance").passed


def always(environment_class: EnvironmentClass, **changes: Any) -> Finding:
    return finding(audit(environment_class, **changes), "balance")


@pytest.mark.parametrize(("claimed", "passes"), [(True, False), ("limit", True), (False, True)])
def test_balance_in_the_long_run_only_is_told_from_balance_in_every_interaction(
    claimed: Any, passes: bool
) -> None:
    """Rewards of 1, 0, -1 in turn: the mean is 0, but not that of the first."""

    class Turns(Automata):
        def draw(self, rng: np.random.Generator, complexity: float | None = None) -> Instance:
            return Instance({})

    turns = Turns([[1, 1], [2, 2], [0, 0]], [[1.0] * 2, [0.0] * 2, [-1.0] * 2], Claims(claimed))
    balance = always(turns)
    assert balance.passed is passes
    assert balance.claimed is bool(claimed)
    assert balance.numbers["sense"] == "limit"
    assert balance.numbers["first_off"] == {"interactions": 1, "mean": 1.0, "low": 1.0, "high": 1.0}
    assert "in the long run only: in the first 1 interaction the mean is 1" in balance.summary


def test_single_automata_are_balanced_in_the_long_run_only_and_their_class_always() -> None:
    balance = always(Machines())
    assert balance.passed
    assert balance.numbers["sense"] == "always"
    assert balance.numbers["unbalanced_instances"] == 0
    assert balance.numbers["long_run_only_instances"] > 0
    assert balance.witness is not None
    assert all(each["exact"] for each in balance.witness["long_run_only"])


def test_an_automaton_with_an_expected_first_reward_of_a_third() -> None:
    """What the claims of the class say of single automata."""
    machines = Machines(actions=2, max_states=3)
    listed = machines.members(*machines.complexity_range(), 10**5)
    assert listed is not None
    subject = Subject(machines, 1, 10, 0, 0.99)
    firsts = set()
    for instance in listed:
        graph = subject.graph(instance)
        assert graph is not None
        assert graph.random_mean() == pytest.approx(0, abs=1e-9)
        firsts.add(round(float(graph.rewards[0].mean()), 9))
    assert round(1 / 3, 9) in firsts


def test_an_early_imbalance_of_random_rewards_is_caught() -> None:
    """The first reward is 1, the second -1, all others are fair coins."""

    class Early(Coin):
        def start(self, rng: np.random.Generator) -> Percept:
            self.first = [1.0, -1.0]
            return super().start(rng)

        def step(self, action: int) -> Percept:
            percept = super().step(action)
            return Percept(self.first.pop(0), 0) if self.first else percept

    class Earlies(Coins):
        def build(self, instance: Instance) -> Environment:
            return Early(0.0)

    balance = always(Earlies(0.0))
    assert not balance.passed
    assert balance.numbers["first_off"]["interactions"] == 1
    assert always(Coins(0.0)).numbers["sense"] == "always"


def test_an_expectation_that_is_0_as_often_as_there_are_states_is_always_0() -> None:
    """The bound of ``first_unbalanced``: a corridor pays in its last state only."""
    length = 6
    following = [[min(state + 1, length - 1)] * 2 for state in range(length)]
    rewards = [[0.0, 0.0]] * (length - 1) + [[1.0, 1.0]]
    automaton = Automata(following, rewards)
    subject = Subject(automaton, 1, 10, 0, 0.99)
    graph = subject.graph(subject.instances[0])
    assert graph is not None
    assert graph.first_unbalanced(1000) == (length, 1.0)
    assert graph.first_unbalanced(length - 1) is None


@pytest.mark.slow
@pytest.mark.parametrize("environment_class", [Buttons(), Cups(), Cups(3, 5)])
def test_balanced_classes_fail_as_rarely_as_is_stated(environment_class: EnvironmentClass) -> None:
    audits = 800
    failed = {0.9: 0, 0.99: 0}
    for seed in range(audits):
        subject = Subject(environment_class, 20, 252, seed, 0.99)
        for confidence in failed:
            failed[confidence] += not contains_zero(
                class_mean(subject, subject.runs.means, confidence)
            )
    for confidence, count in failed.items():
        expected = audits * (1 - confidence)
        assert count <= expected + 3.5 * np.sqrt(expected)


@pytest.mark.slow
@pytest.mark.parametrize("environment_class", [Buttons(), Coins(0.0)])
def test_looking_at_first_interactions_hardly_refuses_more(
    environment_class: EnvironmentClass,
) -> None:
    audits = 200
    failed = 0
    for seed in range(audits):
        failed += not check_balance(Subject(environment_class, 20, 252, seed, 0.99)).passed
    assert failed <= audits * 0.011 + 3.5 * np.sqrt(audits * 0.011)


@pytest.mark.slow
def test_unbalanced_classes_nearly_always_fail() -> None:
    for seed in range(40):
        subject = Subject(Coins(0.05), 20, 252, seed, 0.99)
        assert not contains_zero(class_mean(subject, subject.runs.means, 0.99))
