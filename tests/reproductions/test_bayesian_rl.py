"""The settings of the Bayesian RL benchmark, and what each is told."""

import pytest

from omnimeter.catalogue import Kind, make, parse
from omnimeter.contract import InvalidInputError
from omnimeter.protocols.sample import read_spec
from omnimeter.reproductions import bayesian_rl
from omnimeter.reproductions.bayesian_rl import PROBLEMS, Campaign


@pytest.mark.parametrize("problem", PROBLEMS)
def test_an_inaccurate_prior_has_the_rewards_of_the_test_and_all_transitions(problem):
    agent = parse(Kind.AGENT, "beb")
    parameters = Campaign(False, 1, []).evaluation(problem, agent).protocol.parameters
    prior, test = (
        make(Kind.ENVIRONMENT, read_spec(Kind.ENVIRONMENT, parameters[name])).distribution()
        for name in ("prior", "environment_class")
    )
    assert (prior.theta == 1).all()
    assert (prior.rewards == test.rewards).all()
    assert (prior.initial == test.initial).all()


def test_a_wrong_parameter_is_found_before_anything_is_run(tmp_path):
    only = ["gc random", "gc e-greedy(eps=0)"]
    with pytest.raises(InvalidInputError, match="no parameter 'eps'"):
        bayesian_rl.accurate(tmp_path, quick=True, only=only)
    assert not list(tmp_path.iterdir())
