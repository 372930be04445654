"""The conformance suite for agents."""

from __future__ import annotations

import json
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from functools import partial
from types import SimpleNamespace
from typing import Any

import numpy as np

from omnimeter.audits.rules import global_randomness
from omnimeter.audits.subject import random_exercise
from omnimeter.contract import (
    Agent,
    Briefing,
    Environment,
    EnvironmentClass,
    Instance,
    InvalidInputError,
    OmnimeterError,
    Prior,
    stream,
)
from omnimeter.interaction import run_single
from omnimeter.interaction.handles import AgentFault, read_move, view_of
from omnimeter.interaction.loop import seated

Case = tuple[EnvironmentClass, Instance]
"""An instance and its class, with the view that the agent asks for."""


def has_offline_phase(agent: Agent) -> bool:
    """Whether an agent makes use of a prior."""
    return type(agent).restore is not Agent.restore


def prepared(
    agent: Agent, environment_class: EnvironmentClass, horizon: int = 50, seed: int = 0
) -> Agent:
    """The agent, after its offline phase for a class where that can be a prior.

    What it prepares is written as JSON and read again, as it is when it is kept.

    Args:
        agent: The agent.
        environment_class: The prior.
        horizon: The number T of steps that the agent is told.
        seed: The root of its randomness.
    """
    if not has_offline_phase(agent):
        return agent
    try:
        prior = Prior(environment_class.distribution(), 0.95, horizon)
    except InvalidInputError:  # the class is no prior
        return agent
    learnt = agent.prepare(prior, stream(seed, "suite", "prepare").generator())
    agent.restore(prior, json.loads(json.dumps(learnt)))
    return agent


def _briefing(case: Case, environment: Environment) -> Briefing:
    """What an agent is told; one that sees scenes takes the function that makes them."""
    return replace(environment.briefing(), scene=partial(case[0].scene, case[1]))


class AgentSuite:
    """The rules for agents, as tests.

    Set ``agent_class``, or override ``make``. An agent may reject environments that are not made
    for it by raising an ``OmnimeterError`` in ``begin``; it must accept one of those tried. Where
    a class has several views, the agent gets the one that it asks for. Where a class can be a
    prior, the agent has had its offline phase for it.

    Attributes:
        agent_class: Makes a new agent when it is called.
        interactions: How long each environment is tried.
    """

    agent_class: Callable[[], Agent]
    interactions: int = 50
    seed: int = 0

    def make(self) -> Agent:
        """A new agent."""
        return type(self).agent_class()

    def environments(self) -> list[EnvironmentClass]:
        """The environment classes in which the agent is tried: of many kinds by default."""
        from omnimeter.environments.buttons import Buttons
        from omnimeter.environments.cups import Cups
        from omnimeter.environments.lambda_class import Lambda
        from omnimeter.environments.pworld import PWorld

        return [
            Buttons("bananas"),
            Buttons("balanced"),
            Cups(3, 5),
            Lambda(cells=4, actions=3),
            PWorld(size=5, targets=2, lookalikes=3),
        ]

    def priors(self) -> list[EnvironmentClass]:
        """Those in which an agent with an offline phase is tried too, after it."""
        from omnimeter.environments.mdp import GeneralisedChain

        return [GeneralisedChain()]

    def made_for(self, environment_class: EnvironmentClass) -> Agent:
        """A new agent, after its offline phase where the class can be a prior."""
        return prepared(self.make(), environment_class, self.interactions, self.seed)

    def cases(self) -> list[Case]:
        """The environments that the agent accepts."""
        accepted = []
        further = self.priors() if has_offline_phase(self.make()) else []
        for number, environment_class in enumerate([*self.environments(), *further]):
            rng = stream(self.seed, "suite", "instance", number).generator()
            instance = environment_class.draw(rng)
            agent = self.made_for(environment_class)
            seen = seated(environment_class, [view_of(agent)])
            briefing = _briefing((seen, instance), seen.build(instance))
            with suppress(OmnimeterError):
                agent.begin(briefing, stream(self.seed, "suite", "briefing").generator())
                accepted.append((seen, instance))
        advice = "Override environments() to give it some that it is made for."
        assert accepted, f"The agent rejected all environments that were tried. {advice}"
        return accepted

    def play(
        self, case: Case, agent: Agent | None = None, interactions: int | None = None
    ) -> list[tuple[int, int]]:
        """The actions (-1: stop) and delays in ns of an agent, always with the same seeds."""
        agent = agent or self.made_for(case[0])
        environment = case[0].build(case[1])
        reward, observation = environment.start(stream(self.seed, "environment").generator())
        agent.begin(_briefing(case, environment), stream(self.seed, "agent").generator())
        moves: list[tuple[int, int]] = []
        for _ in range(self.interactions if interactions is None else interactions):
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

    def test_actions_are_valid(self) -> None:
        """Every action exists, perhaps with a delay, or is STOP."""
        for case in self.cases():
            try:
                self.play(case)
            except AgentFault as error:
                raise AssertionError(error.fault.message) from error

    def test_may_finish_at_any_time(self) -> None:
        """An exercise can end before the first action, and after any other."""
        for case in self.cases():
            for count in (0, 1):
                try:
                    self.play(case, interactions=count)
                except AgentFault:
                    continue  # an invalid action breaks another rule
                except Exception as error:
                    raise AssertionError(
                        f"An exercise of {count} actions raised {type(error).__name__}: {error}. "
                        "An agent does not know when an exercise ends."
                    ) from error

    def test_same_seed_same_actions(self) -> None:
        """A new agent with the same seed acts the same."""
        for case in self.cases():
            assert self.play(case) == self.play(case), (
                "With the same generator and the same percepts the agent acted differently. "
                "All its randomness must come from the generator given to begin."
            )

    def test_randomness_comes_from_the_generator(self) -> None:
        """No other generator is used."""
        for case in self.cases():
            problem = global_randomness(partial(self.play, case))
            assert problem is None, problem

    def test_observations_are_not_modified(self) -> None:
        """An agent does not write into its observations."""

        def guarded(method: Callable[[float, Any], Any]) -> Callable[..., Any]:
            def call(reward: float, observation: Any) -> Any:
                before = np.copy(observation)
                result = method(reward, observation)
                same = np.array_equal(before, observation)
                assert same, "The agent changed the observation that it was given."
                return result

            return call

        for case in self.cases():
            agent = self.made_for(case[0])
            act, finish = guarded(agent.act), guarded(agent.finish)
            guard: Any = SimpleNamespace(begin=agent.begin, act=act, finish=finish)
            self.play(case, guard)

    def test_agents_share_nothing(self) -> None:
        """What one agent experienced does not change what another does."""
        cases = self.cases()
        before = [self.play(case) for case in cases]
        after = [self.play(case) for case in reversed(cases)][::-1]
        assert before == after, (
            "A new agent behaved differently after others had acted. "
            "Keep what an agent learns in the object, not in its class or module."
        )

    def test_compiled_and_stepwise_agree(self) -> None:
        """With kernels, the compiled loop leaves the same traces as the stepwise one."""
        if self.make().kernels is None:
            return
        for environment_class, instance in self.cases():
            exercises = [random_exercise(instance, self.interactions, self.seed, 0)]
            agent = partial(self.made_for, environment_class)
            (compiled,), (stepwise,) = (
                run_single(environment_class, agent, exercises, compiled=each, record=True)
                for each in (True, False)
            )
            assert compiled.same_as(stepwise), (
                "The compiled and the stepwise loop differ. All that an agent knows must be "
                "in its state, which initial_state makes anew."
            )
