"""One request judged: its authority, its shape, and what credentials it carries. A pure function of its head.

Always: what is returned as `Forward` may be sent to `link.target` as it is; anything else is a `Refusal` and
nothing of the request leaves. A method, path or header that could end its line refuses the request: HTTP/2
carries any byte in them, and what is sent on may be HTTP/1.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Final

from hark.policy import wanted
from hark.policy.decide import UNSAFE_ALLOW_ALL, Allow, Deny, Verdict, decide_request, marked_tools, upgrades
from hark.policy.model import Body, ToolRule
from hark.policy.paths import spell
from hark.policy.upgrades import MAX_NAME, no_upgrade
from mediator import handshake, upgrade
from mediator.authority import judge_request
from mediator.codings import PackedError, codings_of
from mediator.credentials import Injected, InjectedTarget, Injection, Refused
from mediator.fields import connection_wrong, named, one_line, trailer_allowed, underscored, values_of
from mediator.forwarding import forwarded
from mediator.link import Link
from mediator.mcp.sessions import session_at
from mediator.overriding import Meant, meanings, overrides
from mediator.schemes import SIGNATURES, signed_otherwise
from mediator.signing import Signing, ambiguous, claimed
from mediator.text import clipped
from mediator.transcript import Headers, recorded_host

_TOKEN: Final = re.compile(rb"[!#$%&'*+\-.^_`|~0-9A-Za-z]+")
_OF_CONNECTIONS: Final = frozenset((b"connection", b"proxy-connection", b"expect", b"upgrade"))
"""Of one hop: most requests name none of them, and there is nothing to judge."""
_OF_SIGNATURES: Final = SIGNATURES | {b"authorization"}
_TARGET: Final = re.compile(rb"[^\x00-\x20\x7f]+")


@dataclass(frozen=True, slots=True)
class Asked:
    """A request's head as the agent sent it. `authority` is :authority or an absolute target's, if any."""

    method: bytes
    scheme: bytes
    authority: bytes
    path: bytes
    headers: Headers


@dataclass(frozen=True, slots=True)
class Refusal:
    """Answered with `status` and never sent."""

    status: int
    denied: Deny
    answer: bytes = b""
    """JSON for a client that expects it, instead of a page."""


@dataclass(frozen=True, slots=True)
class Forward:
    """May be sent. `path` and `headers` hold real credentials: never recorded, never shown."""

    path: bytes
    headers: Headers
    injections: tuple[Injection, ...]
    wants_continue: bool
    body: Body = Body.WHOLE
    """How bodies are recorded."""
    tools: tuple[ToolRule, ...] | None = None
    """The tools that may be called (MCP); None: any."""
    again: tuple[str, ...] | None = None
    """The tools that a fork may call again, of what its recorded run did already; None: any."""
    websocket: bool = False
    """Whether the server may agree to a WebSocket."""
    upgrades: tuple[bytes, ...] = ()
    """To which other protocols the server may switch: what passes then is judged by nobody."""
    signing: Signing | None = None
    """The key by which it is signed again, over what is sent."""


def judge(asked: Asked, link: Link) -> Forward | Refusal:
    """Judge one request."""
    refusal = _shape(asked, link)
    if refusal is not None:
        return refusal
    verdict = _verdict(asked, link)
    if isinstance(verdict, Deny):
        return Refusal(403, verdict)
    again, again_tools = _again(asked, link) if link.beyond else ("", None)
    if again:
        return Refusal(403, Deny(again, ""))
    packed = _packed(asked, link)
    if packed is not None:
        return packed
    signed = _signed(asked, link)
    if isinstance(signed, Refusal):
        return signed
    filled = _filled(asked, link, presigned=signed is not None and signed.signing.claim.presigned)
    if isinstance(filled, Refused):
        return Refusal(403, Deny(filled.reason, ""))
    path, injected = filled
    keys = () if signed is None else (signed.injection,)
    of_connection = named(asked.headers, _OF_CONNECTIONS)
    by = verdict.by
    return Forward(
        path.path,
        injected.headers,
        tuple(dict.fromkeys((*path.injections, *injected.injections, *keys))),
        wants_continue=of_connection and bool(values_of(asked.headers, b"expect")),
        body=Body.WHOLE if by is None else by.body,
        tools=None if by is None else by.tools,
        again=again_tools,
        websocket=of_connection and handshake.wanted(asked.headers),
        upgrades=upgrade.offered(asked.headers) if of_connection and upgrade.wanted(asked.headers) else (),
        signing=None if signed is None else signed.signing,
    )


def _filled(asked: Asked, link: Link, *, presigned: bool) -> tuple[InjectedTarget, Injected] | Refused:
    """Return target and headers with credentials for placeholders; most requests have none in their heads."""
    broker, headers = link.broker, forwarded(asked.path, asked.headers, link)
    if broker.idle(asked.method, asked.path, asked.headers):
        return InjectedTarget(asked.path, ()), Injected(headers, ())
    in_method = broker.in_method(asked.method)
    if in_method is not None:
        return in_method
    path = broker.inject_target(asked.path, link.receiver, presigned=presigned)
    if isinstance(path, Refused):
        return path
    injected = broker.inject(headers, link.receiver)
    return injected if isinstance(injected, Refused) else (path, injected)


@dataclass(frozen=True, slots=True)
class _Signed:
    signing: Signing
    injection: Injection


def _signed(asked: Asked, link: Link) -> _Signed | Refusal | None:
    """Tell whose key signs a request again; refuse one that is signed otherwise with a placeholder."""
    if not link.broker.holds_any or not (named(asked.headers, _OF_SIGNATURES) or b"?" in asked.path):
        return None
    claim = claimed(asked.headers, asked.path)
    for scheme, part in signed_otherwise(asked.headers, asked.path, again=claim is not None):
        name = link.broker.placeholder_in(part)
        if name is not None:
            return Refusal(
                403, Deny(f"it is signed with secrets.{name} by {scheme}, which hark cannot redo", "")
            )
    signer = None if claim is None else link.broker.signer(claim.key_id, link.receiver)
    if claim is None or signer is None:
        return None
    if isinstance(signer, Refused):
        return Refusal(403, Deny(signer.reason, ""))
    wrong = ambiguous(claim, asked.headers)
    if wrong:
        return Refusal(400, Deny(wrong, ""))
    if claim.by_chunk:
        payload = clipped(claim.payload, 60)
        return Refusal(403, Deny(f"each chunk of its body is signed ({payload}), which hark cannot redo", ""))
    return _Signed(Signing(claim, signer.key), signer.injection)


def _verdict(asked: Asked, link: Link) -> Verdict:
    """Judge each request anew, by its authority first: a rule may have ended since the connection began."""
    now = link.now()
    agreed = judge_request(link.policy, link.target, _authorities(asked), now)
    if isinstance(agreed, Deny):
        return agreed
    allowed: list[tuple[Meant, Allow]] = []
    for meant in reversed(meanings(asked.method, asked.path, asked.headers)):
        host, port = link.target.host, link.target.port
        verdict = decide_request(link.policy, host, port, meant.method, meant.path, now=now)
        if isinstance(verdict, Allow):
            verdict = _switching(asked, link, meant, verdict, now)
        if isinstance(verdict, Deny):
            return replace(verdict, reason=f"{_as_meant(meant)}{verdict.reason}")
        allowed.append((meant, verdict))
    return _as_one(allowed)


def _as_meant(meant: Meant) -> str:
    return f"as its header {clipped(meant.header)} would have it, " if meant.header else ""


def _as_one(allowed: Sequence[tuple[Meant, Allow]]) -> Verdict:
    """Return the verdict on the request as it stands, which is the last, as narrow as on any meaning."""
    if not allowed:
        return Deny("its headers ask for too many other methods or paths", "")
    plain = allowed[-1][1]
    for meant, verdict in allowed[:-1]:
        if _tools(verdict) != _tools(plain):
            said = f"{_as_meant(meant)}{verdict.rule} lists other tools than {plain.rule}"
            return Deny(f"{said}, and a request is judged by one list", "", nearest=verdict.by)
    hashed = any(verdict.by is not None and verdict.by.body is Body.HASH for _, verdict in allowed)
    if hashed and plain.by is not None:
        return replace(plain, by=replace(plain.by, body=Body.HASH))
    return plain


def _tools(allowed: Allow) -> tuple[ToolRule, ...] | None:
    return None if allowed.by is None else allowed.by.tools


def _switching(asked: Asked, link: Link, meant: Meant, allowed: Allow, now: datetime) -> Verdict:
    """Let a request switch protocols only where a rule that allows it names the protocol."""
    if allowed.rule == UNSAFE_ALLOW_ALL or not upgrade.wanted(asked.headers):
        return allowed
    host, port = link.target.host, link.target.port
    may_be = upgrades(link.policy, host, port, meant.method, meant.path, now=now)
    for option in upgrade.offered(asked.headers):
        name = option.decode("ascii")
        if name not in may_be:
            table = wanted.table(host, port, meant.method, spell(meant.path), upgrade=name)
            why = f"lets no request become a stream of {name}, of which nothing would be judged"
            return Deny(f"{allowed.rule} {why}", "", table, allowed.by)
    return allowed


def _again(asked: Asked, link: Link) -> tuple[str, tuple[str, ...] | None]:
    """Say why a fork does not make a request that its recorded run made already; nothing where it may.

    Beside it are the only tools that it may call then, if it may call no others.
    """
    from hark.patch.world import changes_world, tools_again, upgrade_changes_world, websocket_changes_world

    if _ends_session(asked, link):
        return "", ()
    host = recorded_host(link.target, tls=link.tls)
    tools: tuple[str, ...] | None = None
    for meant in meanings(asked.method, asked.path, asked.headers):
        if handshake.wanted(asked.headers):
            why = websocket_changes_world(host, meant.path, link.policy)
        elif upgrade.wanted(asked.headers):
            why = upgrade_changes_world(meant.method, host, meant.path, link.policy)
        else:
            why = changes_world(meant.method, host, meant.path, link.policy, asked.headers)
        if why:
            return why, None
        found = tools_again(meant.method, host, meant.path, link.policy, asked.headers)
        if found is not None:
            tools = found if tools is None else tuple(tool for tool in tools if tool in found)
    return "", tools


def _ends_session(asked: Asked, link: Link) -> bool:
    """Tell whether it ends a session of MCP that a server began in this run, where tools are marked.

    Whoever ends it knows its name, and its server lets go of what would be waited for otherwise.
    """
    if asked.method != b"DELETE" or len(meanings(asked.method, asked.path, asked.headers)) != 1:
        return False
    session = session_at(str(link.target), asked.path, asked.headers)
    if session is None or not link.sessions.has_begun(session):
        return False
    target, path = link.target, asked.path.decode("latin-1")
    return bool(marked_tools(link.policy, target.host, target.port, "DELETE", path))


def _packed(asked: Asked, link: Link) -> Refusal | None:
    """Refuse a body that cannot be searched while credentials are held."""
    if not link.broker.holds_any:
        return None
    try:
        codings_of(asked.headers, sent=True)
    except PackedError as error:
        return Refusal(415, Deny(f"the request's body cannot be searched for placeholders: {error}", ""))
    return None


def judge_trailers(fields: Headers, link: Link) -> Deny | None:
    """Say why a request's trailers are not sent, which leaves the request without its end."""
    if not fields:
        return None
    wrong = next((name for name, _ in fields if not trailer_allowed(name)), None)
    if wrong is not None:
        return Deny(f"{clipped(wrong)} stands in a trailer, where it must not (RFC 9110, 6.5.1)", "")
    other = next((name for name, _ in fields if overrides(name)), None)
    if other is not None:
        return Deny(f"{clipped(other)} asks for another method or path, and stands behind the body", "")
    if not one_line(fields):
        return Deny("a trailer has a line break or NUL in it", "")
    placeholder = link.broker.in_trailers(fields)
    return None if placeholder is None else Deny(placeholder.reason, "")


def _shape(asked: Asked, link: Link) -> Refusal | None:
    if asked.method == b"CONNECT":
        return Refusal(403, Deny("hark is not a proxy to be asked: unset the proxy variables", ""))
    if not _TOKEN.fullmatch(asked.method) or not _TARGET.fullmatch(asked.path):
        return Refusal(400, Deny("its method or path has a space or a control character in it", ""))
    if not _is_utf8(asked.path):
        return Refusal(400, Deny("its path has bytes that are no UTF-8; a path has them encoded", ""))
    if not _in_origin_form(asked):
        return Refusal(400, Deny("its path does not begin with a slash", ""))
    wanted = b"https" if link.tls else b"http"
    if asked.scheme and asked.scheme != wanted:
        return Refusal(403, Deny(f"the request says it is not {wanted.decode()} but came over it", ""))
    if not one_line(asked.headers):
        return Refusal(400, Deny("a header has a line break or NUL in it", ""))
    spelled = underscored(asked.headers)
    if spelled:
        return Refusal(
            400, Deny(f"its header {clipped(spelled)} has an underscore, which servers read in two ways", "")
        )
    if not named(asked.headers, _OF_CONNECTIONS):
        return None
    taken = connection_wrong(asked.headers)
    if taken:
        return Refusal(400, Deny(f"its Connection header would take {taken} out on the way", ""))
    expected = values_of(asked.headers, b"expect")
    if expected and any(value.strip().lower() != b"100-continue" for value in expected):
        return Refusal(417, Deny("it expects something other than 100-continue", ""))
    return _upgrade(asked)


def _upgrade(asked: Asked) -> Refusal | None:
    """Refuse what no rule can let pass. HTTP/2 in the clear, which Java's client offers, is left out."""
    if handshake.wanted(asked.headers):
        wrong = handshake.asked_wrong(asked.method, asked.headers)
        return Refusal(400, Deny(wrong, "")) if wrong else None
    for option in upgrade.offered(asked.headers):
        why = no_upgrade(option.decode("latin-1"))
        if why:
            return Refusal(501, Deny(f"an upgrade to {clipped(option, MAX_NAME)} {why}", ""))
    wrong = upgrade.asked_wrong(asked.headers) if upgrade.wanted(asked.headers) else ""
    return Refusal(400, Deny(wrong, "")) if wrong else None


def _is_utf8(path: bytes) -> bool:
    """Tell whether the record, which is text, can hold a path as it is: another one may not read alike."""
    try:
        path.decode()
    except UnicodeDecodeError:
        return False
    return True


def _in_origin_form(asked: Asked) -> bool:
    """Tell whether the target names nothing but a path: HTTP/2 would carry a whole URL in it."""
    return asked.path.startswith(b"/") or (asked.method, asked.path) == (b"OPTIONS", b"*")


def _authorities(asked: Asked) -> Sequence[bytes]:
    hosts = values_of(asked.headers, b"host")
    if len(hosts) > 1 and len(set(hosts)) == 1:
        return [b""]  # twice the same is still not one: servers differ in which they take
    return [asked.authority, *hosts] if asked.authority else hosts
