"""Studies that simulated people have played, at desks as the server gives them one."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from pathlib import Path
from random import Random
from typing import Any

from omnimeter.web.session import Phase, Session, View
from omnimeter.web.studies import Design, Participant, Study

Choose = Callable[[View], int]
"""What a simulated person does."""


def at_random(seed: int) -> Choose:
    """A person who does anything."""
    rng = Random(seed)
    return lambda view: rng.randrange(view.actions)


def play(
    study: Study, participant: Participant, choose: Choose, actions: int | None = None
) -> list[tuple[int, int]]:
    """Let a participant take the test, or a part of it.

    Args:
        study: The study.
        participant: Who takes it.
        choose: What they do.
        actions: After how many actions they leave; by default at the end.

    Returns:
        The exercise and the action of each answer.
    """
    done: list[tuple[int, int]] = []
    with study.open_events(participant) as log:

        def record(told: Mapping[str, Any]) -> None:
            log.add({"kind": "act", "time": time.time(), **told})

        evaluation, folder = study.evaluation(participant), study.folder(participant)
        session = Session(
            participant.name, evaluation, folder / "evaluation", lambda view: None, record
        )
        desk = session.desk
        session.start()
        begun = time.monotonic()
        while time.monotonic() - begun < 120:
            view = desk.view
            if view.phase is Phase.READY:
                desk.answer(view.seq, None)
            elif view.phase is Phase.ASKED and (actions is None or len(done) < actions):
                action = choose(view)
                reaction = 100 * view.exercise + view.step
                if desk.answer(view.seq, action, {"action": action, "reaction": reaction}):
                    done.append((view.exercise, action))
            elif view.phase is not Phase.BUSY:
                break
            else:
                time.sleep(0.0005)
        assert session.stop()
        assert not desk.view.trouble, desk.view.trouble
    return done


def answer(study: Study, participant: Participant, **answers: Any) -> None:
    """Let a participant answer the questionnaire."""
    with study.open_events(participant) as log:
        log.add({"kind": "answered", "time": time.time(), "answers": answers})


BATTERY = {
    "title": "small",
    "exercises": [
        {"environment_class": f"lambda-v1(cells={cells})", "interactions": 4 * cells}
        for cells in (3, 4, 5)
    ],
}


def a_study(path: Path, people: int, **design: Any) -> tuple[Study, list[Participant]]:
    """A study with so many participants who have played it."""
    chosen = Design(**{"title": "Small study", "battery": BATTERY, **design})
    study = Study.create(path, chosen)
    invited = study.invite(people)
    for each in invited:
        play(study, each, at_random(each.number))
    return study, invited
