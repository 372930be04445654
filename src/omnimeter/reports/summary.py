"""What a result says, in sentences: scores, comparisons, what is estimated, what to mind."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from math import inf, isclose

from omnimeter.contract import ClockKind, FaultKind, Score, Spec
from omnimeter.contract.protocol import Design
from omnimeter.estimation import Estimate
from omnimeter.protocols import Result
from omnimeter.reports.comparisons import Comparison, Verdict
from omnimeter.reports.scores import (
    EXERCISE,
    FAULTY,
    PRIVILEGED,
    REPETITION,
    Eligibility,
    ScoreRow,
    eligibilities,
)
from omnimeter.reports.text import (
    counted,
    decimals,
    duration,
    fault_counts,
    grouped,
    interval,
    listed,
    number,
    p_value,
    percent,
)

_PAIRED = {EXERCISE: "on the same exercises", REPETITION: "repetition by repetition"}

NAMED = 4
"""How many agents are named one by one before the rest is only counted."""


def result_sentences(
    rows: Sequence[ScoreRow], compared: Sequence[Comparison], what: str
) -> list[str]:
    """What was measured, who is best, and what is not decided: at most three sentences.

    Args:
        rows: The scores.
        compared: The differences from the best agent.
        what: What each agent took, or all of them.
    """
    who = rows[0].label if len(rows) == 1 else counted(len(rows), "agent")
    first = f"{who} took {what}."
    scored = [row for row in rows if row.value is not None]
    if not scored:
        return [first, "No exercise has been finished with a payoff, so there is no score yet."]
    best = scored[0]
    places = decimals((best.value, best.low, best.high))
    score = number(best.value, places)
    if best.low is not None and best.high is not None:
        score += f" ({percent(best.confidence)} interval {interval(best.low, best.high, places)})"
    if len(rows) == 1:
        return [first, f"{best.name} scored {score}."]
    if best.rank is None:
        return [first, "No best score is named, because all agents had faults of their own."]
    tied = [row.name for row in scored if row.rank == best.rank]
    verdicts = [each.verdict for each in compared]
    open_ones = [e.name for e in compared if e.verdict in (Verdict.NOT_SHOWN, Verdict.TOO_FEW)]
    if len(tied) > 1:
        named = listed(tied) if len(tied) <= NAMED else counted(len(tied), "agent")
        second = f"{named} share the best score: {number(best.value, places)}."
    elif open_ones or Verdict.WORSE not in verdicts:
        second = f"{best.name} has the best score: {score}."
    else:
        second = f"{best.name} is shown to be best: {score}."
    third = decided_sentence(verdicts)
    if open_ones:
        third = f"Not decided is whether {best.name} is better than {either(open_ones)}."
    if len(tied) > 1 and open_ones:
        third = "Not decided is which agent is best."
    return [each for each in (first, second, third) if each]


def decided_sentence(verdicts: Sequence[Verdict]) -> str:
    """What is said where no difference is undecided."""
    if Verdict.FAULTY not in verdicts:
        return "Every difference from the best agent is shown." if verdicts else ""
    if Verdict.WORSE not in verdicts:
        return "Agents with faults of their own are not compared."
    return (
        "Every other difference from the best agent is shown, but agents with faults of their own "
        "are not compared."
    )


def either(names: Sequence[str]) -> str:
    """One or another, of which a few are named."""
    if len(names) <= NAMED:
        return " or ".join(names)
    return f"{', '.join(names[: NAMED - 1])} or {len(names) - NAMED + 1} others"


def comparison_sentence(comparison: Comparison) -> str:
    """What one comparison shows."""
    agent, reference = comparison.name, comparison.reference_name
    size = comparison.difference
    common = counted(comparison.count, comparison.unit)
    if comparison.verdict is Verdict.FAULTY:
        return (
            f"{agent} and {reference} are not compared, because faults decided which "
            "exercises could be."
        )
    if comparison.verdict is Verdict.TOO_FEW or size is None:
        return f"{agent} and {reference} have {common} in common, too few to compare them."
    low, high = comparison.low, comparison.high
    places = decimals((size, low, high))
    if comparison.verdict is Verdict.NOT_SHOWN:
        return (
            f"No difference between {agent} and {reference} is shown: "
            f"{number(size, places, signed=True)} "
            f"({_ends(comparison, low, high, places)}, {common})."
        )
    if comparison.verdict is Verdict.WORSE and low is not None and high is not None:
        size, low, high = -size, -high, -low
    return (
        f"{agent} is {comparison.verdict} than {reference} by {number(size, places)} "
        f"{_PAIRED[comparison.unit]} ({_ends(comparison, low, high, places)}, {common})."
    )


def _ends(comparison: Comparison, low: float | None, high: float | None, places: int) -> str:
    """An interval of a difference, with the p-value that belongs to it."""
    kind = "simultaneous 95 % interval" if comparison.simultaneous > 1 else "95 % interval"
    signed = comparison.verdict is Verdict.NOT_SHOWN  # as the difference is then
    ends = f"{kind} {interval(low, high, places, signed=signed)}"
    if comparison.bounded:
        ends += f", bounded as fewer than four {comparison.unit}s carry the spread"
    if comparison.p_value is None:
        return ends
    p = p_value(comparison.p_value)
    return f"{ends}, p {p if p.startswith('<') else f'= {p}'}"


def bounded_sentence(result: Result) -> str:
    """Says whose interval only rests on the possible payoffs, why, and what to do; or nothing."""
    names = [
        agent.label
        for agent, score in result.scores.items()
        if score.interval is not None and score.interval.bounded and not score.faults
    ]
    return "" if result.design.precision is not None else bounded_text(names, result.design.unit)


def bounded_text(names: Sequence[str], unit: str, *, of: str = "", seeds: int = 1) -> str:
    """Says the same of these agents; nothing where there are none.

    Args:
        names: Whose intervals only rest on the possible payoffs.
        unit: What they are made from.
        of: What these are intervals of, unless scores.
        seeds: Under how many seeds; at least one of them has such an interval.
    """
    if not names:
        return ""
    several = len(names) > 1
    who = listed(names) if len(names) <= NAMED else counted(len(names), "agent")
    whose = f"intervals {of}of {who} rest" if several else f"interval {of}of {who} rests"
    least = ", under some of the seeds at least," if seeds > 1 else ""
    return (
        f"The {whose}{least} on nothing but the lowest and the highest possible score: fewer than "
        f"four {unit}s carry the spread, which is too few to rely on it. More {unit}s make "
        f"{'them' if several else 'it'} much shorter."
    )


def fault_sentence(rows: Sequence[ScoreRow], outcomes: int) -> str:
    """How many faults of which kind, and which agents had them."""
    total: Counter[str] = Counter()
    for row in rows:
        total.update(row.faults)
    amount = sum(total.values())
    if not amount:
        return "No exercise ended in a fault." if outcomes else ""
    faulty = [row.label for row in rows if sum(row.faults.values())]
    names = listed(faulty) if len(faulty) <= NAMED else counted(len(faulty), "agent")
    are = "is" if amount == 1 else "are"
    return (
        f"{amount} of {outcomes} exercises ended in a fault and {are} left out of the scores: "
        f"{fault_counts(dict(sorted(total.items())))} of {names}."
    )


ONE_REPETITION = (
    "One repetition has no interval: it cannot show how far another one would lie from it. "
    "Several have one, for example with --repetitions 20."
)
RELIABILITY = (
    "This share of the variance of the scores is due to the agents, the rest is error. Agents that "
    "are more alike are told apart less reliably."
)
UNBALANCED = (
    "The class may not be balanced (--unbalanced): random behaviour may be worth something there, "
    "so that a score above 0 need not mean more than random behaviour."
)


def length_text(design: Design, length: float) -> str:
    """A length in the unit of the test."""
    if design.length_unit == "seconds":
        return duration(length) + (" of real time" if design.real_time else "")
    return counted(round(length), "interaction")


def repetitions_text(design: Design) -> str:
    """How many repetitions of which length."""
    count = design.units or 0
    most = "" if design.precision is None else "at most "
    each = " each" if count > 1 else ""
    length = "" if design.length is None else f" of {length_text(design, design.length)}{each}"
    return most + counted(count, REPETITION) + length


def estimate_sentence(result: Result) -> str:
    """What the score is an estimate of."""
    design = result.design
    if all(score.value is None for score in result.scores.values()):
        unit = "round of exercises" if design.unit == REPETITION else EXERCISE
        return f"There is no score: no {unit} was completed."
    over = "over environments and over the randomness of agent and environment"
    if design.clock is ClockKind.WALL:
        over = over.replace(" and", ",", 1) + ", and over the measured times"
    return f"The score estimates the expected score of {_estimand(result)}, {over}."


def _estimand(result: Result) -> str:
    design = result.design
    if design.unit == EXERCISE:
        if not (design.environments and (design.units or design.precision)):
            return "a test like this one"
        if design.units is None:
            length = design.length
            each = "" if length is None else f" of {length_text(design, length)}"
            return f"an exercise{each} in {design.environments}"
        each = "" if design.length is None else f", {length_text(design, design.length)} each"
        return f"a test in {counted(design.units, 'environment')} of {design.environments}{each}"
    where = f" in {design.environments}" if design.environments else ""
    if not result.complete and not _has_whole_block(result):
        return f"a repetition{where} that is stopped where this one was"
    lengths = sorted({course[-1].length for course in result.courses.values() if course})
    if design.real_time and design.length is not None:
        own = " to ".join(duration(each) for each in dict.fromkeys((lengths[0], lengths[-1])))
        planned = length_text(design, design.length)
        return f"a repetition of {planned}, of which slots made up {own},{where}"
    length = lengths[0] if len(lengths) == 1 else design.length
    long = "" if length is None else f" of {length_text(design, length)}"
    return f"a repetition{long}{where}"


def _has_whole_block(result: Result) -> bool:
    """Whether a test was stopped when all scores were already those of whole repetitions."""
    design, courses = result.design, result.courses.values()
    length = design.length
    return design.precision is not None and all(
        length is not None and course and isclose(course[-1].length, length) for course in courses
    )


def stopped_sentence(result: Result, compared: Sequence[Comparison] = ()) -> str:
    """What holds if the score was the reason for stopping; empty if the test was not stopped.

    Where a precision decides on the number of exercises, what was printed always holds.
    """
    known = {
        agent.label: score.parts["watched"]
        for agent, score in result.scores.items()
        if "watched" in score.parts
    }
    if result.complete or not known or result.design.precision is not None:
        return ""
    these = "these 95 % intervals do" if len(known) > 1 else "this 95 % interval does"
    differences = {
        f"{each.agent.label} minus {each.reference.label}": each.watched
        for each in compared
        if each.watched is not None
    }
    rest = ""
    if differences:
        rest = f" So do those of differences, all at once: {_intervals(differences)}."
    elif len(result.scores) > 1:
        rest = " Differences between agents then do not."
    return (
        "The interval above holds for a test that was not stopped because of its score. If it was, "
        f"{these}: {_intervals(known)}.{rest}"
    )


def _intervals(known: Mapping[str, tuple[float, float]]) -> str:
    places = decimals(end for ends in known.values() for end in ends)
    return listed([f"{label} ({interval(*ends, places)})" for label, ends in known.items()])


def reproducibility_sentence(result: Result) -> str:
    """Names the agents whose first exercise went otherwise when it was run again; mostly empty."""
    names = [
        agent.label
        for agent, done in result.outcomes.items()
        if any(value is False for value, _ in done.remarks("reproducible"))
    ]
    if not names:
        return ""
    return (
        f"Not reproducible: an exercise of {listed(names)} went otherwise when it was run again "
        "with the same seed. All randomness of an agent should come from the generator that begin "
        "gives it."
    )


def eligibility_sentences(
    known: Mapping[str, Eligibility], *, only_scores: bool = False
) -> list[str]:
    """What the marks of agents mean: a privileged view, or faults of their own; mostly empty.

    Where they are ranked: ``omnimeter.reports.scores.Eligibility``.

    Args:
        known: Whether each agent is ranked with the others, by its label.
        only_scores: Whether nothing else is told of agents with faults of their own.
    """
    views: dict[str, list[str]] = {}
    for label, each in known.items():
        if each.privileged:
            views.setdefault(each.privileged, []).append(label + each.mark)
    sentences = [
        f"{listed(names)} had the view {view}, which tells what other agents have to find out: "
        "a reference, not a rival."
        for view, names in views.items()
    ]
    faulty = [
        f"{label + each.mark}: {each.own_faults} of {each.exercises} exercises ended in faults "
        "of its own"
        for label, each in known.items()
        if each.own_faults
    ]
    if faulty:
        rest = [f"{counted(len(faulty) - NAMED, 'more agent')} had some"] * (len(faulty) > NAMED)
        told = ", and nothing but their scores is told" * only_scores
        sentences.append(
            f"{'; '.join(faulty[:NAMED] + rest)}. Agents with faults of their own are ranked below "
            f"all others{told}, because the faults decide which exercises count."
        )
    return sentences


def mark_sentences(marks: Iterable[str]) -> list[str]:
    """What the marks after the names of agents mean, where there are any."""
    present = "".join(marks)
    sentences = []
    if FAULTY in present:
        sentences.append(
            f"{FAULTY} agents with faults of their own, which decide which exercises count. They "
            "come last, and are not compared."
        )
    if PRIVILEGED in present:
        sentences.append(
            f"{PRIVILEGED} agents that were told what others have to find out: references, not "
            "rivals."
        )
    return sentences


def sandbox_sentence(result: Result) -> str:
    """Names the untrusted agents that ran without a sandbox; mostly empty."""
    names = [
        agent.label
        for agent, done in result.outcomes.items()
        if any(value == "none" for value, _ in done.remarks("sandbox"))
    ]
    if not names:
        return ""
    who = listed(names) if len(names) <= NAMED else counted(len(names), "agent")
    return (
        f"Without a sandbox: {who} could have read and changed what this user can. Trust the "
        "result as far as you trust the agent; omnimeter doctor says how to get a sandbox."
    )


def attempts_sentence(result: Result) -> str:
    """Says how many exercises were begun more than once; mostly empty."""
    again = {agent.label: int((done.attempts > 1).sum()) for agent, done in result.outcomes.items()}
    total = sum(again.values())
    if not total:
        return ""
    names = listed([label for label, count in again.items() if count])
    were = counted(total, "exercise was", "exercises were")
    return (
        f"{were} attempted again ({names}): something else than the agent had ended the first "
        "attempt, or had interrupted it."
    )


def fault_limit_sentence(result: Result) -> str:
    """Names the agents that took no more exercises because of their faults; mostly empty."""
    return " ".join(
        f"{agent.label} was stopped after {counted(limit, 'fault')} in a row: the rest of its "
        "exercises was not run."
        for agent, limit in result.stopped.items()
    )


def remarks(result: Result) -> list[str]:
    """What to know of agents before reading their scores; mostly empty."""
    sentences = [
        extension_sentence(result),
        reproducibility_sentence(result),
        *eligibility_sentences(eligibilities(result)),
        sandbox_sentence(result),
        fault_limit_sentence(result),
        attempts_sentence(result),
    ]
    return [sentence for sentence in sentences if sentence]


def extension_sentence(result: Result) -> str:
    """What the intervals are of a test that was extended after its results could be seen."""
    sizes = result.design.extended
    if not sizes:
        return ""
    said = f"This test had {listed(map(str, sizes))} exercises before it was extended, when its "
    said += "results could be seen. "
    known = [score for score in result.scores.values() if score.value is not None]
    if any("watched" not in score.parts for score in known):
        return said + (
            "Its intervals do not allow for that, because payoffs are not bounded: if the results "
            "were the reason, take them for too short."
        )
    return said + "So its intervals are the longer ones that hold at every number of exercises."


def precision_sentence(result: Result) -> str:
    """What the intervals of a test with a precision are, and who reached it; empty otherwise."""
    wanted, unit = result.design.precision, result.design.unit
    if wanted is None:
        return ""
    reached, missed = (
        [
            f"{agent.label} after "
            + counted(len(result.values.get(agent, ())) or score.count, unit)
            for agent, score in result.scores.items()
            if bool(score.parts.get("precise")) is precise
        ]
        for precise in (True, False)
    )
    sentence = (
        f"The intervals are always valid: they hold at every number of {unit}s at once, because "
        f"their length decided when to stop. The precision of {wanted:g} was "
    )
    ways = (("reached by", reached), ("not reached by", missed))
    return sentence + "; ".join(f"{how} {listed(who)}" for how, who in ways if who) + "."


def exhausted_sentence(result: Result) -> str:
    """Says whose test ended early because no environments were left; mostly empty."""
    if not result.exhausted:
        return ""
    names = listed([agent.label for agent in result.exhausted])
    return f"The test of {names} ended early: the class has no further environments."


def reliability_sentence(reliability: Estimate | None) -> str:
    """How far a comparison of these agents can be trusted; empty where it cannot be said."""
    if reliability is None:
        return ""
    ends = interval(reliability.low, reliability.high, 2)
    return (
        "Reliability of the comparison (intraclass correlation): "
        f"{number(reliability.value, 2)} ({ends})"
    )


MOSTLY = 0.5
"""The share of exercises above which an agent counts as idle."""


def hints(result: Result) -> Iterator[str]:
    """What to mind in a result, and what to do about it."""
    design = result.design
    if design.unit == REPETITION and design.units == 1:
        yield ONE_REPETITION
    for agent, done in result.outcomes.items():
        if len(done) and not done.interactions.any():
            yield f"{agent.label} has not completed a single action."
    for agent, score in result.scores.items():
        if design.length_unit == "seconds" and score.parts.get("idle", 0) > MOSTLY:
            hint = (
                f"{agent.label} had no time to act in {score.parts['idle']:.0%} of its exercises."
            )
            course, speed = result.courses.get(agent, ()), score.parts.get("speed")
            if design.length is not None and course and course[0].slot < design.length:
                slot = 2 / speed if speed else design.length / 4
                hint += f" --slot {slot:.1g} begins with longer ones."
            yield hint
    if any(score.parts.get("unbalanced") for score in result.scores.values()):
        yield UNBALANCED
    if result.exhausted:
        yield exhausted_sentence(result)


class Character(StrEnum):
    """What the tests with and without time say of an agent together (anytime test, section 7.2)."""

    FAST_AND_INTELLIGENT = "fast and intelligent"
    SLOW_BUT_INTELLIGENT = "slow but intelligent"
    FAST_BUT_DULL = "fast but dull"
    SLOW_AND_DULL = "slow and dull"
    UNKNOWN = "cannot be told"


@dataclass(frozen=True)
class Characterisation:
    """What both tests say of an agent, and why, in a sentence."""

    agent: Spec
    kind: Character
    reason: str


def characterise(agent: Spec, timed: Score, untimed: Score) -> Characterisation:
    """Say whether an agent's results are due to its intelligence or to its speed.

    Random behaviour is worth 0. An agent is intelligent if it is shown to score more than that
    where time does not count. It is dull if it is shown to score next to 0, with time and without.
    It is slow if it had no time to act in most exercises of a test that was not short, or if its
    score where time counts is shown to be lower, and is not half of the other. An intelligent
    agent is fast if it is shown to score more than 0 where time counts, too.

    Args:
        agent: The agent.
        timed: Its score where time counts (Definition 18).
        untimed: Its score where it does not (Definition 19).
    """
    faults = {*timed.faults, *untimed.faults} - {FaultKind.INFRASTRUCTURE}
    if faults:
        whose = "of seated agents" if faults == {FaultKind.SEATED} else "of its own"
        reason = f"Faults {whose} decided which of its exercises count."
        return Characterisation(agent, Character.UNKNOWN, reason)
    if timed.interval is None or untimed.interval is None or None in (timed.value, untimed.value):
        reason = "One of the tests has no score, or no interval."
        return Characterisation(agent, Character.UNKNOWN, reason)
    kind, why = _character(timed, untimed)
    with_time, without = (
        f"{number(value, 3)} ({interval(ends.low, ends.high, 3)})"
        for value, ends in ((timed.value, timed.interval), (untimed.value, untimed.interval))
    )
    reason = f"With time it scores {with_time}, without {without}"
    if speed := timed.parts.get("speed"):
        reason += f", at {grouped(speed)} actions per second"
    return Characterisation(agent, kind, f"{reason}. {why}".strip())


def _character(timed: Score, untimed: Score) -> tuple[Character, str]:
    low, high = timed.interval[:2] if timed.interval else (-inf, inf)
    untimed_low, untimed_high = untimed.interval[:2] if untimed.interval else (-inf, inf)
    idle = timed.parts.get("idle", 0.0) > MOSTLY
    kind, why = Character.UNKNOWN, ""
    if timed.parts.get("rounds", 0) < 10:  # hardly left its first time scale
        why = "The test with time was too short to tell."
    elif untimed_low > 0:
        halved = (timed.value or 0.0) < (untimed.value or 0.0) / 2
        if idle or (high < untimed_low and halved):
            kind = Character.SLOW_BUT_INTELLIGENT
        elif low > 0:
            kind = Character.FAST_AND_INTELLIGENT
        else:
            why = "It is intelligent; a longer test tells how fast."
    elif low > 0:
        why = "With time it is better than random behaviour; without, the test was too short."
    elif max(high, untimed_high) >= 0.1:
        why = "Whether it is better than random behaviour, at 0, a longer test would tell."
    else:
        kind = Character.SLOW_AND_DULL if idle else Character.FAST_BUT_DULL
        why = "It is hardly better than random behaviour, at 0."
    return kind, why
