"""How the harness holds an agent: asking it, timing it, and turning its errors into faults."""

from __future__ import annotations

import json
import traceback
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from math import inf
from operator import index
from time import perf_counter_ns, sleep
from typing import Any

from omnimeter.contract import (
    Agent,
    Briefing,
    Fault,
    FaultKind,
    Move,
    Observation,
    OmnimeterError,
    Prior,
    Space,
)
from omnimeter.contract.agent import LONGEST_DELAY
from omnimeter.contract.exercise import FOREVER, NANOSECONDS, nanoseconds
from omnimeter.contract.spec import canonical_json, seeded
from omnimeter.interaction.kernels import seed_for


class AgentFault(Exception):  # noqa: N818 - it carries a Fault
    """An agent that cannot go on, with the fault to record."""

    def __init__(self, fault: Fault) -> None:
        super().__init__(fault.message)
        self.fault = fault


def agent_error(message: str, detail: str = "") -> AgentFault:
    """A fault that is the agent's own."""
    return AgentFault(Fault(FaultKind.AGENT_ERROR, message, detail))


def infrastructure_error(message: str, detail: str = "") -> AgentFault:
    """A fault that is not the agent's."""
    return AgentFault(Fault(FaultKind.INFRASTRUCTURE, message, detail))


def read_move(answer: object, actions: int) -> tuple[int, int]:
    """An agent's answer as an action (-1 to stop) and a declared delay in nanoseconds (or 0)."""
    if not isinstance(answer, Move):
        return read_action(answer, actions), 0
    action = read_action(answer.action, actions)
    if action < 0 or answer.seconds is None:
        return action, 0
    return action, read_delay(answer.seconds)


def read_action(given: object, actions: int) -> int:
    """What an agent gave as an action, or -1 to stop."""
    try:
        action = index(given)  # type: ignore[arg-type]
    except Exception:  # a third party's __index__ may raise anything
        raise invalid_action(given, actions) from None
    if not -1 <= action < actions:
        raise invalid_action(given, actions)
    return action


def read_delay(seconds: object) -> int:
    """What an agent declared as its delay, in nanoseconds."""
    if isinstance(seconds, int | float) and 0 < seconds <= LONGEST_DELAY:
        delay = nanoseconds(seconds)
        if delay > 0:
            return delay
    raise invalid_delay(seconds)


def read_view(given: object) -> str | None:
    """What an agent gave as the view that it asks for."""
    if given is None or isinstance(given, str):
        return given
    asked = f"The agent asks for the view {shown(given)}"
    raise agent_error(f"{asked}; a view is given by its name, or None.")


def view_of(agent: Agent | AgentHandle) -> str | None:
    """The view that an agent asks for.

    Raises:
        AgentFault: It is not a string, or asking for it raises an exception.
    """
    if isinstance(agent, AgentHandle):
        return agent.view
    try:
        given = agent.view
    except BaseException as error:
        raise raised_error("naming its view", error) from error
    return read_view(given)


def costly_of(agent: Agent | AgentHandle) -> bool:
    """Whether an agent says that its answers are costly.

    Raises:
        AgentFault: Asking for it raises an exception.
    """
    if isinstance(agent, AgentHandle):
        return agent.costly
    try:
        return bool(agent.costly)
    except BaseException as error:
        raise raised_error("saying whether it is costly", error) from error


def invalid_action(given: object, actions: int) -> AgentFault:
    """The fault of an answer that is not an action."""
    return agent_error(
        f"The agent returned {shown(given)}; an action is an integer from 0 to {actions - 1} "
        "(or omnimeter.STOP)."
    )


def invalid_delay(given: object) -> AgentFault:
    """The fault of an answer with a delay that cannot be."""
    return agent_error(
        f"The agent declared a delay of {shown(given)} seconds; "
        f"a delay is a number of seconds above 0, at most {LONGEST_DELAY:g}."
    )


def shown(value: object, write: Callable[[object], str] = repr) -> str:
    """Any value in a message: at most 500 characters, and never an error of its own."""
    try:
        text = write(value)
    except Exception:
        text = f"<{type(value).__name__}>"
    return text if len(text) <= 500 else text[:500] + "..."


class Unreadable:
    """Stands for an answer that is not an action, of which only the text is known."""

    def __init__(self, text: str) -> None:
        self._text = text

    def __repr__(self) -> str:
        return self._text


_NO_ANSWER = Unreadable("None")  # what an agent returned, which is not the same as no answer


class AgentHandle(ABC):
    """How the loop reaches one agent, in this process or in another."""

    warm: bool = True
    """Whether ``begin`` does nothing that is done only once, such as starting or compiling."""

    transport: int = 0
    """Nanoseconds of a message to the agent and its answer, which are not its own time."""

    sees_scenes: bool = False
    """Whether the agent is told what people are shown."""

    replayed: bool = False
    """Whether the last answer was given before an interruption, and its time has passed then."""

    @property
    @abstractmethod
    def view(self) -> str | None:
        """The view that the agent asks for."""

    @property
    def costly(self) -> bool:
        """Whether the agent says that its answers are costly."""
        return False

    def calibrate(self, space: Space) -> None:
        """Measure ``transport`` for such observations, before an exercise where time counts."""

    def wait(self, delay: int) -> None:
        """Let the nanoseconds pass that the agent declared."""
        sleep(delay / 1e9)

    @abstractmethod
    def begin(self, briefing: Briefing, seed: int) -> None:
        """Brief the agent and give it its seed, a number of 64 bits."""

    @abstractmethod
    def ask(self, reward: float, observation: Observation, left: int | None) -> tuple[object, int]:
        """The agent's answer and the nanoseconds that it took.

        The answer is ``None`` only when the nanoseconds ``left`` were over before there was one,
        which a handle in the same process never says. Where no time counts, ``left`` is ``None``
        and the time need not be measured.
        """

    def recall(self, reward: float, observation: Observation, action: int) -> None:
        """Tell the agent of an interaction from before an interruption, with what it answered."""

    @abstractmethod
    def finish(self, reward: float, observation: Observation) -> None:
        """Give the agent the last reward and observation."""


class LocalAgent(AgentHandle):
    """An agent in this process: no cost, and no protection against an agent that hangs."""

    def __init__(self, agent: Agent) -> None:
        self._agent = agent
        self._act = agent.act
        self.warm = agent.kernels is None
        self.sees_scenes = agent.sees_scenes is True

    @property
    def view(self) -> str | None:  # noqa: D102 - see AgentHandle
        return view_of(self._agent)

    @property
    def costly(self) -> bool:  # noqa: D102 - see AgentHandle
        return costly_of(self._agent)

    def begin(self, briefing: Briefing, seed: int) -> None:  # noqa: D102 - see AgentHandle
        try:
            self._agent.begin(briefing, seed_for(self._agent, seed))
        except BaseException as error:
            raise raised_error("beginning", error) from error

    def ask(self, reward: float, observation: Observation, left: int | None) -> tuple[object, int]:  # noqa: D102
        before = 0 if left is None else perf_counter_ns()
        try:
            if self.sees_scenes:
                return self._shown(reward, observation, left, before)
            answer = self._act(reward, observation)
        except BaseException as error:
            raise raised_error("acting", error) from error
        elapsed = 0 if left is None else perf_counter_ns() - before
        return (_NO_ANSWER if answer is None else answer), elapsed

    def _shown(
        self, reward: float, observation: Observation, left: int | None, before: int
    ) -> tuple[object, int]:
        """The answer of an agent that sees scenes; ``None`` if there was none in time."""
        seconds = inf if left is None or left >= FOREVER else left / NANOSECONDS
        answer = self._agent.act_in_time(reward, observation, seconds)
        return answer, 0 if left is None else perf_counter_ns() - before

    def recall(self, reward: float, observation: Observation, action: int) -> None:  # noqa: D102
        try:
            self._agent.recall(reward, observation, action)
        except BaseException as error:
            raise raised_error("recalling", error) from error

    def finish(self, reward: float, observation: Observation) -> None:  # noqa: D102 - see AgentHandle
        try:
            self._agent.finish(reward, observation)
        except BaseException as error:
            raise raised_error("finishing", error) from error


def prepared_by(agent: Agent, prior: Prior, seed: int) -> dict[str, Any]:
    """What an agent in this process prepares in its offline phase, as JSON-able data.

    Raises:
        AgentFault: It raises an exception, or gives something else.
    """
    try:
        prepared = agent.prepare(prior, seeded(seed))
        try:
            data = dict(json.loads(canonical_json(dict(prepared))))
        except (TypeError, ValueError) as error:
            message = f"The agent prepared {shown(prepared)}, which is no dictionary of JSON data"
            raise agent_error(f"{message} ({error}).") from error
    except (OmnimeterError, AgentFault):
        raise
    except BaseException as error:
        raise raised_error("preparing", error) from error
    return data


def restore(agent: Agent, prior: Prior, prepared: Mapping[str, Any]) -> None:
    """Let an agent in this process take up what it prepared.

    Raises:
        AgentFault: It raises an exception.
    """
    try:
        agent.restore(prior, prepared)
    except OmnimeterError:
        raise
    except BaseException as error:
        raise raised_error("taking up what it prepared", error) from error


def raised_error(doing: str, error: BaseException) -> AgentFault:
    """The fault of an agent that raised an exception; but a person may interrupt any agent."""
    if isinstance(error, KeyboardInterrupt):
        raise error
    message = f"The agent raised {type(error).__name__} when {doing}: {shown(error, str)}"
    return agent_error(message, "".join(traceback.format_exception(error)))
