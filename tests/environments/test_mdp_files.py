"""MDPs from files: all formats give the same distribution, and errors say where."""

from __future__ import annotations

import json
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import omnimeter
from mdp_files import distribution_text, drawn, experiment_text
from omnimeter.catalogue import Kind, make, parse, with_parameters
from omnimeter.contract import Instance, InvalidInputError, MDPDistribution, Spec
from omnimeter.contract.prior import Preparation
from omnimeter.environments.mdp import MDP, GeneralisedChain, Grid
from omnimeter.environments.mdp.files import StoredMDPs, read_file
from omnimeter.protocols.sample import Sample

CHAIN = GeneralisedChain("library").distribution()
GAUSSIAN = MDPDistribution.of(
    np.arange(1, 19).reshape(3, 2, 3), np.arange(18).reshape(3, 2, 3), -1, np.full((3, 2, 3), 0.5)
)
TOML = """# two states, two actions
theta = [
    [[1, 1], [1, 0]],  # the successors of the first state, for each action
    [[0.5, 2], [1, 1]],
]
rewards = [[0, 1], [-1, 0]]  # for each state and action
initial = [0.5, 0.5]
"""


@pytest.fixture(autouse=True)
def directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def same(one: MDPDistribution, other: MDPDistribution) -> bool:
    pairs = [(getattr(one, name), getattr(other, name)) for name in ("theta", "rewards", "initial")]
    if one.variances is None or other.variances is None:
        variances = one.variances is other.variances
    else:
        variances = np.array_equal(one.variances, other.variances)
    return variances and all(np.allclose(*pair, rtol=1e-14, atol=0) for pair in pairs)


@pytest.mark.parametrize("known", [CHAIN, GAUSSIAN, Grid("library").distribution()])
@pytest.mark.parametrize("name", ["d.json", "d.npz", "d.txt", "d.txt.zz"])
def test_a_distribution_survives_every_format(known: MDPDistribution, name: str) -> None:
    if name.endswith(".json"):
        Path(name).write_text(json.dumps(known.to_json()))
    elif name.endswith(".npz"):
        np.savez(name, **{key: np.array(value) for key, value in known.to_json().items()})
    else:
        content = distribution_text(known).encode()
        Path(name).write_bytes(zlib.compress(content) if name.endswith(".zz") else content)
    assert same(MDP(file=name).distribution(), known)


def test_toml_is_read_with_rewards_in_any_shape() -> None:
    Path("two.toml").write_text(TOML)
    known = MDP(file="two.toml").distribution()
    assert known.theta[1].tolist() == [[0.5, 2], [1, 1]]
    assert known.rewards.tolist() == [[[0, 0], [1, 1]], [[-1, -1], [0, 0]]]
    assert known.initial.tolist() == [0.5, 0.5]
    assert MDP(file="two.toml", rescale=True).distribution().reward_range() == (-1, 1)


def test_a_numpy_initial_state_is_a_number() -> None:
    np.savez("d.npz", theta=CHAIN.theta, rewards=CHAIN.rewards, initial=2)
    assert MDP(file="d.npz").distribution().initial.tolist() == [0, 0, 1, 0, 0]


TEXT = distribution_text(GAUSSIAN)


def edited(line: int, new: str) -> str:
    lines = TEXT.splitlines()
    lines[line - 1] = new
    return "\n".join(lines)


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("no.toml", None, "no.toml cannot be read: No such file"),
        ("no.npz", None, "no.npz cannot be read: No such file"),
        ("a.toml", TOML.replace("[[1, 1]", "[[1, 1"), r"a.toml is not TOML: .*line \d+"),
        ("a.toml", TOML.replace("theta", "tehta"), "unknown key 'tehta'.*Did you mean 'theta'"),
        ("a.toml", TOML.replace("rewards", "# "), "a.toml has no rewards.*Give theta and rewards"),
        ("a.toml", TOML.replace("0.5, 2", "0, -2"), "a.toml: theta of state 1, action 0"),
        ("a.toml", TOML.replace("0.5, 2", "0, 0"), "a.toml: The row of theta of state 1, action 0"),
        ("a.toml", TOML.replace("[[0, 1]", "[[0, 1, 2]"), "a.toml: rewards is not an array"),
        ("a.toml", TOML.replace("[0.5, 0.5]", "4"), "a.toml: The initial state 4 does not exist"),
        ("a.json", '{"theta": [[[1]]],', "a.json, line 1, column 19: this is not JSON"),
        ("a.json", "[1]", "a.json does not hold a table of theta"),
        ("a.npz", "PK", "a.npz is not a whole NumPy file"),
        ("a.txt.zz", "no", "a.txt.zz is not a whole zlib stream"),
        ("a.txt", "", "holds neither a distribution nor MDPs.*Known are .toml"),
        ("a.txt", "Hello\n1\n2\n", "a.txt begins with 'Hello', and holds neither"),
        ("a.txt", edited(3, "MDPs"), "a.txt, line 3: the header has 'MDPs', not 'IMDPDist"),
        ("a.txt", edited(11, "2.5"), "a.txt: the number of states is 2.5.*whole number from 1"),
        ("a.txt", edited(13, "3"), "a.txt: the initial state is 3.*whole number from -1 to 2"),
        ("a.txt", edited(14, "1\t-\t1"), "a.txt, line 14: '-' is not a number"),
        ("a.txt", edited(14, "1\t-1\t1"), "a.txt: theta of state 0, action 0, successor 1 is -1"),
        ("a.txt", edited(20, "0"), "a.txt has Gaussian rewards without variances, or the rev"),
        ("a.txt", TEXT + "1\n", "a.txt goes on after its last number, with 1 more"),
    ],
)
def test_wrong_files_are_named(name: str, content: str | None, message: str) -> None:
    if content is not None:
        Path(name).write_text(content)
    with pytest.raises(InvalidInputError, match=message):
        make(Kind.ENVIRONMENT, parse(Kind.ENVIRONMENT, f"mdp(file={name})"))


def test_every_truncated_distribution_file_is_refused() -> None:
    lines = TEXT.splitlines()
    for length in range(len(lines) - 1):
        Path("cut.txt").write_text("\n".join(lines[: length + 1]))
        with pytest.raises(InvalidInputError, match=r"cut\.txt (is truncated|begins with)"):
            read_file("cut.txt")
    Path("cut.zz").write_bytes(zlib.compress(TEXT.encode())[:-5])
    with pytest.raises(InvalidInputError, match="not a whole zlib stream"):
        read_file("cut.zz")


def test_a_file_and_its_content_cannot_both_be_given() -> None:
    Path("two.toml").write_text(TOML)
    for further in ("theta=[[[1]]]", "rewards=[0,1]", "initial=1", "variances=[1,1]"):
        with pytest.raises(InvalidInputError, match="Both a file and what it holds"):
            make(Kind.ENVIRONMENT, parse(Kind.ENVIRONMENT, f"mdp(file=two.toml,{further})"))


# Experiments


MDPS = drawn(CHAIN, 4)


def write_experiment(text: str) -> None:
    Path("experiment.dat").write_text(text)


def test_the_mdps_of_an_experiment_are_played_in_their_order() -> None:
    write_experiment(experiment_text(CHAIN, MDPS))
    stored = read_file("experiment.dat")
    assert isinstance(stored, StoredMDPs)
    assert (stored.gamma, stored.horizon) == (0.95, 250)
    np.testing.assert_allclose(stored.transitions, MDPS, rtol=1e-14)
    sample = Sample("mdp(file=experiment.dat)", exercises=4, interactions=5)
    drawn = map(sample.planned, range(4))
    for transitions, planned in zip(MDPS, drawn, strict=True):
        seen = planned.environment_class.with_views(["model"]).build(planned.instance)
        remarks = seen.briefing().remarks
        np.testing.assert_allclose(remarks["transitions"], transitions, rtol=1e-12)
        np.testing.assert_array_equal(remarks["rewards"], CHAIN.rewards)
        assert planned.complexity == 30
    longer = Sample("mdp(file=experiment.dat)", exercises=5, interactions=5)
    with pytest.raises(InvalidInputError, match=r"4 MDPs; there is no MDP 4.*at most 4 exercises"):
        list(longer.propose(Spec("random-v1"), []))


def test_draws_among_stored_mdps() -> None:
    write_experiment(experiment_text(GAUSSIAN, drawn(GAUSSIAN, 3)))
    mdps = MDP(file="experiment.dat")
    listed = mdps.members(18, 18, 3)
    assert listed is not None
    assert listed == [mdps.numbered(number) for number in range(3)]
    assert mdps.members(18, 18, 2) is None
    assert mdps.members(1, 17, 9) == []
    rng = np.random.default_rng(0)
    keys = {mdps.draw(rng).key for _ in range(40)}
    assert keys == {each.key for each in listed}
    assert isinstance(mdps.draw(rng, 18), Instance)
    with pytest.raises(InvalidInputError, match=r"no MDP of complexity 17"):
        mdps.draw(rng, 17)
    with pytest.raises(InvalidInputError, match="3 MDPs, not their distribution"):
        mdps.distribution()
    assert MDP().numbered(0) is None
    assert MDP().members(0, 99, 99) is None


EXPERIMENT = experiment_text(CHAIN, MDPS)


@pytest.mark.parametrize(
    ("edit", "message"),
    [
        (lambda text: text[:700], r"experiment.dat, MDP \d is truncated: it ends after \d+ of"),
        (lambda text: text[: text.rindex("0.95")], "truncated: it does not end in gamma"),
        (lambda text: text.replace("0.95\n250", "1.5\n250"), "truncated: it does not end in gamma"),
        (lambda text: text.replace("2\t0\t0\t0\t10", "3\t0\t0\t0\t10", 1), "MDP 1 differs from"),
        (lambda text: text.replace("Serializable\n0\nMDP", "Else\n0\nMDP"), "holds neither"),
    ],
)
def test_wrong_experiment_files_are_named(edit: Callable[[str], str], message: str) -> None:
    write_experiment(edit(EXPERIMENT))
    with pytest.raises(InvalidInputError, match=message):
        MDP(file="experiment.dat")


def test_probabilities_of_an_experiment_must_be_probabilities() -> None:
    write_experiment(experiment_text(CHAIN, [MDPS[0] * 2]))
    with pytest.raises(InvalidInputError, match="state 0, action 0 do not sum to 1"):
        MDP(file="experiment.dat")


# What a file holds is part of what a class is


def test_an_edited_file_is_another_class() -> None:
    Path("two.toml").write_text(TOML)
    first = parse(Kind.ENVIRONMENT, "mdp(file=two.toml)")
    assert first == with_parameters(Spec("mdp-v1"), ["file=two.toml"])
    assert len(first.digest) == 16
    assert first.label == "mdp-v1(file=two.toml)"
    known = make(Kind.ENVIRONMENT, first)
    Path("two.toml").write_text(TOML.replace("[-1, 0]", "[-2, 0]"))
    with pytest.raises(InvalidInputError, match=r"two.toml has changed since the spec"):
        make(Kind.ENVIRONMENT, first)
    second = parse(Kind.ENVIRONMENT, "mdp(file=two.toml)")
    assert second.digest != first.digest
    keys = {Preparation(each, 0.95, 250).key(Spec("random-v1")) for each in (first, second)}
    assert len(keys) == 2
    # only the rewards differ: the instances are the same, the exercises are not
    again = make(Kind.ENVIRONMENT, second)
    rng: Any = [np.random.default_rng(0) for _ in range(2)]
    assert known.draw(rng[0]) == again.draw(rng[1])
    Path("two.toml").unlink()
    with pytest.raises(InvalidInputError, match=r"There is no file 'two.toml'"):
        make(Kind.ENVIRONMENT, second)


def test_results_of_an_edited_file_do_not_mix(tmp_path: Path) -> None:
    Path("two.toml").write_text(TOML)
    settings: Any = {"exercises": 2, "interactions": 5, "out": tmp_path / "results"}
    omnimeter.evaluate("random", Spec("mdp-v1", {"file": "two.toml"}), **settings)
    omnimeter.evaluate("random", "mdp(file=two.toml)", **settings)  # the same
    Path("two.toml").write_text(TOML.replace("[-1, 0]", "[-2, 0]"))
    for given in ("mdp(file=two.toml)", Spec("mdp-v1", {"file": "two.toml"})):
        with pytest.raises(omnimeter.OmnimeterError, match="another evaluation"):
            omnimeter.evaluate("random", given, **settings)
