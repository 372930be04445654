"""Whether it pays to fail on purpose in a test that adapts (anytime test, section 5.2)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from math import copysign, log, log1p
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from omnimeter.agents.model_learner import ACTIONS, ModelLearner, ModelState
from omnimeter.agents.model_learner import act as pursue
from omnimeter.contract import AgentKernels, Briefing, Spec, kernel
from omnimeter.contract.agent import FloatArray, IntArray
from omnimeter.estimation import Estimate, mean, paired_difference
from omnimeter.interaction.intrinsics import below
from omnimeter.protocols.repetitions import Repetitions
from omnimeter.reports.style import INK, MUTED, SERIES, SMALL
from omnimeter.reproductions import plots, shared
from omnimeter.reproductions.anytime.shared import CompletedTest, part_of, run_test, whole_slots
from omnimeter.reproductions.shared import (
    REWARDS,
    Report,
    Reproduced,
    Statement,
    Steps,
    fmt,
    silent,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes

ABLE = 2  # which of its rates says whether the agent is able in this environment


@kernel
def act(state: Any, reward: Any, observation: Any) -> Any:
    """What a learner does, or a random action."""
    if state.rates[ABLE] == 0:
        return below(state.rng, state.numbers[ACTIONS])
    return pursue(state, reward, observation)


class Limited(ModelLearner):
    """Learns in easy environments as the cheat does, and acts at random in all others.

    Args:
        easy: The most observations that an easy environment has.
    """

    kernels = AgentKernels(ModelState, act=act)

    def __init__(self, easy: int = 3) -> None:
        super().__init__()
        self.easy = easy

    def initial_state(self, briefing: Briefing) -> ModelState:
        """A learner's state, and whether it will learn here."""
        state = super().initial_state(briefing)
        return state._replace(rates=np.append(state.rates, briefing.space.count <= self.easy))


REPETITIONS = 100
ROUNDS = 22

EASY = (3, 5, 10)  # the most states of what the cheats call easy
HONEST = Spec("model-learner-v1")  # the cheat learns as this one does
TICK = 1e-6  # seconds of an action: so a slot of the test with time lasts as many interactions
STOPS = (5, 10, 15)  # after how many rounds a test is evaluated before its end


@dataclass(frozen=True)
class Trial:
    """One of the tests, by the number of its definition."""

    name: str
    definition: int
    title: str

    def spec(self, repetitions: int, rounds: int) -> Spec:
        """The test in the class of automata.

        Args:
            repetitions: How many.
            rounds: How many exercises each of them has.
        """
        parameters: dict[str, Any] = {
            "environment_class": {"id": "automata-v1"},
            "repetitions": repetitions,
            "seed": 1,
        }
        if self is UNTIMED:
            length = repetitions * whole_slots("automata-v1", rounds)
            return Spec("anytime-untimed-v1", parameters | {"interactions": length})
        # Half a first slot is left over, which is too little for a further exercise.
        seconds = repetitions * TICK * (2 * (1.5**rounds - 1) + 0.5)
        return Spec(
            "anytime-timed-v1", parameters | {"time": seconds, "clock": "virtual", "tick": TICK}
        )


UNTIMED = Trial("untimed", 19, "Definition 19, without time")
TIMED = Trial("timed", 18, "Definition 18, by the virtual clock")
TRIALS = (UNTIMED, TIMED)


def cheat(easy: int) -> Spec:
    """The cheat, by what it calls easy."""
    return Spec("cheat-v1", {"easy": easy})


def limited(easy: int) -> Spec:
    """An honest agent that is able in easy environments only."""
    return Spec(f"{__name__}:Limited", {"easy": easy})


@dataclass(frozen=True)
class Run:
    """A test that an agent has taken. Tables have a row per round and a column per repetition."""

    lengths: FloatArray  # after each round the interactions of each repetition, or microseconds
    rewards: FloatArray
    levels: FloatArray  # the complexity of the environments
    states: IntArray  # how many states they have

    @property
    def rounds(self) -> int:
        """How many there were."""
        return len(self.rewards)

    def scores(self, rounds: int) -> FloatArray:
        """The score of each repetition, had it been stopped after so many rounds."""
        return np.asarray(self.rewards[:rounds].mean(axis=0), dtype=np.float64)

    def level(self, rounds: int) -> float:
        """The mean complexity of the environments of one round."""
        return mean(self.levels[rounds - 1]).value

    def late(self) -> slice:
        """The second half of the rounds."""
        return slice(self.rounds // 2, None)

    def returns(self, easy: int) -> float:
        """How often a repetition came back from a hard environment to an easy one, on average."""
        hard = self.states > easy
        return float((hard[:-1] & ~hard[1:]).sum(axis=0).mean())

    def cost(self, easy: int) -> Estimate | None:
        """The mean reward in hard environments, late in the repetitions that had any."""
        hard, rewards = self.states[self.late()] > easy, self.rewards[self.late()]
        some = hard.any(axis=0)
        if not some.any():
            return None
        sums = np.where(hard, rewards, 0.0).sum(axis=0)
        return mean(sums[some] / hard.sum(axis=0)[some], support=REWARDS)


@dataclass(frozen=True)
class Results:
    """The runs of all agents in one test; those of cheats and limited agents by what is easy."""

    trial: Trial
    honest: Run
    cheats: Mapping[int, Run]
    limited: Mapping[int, Run]

    @property
    def stops(self) -> Sequence[int]:
        """After how many rounds it is evaluated."""
        return [*(stop for stop in STOPS if stop < self.honest.rounds), self.honest.rounds]


def gain(first: Run, second: Run, rounds: int) -> Estimate:
    """How far the first is ahead of the second after so many rounds, paired by repetition."""
    return paired_difference(first.scores(rounds), second.scores(rounds), support=REWARDS)


def run(
    repetitions: int,
    rounds: int,
    report: Report,
    steps: Steps = Steps(),  # noqa: B008 - a frozen value
) -> list[Results]:
    """Let all agents take both tests.

    All have the random stream of the honest one: where they mean the same, they do the same.

    Args:
        repetitions: How many.
        rounds: How many exercises each of them has.
        report: Called with the progress.
        steps: Where the runs of finished tests are kept.
    """
    agents = {
        "honest": HONEST,
        **{f"cheat {easy}": cheat(easy) for easy in EASY},
        **{f"limited {easy}": limited(easy) for easy in EASY},
    }
    results = []
    for place, trial in enumerate(TRIALS):
        runs = {}
        for number, (name, agent) in enumerate(agents.items(), start=place * len(agents)):
            part = part_of(report, number, len(TRIALS) * len(agents), f"{trial.title}: {name}")
            runs[name] = steps(_take, trial, agent, repetitions, rounds, report=part)
        cheats = {easy: runs[f"cheat {easy}"] for easy in EASY}
        others = {easy: runs[f"limited {easy}"] for easy in EASY}
        results.append(Results(trial, runs["honest"], cheats, others))
    return results


def _take(trial: Trial, agent: Spec, repetitions: int, rounds: int, report: Report) -> Run:
    test = run_test(trial.spec(repetitions, rounds), agent, report, stream_of=HONEST)
    return run_of(test, repetitions)


def run_of(test: CompletedTest, repetitions: int) -> Run:
    """The exercises of a test as tables."""
    done = Repetitions(repetitions, test.outcomes)
    rows = [
        [each[repetition].exercise for repetition in range(repetitions)] for each in done.complete()
    ]
    budgets = [row[0].budget for row in rows]
    slots = [each.interactions if each.seconds is None else 1e6 * each.seconds for each in budgets]
    return Run(
        np.cumsum(np.array(slots, dtype=np.float64)),
        done.table(),
        np.array([[exercise.complexity for exercise in row] for row in rows]),
        np.array([[len(exercise.instance.data["marks"]) for exercise in row] for row in rows]),
    )


# A model of a cheat under several rules for the level.

Rule = Callable[[float, float], float]
"""The next level, from the level and the reward."""

LOWEST, EASY_LEVELS = 17.0, 45.0
"""The level of the first environment, and the highest at which environments are easy: those of the
class of automata, and about where its automata begin to have more than four states."""

STEP = 8.0  # how far the level moves where the size of the reward does not matter


def published(level: float, reward: float) -> float:
    """Line 20 of Definition 18: in proportion to the reward."""
    return level + level * reward / 2


def same_step(level: float, reward: float) -> float:
    """Every success leads up and every failure down, by the same step: what the text warns of."""
    return level + copysign(STEP, reward) if reward else level


def even(level: float, reward: float) -> float:
    """Rewards whose sum is 0 lead back to where they began, whatever their sizes."""
    return float(level * 1.5**reward)


RULES: dict[str, Rule] = {"same step": same_step, "line 20": published, "even steps": even}


def model_rewards(rule: Rule, failing: float, exercises: int) -> FloatArray:
    """The rewards of a cheat in the model.

    Args:
        rule: How the level moves.
        failing: How badly it fails: its reward where it is not easy is the opposite of this.
        exercises: How many there are.
    """
    level, rewards = LOWEST, np.empty(exercises)
    for place in range(exercises):
        rewards[place] = 1.0 if level <= EASY_LEVELS else -failing
        level = max(LOWEST, rule(level, rewards[place]))
    return rewards


def long_run(failing: float) -> float:
    """The limit of the score of a cheat that fails so badly under line 20.

    A share p of easy environments, where the level grows by one half, keeps the level where it is
    if ``p log 1.5 + (1 - p) log(1 - failing / 2) = 0``.
    """
    up, down = log(1.5), -log1p(-failing / 2)
    share = down / (up + down)
    return share - (1 - share) * failing


MAX_SCORE = long_run(1.0)
"""The highest limit of the score under line 20 of an agent whose level stays bounded: 0.262.

The logarithm of ``1 + r / 2`` is concave, so for rewards of -1 to 1 it is at least what the chord
between its ends says: ``(log 0.75 + r log 3) / 2``. The mean of these logarithms is the growth of
the level per exercise. So the mean reward is at most ``(2 growth - log 0.75) / log 3``.
"""


def score_bound(exercises: FloatArray, growth: FloatArray) -> FloatArray:
    """The highest score after some exercises in which the level has grown by this factor."""
    return np.asarray(MAX_SCORE + 2 * np.log(growth) / exercises / log(3), dtype=np.float64)


# Tables.

A_LITTLE = 0.01  # how badly the cheat of the text fails
MANY = 1_000  # exercises of the model: enough for the first ones not to matter


def _rows(results: Sequence[Results], name: str) -> list[dict[str, Any]]:
    """The cheats compared with ``honest`` play or ``limited`` agents at each stop, rounded."""
    rows = []
    for each in results:
        for stop in each.stops:
            for easy, run in each.cheats.items():
                other = each.honest if name == "honest" else each.limited[easy]
                difference = gain(run, other, stop)
                rows.append(
                    {
                        "test": each.trial.name,
                        "length": round(float(run.lengths[stop - 1])),
                        "easy": easy,
                        "cheat": round(float(run.scores(stop).mean()), 4),
                        name: round(float(other.scores(stop).mean()), 4),
                        "gain": round(difference.value, 4),
                        "low": round(difference.low, 4),
                        "high": round(difference.high, 4),
                        "level": round(run.level(stop), 1),
                        f"{name}-level": round(other.level(stop), 1),
                    }
                )
    return rows


def _figures(results: Sequence[Results]) -> dict[str, float]:
    figures = {"most": MAX_SCORE}
    for each in results:
        name, end = each.trial.name, each.honest.rounds
        figures[f"{name}.honest"] = float(each.honest.scores(end).mean())
        for easy, run in each.cheats.items():
            other = each.limited[easy]
            figures[f"{name}.cheat-{easy}"] = float(run.scores(end).mean())
            figures[f"{name}.cheat-{easy}.gain"] = gain(run, each.honest, end).value
            figures[f"{name}.cheat-{easy}.level"] = run.level(end)
            figures[f"{name}.limited-{easy}"] = float(other.scores(end).mean())
            figures[f"{name}.cheat-{easy}.gain-over-limited"] = gain(run, other, end).value
    for name, rule in RULES.items():
        for failing in (A_LITTLE, 1.0):
            score = float(model_rewards(rule, failing, MANY).mean())
            figures[f"model.{name.replace(' ', '-')}.{failing:g}"] = score
    return figures


# Figures.

COLOURS = dict(zip(EASY, SERIES[1:4], strict=True))


def _draw(results: Results, out: Path) -> dict[str, Path]:
    """Draw what one test shows, and what the model says of the rules."""
    with plots.styled_figure(13.2, 4.9) as figure:
        score, level, rules = (
            figure.add_axes((left, 0.125, width, 0.635))
            for left, width in ((0.045, 0.23), (0.39, 0.21), (0.725, 0.2))
        )
        _draw_scores(score, results)
        _draw_levels(level, results)
        _draw_rules(rules)
        repetitions = results.honest.rewards.shape[1]
        plots.add_header(
            figure,
            "Failing on purpose, to be given easy environments again",
            f"{results.trial.title}, in automata; means of {repetitions} repetitions with 95 % "
            "intervals. Cheat 5 does its best up to 5 states and its worst beyond. Dashed: as able "
            "up to 5 states,\nbut honest, and acting at random beyond. On the right, a model: a "
            "cheat gets 1 in easy environments and fails in all others.",
        )
        return plots.write_figure(figure, out / "cheat")


def _draw_runs(
    axes: Axes,
    results: Results,
    table: Callable[[Run], FloatArray],
    support: tuple[float, float] | None,
    label: str,
) -> None:
    """Draw the mean of a table of each run with its band, and dashed that of the limited agents."""
    runs = {
        "honest": (results.honest, SERIES[0]),
        **{f"cheat {easy}": (each, COLOURS[easy]) for easy, each in results.cheats.items()},
    }
    ends = []
    for name, (each, colour) in runs.items():
        value, low, high = shared.bands(mean(row, support=support) for row in table(each))
        known = np.isfinite(high - low)  # all of one level at first
        axes.fill_between(each.lengths, low, high, where=known, color=colour, alpha=0.16, lw=0)
        axes.plot(each.lengths, value, color=colour, lw=1.7)
        end = float(table(each)[-1].mean())
        ends.append((end, f"{name}: {end:{label}}", colour))
    for easy, each in results.limited.items():
        curve = table(each).mean(axis=1)
        axes.plot(each.lengths, curve, ls=(0, (4, 2)), color=COLOURS[easy], lw=1.1)
    axes.set_xscale("log")
    axes.set(xlim=(1, float(results.honest.lengths[-1])), xlabel="interactions in a repetition")
    axes.xaxis.set_major_formatter(plots.THOUSANDS)
    plots.label_ends(axes, ends)


def _draw_scores(axes: Axes, results: Results) -> None:
    axes.set(ylim=(-0.1, 0.6), ylabel="score when the test is stopped here")

    def running(run: Run) -> FloatArray:
        counts = np.arange(1, run.rounds + 1)[:, np.newaxis]
        return np.asarray(np.cumsum(run.rewards, axis=0) / counts, dtype=np.float64)

    _draw_runs(axes, results, running, REWARDS, ".2f")
    axes.axhline(MAX_SCORE, color=MUTED, lw=0.8, ls=":")
    axes.annotate(
        f"{MAX_SCORE:.3f}", (0.02, MAX_SCORE), xycoords=("axes fraction", "data"), xytext=(0, 3),
        textcoords="offset points", fontsize=SMALL, color=MUTED,
    )  # fmt: skip
    plots.panel_title(axes, "score")
    plots.grid_and_zero(axes)


def _draw_levels(axes: Axes, results: Results) -> None:
    axes.set_yscale("log")
    axes.set(ylim=(10, 600), ylabel="complexity of the environments")
    plots.ticks(axes, [10, 20, 50, 100, 200, 500])
    _draw_runs(axes, results, lambda run: run.levels, None, ".0f")
    plots.panel_title(axes, "level")
    axes.grid(axis="y")


def _draw_rules(axes: Axes) -> None:
    ends, exercises = [], 2_000
    badness = np.array([0.01, *np.linspace(0.1, 1, 10)])
    for (name, rule), colour in zip(RULES.items(), (MUTED, INK, SERIES[5]), strict=True):
        scores = [float(model_rewards(rule, each, exercises).mean()) for each in badness]
        axes.plot(badness, scores, "o-", ms=3.5, lw=1.5, color=colour)
        ends.append((scores[-1], name, colour))
    fine = np.linspace(0.001, 1, 200)
    axes.plot(fine, [long_run(each) for each in fine], ":", color=INK, lw=1.0)
    axes.set(xlim=(0, 1), ylim=(-0.1, 0.6), xlabel="how badly it fails, from 0 to 1")
    axes.set_ylabel(f"score after {exercises:,} exercises")
    plots.panel_title(axes, "what a rule leaves to a cheat")
    plots.grid_and_zero(axes)
    plots.label_ends(axes, ends)


# Statements.

AROUND, NEGLIGIBLE = 0.05, 0.01
"""A score this near to 0.5 is around it; a score this near to 0 is negligible."""

Cheats = Sequence[tuple[Results, int, Run]]
"""The results of each test with what each cheat calls easy, and its run."""


def statements(results: Sequence[Results]) -> list[Statement]:
    """The section's statements, each with the rule by which it was decided."""
    cheats = [(each, easy, run) for each in results for easy, run in each.cheats.items()]
    same, line_20 = (
        float(model_rewards(rule, A_LITTLE, MANY).mean()) for rule in (same_step, published)
    )
    return [
        _does_not_gain(cheats),
        _stays_low(cheats),
        _pays_for_going_back(cheats),
        Statement(
            "If the level did not depend on the size of the reward, a cheat that gets 1 in easy "
            f"environments and -{A_LITTLE} elsewhere would have a score around 0.5.",
            f"In a model with the same step up and down it gets {same:.3f} in {MANY:,} exercises. "
            f"Rule: within {AROUND} of 0.5.",
            abs(same - 0.5) <= AROUND,
        ),
        Statement(
            "With line 20, where the level moves in proportion to the reward, this does not work.",
            f"In the model this cheat gets {line_20:.4f} in {MANY:,} exercises, and tends to "
            f"{long_run(A_LITTLE):.4f}: a reward of 1 must be paid with 81 of -{A_LITTLE}. "
            f"Rule: within {NEGLIGIBLE} of 0.",
            abs(line_20) <= NEGLIGIBLE,
        ),
        _no_agent_gains(cheats),
    ]


def _does_not_gain(cheats: Cheats) -> Statement:
    everywhere = [gain(run, each.honest, stop) for each, _, run in cheats for stop in each.stops]
    at_the_end = [gain(run, each.honest, run.rounds) for each, _, run in cheats]
    above = sum(each.low > 0 for each in everywhere)
    below = sum(each.high < 0 for each in everywhere)
    lowest, *_, highest = sorted(at_the_end, key=lambda each: each.value)
    return Statement(
        "The cheat, which fails on purpose to be given easy environments again, does not gain over "
        "honest play.",
        f"Of {len(everywhere)} comparisons at {len(cheats[0][0].stops)} lengths its gain has an "
        f"interval above 0 in {above} and below 0 in {below}. At the end it lies between "
        f"{fmt(lowest)} and {fmt(highest)}, over {highest.count} repetitions. "
        "Rule: no interval is above 0, and at the end all are below.",
        above == 0 and all(each.high < 0 for each in at_the_end),
    )


def _stays_low(cheats: Cheats) -> Statement:
    low, texts = [], []
    for each, easy, run in cheats:
        own, honest = (one.levels[run.late()].mean(axis=0) for one in (run, each.honest))
        low.append(paired_difference(honest, own).low > 0 and run.returns(easy) >= 1)
        texts.append(
            f"Definition {each.trial.definition}, {easy} states: {own.mean():.0f} against "
            f"{honest.mean():.0f}, back {run.returns(easy):.1f} times"
        )
    return Statement(
        "The cheat never leaves the simple levels for good.",
        f"Mean complexity in the second half of the exercises, and how often a repetition came "
        f"back to easy environments. {'; '.join(texts)}. "
        "Rule: the honest level is higher by an interval above 0, and there is at least one way "
        "back in a repetition.",
        all(low),
    )


def _pays_for_going_back(cheats: Cheats) -> Statement:
    costs, texts = [], []
    for each, easy, run in cheats:
        costs.append(cost := run.cost(easy))
        if cost is not None:
            share = (run.states[run.late()] > easy).mean()
            texts.append(
                f"Definition {each.trial.definition}, {easy} states: {fmt(cost, 2)} in "
                f"{share:.0%} of them"
            )
    return Statement(
        "Going back to easy complexities implies important negative rewards.",
        f"The cheat's rewards in hard environments in the second half of the exercises. "
        f"{'; '.join(texts)}. Rule: all intervals are below 0.",
        all(cost is not None and cost.high < 0 for cost in costs),
    )


def _no_agent_gains(cheats: Cheats) -> Statement:
    gains = [gain(run, each.limited[easy], run.rounds) for each, easy, run in cheats]
    lowest, *_, highest = sorted(gains, key=lambda each: each.value)
    worst = float(model_rewards(published, 1.0, MANY).mean())
    pays = any(each.low > 0 for each in gains)
    reason = (
        "a reward of 1 takes the level times 1.5, one of -1 times 0.5, and 1.5 x 0.5 is 0.75: a "
        f"failure leads further down than it costs. With {(1 + MAX_SCORE) / 2:.1%} rewards of 1 "
        f"and the rest of -1 the level stays where it is, and the score is {MAX_SCORE:.3f}; no "
        "agent whose level stays low can tend to more, as log(1 + r/2) is concave. An agent that "
        "scores more than that honestly only loses. One that would be led up to where it never "
        "succeeds gains. With a level that is multiplied by 1.5 to the power of the reward no "
        "cheat would tend to more than 0."
    )
    return Statement(
        "Line 20 is there to avoid cheating: no agent gains by failing on purpose.",
        f"Against an agent that is as able in easy environments, and acts at random in all others, "
        f"the cheat gains between {fmt(lowest)} and {fmt(highest)} at the end. In the model a "
        f"cheat that always fails as badly as possible gets {worst:.3f} in {MANY:,} exercises, and "
        "one that cannot succeed in hard environments tends to 0. Rule: no interval of the gains "
        "is above 0.",
        not pays,
        reason if pays else "",
    )


def reproduce(
    out: Path, report: Report = silent, *, repetitions: int = REPETITIONS, rounds: int = ROUNDS
) -> Reproduced:
    """Let cheats and honest agents take both anytime tests, and model the rules for the level.

    Args:
        out: Where to write.
        report: Called with the progress.
        repetitions: How many each of them takes.
        rounds: How many exercises each repetition has.
    """
    results = run(repetitions, rounds, report, Steps(out))
    rows = _rows(results, "honest")
    return Reproduced(
        name="anytime-cheat",
        title="Failing on purpose, to be given easy environments again",
        findings="docs/findings.md#the-cheat",
        statements=statements(results),
        figures=_figures(results),
        rows=rows,
        files={
            "table": shared.write_records(out / "gains.csv", rows),
            "limited": shared.write_records(out / "limited.csv", _rows(results, "limited")),
            **_draw(results[0], out),
        },
    )
