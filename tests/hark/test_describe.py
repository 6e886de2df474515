"""Events in words and as JSON: every kind has a line, and no recorded text gets through unescaped."""

import json

import pytest

from hark import describe
from hark.bundle import events as ev
from hark.bundle.bounds import Seal
from hark.bundle.hashing import content_hash
from tests.hark.cli.sample import HOSTILE


def hostile(kind):
    """An event of `kind` whose every text and byte field holds something hostile."""
    values = []
    for name, default in zip(kind.event._fields, kind.event(), strict=True):
        match default:
            case bool() | int():
                values.append(default)
            case str():
                values.append(HOSTILE)
            case bytes():
                values.append(HOSTILE.encode() + b"\xff\x9b")
            case tuple():
                pair = (HOSTILE.encode(), b"\x9b")
                values.append((pair,) if name == "raw_headers" else (HOSTILE,))
            case _:
                values.append({HOSTILE: HOSTILE})
    return kind.event(*values)


@pytest.mark.parametrize("kind", ev.KINDS, ids=lambda kind: kind.name)
def test_every_kind_has_a_line_a_detail_and_json_that_are_safe_to_print(kind):
    event = hostile(kind)
    if isinstance(event, Seal):
        event = Seal(b"\xff" * 32, {1: 2}, HOSTILE, 3)
    shown = [describe.line(event), *describe.detail(event)]
    shown.append(describe.to_json(0, 0, kind.number, event, {}))
    for text in shown:
        assert text.isprintable()
        assert not set(text) & set("\x1b\u202e\x9b")


@pytest.mark.parametrize("kind", ev.KINDS, ids=lambda kind: kind.name)
def test_an_event_with_nothing_in_it_can_be_shown(kind):
    event = kind.event()
    assert describe.line(event) or kind.name in {"PolicyLoaded", "DnsQuery"}
    assert len(describe.detail(event)) >= len(event._fields)
    fields = json.loads(describe.to_json(0, 0, kind.number, event, {}))["fields"]
    assert list(fields) == list(event._fields)


def test_a_verdict_stands_before_what_was_recorded():
    denied = ev.EgressDecision("allowed api.example", reason="allowed (allow_hosts: x)")
    assert describe.line(denied).startswith("DENIED ")
    assert (
        describe.line(ev.DnsDecision("x", allowed=True, rule="allow_hosts: x"))
        == "allowed x (allow_hosts: x)"
    )


def test_a_message_of_a_tool_server_says_who_sent_it_and_what_became_of_it():
    message = ev.McpMessage("db", 3, 0, from_agent=True, data=b"{}")
    assert describe.line(message) == "db#3 agent > 0, 2 bytes: {}"
    assert describe.line(message._replace(note="refused: no")).startswith("(refused: no) db#3")
    assert describe.line(message._replace(data=b"", note="gone")) == "db#3 ended: gone"


def test_a_long_body_is_cut_and_its_size_said():
    line = describe.line(ev.LlmResponseChunk(3, b"x" * 1_000_000))
    assert line.startswith("chunk 3, 1000000 bytes: xxx")
    assert line.endswith("x…")
    assert len(line) < 500


def test_an_unknown_kind_is_called_one():
    assert describe.line(ev.Unknown(200, b"\xa0")) == "1 byte of a kind that this hark does not know"


def test_times_are_exact_to_the_millisecond():
    assert describe.seconds(0) == "0.000"
    assert describe.seconds(1_999_999) == "0.001"
    assert describe.seconds((1 << 63) + 999) == "9223372036.854"


def test_json_escapes_even_the_control_character_that_json_lets_through():
    text = describe.to_json(0, 0, 15, ev.Checkpoint("a\x7fb"), {"leaf_hash": "00"})
    assert "\x7f" not in text
    assert json.loads(text)["fields"]["label"] == "a\x7fb"


def test_an_event_without_payload_has_no_fields_in_json():
    record = json.loads(describe.to_json(7, 1, 5, None, {}))
    assert (record["seq"], record["name"], record["fields"]) == (7, "LlmRequest", None)


@pytest.mark.parametrize(
    ("method", "headers", "said"),
    [
        ("PUT", {"Content-Length": "5"}, "body not recorded"),
        ("PUT", {"Transfer-Encoding": "chunked"}, "body not recorded"),
        ("POST", {}, "body not recorded"),  # HTTP/2 need not say how long it is
        ("PUT", {"Content-Length": "0"}, "empty"),
        ("GET", {}, "empty"),
        ("GET", {"content-length": "5"}, "body not recorded"),
    ],
)
def test_a_body_that_was_not_read_is_not_called_empty(method, headers, said):
    request = ev.LlmRequest(host="a.example", method=method, path="/x", headers=headers)
    assert describe.line(request) == f"{method} a.example/x, {said}"
    assert describe.line(request._replace(body=b"hello")).endswith(", 5 bytes: hello")
    assert describe.line(request._replace(streaming=True)).endswith(", body follows")


def test_determinism_says_what_was_in_force():
    event = ev.Determinism(b"s" * 32, ("clock preload", "aslr off"))
    assert describe.line(event) == "a seed, clock preload, aslr off"
    assert describe.line(ev.Determinism()) == "no seed, nothing in force"
    replay = ev.Determinism(b"s" * 32, ("aslr off",), b"r" * 32)
    assert describe.line(replay).endswith(f"by its own word a replay of the bundle with root {'72' * 32}")
    assert describe.line(ev.ClockLog(b"xy", last=True)) == "2 bytes, last"


def test_a_branch_names_its_parent_and_what_was_changed():
    branch = ev.Branch(b"p" * 32, 24, "response", 5, b"s" * 32, b"{}", "strip", 31, 9)
    assert describe.line(branch) == (
        f"live from the response on: by its own word a fork of the bundle with root {'70' * 32} "
        f"at its event 24, with the patch {content_hash(b'{}').hex()} (strip), 31 actions equal before"
    )
    assert "event 24, without a patch, 1 action " in describe.line(
        branch._replace(patch=b"", note="", verified=1)
    )
    assert describe.exchange_of(branch) == 9
    sent = ev.Rewritten(9, ((b"a", b"b"),), b"hello", "-model")
    assert (
        describe.line(sent) == "-model: sent with 1 header, 5 bytes: hello, in place of what the agent made"
    )


@pytest.mark.parametrize(
    ("event", "names"),
    [(ev.Determinism, ("seed", "replayed")), (ev.Branch, ("parent", "seed")), (ev.FileResult, ("hash",))],
    ids=["Determinism", "Branch", "FileResult"],
)
def test_roots_seeds_and_hashes_are_hexadecimal_even_where_their_bytes_are_text(event, names):
    digest = b"a text, as any 32 bytes may be. "
    filled = event(**dict.fromkeys(names, digest))
    fields = json.loads(describe.to_json(0, 0, ev.kind_of(filled), filled, {}))["fields"]
    shown = [line.split() for line in describe.detail(filled)]
    for name in names:
        assert fields[name] == {"hex": digest.hex()}
        assert [name, digest.hex()] in shown
