"""Traps 25 to 27: get a credential to the wrong host, a placeholder out unresolved, or a value back."""

import http.client
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Final
from unittest.mock import patch

from hark.policy.model import Secret
from mediator.credentials import Broker
from mediator.scan import Needles, StreamScan
from tests.attacks.registry import Outcome, Verdict, add
from tests.fakes.upstream import Call, serving
from tests.mediator.rig import API, OTHER, running, secret

VALUE: Final = "sk-real-5e884898da28047151d0"
PLACEHOLDER: Final = "sk-harkAbCdEfGhIjKlMnOpQrStUv"


def _send(path: str, headers: dict[str, str], *, bound: str) -> tuple[bytes, list[str]]:
    """Ask the API; return what came back and what the server was sent."""
    with (
        serving(API) as upstream,
        running(
            API,
            OTHER,
            upstreams={API: upstream.address},
            roots=upstream.ca_pem,
            secrets=(secret(VALUE, bound),),
        ) as rig,
        rig.https() as client,
    ):

        @upstream.on("/echo")
        def echo(call: Call) -> None:
            call.reply(200, str(call.headers["X-Key"]).encode())

        got = b""
        try:
            client.request("GET", path, headers=headers)
            got = client.getresponse().read()
        except http.client.IncompleteRead as error:
            got = error.partial
        except OSError:
            pass
        return got, [f"{seen.path} {seen.headers}" for seen in upstream.seen]


def _to_another_host() -> Outcome:
    _, sent = _send("/", {"X-Key": PLACEHOLDER}, bound=OTHER)
    return _outcome(VALUE in str(sent), sent)


def _unresolved() -> Outcome:
    _, sent = _send(f"/?key={PLACEHOLDER}", {}, bound=API)
    return _outcome(PLACEHOLDER in str(sent), sent)


def _echoed() -> Outcome:
    got, sent = _send("/echo", {"X-Key": PLACEHOLDER}, bound=API)
    if VALUE not in str(sent):
        return Outcome(Verdict.UNKNOWN, "the server never had the value")
    return _outcome(VALUE.encode() in got, sent)


def _outcome(reached: bool, sent: list[str]) -> Outcome:
    detail = f"the server saw {len(sent)} requests"
    return Outcome(Verdict.SUCCEEDED if reached else Verdict.REFUSED, detail)


def _without(defence: AbstractContextManager[object], run: Callable[[], Outcome]) -> Callable[[], Outcome]:
    def bare() -> Outcome:
        with defence:
            return run()

    return bare


NO_BINDING: Final = patch.object(Secret, "bound_to", lambda *_: True)
NO_URL_CHECK: Final = patch.object(Broker, "in_path", lambda *_: None)
NO_ECHO_SCAN: Final = patch.object(Broker, "incoming", lambda _: StreamScan(Needles({})))

add(25, "send a credential to another allowed host", _to_another_host, _without(NO_BINDING, _to_another_host))
add(26, "send a placeholder out in the URL", _unresolved, _without(NO_URL_CHECK, _unresolved))
add(27, "have a server give the value back", _echoed, _without(NO_ECHO_SCAN, _echoed))
