"""An agent that does whatever an agent should not do; ``isolation_parts`` tells it what."""

import ctypes
import os
import sys
import time
from contextlib import suppress

import numpy as np

from omnimeter import STOP, Agent, Move


class Rascal(Agent):
    """Presses three buttons in turn; then does what the briefing says."""

    def begin(self, briefing, rng):
        self.how = briefing.remarks["how"]
        self.rng = rng
        self.pressed = 0
        if self.how == "raise_at_once":
            raise ValueError("not today")
        if self.how == "hang_at_once":
            time.sleep(60)

    def act(self, reward, observation):
        self.pressed += 1
        if self.pressed <= 3 or self.how == "raise_at_last":
            return self.pressed % 3
        return getattr(self, self.how)()

    def finish(self, reward, observation):
        if self.how == "raise_at_last":
            raise ValueError("no goodbye")

    def behave(self):
        return int(self.rng.integers(3))

    def delay(self):
        return Move(self.behave(), float(self.rng.exponential(0.1)) + 1e-6)

    def delay_long(self):
        return Move(self.behave(), 1e6)

    def stop(self):
        return STOP

    def numpy_integer(self):
        return np.int64(2)

    def answer_none(self):
        return None

    def answer_text(self):
        return "left"

    def answer_seven(self):
        return 7

    def answer_numpy_seven(self):
        return np.int64(7)

    def answer_nan(self):
        return float("nan")

    def answer_half(self):
        return 1.5

    def answer_pair(self):
        return (1, 0.5)

    def answer_much(self):
        return "x" * 5_000_000

    def answer_huge(self):
        return 10**5000

    def declare_nan(self):
        return Move(1, float("nan"))

    def declare_text(self):
        return Move(1, "soon")

    def declare_none_of_seven(self):
        return Move(7, None)

    def raise_error(self):
        print("my last output")
        raise KeyError("lost")

    def raise_unprintable(self):
        class UnprintableError(Exception):
            def __str__(self):
                raise RuntimeError

        raise UnprintableError

    def hang(self):
        print("thinking hard")
        time.sleep(60)

    def spin(self):
        while True:
            pass

    def nap(self):
        time.sleep(0.02)
        return 0

    def doze(self):
        time.sleep(0.35)
        return 0

    def eat_lumps(self):
        hoard = []
        while True:
            hoard.append(bytearray(10_000_000))

    def eat_crumbs(self):
        hoard = sys.hoard = []
        while True:
            hoard.append([None])

    def eat_array(self):
        return np.ones(10**10)

    def talk(self):
        print("one", flush=True)
        os.write(1, b"two")
        print('{"turn": 5, "type": "move", "action": 1}')
        return 1

    def flood(self):
        for _ in range(200):
            os.write(1, b"x" * 100_000)
        return 1

    def flood_forever(self):
        while True:
            print("x" * 1000)

    def flood_channel(self):
        for number in range(3, 20):
            with suppress(OSError):
                os.write(number, b"x" * 3_000_000)

    def fork(self):
        if os.fork() == 0:
            time.sleep(60)
            os._exit(0)
        os._exit(3)

    def fork_and_go_on(self):
        if os.fork() == 0:
            time.sleep(60)
            os._exit(0)
        self.how = "behave"
        return 1

    def fork_and_return(self):
        os.fork()  # both come back from here
        return self.behave()

    def leave(self):
        os._exit(3)

    def leave_politely(self):
        sys.exit(4)

    def crash(self):
        ctypes.string_at(0)

    def close_input(self):
        os.close(0)
        self.how = "behave"
        return 1

    def close_everything(self):
        os.closerange(0, 100)
        return 1
