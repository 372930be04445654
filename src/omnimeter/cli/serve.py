"""``omnimeter serve``: the web application of a folder with studies and results."""

from __future__ import annotations

import signal
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated

import typer

from omnimeter.cli.display import console

Folder = Annotated[
    Path,
    typer.Argument(
        metavar="FOLDER", help="The folder of studies and results (by default this one)."
    ),
]


def need_web() -> None:
    """Tell what to install, if the libraries of the web application are missing.

    Raises:
        InvalidInputError: One is missing.
    """
    from omnimeter.contract import InvalidInputError

    missing = [name for name in ("fastapi", "uvicorn", "websockets") if find_spec(name) is None]
    if missing:
        message = f"The web application needs {' and '.join(missing)}, not installed here."
        raise InvalidInputError(message, "pip install 'omnimeter[web]'")


def serve(
    folder: Folder = Path("."),
    host: Annotated[
        str,
        typer.Option(
            metavar="ADDRESS",
            help="Where to listen; 0.0.0.0 lets other machines in, and needs a login.",
        ),
    ] = "127.0.0.1",
    port: Annotated[
        int | None,
        typer.Option(
            metavar="N", min=0, max=65535, help="The port (by default 8000, or the next free one)."
        ),
    ] = None,
    login: Annotated[
        bool,
        typer.Option("--login", help="Need a login on this machine too, as behind a proxy."),
    ] = False,
    proxy: Annotated[
        str | None,
        typer.Option(
            metavar="ADDRESS",
            help="The address of a proxy before it, which is believed where requests come from; "
            "needs a login.",
        ),
    ] = None,
    open_page: Annotated[
        bool, typer.Option("--open/--no-open", help="Open the page in the browser.")
    ] = False,
) -> None:
    """Serve the studies and results of a folder to browsers, until Ctrl-C.

    Tests that are under way then go on where they were when it serves again.
    """
    need_web()
    from omnimeter.contract import InvalidInputError
    from omnimeter.web import serving
    from omnimeter.web.security import address
    from omnimeter.web.server import application

    if not folder.is_dir():
        message = f"{folder} is no folder."
        raise InvalidInputError(message, "Give the folder of a study, or one with studies in it.")
    if proxy is not None:
        serving.check_proxy(proxy)
    app = application(folder, host=host, login=login or proxy is not None)
    with serving.listening(host, port) as opened, serving.preparing(folder):
        taken = opened.getsockname()[1]
        access = app.state.access  # the address of experimenters may have a secret in it
        own = access.address(taken)
        console().print(f"Serving {folder} at {own}", markup=False, soft_wrap=True)
        for name, why in app.state.there.damaged.items():
            console().print(f"Left out: {name}. {why}", markup=False, soft_wrap=True)
        if access.needs_login:
            said = "That address is secret. Links of participants begin with"
            console().print(f"{said} {address(host, taken)}/p/", markup=False, soft_wrap=True)
        console().print("Ctrl-C ends it.")
        if open_page:
            import webbrowser

            webbrowser.open(own)
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, lambda *_: None)  # which the server raises again at its end
        serving.server(app, proxy).run([opened])
    console().print("Ended. What participants did is stored; their tests go on later.")
