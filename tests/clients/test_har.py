"""What `hark export -har` writes, dropped on the network panel of a real browser."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from hark.bundle import events as ev
from hark.cli.main import entry
from tests.hark.export.story import ALLOWED, END, POST, TLS, chunk
from tests.support.browser import NetworkPanel, chromium, network_panel
from tests.support.recordings import bundle

pytestmark = [pytest.mark.clients, pytest.mark.skipif(chromium() is None, reason="there is no Chromium here")]

REFUSED = POST._replace(path="/refused", exchange=2, body=b"")
STREAM = POST._replace(path="/stream", exchange=3, body=b'{"stream": true}')
EVENTS = (b"data: one\n\n", b"data: two\n\n")
SSE = END._replace(exchange=3, raw_headers=((b"content-type", b"text/event-stream"),))
DENIED = ev.LlmResponseEnd(403, {}, 0, exchange=2, error="refused: not in allow_hosts")
PIECES = tuple(chunk(piece, seq, 3) for seq, piece in enumerate(EVENTS))
RUN = (TLS, ALLOWED, POST, chunk(b"hello"), END, REFUSED, DENIED, STREAM, *PIECES, SSE)


@pytest.fixture(scope="module")
def panel() -> Iterator[NetworkPanel]:
    with network_panel() as shown:
        yield shown


@pytest.fixture(scope="module")
def har(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The export of a run with an answer, a refusal and a stream."""
    folder: Path = tmp_path_factory.mktemp("har")
    out = folder / "run.har"
    assert entry(["export", "-har", "-o", str(out), bundle(folder / "run.hark", *RUN)]) == 0
    return out.read_text()


def test_the_network_panel_has_a_row_for_each_exchange_with_both_bodies(
    panel: NetworkPanel, har: str
) -> None:
    rows = panel.dropped(har, last="/stream")
    expected = [
        (one["request"]["method"], one["request"]["url"], one["response"]["status"])
        for one in json.loads(har)["log"]["entries"]
    ]
    assert [tuple(row) for row in rows] == expected
    assert [url.rpartition("/")[2] for _, url, _ in rows] == ["chat?q=a%20b&q=", "refused", "stream"]
    assert panel.texts(0) == ['{"prompt": "hi"}', "hello"]
    assert panel.texts(2) == ['{"stream": true}', "".join(piece.decode() for piece in EVENTS)]


def test_what_the_panel_shows_is_the_files_own(panel: NetworkPanel, har: str) -> None:
    """The control: another file has other rows, and one that is no archive has none."""
    other = panel.dropped(har.replace("/stream", "/elsewhere"), last="/elsewhere")
    assert [url.rpartition("/")[2] for _, url, _ in other][-1] == "elsewhere"
    with network_panel() as fresh:
        assert fresh.dropped(har[: len(har) // 2]) == []
