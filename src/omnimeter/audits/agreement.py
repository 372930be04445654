"""Whether the compiled loop and the ordinary one tell the same story."""

from __future__ import annotations

from omnimeter.audits.finding import Finding, counted
from omnimeter.audits.playing import PROBE
from omnimeter.audits.subject import Subject, random_exercise


def check_agreement(subject: Subject) -> Finding | None:
    """The same exercises, compiled and stepwise, leave the same traces; only for kernels."""
    from omnimeter.agents.random_agent import RandomAgent
    from omnimeter.interaction import KernelEnvironmentClass, interact
    from omnimeter.interaction.batch import run_batch
    from omnimeter.interaction.loop import as_seen_by

    environment_class = subject.environment_class
    if not isinstance(environment_class, KernelEnvironmentClass):
        return None
    exercises = [
        random_exercise(instance, PROBE, subject.seed, number)
        for number, instance in enumerate(subject.distinct)
    ]
    compiled = run_batch(environment_class, RandomAgent(), exercises, record=True)
    witness = None
    differing = 0
    for exercise, trace in zip(exercises, compiled, strict=True):
        agent = RandomAgent()
        environment = as_seen_by(environment_class, agent).build(exercise.instance)
        stepwise = interact(environment, agent, exercise.budget, exercise.stream, record=True)
        if not trace.same_as(stepwise):
            differing += 1
            witness = witness or {
                "instance": dict(exercise.instance.data),
                "compiled": trace.rewards,
                "stepwise": stepwise.rewards,
            }
    return Finding(
        "agreement",
        claimed=True,
        passed=not differing,
        summary=f"In {differing} of {counted(len(exercises), 'exercise')} the compiled loop and "
        "the ordinary one differ."
        if differing
        else f"Compiled and stepwise, {counted(len(exercises), 'exercise')} left the same traces.",
        numbers={"exercises": len(exercises), "interactions": PROBE, "differing": differing},
        witness=witness,
    )
