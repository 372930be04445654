"""``report`` and ``compare`` with several evaluations, with two agents, and with a campaign."""

import json
import shutil
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

import omnimeter as om
from omnimeter.cli import main
from omnimeter.cli.app import app

CUPS = ("-c", "cups", "-i", "40", "--seed", "0")
CAMPAIGN = """
title = "Small"
seeds = [0, 1]
[[agents]]
agent = "random"
[[agents]]
agent = "q-learning"
[[tests]]
name = "cups"
class = "cups"
exercises = 12
interactions = 60
[[tests]]
name = "buttons"
class = "buttons"
exercises = 12
interactions = 60
[run]
executor = "this-process"
"""

BROKEN = """
from omnimeter.contract import Agent

class Broken(Agent):
    def begin(self, briefing, rng):
        self.broken = rng.random() < 0.4

    def act(self, reward, observation):
        if self.broken:
            raise ValueError("no")
        return 0
"""


@pytest.fixture
def omnimeter(monkeypatch, capsys, tmp_path):
    """Types a command in an empty directory."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "160")

    def type_in(*arguments):
        monkeypatch.setattr(sys, "argv", ["omnimeter", *arguments])
        code = 0
        try:
            main()
        except SystemExit as leaving:
            code = leaving.code or 0
        return code, *capsys.readouterr()

    return type_in


@pytest.fixture(scope="module")
def evaluations(tmp_path_factory):
    """Evaluations of one test: of two agents, of a third, of more exercises, and one that grew."""
    folder = tmp_path_factory.mktemp("stored")
    for out, agents, number in [
        ("a", ("random", "cup-presser"), "10"),
        ("b", ("q-learning",), "10"),
        ("c", ("random", "cup-presser", "q-learning"), "30"),
        ("grown", ("random", "cup-presser", "q-learning"), "10"),
        ("grown", ("random", "cup-presser", "q-learning"), "30"),
    ]:
        chosen = [word for agent in agents for word in ("-a", agent)]
        command = ["run", *chosen, *CUPS, "-n", number, "--out", str(folder / out)]
        done = CliRunner().invoke(app, command)
        assert done.exit_code == 0, done.output
    return folder


@pytest.fixture
def stored(evaluations, omnimeter):
    """A copy of these in the present directory."""
    shutil.copytree(evaluations, Path.cwd(), dirs_exist_ok=True)
    return omnimeter


def test_the_report_of_several_is_that_of_one_that_grew(stored):
    code, out, _ = stored("report", "a", "b", "c", "--out", "all.html")
    assert code == 0
    assert "This test had 10 exercises before it was extended" in out
    assert Path("all.html").exists()
    _, whole, _ = stored("report", "grown")
    assert out.partition("report:")[0] == whole.partition("report:")[0]
    code, out, _ = stored("report", "a", "b", "--out", "two.html", "--json")
    data = json.loads(out)
    assert (code, data["directories"], data["report"]) == (0, ["a", "b"], "two.html")
    assert len(data["scores"]) == 3
    assert data["complete"]
    code, out, _ = stored("report", "a", "b", "--latex")
    assert (code, out.count("q-learning")) == (0, 2)
    # What is not there yet is said.
    stored("run", "-a", "random", *CUPS, "-n", "20", "--out", "d")
    _, out, _ = stored("report", "b", "d", "--out", "part.html")
    assert "Not all exercises are done" in out
    assert "the same command" not in out


def test_the_page_of_several_needs_a_place(stored):
    code, out, err = stored("report", "a", "b")
    assert (code, out) == (2, "")
    assert "--out report.html" in err
    code, _, err = stored("report", "a", "nowhere", "--out", "page.html")
    assert code == 4
    assert not Path("page.html").exists()


def test_several_are_compared_whatever_they_have_in_common(stored):
    _, one, _ = stored("compare", "grown", "--json")
    for directories in (("a", "b", "c"), ("c", "b", "a"), ("c", "a")):
        code, out, _ = stored("compare", *directories, "--json")
        merged, whole = json.loads(out), json.loads(one)
        assert code == 0
        for data in (merged, whole):
            data["scores"].sort(key=lambda score: score["label"])
        assert merged == whole


def test_two_agents_are_compared(stored):
    stored("run", "-a", "constant(action=0)", *CUPS, "-n", "30", "--out", "d")
    code, out, _ = stored("compare", "c", "d", "--agent", "cup-presser", "--agent", "random")
    assert code == 0
    assert "cup-presser-v1 is better than random-v1 by" in out
    assert "30 exercises" in out
    assert "By complexity:" in out
    assert "Where they differ most:" in out
    assert "of evaluations" in out
    code, out, _ = stored("compare", "c", "-a", "cup-presser", "-a", "random", "--json")
    data = json.loads(out)
    assert (code, data["verdict"], data["count"]) == (0, "better", 30)
    assert data["test"]["id"] == "sample-v1"
    said = om.load("c").between("cup-presser", "random")
    assert data["needed"]["total"] == said.needed.total
    assert data["interval"] == [said.overall.low, said.overall.high]


def test_remarks_are_of_the_two_agents_alone(omnimeter):
    chosen = ("-a", "random", "-a", "cup-presser", "-a", "constant(action=0)")
    assert omnimeter("run", *chosen, *CUPS, "-n", "3", "--out", "few")[0] == 0
    _, out, _ = omnimeter("compare", "few", "-a", "random", "-a", "cup-presser")
    assert "The intervals of random-v1 and cup-presser-v1 rest on nothing but" in " ".join(
        out.split()
    )
    assert "constant-v1" not in out


@pytest.mark.parametrize(
    ("arguments", "hint"),
    [
        (("-a", "random"), "There must be two agents"),
        (("-a", "random", "-a", "cup-presser", "-a", "q-learning"), "two agents"),
        (("-a", "random", "-a", "random"), "cannot be compared with itself"),
        (("-a", "random", "-a", "q-lerning"), "Did you mean q-learning-v1?"),
        (("-a", "sarsa", "-a", "random"), "sarsa-v1 takes no part"),
        (("-a", "nobody", "-a", "none"), "nobody takes no part"),
        (("-a", "random", "-a", "q-learning", "--reference", "random"), "--reference"),
        (("-a", "random", "-a", "q-learning", "--online-bound", "1"), "--online-bound"),
    ],
)
def test_two_agents_that_cannot_be_compared(stored, arguments, hint):
    code, out, err = stored("compare", "c", *arguments)
    assert (code, out) == (2, "")
    assert hint in " ".join(err.split())


def test_fewer_exercises_for_an_evaluation_that_is_there(stored):
    """It stays as it is, and the message says how it goes on."""
    code, _, err = stored("run", "-a", "random", *CUPS, "-n", "3", "--out", "a")
    assert code == 4
    assert "holds another evaluation" in err
    assert "as many exercises or more" in " ".join(err.split())


def test_a_campaign_stands_for_its_tests(omnimeter):
    Path("study.toml").write_text(CAMPAIGN)
    assert omnimeter("campaign", "run", "study.toml")[0] == 0
    code, out, _ = omnimeter("compare", "study")
    assert code == 0
    assert "cups, against " in out
    assert "buttons, against q-learning-v1:" in out
    code, out, _ = omnimeter("compare", "study", "--reference", "random", "--json")
    data = json.loads(out)
    assert [test["test"] for test in data["tests"]] == ["cups", "buttons"]
    (buttons,) = data["tests"][1]["comparisons"]
    assert (buttons["agent"], buttons["count"]) == ("q-learning-v1", 24)
    assert buttons["verdict"] == "better"
    code, out, _ = omnimeter("compare", "study", "-a", "q-learning", "-a", "random")
    assert code == 0
    assert "Compared in 2 tests under 2 seeds, each with the same weight." in out
    assert "By test:" in out
    _, out, _ = omnimeter("compare", "study", "-a", "q-learning", "-a", "random", "--json")
    data = json.loads(out)
    assert (data["tests"], data["seeds"], data["count"]) == (2, 2, 48)
    said = om.campaign("study").between("q-learning", "random")
    assert data["difference"] == said.overall.difference


def test_a_campaign_says_that_it_is_not_complete_and_what_marks_mean(omnimeter):
    Path("broken.py").write_text(BROKEN)
    plan = CAMPAIGN.replace('agent = "q-learning"', 'agent = "broken.py:Broken"')
    Path("study.toml").write_text(plan.replace('class = "buttons"', 'class = ["buttons", "cups"]'))
    assert omnimeter("campaign", "run", "study.toml")[0] == 3
    pair = ("-a", "broken.py:Broken", "-a", "random")
    for chosen in ((), pair):
        _, out, _ = omnimeter("compare", "study", *chosen)
        assert "† agents with faults of their own" in out
        assert "Not all exercises are done" not in out
        _, data, _ = omnimeter("compare", "study", *chosen, "--json")
        assert json.loads(data)["complete"] is True
    _, results, _ = omnimeter("campaign", "results", "study")
    for name in ("buttons · buttons-v1", "buttons · cups-v1"):
        assert name in results
        assert f"{name}, against random-v1:" in omnimeter("compare", "study")[1]
    shutil.rmtree("study/evaluations/cups-seed-0")
    for chosen in ((), pair):
        _, out, _ = omnimeter("compare", "study", *chosen)
        assert "Not all exercises are done" in out
        _, data, _ = omnimeter("compare", "study", *chosen, "--json")
        assert json.loads(data)["complete"] is False


def test_a_campaign_that_cannot_be_compared_like_that(omnimeter):
    Path("study.toml").write_text(CAMPAIGN)
    Path("other").mkdir()
    campaign = om.campaign("study.toml", out="study")
    with pytest.raises(om.InvalidInputError, match="in no test together"):
        campaign.between("q-learning", "random")
    assert campaign.compare() == {}
    assert campaign.run().complete
    for arguments, hint in [
        (("study", "other"), "A campaign is compared alone"),
        (("study", "--online-bound", "1"), "--online-bound"),
        (("study", "--reference", "sarsa"), "takes no part"),
        (("study", "-a", "q-lerning", "-a", "random"), "Did you mean q-learning-v1?"),
    ]:
        code, out, err = omnimeter("compare", *arguments)
        assert (code, out) == (2, "")
        assert hint in " ".join(err.split())
