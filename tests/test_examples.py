"""The examples that users meet first: the demonstration and its agents."""

import re
from pathlib import Path

import pytest

import omnimeter as om

ROOT = Path(__file__).parents[1]
EXAMPLES = ROOT / "examples"


def test_the_agent_of_the_readme_is_in_the_demonstration():
    (shown,) = re.findall(
        r"```python my_agent.py\n(.*?)```", (ROOT / "README.md").read_text(), re.S
    )
    assert (EXAMPLES / "my_agent.py").read_text() == shown
    assert len([line for line in shown.splitlines() if line.strip()]) <= 10


def test_the_demonstration_has_what_the_readme_says(tmp_path):
    campaign = om.campaign(EXAMPLES / "demo.toml", out=tmp_path / "demo")
    tests = [entry.evaluation for entry in campaign.entries]
    agents = {agent.label.rpartition("/")[2] for each in tests for agent in each.agents}
    assert len(tests) == 4
    assert len(agents) == 6
    assert {"q-learning-v1", "my_agent.py:MyAgent", "stayer.py:Stayer"} <= agents
    assert sorted(each.protocol.id for each in tests) == [*["anytime-untimed-v1"] * 3, "battery-v1"]


@pytest.mark.parametrize("environment_class", ["automata", "lambda", "cups"])
def test_the_stayer_stays_with_what_was_rewarded(environment_class):
    result = om.evaluate(
        f"{EXAMPLES / 'stayer.py'}:Stayer", environment_class,
        exercises=2, interactions=40, seed=0, isolation="none", traces=True,
    )  # fmt: skip
    (outcomes,) = result.outcomes.values()
    assert all(each.fault is None for each in outcomes)
    stayed = 0
    for trace in dict(result.record.traces()).values():
        kept = trace.actions[1:] == trace.actions[:-1]
        good = trace.rewards[: len(kept)] > 0
        assert kept[good].all()
        stayed += good.sum()
    assert stayed


@pytest.mark.slow
def test_the_demonstration(tmp_path):
    campaign = om.campaign(EXAMPLES / "demo.toml", out=tmp_path / "demo")
    assert campaign.run().complete
    page = campaign.report().read_text()
    assert "Demonstration" in page
    assert "my_agent.py:MyAgent" in page
