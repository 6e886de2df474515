"""Bundles as a real run would leave them, made with the real writer, for the commands to read."""

from hark.bundle import events as ev
from hark.bundle.bounds import RunEnd, RunStart
from hark.bundle.header import Header
from hark.bundle.lineage import ORIGINAL, Lineage
from hark.bundle.tree_head import SigningKey
from hark.bundle.writer import Writer

RUN_ID = "01J8X00000000000000000TEST"
KEY = SigningKey(bytes(range(32)))
CREATED_AT = 1_755_400_000_000_000_000
HOSTILE = "\x1b]0;owned\x07\u202eevil\x9b31m"
DENIED = 6
FORK = Lineage(b"p" * 32, 24, b"h" * 32)

EVENTS = (
    RunStart(RUN_ID, CREATED_AT, "hark test", working_dir="/home/u/project", argv=("python", "agent.py")),
    ev.PolicyLoaded("policy.toml", allow_hosts=("api.example",), raw=b"allow_hosts = ['api.example']"),
    ev.DnsQuery("evil.example", "A", 1),
    ev.DnsDecision("evil.example", reason="no rule allows evil.example"),
    ev.LlmRequest(
        "api.example",
        "POST",
        "/v1/chat?q=1",
        {"content-type": "application/json"},
        b'{"a": 1}\n{"b": 2}',
        exchange=1,
    ),
    ev.EgressAttempt("192.0.2.7", 443, "tls", HOSTILE),
    ev.EgressDecision("192.0.2.7", reason=HOSTILE),
    ev.LlmResponseChunk(0, b"\xff\x00binary", exchange=1),
    ev.LlmResponseEnd(
        200,
        {"set-cookie": "a=1"},
        1,
        exchange=1,
        raw_headers=((b"set-cookie", b"a=1"), (b"set-cookie", b"b=\xff")),
    ),
    ev.SecretInjected("API_KEY", "hark-placeholder", "api.example", bytes(32)),
    ev.Unknown(200, b"\xa0"),
    RunEnd(CREATED_AT + 5, 3, "exit"),
)


def ticks():
    """A clock that goes on by 1.25 ms each time it is read."""
    now = iter(range(0, 1 << 62, 1_250_000))
    return lambda: next(now)


def write(path, events=EVENTS, *, key=KEY, run_id=RUN_ID, created_at=CREATED_AT, lineage=ORIGINAL):
    """A sealed bundle of `events`; signed unless `key` is None."""
    with opened(path, events, run_id=run_id, created_at=created_at, lineage=lineage) as writer:
        writer.seal("exit", key, signed_at=CREATED_AT + 9)
    return path


def opened(path, events=EVENTS, *, run_id=RUN_ID, created_at=CREATED_AT, lineage=ORIGINAL):
    """A bundle that is being written: `events` are in it, and it is neither sealed nor closed."""
    header = Header(run_id, created_at, "hark test", b"", b"", b"", *lineage)
    writer = Writer.create(str(path), header, secret=bytes(32), clock=ticks())
    for event in events:
        writer.append(event)
    return writer
