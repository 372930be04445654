"""Two agents: what is said of their difference, and what is not."""

import json
import re
from dataclasses import replace
from functools import cache

import numpy as np
import pytest

import omnimeter as om
from omnimeter.api.result import MemoryRecord
from omnimeter.contract import Fault, FaultKind
from omnimeter.estimation import (
    paired_difference,
    probability_of_improvement,
    stratified_difference,
    stratified_test,
    wilcoxon,
)
from omnimeter.protocols.evaluation import judge
from omnimeter.reports.between import Taken, between
from omnimeter.reports.between_text import (
    between_json,
    between_sentences,
    between_tables,
    simultaneous_sentence,
)
from omnimeter.reports.comparisons import (
    Verdict,
    comparisons_over,
    rows_over,
    samples_of,
    watched_over,
)

AGENTS = "random", "cup-presser", "q-learning"


@cache
def cups(seed=0, exercises=30, agents=AGENTS, **parameters):
    fields = {"exercises": exercises, "interactions": 100, "seed": seed, **parameters}
    return om.evaluate(list(agents), "cups", **fields)


@cache
def buttons(seed=0):
    return om.evaluate(list(AGENTS), "buttons", exercises=20, interactions=100, seed=seed)


def with_payoffs(result, change):
    """The same evaluation in which payoffs are others: ``change(agent, number, payoff)``."""

    def changed(outcome):
        exercise = outcome.exercise
        value = change(exercise.agent.id, exercise.number, outcome.payoff)
        return replace(outcome, payoff=value)

    outcomes = {a: [*map(changed, done)] for a, done in result.outcomes.items()}
    record = MemoryRecord(result.evaluation.to_json(), result.record.seed)
    return replace(result, outcomes=outcomes, record=record)


def payoffs(result, agent):
    (done,) = (d for a, d in result.judged.outcomes.items() if a.id == f"{agent}-v1")
    return done.payoffs


def text(said):
    return " ".join(between_sentences(said))


def test_a_chosen_pair_is_one_comparison_whatever_else_took_part():
    said = cups().between("cup-presser", "random")
    ours, theirs = payoffs(cups(), "cup-presser"), payoffs(cups(), "random")
    expected = paired_difference(ours, theirs, 0.95, (-1, 1))
    overall = said.overall
    assert (overall.difference, overall.low, overall.high) == (
        expected.value,
        expected.low,
        expected.high,
    )
    assert overall.p_value == stratified_test([ours], [theirs], (-1, 1))
    assert overall.simultaneous == 1
    assert said.verdict is Verdict.BETTER
    assert said.improvement == probability_of_improvement(ours, theirs)
    assert said.typical == wilcoxon(ours, theirs, support=(-1, 1))
    assert (said.wins, said.ties, said.losses) == (
        int((ours > theirs).sum()),
        int((ours == theirs).sum()),
        int((ours < theirs).sum()),
    )
    mirrored = cups().between("random", "cup-presser")
    assert mirrored.verdict is Verdict.WORSE
    assert (mirrored.wins, mirrored.losses) == (said.losses, said.wins)
    assert "random-v1 is worse than cup-presser-v1 by" in text(mirrored)


def test_the_breakdown_holds_at_once_and_adds_up():
    said = cups().between("cup-presser", "random")
    assert {line.kind for line in said.breakdown} == {"complexity"}
    assert sum(line.count for line in said.breakdown) == 30
    total = sum(line.difference * line.count for line in said.breakdown) / 30
    assert total == pytest.approx(said.overall.difference)
    (agent,) = (a for a in cups().judged.outcomes if a.id == "cup-presser-v1")
    at = cups().judged.outcomes[agent].complexities == float(said.breakdown[0].name)
    share = 1 - 0.05 / sum(line.low is not None for line in said.breakdown)
    expected = paired_difference(
        payoffs(cups(), "cup-presser")[at], payoffs(cups(), "random")[at], share, (-1, 1)
    )
    assert (said.breakdown[0].low, said.breakdown[0].high) == (expected.low, expected.high)
    assert "intervals by complexity hold all at once" in simultaneous_sentence(said)


def test_where_they_differ_most_comes_first():
    def change(agent, number, payoff):
        return 0.9 if (agent, number) == ("random-v1", 17) else payoff / 4

    result = with_payoffs(cups(), change)
    said = result.between("q-learning", "random")
    assert said.extremes[0].number == 17
    assert said.extremes[0].difference < -0.6
    sizes = [abs(each.difference) for each in said.extremes]
    assert sizes == sorted(sizes, reverse=True)
    instance = next(iter(result.outcomes.values()))[17].exercise.instance.key
    assert said.extremes[0].instance == instance


def test_how_many_more_decide_it():
    rng = np.random.default_rng(0)
    noise = dict(enumerate(rng.normal(0.1, 0.4, 30)))
    result = with_payoffs(
        cups(), lambda agent, n, _: float(noise[n]) if agent.startswith("random") else 0.0
    )
    said = result.between("random", "q-learning")
    assert said.verdict is Verdict.NOT_SHOWN
    assert said.needed.more == said.needed.total - 30 > 0
    assert said.needed.high is None
    assert re.search(r"is shown: \+[.\d]+ \(95 % interval .[.\d]+ to \+[.\d]+, p", text(said))
    assert f"{said.needed.more} more exercises, {said.needed.total} exercises in all" in text(said)
    assert "in all, would show such a difference in 80 % of evaluations" in text(said)
    assert "without an end" in text(said)
    assert "As many exercises as these show a difference of" in text(said)
    shown = cups().between("cup-presser", "random")
    assert shown.needed.more == 0
    assert "more exercise" not in text(shown)
    assert f"{shown.needed.total} exercises show such a difference in 80 %" in text(shown)


def test_what_cannot_be_said_is_said():
    same = with_payoffs(cups(), lambda *_: 0.25)
    said = same.between("random", "q-learning")
    assert (said.wins, said.ties, said.losses) == (0, 30, 0)
    assert said.needed.total is None
    assert "cannot be said: both got the same in every pair" in text(said)
    assert said.extremes == ()
    alone = cups(exercises=1).between("random", "q-learning")
    assert alone.verdict is Verdict.TOO_FEW
    assert alone.needed is None
    near = with_payoffs(
        cups(), lambda agent, n, _: (0.5 - n % 2 + 1e-6) * agent.startswith("random")
    )
    assert "more than a million pairs" in text(near.between("random", "q-learning"))
    assert "or more even if the difference were as large" in text(
        near.between("random", "q-learning")
    )


def broken(result):
    """The same evaluation, in which the first exercise of ``random`` ended in a fault."""

    def failed(outcome):
        if outcome.exercise.agent.id != "random-v1" or outcome.exercise.number:
            return outcome
        return replace(outcome, payoff=None, fault=Fault(FaultKind.AGENT_ERROR, "no"))

    outcomes = {a: [*map(failed, done)] for a, done in result.outcomes.items()}
    record = MemoryRecord(result.evaluation.to_json(), result.record.seed)
    return replace(result, outcomes=outcomes, record=record)


def test_nothing_is_shown_of_agents_with_faults_of_their_own():
    said = broken(cups()).between("random", "q-learning")
    assert said.verdict is Verdict.FAULTY
    assert said.overall.difference is None
    assert said.breakdown == said.extremes == ()
    assert said.needed is None
    assert "not compared" in text(said)
    assert "†" in text(said)


def test_repetitions_are_compared_as_such():
    result = om.test(["sarsa", "q-learning"], "automata", interactions=6000, seed=0).run()
    said = result.between("q-learning", "sarsa")
    (comparison,) = result.compare("sarsa")
    assert said.overall == comparison
    assert said.overall.unit == "repetition"
    assert {line.kind for line in said.breakdown} == {"complexity"}
    assert all(line.count <= 20 for line in said.breakdown)
    assert said.extremes[0].environment_class == ""
    assert "repetitions" in text(said)
    assert "exercise" not in text(said)


def test_a_battery_is_broken_down_by_class_and_not_twice():
    result = om.evaluate(["random", "q-learning"], battery="thesis-table-6-1", tests=4, seed=0)
    said = result.between("q-learning", "random")
    kinds = [line.kind for line in said.breakdown]
    assert kinds.count("class") == 7
    assert "part" not in kinds  # each class is one part
    assert said.overall == result.compare("random")[0]


def test_under_a_precision_only_the_interval_that_always_holds_counts():
    result = om.evaluate(
        ["random", "cup-presser"], "cups", interactions=100, precision=0.4, exercises=200, seed=0
    )
    said = result.between("cup-presser", "random")
    assert (said.overall.low, said.overall.high) == said.overall.watched
    assert said.breakdown == ()
    assert said.improvement is None
    assert "a precision decided" in text(said)


def test_seeds_are_strata_and_tests_have_the_same_weight():
    agents = {a.id: a for a in cups().evaluation.agents}
    pair = agents["q-learning-v1"], agents["random-v1"]
    tests = [
        Taken("one", [cups(seed=s).judged for s in (0, 1)]),
        Taken("other", [buttons(seed=s).judged for s in (0, 1)]),
    ]
    said = between(tests, *pair)
    results = [cups(seed=0), cups(seed=1), buttons(seed=0), buttons(seed=1)]
    sides = [[payoffs(each, name) for each in results] for name in ("q-learning", "random")]
    expected = stratified_difference(*sides, 0.95, (-1, 1))
    assert (said.overall.difference, said.overall.low) == (expected.value, expected.low)
    assert said.overall.p_value == stratified_test(*sides, (-1, 1))
    assert (said.tests, said.seeds, said.overall.count) == (2, 2, 100)
    lines = {line.name: line for line in said.breakdown if line.kind == "test"}
    assert lines.keys() == {"one", "other"}
    assert lines["one"].difference == pytest.approx(
        np.mean([np.mean(a - b) for a, b in zip(sides[0][:2], sides[1][:2], strict=True)])
    )
    assert not [line for line in said.breakdown if line.kind == "class"]  # those are the tests
    assert {each.seed for each in said.extremes} <= {0, 1}
    assert "Compared in 2 tests under 2 seeds, each with the same weight." in text(said)
    rows = rows_over(tests[0].results)
    (over,) = [c for c in comparisons_over(tests[0].seeds, rows, pair[1]) if c.agent == pair[0]]
    assert over.difference == pytest.approx(lines["one"].difference)
    # Of tests with different numbers of seeds, each still has the same weight.
    uneven = between([tests[0], Taken("other", tests[1].results[:1])], *pair)
    names = {line.name: line.difference for line in uneven.breakdown if line.kind == "test"}
    assert uneven.overall.difference == pytest.approx(np.mean(list(names.values())))
    assert uneven.overall.p_value is None
    assert "different numbers" in text(uneven)


def test_as_long_as_a_plan_is_not_carried_out_intervals_hold_at_every_moment():
    agents = {a.id: a for a in cups().evaluation.agents}
    pair = agents["q-learning-v1"], agents["random-v1"]
    one = Taken("one", [cups(seed=s).judged for s in (0, 1)], planned=2)
    other = Taken("other", [buttons(seed=s).judged for s in (0, 1)], planned=2)
    over, begun = between([one, other], *pair), between([one, other._replace(planned=4)], *pair)
    assert over.overall.watched is None
    assert over.overall.p_value is not None
    assert begun.overall.difference == over.overall.difference
    assert begun.overall.p_value is None
    low, high = begun.overall.watched
    assert (begun.overall.low, begun.overall.high) == (low, high)
    assert low < over.overall.low < over.overall.high < high
    # Its ends are the means of the tests', whose error rates are shared by both and by their seeds.
    sides = [watched_over(test.seeds, pair, 0.975, count) for test, count in ((one, 2), (other, 4))]
    assert (low, high) == tuple(np.mean(sides, axis=0))
    # So do the lines of the tests; what has no such interval is left out.
    assert [(line.low, line.high) for line in begun.breakdown] == sides
    differences = {line.name: line.difference for line in over.breakdown if line.kind == "test"}
    assert {line.name: line.difference for line in begun.breakdown} == differences
    assert {line.p_value for line in begun.breakdown} == {None}
    assert (begun.improvement, begun.typical) == (None, None)
    assert over.improvement
    assert over.typical
    assert begun.needed.total is None
    assert "not all exercises are done" in begun.needed.reason
    assert "if what was seen" not in text(begun)  # that is the interval which was told already
    assert (over.complete, begun.complete) == (True, False)
    alone = between([other._replace(planned=4)], *pair)
    assert (alone.overall.low, alone.overall.high) == watched_over(other.seeds, pair, 0.95, 4)
    assert alone.breakdown == ()


def test_only_what_both_finished_something_in_counts_as_compared():
    agents = {a.id: a for a in cups().evaluation.agents}
    pair = agents["q-learning-v1"], agents["random-v1"]
    nothing = judge(cups().evaluation.make_protocol(), {agent: [] for agent in pair}, False)
    repetitions = replace(nothing, design=replace(nothing.design, unit="repetition"))
    plan = [
        Taken("one", [cups().judged, nothing, nothing], 3),
        Taken("other", [repetitions], 3),
        Taken("later", [], 3, pair),
        Taken("not theirs", [], 3, pair[:1]),
    ]
    said = between(plan, *pair)
    assert (said.tests, said.seeds, said.complete) == (1, 1, False)
    assert said.reason == "some test has no interval yet"
    assert "Compared in" not in text(said)
    assert said.overall.unit == "exercise"
    # All tests that both are to take share the error rate, also those that have not begun.
    share = 1 - 0.05 / 3
    (line,) = said.breakdown
    assert (line.low, line.high) == watched_over([samples_of(cups().judged)], pair, share, 3)
    with pytest.raises(om.InvalidInputError, match="in no test together"):
        between(plan[2:], *pair)


def test_where_nothing_is_compared_it_is_not_said_in_how_many_tests():
    agents = {a.id: a for a in cups().evaluation.agents}
    pair = agents["q-learning-v1"], agents["random-v1"]
    one, other = (broken(cups(seed=s)).judged for s in (0, 1))
    for tests in ([Taken("", [one, other])], [Taken("a", [one]), Taken("b", [other])]):
        said = between(tests, *pair)
        assert said.verdict is Verdict.FAULTY
        assert said.overall.difference is None
        assert "not compared" in text(said)
        assert "Compared in" not in text(said)


def test_each_test_has_decimals_of_its_own():
    total = om.evaluate(
        list(AGENTS), "cups", exercises=10, interactions=1000, payoff="total", seed=0
    ).judged
    agents = {a.id: a for a in cups().evaluation.agents}
    tests = [Taken("mean", [cups().judged]), Taken("total", [total])]
    said = between(tests, agents["cup-presser-v1"], agents["random-v1"])
    (_, table), *_ = between_tables(said)
    mean, whole = (row[1].text for row in table.rows)
    assert mean.startswith("+0.0")  # three digits of that, which the other one has no room for
    assert int(mean[-1])
    assert "." not in whole


def test_repetitions_are_told_with_their_seeds():
    results = [
        om.test(["sarsa", "q-learning"], "automata", interactions=3000, seed=s).run().judged
        for s in (3, 4)
    ]
    pair = list(results[0].outcomes)
    said = between([Taken("anytime", results)], *pair)
    assert {each.seed for each in said.extremes} == {3, 4}
    assert {each.test for each in said.extremes} == {""}
    table = dict(between_tables(said))["Where they differ most:"]
    assert table.headings[:3] == ("Repetition", "Seed", "sarsa-v1")
    secret = [replace(result, seed=None) for result in results]
    assert {each.seed for each in between([Taken("", secret)], *pair).extremes} == {None}
    # One that was given is no secret before all is done either.
    begun = replace(results[1], complete=False)
    told = between([Taken("", [results[0], begun], 2)], *pair).extremes
    assert {each.seed for each in told} == {3, 4}


def test_tests_with_other_payoffs_have_no_common_difference():
    total = om.evaluate(
        list(AGENTS), "cups", exercises=10, interactions=20, payoff="total", seed=0
    ).judged
    agents = {a.id: a for a in cups().evaluation.agents}
    tests = [Taken("mean", [cups().judged]), Taken("total", [total])]
    said = between(tests, agents["cup-presser-v1"], agents["random-v1"])
    assert said.overall.difference is None
    assert "no overall difference: the tests are paid by different payoffs" in text(said)
    assert [line.name for line in said.breakdown] == ["mean", "total"]
    # What is won is told of each test: together that would count the same exercises twice.
    assert (said.wins, said.ties, said.losses, said.improvement) == (0, 0, 0, None)
    assert "did better in" not in text(said)
    (_, table), *_ = between_tables(said)
    assert table.headings[3:6] == ("In common", "Won", "Lost")
    ours, theirs = payoffs(cups(), "cup-presser"), payoffs(cups(), "random")
    won = [str(int((ours > theirs).sum())), str(int((ours < theirs).sum()))]
    assert [cell.text for cell in table.rows[0][3:6]] == ["30 exercises", *won]
    assert said.typical is None
    assert said.extremes == ()


def test_exercises_and_repetitions_are_not_counted_together():
    whole = om.test(["sarsa", "q-learning"], "automata", interactions=3000, seed=0).run().judged
    single = cups(agents=("sarsa", "q-learning")).judged
    pair = list(whole.outcomes)
    said = between([Taken("cups", [single]), Taken("anytime", [whole])], *pair)
    assert "some tests are compared by exercises, others by repetitions" in text(said)
    assert said.wins + said.ties + said.losses == 0
    assert said.overall.unit == "pair"
    units = {line.name: line.unit for line in said.breakdown}
    assert units == {"cups": "exercise", "anytime": "repetition"}
    (_, table), *_ = between_tables(said)
    assert table.rows[0][3].text == "30 exercises"
    assert table.rows[1][3].text.endswith(" repetitions")


def test_a_typical_difference_that_is_bounded_is_said_to_be():
    few = cups(exercises=4).between("cup-presser", "random")
    assert few.typical.bounded
    assert "bounded by the possible values alone" in text(few)
    assert "bounded by the possible" not in text(cups().between("cup-presser", "random"))


def test_agents_that_took_no_part():
    with pytest.raises(om.InvalidInputError, match="takes no part") as error:
        cups().between("q-lerning", "random")
    assert "Did you mean q-learning-v1?" in error.value.advice
    with pytest.raises(om.InvalidInputError, match="takes no part") as error:
        cups().between("random", "sarsa")
    assert "cup-presser-v1" in error.value.advice
    with pytest.raises(om.InvalidInputError, match="with itself"):
        cups().between("random", "random")


def test_all_of_it_is_data_and_text():
    for result in (cups(), cups(exercises=1), with_payoffs(cups(), lambda *_: 0.25)):
        said = result.between("q-learning", "random")
        data = json.loads(json.dumps(between_json(said), allow_nan=False))
        assert data["verdict"] == str(said.verdict)
        assert len(data["breakdown"]) == len(said.breakdown)
        assert between_sentences(said)[0] in str(said)
        for heading, table in between_tables(said):
            assert heading in str(said)
            assert len(table.rows[0]) == len(table.headings)
    data = between_json(cups().between("cup-presser", "random"))
    assert data["needed"]["total"] == cups().between("cup-presser", "random").needed.total
    assert data["needed"]["more"] == 0
    assert len(data["needed"]["interval"]) == 2
