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


CERTIFICATE = """
import re
from datetime import UTC, datetime
from mediator import lean
compiled = re.compile
{load}
from mediator.ca import RunCA
from cryptography import x509
ca = RunCA.create(datetime.now(UTC))
name = x509.load_pem_x509_certificate(ca.pem()).subject
print(name.rfc4514_string(), re.compile is compiled, re.compile("a", re.VERBOSE).match("a") is not None)
try:
    print(x509.Name.from_rfc4514_string("CN=a").rfc4514_string())
except RuntimeError as error:
    print(error)
"""


@pytest.mark.parametrize(
    ("load", "read"),
    [
        ("lean.load_certificates()", "reading a certificate's name is no part of hark"),
        ("import cryptography.x509", "CN=a"),
    ],
)
def test_certificates_are_made_without_what_reads_their_names(load: str, read: str) -> None:
    assert said(CERTIFICATE.format(load=load)) == f"CN=hark run CA,O=hark True True\n{read}"
