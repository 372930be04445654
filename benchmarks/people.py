"""Two hundred participants at once: how long an action takes, and whether any is lost.

The server is `omnimeter serve` in a process of its own, the participants are clients of the real
protocol in this one. Each acts every two seconds, which is twice as fast as people do (Lambda
thesis, 6.1: about four seconds). It stops by itself after two or three minutes.
"""

from __future__ import annotations

import asyncio
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
from measuring import verdict

from omnimeter.contract import stream
from omnimeter.web.records import interactions
from omnimeter.web.simulation import RandomChooser, SimulatedParticipant
from omnimeter.web.studies import Design, Participant, Study

PARTICIPANTS = 200
PAUSE = 2.0
BAR = 0.1  # seconds
LONGEST = 300.0  # seconds after which it is given up

BATTERY = {
    "title": "load",
    "exercises": [
        {"environment_class": "lambda-v1(cells=5)", "interactions": 15},
        {"environment_class": "cups-v1", "interactions": 10},
    ],
}
ACTIONS = 25


class Client(SimulatedParticipant):
    """A participant that measures from its click to what the click brought.

    Args:
        address: That of the server.
        participant: Whose place it takes.
        pause: Seconds from an answer to the next.
    """

    def __init__(self, address: str, participant: Participant, pause: float = PAUSE) -> None:
        rng = stream(0, "benchmark", participant.number).generator()
        self.taken: list[float] = []
        self.begins = pause * float(rng.random())
        token, chooser = participant.token, RandomChooser(rng)
        super().__init__(address, token, chooser, rng, self._measure, pause=pause)

    def _measure(self, message: object) -> None:  # noqa: ARG002
        self.taken.append(time.monotonic() - self.sent)

    async def play(self) -> str:
        """Take part; not all begin at the same moment."""
        await asyncio.sleep(self.begins)
        return await super().play()


async def play(clients: Sequence[Client]) -> list[str]:
    async with asyncio.timeout(LONGEST):
        return list(await asyncio.gather(*(each.play() for each in clients)))


def main() -> int:
    with TemporaryDirectory() as directory:
        study = Study.create(Path(directory) / "load", Design("Load", BATTERY))
        first, *others = study.invite(1 + PARTICIPANTS)
        command = [sys.executable, "-m", "omnimeter", "serve", str(study.path)]
        server = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        try:
            assert server.stdout is not None
            address = server.stdout.readline().split(" at ")[1].strip().rstrip("/")
            asyncio.run(play([Client(address, first, 0.05)]))  # compiles kernels
            clients = [Client(address, each) for each in others]
            begun = time.monotonic()
            stages = asyncio.run(play(clients))
            lasted = time.monotonic() - begun
        finally:
            server.send_signal(signal.SIGTERM)
            server.communicate(timeout=60)
        rows = list(interactions(study))
    taken = np.array([each for client in clients for each in client.taken])
    rate = len(taken) / lasted
    print(
        f"{PARTICIPANTS} participants, {len(taken)} actions in {lasted:.0f} s ({rate:.0f} a second)"
    )
    print(f"median {1000 * np.median(taken):.0f} ms, largest {1000 * taken.max():.0f} ms")
    lost = (1 + PARTICIPANTS) * ACTIONS - len(rows)
    print(f"actions lost or counted twice: {lost}; sessions at their end: {stages.count('thanks')}")
    holds = verdict(
        "95 % of actions within 100 ms", float(np.quantile(taken, 0.95)) / BAR, at_most=1
    )
    return 0 if holds and not lost and set(stages) == {"thanks"} else 1


if __name__ == "__main__":
    sys.exit(main())
