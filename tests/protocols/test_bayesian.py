"""The protocol of the Bayesian RL benchmark: what is drawn, told, measured and scored."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import omnimeter
from omnimeter import Briefing, InvalidInputError, MDPDistribution, Prior, Spec
from omnimeter.contract.exercise import Outcome
from omnimeter.protocols.bayesian import BayesianRL, times_of
from omnimeter.results import Record
from prior_parts import Changing, Counting, Failing, Unserialisable

HERE = Path(__file__).parents[1] / "support" / "prior_parts.py"


@pytest.fixture(autouse=True)
def _own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What agents prepare is kept here; kernels are compiled elsewhere."""
    from omnimeter.execution import preparing

    def moved(function: Callable[..., Any]) -> Callable[..., Any]:
        def call(*arguments: Any) -> Any:
            with monkeypatch.context() as context:
                context.setenv("OMNIMETER_CACHE_DIR", str(tmp_path / "cache"))
                return function(*arguments)

        return call

    monkeypatch.setattr(preparing, "keep", moved(preparing.keep))
    monkeypatch.setattr(preparing, "kept", moved(preparing.kept))


def run(*agents: Any, **given: Any) -> omnimeter.Result:
    chosen = {"prior": "gc", "exercises": 5, "interactions": 20, "seed": 0, **given}
    return omnimeter.evaluate(list(agents), "gc", **chosen)


def outcomes(result: omnimeter.Result) -> list[Outcome]:
    return [each for done in result.judged.outcomes.values() for each in done]


def test_the_horizon_follows_from_the_truncation_error() -> None:
    lengths = {name: BayesianRL(name).budget.interactions for name in ("gc", "gdl", "grid")}
    assert lengths == {"gc": 194, "gdl": 162, "grid": 194}
    assert BayesianRL("gc", gamma=0.5, truncation_error=0.1).budget.interactions == 8


def test_every_agent_meets_the_same_mdps_and_is_told_the_same() -> None:
    protocol = BayesianRL("gc", prior="gc(variant=uniform)", exercises=3, seed=7)
    one, other = (protocol.propose(Spec(name), []) for name in ("random-v1", "e-greedy-v1"))
    assert [each.instance.key for each in one] == [each.instance.key for each in other]
    assert len({each.instance.key for each in one}) == 3
    told = {each.preparation for each in (*one, *other)}
    (preparation,) = told
    assert preparation is not None
    assert preparation.prior.label == "gc-v1(variant=uniform)"
    assert (preparation.gamma, preparation.horizon, preparation.seed) == (0.95, 194, 7)


def test_noise_is_common_or_each_agents_own() -> None:
    for noise, same in (("common", True), ("independent", False)):
        protocol = BayesianRL("gc", exercises=2, noise=noise)  # type: ignore[arg-type]
        one, other = (protocol.propose(Spec(name), []) for name in ("random-v1", "e-greedy-v1"))
        seeds = [[each.stream("environment").seed for each in part] for part in (one, other)]
        assert (seeds[0] == seeds[1]) is same
        assert [each.instance for each in one] == [each.instance for each in other]


def test_the_return_is_the_discounted_sum_over_exactly_t_steps(tmp_path: Path) -> None:
    result = run("random", traces=True, out=tmp_path / "evaluation")
    (done,) = result.judged.outcomes.values()
    trace = Record(tmp_path / "evaluation").trace(done[0].exercise.key)
    assert trace is not None
    assert len(trace) == 20
    expected = sum(0.95**t * reward for t, reward in enumerate(trace.rewards))
    assert done[0].payoff == pytest.approx(expected, rel=1e-12)
    assert trace.wall_ns is not None
    assert trace.cpu_ns is not None
    assert len(trace.wall_ns) == len(trace.cpu_ns) == 20


def test_a_stopped_trajectory_counts_as_the_lowest_reward() -> None:
    result = run("scripted(actions=[0, 1], repeat=false)")
    assert all(each.interactions == 2 for each in outcomes(result))
    assert all(each.payoff is not None and each.payoff <= 2 * 10 for each in outcomes(result))


@pytest.mark.parametrize("agent", [f"{HERE}:Counting", Counting], ids=["process", "object"])
def test_an_agent_of_ones_own_is_prepared_and_restored(agent: Any) -> None:
    result = run(agent, exercises=2)
    (score,) = result.scores.values()
    assert not score.faults
    assert score.parts["online_s"] > 0
    done = outcomes(result)
    assert {each.remarks["offline"]["digest"] for each in done} == {
        done[0].remarks["offline"]["digest"]
    }
    assert done[0].remarks["online"]["decisions"] == 20


def test_what_was_prepared_is_kept_and_reused(tmp_path: Path) -> None:
    (first,) = omnimeter.prepare(f"{HERE}:Counting", "gc", horizon=20)
    files = list((tmp_path / "cache" / "prepared").glob("*.json"))
    assert [each.stem for each in files] == [first.key]
    assert first.content["best"] == 4
    assert (first.content["gamma"], first.content["horizon"]) == (0.95, 20)
    result = run(f"{HERE}:Counting", exercises=2)
    assert {each.remarks["offline"]["wall_s"] for each in outcomes(result)} == {first.wall_s}
    (again,) = omnimeter.prepare(f"{HERE}:Counting", "gc", horizon=20, again=True)
    assert again.content == first.content
    assert again.wall_s != first.wall_s
    signature, content = files[0].read_text().split("\n")
    forged = json.dumps({**json.loads(content), "wall_s": 123.0})
    for text in (f"{signature}\n{forged}", forged, "{", ""):  # no reason to fail
        files[0].write_text(text)
        (third,) = omnimeter.prepare(f"{HERE}:Counting", "gc", horizon=20)
        assert third.content == first.content
        assert third.wall_s != 123.0


def test_another_prior_seed_gamma_or_horizon_is_another_preparation() -> None:
    first = omnimeter.prepare("random", "gc", horizon=20)[0].key
    for other in (
        omnimeter.prepare("random", "gc(variant=uniform)", horizon=20),
        omnimeter.prepare("random", "gc", horizon=21),
        omnimeter.prepare("random", "gc", horizon=20, gamma=0.9),
        omnimeter.prepare("random", "gc", horizon=20, seed=1),
    ):
        assert other[0].key != first


@pytest.mark.parametrize("name", ["Failing", "Unserialisable"])
@pytest.mark.parametrize("isolated", [False, True])
def test_a_failed_offline_phase_is_a_fault_of_the_agent(name: str, isolated: bool) -> None:
    thing = {"Failing": Failing, "Unserialisable": Unserialisable}[name]
    result = run(f"{HERE}:{name}" if isolated else thing, "random", exercises=3)
    (failed,) = (score for agent, score in result.scores.items() if agent != "random-v1")
    assert failed.value is None
    assert failed.faults == {"agent-error": 3}
    (other,) = (score for agent, score in result.scores.items() if agent == "random-v1")
    assert other.count == 3


def test_an_agent_without_an_offline_phase_takes_no_time_for_it() -> None:
    without, opps = omnimeter.prepare(
        ["random", "opps-ds(formulas=F2, budget=2)"], "gc", again=True
    )
    assert (without.wall_s, without.cpu_s) == (0.0, 0.0)
    assert opps.wall_s > 0


def test_offline_phases_that_differ_are_not_mixed(tmp_path: Path) -> None:
    session = {"out": tmp_path / "evaluation", "exercises": 4}
    run(Changing, **session)
    shards = list((tmp_path / "evaluation" / "outcomes").glob("*.parquet"))
    for shard in shards[:1]:
        shard.unlink()
    left = Record(tmp_path / "evaluation").outcomes()
    if left:  # some of the exercises are still there
        with pytest.raises(InvalidInputError, match="prepared something else"):
            run(Changing, **session)


def test_several_trajectories_per_mdp_are_one_unit() -> None:
    result = run("random", exercises=4, trajectories=3)
    (score,) = result.scores.values()
    assert score.count == len(outcomes(result)) == 12
    (values,) = result.judged.values.values()
    assert sorted(values) == [0, 1, 2, 3]
    assert score.value == pytest.approx(np.mean(list(values.values())))
    keys = {each.exercise.number % 4: each.exercise.instance.key for each in outcomes(result)}
    assert len(set(keys.values())) == 4
    assert len({each.payoff for each in outcomes(result)}) > 4


def test_agents_with_noise_of_their_own_meet_the_same_mdps_and_can_be_compared() -> None:
    result = run("random", "constant", exercises=4, noise="independent")
    (first, second) = result.judged.outcomes.values()
    for one, other in zip(first, second, strict=True):
        assert one.exercise.instance == other.exercise.instance
        assert one.exercise.seed != other.exercise.seed
    assert len(result.decide().candidates) == 2


def test_the_same_scores_in_several_processes() -> None:
    one, two = (run("random", "e-greedy", workers=workers).scores for workers in (1, 2))
    assert [each.value for each in one.values()] == [each.value for each in two.values()]


def test_times_are_merged_over_trajectories() -> None:
    (done, *_) = outcomes(run("random", exercises=1))
    online = {"decisions": 4, "wall_s": 4e-6, "cpu_s": 2e-6, "max_s": 2e-6}
    histogram = {str(round(8 * np.log2(1000))): 3, str(round(8 * np.log2(2000))): 1}
    first = replace(done, remarks={"online": {**online, "histogram": histogram}})
    second = replace(done, remarks={"online": {**online, "max_s": 3e-6, "histogram": histogram}})
    times = times_of([first, second])
    assert times["online_s"] == pytest.approx(1e-6)
    assert times["online_cpu_s"] == pytest.approx(0.5e-6)
    assert times["online_max_s"] == 3e-6
    assert times["online_p50_s"] == pytest.approx(1e-6, rel=0.05)
    assert times["online_p90_s"] == pytest.approx(2e-6, rel=0.05)
    assert times_of([]) == {}


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"gamma": 1.0}, "gamma is 1.0"),
        ({"gamma": 0.0}, "gamma is 0.0"),
        ({"prior": "grid"}, "25 states and 4 actions"),
        ({"prior": "cups"}, "cannot be a prior"),
        ({"trajectories": 0}, "0 trajectories"),
        ({"interactions": 0}, "0 steps"),
        ({"exercises": 0}, "0 MDPs"),
        ({"noise": "none"}, "noise"),
        ({"seconds": 1.0}, "seconds= cannot be given together with prior="),
        ({"joint": True}, "joint= cannot"),
        ({"interactions": None, "truncation_error": 0.0}, "truncation error"),
        ({"prior": None, "gamma": 0.9}, "no effect without prior="),
    ],
)
def test_bad_input_is_one_clear_message(given: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidInputError) as raised:
        run("random", **given)
    assert message in str(raised.value)


def test_an_agent_that_needs_a_prior_says_so() -> None:
    result = omnimeter.evaluate("e-greedy", "gc", exercises=1, interactions=5, seed=0)
    (score,) = result.scores.values()
    assert score.faults == {"agent-error": 1}
    assert "--prior" in str(outcomes(result)[0].fault)


def test_results_name_agents_that_were_told_the_mdp() -> None:
    result = run("optimal", "random", exercises=3, privileged=True)
    told = [each.exercise.agent.id for each in outcomes(result) if "privileged" in each.remarks]
    assert told == ["optimal-v1"] * 3
    assert "optimal-v1* had the view model" in str(result)
    assert result.scores["optimal-v1"].value > result.scores["random-v1"].value  # type: ignore[operator]


class Greedy(Counting):
    """Writes into what it was told."""

    def prepare(self, prior: Prior, rng: np.random.Generator) -> Mapping[str, Any]:
        prior.distribution.theta[:] = 7.0
        return {}


def test_no_agent_can_change_the_prior_of_another() -> None:
    result = run(Greedy, "e-greedy", exercises=4)
    alone = run("e-greedy", exercises=4)
    assert result.scores["python:Greedy"].faults == {"agent-error": 4}
    assert result.scores["e-greedy-v1"].value == alone.scores["e-greedy-v1"].value


class Forgetful(Counting):
    """Cannot take up what it prepared."""

    def restore(self, prior: Prior, prepared: Mapping[str, Any]) -> None:
        raise KeyError("best")


def test_what_cannot_be_taken_up_is_a_fault_of_the_agent() -> None:
    result = run(Forgetful, "random", exercises=3)
    assert result.scores["python:Forgetful"].faults == {"agent-error": 3}
    assert result.scores["random-v1"].count == 3


class Flaky(Counting):
    """Fails in some trajectories."""

    def begin(self, briefing: Briefing, rng: np.random.Generator) -> None:
        super().begin(briefing, rng)
        if rng.random() < 0.3:
            raise RuntimeError("not today")


def test_an_mdp_with_a_failed_trajectory_has_no_value() -> None:
    result = run(Flaky, "random", exercises=8, trajectories=3, seed=1)
    done = result.judged.outcomes[next(a for a in result.judged.outcomes if "Flaky" in a.id)]
    failed = {each.exercise.number % 8 for each in done if each.payoff is None}
    assert 0 < len(failed) < 8
    values = result.judged.values[done[0].exercise.agent]
    assert set(values) == set(range(8)) - failed
    score = result.scores["python:Flaky"]
    assert score.value == pytest.approx(np.mean(list(values.values())))
    assert sum(score.faults.values()) == sum(each.payoff is None for each in done)


def test_an_agent_that_was_told_the_mdp_is_not_chosen() -> None:
    decision = run("optimal", "random", "e-greedy", exercises=5, privileged=True).decide()
    assert "optimal-v1" not in [each.agent.id for each in decision.best]
    ((setting, reason),) = decision.discarded
    assert setting.agent.id == "optimal-v1"
    assert "view model" in reason


def test_tiny_concentrations_can_be_drawn() -> None:
    theta = np.full((2, 1, 2), 1e-300)
    drawn = [MDPDistribution.of(theta, [0, 1]).draw(np.random.default_rng(k)) for k in range(50)]
    assert all(np.allclose(each.sum(axis=2), 1) for each in drawn)
    assert 20 < sum(each[:, 0, 0].sum() for each in drawn) < 80
