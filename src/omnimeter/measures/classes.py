"""The measures of environment classes: means over drawn instances, with intervals."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from math import inf, isfinite
from typing import Any

from omnimeter.contract import EnvironmentClass, InvalidInputError, stream
from omnimeter.contract.errors import check_count
from omnimeter.estimation import Estimate, mean
from omnimeter.measures.basic import MEASURES, Combine, Form, Measures, measure


@dataclass(frozen=True)
class ClassMeasures:
    """The measures of an environment class.

    Attributes:
        instances: The measures of each drawn instance.
        estimates: The mean of each measure over the instances where it is defined, with its 95 %
            interval, infinite where all are the same; ``None`` where it is defined in none.
        undefined: In how many instances each measure is not defined, and why in one of them.
    """

    instances: Sequence[Measures]
    estimates: Mapping[str, Estimate | None]
    undefined: Mapping[str, tuple[int, str]]

    def to_json(self) -> dict[str, Any]:
        """The estimates, and what is undefined, as JSON-able data."""
        return {
            "instances": len(self.instances),
            "measures": {
                name: None if each is None else _plain(each)
                for name, each in self.estimates.items()
            },
            "undefined": {
                name: {"instances": count, "reason": reason}
                for name, (count, reason) in self.undefined.items()
            },
        }


def _plain(estimate: Estimate) -> dict[str, float | None]:
    ends = {"low": estimate.low, "high": estimate.high}
    known = isfinite(estimate.low) and isfinite(estimate.high)
    return {"value": estimate.value, **(ends if known else dict.fromkeys(ends))}


def measure_class(
    environment_class: EnvironmentClass,
    *,
    exercises: int = 20,
    steps: int = 50,
    seed: int = 0,
    form: Form = "mean",
    combine: Combine = "product",
    weights: Mapping[str, float] | None = None,
    sample: int | None = None,
    progress: Callable[[float], None] | None = None,
) -> ClassMeasures:
    """Measure instances of an environment class as overlays.

    Args:
        environment_class: The class; it must have ``overlay``.
        exercises: How many instances to draw; they are those of the exercises of an evaluation.
        steps: The number of time steps of each.
        seed: The root of all random numbers.
        form: As for ``measure``.
        combine: As for ``measure``.
        weights: As for ``measure``.
        sample: As for ``measure``.
        progress: Told which share is done.

    Raises:
        InvalidInputError: The class has no overlay, or there is nothing to measure.
    """
    if exercises < 1 or steps < 1:
        message = f"{exercises} exercises of {steps} steps leave nothing to measure."
        raise InvalidInputError(message, "Give exercises=1 and steps=1 or more.")
    check_count(exercises, "exercises")
    check_count(steps, "steps")
    instances = []
    for number in range(exercises):
        instance = environment_class.numbered(number)
        if instance is None:
            instance = environment_class.draw(stream(seed, "instance", number).generator())
        rng = stream(seed, "overlay", number).generator()
        overlay = environment_class.overlay(instance, rng, steps)
        instances.append(
            measure(overlay, form=form, combine=combine, weights=weights, sample=sample, rng=rng)
        )
        if progress is not None:
            progress((number + 1) / exercises)
    estimates: dict[str, Estimate | None] = {}
    undefined = {}
    for name in MEASURES:
        values = [each.values()[name] for each in instances]
        known = [value for value in values if value is not None]
        least = 1.0 if name == "size" else 0.0
        estimates[name] = mean(known, support=(least, inf)) if known else None
        if len(known) < len(values):
            reason = instances[values.index(None)].reasons[name]
            undefined[name] = (len(values) - len(known), reason)
    return ClassMeasures(instances, estimates, undefined)
