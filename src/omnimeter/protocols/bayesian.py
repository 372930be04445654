"""The protocol of the Bayesian RL benchmark: a prior, a test distribution, returns and times."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from itertools import islice
from statistics import fmean
from typing import Literal

import numpy as np

from omnimeter.catalogue import Kind, given_spec, make
from omnimeter.contract import (
    Budget,
    EnvironmentClass,
    Exercise,
    Instance,
    InvalidInputError,
    Outcome,
    Outcomes,
    Score,
    Spec,
    stream,
)
from omnimeter.contract.errors import check_count
from omnimeter.contract.prior import Preparation, horizon, require_discount
from omnimeter.contract.protocol import Design, Metric
from omnimeter.protocols.sample import (
    FIRST_BLOCK,
    FixedProtocol,
    Planned,
    SpecLike,
    Units,
    draw,
    mean_score,
)
from omnimeter.protocols.times import Times, measured_times

METRICS = (
    Metric("offline_s", "offline", "The time of the offline phase, once for all MDPs.", "seconds"),
    Metric(
        "online_s", "per decision", "The mean time of a decision, of all trajectories.", "seconds"
    ),
    Metric("online_cpu_s", "its processor time", "The mean processor time of one.", "seconds"),
    Metric("online_p99_s", "99 %", "The time that 99 % of the decisions do not exceed.", "seconds"),
    Metric("online_max_s", "longest", "The time of the longest decision.", "seconds"),
)


def times_of(outcomes: Sequence[Outcome]) -> dict[str, float]:
    """The secondary metrics: computation times in seconds; empty where nothing was measured."""
    times = sum(measured_times(outcomes).values(), Times())
    if not times.decisions:
        return {}
    values = {
        "offline_s": times.offline,
        "online_s": times.mean,
        "online_cpu_s": times.mean_cpu,
        "online_p50_s": times.quantile(0.5),
        "online_p90_s": times.quantile(0.9),
        "online_p99_s": times.quantile(0.99),
        "online_max_s": times.longest,
    }
    return {name: value for name, value in values.items() if value is not None}


class BayesianRL(FixedProtocol):
    """Agents with a prior act in MDPs from a test distribution; returns and times are compared.

    Section 3 of the Bayesian RL benchmark. Each agent has one offline phase, in which it is told
    the prior, the discount factor and the horizon. Then it acts in the same MDPs as all others, a
    new agent in each trajectory. The score is the mean discounted return over MDPs; the time of the
    offline phase and of every decision is measured and shown beside it. The paper prints the
    interval with N in place of the square root of N; its own numbers have the root, as ours.

    Args:
        environment_class: The class of the test distribution.
        prior: The class of the prior; by default the same: the accurate case.
        exercises: The number N of MDPs; 20 by default.
        interactions: The number T of steps of a trajectory; by default so many that later rewards
            matter less than the truncation error.
        gamma: The discount factor.
        truncation_error: How much the return may miss, where no number of steps is given.
        trajectories: How many trajectories each agent has in each MDP, with other random numbers.
            MDPs are then the independent units.
        noise: ``common``: all agents meet the same random numbers in an MDP. ``independent``: each
            agent has its own, as in the paper's library.
        payoff: What a trajectory is worth; by default ``discounted-sum-v1`` with this gamma.
        seed: The root of all random numbers.
    """

    grows = "exercises"

    def __init__(
        self,
        environment_class: SpecLike,
        prior: SpecLike | None = None,
        exercises: int | None = None,
        interactions: int | None = None,
        gamma: float = 0.95,
        truncation_error: float = 0.01,
        trajectories: int = 1,
        noise: Literal["common", "independent"] = "common",
        payoff: SpecLike | None = None,
        seed: int = 0,
    ) -> None:
        require_discount(gamma)
        self.mdps = FIRST_BLOCK if exercises is None else exercises
        for number, what in (
            (self.mdps, "MDPs"),
            (trajectories, "trajectories per MDP"),
            (interactions, "steps"),
        ):
            if number is not None:
                check_count(number, what)
        self.environment_spec = given_spec(Kind.ENVIRONMENT, environment_class)
        self.prior_spec = given_spec(
            Kind.ENVIRONMENT, environment_class if prior is None else prior
        )
        self.exercises = self.mdps * trajectories
        if trajectories > 1:
            self.grows = ""
            self.indivisible = "the second trajectories begin where the MDPs end"
        self.gamma, self.trajectories, self.noise = gamma, trajectories, noise
        self._horizon, self._error = interactions, truncation_error
        default = {"id": "discounted-sum-v1", "parameters": {"gamma": gamma}}
        super().__init__(payoff or default, seed)
        self.check_payoff(Budget(interactions=interactions or 1))

    @cached_property
    def environment_class(self) -> EnvironmentClass:
        """The class of the test distribution.

        Raises:
            InvalidInputError: It or the prior is no distribution of MDPs, or they do not fit.
        """
        test: EnvironmentClass = make(Kind.ENVIRONMENT, self.environment_spec)
        prior: EnvironmentClass = make(Kind.ENVIRONMENT, self.prior_spec)
        known, first = prior.distribution(), test.build(self._drawn(test, 0))
        shapes = (known.states, known.actions), (first.space.count, first.actions)
        if shapes[0] != shapes[1] or not first.space.single:
            texts = [f"{states} states and {actions} actions" for states, actions in shapes]
            raise InvalidInputError(
                f"The prior {self.prior_spec.label} has {texts[0]}, but "
                f"{self.environment_spec.label} has {texts[1]}.",
                "Give a prior with the shape of the environment class.",
            )
        return test

    def _drawn(self, made: EnvironmentClass, number: int) -> Instance:
        return draw(made, self.environment_spec, self.seed, number)

    @cached_property
    def budget(self) -> Budget:
        """The length of a trajectory."""
        if self._horizon is not None:
            return Budget(interactions=self._horizon)
        made = self.environment_class
        highest = max(map(abs, made.build(self._drawn(made, 0)).rewards))
        return Budget(interactions=horizon(highest, self.gamma, self._error))

    @cached_property
    def preparation(self) -> Preparation:
        """What agents are told before all exercises."""
        steps = self.budget.interactions or 1
        return Preparation(self.prior_spec, self.gamma, steps, self.seed)

    def classes(self) -> list[EnvironmentClass]:
        """The class of the test distribution."""
        return [self.environment_class]

    def plan_exercise(self, number: int) -> Planned:
        """One trajectory in each MDP, then a second in each, and so on."""
        if number >= self.mdps:
            return self.planned(number % self.mdps)
        made, instance = self.environment_class, self._drawn(self.environment_class, number)
        complexity = made.complexity(instance)
        return Planned(self.environment_spec, made, instance, self.budget, complexity)

    def drawn(self) -> Iterator[tuple[EnvironmentClass, Instance]]:
        """The MDPs."""
        return islice(super().drawn(), self.mdps)

    def exercise(self, agent: Spec, number: int, planned: Planned) -> Exercise:
        """A measured trajectory of a prepared agent."""
        exercise = super().exercise(agent, number, planned)
        seed = self.seed
        if self.noise == "independent":  # the instance is drawn, so that only noise depends on it
            seed = stream(self.seed, "noise").child(agent.stream_key).seed
        return replace(exercise, preparation=self.preparation, measured=True, seed=seed)

    def score(self, outcomes: Sequence[Outcome]) -> Score:
        """The mean return over MDPs with its 95 % interval, and the computation times."""
        outcomes = Outcomes.of(outcomes)
        score = mean_score(self._units(outcomes), 1, self.bounds(), outcomes.fault_counts())
        parts = {**score.parts, **times_of(outcomes)}
        return replace(score, count=int(outcomes.paid.sum()), parts=parts)

    def values(
        self,
        outcomes: Sequence[Outcome],
        moments: int | None = None,  # noqa: ARG002
    ) -> Mapping[int, float]:
        """The mean return in each MDP, where there are several trajectories."""
        if self.trajectories == 1:
            return {}
        units = self._units(Outcomes.of(outcomes))
        mdps, returns = units.numbers[units.paid] % self.mdps, units.payoffs[units.paid]
        return dict(zip(mdps.tolist(), returns.tolist(), strict=True))

    def _units(self, outcomes: Outcomes) -> Units:
        """Each MDP with the mean return of its trajectories, unless one of them failed."""
        units = Units.of(outcomes)
        if self.trajectories == 1:
            return units
        mdps, firsts, group = np.unique(
            units.numbers % self.mdps, return_index=True, return_inverse=True
        )
        by_mdp = np.argsort(group, kind="stable")
        ends = np.cumsum(np.bincount(group, minlength=len(mdps))).tolist()
        returns = units.payoffs[by_mdp].tolist()
        means = [fmean(returns[a:b]) for a, b in zip([0, *ends], ends, strict=False)]
        # One that failed, the first of several, stands for its MDP.
        failed, places = np.unique(group[~units.paid], return_index=True)
        chosen = firsts.copy()
        chosen[failed] = np.flatnonzero(~units.paid)[places]
        order = np.argsort(firsts)
        chosen = chosen[order]
        faulty = units.faulty[chosen]
        return Units(units.numbers[chosen], np.array(means)[order], units.paid[chosen], faulty)

    def settings(self) -> dict[str, str]:
        """Prior, discount factor and noise."""
        accurate = self.prior_spec == self.environment_spec
        noise = "the same for all agents" if self.noise == "common" else "each agent's own"
        return {
            "Prior": f"{self.prior_spec.label} ({'accurate' if accurate else 'inaccurate'})",
            "Discount factor": f"{self.gamma:g}",
            "Random numbers of transitions": noise,
        }

    def describe(self) -> Design:
        """MDPs as units, each a trajectory or several of the same length."""
        several = self.trajectories > 1
        return replace(
            super().describe(),
            unit="repetition" if several else "exercise",
            units=self.mdps,
            length=self.budget.interactions,
            environments=self.environment_spec.label,
            metrics=METRICS,
        )
