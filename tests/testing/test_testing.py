"""The conformance suites: our own parts keep the rules, and broken ones are caught."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import pytest

import broken_agents
import broken_environments
import broken_protocols
from agreement import is_inherited
from omnimeter.agents.people import Desk, Scene, seat
from omnimeter.audits.rules import percepts_keep_the_contract
from omnimeter.catalogue import Kind, listing, make
from omnimeter.contract import Spec
from omnimeter.environments.lambda_class import Lambda
from omnimeter.payoffs import Average
from omnimeter.testing import AgentSuite, EnvironmentClassSuite, PayoffSuite, ProtocolSuite
from omnimeter.testing.environments import variants

SUITES: dict[Kind, type] = {
    Kind.ENVIRONMENT: EnvironmentClassSuite,
    Kind.AGENT: AgentSuite,
    Kind.PROTOCOL: ProtocolSuite,
    Kind.PAYOFF: PayoffSuite,
}

NEEDED: dict[str, dict[str, Any]] = {
    "anytime-timed-v1": {"environment_class": "cups-v1", "time": 0.001, "repetitions": 3},
    "anytime-untimed-v1": {"environment_class": "cups-v1", "interactions": 60, "repetitions": 3},
    "apprentice-v1": {"table": [0, 1, 2]},
    "bamcp-v1": {"k": 100, "depth": 5},
    "battery-v1": {"battery": "thesis-table-6-1", "tests": 2},
    "c-test-v1": {"depth": 7},
    "lambda-universal-v1": {"table_bits": 20},
    "bayesian-rl-v1": {"environment_class": "gc-v1", "exercises": 4, "interactions": 10},
    "bfs3-v1": {"k": 10, "c": 3, "depth": 5},
    "opps-ds-v1": {"budget": 20},
    "monitored-v1": {"agent": "q-learning-v1"},
    "perturbed-v1": {"agent": "q-learning-v1", "at": 5, "actions": "permuted", "erased": 0.5},
    "perturbation-v1": {"environment_class": "gc-v1", "then": "gc-v1", "at": 10, "exercises": 4},
    "sample-v1": {"environment_class": "cups-v1", "exercises": 4, "interactions": 10},
    "slowed-v1": {"agent": "q-learning-v1", "seconds": 0.01},
    "switch-v1": {"first": "cups-v1(min_cups=3,max_cups=3)", "at": 5},
    "universal-adjusted-v1": {
        "environment_class": "cups-v1",
        "exercises": 4,
        "adjustment": "share-v1",
    },
    "universal-rewards-v1": {"environment_class": "cups-v1", "exercises": 4},
    "universal-timed-v1": {"environment_class": "cups-v1", "exercises": 4, "seconds": 0.01},
}
"""Parameters of parts that cannot be made without, or would take long."""


ELSEWHERE = {"command-v1", "sb3-v1"}
"""Programs, which act in processes of their own only (``test_programs.py``), and parts that need a
library of their own (``make test-sb3``)."""


class PatientDesk(Desk):
    """A desk at which a person always does the first thing."""

    def begin(self, actions: int) -> None:
        """Nothing is shown."""

    def ask(self, scene: Scene, reward: float, seconds: float) -> int:
        return 0

    def recall(self, reward: float, action: int) -> None:
        """Nothing is shown."""

    def finish(self, scene: Scene, reward: float) -> None:
        """Nothing is shown."""


@pytest.fixture(autouse=True)
def _seated() -> Iterator[None]:
    """Where there are people, one is there."""
    seat(PatientDesk())
    yield
    seat(None)


def our_specs(kind: Kind) -> list[Spec]:
    entries = [entry for entry in listing(kind) if entry.package == "omnimeter"]
    entries = [entry for entry in entries if entry.id not in ELSEWHERE]
    specs = [Spec(entry.id, NEEDED.get(entry.id, {})) for entry in entries]
    return [
        variant for spec in specs for variant in variants(kind, spec) if not is_inherited(variant)
    ]


# Our own parts: one class of tests for each part in the catalogue and each way to make it


def suite_for(kind: Kind, spec: Spec) -> type:
    return type(f"Test {spec.label}", (SUITES[kind],), {"make": lambda self: make(kind, spec)})


for _kind in SUITES:
    for _spec in our_specs(_kind):
        globals()[f"Test {_spec.label}"] = suite_for(_kind, _spec)


def test_our_parts_are_in_the_catalogue() -> None:
    """Without them nothing above is tested."""
    assert {"buttons-v1", "cups-v1", "lambda-v1"} <= {
        spec.id for spec in our_specs(Kind.ENVIRONMENT)
    }
    assert "random-v1" in {spec.id for spec in our_specs(Kind.AGENT)}
    assert Spec("cups-v1", {"rule": "rest"}) in our_specs(Kind.ENVIRONMENT)
    assert Spec("lambda-v1", {"view": "string"}) in our_specs(Kind.ENVIRONMENT)


# Broken parts: each breaks one rule, and only that is reported


def rules(suite: type) -> list[str]:
    return [name for name in dir(suite) if name.startswith("test_")]


def verdicts(suite: type, part: Callable[[], Any], **attributes: Any) -> dict[str, Exception]:
    """The tests that fail, and how."""
    named = type("Suite", (suite,), {"make": lambda self: part(), **attributes})
    failures = {}
    for rule in rules(suite):
        try:
            getattr(named(), rule)()
        except Exception as error:
            failures[rule] = error
    return failures


BROKEN: dict[type, dict[str, tuple[Callable[[], Any], set[str]]]] = {
    EnvironmentClassSuite: dict(broken_environments.BROKEN),
    AgentSuite: dict(broken_agents.BROKEN),
    ProtocolSuite: dict(broken_protocols.BROKEN_PROTOCOLS),
    PayoffSuite: dict(broken_protocols.BROKEN_PAYOFFS),
}

CASES = [
    pytest.param(suite, rule, *broken, id=f"{suite.__name__}-{rule}")
    for suite, cases in BROKEN.items()
    for rule, broken in cases.items()
]


@pytest.mark.parametrize(("suite", "rule", "part", "also"), CASES)
def test_a_broken_rule_is_reported_and_no_other(
    suite: type, rule: str, part: Callable[[], Any], also: set[str]
) -> None:
    failures = verdicts(suite, part)
    assert isinstance(failures.get(rule), AssertionError), failures
    assert len(str(failures[rule])) > 20, "the message must say what to do"
    assert set(failures) == {rule} | also


@pytest.mark.parametrize("suite", BROKEN)
def test_every_rule_has_a_part_that_breaks_it(suite: type) -> None:
    assert set(BROKEN[suite]) == set(rules(suite))


@pytest.mark.parametrize(
    ("suite", "part"),
    [
        (EnvironmentClassSuite, broken_environments.Dials),
        (EnvironmentClassSuite, broken_environments.SharedDials),
        (AgentSuite, broken_agents.Careful),
        (ProtocolSuite, broken_protocols.Ladder),
        (PayoffSuite, Average),
    ],
)
def test_parts_that_keep_the_rules_pass(suite: type, part: Callable[[], Any]) -> None:
    assert verdicts(suite, part) == {}


def test_a_view_without_its_name_is_caught() -> None:
    class Nameless(broken_environments.SharedDial):
        def view_of(self, seat: int) -> str | None:
            return None

    class NamelessDials(broken_environments.SharedDials):
        shared = Nameless

    (failure,) = verdicts(EnvironmentClassSuite, NamelessDials).values()
    assert "the briefing names the view None" in str(failure)


def test_a_protocol_without_end_is_caught() -> None:
    failures = verdicts(ProtocolSuite, broken_protocols.Endless, rounds=10)
    assert "A test must end" in str(failures["test_comes_to_an_end"])


def test_a_protocol_that_remembers_being_asked_is_caught() -> None:
    assert "test_proposals_are_pure" in verdicts(ProtocolSuite, broken_protocols.Mindful)


def test_an_agent_that_rejects_everything_gets_advice() -> None:
    failures = verdicts(AgentSuite, broken_agents.Fussy)
    assert "Override environments()" in str(failures["test_actions_are_valid"])


@pytest.mark.parametrize(
    ("name", "view"), [("follower-v1", "structure"), ("oracle-v1", "foresight")]
)
def test_an_agent_is_tried_with_the_view_that_it_asks_for(name: str, view: str) -> None:
    suite = suite_for(Kind.AGENT, Spec(name))()
    assert isinstance(suite, AgentSuite)
    ((environment_class, _),) = suite.cases()  # the others do not suit it
    assert isinstance(environment_class, Lambda)
    assert environment_class.seat_views == (view,)


def test_a_part_can_be_named_instead_of_made() -> None:
    class Mine(EnvironmentClassSuite):
        environment_class = broken_environments.Dials()

    class Yours(AgentSuite):
        agent_class = broken_agents.Careful

    class Theirs(PayoffSuite):
        payoff = Average()

    class Ours(ProtocolSuite):
        protocol = broken_protocols.Ladder()

    assert Mine().make() is Mine.environment_class
    assert isinstance(Yours().make(), broken_agents.Careful)
    assert Theirs().make() is Theirs.payoff
    assert Ours().make() is Ours.protocol
    Mine().check(percepts_keep_the_contract)
    Yours().test_actions_are_valid()
    Theirs().test_payoff_is_a_finite_number()
    Ours().test_comes_to_an_end()


def test_parts_of_third_parties_are_tested_in_the_same_way(plugin: str) -> None:
    tested = 0
    for kind in (Kind.ENVIRONMENT, Kind.AGENT):
        for entry in listing(kind):
            if entry.package == "omnimeter-sample":
                part = partial(make, kind, Spec(entry.id))
                assert verdicts(SUITES[kind], part) == {}
                tested += 1
    assert tested >= 4
