"""Placements by chance: a placeholder anywhere in a request, in any spelling and cut anywhere, to any host.

The server gets the value where the policy lets it stand and nowhere else, nothing leaves with a placeholder
in it, and what the server gives back holds the value in no spelling. The seed is fixed: a failure names its
number.
"""

import base64
import html
import http.client
import random
import string
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from urllib.parse import quote

import pytest

from hark.bundle.events import LlmResponseEnd
from hark.packers import unpackers
from hark.policy.model import HostRule, Policy, Secret, Surface
from mediator import bodies
from mediator.authority import Destination
from mediator.bodies import StoppedError
from mediator.credentials import Broker
from mediator.grants import Held
from mediator.judgement import Asked, Forward, judge
from mediator.link import Link
from mediator.placeholders import placeholder_for
from mediator.spelling import Place, begun, normal, placed
from tests.fakes.upstream import Call, serving
from tests.mediator.rig import API, OTHER, link_to, running
from tests.support.squeezing import packer

PLACEMENTS, ROUNDS, REAL = 10_000, 20, 300
HOSTS = {"bound": (API, 443), "port": (API, 8443), "other": (OTHER, 443)}
LETTERS = (string.ascii_letters + string.digits, string.ascii_letters + string.digits + "-_",
           string.ascii_letters + string.digits + "+/=!$&'\"%<>;:@ ")  # fmt: skip
KINDS = {
    Place.JSON: (b"application/json", lambda text: b'{"a": [1, "x' + text + b'y"], "b": true}'),
    Place.FORM: (b"application/x-www-form-urlencoded", lambda text: b"grant=code&k=" + text + b"&z=1"),
    Place.XML: (b"text/xml", lambda text: b"<a><b>" + text + b"</b></a>"),
    Place.PLAIN: (b"multipart/form-data; boundary=b", lambda text: b"--b\r\n\r\n" + text + b"\r\n--b--\r\n"),
}


@dataclass(frozen=True)
class Placement:
    """One request by chance."""

    secret: Secret
    where: Surface
    spelling: str
    host: str
    coding: bytes
    place: Place
    cut: int

    @property
    def allowed(self) -> bool:
        """Tell whether the value has to arrive."""
        return self.host == "bound" and self.where in self.secret.surfaces

    @property
    def target(self) -> Destination:
        """Return where it goes."""
        return Destination(*HOSTS[self.host])


def escaped(rng: random.Random, form: Callable[[str], str]) -> Callable[[str], str]:
    return lambda text: "".join(form(char) if rng.random() < 0.6 else char for char in text)


def spell(rng: random.Random, spelling: str, text: str) -> str:
    match spelling:
        case "percent":
            return escaped(rng, lambda char: f"%{ord(char):02X}")(text)
        case "json":
            return escaped(rng, lambda char: f"\\u{ord(char):04x}")(text)
        case "entities":
            return escaped(rng, lambda char: rng.choice(["&#%d;", "&#x%02x;"]) % ord(char))(text)
        case "hex":
            return text.encode().hex()
        case "base64":
            return base64.b64encode(("user:"[: rng.randint(0, 5)] + text).encode()).decode()
        case _:
            return text


def value_by(rng: random.Random) -> str:
    while True:
        value = "".join(
            rng.choice(rng.choice(LETTERS)) for _ in range(rng.choice([8, 16, 28, 40, 90]))
        ).strip()
        fit = len(set(value)) > 4 and len(value) > 7 and not begun(value.encode()) and normal(value.encode())
        if fit and "%" not in value and "&" not in value:
            return rng.choice(["", "sk-", "ghp_"]) + value


def placement(rng: random.Random) -> Placement:
    value = value_by(rng)
    places = tuple(place for place in Surface if rng.random() < 0.5)
    secret = Secret("KEY", value, placeholder_for(value, rng), (HostRule(API),), places)
    where = rng.choice(list(Surface))
    spellings = ["plain", "percent", "hex", "base64"] if where is not Surface.BASIC else ["plain"]
    place = rng.choice(list(KINDS))
    if where in (Surface.BODY, Surface.WS):
        spellings += ["json"] if place is Place.JSON else ["entities"] if place is Place.XML else []
    return Placement(
        secret, where, rng.choice(spellings), rng.choice(list(HOSTS)),
        rng.choice([b"", b"gzip", b"br", b"zstd", b"deflate"]), place, rng.choice([1, 2, 3, 7, 64, 10_000]),
    )  # fmt: skip


def asked(one: Placement, text: str) -> tuple[Asked, bytes]:
    """Return a request with `text` in its place, and its body."""
    path, headers, body = b"/v1/x?a=1", [(b"Host", authority(one))], b""
    match one.where:
        case Surface.HEADER:
            headers.append((b"X-Api-Key", f"Bearer {text}".encode()))
        case Surface.BASIC:
            headers.append((b"Authorization", b"Basic " + base64.b64encode(f"me:{text}".encode())))
        case Surface.QUERY:
            path = f"/v1/x?a=1&key={quote(text, safe='%')}&b=2".encode()
        case Surface.PATH:
            path = f"/bot{quote(text, safe='%')}/x?a=1".encode()
        case Surface.BODY | Surface.WS:
            kind, build = KINDS[one.place]
            shown = text if one.spelling != "base64" or one.place is not Place.FORM else quote(text, safe="")
            body = build(shown.encode())
            headers.append((b"Content-Type", kind))
            if one.coding and one.where is Surface.BODY:
                headers.append((b"Content-Encoding", one.coding))
                packing = packer(one.coding)
                body = packing.pack(body) + packing.end()
    return Asked(b"POST", b"", b"", path, tuple(headers)), body


def authority(one: Placement) -> bytes:
    host, port = HOSTS[one.host]
    return host.encode() if port == 443 else f"{host}:{port}".encode()


def pieces(data: bytes, size: int) -> Iterator[bytes]:
    return (data[at : at + size] for at in range(0, len(data), size))


def here(one: Placement) -> Link:
    policy = Policy(allow_hosts=tuple(HostRule(*place) for place in HOSTS.values()))
    base = link_to(one.target)
    return replace(base, broker=Broker([one.secret]), standing=type(base.standing)(policy))


def sent(one: Placement, to: Link, request: Asked, body: bytes) -> bytes | None:
    """Return everything that leaves, unpacked; None where the request is refused."""
    judged = judge(request, to)
    if not isinstance(judged, Forward):
        return None
    message = one.where is Surface.WS
    way = bodies.of_agents_message(to) if message else bodies.of_request(to, request.headers)
    try:
        out = b"".join(map(way.sent.feed, pieces(body, one.cut))) + way.sent.finish()
    except StoppedError:
        return None
    if one.coding and one.where is Surface.BODY and out:
        out = b"".join(unpackers(one.coding)[0].unpack(out))
    basic = [value.partition(b" ")[2] for name, value in judged.headers if name == b"Authorization"]
    opened = b"".join(base64.b64decode(value) for value in basic)
    return b"\n".join((judged.path, *(value for _, value in judged.headers), opened, out))


def arrived(one: Placement, leaves: bytes) -> bool:
    value = one.secret.value
    if one.spelling == "hex":
        return value.encode().hex().encode() in normal(leaves)
    if one.spelling == "base64":
        encoded = (base64.b64encode(b"." * shift + value.encode())[(4, 4, 4)[shift] :] for shift in range(3))
        return any(text.rstrip(b"=")[:-1] in normal(leaves) for text in encoded)
    return normal(value.encode()) in normal(leaves) or normal(value.replace(" ", "+").encode()) in normal(
        leaves
    )


@pytest.mark.slow
@pytest.mark.parametrize("number", range(ROUNDS))
def test_a_value_reaches_its_place_at_its_host_and_nothing_else_does(number: int) -> None:
    rng = random.Random(f"placements {number}")
    reached = 0
    for _ in range(PLACEMENTS // ROUNDS):
        one = placement(rng)
        to = here(one)
        request, body = asked(one, spell(rng, one.spelling, one.secret.placeholder))
        leaves = sent(one, to, request, body)
        if not one.allowed:
            assert leaves is None, one
            continue
        if leaves is None:
            assert one.spelling == "base64", one  # that goes on behind the value cannot become longer
            continue
        reached += 1
        assert arrived(one, leaves), (one, leaves)
        assert to.broker.placeholder_in(leaves) is None, (one, leaves)
    assert reached > 30


@pytest.mark.slow
@pytest.mark.parametrize("number", range(ROUNDS))
def test_what_comes_back_holds_the_value_in_no_spelling(number: int) -> None:
    rng = random.Random(f"answers {number}")
    turned = stopped = 0
    for _ in range(PLACEMENTS // ROUNDS // 2):
        one = placement(rng)
        to = here(one)
        astray = one.secret.name in to.broker.astray_at(to.target)
        spelling = rng.choice(["plain", "percent", "json", "entities", "hex", "base64"])
        spelled = spell(rng, spelling, one.secret.value).encode()
        if rng.random() < 0.3:
            spelled = placed(one.secret.value.encode(), one.place)
        text = (
            rng.choice([b"", b'{"k": "', b"a=", b"x" * 70])
            + spelled
            + rng.choice([b"", b'"}', b"\n", b" end"])
        )
        headers = ((b"content-encoding", one.coding),) if one.coding else ()
        packing = packer(one.coding or b"gzip")
        packed = packing.pack(text) + packing.end() if one.coding else text
        try:
            _, way = bodies.of_answer(to, headers, body=True)
            got = b"".join(map(way.feed, pieces(packed, one.cut))) + way.finish()
        except StoppedError:
            stopped += astray
            assert spelling == "base64" or astray, (one, text)
            continue
        assert not astray, (one, text)
        shown = b"".join(unpackers(one.coding)[0].unpack(got)) if one.coding else got
        assert to.broker.real_value_in(shown) is None, (one, text, shown)
        assert shown != text, (one, text)
        turned += 1
    assert turned > 30
    assert stopped > 30


def test_the_control_without_the_binding_values_reach_other_hosts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Held, "surfaces_for", lambda *_: tuple(Surface))
    rng = random.Random("control")
    astray = 0
    for one in (placement(rng) for _ in range(200)):
        request, body = asked(one, one.secret.placeholder)
        leaves = sent(one, here(one), request, body)
        astray += not one.allowed and leaves is not None and arrived(replace(one, spelling="plain"), leaves)
    assert astray > 50


@pytest.mark.slow
def test_through_the_real_mediator_the_record_holds_the_value_in_no_spelling() -> None:
    rng = random.Random("real")
    value = "sk-real-" + "".join(rng.choice(LETTERS[0]) for _ in range(24))
    for even in (True, False):
        stand_in = placeholder_for(value if even else value + "longer", rng)
        held = Secret("KEY", value, stand_in, (HostRule(API),), tuple(Surface))
        with (
            serving(API, OTHER) as upstream,
            running(
                API, OTHER, upstreams={API: upstream.address, OTHER: upstream.address}, roots=upstream.ca_pem,
                secrets=(held,),
            ) as rig,
        ):  # fmt: skip

            @upstream.on("/v1/x")
            def echo(call: Call) -> None:
                said = call.path.encode() + b"\n".join(v.encode() for _, v in call.record.headers) + call.body
                call.reply(
                    200, said + base64.b64encode(said) + said.hex().encode() + html.escape(value).encode()
                )

            kept = len(upstream.seen)
            for host in (API, OTHER):
                with rig.https(host) as client:
                    for _ in range(REAL // 4):
                        one = replace(placement(rng), secret=held, host="bound" if host == API else "other")
                        where = Surface.HEADER if one.where in (Surface.WS, Surface.PATH) else one.where
                        one = replace(one, where=where, spelling="plain" if even else "percent")
                        request, body = asked(one, spell(rng, one.spelling, stand_in))
                        fields = {name.decode(): data.decode() for name, data in request.headers}
                        try:
                            client.request("POST", request.path.decode(), body, fields)
                            answer = client.getresponse()
                            got = answer.read()
                        except (OSError, http.client.HTTPException):
                            client.close()
                            client.sock = rig.tls(host)
                            continue
                        assert (answer.status == 403) == (host == OTHER), (one, got)
                        assert rig.mediator.broker.real_value_in(got) is None
            rig.recorder.wait_for(LlmResponseEnd, 10)
            recorded = rig.recorder.bytes()
            assert rig.mediator.broker.real_value_in(recorded) is None
            assert [seen for seen in upstream.seen[kept:] if stand_in in str(seen)] == []
            assert len(upstream.seen) > REAL // 8
            assert rig.fatal == []
