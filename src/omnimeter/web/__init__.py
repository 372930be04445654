"""The web application: people take tests in a browser, and researchers look at environments."""

from importlib.resources import files as _files
from pathlib import Path as _Path

STATIC = _Path(str(_files(__name__) / "static"))
"""Where the pages are that come with the package."""
