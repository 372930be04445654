"""What speed is worth: copies that are really the same, what is decided, and that it can differ."""

from dataclasses import replace

import numpy as np
import pytest

from omnimeter.contract import Spec
from omnimeter.execution.workers import make_agent
from omnimeter.interaction import KernelAgent
from omnimeter.reproductions.anytime import shared, speed
from omnimeter.reproductions.anytime.speed import AGENTS, DEFINITIONS, MODEL_LEARNER, RANDOM, Sizes

SMALL = Sizes(environments=12, repetitions=3, slowness=(1, 16, 512))
UNTIMED = DEFINITIONS[0].spec(SMALL)


@pytest.fixture(scope="module")
def small(tmp_path_factory):
    return speed.reproduce(tmp_path_factory.mktemp("speed"), sizes=SMALL)


def test_a_copy_with_the_random_stream_of_the_original_does_the_same():
    original = shared.run_test(UNTIMED, RANDOM.spec)
    twin = shared.run_test(UNTIMED, RANDOM.slowed(7), stream_of=RANDOM.spec)
    other = shared.run_test(UNTIMED, RANDOM.slowed(7))
    assert twin.values == original.values
    assert twin.outcomes[0].last_time != original.outcomes[0].last_time
    assert other.values != original.values


def test_an_agent_that_fails_is_not_averaged_over():
    with pytest.raises(RuntimeError, match="scripted-v1"):
        shared.run_test(UNTIMED, Spec("scripted-v1", {"actions": [7]}))


def test_an_agent_without_kernels_takes_the_same_tests(tmp_path):
    file = tmp_path / "always.py"
    file.write_text(
        "from omnimeter.contract import Agent\n\n\n"
        "class Always(Agent):\n"
        "    def act(self, reward, observation):\n"
        "        return 1\n"
    )
    spec = DEFINITIONS[0].spec(replace(SMALL, environments=2))
    always = Spec(f"{file}:Always")
    plain = shared.run_test(spec, always)
    compiled = shared.run_test(spec, Spec("constant-v1", {"action": 1}))
    assert not isinstance(make_agent(always), KernelAgent)
    assert plain.values == compiled.values
    assert shared.run_test(spec, always, stream_of=Spec("random-v1")).values == compiled.values


def test_parts_of_a_report_make_a_whole():
    reports = []
    part = shared.part_of(lambda doing, done: reports.append((doing, done)), 1, 4, "second")
    part("whatever", 0.5)
    shared.part_of(part, 1, 2)("whatever", 3.0)
    assert reports == [("second", 0.375), ("second", 0.5)]


def test_a_slower_copy_has_less_with_time_and_the_same_without(small):
    figures = small.figures
    for agent in AGENTS:
        for number in (15, 19):
            copies = [figures[f"{agent.name}.definition-{number}.{k}"] for k in SMALL.slowness]
            assert len(set(copies)) == 1
    for number in (17, 18):
        fast, slow, slowest = (
            figures[f"model-learner.definition-{number}.{k}"] for k in SMALL.slowness
        )
        assert fast > slow > slowest
    assert figures["model-learner.definition-17.512"] == 0


def test_at_a_constant_pace_time_is_a_number_of_actions(small):
    for agent in AGENTS:
        with_time = small.figures[f"{agent.name}.definition-17.1"]
        assert with_time == pytest.approx(small.figures[f"{agent.name}.definition-15.1"])


def test_it_is_reproduced_to_the_last_byte(small, tmp_path):
    reports = []
    again = speed.reproduce(tmp_path, lambda _, done: reports.append(done), sizes=SMALL)
    assert again.figures == small.figures
    for name, path in small.files.items():
        assert path.read_bytes() == again.files[name].read_bytes()
    assert reports == sorted(reports)
    assert reports[-1] <= 1


def series(number, *copies, agent=MODEL_LEARNER, noise=0.02):
    """Copies with these scores, with paired noise."""
    (definition,) = [each for each in DEFINITIONS if each.number == number]
    spread = noise * np.random.default_rng(number).standard_normal(40)
    values = {2**place: score + (place + 1) * spread for place, score in enumerate(copies)}
    return speed.Series(agent, definition, values)


@pytest.mark.parametrize(
    ("copies", "holds"),
    [
        ((0.6, 0.4, 0.1), True),
        ((0.6, 0.1, 0.1), True),
        ((0.6, 0.1, 0.3), False),
        ((0.4, 0.4, 0.4), False),
    ],
)
def test_slower_must_be_lower_in_the_end_and_never_higher(copies, holds):
    assert speed.slower_is_not_better(series(17, *copies)).holds is holds


def whole(random=0.0, without=0.5, spread=0.0):
    """Possible results of all agents by all definitions."""
    made = []
    for agent in AGENTS:
        top = without if agent.learns else random
        for number, copies in ((15, (top, top)), (17, (top, 0)), (18, (top, 0)), (19, (top, top))):
            made.append(series(number, *copies, agent=agent))
            if number in speed.UNTIMED:
                same = made[-1].values[1]
                made[-1] = replace(made[-1], values={1: same, 2: same + spread})
    return {(each.agent, each.definition.number): each for each in made}


def test_all_statements_can_hold():
    statements = speed.statements(whole())
    assert len(statements) == 8
    assert all(each.holds for each in statements)


@pytest.mark.parametrize(
    ("changes", "claims"),
    [
        ({"spread": 1e-15}, ["Definition 15", "Definition 19"]),
        ({"random": 0.2}, ["An agent that does not learn"]),
        ({"without": 0.2}, ["Very bad results"]),
    ],
)
def test_each_statement_can_fail(changes, claims):
    failing = [each.claim for each in speed.statements(whole(**changes)) if not each.holds]
    assert len(failing) == len(claims)
    assert all(claim.startswith(start) for claim, start in zip(failing, claims, strict=True))


@pytest.mark.slow
def test_speed_is_worth_what_the_paper_says(tmp_path):
    result = speed.reproduce(tmp_path)
    assert [each.claim for each in result.statements if not each.holds] == []
