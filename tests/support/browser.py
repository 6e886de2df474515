"""The system's Chromium, headless, driven by its own protocol: what a page looks like, and what it loads."""

import base64
import contextlib
import json
import os
import shutil
import subprocess
import tempfile
import time
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

    def awaited(self, body: str) -> Any:
        """What the body of an asynchronous function returns in the document."""
        words = {"awaitPromise": True, "returnByValue": True}
        ended = self.tell("Runtime.evaluate", expression=f"(async () => {{ {body} }})()", **words)
        assert "exceptionDetails" not in ended, ended["exceptionDetails"]
        return ended["result"].get("value")

    def picture(self) -> bytes:
        """What is seen, as PNG."""
        return base64.b64decode(self.tell("Page.captureScreenshot", format="png")["data"])


@contextmanager
def opened(path: Path) -> Iterator[Page]:
    """Open a file in a browser of its own."""
    with _started() as (root, port), _attached(port, _tab(root, "about:blank")) as page:
        page.open(path)
        yield page


PANEL: Final = "await import('devtools://devtools/bundled/panels/network/network.js')"
VIEWS: Final = "await import('devtools://devtools/bundled/ui/legacy/legacy.js')"
ROWS: Final = """log.columns().dataGrid().rootNode().flatChildren().map(one => one.request()).map(
    one => [one.requestMethod, one.url(), one.statusCode])"""
"""What its list shows, by the nodes that it draws."""


@dataclass
class NetworkPanel:
    """The developer tools of a browser of its own, at the network panel."""

    page: Page

    def run(self, script: str) -> Any:
        """Run the body of an asynchronous function in which `log` is the panel's view of its requests."""
        log = f"const log = ({PANEL}).NetworkPanel.NetworkPanel.instance().networkLogView"
        return self.page.awaited(f"{log}; {script}")

    def dropped(self, har: str, last: str = "") -> list[list[Any]]:
        """Drop a file on it; method, URL and status of each of its rows then.

        Rows are drawn some time after the file is read: waited for is a last one whose URL ends in `last`.
        """
        loaded = f"await log.onLoadFromFile(new File([{json.dumps(har)}], 'run.har'))"
        self.run(f"try {{ {loaded} }} catch {{ }}")
        end = time.monotonic() + 60
        while True:
            rows: list[list[Any]] = self.run(f"return {ROWS}")
            if not last or (rows and rows[-1][1].endswith(last)) or time.monotonic() > end:
                return rows
            time.sleep(0.05)

    def texts(self, row: int) -> list[str]:
        """What it shows of a row's request and answer when that is opened."""
        requests = "log.columns().dataGrid().rootNode().flatChildren()"
        found: list[str] = self.run(
            f"const one = {requests}[{row}].request(); const answer = await one.requestContentData();"
            "return [await one.requestFormData(), answer.text]"
        )
        return found


@contextmanager
def network_panel() -> Iterator[NetworkPanel]:
    """Open the developer tools of an empty page, as F12 does, and show the network panel."""
    with _started("--remote-allow-origins=*") as (root, port):
        looked_at = f"ws=127.0.0.1:{port}/devtools/page/{_tab(root, 'about:blank')}"
        tools = _tab(root, f"devtools://devtools/bundled/devtools_app.html?{looked_at}")
        with _attached(port, tools) as page:
            until(lambda: page.value("!!document.querySelector('.root-view')"))
            page.awaited(f"await ({VIEWS}).ViewManager.ViewManager.instance().showView('network')")
            yield NetworkPanel(page)


@contextmanager
def _started(*flags: str) -> Iterator[tuple[Page, str]]:
    program = chromium()
    assert program is not None
    with tempfile.TemporaryDirectory(prefix="hark-browser-", ignore_cleanup_errors=True) as profile:
        ways = (f"--user-data-dir={profile}", "--remote-debugging-port=0", *flags)
        argv = [program, *FLAGS, *ways, "about:blank"]
        env = {**os.environ, "HOME": profile}
        quiet = subprocess.DEVNULL
        with subprocess.Popen(argv, env=env, stdin=quiet, stdout=quiet, stderr=quiet) as browser:
            try:
                told = Path(profile) / "DevToolsActivePort"
                until(lambda: told.exists() and len(told.read_text().split()) == 2)
                port, way = told.read_text().split()
                with connect(f"ws://127.0.0.1:{port}{way}", max_size=None) as root:
                    yield Page(root), port
            finally:
                with contextlib.suppress(ProcessLookupError):
                    browser.terminate()
                browser.wait(60)


def _tab(root: Page, url: str) -> str:
    made: str = root.tell("Target.createTarget", url=url)["targetId"]
    return made


@contextmanager
def _attached(port: str, target: str) -> Iterator[Page]:
    with connect(f"ws://127.0.0.1:{port}/devtools/page/{target}", max_size=None) as socket:
        yield Page(socket)
