"""Running whole tests in this process, for the experiments of the anytime paper."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from omnimeter.contract import Outcome, Protocol, Spec
from omnimeter.contract.protocol import Moment
from omnimeter.execution import Isolation, Observer, Options, evaluate
from omnimeter.execution.workers import make_agent, make_environment_class, outcome_of
from omnimeter.interaction import run_single
from omnimeter.protocols.anytime import AnytimeUntimed
from omnimeter.protocols.evaluation import Evaluation
from omnimeter.reproductions.shared import Report, silent


@dataclass(frozen=True)
class CompletedTest:
    """A test that an agent has taken, with the outcomes of its exercises, round by round."""

    test: Protocol
    outcomes: Sequence[Outcome]

    @cached_property
    def values(self) -> Mapping[int, float]:
        """The independent values whose mean the score is, by repetition or else by exercise."""
        return self.test.values(self.outcomes) or {
            each.exercise.number: each.payoff for each in self.outcomes if each.payoff is not None
        }

    @cached_property
    def course(self) -> Sequence[Moment]:
        """The state of an anytime test after each round."""
        return self.test.course(self.outcomes)


def run_test(
    protocol: Spec, agent: Spec, report: Report = silent, stream_of: Spec | None = None
) -> CompletedTest:
    """Let an agent take a whole test.

    Args:
        protocol: The test.
        agent: The agent.
        report: Called with the share of the test that is done, where that is known.
        stream_of: The agent whose random stream it gets; by default its own. Two agents that
            behave alike and have the same stream then take exactly the same actions.

    Raises:
        RuntimeError: An exercise failed.
    """
    evaluation = Evaluation(protocol, (agent,))
    test = evaluation.make_protocol()
    progress = _Progress(report)
    if stream_of is None:
        options = Options(isolation=Isolation.NONE)
        result = evaluate(evaluation, options=options, observer=progress)
        # It may come when all is done, but not yet told to the end.
        if not result.complete or len(progress.outcomes) < len(result.outcomes[agent]):
            raise KeyboardInterrupt
    else:
        # The spec in an exercise keys the agent's random stream and says which agent takes it.
        # Here the two differ, which no evaluation can express.
        progress.started((agent,), test.expected())
        while exercises := test.propose(stream_of, progress.outcomes):
            environment_class = make_environment_class(exercises[0].environment_class)
            traces = run_single(environment_class, lambda: make_agent(agent), exercises)
            pairs = zip(exercises, traces, strict=True)
            progress.finished(agent, [outcome_of(*pair, test.payoff()) for pair in pairs])
    for outcome in progress.outcomes:
        if outcome.payoff is None:
            raise RuntimeError(f"{agent.label} failed: {outcome.fault}")
    return CompletedTest(test, progress.outcomes)


class _Progress(Observer):
    """Collects outcomes as they are finished, and reports the share of the exercises."""

    def __init__(self, report: Report) -> None:
        self.report = report
        self.expected: int | None = None
        self.outcomes: list[Outcome] = []

    def started(self, agents: Sequence[Spec], expected: int | None) -> None:  # noqa: ARG002
        self.expected = expected

    def finished(self, agent: Spec, outcomes: Sequence[Outcome]) -> None:
        self.outcomes += outcomes
        self.report(agent.label, len(self.outcomes) / self.expected if self.expected else 0.0)


def whole_slots(environment_class: str, rounds: int) -> int:
    """The interactions of the first rounds of a repetition of Definition 19."""
    unlimited = AnytimeUntimed(environment_class, 2**62, repetitions=1)
    return sum(unlimited.slots[:rounds])


def part_of(report: Report, number: int, count: int, doing: str | None = None) -> Report:
    """A report for one of several equal parts of a whole.

    Args:
        report: The report for the whole.
        number: Which part it is, from 0 on.
        count: How many there are.
        doing: What is done in it; by default what the part itself reports.
    """
    return lambda text, done: report(doing or text, (number + min(done, 1.0)) / count)
