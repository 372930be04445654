"""What section 7.2 of the anytime test says of slow agents, and what our runs say."""

from __future__ import annotations

from omnimeter.reproductions.anytime_experiments.speed.found import Found, Series
from omnimeter.reproductions.anytime_experiments.speed.plan import AGENTS, RANDOM
from omnimeter.reproductions.estimates import said
from omnimeter.reproductions.reproduction import Statement

NOUGHT = 0.05
"""Scores below this are very bad."""

GOOD = 0.3
"""Scores above this are very good."""

TIMED, UNTIMED = (17, 18), (15, 19)


def statements(found: Found) -> list[Statement]:
    """The section's statements, each with the rule by which it was decided."""
    learners = [agent for agent in AGENTS if agent.learns]
    return [
        *(_slower_is_not_better(found.of(each, number)) for number in TIMED for each in learners),
        *(_slower_is_the_same(found, number) for number in UNTIMED),
        _random_stays_at_0(found),
        _slow_but_intelligent(found),
    ]


def _slower_is_not_better(series: Series) -> Statement:
    gains, lead = series.gains(), series.lead()
    most = max(gains, key=lambda gain: gain.value)
    down, up = sum(gain.high < 0 for gain in gains), sum(gain.low > 0 for gain in gains)
    return Statement(
        f"Definition {series.definition.number}, {series.agent.title}: of two agents that do the "
        "same and improve with experience, the slower one has the lower score.",
        f"{_scores(series)}. The first is {said(lead)} above the last. Of {len(gains)} steps "
        f"{down} lead down for certain, {up} up; the highest of them is {said(most)}. Rule: no "
        "step leads up for certain, all intervals of paired differences holding at once, and the "
        "interval of the first's lead over the last is above 0.",
        not up and lead.low > 0,
    )


def _slower_is_the_same(found: Found, number: int) -> Statement:
    series = [found.of(agent, number) for agent in AGENTS]
    return Statement(
        f"Definition {number}: two agents that do the same have the same score, however slow.",
        "; ".join(
            f"{each.agent.title} {said(each.score(1))}, "
            + (
                f"and exactly the same for all {len(each.values)} copies"
                if each.all_the_same
                else "but copies differ"
            )
            for each in series
        )
        + ". Rule: every copy has the same value in every environment or sitting, to the last bit.",
        all(each.all_the_same for each in series),
    )


def _random_stays_at_0(found: Found) -> Statement:
    scores = found.scores_at_once(RANDOM)
    furthest = {
        number: max(copies, key=lambda score: abs(score.value)) for number, copies in scores.items()
    }
    return Statement(
        "An agent that does not learn neither gains nor loses by its speed: a random one is "
        "expected to have 0 by every definition.",
        "The score that is furthest from 0: "
        + ", ".join(f"{said(score)} by Definition {number}" for number, score in furthest.items())
        + ". Rule: the intervals of all copies by all definitions hold 0, all at once.",
        all(score.low <= 0 <= score.high for copies in scores.values() for score in copies),
    )


def _slow_but_intelligent(found: Found) -> Statement:
    told = {}
    for agent in AGENTS:
        with_time, without = found.of(agent, 18), found.of(agent, 19)
        slowest = max(with_time.values)
        told[agent] = with_time.score(slowest), without.score(slowest)
    slow_but_intelligent = {
        agent: bad.high < NOUGHT and good.low > GOOD for agent, (bad, good) in told.items()
    }
    return Statement(
        "Very bad results with Definition 18 and then very good ones with Definition 19 tell a "
        "very slow, but intelligent, agent.",
        f"The slowest copies, {slowest} times slower than the first: "
        + "; ".join(
            f"{agent.title} {said(bad)} with time, {said(good)} without"
            for agent, (bad, good) in told.items()
        )
        + f". Rule: of the two that learn the first interval ends below {NOUGHT} and the second "
        f"begins above {GOOD}, and not so of the random one.",
        all(slow_but_intelligent[agent] == agent.learns for agent in AGENTS),
    )


def _scores(series: Series) -> str:
    """The scores of all copies, from the fastest to the slowest."""
    slowness = [f"{each}" for each in series.values]
    scores = [f"{series.score(each).value:.3f}" for each in series.values]
    return f"{', '.join(slowness)} times slower: {', '.join(scores)}"
