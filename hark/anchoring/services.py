"""Which servers are asked for an anchor: those that the user names, or those of sigstore's signing config.

What always holds: of a config (`signing_config.json`, v0.2) only services count that are valid at that time
and speak a version that is spoken here; of each operator the highest version. How many logs and clocks it
takes is the config's to say.
"""

from typing import Final, NamedTuple

from hark.anchor import jsonform
from hark.anchor.jsonform import MalformedError, Object
from hark.anchor.outcome import MANY
from hark.anchor.trusted_root import period
from hark.anchoring.web import NO_SERVER, is_server
from hark.errors import UsageError

MEDIA_TYPE: Final = "application/vnd.dev.sigstore.signingconfig.v0.2+json"
MAX_CONFIG: Final = 1 << 20
LOG_VERSIONS: Final = (1, 2)


class Service(NamedTuple):
    """A server, and the version that it speaks; 0 where nobody said."""

    url: str
    version: int = 0


class Choice(NamedTuple):
    """Servers in the order in which they are asked, and how many have to answer."""

    services: tuple[Service, ...] = ()
    needed: int = 1


class Services(NamedTuple):
    """Everybody that an anchor needs."""

    logs: Choice
    clocks: Choice
    authorities: Choice = Choice()
    """Of certificates, for identities."""


def named(rekor: str, clocks: tuple[str, ...]) -> Services:
    """Return the log at `rekor`, and every one of the clocks. Raises UsageError; nobody is asked."""
    for option, server in (("-rekor", rekor), *(("-tsa", clock) for clock in clocks)):
        if not is_server(server):
            raise UsageError(f"{option} {server} {NO_SERVER}")
    url, version = rekor.rstrip("/"), 0
    for one in LOG_VERSIONS:
        if url.endswith(f"/api/v{one}"):
            url, version = url.removesuffix(f"/api/v{one}"), one
    return Services(
        Choice((Service(url, version),)), Choice(tuple(Service(clock, 1) for clock in clocks), len(clocks))
    )


def configured(data: bytes, now: float) -> Services:
    """Read a signing config, as of Unix time `now`. Raises UsageError."""
    try:
        config = jsonform.load(data, "the signing config", MAX_CONFIG)
        if config.get("mediaType") != MEDIA_TYPE:
            raise MalformedError(f"the signing config is not of the type {MEDIA_TYPE}")  # noqa: TRY301
        return Services(
            _chosen(config, "rekorTlogUrls", "rekorTlogConfig", LOG_VERSIONS, now),
            _chosen(config, "tsaUrls", "tsaConfig", (1,), now),
            _chosen(config, "caUrls", "", (1,), now),
        )
    except MalformedError as error:
        raise UsageError(f"-signing-config: {error}") from None


def _chosen(config: Object, name: str, selector: str, versions: tuple[int, ...], now: float) -> Choice:
    highest: dict[str, Service] = {}
    for one in jsonform.children(config, name, MANY):
        service = Service(jsonform.text(one, "url").rstrip("/"), jsonform.number(one, "majorApiVersion"))
        operator = one.get("operator")
        named = operator if isinstance(operator, str) else service.url
        valid = period(one.get("validFor", {})).has(int(now))
        if (
            valid
            and service.version in versions
            and service.version >= highest.get(named, Service("")).version
        ):
            highest[named] = service
    found = tuple(highest.values())
    wanted = config.get(selector) if selector else None
    if not isinstance(wanted, dict) or wanted.get("selector", "ANY") == "ANY":
        return Choice(found, min(1, len(found)))
    count = len(found) if wanted["selector"] == "ALL" else jsonform.number(wanted, "count")
    if count > len(found):
        raise MalformedError(
            f"the signing config asks for {count} of {name} and has {len(found)} that are valid"
        )
    return Choice(found, count)
