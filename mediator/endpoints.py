"""Where tokens are minted, and where they are used: a table that ships, and the policy's `[[token]]`. Pure.

Always: a row is the token endpoint of a service, the fields of its answers that are credentials, and the
hosts whose requests carry them. A token is bound to the host that minted it and to these; one that the
policy's `[[token]]` names, to the hosts that the policy allows beside its own under the same parent domain.

Not in the table: registries of packages and images, of which everybody has their own; `[[token]]` adds one.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from hark.policy.model import HTTPS_PORT, HostRule, Policy
from hark.policy.paths import Ambiguous, Spelled, matches, spell
from mediator.authority import Destination

_PARAMETERS: Final = re.compile(r"(?:;|%3b)[^/]*")
_FORMAT: Final = re.compile(r"\.[a-z]{2,4}\Z")
_OAUTH: Final = ("access_token", "refresh_token", "id_token")


@dataclass(frozen=True, slots=True)
class Below:
    """Every host under a domain, at any depth, and the domain itself, on the HTTPS port."""

    domain: str

    def matches(self, host: str, port: int) -> bool:
        """Tell whether it covers this canonical host on this port."""
        return port == HTTPS_PORT and (host == self.domain or host.endswith(f".{self.domain}"))


@dataclass(frozen=True, slots=True)
class Endpoint:
    """One place where tokens are minted. `at` and `used` are domains; `paths` as those of a rule.

    The second label of a domain in `at` may be a star: any region.
    """

    at: tuple[str, ...]
    paths: tuple[str, ...]
    fields: tuple[str, ...] = _OAUTH
    used: tuple[str, ...] = ()
    below: bool = False
    """Whether hosts under `at` are meant too."""


@dataclass(frozen=True, slots=True)
class Minting:
    """What answers of one request mint: these fields, for the host itself and for `used`."""

    fields: tuple[str, ...]
    used: tuple[Below | HostRule, ...]


SHIPPED: Final = (
    Endpoint(
        ("oauth2.googleapis.com", "accounts.google.com", "www.googleapis.com", "sts.googleapis.com",
         "iamcredentials.googleapis.com", "securetoken.googleapis.com"),
        ("/token", "/o/oauth2/token", "/oauth2/v3/token", "/oauth2/v4/token", "/v1/token",
         "/v1/projects/*/serviceAccounts/**"),
        (*_OAUTH, "accessToken", "token"),
        ("googleapis.com",),
    ),
    Endpoint(
        ("sts.googleapis.com", "iamcredentials.googleapis.com", "securetoken.googleapis.com"), ("/**",),
        (*_OAUTH, "accessToken", "token", "idToken"), ("googleapis.com",),
    ),
    Endpoint(
        ("www.googleapis.com",), ("/batch/iamcredentials/**", "/batch/sts/**"),
        (*_OAUTH, "accessToken", "token"), ("googleapis.com",),
    ),
    Endpoint(
        ("github.com",), ("/login/oauth/access_token",),
        used=("github.com", "githubusercontent.com", "githubcopilot.com", "ghcr.io"),
    ),
    Endpoint(
        ("api.github.com",), ("/app/installations/*/access_tokens", "/copilot_internal/v2/token"),
        ("token",), ("github.com", "githubusercontent.com", "githubcopilot.com", "ghcr.io"),
    ),
    Endpoint(
        ("login.microsoftonline.com", "login.microsoft.com", "login.live.com", "login.windows.net"),
        ("/*/oauth2/v2.0/token", "/*/oauth2/token", "/oauth20_token.srf"),
        used=("microsoft.com", "azure.com", "azure.net", "windows.net", "office.com", "visualstudio.com",
              "azurecr.io"),
    ),
    Endpoint(
        ("sts.amazonaws.com", "sts.*.amazonaws.com", "sts-fips.*.amazonaws.com", "sts.*.api.aws"), ("/**",),
        ("AccessKeyId", "SecretAccessKey", "SessionToken"), ("amazonaws.com",),
    ),
    Endpoint(
        ("sts.*.vpce.amazonaws.com",), ("/**",),
        ("AccessKeyId", "SecretAccessKey", "SessionToken"), ("amazonaws.com",), below=True,
    ),
    Endpoint(
        ("sts.*.amazonaws.com.cn",), ("/**",),
        ("AccessKeyId", "SecretAccessKey", "SessionToken"), ("amazonaws.com.cn",),
    ),
    Endpoint(
        ("amazonaws.com",), ("/federation/credentials", "/token"),
        ("accessKeyId", "accessToken", "refreshToken", "secretAccessKey", "sessionToken"),
        ("amazonaws.com",), below=True,
    ),
    Endpoint(
        ("console.anthropic.com", "platform.claude.com", "api.anthropic.com", "claude.ai"),
        ("/v1/oauth/token", "/oauth/token", "/api/oauth/claude_cli/create_api_key"),
        (*_OAUTH, "raw_key"), ("anthropic.com", "claude.com", "claude.ai"),
    ),
    Endpoint(
        ("auth.openai.com", "auth0.openai.com"), ("/oauth/token", "/api/accounts/deviceauth/token"),
        used=("openai.com", "chatgpt.com"),
    ),
    Endpoint(("gitlab.com",), ("/oauth/token", "/jwt/auth"), (*_OAUTH, "token"), ("gitlab.com",)),
    Endpoint(("bitbucket.org",), ("/site/oauth2/access_token",), used=("bitbucket.org",)),
    Endpoint(("huggingface.co",), ("/oauth/token",), used=("huggingface.co", "hf.co")),
)  # fmt: skip


def minting_at(policy: Policy, target: Destination, *paths: bytes) -> Minting | None:
    """Return what answers to a request for any of `paths` at `target` mint; None where nothing is known.

    A path that servers may read in more than one way is taken for every path. Others are compared as the most
    lenient server does: in any case, without parameters, a slash or the name of a format at the end.
    """
    shipped = _shipped(target.host)
    if not shipped and not any(own.host == target.host for own in policy.tokens):
        return None
    readings = [reading for path in paths for reading in _readings(path)]
    fields: list[str] = []
    used: list[Below | HostRule] = []
    for endpoint in shipped:
        if _meant(readings, endpoint.paths):
            fields += endpoint.fields
            used += [Below(domain) for domain in endpoint.used]
    for own in policy.tokens:
        if own.host == target.host and _meant(readings, (own.path,)):
            fields += own.fields
            used += _beside(policy, target.host)
    return Minting(tuple(dict.fromkeys(fields)), tuple(dict.fromkeys(used))) if fields else None


def _readings(path: bytes) -> Iterator[Spelled | Ambiguous]:
    spelled = spell(path.decode("latin-1"))
    if isinstance(spelled, Ambiguous):
        yield spelled
        return
    bare = _PARAMETERS.sub("", spelled.path.lower()).rstrip("/") or "/"
    for reading in dict.fromkeys((spelled.path.lower(), bare, f"{bare}/", _FORMAT.sub("", bare))):
        yield Spelled(reading)


def _meant(readings: list[Spelled | Ambiguous], patterns: tuple[str, ...]) -> bool:
    return any(
        isinstance(reading, Ambiguous) or any(matches(pattern.lower(), reading) for pattern in patterns)
        for reading in readings
    )


@lru_cache(maxsize=1024)
def _shipped(host: str) -> tuple[Endpoint, ...]:
    """Return what is known of a canonical host, which has some hundred characters at most."""
    return tuple(endpoint for endpoint in SHIPPED if _at(endpoint, host))


def _at(endpoint: Endpoint, host: str) -> bool:
    if host in endpoint.at or _one_label_out(host) in endpoint.at:
        return True
    below = (host[at + 1 :] for at, char in enumerate(host) if char == ".")
    return endpoint.below and any(one in endpoint.at or _one_label_out(one) in endpoint.at for one in below)


def _one_label_out(host: str) -> str:
    """Return a host with a star for its second label, which is a region."""
    first, dot, rest = host.partition(".")
    return f"{first}{dot}*.{rest.partition('.')[2]}"


def _beside(policy: Policy, host: str) -> list[HostRule]:
    """Return the allowed hosts under the parent domain of `host`, which has two labels at least."""
    _, _, parent = host.partition(".")
    if "." not in parent:
        return []
    return [
        HostRule(rule.host, port)
        for rule in policy.rules
        for port in rule.ports
        if rule.host == parent or rule.host.endswith(f".{parent}")
    ]
