"""A recorded request as a curl command, which makes it again.

Always: the command is a word for each recorded byte (`hark.export.shellwords`): nothing recorded is an
option, a file name, a pattern of curl's or a command of the shell's. A placeholder of a secret stands as a
shell variable where hark had put the secret in, and as itself elsewhere; no value is anywhere. What of the
request the command does not make again is said in a comment.

curl's own headers are taken out where the request had none of that name. Hop-by-hop framing (Content-Length,
and in HTTP/2 what it forbids) is curl's.
"""

import binascii
import re
from collections.abc import Iterator, Mapping
from typing import Final

from hark.conversation.gathered import Gathered, raw
from hark.errors import UsageError
from hark.export.shellwords import fits, held, parted, word
from hark.visible import visible

MAX_ARGUMENT: Final = 100_000  # Linux takes 128 kB for one argument
_TOKEN: Final = re.compile(rb"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_BASIC: Final = re.compile(rb"basic +([A-Za-z0-9+/=]+) *", re.IGNORECASE)
_SIGNED: Final = re.compile(rb"(?:AWS4-|GOOG4-)", re.IGNORECASE)
_ADDED: Final = (b"accept", b"user-agent")
"""Headers of curl's own, beside those that it adds to a body."""
_NOT_IN_HTTP2: Final = frozenset(
    (b"connection", b"keep-alive", b"proxy-connection", b"transfer-encoding", b"upgrade")
)
_LINES: Final = 76
_END: Final = "END-OF-BODY"  # with signs that base64 has not, so that no line of a body can be it


def command(exchange: Gathered, names: Mapping[bytes, str], held: Mapping[str, str]) -> str:
    """Return the command with its comments.

    `names` has the variable for each placeholder that hark replaced, `held` the names of the others.
    """
    request = exchange.request
    if exchange.status == 101 or any(name.lower() == b"sec-websocket-key" for name, _ in raw(request)):
        raise UsageError(f"event {exchange.seq} opens a WebSocket, and curl makes a request that has an end")
    if _TOKEN.fullmatch(request.method.encode()) is None or not fits(exchange.url.encode()):
        raise UsageError(f"event {exchange.seq} is no request that curl can make: {visible(request.method)}")
    before, body = _body(exchange, names)
    words = [*_first(exchange), *_headers(exchange, names, has_body=bool(body)), *body]
    words.append(f"--url {word(exchange.url.encode(), names)}")
    where = "".join(
        visible(piece.decode()) + (f"${name}" if name else "")
        for piece, name in parted(exchange.url.encode(), names)
    )
    comments = [
        f"# event {exchange.seq}: {visible(request.method)} {where}",
        *_remarks(exchange, names),
        *_kept(exchange, held),
    ]
    return "\n".join([*comments, f"{before}curl " + " \\\n  ".join(words)]) + "\n"


def _first(exchange: Gathered) -> list[str]:
    """How curl is told to take the rest as it stands."""
    version = "--http1.1"
    if exchange.version == "HTTP/2":
        version = "--http2" if exchange.url.startswith("https") else "--http2-prior-knowledge"
    method = exchange.request.method
    asked = "--head" if method == "HEAD" else f"--request {word(method.encode(), {})}"
    return ["--globoff --path-as-is", version, asked]


def _headers(exchange: Gathered, names: Mapping[bytes, str], *, has_body: bool) -> Iterator[str]:
    given = {name.lower() for name, _ in raw(exchange.request)}
    for name, content in raw(exchange.request):
        if not _unfit(exchange, name, content):
            yield _header(name, content, names)
    if b"accept-encoding" in given:
        yield "--compressed"
    own = (*_ADDED, b"content-type", b"expect") if has_body else _ADDED
    for name in own:
        if name not in given:
            yield f"--header '{name.decode()}:'"


def _header(name: bytes, content: bytes, names: Mapping[bytes, str]) -> str:
    basic = _BASIC.fullmatch(content) if name.lower() == b"authorization" else None
    if basic is not None and (known := _credentials(basic[1], names)):
        return f"--user {known}"
    return "--header " + word(name + (b": " + content if content else b";"), names)


def _credentials(packed: bytes, names: Mapping[bytes, str]) -> str:
    """User and password as a word, where a placeholder is in them; else nothing."""
    try:
        plain = binascii.a2b_base64(packed, strict_mode=True)
    except binascii.Error:
        return ""
    return word(plain, names) if fits(plain) and any(name in plain for name in names) else ""


def _unfit(exchange: Gathered, name: bytes, content: bytes) -> str:
    """Why a header is not given to curl; empty where it is."""
    lower = name.lower()
    if lower == b"content-length" or (exchange.version == "HTTP/2" and lower in _NOT_IN_HTTP2):
        return "curl's own"
    if _TOKEN.fullmatch(name) is None:
        return "its name is none that HTTP allows"
    if any(byte in content for byte in b"\r\n\0"):
        return "its value has a line break or a NUL in it"
    return ""


def _body(exchange: Gathered, names: Mapping[bytes, str]) -> tuple[str, list[str]]:
    """What stands before the command, and the words of curl's that take the body."""
    data = bytes(exchange.asked.data)
    if not data or exchange.request.method == "HEAD":
        return "", []
    if len(data) <= MAX_ARGUMENT and _is_text(data):
        return "", [f"--data-raw {word(data, names)}"]
    lines = ["{"]
    for piece, name in parted(data, names):
        if piece:
            packed = binascii.b2a_base64(piece, newline=False).decode()
            lines += [
                f"base64 -d <<'{_END}'",
                *(packed[at : at + _LINES] for at in range(0, len(packed), _LINES)),
                _END,
            ]
        if name:
            lines.append(f'printf %s "{held(name)}"')
    return "\n".join([*lines, "} | "]), ["--data-binary @-"]


def _is_text(data: bytes) -> bool:
    try:
        text = data.decode()
    except UnicodeDecodeError:
        return False
    return text.replace("\n", "").replace("\t", "").isprintable()


def _remarks(exchange: Gathered, names: Mapping[bytes, str]) -> Iterator[str]:
    """What is not made again, and what has to be set."""
    headers = raw(exchange.request)
    for name, content in headers:
        why = _unfit(exchange, name, content)
        if why and why != "curl's own":
            yield f"# left out: the header {visible(name.decode('latin-1'))}, {why}"
        if name.lower() == b"authorization" and _SIGNED.match(content):
            yield "# the signature was made with a placeholder: it opens nothing, and has to be made anew"
    if exchange.asked.cut or not exchange.asked.stored:
        yield f"# left out: the body of {exchange.asked.size} bytes, which is not all on record"
    elif exchange.refused:
        yield "# hark refused this request: of its body there is what had been read"
    found = {variable for placeholder, variable in names.items() if _holds(exchange, placeholder)}
    for variable in sorted(found):
        yield f"# set {variable} first: the agent held a placeholder for it"


def _kept(exchange: Gathered, held: Mapping[str, str]) -> Iterator[str]:
    for placeholder, name in held.items():
        if placeholder and _holds(exchange, placeholder.encode()):
            yield (f"# hark put no value in for {visible(name)} here: the agent's placeholder stands there")


def _holds(exchange: Gathered, placeholder: bytes) -> bool:
    if placeholder in exchange.url.encode() or placeholder in exchange.asked.data:
        return True
    for name, content in raw(exchange.request):
        basic = _BASIC.fullmatch(content) if name.lower() == b"authorization" else None
        if placeholder in content or (basic is not None and _credentials(basic[1], {placeholder: "X"})):
            return True
    return False
