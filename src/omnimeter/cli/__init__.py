"""The command line."""


def main() -> None:
    """Run the ``omnimeter`` command."""
