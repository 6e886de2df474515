"""mitmproxy without QUIC and YAML: what stands in for them, and that nothing of them is loaded."""

import subprocess
import sys

import pytest

PREPARED = "from mediator import lean\nlean.prepare()\nimport sys\nimport mediator.handler\n"
PLAIN = "import sys\nimport mediator.handler\nfrom mediator import lean\nlean.prepare()\n"
LOADED = "print(*sorted({name.partition('.')[0] for name in sys.modules} & {'aioquic', 'service_identity'}))"
BESIDE = "print(*sorted({'mitmproxy.dns', 'hark.patch.apply'} & set(sys.modules)))"


def said(code: str) -> str:
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return ended.stdout.strip()


SOCKETS = (
    "print(*sorted({'wsproto.connection', 'wsproto.frame_protocol', 'certifi.core'} & set(sys.modules)))"
)
"""What mitmproxy loads for WebSockets and to trust upstreams."""


def test_what_hark_never_uses_is_not_loaded():
    assert said(PREPARED + LOADED) == ""
    assert said(PREPARED + BESIDE) == ""
    assert said(PREPARED + SOCKETS) == ""


def test_the_frames_of_a_websocket_are_loaded_when_there_is_one():
    frames = "import mediator.websocket, mediator.playback.frames\n"
    assert said(PREPARED + frames + SOCKETS) == "wsproto.frame_protocol"


def test_what_is_loaded_already_stays_as_it_is():
    assert said(PLAIN + LOADED) == "aioquic service_identity"
    assert said(PLAIN + BESIDE) == "mitmproxy.dns"
    assert said(PLAIN + SOCKETS) == "certifi.core wsproto.connection wsproto.frame_protocol"
    origin = "print(sys.modules['mitmproxy.proxy.layers.quic'].__file__ is not None)"
    assert said(PLAIN + origin) == "True"


@pytest.mark.parametrize(
    "name",
    [
        "mitmproxy.proxy.layers.quic.ServerQuicLayer",
        "mitmproxy.proxy.layers.http._http3.Http3Server",
        "mitmproxy.proxy.layers.websocket.WebsocketLayer",
        "mitmproxy.websocket.WebSocketData",
    ],
)
def test_a_way_into_a_stand_in_fails(name: str) -> None:
    module, _, kind = name.rpartition(".")
    tried = f"try:\n    sys.modules[{module!r}].{kind}(None)\n"
    assert (
        said(PREPARED + tried + "except RuntimeError as error:\n    print(error)")
        == f"{kind} is no part of hark"
    )


PRIMITIVES = "cryptography.hazmat.primitives"
TLS = """
import sys
from mediator import h2, lean
lean.prepare()
lean.hide_certificates()
import mediator.tls
whole = ("cryptography.x509.base", "cryptography.hazmat.primitives.serialization.ssh", "h2.connection")
print([name in sys.modules for name in whole])
{then}
print([name in sys.modules for name in whole])
"""


@pytest.mark.parametrize(
    ("then", "loaded"),
    [
        ("from cryptography.x509 import ObjectIdentifier", [False] * 3),
        ("from cryptography.hazmat.primitives.serialization import Encoding", [False] * 3),
        ("from cryptography import x509; x509.load_der_x509_certificate", [True, False, False]),
        ("from cryptography.x509 import Name", [True, False, False]),
        (f"from {PRIMITIVES} import serialization as s; s.load_der_private_key", [False, True, False]),
        ("h2.agent_side(), h2.server_side()", [False, False, True]),
    ],
)
def test_what_is_hidden_is_loaded_by_whoever_asks_for_it(then: str, loaded: list[bool]) -> None:
    assert said(TLS.format(then=then)) == f"{[False] * 3}\n{loaded}"


def test_what_was_loaded_is_not_hidden() -> None:
    loaded = "from cryptography import x509\nfrom mediator import lean\nlean.hide_certificates()\n"
    same = "import sys\nprint(sys.modules['cryptography.x509'] is x509, x509.Name.__name__)"
    assert said(loaded + same) == "True Name"
