"""What section 6.3 of the Lambda thesis says of the battery, beside what was found."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from omnimeter.reproductions.estimates import said
from omnimeter.reproductions.lambda_experiments.battery.results import Results
from omnimeter.reproductions.reproduction import Statement
from omnimeter.statistics import Correlation, paired_difference

ERROR = 0.05
"""Significant is what chance does less often than this."""

Q = "q-learning"


def statements(results: Results, few: int) -> list[Statement]:
    """The statements that can be checked without people, from all tests and the first few."""
    small = results.first(few)
    return [
        _nothing_for_chance(results),
        _overall(results, small),
        _ahead(results),
        _spread(results, small, few),
        _same_means(results, small, few),
        _correlation(results, small, few),
        _correlation_by_cells(results),
        _always_significant(results, small, few),
        _others(results),
    ]


def _nothing_for_chance(results: Results) -> Statement:
    found = results.mean("random")
    return Statement(
        "Section 6.4: the expected value of a random agent is 0.",
        f"Its mean is {said(found, 4)} in {results.tests:,} tests.",
        found.low <= 0 <= found.high,
    )


def _overall(results: Results, small: Results) -> Statement:
    return Statement(
        "Section 6.3: the mean and the standard deviation of Q-learning over all exercises "
        "(the published numbers are withheld).",
        f"Mean {said(small.mean(Q))} and standard deviation {_spread_of(small):.3f} in "
        f"{small.tests} tests; {said(results.mean(Q))} and {_spread_of(results):.3f} in "
        f"{results.tests:,}.",
        None,
    )


def _ahead(results: Results) -> Statement:
    names = sorted(results.rewards, key=lambda name: -float(np.mean(results.rewards[name])))
    gain = paired_difference(results.rewards["follower"].ravel(), results.rewards[Q].ravel())
    return Statement(
        "Not in the thesis: who does best in exercises as short as these.",
        "; ".join(f"{name} {said(results.mean(name))}" for name in names)
        + f". The follower is ahead of Q-learning by {said(gain)}.",
        None,
    )


def _spread(results: Results, small: Results, few: int) -> Statement:
    trend, trend_of_few = results.spread_trend(Q), small.spread_trend(Q)
    spreads = {
        name: np.std(rewards, axis=0, ddof=1).tolist() for name, rewards in results.rewards.items()
    }
    return Statement(
        "Section 6.3: the variances are smaller the larger the number of cells, because there are "
        "more interactions.",
        f"Q-learning's standard deviation is {_list(spreads[Q], 2)} with "
        f"{_cells(results)} cells; distances from the median go with the number of cells "
        f"by r = {said(trend)} ({said(trend_of_few)} in {few} tests). The random "
        f"agent's, which is nothing but chance, falls from {spreads['random'][0]:.2f} to "
        f"{spreads['random'][-1]:.2f}.",
        trend.high < 0 and spreads[Q][-1] < spreads[Q][0],
    )


def _same_means(results: Results, small: Results, few: int) -> Statement:
    chance, certain = small.chance_of_same_means(Q), results.chance_of_same_means(Q)
    batteries = list(results.batteries(few))
    noticed = sum(each.chance_of_same_means(Q) < ERROR for each in batteries)
    means = results.rewards[Q].mean(axis=0).tolist()
    return Statement(
        "Section 6.3: an analysis of variance shows no significant effect of the number of cells.",
        f"p = {_chance(chance)} in {few} tests. But the means do differ: they are "
        f"{_list(means, 2)} with {_cells(results)} cells in {results.tests:,} tests "
        f"(p {_below(certain)}). Among {len(batteries)} batteries of {few} tests, "
        f"{noticed} are enough to notice it.",
        chance >= ERROR,
        "" if chance >= ERROR else "the means do differ, and these tests are enough to notice it",
    )


def _correlation(results: Results, small: Results, few: int) -> Statement:
    found, found_in_few = results.correlation(Q), small.correlation(Q)
    slope = results.line(Q).slope
    return Statement(
        "Section 6.3: the rewards of Q-learning go down significantly as the complexity of the "
        "pattern goes up (Pearson).",
        f"r = {said(found_in_few)}, p = {_chance(found_in_few.probability)} in {few} tests; "
        f"r = {said(found)}, p {_below(found.probability)} in {results.tests:,}. Each "
        f"further byte of the compressed pattern costs {-slope.value:.4f} "
        f"[{-slope.high:.4f}, {-slope.low:.4f}]." + _bend(results),
        found_in_few.high < 0 and found.high < 0,
    )


def _bend(results: Results) -> str:
    """How far from straight the relation is, if enough was seen of it."""
    lengths, means = results.along_complexity(Q)
    if len(lengths) < 3:
        return ""
    chosen = np.unique(np.linspace(0, len(lengths) - 1, 5).astype(int))
    points = ", ".join(f"{means[each]:.2f} at {lengths[each]:.0f}" for each in chosen)
    return f" It is no straight line: the mean is {points} bytes."


def _correlation_by_cells(results: Results) -> Statement:
    found = results.correlations(Q)
    return Statement(
        "Table 6.2: the same holds for each number of cells.",
        f"r = {_list([each.value for each in found], 2)} with {_cells(results)} cells; the "
        f"largest p is {_chance(max(each.probability for each in found))} in "
        f"{results.tests:,} tests.",
        all(_significant(each) for each in found),
    )


def _always_significant(results: Results, small: Results, few: int) -> Statement:
    found, true = small.correlations(Q), results.correlations(Q)
    counts = [_noticed(each.correlations(Q)) for each in results.batteries(few)]
    usual = [each.usually_significant(Q, ERROR) for each in results.batteries(few)]
    whole = len(found)
    reason = (
        f"for a given number of cells r is about {np.mean([each.value for each in true]):.2f}. "
        f"{few} exercises show that as significant in {np.mean(counts) / whole:.0%} of the cases, "
        f"so all {whole} at once are rare. Whether the published test was one of these, or "
        "something differs that is not written, we do not know"
    )
    return Statement(
        f"Table 6.2: it is significant for each number of cells, with n = {few}.",
        f"In {few} tests r = {_list([each.value for each in found], 2)}, with p = "
        + ", ".join(_chance(each.probability) for each in found)
        + f": {_noticed(found)} of {whole} are significant. Among {len(counts)} batteries of "
        f"{few} tests, {counts.count(whole)} show all {whole}, and the average shows "
        f"{np.mean(counts):.1f}. These p allow for spreads that differ with complexity; by the "
        f"usual test {usual[0]} are significant, on average {np.mean(usual):.1f}, and "
        f"{usual.count(whole)} batteries show all.",
        _noticed(found) == whole,
        "" if _noticed(found) == whole else reason,
    )


def _others(results: Results) -> Statement:
    return Statement(
        "Section 5.4, of longer exercises: random agent, oracle and follower are hardly affected "
        "by complexity.",
        "; ".join(
            f"{name} r = {said(results.correlation(name))}"
            for name in ("random", "oracle", "follower", "sarsa", "expected-sarsa")
        )
        + f". Q-learning: {said(results.correlation(Q))}. Rule: for these three r is less than a "
        "quarter of Q-learning's.",
        all(
            abs(results.correlation(name).value) < abs(results.correlation(Q).value) / 4
            for name in ("random", "oracle", "follower")
        ),
    )


def _noticed(found: Sequence[Correlation]) -> int:
    """How many are significant."""
    return sum(map(_significant, found))


def _significant(found: Correlation) -> bool:
    return found.value < 0 and found.probability < ERROR


def _spread_of(results: Results) -> float:
    return float(np.std(results.rewards[Q], ddof=1))


def _cells(results: Results) -> str:
    return f"{results.cells[0]} to {results.cells[-1]}"


def _list(numbers: list[float], digits: int) -> str:
    return ", ".join(f"{number:.{digits}f}" for number in numbers)


def _chance(probability: float) -> str:
    return f"{probability:.2g}"


def _below(probability: float) -> str:
    return "< 1e-9" if probability < 1e-9 else f"= {_chance(probability)}"
