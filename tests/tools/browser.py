"""A real browser for tests and pictures of pages: headless Chromium, spoken to by its own protocol.

Debian's package `chromium` brings it. Where it is missing it is installed in CI (as root, with
apt-get); elsewhere `BrowserMissingError` says how to get it.
"""

from __future__ import annotations

import asyncio
import base64
import os
import shutil
import subprocess
import tempfile
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any, Final

import aiohttp

NAMES: Final = ("chromium", "chromium-browser", "google-chrome")
PACKAGES: Final = ("chromium", "fonts-dejavu-core")
START_SECONDS: Final = 120.0
ANSWER_SECONDS: Final = 120.0


class BrowserMissingError(Exception):
    """There is no browser; the message says how to get one."""


def find() -> str:
    """Return the browser's program; in CI it is installed where it is missing.

    Raises:
        BrowserMissingError: There is none, and it may not be installed.
    """
    found = next((path for name in NAMES if (path := shutil.which(name))), None)
    if found is not None:
        return found
    may = os.environ.get("CI") == "true" and os.geteuid() == 0 and shutil.which("apt-get")
    if not may:
        raise BrowserMissingError(
            "no Chromium here: install it (Debian: apt-get install chromium), or run as root with "
            "CI=true, which installs it"
        )
    environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    for command in (
        ("apt-get", "update", "-q"),
        ("apt-get", "install", "-q", "-y", "--no-install-recommends", *PACKAGES),
    ):
        done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise BrowserMissingError(f"{' '.join(command)} failed: {done.stderr.strip()[-500:]}")
    return find_installed()


def find_installed() -> str:
    """Return the program that an installation brought."""
    found = shutil.which(NAMES[0])
    if found is None:
        raise BrowserMissingError(f"{PACKAGES[0]} is installed, and yet its program is missing")
    return found


class Page:
    """A tab of a browser."""

    def __init__(self, socket: aiohttp.ClientWebSocketResponse) -> None:
        self._socket = socket
        self._sent = 0
        self.events: list[dict[str, Any]] = []

    async def send(self, method: str, **parameters: Any) -> dict[str, Any]:
        """Send a command and return its answer; events that come meanwhile are kept."""
        self._sent += 1
        await self._socket.send_json({"id": self._sent, "method": method, "params": parameters})
        while True:
            message = await self._socket.receive_json(timeout=ANSWER_SECONDS)
            if message.get("id") == self._sent:
                if "error" in message:
                    raise RuntimeError(f"{method}: {message['error']}")
                answer: dict[str, Any] = message["result"]
                return answer
            self.events.append(message)

    async def open(self, file: Path) -> None:
        """Load a file, and wait until it is loaded."""
        for domain in ("Page", "Network", "Log", "Runtime"):
            await self.send(f"{domain}.enable")
        await self.send("Page.navigate", url=file.as_uri())
        while not any(each.get("method") == "Page.loadEventFired" for each in self.events):
            self.events.append(await self._socket.receive_json(timeout=ANSWER_SECONDS))

    async def evaluate(self, expression: str) -> Any:
        """Return the value of an expression."""
        answer = await self.send("Runtime.evaluate", expression=expression, returnByValue=True)
        if "exceptionDetails" in answer:
            raise RuntimeError(f"{expression}: {answer['exceptionDetails']}")
        return answer["result"].get("value")

    async def look(self, *, media: str = "screen", dark: bool = False, width: int = 1100) -> None:
        """Be on a screen or on paper, light or dark, of a width."""
        scheme = "dark" if dark else "light"
        features = [{"name": "prefers-color-scheme", "value": scheme}]
        await self.send("Emulation.setEmulatedMedia", media=media, features=features)
        await self.send(
            "Emulation.setDeviceMetricsOverride",
            width=width,
            height=900,
            deviceScaleFactor=1,
            mobile=False,
        )

    async def press(self, key: str) -> None:
        """Press a key and let it go."""
        codes = {"Tab": 9, "Enter": 13, "Space": 32}
        text = {"Enter": "\r", "Space": " "}.get(key, "")
        named = {"key": " " if key == "Space" else key, "windowsVirtualKeyCode": codes[key]}
        down = "keyDown" if text else "rawKeyDown"
        await self.send("Input.dispatchKeyEvent", type=down, text=text, **named)
        await self.send("Input.dispatchKeyEvent", type="keyUp", **named)

    async def picture(self, *, top: int = 0, height: int | None = None) -> bytes:
        """Return a PNG of the page, from a place down to a height or its end."""
        whole = await self.send("Page.getLayoutMetrics")
        size = whole["cssContentSize"]
        clip = {
            "x": 0,
            "y": top,
            "width": size["width"],
            "height": min(size["height"] - top, height or size["height"]),
            "scale": 1,
        }
        answer = await self.send("Page.captureScreenshot", clip=clip, captureBeyondViewport=True)
        return base64.b64decode(answer["data"])

    async def pdf(self) -> bytes:
        """Return the page as it is printed."""
        answer = await self.send("Page.printToPDF", printBackground=True)
        return base64.b64decode(answer["data"])


class Browser:
    """A running browser."""

    def __init__(self, port: int) -> None:
        self._address = f"http://127.0.0.1:{port}"

    @asynccontextmanager
    async def page(self, file: Path) -> AsyncIterator[Page]:
        """Open a file in a tab of its own."""
        async with aiohttp.ClientSession() as session:
            async with session.put(f"{self._address}/json/new") as answer:
                tab = await answer.json(content_type=None)
            async with session.ws_connect(tab["webSocketDebuggerUrl"], max_msg_size=0) as socket:
                page = Page(socket)
                await page.look()
                await page.open(file)
                yield page
            async with session.get(f"{self._address}/json/close/{tab['id']}"):
                pass
            await asyncio.sleep(0)


@contextmanager
def running() -> Iterator[Browser]:
    """Start a browser, and end it afterwards.

    Raises:
        BrowserMissingError: There is none.
    """
    program = find()
    with tempfile.TemporaryDirectory(prefix="browser-", ignore_cleanup_errors=True) as folder:
        arguments = [
            *(program, "--headless=new", "--no-sandbox", "--disable-gpu", "--hide-scrollbars"),
            *("--no-first-run", "--disable-background-networking", "--disable-dev-shm-usage"),
            *("--remote-debugging-port=0", f"--user-data-dir={folder}", "about:blank"),
        ]
        process = subprocess.Popen(
            arguments, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True
        )
        try:
            yield Browser(_port(process, Path(folder) / "DevToolsActivePort"))
        finally:
            process.terminate()
            try:
                process.wait(timeout=20)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


def _port(process: subprocess.Popen[bytes], file: Path) -> int:
    ends = time.monotonic() + START_SECONDS
    while time.monotonic() < ends:
        if process.poll() is not None:
            raise BrowserMissingError(f"Chromium ended at once with status {process.returncode}")
        lines = file.read_text().splitlines() if file.exists() else []
        if lines and lines[0].isdigit():
            return int(lines[0])
        time.sleep(0.1)
    raise BrowserMissingError(f"Chromium did not answer within {START_SECONDS:.0f} s")
