"""mitmproxy is loaded once, when it is needed, beside the loop; what is under way at the end is recorded."""

import subprocess
import sys
import threading
from pathlib import Path

import pytest

from hark.bundle.events import EgressDecision, LlmRequest, LlmResponseEnd
from tests.fakes.upstream import Call, serving
from tests.mediator.rig import API, running

WITHOUT = """
import sys
sys.path.insert(0, {root!r})
from tests.mediator.rig import API, running
with running(API) as rig:
    rig.ask("evil.test"), rig.ask(API)
    with rig.dial("198.51.100.7", 80) as sock:
        sock.sendall(b"GET / HTTP/1.1\\r\\n\\r\\n")
        assert sock.recv(100).startswith(b"HTTP/1.1 403")
    assert not any(name.startswith("mitmproxy") for name in sys.modules)
    {prefetch}
assert ("mitmproxy.proxy.server" in sys.modules) is {loaded}
assert "mitmproxy.addons" not in sys.modules and "mitmproxy.master" not in sys.modules
"""


WAITING = """rig.mediator.prefetch()
    import time
    until = time.monotonic() + 60
    while not ((loading := rig.mediator._engine._loading) and loading.done()):
        assert time.monotonic() < until
        time.sleep(0.01)"""
STOPPED = """import importlib, time
    asked, load, engine = [], importlib.import_module, rig.mediator._engine
    def slow(name):
        asked.append(name)
        until = time.monotonic() + 60
        while not engine._ending and time.monotonic() < until:
            time.sleep(0.01)
        return load(name)
    importlib.import_module = slow
    rig.mediator.prefetch()
    rig.mediator.stop()
    assert len(asked) <= 1, asked"""


@pytest.mark.parametrize(("prefetch", "loaded"), [(WAITING, True), ("pass", False), (STOPPED, False)])
def test_names_and_refusals_need_no_mitmproxy_and_only_prefetch_loads_it(prefetch: str, loaded: bool) -> None:
    root = str(Path(__file__).resolve().parents[2])
    program = WITHOUT.format(root=root, prefetch=prefetch, loaded=loaded)
    subprocess.run([sys.executable, "-c", program], check=True, timeout=120)


def test_a_connection_that_comes_while_the_loading_is_given_up_has_it_done_after_all() -> None:
    with (
        serving(API) as upstream,
        running(API, upstreams={API: upstream.address}, roots=upstream.ca_pem) as rig,
    ):
        rig.mediator._engine._ending = True  # as `stop` has it, before its end is reached
        rig.mediator.prefetch()
        with rig.tls(API) as sock:
            sock.sendall(f"GET /quick HTTP/1.1\r\nHost: {API}\r\n\r\n".encode())
            rig.recorder.wait_for(LlmResponseEnd)
    assert rig.recorder.of(LlmResponseEnd)[0].status == 200


def test_an_exchange_that_is_under_way_at_the_end_is_recorded_as_ended_by_the_run() -> None:
    let_go = threading.Event()
    with (
        serving(API) as upstream,
        running(API, upstreams={API: upstream.address}, roots=upstream.ca_pem) as rig,
    ):

        @upstream.on("/never")
        def never(call: Call) -> None:
            let_go.wait(60)

        with rig.tls(API) as sock:
            sock.sendall(f"GET /never HTTP/1.1\r\nHost: {API}\r\n\r\n".encode())
            rig.recorder.wait_for(LlmRequest)
            rig.mediator.stop()
            (end,) = rig.recorder.of(LlmResponseEnd)
        let_go.set()
    assert (end.status, end.error) == (0, "the run ended")
    assert rig.fatal == []


def test_an_answer_that_comes_in_time_is_still_recorded_whole() -> None:
    with (
        serving(API) as upstream,
        running(API, upstreams={API: upstream.address}, roots=upstream.ca_pem) as rig,
    ):
        sock = rig.tls(API)
        sock.sendall(f"GET /quick HTTP/1.1\r\nHost: {API}\r\n\r\n".encode())
        rig.mediator.stop()
        sock.close()
        if rig.recorder.of(LlmRequest):
            (end,) = rig.recorder.of(LlmResponseEnd)
            assert (end.status, end.error) == (200, "")
    assert rig.recorder.of(EgressDecision)[0].allowed
