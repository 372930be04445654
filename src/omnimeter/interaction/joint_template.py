"""The source text of the compiled loop in which several agents share one environment.

Each seat has a row of what ``batch.Batch`` keeps, so that pieces, records and traces are made as
for exercises beside each other. The kernels of the seats differ, so what calls them is written out
once for each.
"""

from __future__ import annotations

from collections.abc import Sequence

from omnimeter.interaction.templates import BATCH

_RUNNER = """
@compiled
def run(
    environments, {agents}, chosen, paid, widths, scratch, actions_of, most, end, tick,
    progress, rewards_at_hand, slots, rewards, times, record, actions, observations, seen_at,
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
{observe}
    first = 0
    while progress[first, STATUS] != RUNNING:
        first += 1
    count = progress[first, COUNT]
    now = progress[first, NOW]
    room = slots[first + 1] - slots[first]
    done = 0
    if record:
        at = 0
        for k in range(seats):
            if progress[k, STATUS] == RUNNING:
                for j in range(widths[k]):
                    observations[seen_at[k] + j] = scratch[at + j]
            at += widths[k]
    status = RUNNING
    while True:
        if count >= most[0]:
            status = BY_COUNT
            break
        if done == room:
            break
        here = 0
{act}
        if here == 0:
            break
        if tick[0] > end[0] - now:
            status = BY_TIME
            break
        now += tick[0]
        environment_step_together(environment, chosen, paid)
        for k in range(seats):
            if progress[k, STATUS] == RUNNING:
                progress[k, NOW] = now
                if status == RUNNING and not np.isfinite(paid[k]):
                    status = NO_REWARD
                    rewards_at_hand[:, 1] = paid[k]
        if status == NO_REWARD:
            break
{observe_again}
        at = 0
        for k in range(seats):
            if progress[k, STATUS] == RUNNING:
                progress[k, COUNT] = count + 1
                rewards[slots[k] + done] = paid[k]
                times[slots[k] + done] = now
                if record:
                    actions[slots[k] + done] = chosen[k]
                    seen = seen_at[k] + (done + 1) * widths[k]
                    for j in range(widths[k]):
                        observations[seen + j] = scratch[at + j]
            at += widths[k]
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

_OBSERVE = """
        environment_observe_from(environment, {seat}, seen{seat})
"""

# Only integers have the operator |: whoever gives something else cannot be compiled.
_ACT = """
        if progress[{seat}, STATUS] == RUNNING:
            action = agent{seat}_act(agent{seat}, paid[{seat}], seen{seat}) | 0
            if 0 <= action < number_of_actions:
                chosen[{seat}] = action
                here += 1
            else:
                chosen[{seat}] = 0
                progress[{seat}, GIVEN] = action
                if action == -1:
                    progress[{seat}, STATUS] = STOPPED
                    agent{seat}_finish(agent{seat}, paid[{seat}], seen{seat})
                else:
                    progress[{seat}, STATUS] = NO_ACTION
"""

_LEAVE = """
    if progress[{seat}, STATUS] == RUNNING:
        progress[{seat}, STATUS] = status
        if status == BY_COUNT or status == BY_TIME:
            agent{seat}_finish(agent{seat}, paid[{seat}], seen{seat})
"""


def runner(environment: Sequence[str], agents: Sequence[Sequence[str]]) -> str:
    """The loop of one joint exercise, for states with the given fields, one for each seat."""

    def each(text: str) -> str:
        parts = [
            text.format(seat=seat, fields=_whole(f"agents{seat}", fields))
            for seat, fields in enumerate(agents)
        ]
        return "".join(part.removeprefix("\n") for part in parts).rstrip("\n")

    return BATCH + _RUNNER.format(
        agents=", ".join(f"agents{seat}" for seat in range(len(agents))),
        environment_fields=_whole("environments", environment),
        sit_down=each(_SIT_DOWN),
        begin=each(_BEGIN),
        observe=each(_OBSERVE),
        act=each(_ACT),
        observe_again=each(_OBSERVE),
        leave=each(_LEAVE),
    )


def _whole(state: str, fields: Sequence[str]) -> str:
    """A state, as views that nobody counts the users of."""
    return ", ".join(f"borrow({state}.{field}, 0, len({state}.{field}))" for field in fields)
