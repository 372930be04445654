"""Several agents at once, some of whom cannot name their view, or a class that cannot seat them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from joint_parts import Reciter, Ring, Wanderer, joint
from loop_parts import Player
from omnimeter.contract import Agent, Fault, FaultKind, Trace
from omnimeter.interaction import run, run_single
from omnimeter.interaction.loop import run_stepwise


def fault_of(trace: Trace) -> Fault:
    assert trace.fault is not None
    return trace.fault


class Undecided(Player):
    """Raises when it is asked for its view."""

    @property
    def view(self) -> str | None:  # type: ignore[override]
        raise LookupError("which one?")


@pytest.mark.parametrize("seat", [0, 1, 2])
def test_who_cannot_name_its_view_drops_out_before_the_start(seat: int) -> None:
    agents: list[Agent] = [Reciter([1], "narrow"), Reciter([2], "wide")]
    agents.insert(seat, Undecided([]))
    traces = run_stepwise(Ring(), agents, joint(members=3), record=True)
    gone = traces.pop(seat)
    assert (len(gone), fault_of(gone).kind) == (0, FaultKind.AGENT_ERROR)
    assert "LookupError when naming its view" in fault_of(gone).message
    for trace, width in zip(traces, (1, 5), strict=True):  # each agent keeps its own seat's space
        assert (trace.fault, len(trace)) == (None, 40)
        assert trace.observations is not None
        assert trace.observations.shape == (41, width)


@pytest.mark.parametrize("view", [7, ["wide"], np.zeros(3), print])
def test_a_view_that_is_no_name_is_a_fault_in_every_loop(view: Any) -> None:
    agents = [Reciter([1], view), Wanderer()]
    (joined,) = run(Ring(), agents, [joint()])
    (alone,) = run_single(Ring(), agents[0], [joint(joint=())])
    for trace in (joined[0], alone):
        assert fault_of(trace).kind is FaultKind.AGENT_ERROR
        assert "asks for the view" in fault_of(trace).message
    assert (joined[1].fault, len(joined[1])) == (None, 40)


class BrokenRing(Ring):
    """Cannot seat any agent."""

    def with_views(self, views: Sequence[str | None]) -> Ring:
        raise ZeroDivisionError("no chairs")


class StrangeRing(Ring):
    """Gives no class."""

    def with_views(self, views: Sequence[str | None]) -> Any:
        return None


@pytest.mark.parametrize("place", [BrokenRing(), StrangeRing()])
def test_a_class_that_fails_to_seat_is_no_fault_of_the_agents(place: Ring) -> None:
    agents = [Reciter([1]), Wanderer()]
    (joined,) = run(place, agents, [joint()])
    (alone,) = run_single(place, agents[0], [joint(joint=())])
    for trace in (*joined, alone):
        assert (len(trace), fault_of(trace).kind) == (0, FaultKind.INFRASTRUCTURE)
        assert "The environment raised" in fault_of(trace).message
