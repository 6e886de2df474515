"""`hark run -via-proxy`: the run's upstreams are dialled through the caller's own proxy, and only there."""

import pytest

from tests.e2e.rig import Desk, ok
from tests.fakes.connect import connect_proxy
from tests.fakes.upstream import serving

pytestmark = pytest.mark.e2e

SHOW = "env | grep -i proxy; curl -sS https://api.example/hello"


def test_a_request_goes_through_the_callers_proxy_and_its_password_nowhere_else(at: Desk):
    with connect_proxy(tls=True) as proxy, serving("api.example") as server:
        server.on("/hello")(lambda call: call.reply(200, b"hello through the proxy"))
        proxy.places["api.example:443"] = ("127.0.0.1", server.port)
        proxy.wanted = b"Basic bWU6cHIweHktcGFzcw=="
        at.env["HTTPS_PROXY"] = f"https://me:pr0xy-pass@127.0.0.1:{proxy.port}"
        at.write("policy.toml", 'allow_hosts = ["api.example"]\n')
        roots = at.write("roots.pem", server.ca_pem + proxy.ca_pem)
        run = ["-policy=policy.toml", f"-upstream-ca={roots}", "-via-proxy", "--", "sh", "-c", SHOW]
        ended = ok(at.run(*run))
        assert ended.stdout == "hello through the proxy"
        assert "VERIFIED" in at.verdict()
        (boundary,) = at.events("Boundary")
        note = f"-via-proxy: upstreams are dialled through https://127.0.0.1:{proxy.port}"
        assert note in boundary["notes"]
        written = at.bundle.read_bytes()
        assert b"pr0xy-pass" not in written
        assert b"bWU6cHIweHktcGFzcw" not in written
        assert len(proxy.asked) == 1


def test_a_proxy_that_refuses_is_told_of_in_words(rootless: Desk):
    with connect_proxy() as proxy:
        proxy.wanted = b"Basic other"
        rootless.env["HTTPS_PROXY"] = f"http://127.0.0.1:{proxy.port}"
        rootless.write("policy.toml", 'allow_hosts = ["api.example"]\n')
        run = ["-policy=policy.toml", "-via-proxy", "--", "curl", "-sS", "https://api.example/"]
        ended = ok(rootless.run(*run))
    assert "hark: no answer from api.example:443" in ended.stdout
    assert "status 407: it wants a user and a password" in ended.stdout + ended.stderr


def test_without_a_proxy_in_the_environment_the_run_is_refused(rootless: Desk):
    ended = rootless.run("-via-proxy", "--", "true")
    assert ended.returncode == 125
    assert "-via-proxy: neither HTTPS_PROXY, HTTP_PROXY nor ALL_PROXY is set" in ended.stderr
