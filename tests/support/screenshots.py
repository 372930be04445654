"""Pictures of pages that the tests of the browser keep, so that people can look at them."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

FOLDER = Path(os.environ.get("OMNIMETER_SCREENSHOTS") or Path(__file__).parents[2] / ".screenshots")
"""Where they are kept: below the project, unless the environment names another folder."""


def keep(page: Any, name: str) -> None:
    """Keep a picture of a page."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    page.screenshot(path=FOLDER / f"{name}.png", full_page=True)
