"""The experiments of chapter 5: how they run, what they decide, and that they can disagree."""

import json
import zlib
from dataclasses import replace
from functools import partial
from itertools import product

import numpy as np
import pytest

from omnimeter.complexity import compressed_length
from omnimeter.environments.lambda_class import Lambda, dynamics
from omnimeter.environments.lambda_class.space import read_space
from omnimeter.interaction.dispatch import run, run_single
from omnimeter.reproductions.lambda_thesis import (
    complexity,
    generated,
    relations,
    shared,
    simple,
    social,
)
from omnimeter.reproductions.lambda_thesis.relations import COMPRESSED, MEASURES, PRODUCT
from omnimeter.reproductions.lambda_thesis.shared import (
    FOLLOWER,
    ORACLE,
    Q_LEARNING,
    RANDOM,
    REFERENCES,
)

EIGHT = Lambda(space=shared.SPACE, pattern=shared.PATTERN)
POINTS = np.array([10, 20, 30, 40])


@pytest.fixture
def step_by_step(monkeypatch):
    """Joint runs without compiling: few and short ones are soon done."""
    monkeypatch.setattr(shared, "run", partial(run, compiled=False))


def test_points_are_few_rise_and_end_with_the_run():
    points = shared.checkpoints(10_000)
    assert points[0] == 1
    assert points[-1] == 10_000
    assert 200 <= len(points) <= 400
    assert np.all(np.diff(points) > 0)


@pytest.mark.parametrize("agent", REFERENCES, ids=lambda agent: agent.name)
def test_averages_are_those_of_the_ordinary_loop(agent):
    exercises = shared.draw_exercises(EIGHT, 2, interactions=40)
    rows = shared.alone_averages(EIGHT, [agent], exercises, POINTS)[agent.name]
    for exercise, row in zip(exercises, rows, strict=True):
        rewards = next(run_single(EIGHT, agent.make(), [exercise])).rewards
        assert row == pytest.approx([rewards[:count].mean() for count in POINTS])


def test_agents_are_drawn_differently_in_every_way():
    for attribute in ("name", "title", "colour", "marker"):
        assert len({getattr(agent, attribute) for agent in REFERENCES}) == len(REFERENCES)


def test_environments_are_the_same_alone_and_jointly(step_by_step):
    apart = relations.draw_samples(environments=2, interactions=30)
    joint = relations.draw_samples(environments=2, interactions=30, joint=True)
    for one, other in zip(apart, joint, strict=True):
        for measure in MEASURES:
            assert np.array_equal(one.complexity[measure.name], other.complexity[measure.name])
        assert one.averages.keys() == other.averages.keys()
        assert all(runs.shape == (2, len(one.points)) for runs in other.averages.values())


def test_a_failed_run_is_an_error():
    trace = next(run_single(EIGHT, RANDOM.make(), shared.draw_exercises(EIGHT, 1, interactions=40)))
    from omnimeter.contract import Fault, FaultKind

    with pytest.raises(RuntimeError, match="broken"):
        shared.averages(replace(trace, fault=Fault(FaultKind.AGENT_ERROR, "broken")), POINTS)


def rising(height, noise=0.01, count=40):
    """Runs whose averages go from 0 to a height in a straight line."""
    rng = np.random.default_rng(round(1000 * (height + 5)))
    ends = height + noise * rng.standard_normal((count, 1))
    return ends * POINTS / POINTS[-1]


def flat(height, noise=0.01, count=40):
    rng = np.random.default_rng(round(1000 * (height + 9)))
    return np.repeat(height + noise * rng.standard_normal((count, 1)), len(POINTS), axis=1)


def test_a_curve_passes_where_the_lines_cross():
    passed = shared.crossing(POINTS, rising(1.0), flat(0.6), np.random.default_rng(0))
    assert passed.value == pytest.approx(24, abs=0.3)
    assert passed.low < 24 < passed.high
    assert passed.high - passed.low < 1


@pytest.mark.parametrize(("height", "expected"), [(-0.5, POINTS[0]), (1.5, POINTS[-1])])
def test_a_curve_may_always_or_never_be_above(height, expected):
    passed = shared.crossing(POINTS, rising(1.0), flat(height), np.random.default_rng(0))
    assert passed.value == expected


def test_a_curve_has_converged_when_it_stays_near_its_end():
    assert shared.converged_after(POINTS, rising(1.0), within=0.3) == 30
    assert shared.converged_after(POINTS, flat(0.5)) == POINTS[0]


def test_the_optimum_is_1_where_good_stays_within_reach():
    assert simple.optimum("ring-3", "0", 50, until_swap=1e12) == pytest.approx(1.0)


def test_the_optimum_is_more_than_the_oracle_gets():
    optimum = simple.optimum(shared.SPACE, shared.PATTERN, 2000, until_swap=4097 / 2)
    exercises = shared.draw_exercises(EIGHT, 10, interactions=2000)
    averages = shared.alone_averages(EIGHT, [ORACLE], exercises, np.array([2000]))
    assert averages[ORACLE.name].max() < optimum < 1


@pytest.mark.parametrize("action", range(4))
def test_good_and_evil_move_as_in_the_environment(action):
    heads, tails = simple.moved_pairs(EIGHT.space.successors()[:, action])
    environment = EIGHT.build(EIGHT.draw(np.random.default_rng(0)))
    state = environment.state._replace(pattern=np.array([action]))
    for pair in range(64):
        if pair // 8 == pair % 8:
            continue
        seen = set()
        for seed in range(12):
            state.rng[0] = seed * 7919
            state.places[:2] = divmod(pair, 8)
            dynamics.move_good_and_evil(state)
            seen.add(int(state.places[0] * 8 + state.places[1]))
        assert seen == {int(heads[pair]), int(tails[pair])}


def by_agent(**heights):
    names = {"q_learning": "q-learning"}
    return {names.get(name, name): make for name, make in heights.items()}


def eight_cells(**changed):
    usual = by_agent(
        oracle=flat(0.83, 0.003),
        q_learning=rising(0.62, 0.003),
        follower=flat(0.48, 0.003),
        random=flat(0.0, 0.003),
    )
    usual |= by_agent(**changed)
    return simple.Results(POINTS, dict.fromkeys(simple.CYCLES, usual), 0.93)


def holds(statements):
    return [statement.holds for statement in statements]


def test_the_example_agrees_when_it_should():
    first = holds(simple.statements(eight_cells()))
    assert first[:5] == [True] * 5
    assert first[6] is None


def test_the_printed_numbers_tell_readings_apart():
    other = eight_cells(oracle=flat(0.76, 0.003), q_learning=rising(0.55, 0.003))
    results = replace(
        eight_cells(), averages={**eight_cells().averages, "product": other.averages["power"]}
    )
    told = simple.statements(results)[-1].evidence
    assert told.count("do not agree") == 1
    assert "printed numbers do not agree" in told.split("With product")[1].split("With never")[0]
    assert [each.published for each in results.comparisons("power")] == [0.83, 0.625, 0.5]


@pytest.mark.parametrize(
    ("changed", "place"),
    [
        ({"oracle": flat(0.8, 0.003)}, 0),
        ({"random": flat(0.05)}, 1),
        ({"follower": flat(0.9)}, 2),
        ({"oracle": flat(0.6)}, 3),
        ({"q_learning": rising(0.4)}, 4),
        ({"q_learning": flat(0.6)}, 4),
        ({"random": flat(0.0)}, 5),
    ],
)
def test_the_example_can_disagree(changed, place):
    assert simple.statements(eight_cells(**changed))[place].holds is False


def sample_of(cells, slope=-0.002, **heights):
    """Environments of compressed lengths 50 to 150; the learner's rewards fall with them."""
    lengths = np.linspace(50, 150, 40)
    fall = slope * (lengths - 100)[:, np.newaxis]
    averages = by_agent(oracle=flat(0.8), follower=flat(0.3), random=flat(0.0))
    averages |= by_agent(**heights)
    averages["q-learning"] = averages.get("q-learning", rising(0.5)) + fall
    complexity = {COMPRESSED.name: lengths, PRODUCT.name: 100 * lengths}
    return relations.Sample(cells, complexity, POINTS, averages)


def repeated(sample, times):
    """The same environments several times."""
    return replace(
        sample,
        complexity={name: np.tile(each, times) for name, each in sample.complexity.items()},
        averages={name: np.tile(each, (times, 1)) for name, each in sample.averages.items()},
    )


def generated_statements(samples):
    passed = {sample.cells: generated.crossing_of(sample) for sample in samples}
    read = [
        generated.ReadingResult(
            reading, sample.cells, agent.name, 3.0, sample.final(agent.name), 0.5, 0.2
        )
        for reading in generated.READINGS
        for sample in samples
        for agent in (ORACLE, FOLLOWER)
    ]
    return generated.statements(samples, passed, read)


def test_sizes_that_do_not_matter_agree_and_a_slower_learner_is_seen():
    same = {"follower": flat(0.3)}
    samples = [
        sample_of(3, q_learning=rising(0.8), oracle=flat(0.85), **same),
        sample_of(6, q_learning=rising(0.6), oracle=flat(0.8), **same),
        sample_of(9, q_learning=rising(0.5), oracle=flat(0.8), **same),
    ]
    samples[0].averages["oracle"][:] = flat(0.86)
    assert holds(generated_statements(samples)) == [True] * 6


def test_sizes_that_matter_are_a_difference_with_its_reason():
    samples = [sample_of(cells, oracle=flat(height)) for cells, height in ((3, 0.6), (9, 0.9))]
    order, oracle, follower, *_ = generated_statements(samples)
    assert order.holds is True
    assert oracle.holds is False
    assert "only the connections" in oracle.reason
    assert follower.holds is True
    assert follower.reason == ""


def test_complexity_affects_the_learner_only():
    samples = [sample_of(3), sample_of(9)]
    related = relations.all_relations(samples)
    affected = relations.hardly_affected(samples, related, Q_LEARNING)
    assert (affected.holds, affected.reason) == (False, "")
    for measure in MEASURES:
        learner, random = (
            relations.learner_falls(samples, related, agent, measure)
            for agent in (Q_LEARNING, RANDOM)
        )
        assert learner.holds is True
        assert (random.holds, random.reason) == (False, "")
        by_place = relations.relations_of(related, Q_LEARNING, measure)
        slope = by_place["9-cells"].slope.value
        assert slope == pytest.approx(-0.2, abs=0.03)


def test_both_measures_have_rows_and_figures_of_their_own():
    related = relations.all_relations([sample_of(3), sample_of(9)])
    rows = relations.relation_rows(related)
    assert {row["measure"] for row in rows} == {"compressed-length", "product"}
    figures = relations.relation_figures(related)
    assert len(figures) == 2 * len(rows) == 32
    for what in ("slope", "correlation"):
        one, other = (figures[f"oracle.9-cells.{mark}{what}"] for mark in ("", "product."))
        assert one == pytest.approx(other)


def test_one_environment_far_out_is_a_reason():
    samples = [sample_of(3), sample_of(9)]
    samples[0].complexity[PRODUCT.name][0] = 1e6
    related = relations.all_relations(samples)
    short, far = (
        relations.learner_falls(samples, related, Q_LEARNING, measure) for measure in MEASURES
    )
    assert short.holds is True
    assert far.holds is False
    assert "one environment lies far from all others" in far.reason
    assert "The product there is 1,000,000, the next" in far.reason
    reading = relations.compare_measures(samples, Q_LEARNING)
    assert reading.holds is None
    assert "lowest 1%" in reading.evidence


@pytest.mark.parametrize("far", [1, 2, 3])
def test_few_environments_far_out_leave_it_undecided_who_is_affected(far):
    samples = [repeated(sample_of(cells), 8) for cells in (3, 9)]
    before = relations.hardly_affected(samples, relations.all_relations(samples), ORACLE)
    assert (before.holds, before.reason) == (True, "")
    samples[0].complexity[PRODUCT.name][:far] = 1e6
    after = relations.hardly_affected(samples, relations.all_relations(samples), ORACLE)
    assert after.holds is False
    assert bool(after.reason) == (far < 3)
    assert ("one environment lies far", "two environments lie far", "")[far - 1] in after.reason


def test_complexities_are_those_of_the_class():
    (samples, *_) = relations.draw_samples(environments=3, interactions=10)
    exercises = shared.draw_exercises(Lambda(cells=3, stop=0.01), 3, 10, seed=3)
    for number, exercise in enumerate(exercises):
        length = Lambda().complexity(exercise.instance)
        pattern = len(exercise.instance.data["pattern"])
        assert samples.complexity["compressed-length"][number] == length
        assert samples.complexity["product"][number] == length * pattern


def test_no_setting_of_the_library_gives_both_printed_lengths():
    texts = shared.SPACE + shared.PATTERN, "20122220022222200222222002"
    for level, strategy in product(range(1, 10), range(5)):
        lengths = []
        for text in texts:
            compressor = zlib.compressobj(level, strategy=strategy)
            lengths.append(len(compressor.compress(text.encode()) + compressor.flush()))
        assert lengths != [complexity.PRINTED_LENGTH, 19]
    separated = f"{shared.SPACE}|{shared.PATTERN}"
    assert compressed_length(separated) == complexity.PRINTED_LENGTH
    assert compressed_length(texts[1]) == 19


@pytest.mark.parametrize("reading", shared.READINGS)
def test_every_reading_gives_valid_environments(reading):
    environment_class = shared.READINGS[reading](cells=6, stop=0.01)
    exercises = shared.draw_exercises(environment_class, 5, 10)
    for exercise in exercises:
        assert environment_class.build(exercise.instance).actions >= 2
        assert len(exercise.instance.data["space"].split("|")) == 6
    assert exercises == shared.draw_exercises(environment_class, 5, 10)


def test_whole_turns_occur_only_where_they_are_read():
    def longest(reading):
        exercises = shared.draw_exercises(shared.READINGS[reading](cells=3, stop=1), 50, 10)
        spaces = (read_space(exercise.instance.data["space"]) for exercise in exercises)
        return max(abs(step) for space in spaces for cell in space.displacements for step in cell)

    assert longest(shared.WHOLE_TURNS) == 3
    assert longest(shared.USUAL) == 2


def test_other_agents_change_the_learner_and_its_slope():
    others = {"oracle": flat(0.801), "follower": flat(0.301)}
    apart = [sample_of(cells) for cells in (3, 9)]
    same = [sample_of(cells, q_learning=rising(0.501), **others) for cells in (3, 9)]
    worse = [sample_of(cells, -0.004, q_learning=rising(0.35), **others) for cells in (3, 9)]
    among_random = apart[0].final(Q_LEARNING.name) + flat(-0.1)[:, 0]
    changed = social.statements(apart, worse, relations.all_relations(worse), among_random)
    assert holds(changed) == [True] * 6
    unchanged = social.statements(apart, same, relations.all_relations(same), among_random)
    assert holds(unchanged) == [True, True, False, True, True, False]
    assert all(statement.reason for statement in unchanged if statement.holds is False)


@pytest.mark.parametrize(("change", "reason"), [(0.003, "0.0030 at most"), (0.03, "")])
def test_a_change_in_one_environment_leaves_it_undecided_who_is_affected(change, reason):
    apart, joint = ([sample_of(cells) for cells in (3, 9)] for _ in range(2))
    for sample in joint:
        sample.averages["oracle"][:] += flat(0.001) / 100
        sample.averages["follower"][:] += flat(0.001) / 100
    joint[0].averages["follower"][0] += change
    _, follower, *_ = social.statements(
        apart, joint, relations.all_relations(joint), apart[0].final(Q_LEARNING.name)
    )
    assert follower.holds is False
    assert reason in follower.reason
    assert bool(follower.reason) == bool(reason)


SMALL = {"environments": 6, "interactions": 60}


@pytest.mark.parametrize(
    ("experiment", "name", "size"),
    [
        (simple, "lambda-simple", {"runs": 4, "interactions": 60}),
        (generated, "lambda-generated", SMALL),
        (complexity, "lambda-complexity", SMALL),
        (social, "lambda-social", SMALL),
    ],
    ids=lambda given: given if isinstance(given, str) else "",
)
def test_a_small_experiment_is_written(experiment, name, size, tmp_path, step_by_step):
    parts = []
    result = experiment.reproduce(tmp_path, lambda _, done: parts.append(done), **size)
    assert result.name == name
    assert parts == sorted(parts)
    assert 0 <= parts[0] < parts[-1] < 1
    assert {row["agent"] for row in result.rows} == {agent.name for agent in REFERENCES}
    assert json.loads(json.dumps(result.to_json()))["figures"] == dict(result.figures)
    for path in result.files.values():
        assert path.stat().st_size > 0


@pytest.mark.slow
def test_the_example_in_full(tmp_path):
    result = simple.reproduce(tmp_path)
    assert all(statement.holds is not False for statement in result.statements)
    expected = {"random": 0.0, "follower": 0.48, "oracle": 0.83, "q-learning": 0.62}
    for name, value in expected.items():
        assert result.figures[name] == pytest.approx(value, abs=0.01)


@pytest.mark.slow
@pytest.mark.parametrize("experiment", [generated, complexity, social])
def test_what_differs_in_full_has_a_reason(experiment, tmp_path):
    result = experiment.reproduce(tmp_path)
    assert result.agrees
    assert sum(statement.holds is True for statement in result.statements) >= 2
