"""Takes ``research.png``: the research page with a learner in an edited space of Lambda.

Run ``python docs/images/research.py`` where Playwright and Chromium are; it starts its own server.
"""

from __future__ import annotations

import tempfile
from pathlib import Path
from shutil import which
from socket import socket
from threading import Thread
from time import sleep

import uvicorn
from playwright.sync_api import expect, sync_playwright

from omnimeter.web.server import application

SPACE = "1+2--3+|1+2-3|12--3++|1+2++3-|1+2-3--"


def main() -> None:
    """Start a server, do what a researcher does, and take the picture."""
    with socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    app = application(Path(tempfile.mkdtemp()))
    server = uvicorn.Server(uvicorn.Config(app, "127.0.0.1", port, log_level="error"))
    thread = Thread(target=server.run, daemon=True)
    thread.start()
    while not server.started:
        sleep(0.05)
    with sync_playwright() as started:
        options = ["--no-sandbox", "--disable-gpu"]
        browser = started.chromium.launch(executable_path=which("chromium"), args=options)
        page = browser.new_page(viewport={"width": 1100, "height": 1150})
        page.goto(f"http://127.0.0.1:{port}/research")
        expect(page.locator("#step")).to_have_text("0 of 0", timeout=60_000)
        page.fill("#space", SPACE)
        page.fill("#pattern", "120213")
        expect(page.locator("#verdict")).to_contain_text("Valid", timeout=60_000)
        page.click("#use")
        page.select_option("#who", "q-learning-v1")
        for step in range(60):
            page.click("#one")
            expect(page.locator("#step")).to_have_text(f"{step + 1} of {step + 1}", timeout=60_000)
        page.click("#battery button")
        page.click("#mind summary")
        expect(page.locator("#values")).to_be_visible()
        page.evaluate("scrollTo(0, 0)")
        page.screenshot(path=Path(__file__).with_name("research.png"))
        browser.close()
    server.should_exit = True
    thread.join()


if __name__ == "__main__":
    main()
