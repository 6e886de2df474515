"""The system's Chromium, headless, driven by its own protocol: what a page looks like, and what it loads."""

import base64
import contextlib
import json
import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from websockets.sync.client import ClientConnection, connect

from tests.support.waiting import until

FLAGS: Final = ("--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--hide-scrollbars")


def chromium() -> str | None:
    """Where it is; None: this machine has none."""
    return shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")


@dataclass
class Page:
    """One page of the browser's."""

    socket: ClientConnection
    requested: list[str] = field(default_factory=list)
    """URLs that the page asked for since it was opened."""
    _number: int = 0

    def tell(self, method: str, **parameters: Any) -> dict[str, Any]:
        """Call a method of the protocol."""
        self._number += 1
        self.socket.send(json.dumps({"id": self._number, "method": method, "params": parameters}))
        while True:
            message = json.loads(self.socket.recv(60))
            if message.get("method") == "Network.requestWillBeSent":
                self.requested.append(message["params"]["request"]["url"])
            if message.get("id") == self._number:
                assert "error" not in message, message
                result: dict[str, Any] = message["result"]
                return result

    def open(self, path: Path) -> None:
        """Load a file, to its end."""
        self.tell("Network.enable")
        self.tell("Page.enable")
        self.requested.clear()
        self.tell("Page.navigate", url=path.as_uri())
        until(lambda: self.value("document.readyState") == "complete")

    def sized(self, width: int, height: int, *, media: str = "screen", scheme: str = "light") -> None:
        """Show it at that size, on paper or in the dark."""
        self.tell(
            "Emulation.setDeviceMetricsOverride",
            width=width, height=height, deviceScaleFactor=1, mobile=width < 700,
        )  # fmt: skip
        features = [{"name": "prefers-color-scheme", "value": scheme}]
        self.tell("Emulation.setEmulatedMedia", media=media, features=features)

    def value(self, expression: str) -> Any:
        """What an expression of the document is."""
        return self.tell("Runtime.evaluate", expression=expression, returnByValue=True)["result"].get("value")

    def picture(self) -> bytes:
        """What is seen, as PNG."""
        return base64.b64decode(self.tell("Page.captureScreenshot", format="png")["data"])


@contextmanager
def opened(path: Path) -> Iterator[Page]:
    """Open a file in a browser of its own."""
    program = chromium()
    assert program is not None
    with tempfile.TemporaryDirectory(prefix="hark-browser-", ignore_cleanup_errors=True) as profile:
        argv = [program, *FLAGS, f"--user-data-dir={profile}", "--remote-debugging-port=0", "about:blank"]
        env = {**os.environ, "HOME": profile}
        quiet = subprocess.DEVNULL
        with subprocess.Popen(argv, env=env, stdin=quiet, stdout=quiet, stderr=quiet) as browser:
            try:
                told = Path(profile) / "DevToolsActivePort"
                until(lambda: told.exists() and len(told.read_text().split()) == 2)
                port, way = told.read_text().split()
                with connect(f"ws://127.0.0.1:{port}{way}", max_size=None) as root:
                    yield from _attached(root, port, path)
            finally:
                with contextlib.suppress(ProcessLookupError):
                    browser.terminate()
                browser.wait(60)


def _attached(root: ClientConnection, port: str, path: Path) -> Iterator[Page]:
    made = Page(root).tell("Target.createTarget", url="about:blank")["targetId"]
    with connect(f"ws://127.0.0.1:{port}/devtools/page/{made}", max_size=None) as socket:
        page = Page(socket)
        page.open(path)
        yield page
