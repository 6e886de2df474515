"""A body's way: what the stages return passes, in order, whatever they hold back, grow, shrink or stop."""

import base64
import dataclasses
import http.client
from collections.abc import Callable

import pytest

from hark.bundle.events import LlmRequest, LlmResponseChunk, LlmResponseEnd, RequestChunk
from hark.policy.model import HostRule, Secret, Surface
from mediator import bodies
from mediator.bodies import Chain, RequestBody, StoppedError
from mediator.credentials import Broker
from mediator.link import Link
from mediator.transcript import Headers
from tests.fakes.upstream import Call
from tests.mediator.rig import API, PLACEHOLDER, VALUE, link_to, pair, plain, raw


class Swap:
    """Puts `new` in the place of `old`, and holds back what may become `old`."""

    resizes = True
    waiting = False

    def __init__(self, old: bytes, new: bytes) -> None:
        self._old, self._new, self._held = old, new, b""

    def feed(self, data: bytes) -> bytes:
        whole = (self._held + data).replace(self._old, self._new)
        keep = next((n for n in range(len(self._old) - 1, 0, -1) if whole.endswith(self._old[:n])), 0)
        self._held = whole[len(whole) - keep :]
        return whole[: len(whole) - keep]

    def release(self) -> bytes:
        held, self._held = self._held, b""
        return held

    def finish(self) -> bytes:
        return self.release()


@pytest.mark.parametrize("cut", [1, 2, 3, 100])
def test_what_one_stage_held_back_passes_through_those_behind(cut: int) -> None:
    chain = Chain((Swap(b"abc", b"xy"), Swap(b"yz", b"!")))
    text = b"abcz-ab-abcabcz-y"
    got = b"".join(chain.feed(text[at : at + cut]) for at in range(0, len(text), cut)) + chain.finish()
    assert got == b"x!-ab-xyx!-y"
    assert chain.resizes


def test_an_empty_way_changes_nothing() -> None:
    chain = Chain()
    assert (chain.feed(b"abc"), chain.finish(), chain.resizes) == (b"abc", b"", False)


def test_a_request_stops_at_a_placeholder_and_an_answer_at_the_value() -> None:
    here = link_to()
    sent = bodies.of_request(here, ()).sent
    assert sent.feed(b"a." + PLACEHOLDER[:9].encode()) == b"a."
    with pytest.raises(StoppedError, match=r"the placeholder of secrets\.API_KEY") as stopped:
        sent.feed(PLACEHOLDER[9:].encode())
    assert PLACEHOLDER not in stopped.value.reason
    hidden = base64.b64encode(VALUE.encode() + b", more")
    with pytest.raises(StoppedError, match=r"gives secrets\.API_KEY back"):
        bodies.of_answer(here, (), body=True)[1].feed(hidden)
    with pytest.raises(StoppedError, match=r"gives secrets\.API_KEY back"):
        bodies.of_answer(here, ((b"x", hidden),), body=False)
    with pytest.raises(StoppedError, match=r"could not search"):
        bodies.of_answer(here, ((b"content-encoding", b"xz"),), body=True)
    with pytest.raises(StoppedError, match=r"gives secrets\.API_KEY back"):
        bodies.turned_trailers(here, ((b"x", hidden),))


def test_what_no_secret_is_in_passes() -> None:
    here = link_to()
    headers, way = bodies.of_answer(here, ((b"content-encoding", b"identity"),), body=True)
    assert headers == ((b"content-encoding", b"identity"),)
    assert way.feed(b"abc.") == b"abc."
    assert bodies.turned_trailers(here, ((b"x", b"abc"),)) == ((b"x", b"abc"),)


def test_a_value_reaches_the_agent_as_its_placeholder() -> None:
    here = link_to()
    headers, way = bodies.of_answer(here, ((b"x", VALUE.encode()),), body=True)
    assert headers == ((b"x", PLACEHOLDER.encode()),)
    assert way.feed(b"a" + VALUE[:5].encode()) + way.feed(VALUE[5:].encode()) + way.finish() == (
        b"a" + PLACEHOLDER.encode()
    )
    assert bodies.turned_trailers(here, ((b"x", VALUE.encode()),)) == ((b"x", PLACEHOLDER.encode()),)


@pytest.fixture
def swapped(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let requests leave with `REAL!` for `mine`, and answers come back the other way round."""
    of_request: Callable[[Link, Headers], RequestBody] = bodies.of_request

    def swapping(here: Link, headers: Headers) -> RequestBody:
        return dataclasses.replace(of_request(here, headers), sent=Chain((Swap(b"mine", b"REAL!"),)))

    def back(here: Link, headers: Headers, **_how: object) -> tuple[Headers, Chain]:
        del here
        return headers, Chain((Swap(b"REAL!", b"mine"),))

    monkeypatch.setattr(bodies, "of_request", swapping)
    monkeypatch.setattr(bodies, "of_answer", back)


@pytest.mark.usefixtures("swapped")
@pytest.mark.parametrize("filler", [0, 2 << 20])
def test_a_body_that_grows_on_the_way_is_framed_anew_and_recorded_as_the_agent_knows_it(filler: int) -> None:
    body = b"a mine " + b"." * filler + b" mine"
    with pair() as (rig, upstream), rig.https() as client:
        upstream.routes["/echo"] = lambda call: call.reply(200, call.body)
        for _ in range(2):
            client.request("POST", "/echo", body=body)
            assert client.getresponse().read() == body
        rig.recorder.wait_for(LlmResponseEnd, 2)
    assert [seen.body for seen in upstream.seen] == [body.replace(b"mine", b"REAL!")] * 2
    sent = b"".join(event.body for event in rig.recorder.of(LlmRequest))
    sent += b"".join(event.data for event in rig.recorder.of(RequestChunk))
    assert sent == body * 2
    assert b"".join(event.data for event in rig.recorder.of(LlmResponseChunk)) == body * 2
    assert rig.fatal == []


@pytest.mark.usefixtures("swapped")
def test_an_answer_to_http_1_0_that_changes_on_the_way_ends_with_its_connection() -> None:
    with plain() as (rig, upstream):
        upstream.routes["/x"] = lambda call: call.reply(200, b"a REAL! b")
        sock = rig.dial(rig.address(API), 80)
        got = raw(sock, f"GET /x HTTP/1.0\r\nHost: {API}\r\n\r\n".encode())
        sock.close()
    head, _, body = got.partition(b"\r\n\r\n")
    assert body == b"a mine b"
    assert b"content-length" not in head.lower()
    assert b"transfer-encoding" not in head.lower()


@pytest.mark.usefixtures("swapped")
def test_a_long_body_of_http_1_0_that_would_have_to_change_is_refused(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("mediator.ending.DISCARD_S", 0.2)
    with plain() as (rig, upstream):
        sock = rig.dial(rig.address(API), 80)
        got = raw(sock, f"POST / HTTP/1.0\r\nHost: {API}\r\nContent-Length: {2 << 20}\r\n\r\n".encode())
        sock.close()
        assert got.startswith(b"HTTP/1.1 413")
        assert b"HTTP/1.0 has no chunks" in got
        assert upstream.seen == []


@pytest.mark.usefixtures("swapped")
def test_a_head_answer_keeps_its_length_although_bodies_change() -> None:
    with pair() as (rig, upstream), rig.https() as client:

        def reply(call: Call) -> None:
            call.reply(200, b"a REAL! b")

        upstream.routes["/h"] = reply
        client.request("HEAD", "/h")
        answer: http.client.HTTPResponse = client.getresponse()
        assert (answer.getheader("content-length"), answer.read()) == ("9", b"")


@pytest.mark.parametrize("bound", [True, False])
def test_a_host_that_no_credential_is_bound_to_is_not_kept_waiting_behind_a_word(bound: bool) -> None:
    """Either side may wait for the other there, as in gRPC; a bound one might be giving a value back."""
    value, stand_in = "9f8a7c6b5d4e3f2a1b0c9d8e7f6a", "hark" + "aB3dE6gH9jK2mN5pQ8sT1vW4"
    base = link_to()
    host = base.target.host if bound else "elsewhere.example"
    held = Secret("BARE", value, stand_in, (HostRule(host, base.target.port),), tuple(Surface))
    link = dataclasses.replace(base, broker=Broker([held]))
    _, way = bodies.of_answer(link, (), body=True)
    assert way.feed(b"server is: ready") == (b"server is: " if bound else b"server is: ready")
    if bound:
        assert way.feed(f". {value}.".encode()) + way.finish() == f"ready. {stand_in}.".encode()
        return
    with pytest.raises(bodies.StoppedError, match=r"secrets\.BARE, which is not bound to it"):
        way.feed(f". {value}.".encode())
