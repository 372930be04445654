"""Many runs of a simulated agent under the virtual clock, with the same chances for every agent."""

from __future__ import annotations

from collections.abc import Iterator

from omnimeter.contract import Budget, EnvironmentClass, Exercise, Spec, Trace, stream
from omnimeter.interaction import KernelAgent, KernelEnvironmentClass
from omnimeter.interaction.batch import run_batch

SIMULATED = Spec("simulated-v1")
"""Every simulated agent has this name, so that all get the same chances: runs are paired."""


def exercises(
    environment_class: EnvironmentClass, budget: Budget, runs: int, seed: int = 0
) -> list[Exercise]:
    """The same exercises for every agent, each in an environment of its own drawing."""
    return [
        Exercise(
            agent=SIMULATED,
            environment_class=SIMULATED,
            instance=environment_class.draw(stream(seed, "instance", number).generator()),
            budget=budget,
            seed=seed,
            number=number,
        )
        for number in range(runs)
    ]


def simulate(
    environment_class: KernelEnvironmentClass,
    agent: KernelAgent,
    seconds: float,
    runs: int,
    seed: int = 0,
) -> Iterator[Trace]:
    """The traces of one agent over a time, run by run, so that memory stays flat."""
    taken = exercises(environment_class, Budget(seconds=seconds), runs, seed)
    return run_batch(environment_class, agent, taken)
