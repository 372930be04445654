"""The conformance suite for agents."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from omnimeter.contract import (
    Agent,
    EnvironmentClass,
    Instance,
    Move,
    Observation,
    OmnimeterError,
    stream,
)
from omnimeter.interaction.handles import AgentFault, read_move, view_of
from omnimeter.interaction.loop import seated
from omnimeter.testing.environments import exercise, left_alone, seeded_globally


def probes() -> list[EnvironmentClass]:
    """Single observations and vectors, in one form or several, chance and none."""
    from omnimeter.environments.buttons import Buttons
    from omnimeter.environments.cups import Cups
    from omnimeter.environments.lambda_class import Lambda

    return [Buttons("bananas"), Buttons("balanced"), Cups(3, 5), Lambda(cells=4, actions=3)]


Moves = list[tuple[int, int]]
"""Actions (-1 to stop) and declared delays in nanoseconds."""

Place = tuple[EnvironmentClass, Instance]


class AgentSuite:
    """The rules for agents, as tests.

    Set ``agent_class``, or override ``make``. An agent may refuse environments that are not made
    for it by raising an ``OmnimeterError`` in ``begin``; one of those tried must suit it. Where a
    class has several forms of observation, the agent gets the one that it asks for.

    Attributes:
        agent_class: Makes a new agent when it is called.
        interactions: How long each environment is tried.
        seed: The root of all chance.
    """

    agent_class: Callable[[], Agent]
    interactions: int = 50
    seed: int = 0

    def make(self) -> Agent:
        """A new agent."""
        return type(self).agent_class()

    def environments(self) -> list[EnvironmentClass]:
        """The environment classes in which the agent is tried."""
        return probes()

    def places(self) -> list[Place]:
        """The environments that suit the agent, as it sees them."""
        found = []
        for number, environment_class in enumerate(self.environments()):
            rng = stream(self.seed, "suite", "instance", number).generator()
            instance = environment_class.draw(rng)
            agent = self.make()
            seen = seated(environment_class, [view_of(agent)])
            briefing = seen.build(instance).briefing()
            try:
                agent.begin(briefing, stream(self.seed, "suite", "briefing").generator())
            except OmnimeterError:
                continue
            found.append((seen, instance))
        assert found, (
            "The agent refused all environments that were tried. "
            "Override environments() to give it some that it is made for."
        )
        return found

    def play(self, place: Place, agent: Agent | None = None) -> Moves:
        """What an agent does in an environment, always with the same chances."""
        agent = agent or self.make()
        environment = place[0].build(place[1])
        reward, observation = environment.start(stream(self.seed, "environment").generator())
        agent.begin(environment.briefing(), stream(self.seed, "agent").generator())
        moves: Moves = []
        for _ in range(self.interactions):
            moves.append(read_move(agent.act(reward, observation), environment.actions))
            if moves[-1][0] < 0:
                break
            reward, observation = environment.step(moves[-1][0])
        agent.finish(reward, observation)
        return moves

    def test_agents_are_agents(self) -> None:
        """A new object every time, with the methods of an agent."""
        agent = self.make()
        assert isinstance(agent, Agent), f"{agent!r} is not an omnimeter.Agent."
        assert self.make() is not agent, "make must give a new agent every time."

    def test_answers_are_actions(self) -> None:
        """Every answer is an action that exists, perhaps with a delay, or STOP."""
        for place in self.places():
            try:
                self.play(place)
            except AgentFault as trouble:
                raise AssertionError(trouble.fault.message) from trouble

    def test_may_finish_at_any_time(self) -> None:
        """An exercise can end before the first action, and after any other."""
        for place in self.places():
            for count in (0, 1):
                agent = self.make()
                environment = place[0].build(place[1])
                reward, seen = environment.start(stream(self.seed, "environment").generator())
                agent.begin(environment.briefing(), stream(self.seed, "agent").generator())
                for _ in range(count):
                    agent.act(reward, seen)
                    reward, seen = environment.step(0)
                try:
                    agent.finish(reward, seen)
                except Exception as error:
                    raise AssertionError(
                        f"finish raised {type(error).__name__} after {count} actions: {error}. "
                        "No agent knows when an exercise ends."
                    ) from error

    def test_same_chance_same_answers(self) -> None:
        """A new agent with the same chance does the same."""
        for place in self.places():
            assert self.play(place) == self.play(place), (
                "With the same generator and the same percepts the agent acted differently. "
                "All its chance must come from the generator given to begin."
            )

    def test_chance_comes_from_the_generator(self) -> None:
        """Nobody else's generator is used or listened to."""
        for place in self.places():
            found = []
            for seed in (1, 2):
                with seeded_globally(seed), left_alone():
                    found.append(self.play(place))
            assert found[0] == found[1], "The agent's answers depend on the global generators."

    def test_observations_are_left_alone(self) -> None:
        """An agent does not write into what it is shown."""
        for place in self.places():
            agent = Watched(self.make())
            self.play(place, agent)
            assert not agent.tampered, "The agent changed the observation that it was given."

    def test_agents_share_nothing(self) -> None:
        """What one agent went through does not change what another does."""
        places = self.places()
        before = [self.play(place) for place in places]
        after = [self.play(place) for place in reversed(places)][::-1]
        assert before == after, (
            "A new agent behaved differently after others had played. "
            "Keep what an agent learns in the object, not in its class or module."
        )

    def test_compiled_and_stepwise_agree(self) -> None:
        """With kernels, the compiled loop leaves the same traces as the ordinary one."""
        from omnimeter.interaction import run_single

        if self.make().kernels is None:
            return
        for environment_class, instance in self.places():
            each = [exercise(instance, self.interactions, self.seed, 0)]
            both = [
                run_single(environment_class, self.make, each, record=True, compiled=compiled)
                for compiled in (True, False)
            ]
            (compiled,), (stepwise,) = both
            assert compiled.same_as(stepwise), (
                "The compiled loop and the ordinary one differ. All that an agent knows must be "
                "in its state, which prepare makes anew."
            )


class Watched(Agent):
    """Another agent, watched for what it does to the observations that it is given.

    Attributes:
        tampered: Whether it changed one.
    """

    def __init__(self, agent: Agent) -> None:
        self._agent = agent
        self.begin = agent.begin  # type: ignore[method-assign] # nothing to watch there
        self.tampered = False

    def act(self, reward: float, observation: Observation) -> int | Move:  # noqa: D102 - see Agent
        before = np.copy(observation)
        answer = self._agent.act(reward, observation)
        self.tampered |= not np.array_equal(before, observation)
        return answer

    def finish(self, reward: float, observation: Observation) -> None:  # noqa: D102 - see Agent
        before = np.copy(observation)
        self._agent.finish(reward, observation)
        self.tampered |= not np.array_equal(before, observation)
