"""The reference agents of the thesis where Markov algorithms write spaces, Good and Evil."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from omnimeter.agents.lambda_agents import INTENTIONS, ExitsState, Oracle
from omnimeter.agents.shared import best_action, break_ties
from omnimeter.contract import Budget, Exercise, Instance, Trace, stream
from omnimeter.contract.agent import FloatArray, IntArray
from omnimeter.environments.universal import UniversalLambda
from omnimeter.environments.universal.coding import code_length
from omnimeter.environments.universal.generator import TABLE_BITS
from omnimeter.environments.universal.inhabitants import (
    behaviour_of,
    inputs_of,
    pattern_program,
    read_behaviour,
)
from omnimeter.environments.universal.machine import Machine
from omnimeter.estimation import (
    Correlation,
    Estimate,
    mean,
    paired_difference,
    rank_correlation,
)
from omnimeter.interaction import run_single
from omnimeter.kernels import AgentKernels, kernel
from omnimeter.reports.style import SMALL
from omnimeter.reproductions import plots, shared
from omnimeter.reproductions.lambda_thesis import shared as thesis
from omnimeter.reproductions.lambda_thesis.relations import STOP, WEAK
from omnimeter.reproductions.lambda_thesis.shared import FOLLOWER, ORACLE, Q_LEARNING, RANDOM
from omnimeter.reproductions.shared import (
    REWARDS,
    SIMULATED,
    Report,
    Reproduced,
    Statement,
    Steps,
    fmt,
    join,
    silent,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Variant = Literal["implemented", "conceptual"]
VARIANTS: dict[Variant, str] = {
    "implemented": "the rules of the experiments",
    "conceptual": "the rules of the conceptual framework",
}
BANDS = ((30, 40), (40, 50), (50, 60), (60, 80), (80, 120), (120, 180), (180, 260))
"""The complexities between which environments are drawn, in bits of Kt-max."""

ENVIRONMENTS = 50  # in each band
RING_CELLS, RING_LENGTHS = (3, 6, 9), (2, 8, 32)
RING_BITS = 12  # tables are hardly needed where programs are given
LONGEST_PATTERN = 100  # which an inhabitant can remember
SEEN = 1_000  # interactions in which intentions are compared with what comes

KINDS = ("still", "one action", "several actions", "reactive")
"""What Good and Evil do: nothing; at most one action in an interaction, or more, whatever they
perceive; or what depends on whether the agent is in their cell."""


@kernel
def highest_act(state: Any, reward: Any, observation: Any) -> Any:  # noqa: ARG001
    """To where the next reward is greatest."""
    actions = len(state.values)
    first = state.exits[0] + actions + INTENTIONS
    for action in range(actions):
        state.values[action] = observation[first + action]
    return break_ties(state.rng, state.values, 0, best_action(state.values, 0, actions))


class Highest(Oracle):
    """Goes where its next reward is greatest, which the view of the oracle tells."""

    kernels = AgentKernels(ExitsState, act=highest_act)


HIGHEST = thesis.Reference("highest", "Highest next reward", Highest, "#b5559a", "-.", "v")
AGENTS = (*thesis.REFERENCES, HIGHEST)


@dataclass(frozen=True)
class Sample:
    """Environments under some rules, and what each agent gets in each of them.

    Attributes:
        complexity: Of each environment.
        cells: Of each environment.
        kinds: What Good and Evil do, as numbers of ``KINDS``.
        rewards: The average reward of each agent.
        in_reach: In which share of interactions the oracle could go where Good wanted to go.
        came_true: In which share of interactions Good came there.
    """

    complexity: FloatArray
    cells: IntArray
    kinds: IntArray
    rewards: Mapping[str, FloatArray]
    in_reach: FloatArray
    came_true: FloatArray

    @property
    def moving(self) -> Sample:
        """Those in which Good and Evil do not stand still."""
        return self.only(self.kinds > 0)

    def only(self, chosen: Any) -> Sample:
        """Some of the environments."""
        rewards = {name: values[chosen] for name, values in self.rewards.items()}
        columns = (self.complexity, self.cells, self.kinds, self.in_reach, self.came_true)
        complexity, cells, kinds, in_reach, came_true = (each[chosen] for each in columns)
        return Sample(complexity, cells, kinds, rewards, in_reach, came_true)

    def mean(self, agent: str) -> Estimate:
        """The mean of an agent's rewards."""
        return mean(self.rewards[agent], support=REWARDS)

    def lead(self, first: str, second: str) -> Estimate:
        """How much more the first agent gets than the second in the same environments."""
        return paired_difference(self.rewards[first], self.rewards[second], support=REWARDS)

    def falls(self, agent: str) -> Correlation:
        """Spearman's correlation of an agent's rewards with complexity."""
        return rank_correlation(self.complexity, self.rewards[agent])


def joined(samples: Sequence[Sample]) -> Sample:
    """All environments of several bands."""

    def column(name: str) -> Any:
        return np.concatenate([getattr(each, name) for each in samples])

    names = samples[0].rewards
    rewards = {name: np.concatenate([each.rewards[name] for each in samples]) for name in names}
    return Sample(
        column("complexity"), column("cells"), column("kinds"), rewards, column("in_reach"),
        column("came_true"),
    )  # fmt: skip


def kind_of(instance: Instance, rng: np.random.Generator, interactions: int = 64) -> int:
    """What kind of behaviour Good and Evil have, by running their program."""
    actions, given = instance.data["actions"], instance.data["behaviour"]
    program = read_behaviour(given["program"], given["perception"], actions)
    inputs = inputs_of(given["perception"], actions, special=True) or [()]
    machine = Machine(program, instance.data["max_steps"])

    def moves(places: Sequence[int]) -> list[list[int]]:
        memory: tuple[int, ...] = ()
        written = []
        for place in places:
            run = machine.run(inputs[place], memory)
            memory = run.memory if run.answered else memory
            text = run.text if run.answered else ()
            written.append([symbol for symbol in text if 0 < symbol < actions])
        return written

    alone = moves([0] * interactions)
    others = (moves(rng.integers(len(inputs), size=interactions).tolist()) for _ in range(4))
    if any(each != alone for each in others):
        return KINDS.index("reactive")
    return min(max(map(len, alone)), 2)


def _draw_band(
    variant: Variant,
    band: tuple[int, int],
    environments: int,
    interactions: int,
    table_bits: int,
    patterns: bool,
) -> Sample:
    """The rewards in environments of a band, or in their spaces with drawn patterns."""
    made = UniversalLambda(variant=variant, table_bits=table_bits)
    low, high = map(float, band)
    rngs = (stream(0, "instance", band[0], number).generator() for number in range(environments))
    drawn = [made.draw_between(rng, low, high) for rng in rngs]
    instances = [each for each in drawn if each is not None]
    if patterns:
        instances = [_with_pattern(each, band[0], n) for n, each in enumerate(instances)]
    exercises = [
        Exercise(SIMULATED, SIMULATED, instance, Budget(interactions=interactions), 0, number)
        for number, instance in enumerate(instances)
    ]
    traces = {agent.name: run_single(made, agent.make(), exercises) for agent in AGENTS}
    short = [
        replace(each, budget=Budget(interactions=min(interactions, SEEN))) for each in exercises
    ]
    seen = run_single(made, Oracle(), short, record=True)
    pairs = zip(instances, seen, strict=True)
    told = [_told(trace, instance.data["actions"]) for instance, trace in pairs]
    return Sample(
        complexity=np.array([made.complexity(each) for each in instances]),
        cells=np.array([each.data["space"].count("|") + 1 for each in instances]),
        kinds=np.array([kind_of(each, np.random.default_rng(0)) for each in instances]),
        rewards={
            name: np.array([trace.rewards.mean() for trace in of_agent])
            for name, of_agent in traces.items()
        },
        in_reach=np.array([in_reach for in_reach, _ in told]),
        came_true=np.array([came_true for _, came_true in told]),
    )


def _with_pattern(instance: Instance, *key: int) -> Instance:
    """The same space, in which Good and Evil repeat a pattern drawn as in section 5.4."""
    rng = stream(0, "pattern", *key).generator()
    actions, before = instance.data["actions"], instance.data["behaviour"]
    pattern = rng.integers(actions, size=min(int(rng.geometric(STOP)), LONGEST_PATTERN))
    text = pattern_program(pattern.tolist(), actions)
    new = read_behaviour(text, "nothing", actions)
    old = read_behaviour(before["program"], before["perception"], actions)
    inputs = inputs_of("nothing", actions, special=True) or [()]
    limit = instance.data["max_steps"]
    steps = behaviour_of(new, inputs, actions, special=True, max_steps=limit).steps
    changed = {
        "behaviour": {"perception": "nothing", "program": text},
        "bits": instance.data["bits"] - code_length(old) + code_length(new),
        "steps": max(instance.data["steps"], 2 * steps),
    }
    return Instance({**instance.data, **changed})


def _told(trace: Trace, actions: int) -> tuple[float, float]:
    """How often Good's next cell was in the oracle's reach, and how often Good came there.

    Where Good and Evil came to each other's cell, they changed places; that does not count.
    """
    seen = np.asarray(trace.observations)
    exits = seen[:-1, 3 : 3 + actions]
    intended = seen[:-1, 3 + actions : 3 + actions + INTENTIONS]
    came = seen[1:, 0] == intended[:, 0]
    counted = came | (seen[1:, :INTENTIONS] != intended[:, ::-1]).any(axis=1)
    in_reach = (exits == intended[:, :1]).any(axis=1)
    return float(in_reach.mean()), float(came[counted].mean())


@dataclass(frozen=True)
class Rings:
    """Q-learning in rings of several sizes, in which Good and Evil do sequences of actions.

    Attributes:
        cells: Of each ring.
        length: Of each sequence, all of which they do in every interaction.
        complexity: Of each environment.
        rewards: The average reward of Q-learning.
    """

    cells: FloatArray
    length: FloatArray
    complexity: FloatArray
    rewards: FloatArray


def _in_rings(variant: Variant, environments: int, interactions: int) -> Rings:
    """Q-learning where the size of the space and the length of the program are set apart."""
    columns: list[tuple[float, float, float, float]] = []
    for cells, length in product(RING_CELLS, RING_LENGTHS):
        results = []
        for number in range(environments):
            rng = stream(0, "ring", cells, length, number).generator()
            word = "".join(rng.choice(["l", "r"], size=length))
            made = UniversalLambda(
                variant=variant, actions=3, cells=cells, space_program="→ l+:r-",
                behaviour=f"→· {word}", table_bits=RING_BITS,
            )  # fmt: skip
            results.append(made.draw(rng))
        exercises = [
            Exercise(SIMULATED, SIMULATED, instance, Budget(interactions=interactions), 0, number)
            for number, instance in enumerate(results)
        ]
        traces = run_single(made, Q_LEARNING.make(), exercises)
        for instance, trace in zip(results, traces, strict=True):
            rewards = float(trace.rewards.mean())
            columns.append((cells, length, made.complexity(instance), rewards))
    return Rings(*np.array(columns).T)


# What the thesis says of drawn patterns, and whether it holds here.

LEADS = (
    (ORACLE, Q_LEARNING),
    (ORACLE, FOLLOWER),
    (Q_LEARNING, RANDOM),
    (FOLLOWER, RANDOM),
)


def leads_of(sample: Sample) -> tuple[str, bool]:
    """The leads of the order as text, and whether all their intervals are above 0."""
    leads = [(one, other, sample.lead(one.name, other.name)) for one, other in LEADS]
    texts = (f"{one.name} before {other.name} by {fmt(lead)}" for one, other, lead in leads)
    return "; ".join(texts), all(lead.low > 0 for *_, lead in leads)


def statements(
    samples: Mapping[Variant, Sequence[Sample]],
    patterns: Sequence[Sample],
    rings: Mapping[Variant, Rings],
) -> list[Statement]:
    """What holds in the universal class, each with the rule by which it was decided.

    Args:
        samples: The environments of each band, by the rules.
        patterns: The same spaces with drawn patterns, under the rules of the experiments.
        rings: Q-learning in rings, by the rules.
    """
    simple = joined(patterns)
    stated = []
    for variant, rules in VARIANTS.items():
        bands, whole = samples[variant], joined(samples[variant])
        stated += [
            _order(variant, rules, bands, whole, simple),
            Statement(
                f"Section 5.4: Q-learning passes the follower, in the end. Here, under {rules}.",
                f"It is ahead by {fmt(whole.lead(Q_LEARNING.name, FOLLOWER.name))}. Rule: the "
                "interval is above 0.",
                whole.lead(Q_LEARNING.name, FOLLOWER.name).low > 0,
            ),
            _learner_falls(rules, whole, rings[variant]),
            *(_hardly_affected(rules, whole, each) for each in (RANDOM, FOLLOWER, ORACLE)),
        ]
    return [*stated, _kinds(joined(samples["implemented"]), simple)]


def _order(
    variant: Variant, rules: str, bands: Sequence[Sample], whole: Sample, simple: Sample
) -> Statement:
    text, holds = leads_of(whole)
    behind = sum(each.lead(Q_LEARNING.name, ORACLE.name).value > 0 for each in bands)
    reason = ""
    if variant == "implemented":
        again, restored = leads_of(simple)
        if restored:
            reason = (
                "it is what Good and Evil do. Where they do one action after the other of a drawn "
                f"pattern, as in the thesis, the same spaces give its order: {again}. There the "
                f"oracle has Good's next cell in reach in {simple.in_reach.mean():.0%} of all "
                "interactions, with programs of the class that move in "
                f"{whole.moving.in_reach.mean():.0%}"
            )
    else:
        gained = whole.lead(HIGHEST.name, ORACLE.name)
        ahead = whole.lead(HIGHEST.name, FOLLOWER.name)
        if gained.low > 0 and ahead.low > 0:
            reason = (
                "the oracle goes where Good will be. By these rules it meets there what lay in the "
                "cell before, and Good leaves nothing where an agent is. With the same view, going "
                f"where the next reward is greatest brings {fmt(gained)} more, and leads the "
                f"follower by {fmt(ahead)}; Q-learning stays ahead of that by "
                f"{fmt(whole.lead(Q_LEARNING.name, HIGHEST.name))}"
            )
    return Statement(
        "Sections 5.3 and 5.4, of drawn patterns: the oracle is ahead of Q-learning and of the "
        f"follower, and both are ahead of a random agent. Here, under {rules}.",
        f"{text}. Q-learning is before the oracle in {behind} of {len(bands)} bands of complexity. "
        "Rule: all four intervals are above 0.",
        holds,
        "" if holds else reason,
    )


def _learner_falls(rules: str, whole: Sample, rings: Rings) -> Statement:
    name = Q_LEARNING.name
    falls, moving = whole.falls(name), whole.moving.falls(name)
    sizes = rank_correlation(whole.cells, whole.rewards[name])
    related = rank_correlation(whole.cells, whole.complexity)
    by_length, by_cells = (
        rank_correlation(each, rings.rewards) for each in (rings.length, rings.cells)
    )
    reason = ""
    if by_length.low > -WEAK:
        short, long = (
            float(np.mean(rings.complexity[rings.length == each]))
            for each in (RING_LENGTHS[0], RING_LENGTHS[-1])
        )
        reason = (
            "Kt-max mostly counts how long the sequence is that Good and Evil do in an "
            "interaction, and a longer one is not harder to learn: it is done at once. In rings of "
            f"{join(RING_CELLS, 'd')} cells with sequences of {join(RING_LENGTHS, 'd')} actions, "
            f"which raise Kt-max from {short:.0f} to {long:.0f}, the correlation with the length "
            f"is {fmt(by_length, 2)}; with the number of cells, which hardly raises it, "
            f"{fmt(by_cells, 2)}"
        )
    return Statement(
        "Section 5.4: Q-learning does significantly worse the more complex the environment is. "
        f"Here by Kt-max, under {rules}.",
        f"Spearman's correlation {fmt(falls, 2)}; where Good and Evil move {fmt(moving, 2)}. With "
        f"the number of cells that of Q-learning is {fmt(sizes, 2)}, that of Kt-max "
        f"{fmt(related, 2)}. Rule: the interval of the first is below 0.",
        falls.high < 0,
        "" if falls.high < 0 else reason,
    )


def _hardly_affected(rules: str, whole: Sample, agent: thesis.Reference) -> Statement:
    every, moving = whole.falls(agent.name), whole.moving.falls(agent.name)
    holds, rest = (shared.is_within(each, WEAK) for each in (every, moving))
    reason = (
        "in the simplest environments Good and Evil stand still, in "
        f"{(whole.kinds == 0).mean():.0%} of all. Among the others the correlation is "
        f"{fmt(moving, 2)}"
    )
    seeing = whole.moving.falls(HIGHEST.name)
    if agent == ORACLE and not rest and shared.is_within(seeing, WEAK):
        rest = True
        reason += (
            f". There it gets {fmt(whole.moving.mean(agent.name), 2)}, going where Good will be; "
            "with the same view, going where the next reward is greatest, the correlation is "
            f"{fmt(seeing, 2)}"
        )
    return Statement(
        f"Section 5.4: {agent.title.lower()}, hardly affected by complexity. Here by Kt-max, under "
        f"{rules}.",
        f"Spearman's correlation {fmt(every, 2)}. Rule: the interval is within {WEAK} of 0.",
        holds,
        reason if not holds and rest else "",
    )


def _kinds(whole: Sample, simple: Sample) -> Statement:
    texts = []
    for number, kind in enumerate(KINDS):
        chosen = whole.only(whole.kinds == number)
        if len(chosen.cells) < 2:
            continue
        texts.append(
            f"{kind} ({len(chosen.cells)} environments): oracle "
            f"{fmt(chosen.mean(ORACLE.name), 2)}, Q-learning ahead of it by "
            f"{fmt(chosen.lead(Q_LEARNING.name, ORACLE.name), 2)}, "
            f"follower {fmt(chosen.mean(FOLLOWER.name), 2)}; Good's next cell is in the oracle's "
            f"reach in {chosen.in_reach.mean():.0%} of interactions, and Good comes there in "
            f"{chosen.came_true.mean():.0%}"
        )
    texts.append(
        f"drawn patterns: oracle {fmt(simple.mean(ORACLE.name), 2)}, Q-learning ahead of it by "
        f"{fmt(simple.lead(Q_LEARNING.name, ORACLE.name), 2)}; in reach "
        f"{simple.in_reach.mean():.0%}, comes there {simple.came_true.mean():.0%}"
    )
    return Statement(
        "Not in the thesis: what intentions are worth against programs that stand still, do one "
        "action in an interaction, do several, or react to the agent.",
        f"Under {VARIANTS['implemented']}. {'. '.join(texts)}.",
        None,
    )


def rows_of(where: str, group: str, sample: Sample) -> list[dict[str, Any]]:
    """The mean of each agent in some environments, as records."""
    if len(sample.cells) < 2:
        return []
    return [
        {
            "rules": where,
            "environments": group,
            "agent": agent.name,
            **shared.fields(sample.mean(agent.name)),
            "count": len(sample.cells),
        }
        for agent in AGENTS
    ]


def draw(rows: Sequence[Mapping[str, Any]], title: str, path: Path) -> dict[str, Path]:
    """Draw the means by band and by kind, a row of panels for each of the rules."""
    with plots.styled_figure(12.6, 8.2) as figure:
        for down, (variant, rules) in enumerate(VARIANTS.items()):
            named = [row for row in rows if row["rules"] == variant]
            for across, groups in enumerate(([_name(band) for band in BANDS], [*KINDS, PATTERNS])):
                corner = (0.055 + 0.51 * across, 0.545 - 0.455 * down)
                panel = figure.add_axes((*corner, 0.425, 0.33))
                _draw_panel(panel, named, groups)
                where = "by complexity" if across == 0 else "by what Good and Evil do"
                plots.panel_title(panel, f"{rules[0].upper()}{rules[1:]}, {where}")
                panel.set_xlabel("Kt-max in bits" if across == 0 else "")
        figure.legend(
            *panel.get_legend_handles_labels(), loc="upper right", bbox_to_anchor=(0.99, 0.985),
            ncols=len(AGENTS), frameon=False, fontsize=9, handletextpad=0.3, columnspacing=1.2,
        )  # fmt: skip
        plots.add_header(figure, title, "Mean of the average reward, with its 95 % interval.")
        return plots.write_figure(figure, path)


def _draw_panel(panel: Axes, rows: Sequence[Mapping[str, Any]], groups: Sequence[str]) -> None:
    there = {row["environments"] for row in rows}
    shown = [group for group in groups if group in there]
    for number, agent in enumerate(AGENTS):
        results = {row["environments"]: row for row in rows if row["agent"] == agent.name}
        values = np.array(
            [[results[each][end] for end in ("value", "low", "high")] for each in shown]
        )
        panel.errorbar(
            np.arange(len(shown)) + 0.13 * (number - 2), values[:, 0],
            np.abs(values[:, 1:] - values[:, :1]).T, fmt=agent.marker, color=agent.colour, ms=5.5,
            lw=1.3, capsize=2, label=agent.title,
        )  # fmt: skip
    panel.set(ylim=(-0.4, 1.05), ylabel="average reward", xticks=range(len(shown)))
    panel.set_xticklabels([each.replace(" ", "\n", 1) for each in shown], fontsize=SMALL)
    plots.grid_and_zero(panel)


PATTERNS = "drawn patterns"


def _name(band: tuple[int, int]) -> str:
    return f"{band[0]}-{band[1]}"


def reproduce(
    out: Path,
    report: Report = silent,
    *,
    environments: int = ENVIRONMENTS,
    interactions: int = thesis.INTERACTIONS,
    bands: Sequence[tuple[int, int]] = BANDS,
    table_bits: int = TABLE_BITS,
) -> Reproduced:
    """Let the reference agents act where programs write spaces, Good and Evil.

    Args:
        out: Where to write.
        report: Called with the progress.
        environments: How many in each band.
        interactions: How long each exercise lasts.
        bands: The complexities between which environments are drawn.
        table_bits: Up to how many bits all programs are tried.
    """
    steps = Steps(out)
    asked: list[tuple[Variant, bool]] = [("implemented", False), ("conceptual", False)]
    asked.append(("implemented", True))
    drawn: dict[tuple[Variant, bool], list[Sample]] = {}
    for place, (variant, patterns) in enumerate(asked):
        drawn[variant, patterns] = []
        for number, band in enumerate(bands):
            done = (place + number / len(bands)) / len(asked)
            what = f"{VARIANTS[variant]}{', drawn patterns' if patterns else ''}"
            report(f"{what}: {band[0]} to {band[1]} bits", 0.95 * done)
            drawn[variant, patterns].append(
                steps(_draw_band, variant, band, environments, interactions, table_bits, patterns)
            )
    report("rings", 0.95)
    rings = {each: steps(_in_rings, each, min(environments, 20), interactions) for each in VARIANTS}
    report("drawing", 0.98)
    samples: dict[Variant, list[Sample]] = {each: drawn[each, False] for each in VARIANTS}
    simple = drawn["implemented", True]
    rows = []
    for variant, parts in samples.items():
        whole = joined(parts)
        rows += rows_of(variant, "all", whole)
        for band, part in zip(bands, parts, strict=True):
            rows += rows_of(variant, _name(band), part)
        for number, kind in enumerate(KINDS):
            rows += rows_of(variant, kind, whole.only(whole.kinds == number))
    rows += rows_of("implemented", PATTERNS, joined(simple))
    title = f"Reference agents in {environments * len(bands)} environments of the universal class"
    return Reproduced(
        name="universal-lambda",
        title=title,
        findings="docs/findings.md#the-universal-class",
        statements=statements(samples, simple, rings),
        figures={
            f"{row['rules']}.{row['agent']}": row["value"]
            for row in rows
            if row["environments"] == "all"
        }
        | {
            f"{variant}.{agent.name}.spearman": joined(parts).falls(agent.name).value
            for variant, parts in samples.items()
            for agent in AGENTS
        },
        rows=rows,
        files={
            "table": shared.write_records(out / "agents.csv", rows),
            "points": shared.write_records(out / "points.csv", _points(drawn)),
            **draw(rows, title, out / "universal"),
        },
    )


def _points(drawn: Mapping[tuple[Variant, bool], Sequence[Sample]]) -> list[dict[str, Any]]:
    """Every environment with the reward of each agent, as records."""
    return [
        {
            "rules": variant,
            "behaviour": PATTERNS if patterns else KINDS[whole.kinds[number]],
            "complexity": float(whole.complexity[number]),
            "cells": int(whole.cells[number]),
            "in-reach": float(whole.in_reach[number]),
            "came-true": float(whole.came_true[number]),
            **{name: float(values[number]) for name, values in whole.rewards.items()},
        }
        for (variant, patterns), parts in drawn.items()
        for whole in [joined(parts)]
        for number in range(len(whole.cells))
    ]
