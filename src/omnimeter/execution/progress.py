"""What can be watched while an evaluation runs."""

from __future__ import annotations

from collections.abc import Sequence

from omnimeter.contract import Outcome, Spec


class Observer:
    """Somebody who watches; this one does not look."""

    def started(self, agents: Sequence[Spec], expected: int | None) -> None:
        """The agents, and how many exercises each is going to take, where that is known."""

    def finished(self, agent: Spec, outcomes: Sequence[Outcome]) -> None:
        """Some exercises of an agent are done and stored, now or in an earlier session."""
