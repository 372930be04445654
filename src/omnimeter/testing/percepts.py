"""What the standard demands of a single percept."""

from __future__ import annotations

from omnimeter.contract import Environment, Percept


def check_percept(environment: Environment, percept: Percept, seat: int = 0) -> None:
    """Refuse what an agent in a seat could not understand."""
    assert isinstance(percept, Percept), f"{percept!r} was given instead of a Percept."
    reward, observation = percept
    assert isinstance(reward, float | int), f"The reward {reward!r} is not a plain number."
    low, high = environment.rewards
    assert low <= reward <= high, f"The reward {reward} is outside the declared {(low, high)}."
    space = environment.space_of(seat)
    assert space.contains(observation), (
        f"The observation {observation!r} is not in {space}. A single space has "
        "integers, any other an int64 vector with every component below its size."
    )
