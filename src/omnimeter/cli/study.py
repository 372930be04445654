"""``omnimeter study``: studies with people."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from omnimeter.cli.study_comparison import compare

HELP = "Studies with people, who take in a browser what agents take."

COMMANDS: Mapping[str, Callable[..., None]] = {"compare": compare}
"""The commands of studies, by their names."""
