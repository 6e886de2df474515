"""Servers that answer, that answer badly, and that do not answer."""

import socket
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from hark.anchoring import web
from hark.errors import UpstreamError


class Handler(BaseHTTPRequestHandler):
    def do_GET(self):
        if self.path == "/moved":
            self.send_response(302)
            self.send_header("location", "/ok")
            self.end_headers()
            return
        if self.path == "/drip":
            self.send_response(200)
            self.end_headers()
            for _ in range(100):
                self.wfile.write(b"x")
                time.sleep(0.05)
            return
        body = b"x" * (web.MAX_ANSWER + 1) if self.path == "/large" else b"fine\x1b"
        self.send_response(500 if self.path == "/bad" else 200)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def do_POST(self):
        body = self.rfile.read(int(self.headers["content-length"]))
        self.send_response(201)
        self.end_headers()
        self.wfile.write(body + self.headers["x-one"].encode())

    def log_message(self, *_):
        pass


@pytest.fixture(scope="module")
def url():
    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    server.handle_error = lambda *_: None
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield f"http://127.0.0.1:{server.server_address[1]}"
    server.shutdown()
    server.server_close()


def test_an_answer_is_its_status_and_body(url):
    assert web.ask(f"{url}/ok") == (200, b"fine\x1b")
    assert web.ask(f"{url}/ok", b"sent ", {"x-one": "1"}) == (201, b"sent 1")
    assert web.wanted(url, web.ask(f"{url}/ok")) == b"fine\x1b"


def test_an_error_is_quoted_and_a_redirect_is_not_followed(url):
    with pytest.raises(UpstreamError, match="status 500: fine"):
        web.wanted(url, web.ask(f"{url}/bad"))
    assert web.ask(f"{url}/moved").status == 302


def test_too_large_an_answer_is_not_read(url):
    with pytest.raises(UpstreamError, match="more than"):
        web.ask(f"{url}/large")


@pytest.mark.parametrize("path", ["drip", "hang"])
def test_who_answers_too_slowly_is_left_alone(url, monkeypatch, path):
    monkeypatch.setattr(web, "PATIENCE", 0.3)
    with socket.create_server(("127.0.0.1", 0)) as deaf:
        where = f"{url}/drip" if path == "drip" else f"http://127.0.0.1:{deaf.getsockname()[1]}/"
        begun = time.monotonic()
        with pytest.raises(UpstreamError, match=r"did not answer|timed out"):
            web.ask(where)
        assert time.monotonic() - begun < 30


@pytest.mark.parametrize(
    "bad", ["", "file:///etc/passwd", "ftp://a.example/", "http://", "log.example", "http:// a/"]
)
def test_what_is_no_address_or_cannot_be_reached_is_said_in_a_sentence(bad):
    with pytest.raises(UpstreamError):
        web.ask(bad)


def test_nobody_there_is_said():
    with socket.create_server(("127.0.0.1", 0)) as gone:
        port = gone.getsockname()[1]
    words = "cannot ask .*: connection refused; try again when this machine can reach it"
    with pytest.raises(UpstreamError, match=words):
        web.ask(f"http://127.0.0.1:{port}/")


@pytest.mark.parametrize("open_way", ["http://ca.example/", "ftp://ca.example", "http://127.0.0.1.example/"])
def test_a_secret_goes_over_https_or_loopback_alone(open_way):
    with pytest.raises(UpstreamError, match="your token is not sent there"):
        web.refuse_open(open_way, "your token")
    web.refuse_open("https://ca.example", "your token")
    web.refuse_open("http://127.0.0.1:8/", "your token")
