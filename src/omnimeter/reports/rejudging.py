"""A new measure over old records: what an evaluation says under another payoff."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from omnimeter.catalogue import Kind, make
from omnimeter.contract import InvalidInputError, Outcome, Payoff, Spec, StoreError
from omnimeter.protocols import Evaluation, Result, summarise

if TYPE_CHECKING:
    from omnimeter.results import Record


def with_payoff(evaluation: Evaluation, payoff: Spec) -> Evaluation:
    """The same evaluation, had its protocol been given this payoff."""
    protocol = evaluation.protocol
    changed = {**protocol.parameters, "payoff": payoff.to_json()}
    return replace(evaluation, protocol=replace(protocol, parameters=changed))


def rejudge(record: Record, payoff: Spec) -> Result:
    """What an evaluation says when its stored traces are judged by another payoff.

    Nothing is run: the result is the one that the evaluation with this payoff would have had. Only
    an adaptive test would have gone another way; its exercises stay those that its own payoff led
    to.

    Args:
        record: The evaluation; it must have kept its traces.
        payoff: What turns a trace into a number.

    Raises:
        InvalidInputError: The evaluation kept no traces, or its protocol takes no payoff.
        StoreError: Some of its traces are missing or damaged.
    """
    evaluation = Evaluation.from_json(record.spec)
    if not evaluation.traces:
        raise InvalidInputError(
            f"{record.path} kept no traces, so that no other payoff can be computed.",
            "Run the evaluation again in another directory, with --traces.",
        )
    judge: Payoff = make(Kind.PAYOFF, payoff)
    changed = with_payoff(evaluation, payoff)
    changed.make_protocol()  # a protocol that takes no payoff is found before the traces are read
    return summarise(changed, _judged(record, judge))


def _judged(record: Record, payoff: Payoff) -> list[Outcome]:
    """The stored outcomes with new payoffs; what a fault cut short still has none."""
    outcomes = record.outcomes()
    wanted = {each.exercise.key for each in outcomes if each.fault is None}
    payoffs = {key: payoff(trace) for key, trace in record.traces() if key in wanted}
    if missing := len(wanted - payoffs.keys()):
        raise StoreError(
            f"{missing} of {len(wanted)} traces are missing in {record.path}.",
            "Bring back the files in 'traces', or run the evaluation again elsewhere.",
        )
    return [
        outcome if outcome.fault else replace(outcome, payoff=payoffs[outcome.exercise.key])
        for outcome in outcomes
    ]
