"""The ``omnimeter`` command, also as ``python -m omnimeter``.

Signals are handled before anything else is imported: SIGTERM and SIGHUP end a command like Ctrl-C,
which keeps all that is finished, and none of them gives a traceback.
"""

import os
import signal
import sys


def main() -> None:
    """Run the command; after a signal the exit code is 128 and its number."""
    received: list[int] = []
    begun = False

    def interrupt(number: int, frame: object) -> None:  # noqa: ARG001 - as the system calls it
        received.append(number)
        if not begun:
            os._exit(128 + number)
        if number == getattr(signal, "SIGHUP", None):
            _forget_terminal()
        # A terminal that is closed may say so twice, but a person who presses Ctrl-C again insists.
        if number == signal.SIGINT or len(received) == 1:
            raise KeyboardInterrupt

    def swallowed(lost: "sys.UnraisableHookArgs") -> None:
        """Send a signal again that came in a callback, which lets no exception through."""
        if not (received and issubclass(lost.exc_type, KeyboardInterrupt)):
            sys.__unraisablehook__(lost)
            return
        from threading import Timer

        Timer(0.02, os.kill, (os.getpid(), received.pop())).start()

    sys.unraisablehook = swallowed
    for name in ("SIGINT", "SIGTERM", "SIGHUP"):  # the last is unknown to some systems
        known = getattr(signal, name, None)
        # What ignores a signal, as nohup does, goes on ignoring it.
        if known is not None and signal.getsignal(known) != signal.SIG_IGN:
            signal.signal(known, interrupt)
    try:
        from omnimeter.cli import main as run

        begun = True
        run()
    except KeyboardInterrupt:
        sys.exit(128 + received[0] if received else 130)
    except SystemExit as end:
        if received and end.code in (1, 130):  # older versions of Typer leave with 1
            sys.exit(128 + received[0])
        raise
    finally:
        begun = False  # nothing is left to be kept
        # Python remembers an interrupt that came while a text was executed, as in the import of a
        # named tuple, and would end by SIGINT although it was handled. This makes it forget.
        exec("")


def _forget_terminal() -> None:
    """Write no more to a terminal that is gone: that would be an error."""
    import termios

    for descriptor in (1, 2):
        try:
            if os.isatty(descriptor):
                termios.tcgetattr(descriptor)
        except (OSError, termios.error):
            nothing = os.open(os.devnull, os.O_WRONLY)
            os.dup2(nothing, descriptor)
            os.close(nothing)


if __name__ == "__main__":
    main()
