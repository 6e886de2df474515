"""Traps 25 to 27: get a credential to the wrong host, a placeholder out unresolved, or a value back."""

import base64
import binascii
import contextlib
import gzip
import http.client
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Final
from unittest.mock import patch
from urllib.parse import unquote_to_bytes

import brotli

from hark.policy.model import HostRule, Policy, Surface, TokenEndpoint
from mediator.bodies import Chain, RequestBody
from mediator.credentials import Broker, InjectedTarget
from mediator.grants import Held
from mediator.scan import StreamSwap, Table
from tests.attacks.registry import Outcome, Verdict, add
from tests.fakes.upstream import Call, serving
from tests.mediator.rig import API, OTHER, names, running, secret

VALUE: Final = "sk-real-5e884898da28047151d0"
PLACEHOLDER: Final = "sk-harkAbCdEfGhIjKlMnOpQrStUv"


def _send(
    path: str, headers: dict[str, str], *, bound: str, way: str = "", body: bytes = b""
) -> tuple[bytes, list[str]]:
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
            key = str(call.headers["X-Key"])
            if way == "words":
                call.wfile.write(f"HTTP/1.1 200 {key}\r\nContent-Length: 0\r\n\r\n".encode())
            elif way == "twice":
                packed = gzip.compress(gzip.compress(key.encode()))
                call.reply(200, packed, [("Content-Encoding", "gzip, gzip")])
            elif way == "brotli":
                call.reply(200, brotli.compress(key.encode() * 20), [("Content-Encoding", "br")])
            elif way == "percent":
                call.reply(200, "".join(f"%{ord(char):02x}" for char in key).encode())
            elif way == "lines":
                call.reply(200, base64.encodebytes(b"." * 40 + key.encode() + b"." * 40))
            elif way == "base32":
                call.reply(200, base64.b32encode(b"key: " + key.encode() + b" and more"))
            else:
                call.reply(200, key.encode())

        got = b""
        try:
            client.request("POST" if body else "GET", path, body or None, headers)
            answer = client.getresponse()
            got = answer.reason.encode() + answer.read()
        except http.client.IncompleteRead as error:
            got = error.partial
        except OSError:
            pass
        return got, [f"{seen.path} {seen.headers} {seen.body.hex()}" for seen in upstream.seen]


def _to_another_host() -> Outcome:
    _, sent = _send("/", {"X-Key": PLACEHOLDER}, bound=OTHER)
    return _outcome(VALUE in str(sent), sent)


def _unresolved() -> Outcome:
    _, sent = _send(f"/?key={PLACEHOLDER}", {}, bound=API)
    return _outcome(PLACEHOLDER in str(sent), sent)


def _in_a_body() -> Outcome:
    _, sent = _send("/", {}, bound=OTHER, body=b'"%s"' % PLACEHOLDER.encode())
    return _outcome(any(text.encode().hex() in str(sent) for text in (PLACEHOLDER, VALUE)), sent)


def _in_a_packed_body() -> Outcome:
    packed = gzip.compress(PLACEHOLDER.encode(), mtime=0)
    _, sent = _send("/", {"Content-Encoding": "gzip"}, bound=API, body=packed)
    return _outcome(packed.hex() in str(sent), sent)


def _in_a_name() -> Outcome:
    """Under a wildcard: the name would stand in the handshake and in Host, in small letters."""
    held = secret(VALUE, API)
    policy = Policy(allow_hosts=(HostRule(API), HostRule("*.files.test")))
    with running(policy=policy, secrets=(held,)) as rig:
        other = names(rig.ask("other.files.test"))
        given = [names(rig.ask(f"{label}.files.test")) for label in (PLACEHOLDER, PLACEHOLDER.lower())]
    if not other:
        return Outcome(Verdict.UNKNOWN, "no name is given an address")
    return Outcome.seen(f"{len(list(filter(None, given)))} names have an address", succeeded=any(given))


def _minted() -> Outcome:
    token = b"minted-0123456789abcdefghijklmnop"
    endpoint = TokenEndpoint(API, "/token", ("access_token",))
    policy = Policy(allow_hosts=(HostRule(API),), tokens=(endpoint,))
    with (
        serving(API) as upstream,
        running(policy=policy, upstreams={API: upstream.address}, roots=upstream.ca_pem) as rig,
        rig.https() as client,
    ):
        answer = b'{"access_token": "%s"}' % token
        upstream.routes["/token"] = lambda call: call.reply(
            200, answer, [("Content-Type", "application/json")]
        )
        client.request("POST", "/token", b"code=1")
        got = client.getresponse().read()
        return _outcome(token in got, [seen.path for seen in upstream.seen])


def _in_brotli() -> Outcome:
    def opened(got: bytes) -> bytes:
        with contextlib.suppress(brotli.error):
            return bytes(brotli.decompress(got.removeprefix(b"OK")))
        return b""

    return _echoed("brotli", opened)


def _in_percent_signs() -> Outcome:
    return _echoed("percent", unquote_to_bytes)


def _echoed(way: str = "", read: Callable[[bytes], bytes] = bytes) -> Outcome:
    got, sent = _send("/echo", {"X-Key": PLACEHOLDER}, bound=API, way=way)
    if VALUE not in str(sent):
        return Outcome(Verdict.UNKNOWN, "the server never had the value")
    return _outcome(VALUE.encode() in read(got), sent)


def _guessed() -> Outcome:
    """A server of the agent's own, to which nothing is bound, shows it one guess after another."""
    guesses = [f"Geheim-{number}" for number in range(31335, 31340)]
    held = secret(guesses[2], OTHER)
    told: list[str] = []
    with (
        serving(API) as upstream,
        running(API, OTHER, upstreams={API: upstream.address}, roots=upstream.ca_pem, secrets=(held,)) as rig,
        rig.https() as client,
        contextlib.suppress(OSError, http.client.HTTPException),
    ):
        for guess in guesses:
            upstream.routes["/tried"] = lambda call, guess=guess: call.reply(200, guess.encode())  # type: ignore[misc]
            client.request("GET", "/tried")
            answer = client.getresponse()
            told += [guess] * (answer.status == 200 and answer.read() != guess.encode())
    if not upstream.seen:
        return Outcome(Verdict.UNKNOWN, "no guess was shown")
    return Outcome.seen(f"{told or 'nothing'} after {len(upstream.seen)} guesses", succeeded=bool(told))


def _in_words() -> Outcome:
    return _echoed("words")


def _packed_twice() -> Outcome:
    return _echoed("twice", _unpacked)


def _in_lines() -> Outcome:
    return _echoed("lines", lambda got: base64.b64decode(got.removeprefix(b"OK")))


def _in_base32() -> Outcome:
    def read(got: bytes) -> bytes:
        whole = got.removeprefix(b"OK")
        with contextlib.suppress(binascii.Error):  # it is a page of hark's
            return base64.b32decode(whole[: len(whole) // 8 * 8])
        return b""

    return _echoed("base32", read)


def _unpacked(got: bytes) -> bytes:
    with contextlib.suppress(OSError, EOFError):
        return gzip.decompress(gzip.decompress(got.removeprefix(b"OK")))
    return b""


def _outcome(reached: bool, sent: list[str]) -> Outcome:
    detail = f"the server saw {len(sent)} requests"
    return Outcome(Verdict.SUCCEEDED if reached else Verdict.REFUSED, detail)


def _without(defence: AbstractContextManager[object], run: Callable[[], Outcome]) -> Callable[[], Outcome]:
    def bare() -> Outcome:
        with defence:
            return run()

    return bare


NO_BINDING: Final = patch.object(Held, "surfaces_for", lambda *_: tuple(Surface))
NO_URL_CHECK: Final = patch.object(
    Broker, "inject_target", lambda _, path, *__, **___: InjectedTarget(path, ())
)
NO_ECHO_SCAN: Final = patch.object(Broker, "incoming", lambda *_, **__: StreamSwap(Table))
NO_STRAYS: Final = patch.object(Broker, "astray_at", lambda *_: frozenset())
NO_LINES: Final = patch("mediator.spelling._BLANKS", b"")
NO_UNPACKING: Final = patch("mediator.echo.codings_of", lambda *_, **__: ())
NO_HOLDING: Final = patch("mediator.bodies.codings_of", lambda *_, **__: ())
NO_STANDARD_WORDS: Final = patch("mediator.answers.standardise", lambda _: None)

add(25, "send a credential to another allowed host", _to_another_host, _without(NO_BINDING, _to_another_host))
add(26, "send a placeholder out in the URL", _unresolved, _without(NO_URL_CHECK, _unresolved))
NO_NAME_CHECK: Final = patch.object(Broker, "in_name", lambda *_: None)
add(26, "send a placeholder out in a name", _in_a_name, _without(NO_NAME_CHECK, _in_a_name))
NO_BODY_CHECK: Final = patch("mediator.bodies.of_request", lambda *_: RequestBody(Chain(), Chain()))
NO_UNPACKED_SEARCH: Final = patch("mediator.substitution.codings_of", lambda *_, **__: ())
NO_ENDPOINTS: Final = patch("mediator.bodies.minting_at", lambda *_: None)
NO_RARE_ENCODINGS: Final = patch("mediator.scan.rare_of", lambda _: ())
NO_UNESCAPING: Final = patch("mediator.spelling.ROUNDS", 0)

add(25, "send a credential to another host in a body", _in_a_body, _without(NO_BODY_CHECK, _in_a_body))
add(26, "send a placeholder out in a packed body", _in_a_packed_body,
    _without(NO_UNPACKED_SEARCH, _in_a_packed_body))  # fmt: skip
add(27, "give it back in brotli", _in_brotli, _without(NO_HOLDING, _without(NO_UNPACKING, _in_brotli)))
add(27, "give it back in percent signs", _in_percent_signs, _without(NO_UNESCAPING, _in_percent_signs))
add(27, "mint a token and hand it to the agent", _minted, _without(NO_ENDPOINTS, _minted))
add(27, "have a server give the value back", _echoed, _without(NO_ECHO_SCAN, _echoed))
add(27, "learn which guess is right from what comes back", _guessed, _without(NO_STRAYS, _guessed))
add(27, "give it back behind the status", _in_words, _without(NO_STANDARD_WORDS, _in_words))
add(27, "give it back packed twice", _packed_twice,
    _without(NO_HOLDING, _without(NO_UNPACKING, _packed_twice)))  # fmt: skip
add(27, "give it back in base32", _in_base32, _without(NO_RARE_ENCODINGS, _in_base32))
add(27, "give it back in lines of base64", _in_lines, _without(NO_LINES, _in_lines))
