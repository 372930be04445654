"""Table 3 of the anytime test: how its cells are computed and decided, and that they can differ."""

from dataclasses import replace

import pytest

from omnimeter.estimation import Estimate
from omnimeter.reproductions.anytime import table3
from omnimeter.reproductions.anytime.table3 import (
    AUTOMATA,
    FAST_LEARNER,
    KINDS,
    RANDOM,
    SLOW_LEARNER,
    STAGES,
    TORUS,
)
from omnimeter.reproductions.shared import silent

LOWEST, HIGHEST = AUTOMATA.levels
SMALL = (replace(AUTOMATA, fast_rounds=(24, 26)), replace(TORUS, fast_rounds=(20, 22)))


def cell(kind, stage, score=(0.0, -0.01, 0.01), level=(20.0, 19.0, 21.0), levels=None, actions=50):
    return table3.Cell(
        kind,
        stage,
        15,
        Estimate(*score, 0.95, 10),
        Estimate(*level, 0.95, 10),
        levels or (level[1], level[2]),
        actions,
    )


def small(out, report):
    return table3.reproduce(out, report, early=6, long=3, setups=SMALL)


@pytest.fixture(scope="module")
def first(tmp_path_factory):
    """A small table, and what was reported while it was made."""
    reports = []
    out = tmp_path_factory.mktemp("first")
    return small(out, lambda doing, done: reports.append((doing, done))), reports


def test_every_cell_of_the_printed_table_is_there():
    assert set(table3.PUBLISHED) == set(KINDS)
    assert all(len(row) == len(STAGES) for row in table3.PUBLISHED.values())


def test_lengths_are_those_of_the_slots():
    assert table3.length(1) == pytest.approx(1e-6)
    assert table3.length(3) == pytest.approx(1e-6 + 1.5e-6 + 2.25e-6)
    assert table3.length(table3.EARLY) < 1e-3
    assert 120 < table3.length(table3.LATER) < 300


@pytest.mark.parametrize(
    ("seconds", "text"), [(5e-6, "5 µs"), (0.00087, "0.87 ms"), (168, "2.8 min"), (73537, "20 h")]
)
def test_durations_have_a_fitting_unit(seconds, text):
    assert table3.duration(seconds) == text


@pytest.mark.parametrize(
    ("score", "word"),
    [
        ((0.2, 0.1, 0.3), "> 0"),
        ((0.01, -0.01, 0.03), "0"),
        ((0.1, -0.1, 0.3), "unclear"),
        ((-0.03, -0.04, -0.02), "unclear"),
    ],
)
def test_a_score_is_0_only_if_it_is_near_0(score, word):
    assert table3.score_symbol(cell(RANDOM, "early", score)) == word


def test_an_agent_that_never_acted_has_0_whatever_the_interval_says():
    assert table3.score_symbol(cell(SLOW_LEARNER, "early", (0.0, -0.3, 0.3), actions=0)) == "0"


@pytest.mark.parametrize(
    ("kind", "stage", "level", "levels", "word"),
    [
        (SLOW_LEARNER, "early", (17.0, 17.0, 33.0), (LOWEST, LOWEST), "0"),
        (SLOW_LEARNER, "early", (17.4, 17.1, 17.9), (17.0, 19.0), "> 0"),
        (SLOW_LEARNER, "later", (60.0, 50.0, 70.0), (40.0, 80.0), "> 0"),
        (FAST_LEARNER, "early", (60.0, 50.0, 70.0), (40.0, 80.0), ">> 0"),
        (FAST_LEARNER, "early", (36.0, 30.0, 42.0), (20.0, 80.0), "> 0"),
        (FAST_LEARNER, "late", (464.0, 463.0, 465.0), (463.0, HIGHEST), "inf"),
        (FAST_LEARNER, "late", (455.0, 440.0, 465.0), (400.0, HIGHEST), ">> 0"),
        (RANDOM, "early", (18.0, 16.0, 20.0), (17.0, 25.0), "unclear"),
    ],
)
def test_a_level_is_what_the_table_expects_if_that_is_true(kind, stage, level, levels, word):
    assert table3.level_symbol(cell(kind, stage, level=level, levels=levels), AUTOMATA) == word


def results_with(changed):
    """A table in which one cell is another, and all others are as expected."""
    scores = {"0": (0.0, -0.01, 0.01), "> 0": (0.3, 0.2, 0.4)}
    levels = {
        "0": (LOWEST, LOWEST, LOWEST),
        "> 0": (20.0, 19.0, 21.0),
        ">> 0": (60.0, 50.0, 70.0),
        "inf": (HIGHEST, HIGHEST, HIGHEST),
    }
    made = []
    for kind in KINDS:
        for stage in STAGES:
            wanted = table3.expected(kind, stage)
            made.append(cell(kind, stage, scores[wanted.score], levels[wanted.level]))
            if (kind, stage) == (changed.kind, changed.stage):
                made[-1] = changed
    return table3.Results(AUTOMATA, made, {})


def test_a_level_of_a_random_agent_that_stays_low_is_explained():
    statements = table3.statements(results_with(cell(RANDOM, "late")))
    (differs,) = [each for each in statements[:9] if not each.holds]
    assert "for ever" in differs.claim
    assert "4,308 at or below level 29" in differs.reason
    assert "10^752 seconds" in differs.reason


def test_a_score_of_a_random_agent_that_few_repetitions_leave_undecided_is_explained():
    wide = cell(RANDOM, "late", score=(0.0, -0.2, 0.2))
    undecided = replace(wide, score=replace(wide.score, bounded=True))
    reasons = []
    for each in (wide, undecided):
        (differs,) = [s for s in table3.statements(results_with(each))[:9] if not s.holds]
        reasons.append(differs.reason)
    assert reasons[0] == ""
    assert reasons[1].startswith(f"few of the {wide.score.count} repetitions")
    assert "10^752 seconds" in reasons[1]


@pytest.mark.parametrize(
    "changed",
    [
        cell(RANDOM, "late", score=(0.3, 0.2, 0.4)),
        cell(SLOW_LEARNER, "later"),
        cell(FAST_LEARNER, "late", score=(0.3, 0.2, 0.4)),
    ],
)
def test_anything_else_that_differs_has_no_reason(changed):
    statements = table3.statements(results_with(changed))
    (differs,) = [each for each in statements[:9] if not each.holds]
    assert not differs.reason


def test_a_test_that_is_stopped_is_the_beginning_of_a_longer_one():
    setup = replace(AUTOMATA, fast_rounds=(12, 18))
    shorter = replace(AUTOMATA, fast_rounds=(12, 12))
    long = table3.run_to(setup, FAST_LEARNER, "late", 4)
    short = table3.run_to(shorter, FAST_LEARNER, "late", 4)
    stopped = table3.cell_of(setup, FAST_LEARNER, "later", long, 4)
    assert stopped == replace(
        table3.cell_of(shorter, FAST_LEARNER, "late", short, 4), stage="later"
    )
    assert len(long.course) == 18
    assert stopped.score.value == pytest.approx(long.course[11].value)
    assert stopped.level.value == pytest.approx(long.course[11].level)


def test_a_small_table_is_reproduced_to_the_last_byte(first, tmp_path):
    first, reports = first
    second = small(tmp_path, silent)
    assert first.figures == second.figures
    assert [each.evidence for each in first.statements] == [
        each.evidence for each in second.statements
    ]
    for name, path in first.files.items():
        assert path.read_bytes() == second.files[name].read_bytes()
    shares = [done for _, done in reports]
    assert shares == sorted(shares)
    assert 0 <= shares[0] < shares[-1] <= 1
    assert "automata: random very fast agent" in {doing for doing, _ in reports}


def test_an_agent_without_time_stays_at_the_lowest_level_with_0(first):
    figures = first[0].figures
    assert figures["automata.slow.early"] == 0
    assert figures["automata.slow.early.level"] == LOWEST
    assert figures["automata.slow.late.level"] > 0.98 * HIGHEST
    assert figures["automata.fast.late"] > figures["automata.slow.later"] > 0


@pytest.mark.slow
def test_the_table_is_as_expected_but_for_the_levels_of_the_random_agent(tmp_path):
    result = table3.reproduce(tmp_path)
    assert result.agrees
    differing = [each.claim for each in result.statements if each.holds is False]
    assert len(differing) == 2
    assert all("Random" in claim for claim in differing)


def test_a_test_that_is_interrupted_when_all_is_done_is_no_shorter_test():
    def interrupt(doing, done):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        table3.run_to(TORUS, RANDOM, "early", 3, interrupt)
