"""The command line: ``omnimeter --help`` explains itself."""

from omnimeter.cli.app import main

__all__ = ["main"]
