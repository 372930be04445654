"""A server of studies in a process of its own, which can be killed."""

from __future__ import annotations

import socket
import subprocess
import sys
import time
from pathlib import Path
from urllib.error import URLError
from urllib.request import urlopen


class StudyServer:
    """A server on a free port of this machine; started anew it has the same address.

    Args:
        folder: The folder of the studies.
    """

    def __init__(self, folder: Path) -> None:
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        self.folder, self.url = folder, f"http://127.0.0.1:{self.port}"
        self.start()

    def start(self) -> None:
        """Start it, and wait until it answers."""
        command = [sys.executable, __file__, str(self.folder), str(self.port)]
        self._process = subprocess.Popen(command)
        deadline = time.monotonic() + 60
        while time.monotonic() < deadline:
            assert self._process.poll() is None, "the server has ended"
            try:
                urlopen(f"{self.url}/static/style.css", timeout=5).close()
                return
            except (URLError, ConnectionError):
                time.sleep(0.05)
        raise TimeoutError("the server does not answer")

    def kill(self) -> None:
        """End it at once, as a failing machine would."""
        self._process.kill()
        self._process.wait()


if __name__ == "__main__":
    import uvicorn

    from omnimeter.web.server import application

    app = application(Path(sys.argv[1]))
    uvicorn.run(app, host="127.0.0.1", port=int(sys.argv[2]), log_level="warning")
