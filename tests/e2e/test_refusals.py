"""What is not allowed or not carried is refused at once, in its own words, and is on the record."""

import pytest

from tests.e2e.rig import Desk, ok

pytestmark = pytest.mark.e2e

LITERAL = "203.0.113.9"
CONNECT = f"""python3 -c 'import socket
try: socket.create_connection(("{LITERAL}", {{port}}), 20).recv(1)
except ConnectionResetError: print("reset")
'"""
POLICY = 'allow_hosts = ["api.example"]\n'

QUIC = """
import socket, time
from aioquic.quic.configuration import QuicConfiguration
from aioquic.quic.connection import QuicConnection
config = QuicConfiguration(is_client=True, alpn_protocols=["h3"], server_name="api.example")
client = QuicConnection(configuration=config)
where = (socket.gethostbyname("api.example"), 443)
client.connect(where, now=time.time())
sock = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
sock.settimeout(60)
sock.connect(where)
for data, _ in client.datagrams_to_send(now=time.time()):
    sock.send(data)
    break
try: print("got", sock.recv(100))
except TimeoutError: print("silence")
except OSError: print("refused")
"""


def test_a_quic_client_is_refused_at_once_and_recorded(rootless: Desk):
    rootless.write("policy.toml", POLICY)
    ended = ok(rootless.run("-policy=policy.toml", "--", rootless.user.python, "-c", QUIC))
    assert ended.stdout == "refused\n"
    attempts = [(event["protocol"], event["port"]) for event in rootless.events("EgressAttempt")]
    assert attempts == [("udp", 443)]
    assert "udp" in ended.stderr


DNS = """
import socket, struct

def question(name, kind):
    labels = b"".join(bytes([len(label)]) + label.encode() for label in name.split("."))
    return struct.pack("!6H", 7, 0x0100, 1, 0, 0, 0) + labels + b"\\0" + struct.pack("!2H", kind, 1)

def udp(name, kind, server):
    s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); s.settimeout(60)
    s.sendto(question(name, kind), (server, 53))
    return s.recv(1000)

def tcp(name, kind, server):
    s = socket.create_connection((server, 53), 20)
    q = question(name, kind)
    s.sendall(struct.pack("!H", len(q)) + q)
    size, = struct.unpack("!H", s.recv(2))
    return s.recv(size)

asked = [("api.example", kind) for kind in (1, 28, 65, 64)] + [("evil.example", kind) for kind in (1, 28)]
for ask in (udp, tcp):
    for server in ("9.9.9.9", "10.200.1.1"):
        replies = [ask(name, kind, server) for name, kind in asked]
        print([(*question, reply[3] & 15, reply[7]) for question, reply in zip(asked, replies)])
"""


def test_names_are_answered_over_udp_and_tcp_whichever_server_is_asked(rootless: Desk):
    rootless.write("policy.toml", POLICY)
    ended = ok(rootless.run("-policy=policy.toml", "--", rootless.user.python, "-c", DNS))
    allowed = [("api.example", 1, 0, 1), ("api.example", 28, 0, 0), ("api.example", 65, 0, 0)]
    allowed += [("api.example", 64, 0, 0)]
    denied = [("evil.example", 1, 3, 0), ("evil.example", 28, 3, 0)]
    assert ended.stdout.splitlines() == [str(allowed + denied)] * 4
    assert rootless.events("EgressAttempt") == []
    assert len(rootless.events("DnsDecision")) == 4 * 6


def test_an_upload_of_a_gigabyte_is_refused_without_being_read(rootless: Desk):
    rootless.write("policy.toml", POLICY)
    script = f"head -c 1G /dev/zero | curl -sS -T - -H 'Expect:' -w '%{{size_upload}}' http://{LITERAL}/"
    ended = rootless.run("-policy=policy.toml", "--", "sh", "-c", script)
    uploaded = int(ended.stdout.splitlines()[-1])
    assert uploaded < 64 << 20  # what fits into buffers
    assert f"hark: not sent to {LITERAL}:80" in ended.stdout
    assert rootless.bundle.stat().st_size < 1 << 20


@pytest.mark.parametrize(
    ("command", "words"),
    [
        (f"curl -sS http://{LITERAL}:8080/", f'add "{LITERAL}:8080" to allow_hosts'),
        (f"curl -sS https://{LITERAL}/", "access denied"),
        (CONNECT.format(port=25), "reset"),
        (CONNECT.format(port=4711), "reset"),
        ("curl -sS http://[2001:db8::7]/", 'add "[2001:db8::7]:80" to allow_hosts'),
    ],
)
def test_each_protocol_is_refused_in_its_own_words(rootless: Desk, command: str, words: str):
    rootless.write("policy.toml", POLICY)
    ended = rootless.run("-policy=policy.toml", "--", "sh", "-c", f"{command} 2>&1")
    assert words in ended.stdout
    assert [event["allowed"] for event in rootless.events("EgressDecision")] == [False]
