"""Credentials: the agent holds placeholders; real values go into requests, for the hosts they are bound to.

Always: a placeholder leaves only as the real value, where its secret's `in` lets it stand, toward a host that
the secret is bound to; a request that holds it anywhere else does not leave. What comes back is turned into
the placeholder again. A real value enters no event, log line or error: messages name the secret. The recorded
hash is keyed by a secret of the run, so a shared file says nothing about a value. Credentials may be added
while the run goes on, from any thread: whatever is looked at afterwards is looked at for them too.

Not done here: what a body is, and how it is packed (`mediator.substitution`, `mediator.echo`); signatures
over a request (`mediator.signing`).
"""

import base64
import binascii
import os
import re
import threading
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain
from typing import Final

from blake3 import blake3

from hark.errors import RecordError
from hark.policy.model import Secret, Surface
from mediator.anyof import AnyOf
from mediator.authority import Destination
from mediator.encodings import Form, Pair, needles_of
from mediator.fields import kept_by_servers
from mediator.grants import Held, held_of, pair_of
from mediator.placeholders import check_placeholder, check_value, placeholder_for
from mediator.scan import FoundError, StreamSwap, Table
from mediator.spelling import WIDEST, Place, normal, unfolded
from mediator.text import clipped

__all__ = ["Broker", "Injected", "InjectedTarget", "Injection", "Refused", "check_value", "placeholder_for"]

MAX_SPELLED: Final = 64  # in one run; a program spells a credential in one way, or in one for each user
MAX_TABLES: Final = 512  # one for each host and place; an agent that reaches more has them made again
_BASIC: Final = re.compile(rb"(?i)(basic +)([A-Za-z0-9+/=_-]+) *")
_SIGNED_PART: Final = re.compile(rb"((?:(?<=&)|\A)X-Amz-(?:Credential|Security-Token)=[^&]*)")
type HeaderList = Sequence[tuple[bytes, bytes]]


@dataclass(frozen=True, slots=True)
class Injection:
    """One secret that went into one request."""

    ref: str
    placeholder: str
    value_hash: bytes


@dataclass(frozen=True, slots=True)
class Refused:
    """A placeholder stands where it may not leave from. The request is not sent."""

    reason: str


@dataclass(frozen=True, slots=True)
class Injected:
    """Headers to send, with the real values. Never recorded and never shown."""

    headers: tuple[tuple[bytes, bytes], ...]
    injections: tuple[Injection, ...]


@dataclass(frozen=True, slots=True)
class InjectedTarget:
    """A request's target (path and query) to send, with the real values. Never recorded and never shown."""

    path: bytes
    injections: tuple[Injection, ...]


@dataclass(frozen=True, slots=True)
class Signer:
    """A key that signs a request, and what is recorded of that."""

    key: bytes = field(repr=False)
    injection: Injection


class Broker:
    """Holds the real values. `repr` and pickle show none of them; none leaves but in what is sent."""

    def __init__(
        self, held: Iterable[Secret], run_key: bytes | None = None, *, later: Iterable[Secret] = ()
    ) -> None:
        """`later` are held when `exchange` is told so; until then they are looked for, and go nowhere."""
        self._key = run_key or os.urandom(32)
        self._lock = threading.Lock()
        self._held: tuple[Held, ...] = ()
        self._given = 0
        """How many of them were held from the start, or since they were exchanged."""
        self._later = tuple(held_of(secret) for secret in later if not secret.missing)
        self._spelled: dict[bytes, str] = {}
        """How values were sent other than as they are, and whose. A server that packs what it got into base64
        or hexadecimal gives back a text that nothing else would know."""
        self._named = AnyOf(())
        """The placeholders in lower case."""
        self._values = Table()
        self._tables: dict[tuple[Destination, Surface], Table] = {}
        self._bound: dict[Destination, bool] = {}
        self._astray: dict[Destination | str | None, frozenset[str]] = {}
        self._free: dict[tuple[Destination, Surface], tuple[Held, ...]] = {}
        placeholders: dict[bytes, str] = {}
        for secret in held:
            check_value(secret.name, secret.value)
            check_placeholder(secret, placeholders)
            placeholders[secret.placeholder.encode()] = secret.name
            self._held += (held_of(secret),)
        self._given = len(self._held)
        self._settle()

    def __repr__(self) -> str:
        return f"Broker({len(self._held)} secrets)"

    def __reduce__(self) -> str:
        raise TypeError("a broker holds real credentials and is never pickled")

    @property
    def longest(self) -> int:
        """How many bytes the longest spelling of a real value has that `guard` knows; 0 without one."""
        return WIDEST * self._values.longest

    @property
    def holds_any(self) -> bool:
        """Tell whether there is any credential to look for."""
        return bool(self._held)

    @property
    def even(self) -> bool:
        """Tell whether no value is longer or shorter than its placeholder."""
        return all(held.even for held in self._held)

    def binds(self, target: Destination) -> bool:
        """Tell whether any credential may go to `target`."""
        known = self._bound
        binds = known.get(target)
        if binds is None:
            binds = any(held.surfaces_for(target) is not None for held in self._held)
            if len(known) < MAX_TABLES:
                known[target] = binds
        return binds

    def astray_at(self, source: Destination | str | None) -> frozenset[str]:
        """Return the names of the credentials whose values have no business in what `source` says.

        Those are the policy's that are not bound to it; of a tool server, by its name in the policy, all but
        its own; all of them where there is nothing to be bound to.
        What a server minted is not among them: nobody guesses that, and hosts of one service show it to one
        another's users.
        """
        known = self._astray
        found = known.get(source)
        if found is None:
            given = (*self._held[: self._given], *self._later)
            home = {one.value for one in given if _is_at_home(one, source)}
            found = frozenset(one.name for one in given if one.value not in home)
            if len(known) < MAX_TABLES:
                known[source] = found
        return found

    def held(self) -> tuple[Held, ...]:
        """Return all credentials, with their values: for what signs requests (`mediator.signing`)."""
        return self._held

    def add(self, held: Held) -> None:
        """Hold one more credential from now on."""
        with self._lock:
            self._held += (held,)
            self._settle()

    def exchange(self, held: Iterable[Secret]) -> None:
        """Hold these in the place of those that were held from the start."""
        with self._lock:
            now = tuple(held_of(secret) for secret in held)
            self._held, self._given, self._later = (*now, *self._held[self._given :]), len(now), ()
            self._settle()

    def idle(self, method: bytes, path: bytes, headers: HeaderList) -> bool:
        """Tell whether a request's head has no placeholder in it, so that nothing is to be put in or refused.

        All of it is looked through at once: a line's end between two parts is dropped when the text is made
        normal, so what two parts have only together is taken for one that is there.
        """
        if not self._held:
            return True
        parts = [method, path]
        for name, value in headers:
            if value[:6].lower() == b"basic ":
                return False  # it is read as servers read base64, which is more than is looked for here
            parts += (name, value)
        if self._named.stand_in(b"\n".join([name for name, _ in headers]).lower()):
            return False
        return not self._any_placeholder.has(normal(b"\n".join(parts)))

    def _in_name(self, name: bytes) -> str | None:
        """Return the name of a secret whose placeholder stands in a header's name: those have no case."""
        lower = normal(name).lower()
        named = (one.name for one in self._held if one.placeholder.lower().encode() in lower)
        return self._any_placeholder.name_in(name) or next(named, None)

    def inject(self, headers: HeaderList, target: Destination) -> Injected | Refused:
        """Replace each placeholder in header values by the value bound to `target`; refuse any other."""
        done: list[tuple[bytes, bytes]] = []
        used: dict[str, Pair] = {}
        try:
            for name, value in headers:
                if self._in_name(name) is not None:
                    return Refused("a placeholder stands in the name of a header")
                if kept_by_servers(name) and (kept := self._kept_there(value, target)) is not None:
                    return Refused(
                        f"the placeholder of secrets.{kept} stands in {clipped(name)}, which a server may "
                        f"keep and hand out; it may where [secrets.{kept}] lets it stand in bodies (`in`)"
                    )
                done.append((name, self._header(value, target, used)))
        except FoundError as found:
            return self.refusal(found)
        return Injected(tuple(done), self.injections(used))

    def _kept_there(self, value: bytes, target: Destination) -> str | None:
        """Return the name of a secret that stands in `value` and may not stand in bodies at `target`."""
        found = self._any_placeholder.name_in(value)
        free = {held.name for held in self.may_stand(target, Surface.BODY)}
        return None if found in free else found

    def inject_target(
        self, path: bytes, target: Destination, *, presigned: bool = False
    ) -> InjectedTarget | Refused:
        """Replace each placeholder in a request's path and query.

        In a presigned query the key id and the session token are what they else are in headers.
        """
        place, mark, query = path.partition(b"?")
        used: dict[str, Pair] = {}
        try:
            place = self._swapped(place, target, Surface.PATH, used, Place.URL)
            parts = _SIGNED_PART.split(query) if presigned else [query]
            query = b"".join(
                self._swapped(part, target, Surface.HEADER if number % 2 else Surface.QUERY, used, Place.URL)
                for number, part in enumerate(parts)
            )
        except FoundError as found:
            return self.refusal(found)
        return InjectedTarget(place + mark + query, self.injections(used))

    def signer(self, key_id: bytes, target: Destination) -> Signer | Refused | None:
        """Return the key that signs for an access key id; None where the id is none of ours."""
        named = key_id.decode("latin-1")
        held = next((one for one in self._held if named in (one.placeholder, one.value)), None)
        if held is None:
            return None
        key = next((one for one in self._held if one.sigv4 == held.name), None)
        if key is None:
            return Refused(
                f"secrets.{held.name} is the access key id of a signed request, and no secret signs with it; "
                f'write `sigv4 = "{held.name}"` under the secret with its key'
            )
        for one in (held, key):
            if one.surfaces_for(target) is None:
                return Refused(one.unbound(target))
        pair = Pair(key.name, key.placeholder.encode(), key.value.encode())
        return Signer(key.value.encode(), self._injection(pair))

    def placeholder_in(self, data: bytes) -> str | None:
        """Return the name of a secret whose placeholder stands in `data` in any spelling."""
        return self._any_placeholder.name_in(data)

    def in_name(self, host: str) -> str | None:
        """Return the name of a secret whose placeholder a host name spells: in any case, dots anywhere."""
        joined = host.lower().replace(".", "")
        held = (one for one in self._held if one.placeholder.lower().replace(".", "") in joined)
        return next((one.name for one in held), None)

    def in_method(self, method: bytes) -> Refused | None:
        """Refuse a placeholder in a method."""
        name = self._any_placeholder.name_in(method)
        return None if name is None else Refused(f"the placeholder of secrets.{name} stands in the method")

    def in_trailers(self, fields: HeaderList) -> Refused | None:
        """Refuse a placeholder behind a body."""
        name = self._any_placeholder.name_in(b"\n".join(name + b": " + value for name, value in fields))
        name = name or next(filter(None, (self._in_name(field) for field, _ in fields)), None)
        if name is None:
            return None
        return Refused(
            f"the placeholder of secrets.{name} stands in a trailer, where it is not replaced; "
            f"send it before the body, where [secrets.{name}] lets it stand"
        )

    def outgoing(
        self, target: Destination, surface: Surface, place: Place = Place.PLAIN, *, same_length: bool = False
    ) -> StreamSwap:
        """Return what puts values in the place of placeholders in one stream to `target`."""
        return StreamSwap(
            lambda: self._to(target, surface), place, same_length=same_length, told=self._sent_as
        )

    def may_stand(self, target: Destination, surface: Surface) -> tuple[Held, ...]:
        """Return the credentials that may stand there."""
        known = self._free
        free = known.get((target, surface))
        if free is None:
            free = tuple(held for held in self._held if surface in (held.surfaces_for(target) or ()))
            if len(known) < MAX_TABLES:
                known[target, surface] = free
        return free

    def incoming(self, source: Destination, *, same_length: bool = False, patient: bool = True) -> StreamSwap:
        """Return what puts placeholders in the place of values in one stream of `source` to the agent.

        It stops where a value stands that is astray there: turned back, it would tell who guessed it that
        the guess is right.
        """
        return StreamSwap(
            lambda: self._values,
            same_length=same_length,
            patient=patient,
            strays=lambda: self.astray_at(source),
        )

    def stopping(self, *, from_agent: bool, patient: bool = True) -> StreamSwap:
        """Return what stops one stream where a placeholder, or toward the agent a value, stands in it."""
        return StreamSwap(lambda: self._any_placeholder if from_agent else self._any_value, patient=patient)

    def turned_back(self, data: bytes, source: Destination) -> bytes:
        """Return `data`, which `source` sent, with placeholders for values. Raises FoundError."""
        return self.incoming(source).whole(data)

    def echoes(self, fields: HeaderList) -> bool:
        """Tell whether a value stands in header fields: in a part of one, or in all values put together."""
        values = b"".join([value for _, value in fields])
        parts = b"\n".join(chain.from_iterable(fields))
        text = parts + b"\1" + values  # which is in no value, however it is spelled
        whole = unfolded(text)
        return self._values.has(normal(text)) or (whole is not None and self._values.has(normal(whole)))

    def refusal(self, found: FoundError) -> Refused:
        """Say why something with a placeholder in it is not sent."""
        return Refused(
            found.reason
            or f"the placeholder of secrets.{found.name} stands there in an encoding in which hark cannot "
            "replace it; send it as it is"
        )

    def injections(self, used: dict[str, Pair]) -> tuple[Injection, ...]:
        """Return what is recorded of the values that were sent."""
        return tuple(self._injection(pair) for pair in used.values())

    def real_value_in(self, data: bytes) -> str | None:
        """Return the name of a secret whose real value stands in `data` in any form."""
        return self._values.name_in(data)

    def guard(self, payload: bytes) -> None:
        """Raise RecordError if a real value stands in a payload that is about to be recorded."""
        name = self._values.name_in(payload)
        if name is not None:
            raise RecordError(f"an event with the real value of secrets.{name} in it was not recorded")

    def _settle(self) -> None:
        """Make ready for what is held now. Whoever reads meanwhile sees all of it or none."""
        held = self._held
        self._tables = {}
        self._bound = {}
        self._astray = {}
        self._free = {}
        self._any_placeholder = Table(
            [Pair(one.name, one.placeholder.encode(), b"", "anywhere") for one in held]
        )
        self._named = AnyOf(one.placeholder.lower().encode() for one in held)
        within = [Pair(name, spelled, b"", "anywhere") for spelled, name in self._spelled.items()]
        known = (*held, *self._later)
        values = [Pair(one.name, one.value.encode(), one.placeholder.encode()) for one in known]
        shown = [pair.new for pair in values]
        minted = {one.value.encode() for one in held[self._given :]}
        self._values = Table(values, within, hidden=shown, minted=minted)
        stopped = [replace(pair, new=b"", refusal="anywhere") for pair in values]
        self._any_value = Table(stopped, within, hidden=shown)

    def _sent_in_base64(self, pair: Pair) -> None:
        for needle in needles_of(Pair(pair.name, pair.new, b"")):
            if needle.form is Form.BASE64:
                self._sent_as(pair, needle.text)

    def _sent_as(self, pair: Pair, spelled: bytes) -> None:
        """Look in all that comes back from now on for what is made of a spelling. Raises FoundError."""
        if spelled in self._spelled:
            return
        if len(self._spelled) >= MAX_SPELLED or len(spelled) > WIDEST * (len(pair.new) + WIDEST):
            raise FoundError(
                pair.name,
                f"the placeholder of secrets.{pair.name} is spelled in too many ways for hark to know its "
                "value again in an answer; send it as it is",
            )
        with self._lock:
            self._spelled[spelled] = pair.name
            self._settle()

    def _to(self, target: Destination, surface: Surface) -> Table:
        tables = self._tables
        table = tables.get((target, surface))
        if table is None:
            table = Table([pair_of(held, target, surface) for held in self._held])
            if len(tables) >= MAX_TABLES:
                tables.clear()
            tables[target, surface] = table
        return table

    def _header(self, value: bytes, target: Destination, used: dict[str, Pair]) -> bytes:
        basic = _BASIC.fullmatch(value)
        if basic:
            plain = _from_base64(basic.group(2))
            if self._any_placeholder.name_in(plain) is not None:
                swapped = self._swapped(plain, target, Surface.BASIC, used)
                for pair in used.values():
                    self._sent_in_base64(pair)
                return basic.group(1) + base64.b64encode(swapped)
        return self._swapped(value, target, Surface.HEADER, used)

    def _swapped(
        self,
        data: bytes,
        target: Destination,
        surface: Surface,
        used: dict[str, Pair],
        place: Place = Place.PLAIN,
    ) -> bytes:
        swap = self.outgoing(target, surface, place)
        done = swap.whole(data)
        used.update(swap.used)
        return done

    def _injection(self, pair: Pair) -> Injection:
        digest = blake3(pair.new, key=self._key).digest()
        return Injection(f"secrets.{pair.name}", pair.old.decode(), digest)


def _is_at_home(held: Held, source: Destination | str | None) -> bool:
    match source:
        case Destination():
            return held.surfaces_for(source) is not None
        case str():
            return held.name.endswith(f" of {source}")
        case None:
            return False


def _from_base64(encoded: bytes) -> bytes:
    try:
        return base64.b64decode(encoded.translate(bytes.maketrans(b"-_", b"+/")) + b"==")
    except binascii.Error:
        return b""
