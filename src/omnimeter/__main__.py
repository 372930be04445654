"""``python -m omnimeter`` is the ``omnimeter`` command."""

from omnimeter.cli import main

if __name__ == "__main__":
    main()
