"""The messages between the harness and an agent's process."""

from __future__ import annotations

import json
from collections.abc import Mapping
from math import inf, isfinite
from typing import Any

import numpy as np

from omnimeter.contract import Briefing, MDPDistribution, Move, Observation, Prior, Space
from omnimeter.interaction.handles import (
    AgentFault,
    Unreadable,
    infrastructure_error,
    read_action,
    read_delay,
    shown,
)

VERSION = 1
"""The version of the wire format."""

LONGEST_LINE = 1_000_000
"""Bytes that an agent's process may send for one answer."""

LONGEST_PREPARED = 64_000_000
"""Bytes that it may send of what it prepared."""

Message = Mapping[str, Any]


class WireError(Exception):
    """A line of an agent's process that is not in the wire format, and what it is instead."""

    def __init__(self, reason: str) -> None:
        super().__init__(f"broke the wire format: {reason}")


def _reject(constant: str) -> float:
    raise ValueError(f"{constant} is not JSON")


_encode = json.JSONEncoder(separators=(",", ":"), allow_nan=False).encode
_decode = json.JSONDecoder(parse_constant=_reject).decode


def line(turn: int, message: Message) -> bytes:
    """A message as a line; raises ``AgentFault`` if it cannot be written as JSON."""
    try:
        return (_encode({"turn": turn, **message}) + "\n").encode()
    except (TypeError, ValueError) as error:
        raise _unsendable(f"A message ({error})") from error


def _unsendable(what: str) -> AgentFault:
    return infrastructure_error(f"{what} cannot be sent to an agent.")


def read(text: bytes) -> Message:
    """The message of a line; raises ``WireError`` without an integer ``turn`` and a ``type``."""
    try:
        message = _decode(text.decode())
    except (ValueError, RecursionError) as error:
        raise WireError(f"{shown(text)} is not a line of JSON ({error})") from error
    if not isinstance(message, dict):
        raise WireError(f"{shown(text)} is not a JSON object")
    if type(message.get("turn")) is not int or not isinstance(message.get("type"), str):
        raise WireError(f"{shown(text)} lacks its turn or its type")
    return message


def briefing_to_json(briefing: Briefing) -> Message:
    """What an agent is told, as plain data. A reward without a bound is ``null``."""
    data: dict[str, Any] = {
        "actions": briefing.actions,
        "sizes": list(briefing.space.sizes),
        "single": briefing.space.single,
        "rewards": [float(bound) if isfinite(bound) else None for bound in briefing.rewards],
        "remarks": dict(briefing.remarks),
    }
    return data if briefing.view is None else {**data, "view": briefing.view}


def briefing_from_json(data: Message) -> Briefing:
    """The briefing that ``briefing_to_json`` wrote."""
    lowest, highest = data["rewards"]
    rewards = (-inf if lowest is None else lowest, inf if highest is None else highest)
    space = Space(tuple(data["sizes"]), data["single"])
    return Briefing(data["actions"], space, rewards, data["remarks"], data.get("view"))


def prior_to_json(prior: Prior) -> Message:
    """What an agent is told before all exercises, as plain data."""
    told = {"gamma": prior.gamma, "horizon": prior.horizon}
    return {"distribution": prior.distribution.to_json(), **told}


def prior_from_json(data: Message) -> Prior:
    """The prior that ``prior_to_json`` wrote."""
    distribution = MDPDistribution.from_json(data["distribution"])
    return Prior(distribution, data["gamma"], data["horizon"])


def percept_to_json(kind: str, reward: float, observation: Observation) -> Message:
    """A reward and an observation, exactly; raises ``AgentFault`` if they are something else."""
    try:
        number = float(reward)
    except (TypeError, ValueError) as error:
        raise _unsendable(f"The reward {shown(reward)}") from error
    if not isfinite(number):
        raise _unsendable(f"The reward {number}")
    if isinstance(observation, int):
        return {"type": kind, "reward": number, "observation": int(observation)}
    seen = np.asarray(observation)
    if seen.dtype.kind not in "iub":
        raise _unsendable(f"The observation {shown(observation)}")
    return {"type": kind, "reward": number, "observation": seen.tolist()}


def observation_from_json(data: int | list[int]) -> Observation:
    """The observation as a Python agent gets it."""
    return np.array(data, dtype=np.int64) if isinstance(data, list) else data


def move_to_json(answer: object, actions: int) -> Message:
    """An agent's answer, however strange."""
    given, seconds = answer if isinstance(answer, Move) else (answer, None)
    message: dict[str, Any] = {"type": "move"}
    try:
        message["action"] = read_action(given, actions)
    except AgentFault:  # the harness will say so itself
        message["action"] = {"shown": shown(given)}
    if seconds is not None:
        try:
            read_delay(seconds)
            message["seconds"] = float(seconds)
        except AgentFault:
            message["seconds"] = {"shown": shown(seconds)}
    return message


def answer_from_json(message: Message) -> object:
    """The agent's answer, for ``read_move`` to judge it as that of any other agent."""
    action, seconds = _given(message.get("action")), message.get("seconds")
    return action if seconds is None else Move(action, _given(seconds))


def _given(value: Any) -> Any:
    if isinstance(value, int | float):
        return value
    if isinstance(value, dict) and isinstance(value.get("shown"), str):
        return Unreadable(value["shown"])
    return Unreadable(shown(value))


def text_of(message: Message, field: str) -> str:
    """A text in a message of an agent's process; empty when there is none."""
    text = message.get(field, "")
    return text if isinstance(text, str) else shown(text)
