"""Simulated participants: clients that take a study as browsers do, through the same protocol.

They know nothing but what a page gets: pictures, signs of rewards, and which actions there are.
"""

from __future__ import annotations

import asyncio
import json
import time
from abc import ABC, abstractmethod
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import Any
from urllib.request import urlopen

import numpy as np
from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosed, InvalidMessage, InvalidStatus

from omnimeter.contract import InvalidInputError, stream
from omnimeter.web.server import MESSAGES, SECONDS
from omnimeter.web.studies import Participant, Study

PAUSE = 1.2 * SECONDS / MESSAGES
"""Seconds from an action to the next at the least: no faster than the server lets anyone be."""

PATIENCE = 60.0
"""Seconds in which a server that does not answer may come back."""

ENDS = ("thanks", "blocked", "withdrawn", "declined")
"""The stages at which there is nothing more to do."""

WORTH = {"up": 1.0, "neutral": 0.0, "down": -1.0}

Message = Mapping[str, Any]


class Chooser(ABC):
    """Chooses actions by what a page shows."""

    @abstractmethod
    def choose(self, state: Message, actions: Sequence[int]) -> int:
        """One of the actions that the page offers."""


class RandomChooser(Chooser):
    """Chooses any of them.

    Args:
        rng: The source of all randomness.
    """

    def __init__(self, rng: np.random.Generator) -> None:
        self._rng = rng

    def choose(self, state: Message, actions: Sequence[int]) -> int:  # noqa: ARG002
        """Any of them."""
        return int(self._rng.choice(actions))


class Learner(Chooser):
    """Q-learning over pictures: what is drawn where is the state, the sign of a reward its worth.

    It begins anew with every exercise, in which symbols mean something else.

    Args:
        rng: The source of all randomness.
        alpha: How fast it learns.
        gamma: How much what comes later counts.
        epsilon: How often it tries any action.
    """

    def __init__(
        self,
        rng: np.random.Generator,
        alpha: float = 0.3,
        gamma: float = 0.5,
        epsilon: float = 0.1,
    ) -> None:
        self._rng, self._alpha, self._gamma, self._epsilon = rng, alpha, gamma, epsilon
        self._exercise = 0
        self._values: dict[tuple[str, int], float] = defaultdict(float)
        self._last: tuple[str, int] | None = None

    def choose(self, state: Message, actions: Sequence[int]) -> int:
        """The best as far as it knows, or now and then any."""
        if state["exercise"] != self._exercise:
            self._exercise, self._last = state["exercise"], None
            self._values.clear()
        seen = json.dumps([[part["box"], part["contains"]] for part in state["scene"]["parts"]])
        values = np.array([self._values[seen, action] for action in actions])
        if self._last is not None and "reward" in state:
            target = WORTH[state["reward"]["sign"]] + self._gamma * values.max()
            self._values[self._last] += self._alpha * (target - self._values[self._last])
        best = np.flatnonzero(values == values.max())
        if self._rng.random() < self._epsilon:
            best = np.arange(len(actions))
        action = int(actions[self._rng.choice(best)])
        self._last = seen, action
        return action


CHOOSERS: Mapping[str, Callable[[np.random.Generator], Chooser]] = {
    "random": RandomChooser,
    "learner": Learner,
}
"""The agents that can take part, by their names."""


def offered(scene: Message) -> list[int]:
    """The actions that a picture offers, by its parts or by its buttons."""
    by_parts = {action for part in scene["parts"] for action in part["actions"]}
    return sorted(by_parts | set(range(len(scene["buttons"]))))


class SimulatedParticipant:
    """A client that takes a study from its first page to its last.

    Whatever happens to the server or the connection, it comes back, and sends what it has not
    seen the effect of again.

    Args:
        address: That of the server.
        token: The secret part of the participant's link.
        chooser: Chooses the actions.
        rng: The source of the randomness of its answers to the questionnaire.
        acted: Told of every action whose effect it has seen.
        pause: Seconds from an answer to the next.

    Attributes:
        stage: What it is at.
        sent: The second of the monotonic clock at which it last answered.
    """

    def __init__(
        self,
        address: str,
        token: str,
        chooser: Chooser,
        rng: np.random.Generator,
        acted: Callable[[Message], None] = lambda message: None,  # noqa: ARG005
        pause: float = PAUSE,
    ) -> None:
        self._pause = pause
        self._page = f"{address}/p/{token}"
        self._chooser, self._rng, self._acted = chooser, rng, acted
        self._pending: dict[str, Any] | None = None
        self._is_sent = False  # by this connection
        self._began = self._seen = time.monotonic()
        self.sent = 0.0
        self.stage = ""

    async def play(self) -> str:
        """Take part, until the last page; its stage.

        Raises:
            InvalidInputError: The server is gone, or lets it take no further part.
        """
        while self.stage not in ENDS:
            if time.monotonic() - self._seen > PATIENCE:
                raise InvalidInputError("The server does not answer.", "Start it again.")
            with suppress(ConnectionClosed, InvalidMessage, InvalidStatus, OSError):
                socket = "ws" + self._page.removeprefix("http") + "/ws"
                async with connect(socket, compression=None, max_size=2**22) as connection:
                    await self._converse(connection)
            if self.stage not in ENDS:
                await asyncio.sleep(0.1)
        return self.stage

    async def _converse(self, connection: ClientConnection) -> None:
        self._is_sent = False
        try:
            async for content in connection:
                self._seen = time.monotonic()
                message = json.loads(content)
                if message["type"] != "state":
                    raise InvalidInputError(f"The server refuses: {message.get('why')}.")
                self.stage = message["stage"]
                if self.stage in ENDS:
                    break
                if (answer := await self._answer(message)) is not None:
                    await connection.send(json.dumps(answer))
        finally:
            code = connection.close_code
            if code is not None and code >= 4000:
                message = f"The server lets the participant take no further part ({code})."
                raise InvalidInputError(message, "Look at its status.")

    async def _answer(self, state: Message) -> Message | None:
        """What the page would send."""
        seq, phase = state.get("seq", -1), state.get("phase")
        if self._pending is not None and (self.stage != "test" or seq > self._pending["seq"]):
            if self._pending["type"] == "act":
                self._acted(self._pending)
            self._pending, self._is_sent = None, False
        if self.stage == "consent":
            return {"type": "consent", "given": True}
        if self.stage == "instructions":
            return {"type": "instructed"}
        if self.stage == "questionnaire":
            return {"type": "answers", "answers": await asyncio.to_thread(self._questionnaire)}
        if phase not in ("ready", "asked") or self._is_sent:
            return None
        await asyncio.sleep(max(0.0, self.sent + self._pause - time.monotonic()))
        self.sent, self._is_sent = time.monotonic(), True
        if self._pending is None:
            self._pending = {"type": "ready", "seq": seq}
            if phase == "asked":
                action = self._chooser.choose(state, offered(state["scene"]))
                reaction, shown = self.sent - self._seen, self._seen - self._began
                times = {"reaction": round(1000 * reaction), "shown": round(1000 * shown)}
                self._pending = {"type": "act", "seq": seq, "action": action, **times}
        return self._pending

    def _questionnaire(self) -> dict[str, Any]:
        """Some answer to each question."""
        with urlopen(f"{self._page}/texts") as response:
            questions = json.load(response)["questions"]
        given: dict[str, Any] = {}
        for each in questions:
            if each["kind"] == "scale":
                given[each["name"]] = int(self._rng.integers(1, each["steps"] + 1))
            elif each["kind"] == "choice":
                given[each["name"]] = str(self._rng.choice(each["options"]))
            else:
                given[each["name"]] = "This participant was simulated."
        return given


def simulate(
    study: Study,
    address: str,
    participants: Sequence[Participant],
    agent: str,
    tell: Callable[[int, int], None] = lambda ended, actions: None,  # noqa: ARG005
) -> list[str]:
    """Let agents take a study in the place of participants.

    Args:
        study: The study.
        address: That of its server.
        participants: Whose place they take.
        agent: Which of ``CHOOSERS``.
        tell: Told how many have ended, and how many actions have been done in all.

    Returns:
        The stage at which each has ended.

    Raises:
        InvalidInputError: There is no such agent, or the server is gone.
    """
    if agent not in CHOOSERS:
        message = f"There is no agent {agent!r} that sees pictures."
        raise InvalidInputError(message, f"Known: {', '.join(CHOOSERS)}.")
    ended = actions = 0

    def acted(message: Message) -> None:  # noqa: ARG001
        nonlocal actions
        actions += 1
        tell(ended, actions)

    async def one(participant: Participant) -> str:
        nonlocal ended
        rng = stream(study.seed, "simulated", participant.number).generator()
        client = SimulatedParticipant(address, participant.token, CHOOSERS[agent](rng), rng, acted)
        stage = await client.play()
        ended += 1
        tell(ended, actions)
        return stage

    async def everyone() -> list[str]:
        return list(await asyncio.gather(*map(one, participants)))

    return asyncio.run(everyone())
