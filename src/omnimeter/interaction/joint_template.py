"""The source text of the compiled loop in which several agents share one environment.

Each seat has a row of what ``batch.Batch`` keeps, so that pieces, records and traces are made as
for exercises beside each other. The kernels of the seats differ, so what calls them is written out
once for each. What the environment shows is looked at in one place: each further one would compile
all forms of observation once more.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from omnimeter.contract import nanoseconds
from omnimeter.contract.agent import LONGEST_DELAY
from omnimeter.interaction.templates import BATCH

_RUNNER = """
@compiled
def run(
    environments, {agents}, chosen, paid, widths, scratch, actions_of, most, end, tick,
    pace, progress, rewards_at_hand, slots, rewards, times, record, actions, observations, seen_at,
):
    environment = EnvironmentState({environment_fields})
    at = 0
{sit_down}
    seats = len(paid)
    number_of_actions = actions_of[0]
    if progress[0, STARTED] == 0:
        reward = float(environment_reset(environment))
        for k in range(seats):
            rewards_at_hand[k, int(not np.isfinite(reward))] = reward
        if not np.isfinite(reward):
            progress[:, STATUS] = NO_REWARD
            return
        for k in range(seats):
            progress[k, STARTED] = 1
            paid[k] = reward
{begin}
    first = 0
    while progress[first, STATUS] != RUNNING:
        first += 1
    count = progress[first, COUNT]
    now = progress[first, NOW]
    room = slots[first + 1] - slots[first]
    done = 0
    status = RUNNING
    while True:
        at = 0
        for k in range(seats):
            environment_observe_from(environment, k, borrow(scratch, at, at + widths[k]))
            if record and progress[k, STATUS] == RUNNING:
                seen = seen_at[k] + done * widths[k]
                for j in range(widths[k]):
                    observations[seen + j] = scratch[at + j]
            at += widths[k]
        if count >= most[0]:
            status = BY_COUNT
            break
        if done == room:
            break
        here = 0
        delay = 0
{act}
        if here == 0:
            break
        if delay > end[0] - now:
            status = BY_TIME
            break
        now += delay
        environment_step_together(environment, chosen, paid)
        for k in range(seats):
            if progress[k, STATUS] == RUNNING:
                progress[k, NOW] = now
                if status == RUNNING and not np.isfinite(paid[k]):
                    status = NO_REWARD
                    rewards_at_hand[:, 1] = paid[k]
        if status == NO_REWARD:
            break
        for k in range(seats):
            if progress[k, STATUS] == RUNNING:
                progress[k, COUNT] = count + 1
                rewards[slots[k] + done] = paid[k]
                times[slots[k] + done] = now
                if record:
                    actions[slots[k] + done] = chosen[k]
        count += 1
        done += 1
{leave}
"""

_SIT_DOWN = """
    agent{seat} = Agent{seat}State({fields})
    seen{seat} = borrow(scratch, at, at + widths[{seat}])
    at += widths[{seat}]
"""

_BEGIN = """
        agent{seat}_begin(agent{seat})
"""

# Only integers have the operator |: whoever gives something else cannot be compiled.
_ACT = """
        if progress[{seat}, STATUS] == RUNNING:
            action = agent{seat}_act(agent{seat}, paid[{seat}], seen{seat}) | 0
            standing = RUNNING
            given = action
            if action < 0 or action >= number_of_actions:
                standing = STOPPED if action == -1 else NO_ACTION
            else:
                given = {delay}
                if given <= 0:
                    given = tick[0]
                elif given > {longest}:
                    standing = NO_DELAY
            if standing == RUNNING:
                chosen[{seat}] = action
                delay = max(delay, given)
                here += 1
            else:
                chosen[{seat}] = 0
                progress[{seat}, STATUS] = standing
                progress[{seat}, GIVEN] = given
                if standing == STOPPED:
                    agent{seat}_finish(agent{seat}, paid[{seat}], seen{seat})
"""

_LEAVE = """
    if progress[{seat}, STATUS] == RUNNING:
        progress[{seat}, STATUS] = status
        if status == BY_COUNT or status == BY_TIME:
            agent{seat}_finish(agent{seat}, paid[{seat}], seen{seat})
"""


class Seat(NamedTuple):
    """What the loop must know of the agent in a seat: the fields of its state, and its time."""

    fields: Sequence[str]
    delays: bool


def runner(environment: Sequence[str], seats: Sequence[Seat]) -> str:
    """The loop of one joint exercise, for an environment's state with the given fields."""

    def each(text: str) -> str:
        parts = [_written(text, number, seat) for number, seat in enumerate(seats)]
        return "".join(part.removeprefix("\n") for part in parts).rstrip("\n")

    return BATCH + _RUNNER.format(
        agents=", ".join(f"agents{number}" for number in range(len(seats))),
        environment_fields=_whole("environments", environment),
        sit_down=each(_SIT_DOWN),
        begin=each(_BEGIN),
        act=each(_ACT),
        leave=each(_LEAVE),
    )


def _written(text: str, number: int, seat: Seat) -> str:
    return text.format(
        seat=number,
        fields=_whole(f"agents{number}", seat.fields),
        delay=f"int(agent{number}_delay(agent{number})) + pace[{number}]"
        if seat.delays
        else f"pace[{number}]",
        longest=nanoseconds(LONGEST_DELAY),
    )


def _whole(state: str, fields: Sequence[str]) -> str:
    """A state, as views that nobody counts the users of."""
    return ", ".join(f"borrow({state}.{field}, 0, len({state}.{field}))" for field in fields)
