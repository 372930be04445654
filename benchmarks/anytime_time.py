"""Real time in anytime tests: what is charged to an agent, and how long a test really takes."""

from __future__ import annotations

import tempfile
from pathlib import Path
from statistics import median
from time import perf_counter, perf_counter_ns

import numpy as np
from measuring import fastest, verdict

from omnimeter.contract import (
    Agent,
    Briefing,
    Budget,
    Clock,
    ClockKind,
    Exercise,
    Observation,
    Outcome,
    Spec,
)
from omnimeter.environments.automata import Automata
from omnimeter.execution import evaluate
from omnimeter.interaction.loop import run_stepwise
from omnimeter.protocols.evaluation import Evaluation
from omnimeter.results import open_writer

BAR = 1_000
"""Nanoseconds by which what is charged may exceed the agent's own time."""

STEPS = 20_000
THINKING = (0, 5_000, 100_000)
"""Nanoseconds for which an agent thinks about each action."""

THETA = 2.0
OVERTIME = 1.05
TURNS = 5


class Thinker(Agent):
    """Thinks for a while and knows how long that really was.

    Args:
        thinking: The nanoseconds.

    Attributes:
        spent: The nanoseconds of each action.
    """

    def __init__(self, thinking: int) -> None:
        self.thinking = thinking
        self.spent: list[int] = []

    def begin(self, briefing: Briefing, rng: np.random.Generator) -> None:  # noqa: ARG002, D102
        self.spent = []

    def act(self, reward: float, observation: Observation) -> int:  # noqa: ARG002, D102 - see Agent
        before = perf_counter_ns()
        while perf_counter_ns() - before < self.thinking:
            pass
        self.spent.append(perf_counter_ns() - before)
        return 0


class Quick(Agent):
    """Answers at once."""

    def begin(self, briefing: Briefing, rng: np.random.Generator) -> None:  # noqa: D102 - see Agent
        pass

    def act(self, reward: float, observation: Observation) -> int:  # noqa: ARG002, D102 - see Agent
        return 0


def harness() -> bool:
    """What the clock charges beyond the agent's own time, and what an interaction costs in all."""
    environments, exercise = Automata(), _exercise()
    print(f"{STEPS} interactions under the wall clock of a test that must be over in time")
    worst = 0.0
    for thinking in THINKING:
        agent = Thinker(thinking)
        times = run_stepwise(environments, [agent], exercise)[0].times
        beyond = np.diff(times, prepend=0) - np.array(agent.spent)
        own, more = median(agent.spent), float(np.median(beyond))
        worst = max(worst, more)
        print(f"  own time {own:8.0f} ns, charged beyond it {more:5.0f} ns")
    _report_loop(environments, exercise)
    return verdict("  of a microsecond", worst / BAR, at_most=1)


def _exercise() -> Exercise:
    instance = Automata().draw_between(np.random.default_rng(1), 99, 100)
    assert instance is not None
    budget = Budget(interactions=STEPS, wall_limit=1e3)
    clock = Clock(ClockKind.WALL)
    return Exercise(Spec("thinker"), Spec("automata-v1"), instance, budget, 1, 0, clock)


def _report_loop(environments: Automata, exercise: Exercise) -> None:
    """Print what an interaction costs outside the agent, which its clock does not count."""
    agent, environment = Quick(), environments.build(exercise.instance)
    environment.start(np.random.default_rng(1))

    def act() -> None:
        for _ in range(STEPS):
            agent.act(0.0, 0)

    def step() -> None:
        for _ in range(STEPS):
            environment.step(0)

    rivals = {
        "all": lambda: run_stepwise(environments, [agent], exercise)[0],
        "agent": act,
        "step": step,
    }
    whole, agents, steps = (best / STEPS for best in fastest(rivals).values())
    print(
        f"  an interaction of an agent that answers at once: {whole:.0f} ns, of them {agents:.0f} "
        f"the agent's, {steps:.0f} the environment's, {whole - agents - steps:.0f} the loop's"
    )


def theta() -> bool:
    """How long a test of a given time really takes, from the beginning to the last outcome."""
    print(f"a test of {THETA:g} s by the clock on the wall, {TURNS} times")
    verdicts = []
    for environments in ("automata-v1", "torus-v1"):
        _sit(environments, THETA / 10, seed=0)  # compiles
        turns = [_sit(environments, THETA, seed) for seed in range(TURNS)]
        waiting, own, rounds = (median(column) for column in zip(*turns, strict=True))
        print(f"  {environments}: {rounds:.0f} rounds, {own / THETA:.0%} the agent's own time")
        verdicts.append(verdict("    of the time", waiting / THETA, at_most=OVERTIME))
    return all(verdicts)


def _sit(environments: str, time: float, seed: int) -> tuple[float, float, float]:
    """The real seconds of a test, those of the agent's own time, and the rounds that were done."""
    agent = Spec("random-v1")
    parameters = {"environment_class": environments, "time": time, "seed": seed}
    evaluation = Evaluation(Spec("anytime-timed-v1", parameters), (agent,))
    with (
        tempfile.TemporaryDirectory() as directory,
        open_writer(Path(directory) / "evaluation", evaluation.to_json()) as writer,
    ):
        before = perf_counter()
        result = evaluate(evaluation, writer)
        waiting = perf_counter() - before
    outcomes: list[Outcome] = list(result.outcomes[agent])
    own = sum(outcome.last_time for outcome in outcomes) / 1e9
    return waiting, own, result.scores[agent].parts["rounds"]
