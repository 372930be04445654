"""Whether it pays to fail on purpose in a test that adapts (anytime test, section 5.2)."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import copysign, log, log1p
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from omnimeter.agents.model_learner import ACTIONS, ModelLearner, ModelState
from omnimeter.agents.model_learner import act as pursue
from omnimeter.contract import Briefing, Spec
from omnimeter.contract.agent import FloatArray, IntArray
from omnimeter.estimation import Estimate, mean, paired_difference
from omnimeter.kernels import AgentKernels, below, kernel
from omnimeter.protocols.anytime import AnytimeUntimed
from omnimeter.protocols.repetitions import Repetitions
from omnimeter.reports.style import INK, MUTED, SERIES, SMALL
from omnimeter.reproductions.anytime.shared import Taken, part_of, taken
from omnimeter.reproductions.shared import (
    REWARDS,
    End,
    Report,
    Reproduced,
    Statement,
    head,
    look,
    name_ends,
    said,
    silent,
    write_figure,
    write_records,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes

ABLE = 2
"""Where its rates say whether it is able in this environment."""


@kernel
def act(state: Any, reward: Any, observation: Any) -> Any:
    """What a learner does, or anything."""
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

    def prepare(self, briefing: Briefing) -> ModelState:
        """A learner, and whether it will be one here."""
        state = super().prepare(briefing)
        return state._replace(rates=np.append(state.rates, briefing.space.count <= self.easy))


EASY = (3, 5, 10)
"""The most states of what the cheats call easy."""

HONEST = Spec("model-learner-v1")
"""The cheat learns as this one does."""

HONEST_COLOUR = SERIES[0]
COLOURS = dict(zip(EASY, (SERIES[1], SERIES[2], SERIES[3]), strict=True))

TICK = 1e-6
"""Seconds of an action: so a slot of the test with time lasts as many interactions."""


@dataclass(frozen=True)
class Trial:
    """One of the tests.

    Attributes:
        name: In rows.
        definition: Its number in the text.
        title: For a reader.
    """

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
            length = repetitions * whole_length(rounds)
            return Spec("anytime-untimed-v1", parameters | {"interactions": length})
        # Half a first slot is left over, which is too little for a further exercise.
        seconds = repetitions * TICK * (2 * (1.5**rounds - 1) + 0.5)
        return Spec(
            "anytime-timed-v1", parameters | {"time": seconds, "clock": "virtual", "tick": TICK}
        )


UNTIMED = Trial("untimed", 19, "Definition 19, without time")
TIMED = Trial("timed", 18, "Definition 18, by the virtual clock")
TRIALS = (UNTIMED, TIMED)


def whole_length(rounds: int) -> int:
    """How many interactions so many whole slots of Definition 19 have."""
    endless = AnytimeUntimed("automata-v1", 2**62, repetitions=1)
    return sum(endless.slots[:rounds])


def cheat(easy: int) -> Spec:
    """The cheat, by what it calls easy."""
    return Spec("cheat-v1", {"easy": easy})


def limited(easy: int) -> Spec:
    """One that is able in easy environments only, and honest."""
    return Spec(f"{__name__}:Limited", {"easy": easy})


Rule = Callable[[float, float], float]
"""The next level, from the level and the reward."""

LOWEST, EASY_LEVELS = 17.0, 45.0
"""The level of the first environment, and the highest at which environments are easy: those of the
class of automata, and about where its automata begin to have more than four states."""

STEP = 8.0
"""How far the level moves where the size of the reward does not matter."""


def published(level: float, reward: float) -> float:
    """Line 20 of Definition 18: in proportion to the reward."""
    return level + level * reward / 2


def same_step(level: float, reward: float) -> float:
    """Every success leads up and every failure down, by the same step: what the text warns of."""
    return level + copysign(STEP, reward) if reward else level


def even(level: float, reward: float) -> float:
    """Rewards that add up to nothing lead back to where they began, whatever their sizes."""
    return float(level * 1.5**reward)


RULES: dict[str, Rule] = {"same step": same_step, "line 20": published, "even steps": even}


def play(rule: Rule, failing: float, exercises: int) -> FloatArray:
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
    """What a cheat who fails so badly tends to under line 20.

    A share p of easy environments, where the level grows by one half, keeps the level where it is
    if ``p log 1.5 + (1 - p) log(1 - failing / 2) = 0``.
    """
    up, down = log(1.5), -log1p(-failing / 2)
    share = down / (up + down)
    return share - (1 - share) * failing


MOST = long_run(1.0)
"""What anybody can tend to under line 20 whose level does not grow without end: 0.262.

The logarithm of ``1 + r / 2`` is concave, so for rewards of -1 to 1 it is at least what the chord
between its ends says: ``(log 0.75 + r log 3) / 2``. The mean of these logarithms is the growth of
the level per exercise. So the mean reward is at most ``(2 growth - log 0.75) / log 3``.
"""


def most(exercises: FloatArray, risen: FloatArray) -> FloatArray:
    """The highest score after some exercises in which the level has grown to so many times."""
    bound: FloatArray = MOST + 2 * np.log(risen) / exercises / log(3)
    return bound


STOPS = (5, 10, 15)
"""After how many rounds a test is looked at before its end."""


@dataclass(frozen=True)
class Play:
    """A test that somebody has taken. Tables have a row per round and a column per repetition.

    Attributes:
        lengths: After each round, how many interactions each repetition had, or microseconds.
        rewards: What the exercises were worth.
        levels: The complexity of the environments.
        states: How many states they have.
    """

    lengths: FloatArray
    rewards: FloatArray
    levels: FloatArray
    states: IntArray

    @property
    def rounds(self) -> int:
        """How many there were."""
        return len(self.rewards)

    def scores(self, rounds: int) -> FloatArray:
        """The score of each repetition, had it been stopped after so many rounds."""
        found: FloatArray = self.rewards[:rounds].mean(axis=0)
        return found

    def level(self, rounds: int) -> Estimate:
        """The mean complexity of the environments of one round."""
        return mean(self.levels[rounds - 1])

    def late(self) -> slice:
        """The second half of the rounds."""
        return slice(self.rounds // 2, None)


@dataclass(frozen=True)
class Played:
    """All who took one test.

    Attributes:
        trial: The test.
        honest: The model learner.
        cheats: By what they call easy.
        limited: Those who are able in easy environments only, by what is easy.
    """

    trial: Trial
    honest: Play
    cheats: Mapping[int, Play]
    limited: Mapping[int, Play]

    @property
    def stops(self) -> Sequence[int]:
        """After how many rounds it is looked at."""
        return [*(stop for stop in STOPS if stop < self.honest.rounds), self.honest.rounds]


def gain(first: Play, second: Play, rounds: int) -> Estimate:
    """How far the first is ahead of the second after so many rounds, repetition by repetition."""
    return paired_difference(first.scores(rounds), second.scores(rounds), support=REWARDS)


def find(repetitions: int, rounds: int, report: Report) -> list[Played]:
    """Let all of them take both tests.

    Args:
        repetitions: How many.
        rounds: How many exercises each of them has.
        report: Told what is being done.
    """
    agents = {
        "honest": HONEST,
        **{f"cheat {easy}": cheat(easy) for easy in EASY},
        **{f"limited {easy}": limited(easy) for easy in EASY},
    }
    whole = len(TRIALS) * len(agents)
    plays = {
        (trial.name, name): _played(
            trial.spec(repetitions, rounds),
            agent,
            part_of(report, len(agents) * place + number, whole, f"{trial.title}: {name}"),
        )
        for place, trial in enumerate(TRIALS)
        for number, (name, agent) in enumerate(agents.items())
    }
    return [
        Played(
            trial,
            plays[trial.name, "honest"],
            {easy: plays[trial.name, f"cheat {easy}"] for easy in EASY},
            {easy: plays[trial.name, f"limited {easy}"] for easy in EASY},
        )
        for trial in TRIALS
    ]


def _played(protocol: Spec, agent: Spec, report: Report) -> Play:
    """All have the chance of the honest one: where they mean the same, they do the same."""
    return play_of(
        taken(protocol, agent, report, chance_of=HONEST), protocol.parameters["repetitions"]
    )


def play_of(test: Taken, repetitions: int) -> Play:
    """What a test says of each exercise."""
    done = Repetitions(repetitions, test.outcomes)
    rows = [
        [each[repetition].exercise for repetition in range(repetitions)] for each in done.complete()
    ]
    budgets = [row[0].budget for row in rows]
    slots = [each.interactions if each.seconds is None else 1e6 * each.seconds for each in budgets]
    return Play(
        np.cumsum(np.array(slots, dtype=np.float64)),
        done.table(),
        np.array([[exercise.complexity for exercise in row] for row in rows]),
        np.array([[len(exercise.instance.data["marks"]) for exercise in row] for row in rows]),
    )


HEIGHT_OF_LINE = 0.075
"""Of a panel."""

EXERCISES = 2_000
"""Of the model, for each point."""

BADNESS = np.array([0.01, *np.linspace(0.1, 1, 10)])
"""How badly a cheat fails."""

RULE_COLOURS = dict(zip(RULES, (MUTED, INK, SERIES[5]), strict=True))


def draw(played: Played, out: Path) -> dict[str, Path]:
    """Draw what one test shows, and what the model says of the rules."""
    from matplotlib.figure import Figure

    with look():
        figure = Figure(figsize=(13.2, 4.9))
        score, level, rules = (
            figure.add_axes((left, 0.125, width, 0.635))
            for left, width in ((0.045, 0.23), (0.39, 0.21), (0.725, 0.2))
        )
        _draw_scores(score, played)
        _draw_levels(level, played)
        _draw_rules(rules)
        repetitions = played.honest.rewards.shape[1]
        head(
            figure,
            "Failing on purpose, to be given easy environments again",
            f"{played.trial.title}, in automata; means of {repetitions} repetitions with 95 % "
            "intervals. "
            "Cheat 5 does its best up to 5 states and its worst beyond. Dashed: as able up to 5 "
            "states,\nbut honest, and acting at random beyond. On the right, a model: a cheat gets "
            "1 in easy environments and fails in all others.",
        )
        return write_figure(figure, out / "cheat")


def _plays(played: Played) -> Mapping[str, tuple[Play, str]]:
    return {
        "honest": (played.honest, HONEST_COLOUR),
        **{f"cheat {easy}": (each, COLOURS[easy]) for easy, each in played.cheats.items()},
    }


def _draw_scores(axes: Axes, played: Played) -> None:
    for each, colour in _plays(played).values():
        _draw_band(axes, each.lengths, _running(each.rewards), colour, REWARDS)
    for easy, each in played.limited.items():
        curve = _running(each.rewards).mean(axis=1)
        axes.plot(each.lengths, curve, ls=(0, (4, 2)), color=COLOURS[easy], lw=1.1)
    axes.axhline(MOST, color=MUTED, lw=0.8, ls=":")
    axes.set(ylim=(-0.1, 0.6), ylabel="score when the test is stopped here")
    axes.annotate(
        f"{MOST:.3f}", (0.02, MOST), xycoords=("axes fraction", "data"), xytext=(0, 3),
        textcoords="offset points", fontsize=SMALL, color=MUTED,
    )  # fmt: skip
    _finish(axes, "score", played)
    _name(
        axes,
        {
            name: (float(each.rewards.mean()), f"{each.rewards.mean():.2f}", colour)
            for name, (each, colour) in _plays(played).items()
        },
    )


def _draw_levels(axes: Axes, played: Played) -> None:
    for each, colour in _plays(played).values():
        _draw_band(axes, each.lengths, each.levels, colour, None)
    for easy, each in played.limited.items():
        curve = each.levels.mean(axis=1)
        axes.plot(each.lengths, curve, ls=(0, (4, 2)), color=COLOURS[easy], lw=1.1)
    axes.set_yscale("log")
    axes.set(ylim=(10, 600), ylabel="complexity of the environments")
    axes.set_yticks([10, 20, 50, 100, 200, 500], ["10", "20", "50", "100", "200", "500"])
    axes.minorticks_off()
    _finish(axes, "level", played)
    ends = {
        name: (each.levels[-1].mean(), colour) for name, (each, colour) in _plays(played).items()
    }
    _name(axes, {name: (end, f"{end:.0f}", colour) for name, (end, colour) in ends.items()})


def _draw_rules(axes: Axes) -> None:
    ends = {}
    for name, rule in RULES.items():
        colour = RULE_COLOURS[name]
        scores = [float(play(rule, badness, EXERCISES).mean()) for badness in BADNESS]
        axes.plot(BADNESS, scores, "o-", ms=3.5, lw=1.5, color=colour)
        ends[name] = (scores[-1], colour)
    fine = np.linspace(0.001, 1, 200)
    axes.plot(fine, [long_run(each) for each in fine], ":", color=INK, lw=1.0)
    axes.set(xlim=(0, 1), ylim=(-0.1, 0.6), xlabel="how badly it fails, from 0 to 1")
    axes.set_ylabel(f"score after {EXERCISES:,} exercises")
    axes.set_title("what a rule leaves to a cheat", loc="left", fontsize=10.5)
    axes.grid(axis="y")
    axes.axhline(0, color=MUTED, lw=0.7, zorder=1)
    named = [End(value, name, colour) for name, (value, colour) in ends.items()]
    name_ends(axes, named, HEIGHT_OF_LINE)


def _draw_band(
    axes: Axes,
    lengths: FloatArray,
    table: FloatArray,
    colour: str,
    support: tuple[float, float] | None,
) -> None:
    estimates = [mean(row, support=support) for row in table]
    known = [each.high - each.low < np.inf for each in estimates]  # all of one level at first
    axes.fill_between(
        lengths,
        [each.low for each in estimates],
        [each.high for each in estimates],
        where=known,
        color=colour,
        alpha=0.16,
        lw=0,
    )
    axes.plot(lengths, [each.value for each in estimates], color=colour, lw=1.7)


def _finish(axes: Axes, title: str, played: Played) -> None:
    axes.set_xscale("log")
    longest = float(played.honest.lengths[-1])
    axes.set(xlim=(1, longest), xlabel="interactions in a repetition")
    axes.xaxis.set_major_formatter(lambda count, _: f"{count:,.0f}")
    axes.set_title(title, loc="left", fontsize=10.5)
    axes.grid(axis="y")
    if axes.get_ylim()[0] < 0:
        axes.axhline(0, color=MUTED, lw=0.7, zorder=1)


def _name(axes: Axes, ends: Mapping[str, tuple[float, str, str]]) -> None:
    """The name of each curve and its last value, at the right of a panel."""
    named = [End(end, f"{name}: {text}", colour) for name, (end, text, colour) in ends.items()]
    name_ends(axes, named, HEIGHT_OF_LINE)


def _running(rewards: FloatArray) -> FloatArray:
    counts = np.arange(1, len(rewards) + 1)[:, np.newaxis]
    found: FloatArray = np.cumsum(rewards, axis=0) / counts
    return found


A_LITTLE = 0.01
"""How badly the cheat of the text fails."""

MANY = 1_000
"""Exercises of the model: enough for the first ones not to matter."""

AROUND, NOTHING = 0.05, 0.01
"""What is this near to 0.5 is around it; what is this near to 0 is nothing."""


def rows(found: Sequence[Played]) -> list[dict[str, Any]]:
    """The cheats beside honest play, each time that a test is looked at."""
    return [
        _row(played, stop, easy, "honest", played.honest)
        for played in found
        for stop in played.stops
        for easy in played.cheats
    ]


def limited_rows(found: Sequence[Played]) -> list[dict[str, Any]]:
    """The cheats beside those who are as able in easy environments, and try elsewhere in vain."""
    return [
        _row(played, stop, easy, "limited", played.limited[easy])
        for played in found
        for stop in played.stops
        for easy in played.cheats
    ]


def _row(played: Played, stop: int, easy: int, name: str, other: Play) -> dict[str, Any]:
    """One comparison; with as many digits as mean something, so that a table stays narrow."""
    cheat = played.cheats[easy]
    difference = gain(cheat, other, stop)
    return {
        "test": played.trial.name,
        "length": round(float(cheat.lengths[stop - 1])),
        "easy": easy,
        "cheat": round(float(cheat.scores(stop).mean()), 4),
        name: round(float(other.scores(stop).mean()), 4),
        "gain": round(difference.value, 4),
        "low": round(difference.low, 4),
        "high": round(difference.high, 4),
        "level": round(cheat.level(stop).value, 1),
        f"{name}-level": round(other.level(stop).value, 1),
    }


def statements(found: Sequence[Played]) -> list[Statement]:
    """The section's statements, each with the rule by which it was decided."""
    return [
        _does_not_gain(found),
        _stays_low(found),
        _pays_for_going_back(found),
        _what_the_same_step_would_do(),
        _what_line_20_does(),
        _who_gains(found),
    ]


def _cheats(found: Sequence[Played]) -> Iterator[tuple[Played, int, Play]]:
    for played in found:
        for easy, cheat in played.cheats.items():
            yield played, easy, cheat


def _does_not_gain(found: Sequence[Played]) -> Statement:
    everywhere = [
        gain(cheat, played.honest, stop)
        for played, _, cheat in _cheats(found)
        for stop in played.stops
    ]
    at_the_end = [gain(cheat, played.honest, cheat.rounds) for played, _, cheat in _cheats(found)]
    above = sum(each.low > 0 for each in everywhere)
    below = sum(each.high < 0 for each in everywhere)
    nearest, farthest = (choose(at_the_end, key=lambda e: e.value) for choose in (max, min))
    return Statement(
        "The cheat, who fails on purpose to be given easy environments again, does not gain over "
        "honest play.",
        f"Of {len(everywhere)} comparisons at {len(found[0].stops)} lengths its gain has an "
        f"interval above 0 in {above} and below 0 in {below}. At the end it lies between "
        f"{said(farthest)} and {said(nearest)}, over {nearest.count} repetitions. "
        "Rule: no interval is above 0, and at the end all are below.",
        above == 0 and all(each.high < 0 for each in at_the_end),
    )


def returns(play: Play, easy: int) -> float:
    """How often a repetition came back from a hard environment to an easy one, on average."""
    hard = play.states > easy
    return float((hard[:-1] & ~hard[1:]).sum(axis=0).mean())


def _stays_low(found: Sequence[Played]) -> Statement:
    low, told = [], []
    for played, easy, cheat in _cheats(found):
        late = cheat.late()
        cheats, honest = cheat.levels[late].mean(axis=0), played.honest.levels[late].mean(axis=0)
        below = paired_difference(honest, cheats)
        low.append(below.low > 0 and returns(cheat, easy) >= 1)
        told.append(
            f"Definition {played.trial.definition}, {easy} states: {cheats.mean():.0f} against "
            f"{honest.mean():.0f}, back {returns(cheat, easy):.1f} times"
        )
    return Statement(
        "The cheat never leaves the simple levels for good.",
        f"Mean complexity in the second half of the exercises, and how often a repetition came "
        "back "
        f"to easy environments. {'; '.join(told)}. "
        "Rule: the honest level is higher by an interval above 0, and there is at least one way "
        "back in a repetition.",
        all(low),
    )


def cost(play: Play, easy: int) -> Estimate | None:
    """The mean reward in hard environments, late in the repetitions that had any; else nothing."""
    hard, rewards = play.states[play.late()] > easy, play.rewards[play.late()]
    some = hard.any(axis=0)
    if not some.any():
        return None
    sums = np.where(hard, rewards, 0.0).sum(axis=0)
    return mean(sums[some] / hard.sum(axis=0)[some], support=REWARDS)


def _pays_for_going_back(found: Sequence[Played]) -> Statement:
    costs, told = [], []
    for played, easy, cheat in _cheats(found):
        costs.append(paid := cost(cheat, easy))
        if paid is not None:
            share = (cheat.states[cheat.late()] > easy).mean()
            told.append(
                f"Definition {played.trial.definition}, {easy} states: {said(paid, 2)} in "
                f"{share:.0%} of them"
            )
    return Statement(
        "Going back to easy complexities implies important negative rewards.",
        f"What hard environments brought the cheat in the second half of the exercises. "
        f"{'; '.join(told)}. Rule: all intervals are below 0.",
        all(paid is not None and paid.high < 0 for paid in costs),
    )


def _what_the_same_step_would_do() -> Statement:
    score = float(play(same_step, A_LITTLE, MANY).mean())
    return Statement(
        "If the level did not depend on the size of the reward, a cheat who gets 1 in easy "
        f"environments and -{A_LITTLE} elsewhere would have a score around 0.5.",
        f"In a model with the same step up and down it gets {score:.3f} in {MANY:,} exercises. "
        f"Rule: within {AROUND} of 0.5.",
        abs(score - 0.5) <= AROUND,
    )


def _what_line_20_does() -> Statement:
    score = float(play(published, A_LITTLE, MANY).mean())
    return Statement(
        "With line 20, where the level moves in proportion to the reward, this does not work.",
        f"In the model this cheat gets {score:.4f} in {MANY:,} exercises, and tends to "
        f"{long_run(A_LITTLE):.4f}: a reward of 1 must be paid with 81 of -{A_LITTLE}. "
        f"Rule: within {NOTHING} of 0.",
        abs(score) <= NOTHING,
    )


def _who_gains(found: Sequence[Played]) -> Statement:
    gains = [
        gain(cheat, played.limited[easy], cheat.rounds) for played, easy, cheat in _cheats(found)
    ]
    least, highest = (choose(gains, key=lambda e: e.value) for choose in (min, max))
    utter = float(play(published, 1.0, MANY).mean())
    pays = any(each.low > 0 for each in gains)
    return Statement(
        "Line 20 is there to avoid cheating: nobody gains by failing on purpose.",
        f"Against one who is as able in easy environments, and acts at random in all others, the "
        f"cheat gains between {said(least)} and {said(highest)} at the end. In the model a cheat "
        f"who fails utterly gets {utter:.3f} in {MANY:,} exercises, and one who can do nothing "
        f"in hard environments tends to 0. Rule: no interval of the gains is above 0.",
        not pays,
        "a reward of 1 takes the level times 1.5, one of -1 times 0.5, and 1.5 x 0.5 is 0.75: a "
        f"failure leads further down than it costs. With {(1 + MOST) / 2:.1%} rewards of 1 and "
        f"the rest of -1 the level stays where it is, and the score is {MOST:.3f}; nobody whose "
        "level stays low can tend to more, as log(1 + r/2) is concave. Who scores more than that "
        "honestly only loses. Who would be led up to where nothing succeeds gains. With a level "
        "that is multiplied by 1.5 to the power of the reward no cheat would tend to more than 0."
        if pays
        else "",
    )


REPETITIONS = 100
ROUNDS = 22


def reproduce(
    out: Path,
    report: Report = silent,
    *,
    repetitions: int = REPETITIONS,
    rounds: int = ROUNDS,
) -> Reproduced:
    """Let cheats and honest agents take both anytime tests, and model the rules for the level.

    Args:
        out: Where to write.
        report: Told what is being done.
        repetitions: How many each of them takes.
        rounds: How many exercises each repetition has.
    """
    found = find(repetitions, rounds, report)
    return describe(found, out)


def describe(found: Sequence[Played], out: Path) -> Reproduced:
    """Say and draw what the tests have shown."""
    records = rows(found)
    return Reproduced(
        name="anytime-cheat",
        title="Failing on purpose, to be given easy environments again",
        statements=statements(found),
        figures=_figures(found),
        rows=records,
        files={
            "table": write_records(out / "gains.csv", records),
            "limited": write_records(out / "limited.csv", limited_rows(found)),
            **draw(found[0], out),
        },
    )


def _figures(found: Sequence[Played]) -> dict[str, float]:
    figures = {"most": MOST}
    for played in found:
        name, end = played.trial.name, played.honest.rounds
        figures[f"{name}.honest"] = float(played.honest.scores(end).mean())
        for easy, cheat in played.cheats.items():
            figures[f"{name}.cheat-{easy}"] = float(cheat.scores(end).mean())
            figures[f"{name}.cheat-{easy}.gain"] = gain(cheat, played.honest, end).value
            figures[f"{name}.cheat-{easy}.level"] = cheat.level(end).value
            limited = played.limited[easy]
            figures[f"{name}.limited-{easy}"] = float(limited.scores(end).mean())
            figures[f"{name}.cheat-{easy}.gain-over-limited"] = gain(cheat, limited, end).value
    for name, rule in RULES.items():
        for failing in (A_LITTLE, 1.0):
            score = float(play(rule, failing, MANY).mean())
            figures[f"model.{name.replace(' ', '-')}.{failing:g}"] = score
    return figures
