"""What is said of rewards and complexity, alone (section 5.4) and among others (section 5.5)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from omnimeter.contract import FloatArray
from omnimeter.reproductions.estimates import said
from omnimeter.reproductions.lambda_experiments.agents import Reference
from omnimeter.reproductions.lambda_experiments.measures import MEASURES, Measure
from omnimeter.reproductions.lambda_experiments.relations import (
    WEAK,
    Relation,
    among,
    complexities,
    relate,
    relations_of,
    rewards,
)
from omnimeter.reproductions.lambda_experiments.samples import Sample
from omnimeter.reproductions.reproduction import Statement
from omnimeter.statistics import Correlation, correlation


def hardly_affected(related: Sequence[Relation], agent: Reference) -> Statement:
    """That complexity does not matter to an agent, by either measure."""
    by_measure = {measure: relations_of(related, agent, measure) for measure in MEASURES}
    return Statement(
        f"{agent.title}: hardly affected by complexity.",
        "Correlation with the "
        + "; with the ".join(
            f"{measure.title}: "
            + ", ".join(f"{where} {said(each.correlation, 2)}" for where, each in found.items())
            for measure, found in by_measure.items()
        )
        + f". Rule: all four intervals are within {WEAK} of 0.",
        all(each.weak for found in by_measure.values() for each in found.values()),
    )


def learner_falls(
    found: Sequence[Sample], related: Sequence[Relation], agent: Reference, measure: Measure
) -> Statement:
    """That an agent gets less the more complex an environment is, by one measure."""
    by_place = relations_of(related, agent, measure)
    holds = all(each.falls for each in by_place.values())
    return Statement(
        f"{agent.title} does significantly worse the more complex the environment is "
        f"(complexity: the {measure.title}).",
        "; ".join(
            f"{where}: slope {said(each.slope)} for {measure.unit}, correlation "
            f"{said(each.correlation, 2)}, p = {each.correlation.probability:.1g}"
            for where, each in by_place.items()
        )
        + ". Rule: the intervals of both slopes are below 0.",
        holds,
        "" if holds else _why_it_does_not_fall(found, agent, measure),
    )


def _why_it_does_not_fall(found: Sequence[Sample], agent: Reference, measure: Measure) -> str:
    """Whether it is a single environment far from all others; no reason otherwise."""
    x, y = complexities(found, measure), rewards(found, agent.name)
    *_, next_to_it, farthest = np.sort(x).tolist()
    rest = x < farthest
    without = relate(agent.name, "all-sizes", measure, x[rest], y[rest])
    if not without.falls:
        return ""
    return (
        f"one environment lies far from all others: its {measure.title} is {farthest:,.0f}, the "
        f"next is {next_to_it:,.0f}, the median {np.median(x):,.0f}. The line over all sizes hangs "
        f"on it. Without it the slope is {said(without.slope)}. By ranks, where no value is far "
        f"from the next, the correlation is {said(_of_ranks(x, y), 2)} with it"
    )


def what_the_reading_does(found: Sequence[Sample], agent: Reference) -> Statement:
    """What difference it makes which of the two measures is meant."""
    chosen = among(found)["all-sizes"]
    one, other = (complexities(chosen, measure) for measure in MEASURES)
    gained = rewards(chosen, agent.name)
    plain, product = (_of_ranks(x, gained) for x in (one, other))
    return Statement(
        "The formula of section 5.4 has lost the sign between the compressed length and the length "
        "of the pattern. Most likely it was that of a product; its example has the compressed "
        "length alone.",
        f"Both order the environments in much the same way: the correlation of their ranks is "
        f"{said(_of_ranks(one, other), 2)} over all sizes. But half of the environments lie in the "
        f"lowest {_half_lie_below(other):.0%} of the range of products, and in the lowest "
        f"{_half_lie_below(one):.0%} of that of lengths: by the product, few environments decide "
        f"where a line goes. By ranks {agent.title} goes with the product by {said(product, 2)}, "
        f"with the compressed length by {said(plain, 2)}.",
        None,
    )


def _half_lie_below(x: FloatArray) -> float:
    """In which part of its range, from the lowest value on, half of the values lie."""
    return float((np.median(x) - x.min()) / np.ptp(x))


def _of_ranks(x: FloatArray, y: FloatArray) -> Correlation:
    from scipy.stats import rankdata

    return correlation(rankdata(x), rankdata(y))
