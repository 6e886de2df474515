"""Servers and tests inside, on the agent's own loopback: nothing of it crosses the boundary."""

import pytest

from tests.e2e.rig import Desk, ok

pytestmark = pytest.mark.e2e

SERVE = "python3 -m http.server {port} --bind {address} >/dev/null 2>&1 & "
AWAIT = "curl -sS --retry 40 --retry-delay 0 --retry-connrefused --retry-max-time 20 -o /dev/null {url} && "


@pytest.mark.parametrize(
    ("address", "url"),
    [
        ("127.0.0.1", "http://127.0.0.1:8000/"),
        ("127.0.0.1", "http://localhost:8000/"),
        ("::1", "http://[::1]:8000/"),
        ("::1", "http://localhost:8000/"),
        ("::", "http://127.0.0.1:8000/"),
        ("0.0.0.0", "http://127.9.9.9:8000/"),
    ],
)
def test_a_server_inside_is_reached_by_every_name_of_loopback(rootless: Desk, address: str, url: str):
    rootless.write("index.html", "the page")
    script = SERVE.format(port=8000, address=address) + AWAIT.format(url=url) + f"curl -sS {url}; kill $!"
    assert ok(rootless.run("--", "sh", "-c", script)).stdout == "the page"
    assert rootless.events("EgressAttempt", "DnsQuery", "TunnelData") == []


def test_names_of_this_host_resolve_as_on_any_host(at: Desk):
    script = (
        "getent ahostsv4 localhost | head -1; getent ahostsv6 localhost | head -1; getent hosts hark;"
        "python3 -c 'from socket import *; print(gethostname(), getfqdn(), gethostbyname(gethostname()))';"
        "id -un; getent passwd $(id -u) | cut -d: -f6; getent group $(id -g) | cut -d: -f1;"
        "getent services https | head -1; getent protocols tcp | head -1"
    )
    lines = [line.split() for line in ok(at.run("--", "sh", "-c", script)).stdout.splitlines()]
    assert lines[0][0] == "127.0.0.1"
    assert lines[1][0] == "::1"
    assert lines[2] == ["fd00:6861:726b::2", "hark"]
    assert lines[3] == ["hark", "hark", "127.0.1.1"]
    assert len(lines[4]) == 1
    assert lines[6] == lines[4]
    assert lines[7][1] == "443/tcp"
    assert lines[8][1] == "6"
    assert at.events("DnsQuery") == []


def test_a_proxy_variable_of_the_callers_does_not_come_between(rootless: Desk):
    rootless.env |= {"http_proxy": "http://127.0.0.1:9", "HTTP_PROXY": "http://127.0.0.1:9", "no_proxy": "x"}
    rootless.write("index.html", "the page")
    url = "http://localhost:8000/"
    script = SERVE.format(port=8000, address="127.0.0.1") + AWAIT.format(url=url)
    script += f"curl -sS {url}; env | grep -ci proxy; kill $!"
    assert ok(rootless.run("--", "sh", "-c", script)).stdout == "the page0\n"


def test_tests_with_a_live_server_in_threads_and_processes_pass(at: Desk):
    at.write(
        "test_live.py",
        """
import http.server, multiprocessing, threading, urllib.request
import pytest

class Page(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200); self.end_headers(); self.wfile.write(b"live")
    def log_message(self, *a): pass

def serve(port):
    with http.server.ThreadingHTTPServer(("localhost", 0), Page) as server:
        port.put(server.server_address[1]); server.serve_forever()

@pytest.fixture(params=[threading.Thread, multiprocessing.Process])
def url(request):
    port = multiprocessing.Queue()
    worker = request.param(target=serve, args=(port,), daemon=True); worker.start()
    yield f"http://localhost:{port.get(timeout=60)}/"
    if hasattr(worker, "terminate"): worker.terminate()

@pytest.mark.parametrize("number", range(5))
def test_page(url, number):
    assert urllib.request.urlopen(url, timeout=60).read() == b"live"
""",
    )
    # no:hark: the agent does not see the checkout in which this environment's own plugin lies
    plain = ("-p", "no:cacheprovider", "-p", "no:hark")
    ended = ok(at.run("--", at.user.python, "-m", "pytest", "-q", *plain, "test_live.py"))
    assert "10 passed" in ended.stdout


def test_a_development_server_of_node_with_workers_is_reached(rootless: Desk):
    rootless.write(
        "server.js",
        """
const cluster = require('cluster'), http = require('http');
if (cluster.isPrimary) { for (let i = 0; i < 2; i++) cluster.fork(); }
else http.createServer((q, s) => s.end('node ' + q.url)).listen(3000);
""",
    )
    url = "http://localhost:3000/x"
    script = "node server.js & " + AWAIT.format(url=url) + f"curl -sS {url}; kill $!"
    assert ok(rootless.run("--", "sh", "-c", script)).stdout == "node /x"


def test_a_port_of_the_agents_is_not_open_on_the_host_nor_in_another_run(rootless: Desk):
    script = "python3 -m http.server 8000 --bind 0.0.0.0 >/dev/null 2>&1 & " + AWAIT.format(
        url="http://localhost:8000/"
    )
    script += "curl -sS -m 3 -o /dev/null -w '%{http_code}' http://10.200.1.1:8000/; kill $!"
    ended = rootless.run("--", "sh", "-c", script)
    assert ended.stdout in ("000", "403")
    assert "hark: denied 10.200.1.1:8000" in ended.stderr
