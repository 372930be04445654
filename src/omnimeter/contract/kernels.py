"""The kernel convention: small functions over a side's own state, compiled or plain.

A state is a ``NamedTuple`` of one-dimensional arrays. A field named ``rng``, a ``uint64`` array of
length one, is seeded by the loop before ``reset`` or ``begin``.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass
from typing import Any

State = Any  # a NamedTuple of one-dimensional arrays


def kernel(function: Callable[..., Any]) -> Callable[..., Any]:
    """Mark a function as a kernel, which is inlined wherever compiled code calls it."""
    from numba import njit

    compiled: Callable[..., Any] = njit(forceinline=True, error_model="numpy")(function)
    return compiled


def plain() -> bool:
    """Whether kernels run as ordinary Python (``NUMBA_DISABLE_JIT=1``)."""
    import numba

    return bool(numba.config.DISABLE_JIT)  # type: ignore[attr-defined] # made at run time


@dataclass(frozen=True, slots=True)
class EnvironmentKernels:
    """How an environment moves.

    Attributes:
        state: The NamedTuple class of its state.
        reset: ``reset(state) -> reward``: begin anew, give the first reward.
        step: ``step(state, action) -> reward``: react to an action.
        observe: ``observe(state, out)``: write what is seen now into an int64 vector.
        step_joint: ``step_joint(state, actions, rewards)``, for several seats: react to an int64
            vector with the action of each, write the reward of each into a float64 vector.
        observe_from: ``observe_from(state, seat, out)``: write what is seen from a seat.
    """

    state: type
    reset: Callable[..., Any]
    step: Callable[..., Any]
    observe: Callable[..., Any]
    step_joint: Callable[..., Any] | None = None
    observe_from: Callable[..., Any] | None = None


@dataclass(frozen=True, slots=True)
class AgentKernels:
    """How an agent behaves. What has nothing to do is left out.

    Attributes:
        state: The NamedTuple class of its state.
        act: ``act(state, reward, observation) -> action``, with -1 to stop.
        begin: ``begin(state)``: get ready.
        finish: ``finish(state, reward, observation)``: receive the last reward.
        delay: ``delay(state) -> nanoseconds`` of the action just chosen; 0 leaves it to the clock.
        adjust: ``adjust(state, what, amount)``: what ``Agent.adjust`` does.
    """

    state: type
    _: KW_ONLY
    act: Callable[..., Any]
    begin: Callable[..., Any] | None = None
    finish: Callable[..., Any] | None = None
    delay: Callable[..., Any] | None = None
    adjust: Callable[..., Any] | None = None
