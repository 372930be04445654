"""A backend of matplotlib whose windows are only counted, for ``module://window_backend``."""

from __future__ import annotations

from typing import Any

from matplotlib.backend_bases import FigureManagerBase
from matplotlib.backends.backend_agg import FigureCanvasAgg

events: list[Any] = []


class FigureManager(FigureManagerBase):
    def show(self) -> None:
        events.append("shown")

    def set_window_title(self, title: str) -> None:
        events.append(title)


class FigureCanvas(FigureCanvasAgg):
    # What matplotlib says runs where there is no display; elsewhere nothing runs, which fits too.
    required_interactive_framework = "headless"
    manager_class = FigureManager  # type: ignore[assignment]

    def start_event_loop(self, timeout: float = 0) -> None:
        events.append(timeout)
