"""The public Python API: what the command line does, for scripts and notebooks."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, overload

import numpy as np

from omnimeter.api.campaign import Campaign, campaign
from omnimeter.api.evaluation import (
    EnvironmentClassLike,
    Session,
    class_spec,
    evaluate,
    load,
    prepare,
)
from omnimeter.api.merging import compare, merge
from omnimeter.api.result import Result
from omnimeter.api.universal import UniversalTest, test
from omnimeter.catalogue import Entry, Kind, listing, make, objects, parse
from omnimeter.contract import InvalidInputError

if TYPE_CHECKING:
    from omnimeter.audits import Audit
    from omnimeter.contract.overlay import Belief, Overlay
    from omnimeter.measures import ClassMeasures, Measures
    from omnimeter.measures.basic import Combine, Form
    from omnimeter.reproductions.shared import Reproduced

__all__ = [
    "Campaign",
    "Result",
    "Session",
    "UniversalTest",
    "audit",
    "campaign",
    "compare",
    "evaluate",
    "list_agents",
    "list_environments",
    "list_payoffs",
    "list_protocols",
    "list_reproductions",
    "load",
    "measure",
    "merge",
    "prepare",
    "reproduce",
    "test",
]


def audit(
    environment_class: EnvironmentClassLike,
    *,
    instances: int = 20,
    interactions: int = 2520,
    complexity: float | Sequence[float] | None = None,
    least_difference: float = 0.0,
    seed: int = 0,
    progress: Callable[[str | float], None] | None = None,
) -> Audit:
    """Examine an environment class: balance, sensitivity, structure, range, repeatability.

    Args:
        environment_class: An id, a ``Spec``, or a Python class or object.
        instances: How many instances to draw.
        interactions: Interactions of each random run.
        complexity: Draw instances of complexity L - 1 to L only; of several, each in turn.
        least_difference: By how much sums of rewards must differ; 0 is by any.
        seed: The root of all random numbers.
        progress: Told what is being done (a text) and which share is done (a number up to 1).

    Returns:
        One finding per check; ``ok`` says whether the class keeps what it claims.
    """
    from omnimeter.audits import audit as examine

    spec, things = class_spec(environment_class)
    objects.use(things)
    complexities = [] if complexity is None else np.atleast_1d(complexity).tolist()
    return examine(
        make(Kind.ENVIRONMENT, spec),
        instances=instances,
        interactions=interactions,
        seed=seed,
        complexities=complexities,
        least_difference=least_difference,
        progress=progress,
    )


@overload
def measure(
    environment: Overlay,
    *,
    knowledge: Iterable[Belief] | None = None,
    other: Overlay | None = None,
    form: Form = "mean",
    combine: Combine = "product",
    weights: Mapping[str, float] | None = None,
    sample: int | None = None,
    seed: int = 0,
) -> Measures: ...


@overload
def measure(
    environment: EnvironmentClassLike,
    *,
    exercises: int = 20,
    steps: int = 50,
    form: Form = "mean",
    combine: Combine = "product",
    weights: Mapping[str, float] | None = None,
    sample: int | None = None,
    seed: int = 0,
    progress: Callable[[float], None] | None = None,
) -> ClassMeasures: ...


def measure(
    environment: EnvironmentClassLike | Overlay, *, seed: int = 0, **options: Any
) -> ClassMeasures | Measures:
    """Measure an environment class, or one overlay: size, density, variability, complexity, ...

    ``omnimeter.measures`` has each measure as a function of its own (perturbation tolerance,
    equations 1 to 4).

    Args:
        environment: An overlay; or an environment class, as an id, a ``Spec``, or a Python class or
            object, of which instances are drawn.
        seed: The root of all random numbers.
        options: Of both: ``form``, ``combine``, ``weights`` and ``sample``. Of a class:
            ``exercises`` (how many instances), ``steps`` (of each) and ``progress``. Of an overlay:
            ``knowledge`` and ``other``.

    Returns:
        The measures of the overlay, or their means over the instances of the class.
    """
    from omnimeter import measures
    from omnimeter.contract.overlay import Overlay

    if seed < 0:
        raise InvalidInputError(f"The seed is {seed}.", "Give a whole number of 0 or more.")
    if isinstance(environment, Overlay):
        return measures.measure(environment, rng=np.random.default_rng(seed), **options)
    spec, things = class_spec(environment)
    objects.use(things)
    return measures.measure_class(make(Kind.ENVIRONMENT, spec), seed=seed, **options)


def reproduce(
    name: str,
    *,
    out: str | Path | None = None,
    progress: Callable[[str, float], None] | None = None,
    **options: Any,
) -> Reproduced:
    """Run an experiment of a paper; ``verdict`` says whether our results are the published ones.

    Args:
        name: Its id (``list_reproductions()``), with parameters if it has some.
        options: Further parameters of that experiment, such as ``quick=True``.
        out: Where its tables and figures are written, and where it goes on after an interruption;
            nothing is kept without it.
        progress: Told what is being done and which share is done.
    """
    spec = parse(Kind.REPRODUCTION, name)
    spec = replace(spec, parameters={**spec.parameters, **options})
    experiment = make(Kind.REPRODUCTION, spec)
    tell = progress or (lambda doing, done: None)  # noqa: ARG005 - as it is called
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary if out is None else out)
        result: Reproduced = experiment(folder, tell)
        from omnimeter.reproductions.shared import Steps

        Steps(folder).remove()
    return replace(result, files={}) if out is None else result


def list_environments() -> list[Entry]:
    """The environment classes that are installed, ours and those of other packages."""
    return listing(Kind.ENVIRONMENT)


def list_agents() -> list[Entry]:
    """The agents that are installed, ours and those of other packages."""
    return listing(Kind.AGENT)


def list_protocols() -> list[Entry]:
    """The protocols that are installed, ours and those of other packages."""
    return listing(Kind.PROTOCOL)


def list_payoffs() -> list[Entry]:
    """The payoffs that are installed, ours and those of other packages."""
    return listing(Kind.PAYOFF)


def list_reproductions() -> list[Entry]:
    """The experiments of papers that can be run again."""
    return listing(Kind.REPRODUCTION)
