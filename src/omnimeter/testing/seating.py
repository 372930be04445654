"""What the standard demands of a class with several forms of observation, or several seats."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from omnimeter.audits.playing import answer, answers, random_actions
from omnimeter.contract import (
    Environment,
    EnvironmentClass,
    InvalidInputError,
    Percept,
    Stream,
    canonical,
    stream,
)
from omnimeter.testing.drawing import DrawingRules
from omnimeter.testing.percepts import check_percept

UNHEARD_OF = "a form that there is not"


class SeatingRules(DrawingRules):
    """How a class serves the forms that agents ask for, and several agents at once.

    Classes with one form and one seat keep these rules without doing anything.
    """

    def test_every_view_keeps_the_contract(self) -> None:
        """Each form is built, is named in the briefing, and shows what its space says."""
        environment_class = self.make()
        for view in environment_class.views:
            environment = self._built(environment_class.seating([view]))
            told = environment.briefing().view
            assert told in environment_class.views, (
                f"Seated for {view!r}, the briefing names the form {told!r}, which is none of "
                f"{tuple(environment_class.views)}. Let view_of say which form a seat has."
            )
            check_percept(environment, environment.start(self._chance("play").generator()))
            for action in self._actions(environment):
                check_percept(environment, environment.step(action))

    def test_unknown_views_get_the_default(self) -> None:
        """Who asks for a form that there is not gets what one gets who asks for none."""
        default, other = (
            self._built(self.make().seating([view])).briefing() for view in (None, UNHEARD_OF)
        )
        assert other == default, (
            f"Without a view the briefing is {default}, with an unknown one {other}. "
            "Agents are written for other classes too: give them the default."
        )

    def test_seating_leaves_instances_alone(self) -> None:
        """What is drawn, and its grade, do not depend on who will be there."""
        drawn = self.drawn(0)
        for views, seated in self._seatings():
            rng = stream(self.seed, "suite", "instance", 0).generator()
            again = seated.draw(rng)
            assert canonical(again.data) == canonical(drawn.data), (
                f"Seated for {views}, another instance was drawn. Agents are compared in the same "
                "instances: keep views and seats out of them."
            )
            assert seated.complexity(drawn) == self.make().complexity(drawn), (
                f"Seated for {views}, the same instance has another complexity."
            )

    def test_seats_keep_the_contract(self) -> None:
        """With several agents each gets a reward in the range and what its space says."""
        for views, seated in self._seatings():
            environment = self._built(seated)
            assert environment.seats == len(views), (
                f"Seated for {len(views)}, an environment has {environment.seats} seats."
            )
            if len(views) > 1:
                generator = self._chance("play").generator()
                _check_all(environment, environment.start_together(generator))
                for action in self._actions(environment):
                    actions = [action, *[0] * (len(views) - 1)]
                    _check_all(environment, environment.step_together(actions))

    def test_one_seat_is_the_same_together(self) -> None:
        """One agent gets the same by ``start_together`` and ``step_together``."""
        alone, together = (self._built(self.make().seating([None])) for _ in range(2))
        actions = self._actions(alone)
        (percept,) = together.start_together(self._chance("play").generator())
        found = [answer(together, percept)]
        for action in actions:
            (percept,) = together.step_together([action])
            found.append(answer(together, percept))
        assert found == answers(alone, self._chance("play"), actions), (
            "One agent alone gets other percepts by start and step than by start_together and "
            "step_together. Let one of them call the other."
        )

    def _seatings(self) -> Iterator[tuple[list[str | None], EnvironmentClass]]:
        """The class for each view alone and, where there is room, for two who differ."""
        environment_class = self.make()
        views: list[str | None] = [None, *environment_class.views]
        for view in views:
            yield [view], environment_class.seating([view])
        two = [None, views[-1]]
        try:
            seated = environment_class.seating(two)
        except InvalidInputError:  # no room
            return
        yield two, seated

    def _built(self, seated: EnvironmentClass) -> Environment:
        return seated.build(self.drawn(0))

    def _actions(self, environment: Environment) -> list[int]:
        return random_actions(environment, self._chance("actions"), self.interactions)

    def _chance(self, name: str) -> Stream:
        return stream(self.seed, "suite", name)


def _check_all(environment: Environment, percepts: Sequence[Percept]) -> None:
    assert len(percepts) == environment.seats, (
        f"{len(percepts)} percepts were given to {environment.seats} seats."
    )
    for seat, percept in enumerate(percepts):
        check_percept(environment, percept, seat)
