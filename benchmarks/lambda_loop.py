"""How fast Lambda environments are, and what an evaluation in them costs.

Run ``python benchmarks/lambda_loop.py``, or with the names of some of its parts: ``loop``,
``stepping``, ``processes``, ``memory``, ``generated``. It ends with 1 if a bar does not hold.
"""

from __future__ import annotations

import sys
from collections.abc import Callable

import lambda_costs
import lambda_stepping
import numpy as np
from lambda_by_hand import lambda_by_hand
from measuring import examine_parts
from rivalry import Rivalry, judge, report
from yardstick import NO_COMPILER, build

from omnimeter.agents.temporal_difference import QLearning
from omnimeter.contract import Budget, Exercise, Spec
from omnimeter.environments.lambda_class import Lambda

CELLS = (3, 6, 9)
ENVIRONMENTS, INTERACTIONS = 300, 10_000


def make_exercises() -> list[Exercise]:
    """Exercises with 3, 6 and 9 cells in turn, in patterns of 100 actions on average."""
    rng = np.random.default_rng(1)
    agent, environments = Spec("q-learning-v1"), Spec("lambda-v1")
    classes = [Lambda(cells=cells, stop=0.01) for cells in CELLS]
    return [
        Exercise(
            agent=agent,
            environment_class=environments,
            instance=classes[number % len(classes)].draw(rng),
            budget=Budget(interactions=INTERACTIONS),
            seed=1,
            number=number,
        )
        for number in range(ENVIRONMENTS)
    ]


def loop() -> bool:
    """The compiled loop against the same loop written in C++."""
    print(f"{ENVIRONMENTS} environments, {INTERACTIONS} interactions of Q-learning in each")
    run = build("lambda")
    environment_class, agent, exercises = Lambda(), QLearning(), make_exercises()
    if run is None:
        report(Rivalry(environment_class, agent, exercises, None).measure())
        print(NO_COMPILER)
        return True
    theirs = lambda_by_hand(run, environment_class, agent, exercises)
    rivalry = Rivalry(environment_class, agent, exercises, theirs)
    if not rivalry.agree():
        print("The rewards or times of both sides differ: there is nothing to compare.")
        return False
    result = rivalry.measure()
    report(result)
    print("  identical rewards and times")
    return judge(result)


PARTS: dict[str, Callable[[], bool]] = {
    "loop": loop,
    "stepping": lambda_stepping.examine,
    "processes": lambda_costs.processes,
    "memory": lambda_costs.memory,
    "generated": lambda_costs.generated,
}


if __name__ == "__main__":
    sys.exit(examine_parts(PARTS, sys.argv[1:]))
