"""What a replay's digest does with each kind of event, and what it leaves out: two tables, by name.

What always holds: a kind has one row; what is left out is left out by a rule of `LEFT_OUT` that the code
asks by its constant here; docs/format.md repeats both tables. A kind that has no row cannot be compared, and
is an action of its own, so that two runs with unequal bytes of it are not equal.
"""

from typing import Final, NamedTuple


class Rule(NamedTuple):
    """Something that cannot repeat, or that is no act of the agent's, and so is not compared."""

    name: str
    what: str
    covers: frozenset[str] = frozenset()


IDENTITY: Final = Rule("identity", "run id, times, sequence numbers, numbers of exchanges, process ids")
BEGINNING: Final = Rule(
    "beginning", "what the run began with; a replay is given it, or says what it has instead"
)
SERVED: Final = Rule("served", "what hark gave the agent: draws, clock readings, input, snapshots")
COMMENTARY: Final = Rule(
    "commentary", "what hark noted beside the run, and credentials, which a replay has none of"
)
REPEATED: Final = Rule("repeated", "what another event says again")
POOLS: Final = Rule("pools", "how often, and in which order, allowed names and connections were made")
RACES: Final = Rule("races", "order between streams")
CHUNKS: Final = Rule("chunks", "where bodies, messages and tunnels were cut into pieces")
SPELLING: Final = Rule(
    "spelling", "what the canonical form of a request leaves out; spelling of JSON in messages"
)
REASONS: Final = Rule("reasons", "words: why something was denied, and why a connection broke")
PAGES: Final = Rule(
    "own pages", "headers and bodies of answers that hark made itself: refusals, and 502 for no answer"
)
LEFT: Final = Rule("left", "what had come of an answer when the agent went away")
CUT: Final = Rule(
    "cut", "how much of a request's body was read before it was answered or the agent went away"
)
KEEP_ALIVE: Final = Rule("keep-alive", "pings and pongs of a WebSocket", frozenset(("ping", "pong")))
RECOMPUTED: Final = Rule(
    "recomputed",
    "`sec-websocket-accept`, which answers a key that is drawn",
    frozenset(("sec-websocket-accept",)),
)
INTRODUCTIONS: Final = Rule(
    "introductions",
    "what a tool server answered hark itself, where a fork had told it again what the agent had said",
)
PUBLISHED: Final = Rule(
    "published",
    "connections that the operator's side made to a published port",
    frozenset(("published port ",)),
)
DATES: Final = Rule(
    "file dates",
    "contents of files in which dates of other files stand: caches of Python, mypy and ruff, git's indexes",
    frozenset(
        (
            *("*.pyc", "*/.mypy_cache/*", "*/.ruff_cache/*", "*/.git/index"),
            *("*/.git/worktrees/*/index", "*/.git/modules/*/index"),
        )
    ),
)
ELSEWHERE: Final = Rule(
    "elsewhere",
    "what a writable file outside of the project holds that lay there before: no replay begins with it",
)

LEFT_OUT: Final = (
    IDENTITY, BEGINNING, SERVED, COMMENTARY, REPEATED, POOLS, RACES, CHUNKS, SPELLING, REASONS, PAGES, LEFT,
    CUT, KEEP_ALIVE, RECOMPUTED, INTRODUCTIONS, PUBLISHED, DATES, ELSEWHERE,
)  # fmt: skip


class Treatment(NamedTuple):
    """One row: a kind, the stream that its events are part of (empty: none), and the rules that apply."""

    kind: int
    stream: str
    rules: tuple[Rule, ...] = ()


PROGRAM: Final = "program"
FILE: Final = "file"
NAME: Final = "name"
DENIED_NAME: Final = "denied name"
CONNECTION: Final = "connection"
DENIED: Final = "denied"
REQUEST: Final = "request"
WEBSOCKET: Final = "websocket"
TUNNEL: Final = "tunnel"
MCP: Final = "mcp"
TOOL: Final = "tool"
CHECKPOINT: Final = "checkpoint"
EXIT: Final = "exit"
UNKNOWN: Final = "unknown"

TREATMENTS: Final = (
    Treatment(1, "", (IDENTITY, BEGINNING)),
    Treatment(2, "", (BEGINNING,)),
    Treatment(3, "", (BEGINNING,)),
    Treatment(4, PROGRAM, (BEGINNING,)),
    Treatment(5, REQUEST, (IDENTITY, SPELLING, RACES)),
    Treatment(6, REQUEST, (CHUNKS, PAGES, LEFT)),
    Treatment(7, REQUEST, (RECOMPUTED, REASONS, PAGES, LEFT)),
    Treatment(8, TOOL, (SPELLING, RACES)),
    Treatment(9, TOOL, (SPELLING, RACES)),
    Treatment(10, CONNECTION, (POOLS, RACES)),
    Treatment(11, CONNECTION, (POOLS, RACES, REASONS)),
    Treatment(12, "", (COMMENTARY,)),
    Treatment(13, "", (SERVED,)),
    Treatment(14, "", (SERVED,)),
    Treatment(15, CHECKPOINT),
    Treatment(16, EXIT, (IDENTITY, REASONS)),
    Treatment(17, "", (REPEATED,)),
    Treatment(18, NAME, (POOLS, RACES, REASONS)),
    Treatment(32, "", (COMMENTARY,)),
    Treatment(33, WEBSOCKET, (CHUNKS, KEEP_ALIVE, SPELLING)),
    Treatment(34, TUNNEL, (CHUNKS, PUBLISHED, REASONS)),
    Treatment(35, REQUEST, (CHUNKS, CUT)),
    Treatment(36, REQUEST, (LEFT,)),
    Treatment(37, "", (SERVED,)),
    Treatment(38, "", (SERVED,)),
    Treatment(39, "", (COMMENTARY,)),
    Treatment(40, FILE, (DATES, ELSEWHERE)),
    Treatment(41, "", (COMMENTARY,)),
    Treatment(42, MCP, (SPELLING, PAGES, REASONS, INTRODUCTIONS)),
    Treatment(43, "", (COMMENTARY,)),
    Treatment(44, REQUEST),
    Treatment(45, "", (REPEATED,)),
    Treatment(46, REQUEST, (LEFT,)),
    Treatment(47, "", (SERVED,)),
    Treatment(48, "", (SERVED,)),
    Treatment(49, "", (SERVED,)),
    Treatment(50, "", (COMMENTARY,)),
)

STREAMS: Final = {
    PROGRAM: "each program that was executed, by path: its hash. Compared first",
    FILE: "each file that the run left different, by path: mode and hash",
    NAME: "each name that was allowed, once",
    DENIED_NAME: "each name that was denied: every time",
    CONNECTION: "each target, protocol and SNI to which a connection was allowed, once",
    DENIED: "each target, protocol and SNI that was denied: every time",
    REQUEST: "each key: its requests in order, and what came back (status, headers, body, end)",
    WEBSOCKET: "each WebSocket and side: its messages in order; a stream of bytes is one message",
    TUNNEL: "each raw connection of a target, in order, and side: all bytes, and how it ended",
    MCP: "each connection of a tool server, in order, and side: its messages in order",
    TOOL: "each tool: its calls in order, and its results in order",
    CHECKPOINT: "labels and hashes, in order",
    EXIT: "exit code, and how the run ended",
    UNKNOWN: "each event of a kind without a row here, by its bytes",
}
"""The streams, and what is compared in each. The order within a stream counts."""

BY_KIND: Final = {row.kind: row for row in TREATMENTS}


def ignored(kind: int) -> bool:
    """Tell whether events of a kind are part of no stream."""
    return kind in BY_KIND and not BY_KIND[kind].stream
