"""Agents get the view that they ask for."""

import numpy as np
import pytest

from omnimeter.agents.simple import RandomAgent
from omnimeter.contract import Agent, Budget, Exercise, FaultKind, InvalidInputError, Spec, stream
from omnimeter.environments.cups import Cups
from omnimeter.environments.lambda_class import Lambda
from omnimeter.execution.workers import ExerciseRunner, Isolation
from omnimeter.interaction.adapters import adapt
from omnimeter.interaction.loop import run_stepwise

ASKING = """
from omnimeter import Agent


class Asking(Agent):
    view = "adjacent"

    def begin(self, briefing, rng):
        assert len(briefing.space.sizes) == 1 + briefing.actions, briefing

    def act(self, reward, observation):
        return 0


class Wrong:
    def __init__(self):
        raise RuntimeError("not today")

    def act(self, reward, observation):
        return 0
"""


class Keeper(Agent):
    """Keeps what it sees."""

    def __init__(self, view: str | None = None) -> None:
        self.view = view
        self.seen: list[np.ndarray] = []

    def act(self, reward, observation):
        self.seen.append(observation)
        return 0


def exercise(world: Lambda | Cups, agent: Spec | None = None, name: str = "lambda-v1") -> Exercise:
    return Exercise(
        agent=agent or Spec("keeper"),
        environment_class=Spec(name),
        instance=world.draw(stream(0, "instance").generator()),
        budget=Budget(interactions=5),
        seed=0,
        number=0,
    )


def widths(world: Lambda | Cups, view: str | None) -> set[int]:
    keeper = Keeper(view)
    trace = run_stepwise(world, [keeper], exercise(world))[0]
    assert trace.fault is None
    return {len(each) for each in keeper.seen}


@pytest.mark.parametrize(
    ("view", "width"), [("state", 3), ("adjacent", 4), ("structure", 6), (None, 6), ("pixels", 6)]
)
def test_an_agent_gets_the_view_it_asks_for(view, width):
    assert widths(Lambda(cells=5, actions=3), view) == {width}


def test_an_observation_that_was_set_is_imposed_on_everybody():
    world = Lambda(cells=5, actions=3, view="adjacent")
    assert widths(world, "foresight") == {4}


def test_a_class_with_one_form_shows_that():
    assert widths(Cups(3, 3), "state") == {3}


def test_all_views_show_the_same_world():
    world = Lambda(cells=5, actions=3)
    states, structures = Keeper("state"), Keeper("structure")
    for keeper in (states, structures):
        run_stepwise(world, [keeper], exercise(world))[0]
    assert all(
        np.array_equal(state, structure[:3])
        for state, structure in zip(states.seen, structures.seen, strict=True)
    )


def test_objects_that_only_act_may_ask_too():
    class Something:
        view = "state"

        def act(self, reward, observation):
            return len(observation) - 3

    world = Lambda(cells=5, actions=3)
    trace = run_stepwise(world, [adapt(Something())], exercise(world), record=True)[0]
    assert trace.fault is None
    assert set(trace.actions.tolist()) == {0}


class Arrays:
    """What it calls a view has nothing to do with forms of observation."""

    def view(self):
        return self

    def act(self, reward, observation):
        return 0


class Shy:
    @property
    def view(self):
        raise RuntimeError("no view")

    def act(self, reward, observation):
        return 0


@pytest.mark.parametrize("thing", [Arrays, Shy])
def test_objects_that_mean_something_else_by_the_word_get_the_usual_form(thing):
    world = Lambda(cells=5, actions=3)
    agent = adapt(thing())
    assert agent.view is None
    trace = run_stepwise(world, [agent], exercise(world), record=True)[0]
    assert trace.fault is None
    assert trace.observations.shape[1] == 6


STRANGE = """
from omnimeter import Agent


class Raises(Agent):
    @property
    def view(self):
        raise RuntimeError("no view")

    def act(self, reward, observation):
        return 0


class Method(Agent):
    def view(self):
        return "state"

    def act(self, reward, observation):
        return 0
"""


@pytest.mark.parametrize("isolation", [Isolation.NONE, Isolation.PROCESS])
@pytest.mark.parametrize(
    ("name", "said"), [("Raises", "when naming its view: no view"), ("Method", "asks for the")]
)
def test_agents_that_cannot_name_their_view_are_at_fault(tmp_path, isolation, name, said):
    (tmp_path / "strange.py").write_text(STRANGE)
    runner = ExerciseRunner(isolation)
    try:
        agent = Spec(f"{tmp_path / 'strange.py'}:{name}")
        (trace,) = runner.traces([exercise(Lambda(), agent)])
    finally:
        runner.close()
    assert trace.fault is not None
    assert trace.fault.kind is FaultKind.AGENT_ERROR
    assert said in trace.fault.message


class Unseatable(Lambda):
    """A class that fails when an agent is to be seated."""

    def with_views(self, views):
        raise ZeroDivisionError("no chairs")


def test_a_class_that_fails_to_seat_is_no_fault_of_the_agent():
    trace = run_stepwise(Unseatable(), [Keeper()], exercise(Lambda()))[0]
    assert trace.fault is not None
    assert trace.fault.kind is FaultKind.INFRASTRUCTURE
    assert "ZeroDivisionError" in trace.fault.message


@pytest.mark.parametrize("isolation", [Isolation.NONE, Isolation.PROCESS])
def test_isolation_changes_nothing(tmp_path, isolation):
    (tmp_path / "asking.py").write_text(ASKING)
    agent = Spec(f"{tmp_path / 'asking.py'}:Asking")
    runner = ExerciseRunner(isolation)
    try:
        (trace,) = runner.traces([exercise(Lambda(), agent)], record=True)
    finally:
        runner.close()
    assert trace.fault is None
    assert trace.observations.shape[1] < 20


def test_an_isolated_agent_that_cannot_be_made_ends_in_a_fault_when_asked_for_its_view(tmp_path):
    (tmp_path / "asking.py").write_text(ASKING)
    agent = Spec(f"{tmp_path / 'asking.py'}:Wrong")
    runner = ExerciseRunner(Isolation.PROCESS)
    try:
        (trace,) = runner.traces([exercise(Lambda(), agent)])
    finally:
        runner.close()
    assert trace.fault.kind is FaultKind.AGENT_ERROR
    assert "not today" in trace.fault.message


def test_an_isolated_agent_that_ends_its_process_is_at_fault(tmp_path):
    (tmp_path / "gone.py").write_text("import os\nos._exit(3)\n")
    runner = ExerciseRunner(Isolation.PROCESS)
    try:
        (trace,) = runner.traces([exercise(Lambda(), Spec(f"{tmp_path / 'gone.py'}:Gone"))])
    finally:
        runner.close()
    assert trace.fault is not None
    assert trace.fault.kind is FaultKind.AGENT_ERROR


def test_a_class_for_one_refuses_company():
    with pytest.raises(InvalidInputError, match="one seat"):
        Cups(3, 3).with_views([None, None])
    seated = Lambda(cells=4).with_views(["state", RandomAgent().view])
    assert seated.seat_views == ("state", "structure")
