"""How fast the agents of the Bayesian RL benchmark decide, beside the authors' C++ library.

Run ``python benchmarks/brl.py``, or with the names of some agents. The library's times per decision
were measured on another machine, where a value iteration in C++ (``cpp/value_iteration.cpp``: 25
states, 4 actions, 266 sweeps) took 49 microseconds. It is run here too, and scales them. It ends
with 1 if a bar does not hold.
"""

from __future__ import annotations

import ctypes
import sys
from time import process_time_ns

import numpy as np
from measuring import verdict
from yardstick import NO_COMPILER, address, build

import omnimeter
from omnimeter.agents.bayesian.opps import OppsDs
from omnimeter.catalogue import Kind, make, parse
from omnimeter.contract import Prior

THEN_US = 49.0
"""Microseconds of the value iteration where the library was measured."""

CLASSES = {"gc": "gc(variant=library)", "gdl": "gdl", "grid": "grid"}

# Agent, problem, milliseconds of the library per decision, the bar, and how many MDPs are played.
DECISIONS = (
    ("e-greedy(epsilon=0)", "gc", 0.023, 3, 100),
    ("e-greedy(epsilon=0)", "gdl", 0.015, 3, 100),
    ("e-greedy(epsilon=0)", "grid", 0.14, 4, 40),
    ("soft-max(tau=0.1)", "gc", 0.023, 3, 100),
    ("soft-max(tau=0.1)", "gdl", 0.015, 3, 100),
    ("soft-max(tau=0.05)", "grid", 0.14, 4, 40),
    ("beb(beta=2.5)", "gc", 0.027, 3, 100),
    ("beb(beta=0.5)", "gdl", 0.038, 3, 100),
    ("beb(beta=0.5)", "grid", 0.60, 4, 40),
    ("bamcp(k=2500, depth=15)", "gc", 11.9, 5, 4),
    ("bamcp(k=2500, depth=15)", "gdl", 24.6, 5, 4),
    ("bamcp(k=2500, depth=15)", "grid", 333, 50, 4),
    ("bfs3(k=500, c=15, depth=15, variant=library)", "gc", 30.0, 5, 4),
    ("bfs3(k=500, c=15, depth=15, variant=library)", "gdl", 13.3, 5, 4),
    ("bfs3(k=500, c=15, depth=50, variant=library)", "grid", 281, 5, 2),
)

# Problem, milliseconds of the library per draw of OPPS-DS, and the bar.
DRAWS = (("gc", 14, 5), ("gdl", 9, 5), ("grid", 95, 5))

ROUNDS = 3


def yardstick_us() -> float | None:
    """Microseconds of the value iteration here, or nothing without a compiler."""
    run = build("value_iteration")
    if run is None:
        return None
    rng = np.random.default_rng(0)
    rewards = rng.random(100)
    transitions = np.ascontiguousarray(rng.dirichlet(np.ones(25), size=100).T)
    best = float("inf")
    for _ in range(200):
        values = np.zeros(25)
        before = process_time_ns()
        run(address(rewards), address(transitions), address(values), ctypes.c_double(0.95),
            ctypes.c_int64(266))  # fmt: skip
        best = min(best, (process_time_ns() - before) / 1000)
    return best


def decision_ms(agent: str, problem: str, mdps: int) -> float:
    """Processor milliseconds of a decision, the least mean of some rounds."""
    rounds = [
        omnimeter.evaluate(
            agent,
            CLASSES[problem],
            prior=CLASSES[problem],
            exercises=mdps,
            interactions=250,
            seed=turn,
        )
        for turn in range(ROUNDS)
    ]
    return 1e3 * min(each.scores[each.agents[0]].parts["online_cpu_s"] for each in rounds)


def draw_ms(problem: str) -> float:
    """Processor milliseconds of one draw of the bandit."""
    made = make(Kind.ENVIRONMENT, parse(Kind.ENVIRONMENT, CLASSES[problem]))
    prior = Prior(made.distribution(), 0.95, 250)
    best = float("inf")
    for turn in range(ROUNDS + 1):
        budget = 12 if turn == 0 else 300
        before = process_time_ns()
        OppsDs(formulas="F2", budget=budget).prepare(prior, np.random.default_rng(turn))
        if turn:
            best = min(best, (process_time_ns() - before) / 1e6 / budget)
    return best


def main(wanted: list[str]) -> int:
    """Measure the wanted agents, or all; 0 if the bars of all hold."""
    now = yardstick_us()
    if now is None:
        print(NO_COMPILER)
        return 0
    factor = now / THEN_US
    print(f"value iteration in C++: {now:.0f} us here, {THEN_US:.0f} us there: times {factor:.2f}")
    verdicts = []
    for agent, problem, theirs, bar, mdps in DECISIONS:
        if not wanted or agent.partition("(")[0] in wanted:
            ratio = theirs * factor / decision_ms(agent, problem, mdps)
            verdicts.append(verdict(f"{agent} on {problem}, per decision", ratio, at_least=bar))
    for problem, theirs, bar in DRAWS:
        if not wanted or "opps-ds" in wanted:
            ratio = theirs * factor / draw_ms(problem)
            verdicts.append(verdict(f"opps-ds on {problem}, per draw", ratio, at_least=bar))
    return 0 if all(verdicts) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
