"""What the Lambda thesis says of generated environments (section 5.4), and what our runs say."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations, pairwise

from omnimeter.contract import FloatArray
from omnimeter.reproductions.estimates import REWARDS, said
from omnimeter.reproductions.lambda_experiments.agents import (
    FOLLOWER,
    ORACLE,
    Q_LEARNING,
    RANDOM,
    Reference,
)
from omnimeter.reproductions.lambda_experiments.curves import final, settled_after
from omnimeter.reproductions.lambda_experiments.generated.readings import READINGS, Read
from omnimeter.reproductions.lambda_experiments.samples import Sample
from omnimeter.reproductions.reproduction import Statement
from omnimeter.statistics import Estimate, difference, paired_difference

HARDLY = 0.1
"""A difference whose interval lies within this is hardly one."""

GAPS = (-2.0, 2.0)
"""Where differences of two rewards lie."""

USUAL, NO_SWAPS, THREE_ACTIONS, CONNECTIONS, WHOLE_TURNS = READINGS


def statements(
    found: Sequence[Sample], passed: Mapping[int, Estimate], readings: Sequence[Read]
) -> list[Statement]:
    """The section's statements, each with the rule by which it was decided."""
    return [
        _the_order_is_that_of_the_example(found),
        _size_hardly_matters(found, ORACLE, readings),
        _size_hardly_matters(found, FOLLOWER, readings),
        _follower_is_bad_in_three_cells(found, readings),
        _q_learning_passes_slowly(found, passed),
        _more_cells_are_slower(passed),
    ]


def _the_order_is_that_of_the_example(found: Sequence[Sample]) -> Statement:
    order = (ORACLE, Q_LEARNING, FOLLOWER, RANDOM)
    gaps = [
        paired_difference(sample.final(better.name), sample.final(worse.name), support=REWARDS)
        for sample in found
        for better, worse in pairwise(order)
    ]
    return Statement(
        "The general picture is that of the simple example: the oracle is best, then Q-learning, "
        "then the follower, then the random agent.",
        "; ".join(
            f"{sample.cells} cells: "
            + ", ".join(
                f"{each.title} {final(sample.averages[each.name]).value:.3f}" for each in order
            )
            for sample in found
        )
        + ". Rule: for each size the interval of each difference is above 0.",
        all(gap.low > 0 for gap in gaps),
    )


def _size_hardly_matters(
    found: Sequence[Sample], agent: Reference, readings: Sequence[Read]
) -> Statement:
    gaps = {
        (one.cells, other.cells): difference(
            other.final(agent.name), one.final(agent.name), support=REWARDS
        )
        for one, other in combinations(found, 2)
    }
    holds = all(gap.low > -HARDLY and gap.high < HARDLY for gap in gaps.values())
    ends = ", ".join(said(final(sample.averages[agent.name])) for sample in found)
    return Statement(
        f"The size of the space does not matter much to the {agent.title.lower()}.",
        f"{ends} with {_sizes(found)} cells. Differences: "
        + ", ".join(f"{to} - {of} cells {said(gap)}" for (of, to), gap in gaps.items())
        + f". Rule: the interval of each lies within {HARDLY}.",
        holds,
        "" if holds else _why_size_matters(agent, readings),
    )


def _why_size_matters(agent: Reference, readings: Sequence[Read]) -> str:
    """What changes the difference between the sizes, one thing at a time; no cause is guessed."""
    across = {reading: said(_across(readings, reading, agent)) for reading in READINGS}
    usual, kept = (
        _listed([read.actions for read in _of(readings, reading, agent)], 1)
        for reading in (USUAL, CONNECTIONS)
    )
    return (
        "the text does not say what is drawn again when a space is not valid. We draw the whole "
        f"description again, and have {usual} actions on average. From the smallest size to the "
        f"largest the {agent.title.lower()} then gains {across[USUAL]}. If only the connections "
        f"are drawn again there are {kept} actions, and it gains {across[CONNECTIONS]}. With one "
        f"thing changed in ours it gains {across[WHOLE_TURNS]} if displacements may be whole "
        f"turns, {across[THREE_ACTIONS]} if all spaces have three actions, and "
        f"{across[NO_SWAPS]} if Good and Evil never change places. Which of these the thesis had "
        "is not known"
    )


def _across(readings: Sequence[Read], reading: str, agent: Reference) -> Estimate:
    """How much more an agent gets in the largest size than in the smallest."""
    smallest, *_, largest = _of(readings, reading, agent)
    return difference(largest.averages, smallest.averages, support=REWARDS)


def _follower_is_bad_in_three_cells(found: Sequence[Sample], readings: Sequence[Read]) -> Statement:
    smallest, *larger = (_behind(sample) for sample in found)
    gaps = [difference(smallest, each, support=GAPS) for each in larger]
    shares = _of(readings, USUAL, FOLLOWER)
    holds = all(gap.low > 0 for gap in gaps)
    return Statement(
        "The follower is relatively bad in 3 cells, because in a small space it more often meets "
        "Evil.",
        f"It meets Evil in {_listed([100 * read.with_evil for read in shares], 0)} % of the "
        f"interactions with {_sizes(found)} cells, and is behind the oracle by "
        f"{_listed([float(_behind(sample).mean()) for sample in found], 2)}. "
        f"How much further behind it is in 3 cells than in each larger size: "
        f"{' and '.join(map(said, gaps))}. Rule: the intervals of these are above 0.",
        holds,
        "" if holds else _why_three_cells_are_not_bad(readings),
    )


def _why_three_cells_are_not_bad(readings: Sequence[Read]) -> str:
    shares = _of(readings, USUAL, FOLLOWER)
    pairs = zip(
        _of(readings, CONNECTIONS, ORACLE), _of(readings, CONNECTIONS, FOLLOWER), strict=True
    )
    smallest, *larger = (oracle.averages - follower.averages for oracle, follower in pairs)
    further = [said(difference(smallest, each, support=GAPS)) for each in larger]
    return (
        "how often it meets Good differs with the size too: in "
        f"{_listed([100 * read.with_good for read in shares], 0)} % of the interactions. And it "
        "depends on how spaces are drawn: if only the connections of an invalid space are drawn "
        f"again, it is further behind in 3 cells by {' and '.join(further)}"
    )


def _behind(sample: Sample) -> FloatArray:
    """By how much the follower gets less than the oracle, in each environment."""
    return sample.final(ORACLE.name) - sample.final(FOLLOWER.name)


def _q_learning_passes_slowly(found: Sequence[Sample], passed: Mapping[int, Estimate]) -> Statement:
    leads = [
        paired_difference(
            sample.final(Q_LEARNING.name), sample.final(FOLLOWER.name), support=REWARDS
        )
        for sample in found
    ]
    slow = {
        agent.name: [settled_after(sample.points, sample.averages[agent.name]) for sample in found]
        for agent in (Q_LEARNING, FOLLOWER, ORACLE)
    }
    slowest = all(
        slow[Q_LEARNING.name][place] > max(slow[FOLLOWER.name][place], slow[ORACLE.name][place])
        for place in range(len(found))
    )
    return Statement(
        "Q-learning passes the follower by making use of the pattern, but only after a slow "
        "convergence.",
        f"Its lead at the end is {', '.join(map(said, leads))} with {_sizes(found)} cells. Its "
        "mean curve passes the follower's after "
        + ", ".join(said(each, 0) for each in passed.values())
        + " interactions. It comes within 0.02 of where it ends after "
        f"{_listed(slow[Q_LEARNING.name], 0)} interactions, the follower after "
        f"{_listed(slow[FOLLOWER.name], 0)}, the oracle after {_listed(slow[ORACLE.name], 0)}. "
        "Rule: the intervals of the lead are above 0, and it is the last to come so close.",
        slowest and all(lead.low > 0 for lead in leads),
    )


def _more_cells_are_slower(passed: Mapping[int, Estimate]) -> Statement:
    crossings = list(passed.values())
    rising = all(one.value < other.value for one, other in pairwise(crossings))
    return Statement(
        "The convergence of Q-learning is slower with more cells.",
        "It passes the follower after "
        + ", ".join(f"{each.value:.0f}" for each in crossings)
        + f" interactions with {', '.join(map(str, passed))} cells. Rule: each size later than the "
        "one before, and the intervals of the smallest and the largest do not meet.",
        rising and crossings[0].high < crossings[-1].low,
    )


def _of(readings: Sequence[Read], reading: str, agent: Reference) -> list[Read]:
    return [read for read in readings if (read.reading, read.agent) == (reading, agent.name)]


def _listed(numbers: Sequence[float], digits: int) -> str:
    texts = [f"{number:,.{digits}f}" for number in numbers]
    return f"{', '.join(texts[:-1])} and {texts[-1]}"


def _sizes(found: Sequence[Sample]) -> str:
    return _listed([sample.cells for sample in found], 0)
