"""Agents that are seated beside the one that takes an exercise (standard, section 14)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import accumulate
from math import exp2
from typing import Any

from omnimeter.catalogue import Kind, files_of, given_spec, listing, objects, parts_in
from omnimeter.complexity import compressed_bytes, truncated_binary_length
from omnimeter.contract import InvalidInputError, Spec, stream
from omnimeter.contract.spec import canonical_json, is_spec, read_bytes

STEPS = 10
"""Into so many steps the range of the stored scores is divided. With each that an agent's score
lies farther from the candidate's, it is half as likely to be drawn."""


@dataclass(frozen=True)
class Seating:
    """A seat beside the candidate, and who may sit there.

    Attributes:
        agents: The one agent, or those of which one is drawn for each exercise.
        scores: Where one is drawn: the stored scores of agents, by their ``Spec.stream_key``.
        bits: The code lengths of the agents, where complexities include them.
    """

    agents: tuple[Spec, ...]
    scores: Mapping[str, float] = field(default_factory=dict)
    bits: tuple[float, ...] = ()

    @property
    def label(self) -> str:
        """What reports call it."""
        if not self.scores:
            return self.agents[0].label
        return f"one of {len(self.agents)} agents with similar scores"

    def to_json(self) -> dict[str, Any]:
        """The seat as a parameter of a protocol."""
        data: dict[str, Any] = {"agents": [agent.to_json() for agent in self.agents]}
        scores, bits = {"scores": dict(self.scores)}, {"bits": list(self.bits)}
        return {**data, **(scores if self.scores else {}), **(bits if self.bits else {})}

    def draw(self, candidate: Spec, seed: int, number: int, place: int) -> int:
        """The place of the agent that sits beside a candidate in the exercise of some number.

        The randomness depends on the exercise and the seat only, and agents are in the order of
        their scores: candidates that are about as good meet about the same agents.

        Raises:
            InvalidInputError: The candidate has no stored score, or no other agent has one.
        """
        if not self.scores:
            return 0
        own = self.scores.get(candidate.stream_key)
        if own is None:
            raise InvalidInputError(
                f"{candidate.label} has no score in the evaluation from which agents like it are "
                "to be drawn.",
                "Evaluate it there first, with the same settings, or seat agents by name.",
            )
        keys = [agent.stream_key for agent in self.agents]
        others = [each for each in range(len(keys)) if keys[each] != candidate.stream_key]
        if not others:
            raise InvalidInputError(
                f"There is no agent but {candidate.label} that could be drawn.",
                "Give an evaluation of several agents of the catalogue.",
            )
        others.sort(key=lambda each: (self.scores[keys[each]], keys[each]))
        step = (max(self.scores.values()) - min(self.scores.values())) / STEPS or 1.0
        weights = [exp2(-abs(self.scores[keys[each]] - own) / step) for each in others]
        sums = list(accumulate(weights))
        drawn = float(stream(seed, "seated", number, place).generator().random()) * sums[-1]
        return others[min(sum(each <= drawn for each in sums), len(others) - 1)]


def read_seats(given: Sequence[Any] | None) -> tuple[Seating, ...]:
    """The seats in a parameter of a protocol: agents, or what ``Seating.to_json`` gave.

    Raises:
        InvalidInputError: One of them cannot be read.
    """
    seats = []
    for each in given or ():
        if isinstance(each, str) or is_spec(each):
            seats.append(Seating((given_spec(Kind.AGENT, each),)))
            continue
        try:
            agents = tuple(given_spec(Kind.AGENT, agent) for agent in each["agents"])
            scores = {str(key): float(score) for key, score in each.get("scores", {}).items()}
            seat = Seating(agents, scores, tuple(map(float, each.get("bits", ()))))
            if (len(agents) != 1 and not scores) or len(seat.bits) not in (0, len(agents)):
                raise ValueError("numbers differ")
            if scores:
                _ = [scores[agent.stream_key] for agent in agents]
        except (TypeError, KeyError, ValueError, AttributeError) as error:
            message = f"{str(each)[:200]!r} is no seat."
            raise InvalidInputError(message, 'Give an agent, or {"agents": [...]}.') from error
        seats.append(seat)
    return tuple(seats)


def seat_beside(
    seats: Sequence[Seating], candidate: Spec, seed: int, number: int
) -> tuple[tuple[Spec, ...], float]:
    """The agents beside a candidate in an exercise, and the bits of their code that count.

    An agent that is there twice has its seat in its name: each is an agent of its own.
    """
    beside: list[Spec] = []
    bits = 0.0
    for place, seat in enumerate(seats):
        drawn = seat.draw(candidate, seed, number, place)
        agent = seat.agents[drawn]
        if agent in (candidate, *beside):
            agent = replace(agent, name=f"{agent.label} in seat {place + 2}")
        beside.append(agent)
        bits += seat.bits[drawn] if seat.bits else 0.0
    return tuple(beside), bits


def code_length(agent: Spec) -> float:
    """The length in bits of the code of an agent, given the catalogue.

    That of the number of its id among those of the catalogue (truncated binary) or, of an agent
    from files, of its compressed sources; and that of its parameters, as compressed JSON.

    Raises:
        InvalidInputError: It is a Python object, whose code is not known.
    """
    if any(objects.is_object(part.id) for part in parts_in(agent)):
        message = f"The length of the code of {agent.label} is not known: it is a Python object."
        raise InvalidInputError(message, "Put it into a file: my_agent.py:MyAgent.")
    ids = sorted(entry.id for entry in listing(Kind.AGENT))
    bits = truncated_binary_length(ids.index(agent.id), len(ids)) if agent.id in ids else 0
    bits += 8 * sum(compressed_bytes(read_bytes(path)) for path in files_of(agent))
    if agent.parameters:
        bits += 8 * compressed_bytes(canonical_json(agent.parameters).encode())
    return float(bits)
