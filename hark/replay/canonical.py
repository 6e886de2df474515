"""A recorded request in canonical form, and the key that a replay looks its answer up by.

What always holds: requests that differ in anything that the canonical form keeps have different keys; the
form is a function of the recorded bytes, the rules and `CANONICAL_VERSION` alone; any bytes have one. Keys
are computed when a bundle is read and stored nowhere (docs/adr/0020). The form is written down in
docs/format.md.

A body is JSON by value, a form by its pairs, multipart by its parts, else its bytes; packed bodies count as
what they hold. One of more than `MAX_HELD` bytes counts by length and hash alone, so memory is bounded.

Not done here: occurrence numbers (`hark.replay.score`), and which recorded request was meant by one that
has no key there (`hark.replay.nearest`).
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from blake3 import blake3

from hark.bundle import cbor
from hark.bundle.events import BodyHash, LlmRequest, RequestChunk, Trailers
from hark.policy import jsonpath
from hark.policy.jsonpath import Steps
from hark.policy.model import ReplayRules
from hark.replay import bodyform
from hark.replay.bodyform import BYTES, CUT, HASHED, NOTHING, NOTHING_IGNORED, Form, Ignored
from hark.replay.headers import Fields, counting
from hark.replay.marks import Marks
from hark.replay.target import Query, plain, split

CANONICAL_VERSION: Final = 1
CONTEXT: Final = "hark canonical request v1"
"""BLAKE3's key derivation context: no other hash of hark's, or of anybody's, is one of these."""
_KEYED: Final = blake3(derive_key_context=CONTEXT)
MAX_HELD: Final = 16 << 20  # bytes of a body that is read; an upload beyond is compared by its hash


@dataclass(frozen=True, slots=True)
class Rules:
    """What a run says of its requests: how placeholders are called, and what never counts."""

    placeholders: Mapping[str, str] = field(default_factory=dict)
    """Placeholder to the name of its secret."""
    ignore_headers: frozenset[str] = frozenset()
    ignored: Ignored = NOTHING_IGNORED
    """What of a body never counts."""
    ignore_query: frozenset[bytes] = frozenset()
    ignore_messages: tuple[Steps, ...] = ()
    undo: Callable[[bytes], bytes] | None = None
    """Where a renaming was asked for, what turns a replay's identifiers into the recorded ones."""
    marks: Marks = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "marks", Marks(self.placeholders, self.undo, self.ignore_messages))

    @classmethod
    def of(cls, placeholders: Mapping[str, str], said: ReplayRules) -> "Rules":
        """Make rules of what `[replay]` says. Raises jsonpath.PathError."""
        return cls(
            dict(placeholders),
            frozenset(name.lower() for name in said.ignore_headers),
            Ignored(
                tuple(map(jsonpath.read, said.ignore_json)), frozenset(map(str.encode, said.ignore_form))
            ),
            frozenset(map(str.encode, said.ignore_query)),
            tuple(map(jsonpath.read, said.ignore_messages)),
        )


NO_RULES: Final = Rules()


class Canonical(NamedTuple):
    """What of a request counts."""

    method: str
    host: str
    """With its port, where the scheme does not say it."""
    path: bytes
    query: Query
    headers: Fields
    form: str
    """One of `hark.replay.bodyform`'s words."""
    body: bytes
    """The body in its canonical spelling; empty where it is not held."""
    size: int
    digest: bytes
    """BLAKE3 of that spelling."""

    @property
    def key(self) -> bytes:
        """Return 32 bytes that stand for the form."""
        hasher = _KEYED.copy()
        hasher.update(cbor.encode([CANONICAL_VERSION, *self[:6], self.size, self.digest]))
        return hasher.digest()

    @property
    def name(self) -> str:
        """Return what a person calls the request: method, host and path."""
        return f"{self.method} {self.host}{self.path.decode('utf-8', 'backslashreplace')}"


class Gathering:
    """One request, put together from its events as they come. Holds `MAX_HELD` bytes of a body at most."""

    def __init__(self, request: LlmRequest) -> None:
        self._request = request
        self._pieces: list[bytes] = []
        self._hash: blake3 | None = None
        self._digest: tuple[int, bytes] | None = None
        self.trailers: Fields = ()
        """What came behind the body. It is compared, and is no part of the key: that is known before."""
        self._size = 0
        self.whole = not request.streaming
        """Whether all of the body is here. Of one that was answered before, only the head counts."""
        self._take(request.body)

    def add(self, event: RequestChunk | Trailers | BodyHash) -> None:
        """Take the next event of the exchange that came from the agent."""
        match event:
            case RequestChunk():
                self._take(event.data)
                self.whole = self.whole or event.last
            case Trailers():
                self.trailers = event.raw_headers or _raw(event.headers)
            case BodyHash():
                self._digest = (event.length, event.hash)
                self.whole = True

    def canonical(self, rules: Rules = NO_RULES) -> Canonical:
        """Return the canonical form of what has come so far."""
        request = self._request
        raw = request.raw_headers or _raw(request.headers)
        headers = counting(raw, rules.ignore_headers)
        headers, form = self._formed(raw, headers, rules)
        path, query = split(request.path.encode("utf-8", "surrogatepass"))
        if rules.ignore_query:
            query = tuple(pair for pair in query if plain(pair[0]) not in rules.ignore_query)
        mark = rules.marks
        return Canonical(
            method=request.method,
            host=request.host,
            path=mark.on(path),
            query=tuple((mark.on(name), None if value is None else mark.on(value)) for name, value in query),
            headers=mark.on_fields(headers),
            form=form.word,
            body=form.body,
            size=form.size,
            digest=form.digest,
        )

    def _formed(self, raw: Fields, headers: Fields, rules: Rules) -> tuple[Fields, Form]:
        if not self.whole:
            return headers, Form(CUT, b"", 0, NOTHING)
        if self._digest is not None:
            return headers, Form(HASHED, b"", *self._digest)
        if self._hash is not None:
            return headers, Form(BYTES, b"", self._size, self._hash.digest())
        body = b"".join(self._pieces)
        self._pieces = [body]
        return bodyform.formed(raw, headers, body, rules.ignored, rules.marks)

    def _take(self, data: bytes) -> None:
        self._size += len(data)
        if self._hash is None and self._size > MAX_HELD:
            self._hash = blake3(b"".join(self._pieces))
            self._pieces = []
        if self._hash is not None:
            self._hash.update(data)
        elif data:
            self._pieces.append(data)


def canonical(request: LlmRequest, rules: Rules = NO_RULES) -> Canonical:
    """Return the canonical form of a request whose body is in its event."""
    return Gathering(request).canonical(rules)


def _raw(headers: Mapping[str, str]) -> Fields:
    """Return a header map as a list, for a bundle of another writer that has no list."""
    return tuple(
        (name.encode("utf-8", "surrogatepass"), value.encode("utf-8", "surrogatepass"))
        for name, value in headers.items()
    )
