"""PWorld: squares with propositions, in which agents gather, locate, map and tell."""

from omnimeter.environments.pworld.generator import PWorld
from omnimeter.environments.pworld.journal import Journal, Moment, replay
from omnimeter.environments.pworld.tasks import located, objects
from omnimeter.environments.pworld.world import Element, Event, World

__all__ = [
    "Element",
    "Event",
    "Journal",
    "Moment",
    "PWorld",
    "World",
    "located",
    "objects",
    "replay",
]
