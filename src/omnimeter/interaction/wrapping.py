"""Kernels made of other kernels: agents around agents, and one environment after another.

The kernels of the parts are called by a generated module that lies in the cache like compiled
loops and is named by a hash of all it reaches. Its kernels are compiled, and wrapped again, like
any others.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass
from functools import cache
from types import ModuleType
from typing import Any

import numpy as np

from omnimeter.contract import (
    Agent,
    AgentKernels,
    Briefing,
    EnvironmentKernels,
    InvalidInputError,
    Move,
    Observation,
    Prior,
)
from omnimeter.contract.exercise import nanoseconds
from omnimeter.contract.kernels import State
from omnimeter.interaction import templates
from omnimeter.interaction.compilation import load
from omnimeter.interaction.dispatch import behaves_by_kernels
from omnimeter.interaction.intrinsics import generator_state
from omnimeter.interaction.kernels import KernelAgent, Lent, contiguous, seed_state


@dataclass(frozen=True, slots=True)
class OuterKernels:
    """What stands between an agent and its environment. What has nothing to do is left out.

    Attributes:
        state: The NamedTuple class of its state.
        observe: ``observe(state, reward, observation, seen) -> reward``: what the agent inside is
            given; ``seen`` holds the observation and may be changed.
        action: ``action(state, action) -> action``: what is performed instead of its action.
        begin: ``begin(state)``: get ready.
        delay: ``delay(state) -> nanoseconds`` beyond those that the agent declares.
        request: ``request(state) -> what``: what is to be adjusted in the agent before it acts;
            called again and again until it gives -1.
        amount: ``amount(state) -> amount``: of the last request.
    """

    state: type
    _: KW_ONLY
    observe: Callable[..., Any] | None = None
    action: Callable[..., Any] | None = None
    begin: Callable[..., Any] | None = None
    delay: Callable[..., Any] | None = None
    request: Callable[..., Any] | None = None
    amount: Callable[..., Any] | None = None


def wrap_agent(
    inner: Agent, outer: OuterKernels, outer_state: Callable[[Briefing], State]
) -> Agent:
    """An agent behind outer kernels: of kernels itself, and compiled, if the agent has kernels.

    Args:
        inner: The agent inside.
        outer: What stands between it and its environment.
        outer_state: Makes the outer state for an exercise.

    Raises:
        InvalidInputError: It would have to be adjusted and cannot be.
    """
    compiled = isinstance(inner, KernelAgent) and behaves_by_kernels(inner)
    if outer.request is not None:
        by_kernels = compiled and inner.kernels is not None and inner.kernels.adjust is not None
        if not by_kernels and (compiled or type(inner).adjust is Agent.adjust):
            message = f"{type(inner).__name__} cannot be adjusted: it has no method adjust."
            raise InvalidInputError(message, "Choose a learner that has one, such as q-learning.")
    cls: Any = _KernelWrapper if compiled else _Wrapper
    agent: Agent = cls(inner, outer, outer_state)
    return agent


class _Offline(Agent):
    """Leaves to the agent inside the offline phase, the view, and whether it is costly."""

    def __init__(
        self, inner: Any, outer: OuterKernels, outer_state: Callable[[Briefing], State]
    ) -> None:
        self.inner, self.outer, self.outer_state = inner, outer, outer_state
        self.view, self.costly = inner.view, inner.costly

    def prepare(self, prior: Prior, rng: np.random.Generator) -> Mapping[str, Any]:
        return dict(self.inner.prepare(prior, rng))

    def restore(self, prior: Prior, prepared: Mapping[str, Any]) -> None:
        self.inner.restore(prior, prepared)


class _KernelWrapper(_Offline, KernelAgent):
    """A wrapped agent whose kernels are those of both."""

    def __init__(
        self, inner: KernelAgent, outer: OuterKernels, outer_state: Callable[[Briefing], State]
    ) -> None:
        super().__init__(inner, outer, outer_state)
        self.pace = inner.pace
        self.kernels = agent_kernels(inner.kernels, outer)

    def initial_state(self, briefing: Briefing) -> State:
        seen = np.zeros(len(briefing.space.sizes), dtype=np.int64)
        parts = self.outer_state(briefing), self.inner.initial_state(briefing)
        return self.kernels.state(generator_state(), seen, *parts[0], *parts[1])


class _Wrapper(_Offline):
    """A wrapped agent without kernels; the outer ones are called from Python."""

    def begin(self, briefing: Briefing, rng: np.random.Generator) -> None:
        state = contiguous(self.outer_state(briefing))
        self._space = briefing.space
        self._observation, self._seen = np.zeros((2, len(briefing.space.sizes)), dtype=np.int64)
        self._actions, self._state = briefing.actions, state
        self._lent = Lent(outer_entries, self.outer, state, self._observation, self._seen)
        seed_state(state, rng)
        self._lent.entries.begin(self._lent.loan)
        self.inner.begin(briefing, rng)

    def act(self, reward: float, observation: Observation) -> int | Move:
        given, seen = self._adjusted(reward, observation)
        entries, loan = self._lent.entries, self._lent.loan
        answer: int | Move = self.inner.act(given, seen)
        action, declared = answer if isinstance(answer, Move) else (answer, None)
        if not isinstance(action, int | np.integer) or action < 0:
            return answer  # to stop, or to be reported
        changed, delay = entries.action(loan, int(action))
        if delay <= 0:
            return changed if declared is None else Move(changed, declared)
        # as where both are kernels; an invalid time stays as it is, to be reported
        valid = declared is None or (isinstance(declared, int | float) and declared > 0)
        own = nanoseconds(declared) if valid and declared is not None else 0
        return Move(changed, (own + delay) / 1e9 if valid else declared)

    def recall(self, reward: float, observation: Observation, action: int) -> None:
        given, seen = self._adjusted(reward, observation)
        entries, loan = self._lent.entries, self._lent.loan
        before = [array.copy() for array in self._state]
        for own in range(self._actions if action >= 0 else 0):
            if entries.action(loan, own)[0] == action:  # which the agent inside has answered
                self.inner.recall(given, seen, own)
                return
            for array, copy in zip(self._state, before, strict=True):
                array[:] = copy
        self.inner.recall(given, seen, action)

    def finish(self, reward: float, observation: Observation) -> None:
        self.inner.finish(*self._given(reward, observation))

    def adjust(self, what: int, amount: float) -> bool:
        return bool(self.inner.adjust(what, amount))

    def _adjusted(self, reward: float, observation: Observation) -> tuple[float, Observation]:
        """What the agent inside is given, after it was adjusted."""
        given = self._given(reward, observation)
        entries, loan = self._lent.entries, self._lent.loan
        while (what := entries.request(loan)) >= 0:
            if not self.inner.adjust(what, entries.amount(loan)):
                raise ValueError(f"{type(self.inner).__name__} cannot be adjusted")
        return given

    def _given(self, reward: float, observation: Observation) -> tuple[float, Observation]:
        self._observation[:] = observation
        given = self._lent.entries.observe(self._lent.loan, reward)
        return given, self._space.from_vector(self._seen)


_PREAMBLE = """
from typing import Any, NamedTuple

from omnimeter.contract.kernels import kernel
from omnimeter.interaction.intrinsics import next_bits

"""

_STATE = """
class State(NamedTuple):
    {fields}

"""

_AGENT = """
@kernel
def begin(state):
    {seeds}
    {outer_begin}
    {inner_begin}


@kernel
def given(state, reward, observation):
    for k in range(len(state.seen)):
        state.seen[k] = observation[k]
    return {observe}


@kernel
def act(state, reward, observation):
    changed = given(state, reward, observation)
    inner = {inner}
    {requests}
    action = inner_act(inner, changed, state.seen)
    if action < 0:
        return action
    return {action}


@kernel
def finish(state, reward, observation):
    changed = given(state, reward, observation)
    {finish}


@kernel
def delay(state):
    return {delay}


@kernel
def adjust(state, what, amount):
    {adjust}
"""

_REQUESTS = """outer = {outer}
    what = outer_request(outer)
    while what >= 0:
        inner_adjust(inner, what, outer_amount(outer))
        what = outer_request(outer)"""


@cache
def agent_kernels(inner: AgentKernels, outer: OuterKernels) -> AgentKernels:
    """The kernels of an agent behind outer kernels.

    Their state has the fields ``rng`` and ``seen``, then those of the outer state and of the
    agent's, with ``outer_`` and ``inner_`` before their names. Both are seeded from ``rng``.
    """
    outside, inside = _made("outer", outer.state), _made("inner", inner.state)
    delays = [f"int(inner_delay({inside}))"] * bool(inner.delay)
    delays += [f"int(outer_delay({outside}))"] * bool(outer.delay)
    observe = f"float(outer_observe({outside}, reward, observation, state.seen))"
    body = _PREAMBLE + _STATE.format(
        fields=_fields(outer=outer.state, inner=inner.state, seen=None)
    )
    body += _AGENT.format(
        seeds=_seeds(outer=outer.state, inner=inner.state),
        outer_begin=f"outer_begin({outside})" if outer.begin else "pass",
        inner_begin=f"inner_begin({inside})" if inner.begin else "pass",
        observe=observe if outer.observe else "reward",
        inner=inside,
        requests=_REQUESTS.format(outer=outside) if outer.request else "pass",
        action=f"outer_action({outside}, action)" if outer.action else "action",
        finish=f"inner_finish({inside}, changed, state.seen)" if inner.finish else "pass",
        delay=" + ".join(delays) or "0",
        adjust=f"inner_adjust({inside}, what, amount)" if inner.adjust else "pass",
    )
    made = load("wrapped agent", body, compiles=False, inner=inner, outer=outer)
    return AgentKernels(
        made.State,
        act=made.act,
        begin=made.begin,
        finish=made.finish,
        delay=made.delay if delays else None,
        adjust=made.adjust if inner.adjust else None,
    )


_OUTER = """
@compiled_for(int64[::1])
def begin(arrays):
    {begin}


@compiled_for(int64[::1], float64)
def observe(arrays, reward):
    observation, seen = {observation}, {seen}
    for k in range(len(seen)):
        seen[k] = observation[k]
    return {observe}


@compiled_for(int64[::1])
def request(arrays):
    return {request}


@compiled_for(int64[::1])
def amount(arrays):
    return {amount}


@compiled_for(int64[::1], int64)
def action(arrays, action):
    state = {state}
    return {action}, {delay}
"""


@cache
def outer_entries(outer: OuterKernels, types: tuple[str, ...]) -> ModuleType:
    """What Python calls of outer kernels; ``action`` gives the added delay too."""
    arrays = templates.lent_fields(types, "observation", "seen")
    state = f"OuterState({arrays['fields']})"
    observe = f"float(outer_observe({state}, reward, observation, seen))"
    body = templates.preamble() + _OUTER.format(
        state=state,
        observation=arrays["observation"],
        seen=arrays["seen"],
        begin=f"outer_begin({state})" if outer.begin else "pass",
        observe=observe if outer.observe else "reward",
        request=f"outer_request({state})" if outer.request else "-1",
        amount=f"float(outer_amount({state}))" if outer.request else "0.0",
        action="outer_action(state, action)" if outer.action else "action",
        delay="int(outer_delay(state))" if outer.delay else "0",
    )
    return load("outer agent", body, outer=outer)


_SWITCH = """
COUNT, AT = 0, 1


@kernel
def reset(state):
    state.counter[COUNT] = 0
    {seeds}
    return float(first_reset({first}))


@kernel
def step(state, action):
    count = state.counter[COUNT] + 1
    state.counter[COUNT] = count
    if count > state.counter[AT]:
        return float(second_step({second}, action))
    reward = float(first_step({first}, action))
    if count == state.counter[AT]:
        second_reset({second})
        {carried}
    return reward


@kernel
def observe(state, out):
    if state.counter[COUNT] < state.counter[AT]:
        first_observe({first}, out)
    else:
        second_observe({second}, out)
"""

_CARRIED = """for k in range(min(len(state.first_{field}), len(state.second_{field}))):
            state.second_{field}[k] = state.first_{field}[k]
        """


@cache
def wrap_environments(
    first: EnvironmentKernels, second: EnvironmentKernels, carried: Sequence[str] = ()
) -> EnvironmentKernels:
    """The kernels of an environment that goes on as another one.

    Their state has the fields ``rng`` and ``counter``, then those of both states, with ``first_``
    and ``second_`` before their names. Both are seeded from ``rng``; ``counter`` holds the
    interactions so far and after which one the second begins.

    Args:
        first: How the environment moves at first.
        second: How it moves later.
        carried: The fields of the state that continue with their values, where both have the same
            kernels.
    """
    body = _PREAMBLE + _STATE.format(
        fields=_fields(first=first.state, second=second.state, counter=None)
    )
    body += _SWITCH.format(
        seeds=_seeds(first=first.state, second=second.state),
        first=_made("first", first.state),
        second=_made("second", second.state),
        carried="".join(_CARRIED.format(field=field) for field in carried) or "pass",
    )
    made = load("switching environment", body, compiles=False, first=first, second=second)
    return EnvironmentKernels(made.State, made.reset, made.step, made.observe)


def _fields(**states: Any) -> str:
    """The lines of the fields of a state: ``rng``, those of its own, and those of other states."""
    own = ["rng", *(name for name, state in states.items() if state is None)]
    parts = [f"{side}_{name}" for side, state in states.items() if state for name in state._fields]
    return "\n    ".join(f"{name}: Any" for name in own + parts)


def _seeds(**states: Any) -> str:
    """What seeds the states of the parts that have randomness."""
    lines = [
        f"state.{side}_rng[0] = next_bits(state.rng)"
        for side, state in states.items()
        if "rng" in state._fields
    ]
    return "\n    ".join(lines) or "pass"


def _made(side: str, state: Any) -> str:
    """What makes the state of a part from that of the whole."""
    return f"{side.capitalize()}State({', '.join(f'state.{side}_{f}' for f in state._fields)})"
