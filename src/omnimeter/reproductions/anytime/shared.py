"""Running the universal tests in this process for the experiments of the anytime paper."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from omnimeter.contract import Exercise, Outcome, Payoff, Protocol, Score, Spec
from omnimeter.contract.protocol import Moment
from omnimeter.execution.workers import make_agent, make_environment_class, outcome_of
from omnimeter.interaction import run_single
from omnimeter.protocols.evaluation import Evaluation
from omnimeter.reproductions.shared import Report, silent


@dataclass(frozen=True)
class Taken:
    """A test that an agent has taken.

    Attributes:
        test: The test.
        agent: Who took it.
        outcomes: What came of its exercises, in the order of their numbers.
    """

    test: Protocol
    agent: Spec
    outcomes: Sequence[Outcome]

    @cached_property
    def score(self) -> Score:
        """The score with its interval."""
        return self.test.score(self.outcomes)

    @cached_property
    def values(self) -> Mapping[int, float]:
        """The independent values whose mean the score is, by repetition or else by exercise."""
        return self.test.values(self.outcomes) or {
            each.exercise.number: each.payoff for each in self.outcomes if each.payoff is not None
        }

    @cached_property
    def course(self) -> Sequence[Moment]:
        """Where an anytime test stood after each round."""
        return self.test.course(self.outcomes)


def taken(
    protocol: Spec, agent: Spec, report: Report = silent, chance_of: Spec | None = None
) -> Taken:
    """Let an agent take a whole test.

    Args:
        protocol: The test.
        agent: Who takes it.
        report: Told which part of the test is done, where that is known.
        chance_of: Whose chance the agent has; by default its own. Two that do the same, and have
            the chance of the same agent, then do the same for certain.
    """
    test = Evaluation(protocol, (agent,)).make_protocol()
    known_as = chance_of or agent
    whole = test.expected()
    done: list[Outcome] = []
    while proposed := test.propose(known_as, done):
        done += _outcomes(agent, proposed, test.payoff())
        report(agent.label, len(done) / whole if whole else 0.0)
    return Taken(test, agent, done)


def _outcomes(agent: Spec, exercises: Sequence[Exercise], payoff: Payoff) -> Iterator[Outcome]:
    """What comes of some exercises if this agent takes them, whoever they were meant for.

    Raises:
        RuntimeError: An exercise did not come to its end.
    """
    environment_class = make_environment_class(exercises[0].environment_class)
    traces = run_single(environment_class, lambda: make_agent(agent), exercises)
    for exercise, trace in zip(exercises, traces, strict=True):
        if trace.fault is not None:
            raise RuntimeError(f"{agent.label} failed: {trace.fault.message}")
        yield outcome_of(exercise, trace, payoff)


def part_of(report: Report, number: int, count: int, doing: str | None = None) -> Report:
    """A report of one of several equal parts of a whole.

    Args:
        report: That of the whole.
        number: Which part it is, from 0 on.
        count: How many there are.
        doing: What is done in it; by default what the part itself says.
    """
    return lambda said, done: report(doing or said, (number + min(done, 1.0)) / count)
