"""How Gymnasium learns the ids of the catalogue."""

from __future__ import annotations

import gymnasium

from omnimeter.catalogue import Kind, listing
from omnimeter.catalogue.ids import read_id

NAMESPACE = "omnimeter"
"""What stands before an id of the catalogue: ``omnimeter/cups-v1``."""

_ROOM = "omnimeter.gymnasium_face"


def register() -> None:
    """Register every environment class of the catalogue that Gymnasium does not know yet.

    Importing the package does it once. Call it again after ``omnimeter.catalogue.forget``. A class
    that cannot be used is registered too: whoever makes it gets the catalogue's explanation.
    """
    for entry in listing(Kind.ENVIRONMENT):
        name = f"{NAMESPACE}/{entry.id}"
        if name in gymnasium.registry or read_id(entry.id) is None:
            continue
        gymnasium.register(
            name,
            entry_point=f"{_ROOM}.environment:OmnimeterEnv",
            vector_entry_point=f"{_ROOM}.vector:OmnimeterVectorEnv",
            kwargs={"environment_class": entry.id},
            order_enforce=False,  # a wrapper that costs time; the environment enforces it itself
            disable_env_checker=True,  # likewise; the tests check every class instead
        )
