"""A run in events, as small as can be while it has one of everything, for tests that change one thing."""

from typing import Any

from hark.bundle import events as ev
from hark.bundle.bounds import RunEnd, RunStart

JSON = ((b"Content-Type", b"application/json"),)
SEEN = ((b"Content-Type", b"text/event-stream"), (b"Date", b"Mon, 01 Jan 2029 00:00:00 GMT"))


def asked(exchange: int, body: bytes, path: str = "/v1/chat", **more: Any) -> ev.LlmRequest:
    return ev.LlmRequest("api.example", "POST", path, {}, body, exchange=exchange, raw_headers=JSON, **more)


def answered(exchange: int, *pieces: bytes, status: int = 200, error: str = "") -> list[Any]:
    chunks = [ev.LlmResponseChunk(seq, data, 0, exchange) for seq, data in enumerate(pieces)]
    return [*chunks, ev.LlmResponseEnd(status, {}, len(chunks), error, exchange, SEEN)]


def websocket(exchange: int, *messages: tuple[bool, str, bytes]) -> list[Any]:
    return [
        ev.WebSocketMessage(exchange, seq, from_agent, kind, data)
        for seq, (from_agent, kind, data) in enumerate(messages)
    ]


def run() -> list[Any]:
    """Return the events of a run; each list of them is new."""
    return [
        RunStart("run-a", 1, "hark", argv=("agent",), working_dir="/work"),
        ev.PolicyLoaded("policy.toml"),
        ev.EnvSnapshot({"A": "1"}),
        ev.FsManifest({"a.py": b"f" * 32}, "/work"),
        ev.Determinism(b"s" * 32, ("clock preload",)),
        ev.DnsQuery("api.example", "A", 1),
        ev.DnsDecision("api.example", allowed=True, rule="r", answer="198.18.0.1"),
        ev.DnsQuery("evil.example", "A", 1),
        ev.DnsDecision("evil.example", allowed=False, reason="host evil.example is not in allow_hosts"),
        ev.EgressAttempt("api.example", 443, "https", "api.example"),
        ev.EgressDecision("api.example", allowed=True, rule="r"),
        ev.EgressAttempt("203.0.113.9", 22, "tcp"),
        ev.EgressDecision("203.0.113.9", allowed=False, reason="nothing allows it"),
        ev.SecretInjected("KEY", "sk-hark", "api.example", b""),
        asked(1, b'{"messages":[{"content":"Say hello."}]}'),
        *answered(1, b"data: hel", b"lo\n\n"),
        asked(2, b'{"messages":[{"content":"Again."}]}'),
        *answered(2, b"data: one\n\n"),
        asked(3, b'{"messages":[{"content":"Again."}]}'),
        ev.Interim(3, 103, {}, ((b"link", b"</a>"),)),
        *answered(3, b"data: two\n\n")[:-1],
        ev.Trailers(3, from_agent=False, raw_headers=((b"x-sum", b"1"),)),
        answered(3, b"data: two\n\n")[-1],
        asked(4, b"", "/upload", streaming=True),
        ev.RequestChunk(4, 0, b"abc"),
        ev.RequestChunk(4, 1, b"def", last=True),
        ev.Trailers(4, from_agent=True, raw_headers=((b"x-end", b"1"),)),
        *answered(4, b"{}"),
        asked(5, b"", "/forbidden"),
        *answered(5, b"a page of hark's", status=403, error="refused: no rule"),
        asked(6, b"", "/slow"),
        *answered(6, b"data: begi", error="the agent went away"),
        asked(7, b"", "/broken"),
        *answered(7, b"data: begi", error="it broke off: reset"),
        asked(8, b"", "/ws"),
        *websocket(
            8,
            (True, "text", b'{"id": 1}'),
            (False, "ping", b""),
            (False, "text", b"hi"),
            (True, "close", b""),
        ),
        ev.LlmResponseEnd(101, {}, 0, "", 8, ((b"Sec-WebSocket-Accept", b"abc"),)),
        ev.TunnelData(9, 0, True, host="db.example:5432"),
        ev.TunnelData(9, 0, True, b"select 1"),
        ev.TunnelData(9, 0, False, b"1"),
        ev.TunnelData(9, 1, True, b"", end=True),
        ev.TunnelData(9, 1, False, b"", end=True),
        ev.TunnelData(10, 0, True, host="published port 8080 to 127.0.0.1:4"),
        ev.TunnelData(10, 0, True, b"page", end=True),
        ev.McpMessage("files", 11, 0, True, b'{"method": "tools/call"}'),
        ev.ToolCallRequest("files", "read", b'{"path": "a"}', exchange=12),
        ev.McpMessage("files", 11, 1, False, b'{"result": {}}'),
        ev.ToolCallResult("files", "read", b'{"text": "x"}', exchange=12),
        ev.McpMessage("files", 11, 2, False, b"", "it ended"),
        ev.ClockRead("utc", 5),
        ev.RandomRead("urandom", b"1"),
        ev.Input("stdin", b"hello", end=True),
        ev.Snapshot("project", b"h" * 32, 0, b"zip", last=True),
        ev.ShimReport("node", "Date", "static"),
        ev.Boundary(6),
        ev.TokenSeen("api.example", "cookie", "sid"),
        ev.ResponseHead(1, 200),
        ev.Checkpoint("turn 1", b"c"),
        ev.FileResult("out.txt", 0o644, b"o" * 32),
        ev.FileResult("gone.txt"),
        ev.FsManifest({"/usr/bin/python3": b"p" * 32, "/bin/sh": b"q" * 32}, "programs"),
        ev.ClockLog(b"log", last=True),
        ev.Branch(b"p" * 32, 24, "response", 5, b"s" * 32, b"{}", "why", 9, 2),
        ev.Rewritten(2, ((b"a", b"b"),), b"{}", "-model"),
        RunEnd(9, 0, "exit"),
    ]


def frames(events: list[Any]) -> list[tuple[int, int, Any]]:
    """Return events as a bundle holds them."""
    return [(seq, seq * 1000, event) for seq, event in enumerate(events)]
