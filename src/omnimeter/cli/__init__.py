"""The door of the command line: ``omnimeter --help`` explains itself."""

from omnimeter.cli.entry import main

__all__ = ["main"]
