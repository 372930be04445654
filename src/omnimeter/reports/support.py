"""Between which numbers the payoffs of some outcomes can lie."""

from __future__ import annotations

from collections.abc import Iterable

from omnimeter.catalogue import Kind, make
from omnimeter.contract import EnvironmentClass, Instance, Outcome, Payoff, Spec
from omnimeter.statistics import Support


def payoff_support(payoff: Payoff, outcomes: Iterable[Outcome]) -> Support | None:
    """The lowest and the highest payoff there can be in the environments of these outcomes.

    Args:
        payoff: What turns a trace into a number.
        outcomes: Any outcomes; each of their environments is built once.

    Returns:
        The range, possibly infinite; ``None`` without any outcome.
    """
    instances: dict[Spec, dict[str, Instance]] = {}
    for outcome in outcomes:
        exercise = outcome.exercise
        instances.setdefault(exercise.environment_class, {})[exercise.instance.key] = (
            exercise.instance
        )
    rewards = {bounds for spec, drawn in instances.items() for bounds in _rewards(spec, drawn)}
    limits = [payoff.bounds(bounds) for bounds in rewards]
    if not limits:
        return None
    return min(low for low, _ in limits), max(high for _, high in limits)


def _rewards(spec: Spec, instances: dict[str, Instance]) -> set[tuple[float, float]]:
    """The ranges of single rewards in some environments of one class."""
    surroundings: EnvironmentClass = make(Kind.ENVIRONMENT, spec)
    return {surroundings.build(instance).rewards for instance in instances.values()}
