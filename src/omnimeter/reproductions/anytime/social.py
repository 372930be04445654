"""The anytime test without time for an agent alone, among others, and sharing their rewards."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from omnimeter.agents.lambda_agents import GOOD, Follower, action_to, follower_act
from omnimeter.contract import Briefing, Budget, Exercise, Instance, Outcome, Spec, Trace
from omnimeter.contract.agent import FloatArray, IntArray
from omnimeter.environments.lambda_class import Lambda
from omnimeter.environments.universal import UniversalLambda
from omnimeter.environments.universal.generator import TABLE_BITS
from omnimeter.environments.universal.inhabitants import named_inhabitant
from omnimeter.estimation import Estimate, mean, paired_difference
from omnimeter.interaction import KernelEnvironmentClass, run
from omnimeter.kernels import AgentKernels, kernel
from omnimeter.protocols.anytime import AnytimeUntimed
from omnimeter.protocols.seating import Seating, seat_beside
from omnimeter.reports.style import SMALL
from omnimeter.reproductions import plots, shared
from omnimeter.reproductions.anytime.shared import run_test
from omnimeter.reproductions.lambda_thesis.shared import FOLLOWER, Q_LEARNING, RANDOM, Reference
from omnimeter.reproductions.shared import (
    REWARDS,
    Report,
    Reproduced,
    Statement,
    Steps,
    fmt,
    silent,
)

REPETITIONS, LENGTH = 40, 1_000
CLASSES = {"lambda-v1": "the Lambda class", "lambda-universal-v1": "the universal class"}
CANDIDATES = (RANDOM, FOLLOWER, Q_LEARNING)
COMPANIES: dict[str, tuple[Reference, ...]] = {
    "three followers": (FOLLOWER,) * 3,
    "one of each": CANDIDATES,
}
NEAR_ZERO = 0.01  # a change whose interval is within this distance of 0 counts as no change

ALONE, SHARED, OPEN, CHASED = "alone", ", sharing", ", nothing is taken", "a chasing inhabitant"
"""Conditions: an agent alone; what is added where rewards are shared, and where rewards stay and
are left on agents too; one more inhabitant that chases the agent."""

EXAMPLE = Lambda(max_cells=6, consumption="before", vanish=False, division=2)
EXAMPLES, EXAMPLE_LENGTH = 100, 2_000


class TrailState(NamedTuple):
    """The state of a follower, and where Good was before: -1 when that is not known."""

    rng: NDArray[np.uint64]
    values: IntArray
    exits: IntArray
    before: IntArray


@kernel
def trail_act(state: Any, reward: Any, observation: Any) -> Any:
    """To where Good was one interaction ago if that can be reached, otherwise like a follower."""
    cell = state.before[0]
    state.before[0] = observation[GOOD]
    behind = action_to(cell, observation, state.exits[0], len(state.values))
    if behind >= 0:
        return behind
    return follower_act(state, reward, observation)


class Trail(Follower):
    """Goes where Good was one interaction ago, where a reward lies that it shares with few."""

    kernels = AgentKernels(TrailState, act=trail_act)

    def initial_state(self, briefing: Briefing) -> Any:
        """That of a follower, without a past."""
        return TrailState(*super().initial_state(briefing), np.array([-1]))


TRAIL = Reference("trail", "One step behind Good", Trail, "#b5559a", "-.", "v")


@dataclass(frozen=True)
class Scores:
    """The scores of an agent in the repetitions of a test in one class.

    Attributes:
        adaptive: By condition, where each test chose its environments by its own rewards.
        same: By condition, in the environments of the test that the agent took alone.
        gains: The part of the latter that positive rewards make up.
    """

    adaptive: Mapping[str, FloatArray]
    same: Mapping[str, FloatArray]
    gains: Mapping[str, FloatArray]

    def change(self, after: str, before: str = ALONE) -> Estimate:
        """How much more it gets under one condition than another, in the same environments."""
        return paired_difference(self.same[after], self.same[before], support=REWARDS)

    def adaptive_change(self, after: str) -> Estimate:
        """How much more it scores than alone, by repetition, when each test chose by itself."""
        return paired_difference(self.adaptive[after], self.adaptive[ALONE], support=REWARDS)


def _scores(name: str, agent: str, repetitions: int, length: int, table_bits: int) -> Scores:
    """All scores of one candidate in one class."""
    candidate = next(each for each in CANDIDATES if each.name == agent)
    universal = name == "lambda-universal-v1"
    made = UniversalLambda(table_bits=table_bits) if universal else Lambda()
    parameters = {"table_bits": table_bits} if universal else {}
    mixed = [each.spec.to_json() for each in COMPANIES["one of each"]]
    taken = {}
    for condition, seated, sharing in (
        (ALONE, [], False), ("one of each", mixed, False), ("one of each" + SHARED, mixed, True),
    ):  # fmt: skip
        more = {"sharing": True} if sharing else {}
        protocol = {
            "environment_class": Spec(name, {**parameters, **more}).to_json(),
            "repetitions": repetitions,
            "length": length,
            **({"seated": seated} if seated else {}),
        }
        taken[condition] = run_test(Spec("anytime-untimed-v1", protocol), candidate.spec)
    alone = taken[ALONE]
    assert isinstance(alone.test, AnytimeUntimed)
    again = {
        condition: again_in(made, alone.test, alone.outcomes, candidate, company, changes)
        for condition, company, changes in conditions(universal)
    }
    values = {
        key: np.array([each.values[place] for place in range(repetitions)])
        for key, each in taken.items()
    }
    same, gains = ({key: each[part] for key, each in again.items()} for part in (0, 1))
    return Scores(values, same, gains)


def unmoved(after: FloatArray, before: FloatArray) -> bool:
    """Whether nothing changes: in no repetition, or on average by less than ``NEAR_ZERO``."""
    change = paired_difference(after, before, support=REWARDS)
    return bool((after == before).all()) or shared.is_within(change, NEAR_ZERO)


def conditions(universal: bool) -> list[tuple[str, Sequence[Reference], Mapping[str, Any]]]:
    """The conditions: their name, who is beside the candidate, and what is changed."""
    found: list[tuple[str, Sequence[Reference], Mapping[str, Any]]] = [(ALONE, (), {})]
    open_rules = {"vanish": False, "beside": True}
    for name, company in COMPANIES.items():
        found += [(name, company, {}), (name + SHARED, company, {"sharing": True})]
        if universal:
            found.append((name + OPEN, company, open_rules))
    if universal:
        found += [(ALONE + OPEN, (), open_rules), (CHASED, (), {"chased": True})]
    return found


def again_in(
    made: KernelEnvironmentClass,
    test: AnytimeUntimed,
    outcomes: Sequence[Outcome],
    candidate: Reference,
    company: Sequence[Reference],
    changes: Mapping[str, Any],
) -> FloatArray:
    """The scores by repetition in the environments of a test that is over, and the gains in them.

    Args:
        made: Their class.
        test: The test.
        outcomes: Its outcomes.
        candidate: The agent.
        company: Who is beside it.
        changes: What is changed in the data of every environment.
    """
    exercises = [_changed(each.exercise, changes) for each in outcomes]
    payoff, parts = test.payoff(), []
    for trace in traces_of(made, candidate, company, exercises):
        gained = replace(trace, rewards=np.maximum(trace.rewards, 0.0))
        parts.append((payoff(trace), payoff(gained)))
    weights = np.array([test.share(each) for each in outcomes])
    repetition = np.array([each.exercise.number % test.repetitions for each in outcomes])
    totals = [np.bincount(repetition, weights * column) for column in np.array(parts).T]
    return np.asarray(totals / np.bincount(repetition, weights), dtype=np.float64)


def _changed(exercise: Exercise, changes: Mapping[str, Any]) -> Exercise:
    """The exercise in the same environment, but for some of its data."""
    data, more = exercise.instance.data, dict(changes)
    if more.pop("chased", False):
        perception, program = named_inhabitant("chasing", data["actions"])
        more["objects"] = [*data["objects"], {"perception": perception, "program": program}]
    return replace(exercise, instance=Instance({**data, **more}))


def traces_of(
    made: KernelEnvironmentClass,
    candidate: Reference,
    company: Sequence[Reference],
    exercises: Sequence[Exercise],
) -> list[Trace]:
    """The traces of a candidate, alone or with others seated beside it.

    Raises:
        RuntimeError: A run failed.
    """
    seats = [Seating((each.spec,)) for each in company]
    joint = []
    for each in exercises:
        beside, _ = seat_beside(seats, candidate.spec, each.seed, each.number)
        seated = (candidate.spec, *beside) if beside else ()
        joint.append(replace(each, agent=candidate.spec, joint=seated, seated=len(beside)))
    agents = [candidate.make(), *(each.make() for each in company)]
    traces = [first for first, *_ in run(made, agents, joint)]
    for trace in traces:
        if trace.fault is not None:
            raise RuntimeError(f"{candidate.name} failed: {trace.fault.message}")
    return traces


def _example(
    agent: str, environments: int, interactions: int
) -> dict[tuple[int, bool, float], FloatArray]:
    """Example 4.1.2: the rewards beside so many followers, sharing or not, by the division."""
    candidate = next(each for each in (*CANDIDATES, TRAIL) if each.name == agent)
    budget = Budget(interactions=interactions)
    exercises = shared.draw_exercises(EXAMPLE, budget, environments)
    settings = [(0, False, 2.0), (4, False, 2.0), (4, True, 2.0), (4, True, 3.0)]
    found = {}
    for others, sharing, division in settings:
        changes = {"sharing": sharing, "division": division}
        changed = [_changed(each, changes) for each in exercises]
        traces = traces_of(EXAMPLE, candidate, (FOLLOWER,) * others, changed)
        found[others, sharing, division] = np.array([trace.rewards.mean() for trace in traces])
    return found


# Statements


def _company_statements(name: str, scores: Mapping[str, Scores]) -> list[Statement]:
    """Section 5.5, where rewards are not shared."""
    stated = []
    for agent in CANDIDATES:
        of_agent = scores[agent.name]
        changes = {company: of_agent.change(company) for company in COMPANIES}
        evidence = (
            f"Alone {fmt(mean(of_agent.same[ALONE], support=REWARDS))}. In the same environments, "
            + ", ".join(f"among {who} {fmt(change)} more" for who, change in changes.items())
            + ". "
        )
        if agent is Q_LEARNING:
            claim = "Q-learning does worse among others"
            holds = all(each.high < 0 for each in changes.values())
            rule = "Rule: the intervals are below 0."
        else:
            claim = f"{agent.title.lower()}, not affected by others"
            same = of_agent.same
            holds = all(unmoved(same[who], same[ALONE]) for who in COMPANIES)
            still = [who for who in COMPANIES if (same[who] == same[ALONE]).all()]
            evidence += f"Not a single score changes among {' or '.join(still)}. " if still else ""
            rule = f"Rule: that, or the intervals are within {NEAR_ZERO} of 0."
        stated.append(
            Statement(
                f"Section 5.5: {claim}. Here in an anytime test of {CLASSES[name]}.",
                evidence + rule,
                holds,
                "" if holds else _why(of_agent, changes),
            )
        )
    return stated


def _why(scores: Scores, changes: Mapping[str, Estimate]) -> str:
    """The reason, if it is that others take rewards and keep Good and Evil from leaving them."""
    if ALONE + OPEN not in scores.same:
        return ""
    without = {who: scores.change(who + OPEN, ALONE + OPEN) for who in changes}
    lost = {
        who: paired_difference(
            scores.same[who] - scores.same[ALONE],
            scores.same[who + OPEN] - scores.same[ALONE + OPEN],
            support=(-2 * 2, 2 * 2),
        )
        for who in changes
    }
    if not all(each.high < 0 for each in lost.values()):
        return ""
    return (
        "by the rules of the conceptual framework who comes first takes a reward, and Good leaves "
        "none where an agent is. Where rewards stay, and are left on agents too, the changes are "
        + ", ".join(f"{fmt(each)} among {who}" for who, each in without.items())
        + "; so those rules cost "
        + ", ".join(f"{fmt(each)}" for each in lost.values())
    )


def _sharing_statement(name: str, scores: Mapping[str, Scores]) -> Statement:
    changes = {
        (agent.name, who): scores[agent.name].change(who + SHARED, who)
        for agent in (FOLLOWER, Q_LEARNING)
        for who in COMPANIES
    }
    falls = all(each.high < 0 for each in changes.values())
    parts = {}
    for agent, who in changes:
        gains = scores[agent].gains
        parts[agent, who] = paired_difference(gains[who + SHARED], gains[who], support=REWARDS)
    reason = ""
    if not falls and all(each.high < 0 for each in parts.values()):
        reason = (
            "negative rewards are shared too. The part of positive rewards does fall: "
            + "; ".join(f"{agent} among {who} {fmt(each)}" for (agent, who), each in parts.items())
        )
    random = [scores[RANDOM.name].change(who + SHARED, who) for who in COMPANIES]
    return Statement(
        "Section 4.1.5: agents in the same cell get equal parts of its reward when rewards are "
        f"shared. So sharing lowers scores, in {CLASSES[name]}.",
        "Change by sharing in the same environments: "
        + "; ".join(f"{agent} among {who} {fmt(each)}" for (agent, who), each in changes.items())
        + f"; a random agent {', '.join(map(fmt, random))}. Rule: the intervals of follower and "
        "Q-learning are below 0.",
        falls,
        reason,
    )


def _test_statement(name: str, scores: Mapping[str, Scores]) -> Statement:
    texts = []
    for agent in CANDIDATES:
        of_agent = scores[agent.name]
        who = "one of each"
        texts.append(
            f"{agent.name} {fmt(mean(of_agent.adaptive[ALONE], support=REWARDS))} alone, "
            f"{fmt(of_agent.adaptive_change(who))} more among one of each and "
            f"{fmt(of_agent.adaptive_change(who + SHARED))} more with sharing; in the environments "
            f"of the test alone these are {fmt(of_agent.change(who))} and "
            f"{fmt(of_agent.change(who + SHARED))}"
        )
    return Statement(
        f"Not in the papers: what company changes in the score of a whole test in {CLASSES[name]}, "
        "where rewards choose the next environment.",
        f"{'. '.join(texts)}.",
        None,
    )


def _chased_statement(scores: Mapping[str, Scores]) -> Statement:
    changes = {agent.name: scores[agent.name].change(CHASED) for agent in CANDIDATES}
    return Statement(
        "Not in the papers: what an inhabitant that chases the agent changes in the universal "
        "class.",
        "; ".join(f"{agent} {fmt(change)}" for agent, change in changes.items())
        + ". It takes no rewards, and Good and Evil do not see it in their cell: what remains is "
        "what the agent sees.",
        None,
    )


def _example_statements(
    found: Mapping[str, Mapping[tuple[int, bool, float], FloatArray]],
) -> list[Statement]:
    """Example 4.1.2 with its words."""
    follower, trail, learner = (found[each.name] for each in (FOLLOWER, TRAIL, Q_LEARNING))
    alone, free, split, thirds = ((0, False, 2.0), (4, False, 2.0), (4, True, 2.0), (4, True, 3.0))

    def lead(of: Mapping[Any, FloatArray], setting: Any) -> Estimate:
        return paired_difference(of[setting], follower[setting], support=REWARDS)

    loses = paired_difference(follower[split], follower[free], support=REWARDS)
    kept = follower[split].mean() / follower[free].mean()
    narrower = paired_difference(
        trail[thirds] - follower[thirds], trail[split] - follower[split], support=(-4, 4)
    )
    more = paired_difference(follower[free], follower[alone], support=REWARDS)
    same = (follower[free] == follower[alone]).all()
    return [
        Statement(
            "Example 4.1.2: five agents that do not share can all follow Good, and all get the "
            "whole reward.",
            f"A follower gets {fmt(mean(follower[alone], support=REWARDS))} alone, and beside four "
            f"other followers {'exactly as much in every environment' if same else fmt(more)}. "
            f"Rule: that, or a change whose interval is within {NEAR_ZERO} of 0.",
            unmoved(follower[free], follower[alone]),
        ),
        Statement(
            "Example 4.1.2: when they share, each of five in the cell of Good gets 1/5.",
            f"The follower gets {fmt(loses)} more: {kept:.1%} of what it has without sharing. "
            "Rule: from 19.5 to 25 %, since not all are always there.",
            bool(0.195 <= kept <= 0.25),
        ),
        Statement(
            "Example 4.1.2: there are better rewards then than those of all who follow Good.",
            "In the place of one of the followers an agent that goes where Good was one "
            f"interaction ago gets {fmt(lead(trail, split))} more than it where rewards are "
            f"shared, and {fmt(lead(trail, free))} more where they are not. Rule: the first "
            "interval is above 0, the second below.",
            lead(trail, split).low > 0 > lead(trail, free).high,
        ),
        Statement(
            "Example 4.1.2: with a division by 3 instead of 2 fewer cells have better rewards.",
            f"The lead of that agent is {fmt(lead(trail, thirds))}, {fmt(narrower)} more. "
            "Rule: the interval of this change is below 0.",
            narrower.high < 0,
        ),
        Statement(
            "Not in the thesis: whether Q-learning finds the better position.",
            f"In that place it gets {fmt(lead(learner, split))} more than the follower where "
            f"rewards are shared, {fmt(lead(learner, thirds))} with a division by 3, and "
            f"{fmt(lead(learner, free))} where nothing is shared.",
            None,
        ),
    ]


# All of it


def reproduce(
    out: Path,
    report: Report = silent,
    *,
    repetitions: int = REPETITIONS,
    length: int = LENGTH,
    environments: int = EXAMPLES,
    interactions: int = EXAMPLE_LENGTH,
    table_bits: int = TABLE_BITS,
) -> Reproduced:
    """Give anytime tests to agents alone, among others, and sharing with them.

    Args:
        out: Where to write.
        report: Called with the progress.
        repetitions: How many each test has.
        length: The interactions of each.
        environments: How many Example 4.1.2 is run in.
        interactions: How long.
        table_bits: Up to how many bits all programs are tried in the universal class.
    """
    steps = Steps(out)
    scores: dict[str, dict[str, Scores]] = {}
    for place, name in enumerate(CLASSES):
        scores[name] = {}
        for number, agent in enumerate(CANDIDATES):
            report(f"{agent.name} in {CLASSES[name]}", 0.4 * (place + number / 3))
            scores[name][agent.name] = steps(
                _scores, name, agent.name, repetitions, length, table_bits
            )
    found = {}
    for number, agent in enumerate((FOLLOWER, TRAIL, Q_LEARNING)):
        report(f"Example 4.1.2, {agent.name}", 0.8 + 0.05 * number)
        found[agent.name] = steps(_example, agent.name, environments, interactions)
    report("drawing", 0.95)
    stated: list[Statement] = []
    for name, of_class in scores.items():
        stated += [
            *_company_statements(name, of_class), _sharing_statement(name, of_class),
            _test_statement(name, of_class),
        ]  # fmt: skip
    rows: list[dict[str, Any]] = [
        {
            "class": name,
            "agent": agent,
            "environments": environments_of,
            "condition": condition,
            **shared.fields(mean(values, support=REWARDS)),
            **shared.fields(paired_difference(values, kept[ALONE], support=REWARDS), "change"),
        }
        for name, of_class in scores.items()
        for agent, each in of_class.items()
        for environments_of, kept in (("own", each.adaptive), ("same", each.same))
        for condition, values in kept.items()
    ]
    example = [
        {
            "agent": agent,
            "followers": others,
            "sharing": sharing,
            "division": division,
            **shared.fields(mean(values, support=REWARDS)),
        }
        for agent, settings in found.items()
        for (others, sharing, division), values in settings.items()
    ]
    title = f"Agents alone, among others and sharing: {repetitions} anytime tests of {length:,}"
    return Reproduced(
        name="social-anytime",
        title=title,
        findings="docs/findings.md#company-in-the-anytime-test",
        statements=[
            *stated,
            _chased_statement(scores["lambda-universal-v1"]),
            *_example_statements(found),
        ],
        figures={
            f"{row['class']}.{row['agent']}.{row['condition']}": row["value"]
            for row in rows
            if row["environments"] == "same"
        },
        rows=rows,
        files={
            "table": shared.write_records(out / "scores.csv", rows),
            "example": shared.write_records(out / "example.csv", example),
            **draw(scores, title, out / "social"),
        },
    )


def draw(scores: Mapping[str, Mapping[str, Scores]], title: str, path: Path) -> dict[str, Path]:
    """Draw how scores change in the same environments, a panel for each class."""
    shown = [who + more for who in COMPANIES for more in ("", SHARED, OPEN)] + [CHASED]
    with plots.styled_figure(12.4, 4.9) as figure:
        for place, (name, of_class) in enumerate(scores.items()):
            there = [each for each in shown if each in of_class[RANDOM.name].same]
            panel = figure.add_axes((0.06 + 0.4 * place, 0.2, 0.31 + 0.22 * place, 0.6))
            for number, agent in enumerate(CANDIDATES):
                before = [ALONE + OPEN if each.endswith(OPEN) else ALONE for each in there]
                pairs = zip(there, before, strict=True)
                band = shared.bands(of_class[agent.name].change(*pair) for pair in pairs)
                same = of_class[agent.name].same
                changed = [
                    (same[after] != same[first]).any()
                    for after, first in zip(there, before, strict=True)
                ]
                ends = np.abs(band[1:] - band[0]) * changed  # where nothing changes at all: none
                panel.errorbar(
                    np.arange(len(there)) + 0.17 * (number - 1), band[0], ends,
                    fmt=agent.marker, color=agent.colour, ms=6, lw=1.4, capsize=2.5,
                    label=agent.title,
                )  # fmt: skip
            labels = [each.replace(", ", ",\n").replace(" ", "\n", 1) for each in there]
            panel.set_xticks(range(len(there)), labels, fontsize=SMALL)
            panel.set_ylabel("change of the score" if place == 0 else "")
            plots.panel_title(panel, f"In {CLASSES[name]}")
            plots.grid_and_zero(panel)
        figure.legend(
            *panel.get_legend_handles_labels(), loc="upper right", bbox_to_anchor=(0.99, 0.985),
            ncols=3, frameon=False,
        )  # fmt: skip
        subtitle = "Change against being alone in the same environments, with 95 % intervals."
        plots.add_header(figure, title, subtitle)
        return plots.write_figure(figure, path)
