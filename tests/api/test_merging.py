"""Evaluations of the same test as one, in any order, as if they had been made at once."""

from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import omnimeter as om
from omnimeter.api.result import MemoryRecord
from omnimeter.contract import Fault, FaultKind
from omnimeter.contract.errors import StoreError
from omnimeter.contract.outcomes import JoinedOutcomes, Outcomes
from omnimeter.results import Record

AGENTS = "random", "cup-presser", "q-learning"
LENGTH = {"interactions": 40, "seed": 0}


@cache
def sample(agents=AGENTS, exercises=20, **parameters):
    return om.evaluate(list(agents), "cups", exercises=exercises, **{**LENGTH, **parameters})


def said(result):
    """All that a result says, but for the order of agents."""
    return {
        "protocol": result.seeded.protocol,
        "scores": result.scores,
        "outcomes": {a.label: list(done) for a, done in result.judged.outcomes.items()},
        "complete": result.complete,
        "traces": sorted(key for key, _ in result.record.traces()),
        "flags": (result.evaluation.traces, result.evaluation.privileged),
        "extended": result.evaluation.extended,
        "compared": {c.agent.label: c for c in result.differences},
    }


def spoilt(outcome, attempts):
    fault = Fault(FaultKind.INFRASTRUCTURE, "the disk is full")
    return replace(outcome, payoff=None, fault=fault, attempts=attempts, total=0.0)


def remeasured(outcome, seconds=0.5):
    return replace(outcome, remarks={**outcome.remarks, "elapsed": seconds})


def made_of(result, change):
    """The same evaluation with other outcomes."""
    outcomes = {agent: [*map(change, done)] for agent, done in result.outcomes.items()}
    record = MemoryRecord(result.evaluation.to_json(), result.record.seed)
    return replace(result, record=record, outcomes=outcomes)


SUBSETS = st.sampled_from([AGENTS[:1], AGENTS[:2], AGENTS[1:], AGENTS])
PIECES = st.tuples(SUBSETS, st.sampled_from([3, 8, 20]), st.integers(0, 2**32 - 1))


def piece_of(drawn):
    """An evaluation of some agents, of whose exercises some are missing or were spoilt."""
    agents, exercises, seed = drawn
    whole, rng = sample(agents, exercises), np.random.default_rng(seed)

    def some(outcome):
        kind = rng.random()
        if kind < 0.2:
            return []
        if kind < 0.4:
            return [spoilt(outcome, int(rng.integers(1, 4)))]
        return [remeasured(outcome, int(rng.integers(3))) if kind < 0.7 else outcome]

    outcomes = {
        agent: [one for each in done for one in some(each)]
        for agent, done in whole.outcomes.items()
    }
    record = MemoryRecord(whole.evaluation.to_json(), whole.record.seed)
    return replace(whole, record=record, outcomes=outcomes, complete=False)


@settings(max_examples=40, deadline=None)
@given(PIECES, PIECES, PIECES)
def test_neither_order_nor_grouping_matters(one, two, three):
    a, b, c = map(piece_of, (one, two, three))
    expected = said(om.merge(a, b, c))
    assert said(om.merge(c, a, b)) == expected
    assert said(om.merge(om.merge(a, b), c)) == expected
    assert said(om.merge(a, om.merge(c, b))) == expected
    assert said(om.merge(a, a)) == said(om.merge(a))
    assert said(om.merge(om.merge(a, b, c), b)) == expected


def test_parts_are_what_one_evaluation_would_have_given(tmp_path):
    fields = {"interactions": 40, "seed": 3, "traces": True}
    for exercises, name in ((20, "whole"), (60, "whole"), (20, "short")):
        om.evaluate(list(AGENTS), "cups", exercises=exercises, out=tmp_path / name, **fields)
    at_once = om.load(tmp_path / "whole")  # it was extended, which parts of two sizes say too
    om.evaluate(list(AGENTS[:2]), "cups", exercises=60, out=tmp_path / "two", **fields)
    om.evaluate(AGENTS[2], "cups", exercises=60, out=tmp_path / "one", **fields)
    merged = om.merge(*(tmp_path / name for name in ("short", "two", "one")))
    assert merged.evaluation == at_once.evaluation
    assert said(merged) == said(at_once)
    stored = merged.save(tmp_path / "merged")
    assert said(om.load(tmp_path / "merged")) == said(at_once)
    traces = dict(stored.record.traces())
    assert all(traces[key].same_as(each) for key, each in at_once.record.traces())
    # The page of the whole, but for how and when it was made.
    pages = [each.report(tmp_path / f"{n}.html") for n, each in enumerate((merged, at_once))]
    texts = [page.read_text(encoding="utf-8").partition("<dt>Started<")[0] for page in pages]
    assert texts[0] == texts[1]
    # It goes on like any other, and there is nothing left to do.
    shards = sorted((tmp_path / "merged" / "outcomes").iterdir())
    again = om.evaluate(list(AGENTS), "cups", exercises=60, out=tmp_path / "merged", **fields)
    assert sorted((tmp_path / "merged" / "outcomes").iterdir()) == shards
    assert again.complete


def test_parts_of_different_sizes_are_an_extended_test():
    small, large = sample(AGENTS[:1], 8), sample(AGENTS[:1], 20)
    empty = replace(made_of(small, lambda each: each), outcomes={a: [] for a in small.outcomes})
    assert om.merge(large, large).evaluation.extended == ()
    assert om.merge(large, empty).evaluation.extended == ()  # nothing of it could be seen
    merged = om.merge(large, small)
    assert merged.evaluation.extended == (8,)
    score, alone = merged.scores["random-v1"], large.scores["random-v1"]
    assert score.value == alone.value
    assert tuple(score.interval[:2]) == alone.parts["watched"] != tuple(alone.interval[:2])
    # It is not hidden by further merging, nor by other agents.
    assert om.merge(merged, sample(AGENTS[1:], 20)).evaluation.extended == (8,)
    assert om.merge(sample(AGENTS[1:], 20), small).evaluation.extended == (8,)


def test_how_the_parts_were_made_is_kept(tmp_path):
    sample(AGENTS[:1]).save(tmp_path / "one")
    sample(AGENTS[1:]).save(tmp_path / "other")
    made = [each for name in ("one", "other") for each in Record(tmp_path / name).provenance()]
    om.merge(tmp_path / "one", tmp_path / "other").save(tmp_path / "both")
    kept = Record(tmp_path / "both").provenance()
    assert all(each in kept for each in made)


def test_what_one_evaluation_spoilt_another_one_has():
    whole = sample()
    broken = made_of(whole, lambda each: spoilt(each, 3) if each.exercise.number % 2 else each)
    assert broken.scores != whole.scores
    assert said(om.merge(broken, whole)) == said(om.merge(whole))
    twice = made_of(whole, lambda each: spoilt(each, 1))
    merged = om.merge(twice, broken)
    attempts = merged.judged.outcomes[whole.evaluation.agents[0]].attempts
    assert attempts.tolist() == [1, 3] * 10  # the sound one, and of two spoilt ones the last


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"payoff": 0.125}, "the payoff is 0.125 and "),
        ({"interactions": 39}, "the number of interactions is 39 and 40"),
        (
            {"fault": Fault(FaultKind.TIME_OUT, "slow"), "payoff": None},
            "the fault is time-out and none",
        ),
    ],
)
def test_outcomes_that_disagree_are_refused(tmp_path, change, said):
    whole = sample(AGENTS[:2])
    whole.save(tmp_path / "e")

    def other(outcome):
        exercise = outcome.exercise
        chosen = exercise.number == 7 and exercise.agent.id == "cup-presser-v1"
        return replace(outcome, **change) if chosen else outcome

    with pytest.raises(om.InvalidInputError) as error:
        om.merge(made_of(whole, other), tmp_path / "e")
    assert f"result 1 and {tmp_path / 'e'} disagree on exercise 7 of cup-presser-v1" in str(
        error.value
    )
    assert said in str(error.value)


def test_two_runs_by_the_wall_clock_are_two_measurements():
    def timed():
        return om.test("random", "automata", time=0.05, repetitions=2, seed=0, length=None).run()

    with pytest.raises(om.InvalidInputError, match="disagree on exercise") as error:
        om.merge(timed(), timed())
    assert "two measurements" in error.value.advice


def test_tests_that_cannot_grow_say_why():
    def universal(count):
        return om.test(
            "random", "cups", interactions=20, definition=15, exercises=count, seed=0
        ).run()

    def precise(exercises):
        return sample(AGENTS[:1], exercises, precision=0.4)

    def anytime(interactions):
        return om.test("random", "automata", interactions=interactions, seed=0).run()

    def several(exercises):
        return om.evaluate(
            "random", "gc", prior="gc", exercises=exercises, trajectories=2, interactions=5, seed=0
        )

    for make, sizes, reason in [
        (universal, (3, 4), "the order of different environments depends on how many"),
        (precise, (30, 40), "a precision decides"),
        (anytime, (1000, 2000), "have one length"),
        (several, (2, 3), "second trajectories begin"),
    ]:
        one, other = map(make, sizes)
        with pytest.raises(om.InvalidInputError, match="differ in") as error:
            om.merge(one, other)
        assert reason in error.value.advice
        again = om.merge(one, make(sizes[0]))  # which may differ in measured times
        assert again.judged.outcomes.keys() == one.judged.outcomes.keys()
        assert again.scores["random-v1"].value == one.scores["random-v1"].value


@pytest.mark.parametrize(
    "make",
    [
        lambda n: om.evaluate("random", battery="thesis-table-6-1", tests=n, seed=0),
        lambda n: om.evaluate("random", "gc", prior="gc", exercises=n, interactions=5, seed=0),
        lambda n: om.evaluate(
            "random",
            "gc",
            then=["gc", "gc(variant=uniform)"],
            at=10,
            exercises=n,
            interactions=20,
            seed=0,
        ),
        lambda n: sample(AGENTS[:1], n, complexity=(3, 4), memory="carried"),
    ],
    ids=["battery", "bayesian", "perturbation", "carried"],
)
def test_every_test_that_grows_has_the_first_exercises_of_a_larger_one(make):
    small, large = make(1), make(3)
    (agent,) = large.evaluation.agents
    merged = om.merge(small, large)
    assert merged.judged.outcomes[agent].keys.tolist() == large.judged.outcomes[agent].keys.tolist()
    assert set(small.judged.outcomes[agent].keys) < set(large.judged.outcomes[agent].keys)
    assert merged.seeded.protocol == large.seeded.protocol
    assert merged.complete


def test_a_seed_that_was_given_stays_known_as_given():
    drawn = om.evaluate("random", "cups", exercises=3, interactions=5)
    same = om.evaluate("cup-presser", "cups", exercises=3, interactions=5, seed=drawn.seed)
    for merged in (om.merge(drawn, same), om.merge(same, drawn)):
        assert merged.evaluation.protocol.parameters["seed"] == drawn.seed
        assert merged.record.seed is None
    both = om.merge(drawn, drawn)
    assert "seed" not in both.evaluation.protocol.parameters
    assert both.seed == drawn.seed


def test_nothing_another_seed_and_no_evaluation(tmp_path):
    with pytest.raises(om.InvalidInputError, match=r"A list .* a star before it"):
        om.merge([tmp_path, tmp_path])
    with pytest.raises(om.InvalidInputError, match="nothing to merge"):
        om.merge()
    with pytest.raises(om.InvalidInputError, match="differ in seed"):
        om.merge(sample(), sample(seed=1))
    with pytest.raises(om.InvalidInputError, match="differ in interactions"):
        om.merge(sample(exercises=20), sample(exercises=8, interactions=41))
    with pytest.raises(StoreError, match="nowhere"):
        om.merge(sample(), tmp_path / "nowhere")


def test_an_agent_whose_code_changed_is_another_one(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    code = (
        "import omnimeter as om\nclass A(om.Agent):\n    def act(self, r, o):\n        return {}\n"
    )
    results = []
    for action in (0, 1):
        (tmp_path / "own.py").write_text(code.format(action))
        made = om.evaluate("own.py:A", "cups", exercises=2, interactions=5, seed=0)
        results.append(made)
    with pytest.raises(om.InvalidInputError, match="its code or data have changed"):
        om.merge(*results)


def test_joined_outcomes_are_as_one_sequence(tmp_path):
    whole = sample()
    whole.save(tmp_path / "e")
    stored = Record(tmp_path / "e").outcomes()
    every = [each for done in whole.outcomes.values() for each in done]
    parts = [stored[:7], Outcomes(stored[7:30]), stored[30:]]
    joined, flat = JoinedOutcomes(parts), Outcomes(stored)
    assert joined == flat
    assert len(joined) == len(every)
    rows = np.array([59, 3, 8, 31, 31, 0])
    for one, other in ((joined, flat), (joined.take(rows), flat.take(rows))):
        assert one == other
        for name in ("number", "key", "payoff", "fault", "ending"):
            assert one.column(name).tolist() == other.column(name).tolist()
        assert [(spec, each.tolist()) for spec, each in one.classes()] == [
            (spec, each.tolist()) for spec, each in other.classes()
        ]
        assert [(v, where.tolist()) for v, where in one.remarks("compiled")] == [
            (v, where.tolist()) for v, where in other.remarks("compiled")
        ]
        assert len(one.distinct_exercises()) == len(other.distinct_exercises())
    grouped, expected = (each.by_agent(whole.evaluation.agents) for each in (joined, flat))
    assert grouped == expected
    assert joined.in_order().numbers.tolist() == flat.in_order().numbers.tolist()
    assert len(JoinedOutcomes([])) == 0
    assert JoinedOutcomes([]).payoffs.tolist() == []
