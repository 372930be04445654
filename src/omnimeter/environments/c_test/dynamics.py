"""State and kernels of the C-test: a series, the options how it goes on, and what they pay."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from omnimeter.contract.agent import IntArray
from omnimeter.kernels import EnvironmentKernels, below, kernel
from omnimeter.series.machine import to_next

LETTERS, CHOICES, SHOWN, EACH, COUNT, ANSWER, ANSWERED = range(7)
"""The entries of ``now``: the size of the alphabet, the number of options (0 if each letter is
one), how many letters are shown at first, whether the answer follows each guess, which are
constant; how many letters were written, the next one, and whether the question was answered."""

ATTEMPTS = 20  # to find a plausible option that is not there yet
NEAR = 4  # letters from the last one to options that do not follow from the series


class CTestState(NamedTuple):
    """A program and its machine, what it has written last, and the options."""

    rng: NDArray[np.uint64]
    code: IntArray
    tops: IntArray
    machine: IntArray  # accumulator, register, counter, position
    seen: IntArray  # the last letters, the newest at COUNT - 1 or at the end
    options: IntArray
    now: IntArray


@kernel
def ask(state: Any) -> None:
    """Let the machine write the next letter, and lay out the options.

    An option that is wrong continues the last letter by a difference between two neighbours in
    what is shown or, in a quarter of all cases, is at most four letters away from it. So what is
    out of line is seldom right: who knows this rule gains nothing by it.
    """
    machine, now, options, seen = state.machine, state.now, state.options, state.seen
    a, b, c, at, _ = to_next(
        state.code, state.tops, now[LETTERS], machine[0], machine[1], machine[2], machine[3]
    )
    machine[0], machine[1], machine[2], machine[3] = a, b, c, at
    now[ANSWER] = a
    letters, length = now[LETTERS], min(now[COUNT], len(seen))
    for number in range(now[CHOICES]):
        option = a
        attempts = 0
        taken = number > 0
        while taken:
            if attempts > ATTEMPTS:
                option = option + 1 if option + 1 < letters else 0
            elif length == 0:
                option = below(state.rng, letters)
            elif length == 1 or below(state.rng, 4) == 0:
                step_away = below(state.rng, 2 * NEAR + 1) - NEAR
                option = (seen[length - 1] + step_away + letters * NEAR) % letters
            else:
                pair = below(state.rng, length - 1)
                option = (seen[length - 1] + seen[pair + 1] - seen[pair] + letters) % letters
            attempts += 1
            taken = False
            for other in range(number):
                taken = taken or options[other] == option
        options[number] = option
    for number in range(now[CHOICES] - 1, 0, -1):  # every order is equally likely
        other = below(state.rng, number + 1)
        options[number], options[other] = options[other], options[number]


@kernel
def reveal(state: Any) -> None:
    """Add the letter that was asked for to the series."""
    now, seen = state.now, state.seen
    if now[COUNT] < len(seen):
        seen[now[COUNT]] = now[ANSWER]
    else:
        for place in range(len(seen) - 1):
            seen[place] = seen[place + 1]
        seen[len(seen) - 1] = now[ANSWER]
    now[COUNT] += 1


@kernel
def reset(state: Any) -> Any:
    """Begin the series anew, and show its first letters; the first reward is 0."""
    now = state.now
    for place in range(len(state.machine)):
        state.machine[place] = 0
    choices = now[CHOICES]
    now[CHOICES] = 0  # options are laid out for the last letter only
    now[COUNT] = now[ANSWERED] = 0
    for _ in range(now[SHOWN]):
        ask(state)
        reveal(state)
    now[CHOICES] = choices
    ask(state)
    return 0.0


@kernel
def step(state: Any, action: Any) -> Any:
    """Mark an answer, and go on with the series where the answer follows each guess."""
    now = state.now
    if now[ANSWERED] == 1:
        return 0.0
    options = now[CHOICES] if now[CHOICES] > 0 else now[LETTERS]
    guess = state.options[action] if now[CHOICES] > 0 else action
    mark = 1.0 if guess == now[ANSWER] else -1.0 / (options - 1)
    if now[EACH] == 1:
        reveal(state)
        ask(state)
    else:
        now[ANSWERED] = 1
    return mark


@kernel
def observe(state: Any, out: Any) -> None:
    """Show the letters, from 1 on, with 0 where there is none; the options; and what is done."""
    now, seen = state.now, state.seen
    for place in range(len(seen)):
        out[place] = seen[place] + 1 if place < now[COUNT] else 0
    for number in range(now[CHOICES]):
        out[len(seen) + number] = state.options[number]
    if now[EACH] == 0:
        out[len(seen) + now[CHOICES]] = now[ANSWERED]


KERNELS = EnvironmentKernels(CTestState, reset, step, observe)
