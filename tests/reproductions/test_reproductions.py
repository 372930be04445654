"""The reproductions: what they decide, that they can disagree, and what they write."""

import csv
import json
import re
from dataclasses import replace
from importlib import import_module
from math import inf
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from omnimeter.catalogue import Kind, forget, listing
from omnimeter.cli import display, reproduce
from omnimeter.cli.app import app
from omnimeter.estimation import Estimate
from omnimeter.payoffs import Diminishing, Total
from omnimeter.reproductions import payoff_table, shared, stopping, students
from omnimeter.reproductions.shared import Comparison, Reproduced, Statement, Verdict


@pytest.fixture
def three_features(monkeypatch):
    """Only the features that are decided at once: 6, 8 and 12."""
    chosen = [5, 7, 11]
    for module, name, whole in (
        (payoff_table, "FEATURES", payoff_table.FEATURES),
        (payoff_table, "PUBLISHED", payoff_table.PUBLISHED),
    ):
        monkeypatch.setattr(module, name, tuple(whole[place] for place in chosen))
    monkeypatch.setattr(payoff_table, "FEATURES", payoff_table.FEATURES)
    holds = payoff_table.Verdict(True, "not run here")
    monkeypatch.setattr(payoff_table, "stopping_resisted", lambda *_: holds)
    monkeypatch.setattr(payoff_table, "modulation_resisted", lambda *_: holds)
    monkeypatch.setattr(payoff_table, "LONG", 10.0)
    monkeypatch.setattr(payoff_table, "POLICY_RUNS", 200)


def test_the_published_table_has_its_size_and_its_row_of_eleven():
    assert len(payoff_table.FEATURES) == len(payoff_table.PUBLISHED) == 12
    assert all(len(row) == len(payoff_table.COLUMNS) == 8 for row in payoff_table.PUBLISHED)
    assert sum(row[-1] == "Yes" for row in payoff_table.PUBLISHED) == 11


def test_every_reason_belongs_to_a_cell_and_says_something():
    names = {column.name for column in payoff_table.COLUMNS}
    for (feature, column), reason in payoff_table.REASONS.items():
        assert 1 <= feature <= 12
        assert column in names
        assert len(reason) > 50


def test_cells_are_decided_by_running(three_features, tmp_path):
    result = payoff_table.reproduce(tmp_path)
    names = [column.name for column in payoff_table.COLUMNS]
    for row, published_row in zip(result.rows, payoff_table.PUBLISHED, strict=True):
        assert [row[name] for name in names] == list(published_row)
        assert [row[f"{name}.published"] for name in names] == list(published_row)
    assert result.figures["cells.agreeing"] == 24
    assert json.loads(json.dumps(result.to_json()))["name"] == "payoff-table"
    for path in result.files.values():
        assert path.stat().st_size > 0
    with result.files["evidence"].open() as file:
        assert len(list(csv.DictReader(file))) == 24


def test_a_cell_that_differs_without_a_reason_is_a_disagreement(
    three_features, tmp_path, monkeypatch
):
    rows = [list(row) for row in payoff_table.PUBLISHED]
    rows[1][7] = "No"
    monkeypatch.setattr(payoff_table, "PUBLISHED", rows)
    result = payoff_table.reproduce(tmp_path)
    assert result.rows[1]["balanced-diminishing"] == "Yes"
    assert result.rows[1]["balanced-diminishing.published"] == "No"
    assert not result.agrees


def gain(value, low, high):
    return Estimate(value, low, high, 0.999, 2000)


@pytest.mark.parametrize(
    ("gains", "holds", "evidence"),
    [
        ([gain(-0.1, -0.2, 0.0), gain(0.0, -0.01, 0.01)], True, "b, gains 0 [-0.01, 0.01]"),
        ([gain(0.3, 0.01, 0.6), gain(0.1, 0.08, 0.12)], False, "b, gains 0.1 [0.08, 0.12]"),
        ([gain(9.0, 7.5, 10.5), gain(0.0, -60, 60)], False, "a, gains 9 [7.5, 10.5]"),
        ([gain(0.0, -0.5, 0.5), gain(0.0, 0.0, 0.0)], False, "undecided: the best policy tried, a"),
        ([gain(-0.1, -0.3, 0.1)], False, "undecided"),
    ],
)
def test_gains_are_judged_by_their_intervals(gains, holds, evidence):
    verdict = payoff_table.judge_gains(dict(zip("ab", gains, strict=False)))
    assert verdict.holds is holds
    assert evidence in verdict.evidence
    assert ("undecided" in verdict.evidence) is ("undecided" in evidence)


def test_few_runs_are_undecided(monkeypatch):
    monkeypatch.setattr(payoff_table, "POLICY_RUNS", 3)
    monkeypatch.setattr(payoff_table, "LONG", 10.0)
    verdict = payoff_table.stopping_resisted(
        payoff_table.BALANCED, payoff_table.COLUMNS[4].payoffs[0]
    )
    assert not verdict.holds
    assert verdict.evidence.startswith("undecided")


def test_policies_that_change_nothing_have_finite_intervals(monkeypatch):
    monkeypatch.setattr(payoff_table, "POLICY_RUNS", 100)
    unmoved = payoff_table.gain_of(
        payoff_table.BOUNDED, "bounded", Total(), "stopper", threshold=0.5
    )
    assert unmoved.value == 0
    assert -0.5 < unmoved.low < 0 < unmoved.high < 0.5


def walk_total(interactions):
    """The expected total of stopping after a bad reward in switch-balanced, step by step."""
    good = [0.0]  # with so many actions left in the good cell
    for _ in range(interactions):
        good.append(0.95 * (1 + good[-1]) - 0.05)
    return (good[interactions] - 0.95 + 0.05 * (1 + good[interactions - 1])) / 2


def test_a_balanced_environment_in_which_stopping_after_a_bad_reward_pays(monkeypatch):
    """One of 20 actions changes the sign of all rewards: the gain is 9, however long the test."""
    monkeypatch.setattr(payoff_table, "POLICY_RUNS", 1000)
    for interactions in (1, 2, 100, 1000):
        exact = payoff_table.exact_gain(interactions)
        assert exact == pytest.approx(walk_total(interactions))
    assert exact == pytest.approx(9)
    kind = payoff_table.ERGODIC
    for seconds in (10, 100):
        gained = payoff_table.gain_of(kind, "switch-balanced", Total(), "sulker", seconds)
        assert 0 < gained.low < payoff_table.exact_gain(10 * seconds) < gained.high
    assert not payoff_table.stopping_resisted(replace(kind, tried=("switch-balanced",)), Total())[0]


def test_diminishing_history_resists_stopping_in_the_long_run_only():
    sulker = ("switch-balanced", Diminishing(), "sulker")
    early, late = (payoff_table.gain_of(payoff_table.ERGODIC, *sulker, tau) for tau in (10, 1000))
    assert early.low > 0.2
    assert late.high < payoff_table.NEGLIGIBLE


def test_where_the_start_decides_for_ever_diminishing_history_does_not_resist_stopping(monkeypatch):
    monkeypatch.setattr(payoff_table, "POLICY_RUNS", 500)
    gained = payoff_table.gain_of(payoff_table.BALANCED, "fate", Diminishing(), "sulker")
    assert gained.low < 1 / 6 < gained.high
    assert gained.low > payoff_table.NEGLIGIBLE


def test_the_walk_of_a_sulker(monkeypatch):
    from omnimeter.environments.buttons import Buttons
    from omnimeter.reproductions import shared

    for trace in shared.simulate(Buttons("switch-balanced"), shared.Sulker(wait=2.0), 20, 30):
        waits = np.diff(trace.times) / 1e9
        assert waits == pytest.approx(np.where(trace.rewards[:-1] < 0, 2.0, 0.1))
    for trace in shared.simulate(Buttons("switch-balanced"), shared.Sulker(), 20, 30):
        assert (trace.rewards[:-1] > 0).all()


def test_exponential_decisions_keep_half_of_the_history():
    zero, approximation = payoff_table._exponential_cost()
    assert zero.holds is False
    assert "n* is 2, 4, 6 with t_(i+1) = 2 t_i, and 0, 0, 0" in zero.evidence
    assert zero.reason
    assert approximation.holds


def test_the_payoff_decides_not_the_paper(monkeypatch):
    """A payoff that pays for inactivity is recognised, whatever the column says."""

    class Inactivity:
        def __call__(self, trace):
            return -float(len(trace))

    monkeypatch.setattr("omnimeter.reproductions.payoff_table.PAYOFFS", [Inactivity()])
    from omnimeter.reproductions import payoff_table

    payoff = payoff_table.PAYOFFS[0]
    payoff_table.values_of.cache_clear()
    try:
        assert not payoff_table.speed_rewarded(payoff_table.BALANCED, payoff).holds
        assert not payoff_table.bounded(payoff_table.BALANCED, payoff).holds
        assert payoff_table.scale_independent(payoff_table.BALANCED, payoff).holds
    finally:
        payoff_table.values_of.cache_clear()


def test_stopping_curves(tmp_path, monkeypatch):
    monkeypatch.setattr(stopping, "RUNS", 400)
    result = stopping.reproduce(tmp_path)
    assert [each.holds for each in result.statements] == [True, True, True, False, None, True, True]
    assert result.agrees
    assert result.figures["stopper.average.tau-3000"] > 0.4
    assert abs(result.figures["random.average.tau-3000"]) < 0.01
    assert {path.suffix for path in result.files.values()} == {".csv", ".png", ".svg"}
    rows = result.to_json()["rows"]
    assert len(rows) == 4 * 5 * 46
    with result.files["table"].open() as file:
        assert [float(row["value"]) for row in csv.DictReader(file)] == [r["value"] for r in rows]


def curve(payoff, value):
    """A constant curve, or one with these values."""
    seconds = np.geomspace(0.1, 3000, 46)
    values = np.broadcast_to(value, seconds.shape).astype(float)
    return stopping.Curve(
        "stopper", payoff, seconds, values, values - 0.1, values + 0.1, seconds * 0
    )


def test_statements_about_stopping_can_fail():
    flat = {
        (agent, payoff): curve(payoff, 0.05)
        for agent in stopping.AGENTS
        for payoff in stopping.PAYOFFS
    }
    above, below, tends, everywhere, total = stopping.statements(flat)
    assert [each.holds for each in (above, below, tends)] == [False, False, False]
    assert everywhere.holds  # no difference to 0 is shown
    assert "above 0 at 0 of 35 points" in above.evidence
    assert "at most 0.0500" in below.evidence
    assert "shrinks in 0 of 3 steps" in tends.evidence
    assert "contains 0 at 35 of 35 points" in total.evidence
    high = flat | {("stopper", "total"): curve("total", 2), ("random", "diminishing"): curve("", 1)}
    high |= {("stopper", "diminishing"): curve("", 0), ("sulker", "diminishing"): curve("", 1)}
    _, below, tends, _, total = stopping.statements(high)
    assert not below.holds  # another policy would be above 0 in the end
    assert "does not contain 0" in tends.evidence
    assert "contains 0 at 0 of 35 points" in total.evidence
    assert "0.0 % of the runs end above 0" in total.evidence


def limit_of_the_average(stays):
    """The expected 1 / N, where N is the first time at which a fair walk is above 0, at 1."""
    longest = 1500
    below = np.zeros(longest + 1)  # the probability of each place at 0, -1, -2, ...
    below[0], limit = 1.0, 0.0
    moves = (1 - stays) / 2
    for step in range(1, longest + 1):
        limit += moves * below[0] / step
        up, down = np.append(below[1:], 0.0), np.append(0.0, below[:-1])
        below = stays * below + moves * (up + down)
    return limit


def test_the_limits_of_the_average_are_those_of_the_findings():
    """Rewards of -1, 0 and 1 as in the balanced example, and of -1 and 1 as in the footnote."""
    assert limit_of_the_average(1 / 3) == pytest.approx(0.456, abs=5e-4)
    assert limit_of_the_average(0.0) == pytest.approx(np.pi / 2 - 1, abs=1e-4)


def test_diminishing_history_keeps_the_unlucky_first_reward():
    """At 0.25 s a lucky agent has stopped and lost its reward, an unlucky one has it still."""
    from omnimeter.agents.opportunists import Stopper
    from omnimeter.environments.buttons import Buttons
    from omnimeter.reproductions import shared

    for trace in shared.simulate(Buttons("balanced"), Stopper(rate=10), 0.25, 200):
        first = trace.rewards[0]
        assert Diminishing()(trace) == min(first, 0.0)


def test_lemma_4_waits_where_acting_would_lose(monkeypatch):
    monkeypatch.setattr(stopping, "RUNS", 1000)
    results = stopping.lemma_4()
    assert results["total"].waits == 0
    assert results["total"].while_waiting is None
    for what in ("average", "diminishing"):
        assert results[what].while_waiting.high < 0 < results[what].when_acting.low


def test_students(tmp_path):
    result = students.reproduce(tmp_path)
    assert result.agrees
    assert result.figures["s2.average"] == pytest.approx(3 / 7, abs=1e-15)
    differing = [statement for statement in result.statements if statement.holds is False]
    assert len(differing) == 1
    assert differing[0].reason
    assert result.figures["s1.per-hour"] == result.rows[0]["per-hour"] == 20
    assert result.figures["s1.v-sqrt-n-per-tau"] == pytest.approx(2 / 3 * 15**0.5 * 2)
    numbers = [value for row in result.rows for name, value in row.items() if name != "student"]
    assert all(isinstance(value, int | float) for value in numbers)


def shown(capsys, monkeypatch, rows, comparisons=(), **files):
    monkeypatch.setenv("COLUMNS", "100")
    reproduce.print_result(Reproduced("name", "title", [], {}, rows, files, comparisons))
    return capsys.readouterr().out


def test_published_table_is_printed_below_ours(capsys, monkeypatch):
    rows = [
        {"feature": "1", "one-sum": "Yes", "one-sum.published": "Yes"},
        {"feature": "2", "one-sum": "*", "one-sum.published": "No"},
    ]
    ours, theirs = shown(capsys, monkeypatch, rows).split("Published")
    assert [line.split() for line in ours.split("\n")[-4:-2]] == [["1", "Yes"], ["2", "*", "!"]]
    assert [line.split() for line in theirs.split("\n")[3:5]] == [["1", "Yes"], ["2", "No"]]


def test_a_printed_number_is_compared_in_standard_errors(capsys, monkeypatch):
    values = [0.4, 0.6, 0.5, 0.7]  # their mean is 0.55, their spread 0.129
    error = np.std(values, ddof=1) * np.sqrt(1 + 1 / 4)
    near = Comparison.of("near", values, 0.6, decimals=1)
    far = Comparison.of("far", values, 1.004, decimals=3)
    assert near.z == 0  # 0.55 is 0.6 when rounded
    assert far.z == pytest.approx((0.55 - 1.0035) / error)
    assert Comparison.of("unknown spread", [0.5, 0.5], 0.4).z == np.inf
    assert shared.agree([near])
    assert not shared.agree([near, far])
    told = shown(capsys, monkeypatch, [], comparisons=[near, far])
    assert told.split("far")[1].split()[3:] == ["1.004", "0.1443", f"{far.z:.2f}"]


def test_more_numbers_may_be_farther_away():
    assert shared.max_z(1) == pytest.approx(1.96, abs=0.001)
    assert shared.max_z(10) == pytest.approx(2.807, abs=0.001)


def test_long_tables_are_left_to_their_file(capsys, monkeypatch):
    rows = [{"number": number, "value": number / 7} for number in range(31)]
    told = shown(capsys, monkeypatch, rows, table=Path("all.csv"))
    assert "31 rows are in all.csv." in told
    assert "0.1429" not in told
    assert "0.1429" in shown(capsys, monkeypatch, rows[:30])


def test_figures_are_the_same_bytes_each_time(tmp_path):
    from matplotlib.figure import Figure

    from omnimeter.reproductions.plots import write_figure

    written = []
    for name in ("one", "two"):
        figure = Figure()
        figure.subplots().plot([1, 3, 2])
        written.append(write_figure(figure, tmp_path / name / "plot"))
    for kind in written[0]:
        assert written[0][kind].read_bytes() == written[1][kind].read_bytes()


@pytest.mark.parametrize(
    ("holds", "reason", "verdict"),
    [
        (True, "", "agrees"),
        (True, "unused", "agrees"),
        (None, "", None),
        (False, "because", "differs, explained"),
        (False, "", "differs"),
    ],
)
def test_only_an_unexplained_difference_disagrees(holds, reason, verdict):
    statement = Statement("claim", "evidence", holds, reason)
    result = Reproduced(
        "name", "title", [Statement("other", "", True), statement], {}, findings="docs/page.md#here"
    )
    assert statement.verdict == verdict
    assert result.verdict == (verdict or "agrees")
    assert result.agrees is (verdict != "differs")
    data = result.to_json()
    explained = verdict == "differs, explained"
    assert data["statements"][1]["verdict"] == verdict
    assert data["statements"][1]["findings"] == result.findings * explained
    assert data["statements"][0]["findings"] == ""


def test_the_worst_verdict_is_that_of_the_whole():
    explained, unexplained = Statement("", "", False, "because"), Statement("", "", False)
    assert Reproduced("x", "", [unexplained, explained], {}).verdict is Verdict.DIFFERS
    assert Reproduced("x", "", [], {}).verdict is Verdict.AGREES


def test_every_experiment_has_a_section_of_findings():
    root = Path(__file__).parents[2]
    headings = re.findall(r"^#+ (.+)$", (root / "docs/findings.md").read_text(), re.MULTILINE)
    anchors = {re.sub(r"[^\w -]", "", each.lower()).replace(" ", "-") for each in headings}
    for entry in listing(Kind.REPRODUCTION):
        module = import_module(entry.location.partition(":")[0])
        source = Path(module.__file__).read_text()
        results = source.count("return Reproduced(")
        sections = re.findall(r'^        findings="docs/findings.md#(.+)",$', source, re.MULTILINE)
        assert len(sections) == results == 1, entry.id
        assert sections[0] in anchors


EXPERIMENT = """
from omnimeter.reproductions.shared import Reproduced, Statement
import omnimeter as om

def experiment(out, tell):
    tell("first", 0.5)
    tell("second", 0.75)
    {body}
    reason = "the paper rounds"
    return Reproduced("mine", "Mine", [Statement("a claim", "numbers", {holds}, {reason})], {{}})
"""


@pytest.fixture
def experiment(tmp_path, monkeypatch):
    """Carries out an experiment from a file; its exit code."""
    monkeypatch.chdir(tmp_path)

    def carry_out(body="pass", holds=True, reason="''"):
        text = EXPERIMENT.format(body=body, holds=holds, reason=reason)
        (tmp_path / "mine.py").write_text(text)
        forget()
        return CliRunner().invoke(app, ["reproduce", "mine.py:experiment"])

    return carry_out


@pytest.mark.parametrize(
    ("holds", "reason", "told", "code"),
    [
        (True, "''", "agrees: a claim", 0),
        (False, "reason", "differs, explained: a claim", 0),
        (False, "''", "differs: a claim", 1),
    ],
)
def test_the_exit_code_tells_the_verdict(experiment, holds, reason, told, code):
    done = experiment(holds=holds, reason=reason)
    assert (done.exit_code, told in done.stdout) == (code, True), done.output
    assert ("because: the paper rounds" in done.stdout) is (told[:10] == "differs, e")
    assert f"verdict: {told.removesuffix(': a claim')} (" in done.stdout


def test_progress_is_told_where_there_is_no_terminal(experiment, monkeypatch):
    assert "0.5" not in experiment().stderr
    monkeypatch.setattr(display, "LINES", 0.0)
    done = experiment()
    assert "Reproducing mine: 50% after 0 s. first\n" in done.stderr
    assert "Reproducing mine: 75% after 0 s. second\n" in done.stderr
    assert "Reproducing" not in done.stdout


def test_an_interrupted_experiment_tells_what_is_kept(experiment):
    interrupt = "raise KeyboardInterrupt"
    done = experiment(interrupt)
    assert done.exit_code == 130
    assert "Interrupted. Nothing is kept: the same command begins anew.\n" in done.stderr
    stored = "om.evaluate('random', 'cups', exercises=2, interactions=9, seed=0, out=out / 'one')"
    done = experiment(f"{stored}; {interrupt}")
    kept = "Interrupted. Kept in reproductions/mine: 2 finished exercises of 1 evaluation."
    assert f"{kept} The same command goes on there.\n" in done.stderr


def test_an_unwritable_path_is_reported_clearly(tmp_path):
    from omnimeter.contract.errors import StoreError

    (tmp_path / "file").write_text("")
    with pytest.raises(StoreError, match="--out"):
        students.reproduce(Path(tmp_path / "file" / "below"))


@pytest.mark.slow
def test_the_whole_table(tmp_path):
    result = payoff_table.reproduce(tmp_path)
    assert result.agrees
    assert result.figures["cells"] == 96
    assert result.figures["cells.agreeing"] == 89
    assert result.figures["cells.explained"] == 7
    assert result.figures["diminishing.yes"] == 10
    with result.files["evidence"].open() as file:
        assert not [row for row in csv.DictReader(file) if "undecided" in row["evidence"]]


def test_infinite_numbers_have_no_place_in_json():
    result = Reproduced("slopes", "Slopes", [], {"slope": inf}, [{"low": -inf, "n": 3}])
    data = result.to_json()
    assert data["figures"] == {"slope": None}
    assert data["rows"] == [{"low": None, "n": 3}]
