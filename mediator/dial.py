"""Dial a real server from the host's side: resolve, refuse what may not be dialled, verify, connect.

Always: TLS is verified against the host's roots and the caller's, for the canonical name that the policy
allowed; there is no switch to skip it. Every failure is an UpstreamError whose sentence names the host. An
address that the operator named (`-upstream`, a rule's `upstream`) is dialled directly whatever it is; of
other targets, those that the caller's proxy is for are dialled through it, and their names not resolved here.
"""

import asyncio
import contextlib
import os
import socket
import ssl
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final
from weakref import WeakSet

from hark.errors import UpstreamError
from hark.policy.host import is_address
from hark.policy.model import Address
from mediator.authority import Destination
from mediator.connect import ConnectError, through
from mediator.proxy import Proxies, Proxy
from mediator.transport import READ_LIMIT, Streams, connected, drop, keep_alive
from mediator.trust import certificates
from mediator.upstream import Redirect, behind_proxy, dialable

NEXT_ADDRESS_S: Final = 3.0  # a server with several addresses: a dead first one costs this
LAST_ADDRESS_S: Final = 15.0  # as curl and browsers give up
_ANY_PORT: Final = 9  # nothing is sent there
_NO_TLS: Final = "; what answers there speaks none: have the agent ask it over http://, and allow that port"


class UpstreamTrust:
    """The roots that upstreams are verified with, as contexts made when first needed (10 ms each)."""

    def __init__(self, *pem: bytes) -> None:
        blocks = (block for bundle in pem for block in certificates(bundle))
        self._roots = [block.decode("ascii", "replace") for block in blocks]
        self._contexts: dict[bool, ssl.SSLContext] = {}

    def context(self, *, h2: bool) -> ssl.SSLContext:
        """Return a client context that offers HTTP/2 too, or HTTP/1.1 alone."""
        known = self._contexts.get(h2)
        if known is None:
            known = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
            self._load(known)
            known.set_alpn_protocols(["h2", "http/1.1"] if h2 else ["http/1.1"])
            self._contexts[h2] = known
        return known

    def _load(self, context: ssl.SSLContext) -> None:
        """Load all roots at once, or one by one where one is damaged: that one is then not trusted."""
        try:
            if self._roots:
                context.load_verify_locations(cadata="\n".join(self._roots))
        except (ssl.SSLError, ValueError):
            for root in self._roots:
                with contextlib.suppress(ssl.SSLError, ValueError):
                    context.load_verify_locations(cadata=root)


@dataclass(frozen=True, slots=True)
class Dialler:
    """Where and how upstreams are dialled in one run."""

    redirects: Mapping[str, Redirect]
    trust: UpstreamTrust
    appointed: Callable[[Destination], Address | None] = lambda _: None
    """Where the policy has a target dialled instead."""
    proxies: Proxies | None = None
    opened: WeakSet[asyncio.WriteTransport] = field(default_factory=WeakSet)

    def abort_all(self) -> None:
        """End every connection: one that was closed may still be waiting for the server's goodbye."""
        for transport in list(self.opened):
            drop(transport)

    async def dial(self, target: Destination, *, tls: bool, h2: bool, raw: bool = False) -> Streams:
        """Connect to an allowed host. `raw`: for bytes, not for HTTP. Raises UpstreamError."""
        context = self.trust.context(h2=h2) if tls else None
        place = self._explicit(target)
        proxy = None
        if place is None and self.proxies is not None:
            proxy = self.proxies.of(target, plain=not tls and not raw)
        if proxy is not None:
            streams = await self._through(proxy, target, context)
        else:
            streams = await self._connected(target, [place] if place else await _places(target), context)
        self.opened.add(streams.writer.transport)
        keep_alive(streams.writer.transport)
        return streams

    async def _connected(
        self, target: Destination, places: list[tuple[str, int]], context: ssl.SSLContext | None
    ) -> Streams:
        problem = ""
        for number, (address, port) in enumerate(places, 1):
            timeout = LAST_ADDRESS_S if number == len(places) else NEXT_ADDRESS_S
            try:
                async with asyncio.timeout(timeout):
                    name = target.host if context else None
                    return await connected(address, port, tls=context, name=name, limit=READ_LIMIT)
            except ssl.SSLCertVerificationError as error:
                raise _unverified(target.host, error) from None
            except (OSError, TimeoutError) as error:
                problem = f"{address} port {port}: {_words(error)}"
        raise UpstreamError(f"{target.host} cannot be reached at {problem}")

    def _explicit(self, target: Destination) -> tuple[str, int] | None:
        """Return the one address that the operator named, if any: the command line's before the policy's."""
        redirect = self.redirects.get(target.host)
        if redirect is not None:
            return redirect.of(target)
        appointed = self.appointed(target)
        return None if appointed is None else (appointed.host, appointed.port)

    async def _through(self, proxy: Proxy, target: Destination, context: ssl.SSLContext | None) -> Streams:
        why = behind_proxy(target.host, _is_own)
        if why:
            raise UpstreamError(why)
        own = self.trust.context(h2=False) if proxy.tls else None
        try:
            async with asyncio.timeout(LAST_ADDRESS_S):
                return await through(proxy, target, proxy_tls=own, tls=context, limit=READ_LIMIT)
        except ssl.SSLCertVerificationError as error:
            names = target.host if not proxy.tls else f"{target.host} or of the proxy {proxy}"
            raise _unverified(names, error) from None
        except (ConnectError, OSError, TimeoutError) as error:
            words = str(error) if isinstance(error, ConnectError) else _words(error)
            raise UpstreamError(f"{target} cannot be reached through the proxy {proxy}: {words}") from None


def _unverified(whose: str, error: ssl.SSLCertVerificationError) -> UpstreamError:
    return UpstreamError(
        f"the certificate of {whose} does not verify: {error.verify_message}; "
        "if it is signed by a root of yours, name that with -upstream-ca"
    )


async def _places(target: Destination) -> list[tuple[str, int]]:
    addresses, why = dialable(target.host, await _resolve(target), _is_own)
    if why:
        raise UpstreamError(why)
    return [(address, target.port) for address in addresses]


def _is_own(address: str) -> bool:
    """Whether the kernel would deliver what is sent to an address to this machine itself. Nothing is sent.

    Who speaks to an address of one's own is given that address as the sender's.
    """
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    try:
        with socket.socket(family, socket.SOCK_DGRAM | socket.SOCK_CLOEXEC) as probe:
            probe.connect((address, _ANY_PORT))
            own: str = probe.getsockname()[0]
    except OSError:  # no way leads there, or no such protocol here: dialling says so
        return False
    return own == address


async def _resolve(target: Destination) -> list[str]:
    if is_address(target.host):
        return [target.host]
    try:
        async with asyncio.timeout(LAST_ADDRESS_S):
            found = await _ask(target)
    except (OSError, TimeoutError, UnicodeError) as error:
        raise UpstreamError(f"{target.host} does not resolve: {_words(error)}") from None
    return list(dict.fromkeys(str(entry[4][0]) for entry in found))


def _ask(target: Destination) -> asyncio.Future[list[Any]]:
    """Ask the host's resolver in a thread that nobody waits for: getaddrinfo cannot be stopped, a run can."""
    loop = asyncio.get_running_loop()
    answer: asyncio.Future[list[Any]] = loop.create_future()

    def settle(found: list[Any], error: Exception | None) -> None:
        if answer.done():
            return
        if error is None:
            answer.set_result(found)
        else:
            answer.set_exception(error)

    def ask() -> None:
        found, failed = [], None
        try:
            found = socket.getaddrinfo(target.host, target.port, type=socket.SOCK_STREAM)
        except (OSError, UnicodeError) as error:
            failed = error
        with contextlib.suppress(RuntimeError):  # the loop has gone, and the run with it
            loop.call_soon_threadsafe(settle, found, failed)

    threading.Thread(target=ask, name="resolve", daemon=True).start()
    return answer


def _words(error: BaseException) -> str:
    if isinstance(error, TimeoutError):
        return "no answer in time"
    if isinstance(error, ssl.SSLError):
        words = f"TLS failed ({(error.reason or 'unknown reason').lower().replace('_', ' ')})"
        return f"{words}{_NO_TLS}" if error.reason == "WRONG_VERSION_NUMBER" else words
    if isinstance(error, OSError) and error.errno is not None and error.errno > 0:
        return os.strerror(error.errno).lower()  # asyncio's own text repeats the address
    if isinstance(error, OSError) and error.strerror:
        return error.strerror.lower()
    return type(error).__name__
