"""OPPS-DS: its formulas, the models under them, and the offline search for the best one."""

from __future__ import annotations

import json
import math
import operator
import os
import subprocess
import sys
from collections import Counter
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from choosing import begun, check_shares
from omnimeter.agents.bayesian import opps
from omnimeter.agents.bayesian.formulas import TOKENS, evaluate, formula_set, infix, parse
from omnimeter.agents.bayesian.opps import OppsDs, Simulator
from omnimeter.contract import (
    Briefing,
    Budget,
    EnvironmentClass,
    Exercise,
    InvalidInputError,
    MDPDistribution,
    Prior,
    Spec,
)
from omnimeter.contract.agent import FloatArray, single
from omnimeter.environments.mdp import GeneralisedChain, GeneralisedDoubleLoop, Grid
from omnimeter.interaction import run_single

# Formulas.

UNARY: dict[str, Callable[[float], float]] = {
    "ABS": abs,
    "LN": math.log,
    "SQRT": math.sqrt,
    "INV": lambda a: 1 / a,
    "OPP": operator.neg,
}
BINARY: dict[str, Callable[[float, float], float]] = {
    "SUB": operator.sub,
    "DIV": operator.truediv,
    "ADD": operator.add,
    "MUL": operator.mul,
    "MIN": min,
    "MAX": max,
}

RPN = st.recursive(
    st.sampled_from(TOKENS[:3]),
    lambda inner: (
        st.builds("{} {}".format, inner, st.sampled_from(sorted(UNARY)))
        | st.builds("{} {} {}".format, inner, inner, st.sampled_from(sorted(BINARY)))
    ),
    max_leaves=6,
)
NUMBERS = st.sampled_from([0.0, 1.0, -2.5]) | st.floats(-100, 100).map(lambda x: round(x, 3))


def independently(formula: str, variables: list[float]) -> float:
    """The value of a formula by Python's own operators, NaN where they raise."""
    stack: list[float] = []
    for token in formula.split():
        try:
            if token in UNARY:
                stack.append(UNARY[token](stack.pop()))
            elif token in BINARY:
                right = stack.pop()
                stack.append(BINARY[token](stack.pop(), right))
            else:
                stack.append(variables[int(token[1])])
        except (ValueError, ZeroDivisionError):
            return math.nan
        if math.isnan(stack[-1]):
            return math.nan
    return stack[0]


@given(RPN, st.lists(NUMBERS, min_size=3, max_size=3))
def test_a_formula_has_the_value_that_python_gives_it(formula: str, numbers: list[float]) -> None:
    codes = parse(formula)
    apart = np.zeros(10)
    apart[[1, 5, 9]] = numbers  # X0, X1 and X2 lie apart, as in the state of an agent
    value = evaluate(codes, apart, 1, 4, np.zeros(len(codes)))
    assert value == pytest.approx(independently(formula, numbers), rel=0, abs=0, nan_ok=True)


@pytest.mark.parametrize(
    ("formula", "shown", "value"),
    [
        ("X2 X0 DIV", "Q2/Q0", 2.5),
        ("X0 X2 MAX", "max(Q0, Q2)", 5.0),
        ("X0 X1 X2 ADD SUB", "Q0 - (Q1 + Q2)", 0.0),
        ("X0 X1 SUB X2 SUB", "Q0 - Q1 - Q2", 0.0),
        ("X0 X1 ADD X2 MUL INV", "1/((Q0 + Q1)*Q2)", -1 / 5),
        ("X1 OPP SQRT X1 ABS LN MIN", "min(sqrt(-Q1), ln(|Q1|))", math.log(3)),
        ("X0 X1 OPP ADD", "Q0 + (-Q1)", 5.0),
        ("X0 INV OPP", "-1/Q0", -0.5),
        ("X0 OPP INV", "1/(-Q0)", -0.5),
        ("X1 LN", "ln(Q1)", math.nan),
        ("X1 SQRT", "sqrt(Q1)", math.nan),
        ("X1 X0 X0 SUB DIV", "Q1/(Q0 - Q0)", math.nan),
    ],
)
def test_worked_examples(formula: str, shown: str, value: float) -> None:
    assert infix(formula) == shown
    result = evaluate(parse(formula), np.array([2.0, -3.0, 5.0]), 0, 1, np.zeros(6))
    assert result == pytest.approx(value, nan_ok=True)


@pytest.mark.parametrize(
    ("formula", "message"),
    [
        ("X2 X0 DVI", "no token 'DVI', number 3 of the formula 'X2 X0 DVI'. Did you mean 'DIV'"),
        ("Q0", "no token 'Q0', number 1 .* Did you mean 'X0'"),
        ("X0 + 7", "no token '\\+', number 2 .* Known: X0, X1"),
        ("X0 ADD", "ADD needs 2 operands but finds 1, number 2 of the formula 'X0 ADD'"),
        ("X0 X1", "'X0 X1' leaves 2 values"),
        ("", "leaves 0 values"),
    ],
)
def test_what_is_no_formula_is_rejected(formula: str, message: str) -> None:
    with pytest.raises(InvalidInputError, match=message):
        OppsDs(formula=formula)


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"formulas": "F7"}, "no set of formulas 'F7'. Give F2, F3"),
        ({"budget": 0}, "budget is 0"),
        ({"variant": "paper"}, "no variant 'paper'"),
        ({"seed": -1}, "seed is -1"),
    ],
)
def test_invalid_parameters_are_rejected(wrong: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidInputError, match=message):
        OppsDs(**wrong)


@pytest.mark.parametrize("seed", [0, 1, 77])
def test_sets_have_the_published_sizes(seed: int) -> None:
    assert [len(formula_set(size, seed)) for size in (1, 2, 3, 4)] == [3, 12, 43, 226]


def test_the_classes_of_f3() -> None:
    """1 constant, 6 functions of each variable, and 24 of two variables."""
    own = {f"{x} {rest}".strip() for x in TOKENS[:3] for rest in ("", "OPP", "ABS", "INV")}
    assert set(formula_set(2)) == own
    own |= {f"{x} {rest}" for x in TOKENS[:3] for rest in ("INV ABS", "OPP INV")}
    members = set(formula_set(3))
    assert own < members
    operators = Counter(formula.split()[-1] for formula in members - own)
    assert operators == {"SUB": 6 + 1, "DIV": 6, "ADD": 3, "MUL": 3, "MIN": 3, "MAX": 3}


def test_three_formulas_of_f4_are_constant_up_to_rounding() -> None:
    assert {f"{x} {x} INV MUL" for x in TOKENS[:3]} < set(formula_set(4))


def test_sets_are_determined_by_their_seed() -> None:
    members = formula_set(5, 3)
    assert set(formula_set(4, 3)) < set(members)
    assert len({*map(len, map(str.split, members))}) == 5
    assert formula_set.__wrapped__(5, 3) == members  # computed anew
    assert formula_set.__wrapped__(5, 4) != members
    assert len(formula_set(5, 0)) == 1215  # 1210 in the paper, with its own points


@pytest.mark.slow
def test_the_largest_set() -> None:
    members = formula_set(6)
    assert len(members) == 7418  # 7407 in the paper
    points = np.random.default_rng(0).uniform(-100, 100, (3, 1000)).T.tolist()
    for formula in members[::50]:
        assert np.isfinite([independently(formula, point) for point in points]).all()


# The agent.

GAMMA = 0.9
SMALL = MDPDistribution.of(
    [[[1, 2, 0], [0, 0, 3]], [[0.5, 0, 0], [1, 1, 1]], [[1, 0, 1], [0, 2, 0]]],
    np.arange(18).reshape(3, 2, 3) - 7,
)


def told(formula: str, distribution: MDPDistribution = SMALL, horizon: int = 20) -> OppsDs:
    """An agent that follows a formula."""
    agent = OppsDs(formula=formula)
    prior = Prior(distribution, GAMMA, horizon)
    agent.restore(prior, agent.prepare(prior, np.random.default_rng(0)))
    return agent


def values_of(counts: FloatArray) -> FloatArray:
    """The optimal Q-function of the mean model of some counts."""
    model = counts / counts.sum(axis=2, keepdims=True)
    quality = np.zeros(counts.shape[:2])
    for _ in range(1000):
        quality = (model * (SMALL.rewards + GAMMA * quality.max(axis=1))).sum(axis=2)
    return quality


def test_the_three_models() -> None:
    """After any transitions, those that the prior holds impossible included."""
    agent = told("X0 X1 ADD X2 ADD")
    state = begun(agent, Briefing(2, single(3)))
    staying = np.broadcast_to(np.eye(3)[:, None], (3, 2, 3))
    counts = np.stack([SMALL.theta, staying, np.ones((3, 2, 3))])
    last = None
    for x in [0, 1, 1, 2, 0, 0, 1, 2, 2, 0, 2, 1, 0, 2, 2]:
        action = agent.act(0.0, x)
        if last is not None:
            counts[:, *last, x] += 1
        exact = np.stack([values_of(each) for each in counts])
        assert state.quality == pytest.approx(exact.ravel(), abs=0.01)
        assert action == exact.sum(axis=0)[x].argmax()
        last = (x, action)


def test_only_the_variables_of_the_formula_are_computed() -> None:
    agent = told("X2 X2 MUL")
    state = begun(agent, Briefing(2, single(3)))
    agent.act(0.0, 0)
    assert (state.quality.reshape(3, 6) != 0).any(axis=1).tolist() == [False, False, True]


def chosen_by(formula: str, theta: list[Any], rewards: list[Any]) -> Counter[int]:
    """How often each first action is chosen in the first state."""
    agent = told(formula, MDPDistribution.of(theta, rewards))
    counts: Counter[int] = Counter()
    for seed in range(300):
        agent.begin(Briefing(len(theta[0]), single(len(theta))), seed)  # type: ignore[arg-type]
        counts[agent.act(0.0, 0)] += 1  # type: ignore[index]
    return counts


def test_ties_are_broken_at_random_and_undefined_comes_last() -> None:
    """Three actions lead to a state that pays nothing."""
    leave = [[[0, 1]] * 3] * 2
    pays = [[[0, -2], [0, 3], [0, 3]], [[0, 0]] * 3]
    any_action = dict.fromkeys(range(3), 1 / 3)
    check_shares(chosen_by("X0", leave, pays), {1: 1 / 2, 2: 1 / 2})
    check_shares(chosen_by("X0 X0 SUB", leave, pays), any_action)
    check_shares(chosen_by("X0 X0 SUB INV", leave, pays), any_action)  # all undefined
    check_shares(chosen_by("X0 LN OPP", leave, pays), {1: 1 / 2, 2: 1 / 2})
    assert chosen_by("X0 OPP SQRT OPP", leave, pays) == {0: 300}


def test_an_agent_without_a_prior_or_with_another_says_so() -> None:
    with pytest.raises(InvalidInputError, match="plans with a prior"):
        OppsDs().initial_state(Briefing(2, single(3)))
    with pytest.raises(InvalidInputError, match="3 states and 2 actions"):
        told("X0").initial_state(Briefing(3, single(3)))


# The offline phase.


def test_it_finds_the_better_of_two_formulas(monkeypatch: pytest.MonkeyPatch) -> None:
    """One action pays 1 with probability p, the other 1 - p: it pays to prefer the better."""
    monkeypatch.setattr(opps, "formula_set", lambda *_: ("X0 OPP", "X0"))
    bandit = MDPDistribution.of(np.ones((2, 2, 2)), [0.0, 1.0])
    for variant in ("original", "printed", "library"):
        agent = OppsDs(budget=400, variant=variant)  # type: ignore[arg-type]
        prepared = agent.prepare(Prior(bandit, 0.95, 60), np.random.default_rng(1))
        assert prepared["formula"] == "X0"
        assert prepared["infix"] == "Q0"
        assert prepared["draws"] > 200
        json.dumps(prepared)


def test_the_same_seed_finds_the_same() -> None:
    prior = Prior(SMALL, GAMMA, 10)
    prepared = [
        OppsDs(budget=100).prepare(prior, np.random.default_rng(seed)) for seed in (5, 5, 6)
    ]
    assert prepared[0] == prepared[1] != prepared[2]
    assert prepared[0]["arms"] == 43


ARMS = ("X0", "X1", "X2", "X0 OPP", "X1 INV")


class Fake:
    """Arm k returns k, and 3 more every second time; arm 4 is undefined."""

    drawn: list[int]

    def __init__(self, *_: Any) -> None:
        Fake.drawn = []

    def play(self, arm: int, seed: int) -> tuple[float, bool]:
        Fake.drawn.append(arm)
        return arm + 3 * (Fake.drawn.count(arm) % 2), arm != 4


RANGE = 16 * (1 - GAMMA**9) / (1 - GAMMA)  # possible transitions of SMALL pay -7 to 9


@pytest.mark.parametrize(
    ("variant", "c"), [("original", RANGE * 2**0.5), ("printed", 2**0.5), ("library", 660.0)]
)
def test_draws_are_those_of_ucb1(monkeypatch: pytest.MonkeyPatch, variant: Any, c: float) -> None:
    monkeypatch.setattr(opps, "Simulator", Fake)
    monkeypatch.setattr(opps, "formula_set", lambda *_: ARMS)
    agent = OppsDs(budget=60, variant=variant)
    prepared = agent.prepare(Prior(SMALL, GAMMA, 9), np.random.default_rng(0))
    drawn, fake = Fake.drawn, Fake()
    returns = [[fake.play(arm, 0)[0]] for arm in range(5)]
    for b in range(6, 61):
        bounds = [np.mean(each) + c * math.sqrt(math.log(b) / len(each)) for each in returns[:4]]
        arm = int(np.argmax(bounds))  # the last one is given up
        returns[arm].append(fake.play(arm, 0)[0])
    assert drawn == Fake.drawn
    draws = [len(each) for each in returns]
    best = ARMS.index(prepared["formula"])
    assert prepared["draws"] == draws[best] == max(draws)
    assert prepared["mean"] == pytest.approx(np.mean(returns[best]))
    assert (prepared["arms"], prepared["undefined"]) == (5, 1)


def test_a_small_budget_leaves_formulas_untried(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(opps, "Simulator", Fake)
    prepared = OppsDs(budget=7).prepare(Prior(SMALL, GAMMA, 9), np.random.default_rng(2))
    assert Fake.drawn == list(range(7))
    assert prepared["draws"] == 1
    assert prepared["formula"] in formula_set(3)[:7]
    assert prepared["formula"] != formula_set(3)[4]


def test_a_formula_that_is_undefined_in_play_is_noticed() -> None:
    """Q1 is 0 everywhere until the goal was reached."""
    simulator = Simulator(Prior(Grid().distribution(), 0.95, 5), ["X0", "X1 INV"])
    assert simulator.play(0, 1)[1]
    assert simulator.play(1, 1) == (0.0, False)
    assert simulator.play(0, 1)[1]


PLAIN = """
import sys
sys.path[:0] = sys.argv[1:]
import json, test_opps
print(json.dumps(test_opps.returns()))
"""


def returns() -> list[Any]:
    """Some returns of some formulas."""
    simulator = Simulator(Prior(SMALL, GAMMA, 12), ["X0", "X1 X2 MIN", "X0 X2 DIV", "X1 ABS LN"])
    return [list(simulator.play(arm, seed)) for arm in range(4) for seed in (3, 2**63 + 5)]


def test_compiled_and_plain_trajectories_are_the_same() -> None:
    done = subprocess.run(
        [sys.executable, "-c", PLAIN, os.path.dirname(__file__), *sys.path],
        env={**os.environ, "NUMBA_DISABLE_JIT": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == returns()
    assert len({each for each, _ in returns()}) > 4


def played(place: EnvironmentClass, formula: str, draws: int = 600) -> tuple[float, float]:
    """The mean return of a formula in the offline phase, and its half-width."""
    simulator = Simulator(Prior(place.distribution(), 0.95, 250), [formula])
    return interval(np.array([simulator.play(0, seed)[0] for seed in range(draws)]))


def interval(sample: FloatArray) -> tuple[float, float]:
    return float(sample.mean()), 1.96 * float(sample.std(ddof=1)) / math.sqrt(len(sample))


def agree(one: tuple[float, float], other: tuple[float, float]) -> bool:
    """Whether two means differ by less than three standard errors."""
    return abs(one[0] - other[0]) < 1.5 * math.hypot(one[1], other[1])


def test_simulated_trajectories_are_distributed_as_in_drawn_mdps() -> None:
    place = GeneralisedChain("library")
    agent = OppsDs(formula="X0 X2 DIV")
    agent.restore(Prior(place.distribution(), 0.95, 250), {})
    rng = np.random.default_rng(8)
    exercises = [
        Exercise(Spec("agent"), Spec("class"), place.draw(rng), Budget(250), 1, number)
        for number in range(600)
    ]
    discounts = 0.95 ** np.arange(250)
    real = np.array([trace.rewards @ discounts for trace in run_single(place, agent, exercises)])
    assert agree(interval(real), played(place, "X0 X2 DIV"))


@pytest.mark.parametrize(
    ("place", "formula", "published"),
    [
        (GeneralisedChain("library"), "X0 X2 DIV", (42.47, 1.91)),
        (GeneralisedDoubleLoop(), "X0 X2 MAX", (3.1, 0.07)),
        (Grid(), "X0 X2 ADD", (7.03, 0.3)),
    ],
)
def test_the_winners_of_the_paper(
    place: EnvironmentClass, formula: str, published: tuple[float, float]
) -> None:
    """Figure 9, where each is the best of 40 settings on the same MDPs."""
    assert agree(played(place, formula), published)


def test_the_winner_of_gc_is_printed_upside_down() -> None:
    """With the models in the library's order, Q2/Q0 does worse than a random agent."""
    score, width = played(GeneralisedChain("library"), "X2 X0 DIV")
    assert score + width < 31.12
