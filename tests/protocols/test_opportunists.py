"""What stopping and resting when lucky is worth in every test, under its default payoff.

The gains that are known, and why nothing prevents them, are in docs/findings.md, "Stopping when
lucky".
"""

from collections.abc import Iterator

import numpy as np
import pytest

from omnimeter.catalogue import Entry, Kind, listing, make, parse
from omnimeter.contract import Spec
from omnimeter.estimation import mean
from omnimeter.execution import evaluate
from omnimeter.protocols import Evaluation
from omnimeter.reports.scores import unit_values

RATE = 10
"""Actions per second, of all agents while they are fast: N of them take N / RATE seconds."""


def ours(kind: Kind, module: str = "") -> list[Entry]:
    return [each for each in listing(kind) if each.location.startswith(f"omnimeter.{module}")]


OPPORTUNISTS = [each.id for each in ours(Kind.AGENT, "agents.opportunists:")]
BALANCED = [
    *(
        each.id
        for each in ours(Kind.ENVIRONMENT)
        if make(Kind.ENVIRONMENT, Spec(each.id)).claims().balanced
    ),
    "cups-v1(rule=rest)",
]

RANDOM = Spec("random-v1", {"rate": RATE})

GAINS = {
    # A bad reward may say that the environment is bad: in cups for ever, elsewhere for a while.
    ("quitter-v1", "planned-average-v1"): 0.05,
    ("quitter-v1", "total-v1"): 0.05,
    # What is left of a diminishing history has no bad reward; it is empty in long exercises.
    ("quitter-v1", "diminishing-v1"): 0.2,
    # Most of the time is spent at moments at which the average is good.
    ("rester-v1", "diminishing-v1"): 0.2,
}
"""The known gains: an upper bound of each, for each payoff, per interaction. All others are 0."""


EXHAUSTIBLE = {"pworld-v1": 0.001}
"""In these classes what is left is worse after good luck, because objects are not replaced: a gain
by stopping then that is known too, per interaction (measured 0.0002 in 1,000)."""


def settings(environment_class: str, length: int, units: int) -> Iterator[Spec]:
    """Every protocol, with exercises or repetitions of so many interactions, or their time."""
    seconds = length / RATE
    where = {"environment_class": environment_class}
    virtual = {"clock": "virtual"}
    item = {**where, "interactions": length}
    battery = {"title": "Two alike", "exercises": [item, item]}
    yield Spec("sample-v1", {**where, "exercises": units, "interactions": length})
    yield Spec("sample-v1", {**where, "exercises": units, "seconds": seconds, **virtual})
    yield Spec("perturbation-v1", {**item, "at": length // 2, "exercises": units})
    yield Spec("battery-v1", {"battery": battery, "tests": units // 2})
    # Other environments in every exercise; the example with buttons has one only.
    alone = environment_class == "buttons-v1"
    for seed in range(units if alone else 1):
        many = {**where, "exercises": 1 if alone else units, "seed": seed}
        yield Spec("universal-rewards-v1", {**many, "interactions": length})
        yield Spec("universal-adjusted-v1", {**many, "interactions": length})
        yield Spec("universal-timed-v1", {**many, "seconds": seconds, **virtual})
    whole = {**where, "repetitions": units}
    yield Spec("anytime-untimed-v1", {**whole, "interactions": units * length})
    slot = {"slot": 1 / RATE}
    yield Spec("anytime-timed-v1", {**whole, "time": units * seconds, **slot, **virtual})


def differences(protocol: Spec, agents: list[Spec]) -> tuple[Spec, dict[Spec, list[float]]]:
    """The payoff, and by how much each agent got more than a random one, unit by unit."""
    result = evaluate(Evaluation(protocol, (RANDOM, *agents)))
    assert not any(score.faults for score in result.scores.values())
    _, usual = unit_values(result, RANDOM)
    assert result.design.payoff is not None
    return result.design.payoff, {
        agent: (unit_values(result, agent).values - usual).tolist() for agent in agents
    }


def check(environment_class: str, length: int, units: int, thresholds: tuple[float, ...]) -> None:
    """No opportunist is better than a random agent, by more than is known, at 99.9 %."""
    agents = [
        Spec(each, {"rate": RATE, "threshold": threshold})
        for each in OPPORTUNISTS
        for threshold in thresholds
    ]
    measured: dict[tuple[str, str, Spec], list[float]] = {}
    for number, protocol in enumerate(settings(environment_class, length, units)):
        payoff, gains = differences(protocol, agents)
        kind = protocol.id if "universal" in protocol.id else f"{protocol.id} {number}"
        for agent, values in gains.items():
            measured.setdefault((kind, payoff.id, agent), []).extend(values)
    for (kind, payoff, agent), values in measured.items():
        scale = length if payoff == "total-v1" else 1
        known = GAINS.get((agent.id, payoff), EXHAUSTIBLE.get(environment_class, 0.0))
        low = mean(np.array(values) / scale, 0.999, support=(-2.0, 2.0)).low
        assert low <= known, f"{agent.label} in {kind} by {payoff}: {np.mean(values):.4f}"


def test_there_are_opportunists_and_balanced_classes():
    assert {"stopper-v1", "quitter-v1", "rester-v1", "waiter-v1"} <= set(OPPORTUNISTS)
    assert {"automata-v1", "buttons-v1", "cups-v1", "lambda-v1", "torus-v1"} <= set(BALANCED)


def test_every_protocol_is_set():
    others = {each.id for each in settings("cups-v1", 10, 2)}
    assert others | {"bayesian-rl-v1"} == {each.id for each in ours(Kind.PROTOCOL)}


@pytest.mark.parametrize("protocol", ["bayesian-rl-v1", "perturbation-v1"])
@pytest.mark.parametrize("environment_class", ["gdl-v1", "grid-v1(rescale=true)"])
def test_no_opportunist_has_a_higher_return_than_a_random_agent(environment_class, protocol):
    """MDPs are not balanced: what is not done counts as the lowest reward."""
    spec = parse(Kind.ENVIRONMENT, environment_class).to_json()
    length = {"environment_class": spec, "exercises": 200, "interactions": 100}
    protocol = Spec(protocol, length | ({"then": spec, "at": 50} if "per" in protocol else {}))
    agents = [
        Spec(each, {"rate": RATE, "threshold": threshold})
        for each in OPPORTUNISTS
        for threshold in (0.0, 0.5)
    ]
    payoff, gains = differences(protocol, agents)
    assert payoff.id in ("discounted-sum-v1", "later-average-v1")
    for agent, values in gains.items():
        low = mean(np.array(values), 0.999, support=(-40.0, 40.0)).low
        assert low <= 0, f"{agent.label}: {np.mean(values):.4f}"


@pytest.mark.parametrize("environment_class", BALANCED)
def test_no_opportunist_beats_a_random_agent(environment_class):
    check(environment_class, length=100, units=40, thresholds=(0.0, 0.3))


@pytest.mark.slow
@pytest.mark.parametrize("length", [10, 1000])
@pytest.mark.parametrize("environment_class", BALANCED)
def test_no_opportunist_beats_a_random_agent_in_many_exercises(environment_class, length):
    check(environment_class, length, units=200, thresholds=(-0.3, 0.0, 0.3))
