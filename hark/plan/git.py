"""How git inside reaches the hosts of `[git] https`: over https, where requests are judged and credentials
brokered, whatever address a command, a remote or a submodule names.

Said through git's own environment (GIT_CONFIG_COUNT, git 2.31 and newer), so no file is written and the
caller's configuration still counts. What the policy itself sets in that way stays, in front. Where a secret
is bound to the host, a helper answers git's question with the placeholder, from the variable that holds it.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from hark.policy.model import HTTPS_PORT, Secret, Surface

COUNT: Final = "GIT_CONFIG_COUNT"
USER: Final = "x-access-token"
"""GitHub takes any name with a token, GitLab and Gitea any that is not empty."""
_SPELLINGS: Final = ("git@{host}:", "{host}:", "ssh://git@{host}/", "ssh://{host}/", "git://{host}/")
_SPELLINGS_WITH_PORT: Final = ("ssh://git@{host}:22/", "git+ssh://git@{host}/")


def variables(hosts: Sequence[str], secrets: Iterable[Secret], assigned: Mapping[str, str]) -> dict[str, str]:
    """Return what to add to the agent's variables. `assigned` are the policy's, whose entries come first."""
    if not hosts:
        return {}
    known = tuple(secrets)
    entries = [entry for host in hosts for entry in (*_rewrites(host), *_credentials(host, known))]
    first = _count(assigned)
    env = {COUNT: str(first + len(entries))}
    for number, (key, value) in enumerate(entries, start=first):
        env[f"GIT_CONFIG_KEY_{number}"] = key
        env[f"GIT_CONFIG_VALUE_{number}"] = value
    return env


def _count(assigned: Mapping[str, str]) -> int:
    text = assigned.get(COUNT, "0")
    return int(text) if text.isascii() and text.isdecimal() else 0


def _rewrites(host: str) -> list[tuple[str, str]]:
    key = f"url.https://{host}/.insteadOf"
    return [(key, spelling.format(host=host)) for spelling in (*_SPELLINGS, *_SPELLINGS_WITH_PORT)]


def _credentials(host: str, secrets: tuple[Secret, ...]) -> list[tuple[str, str]]:
    bound = (s for s in secrets if s.bound_to(host, HTTPS_PORT) and Surface.BASIC in s.surfaces)
    secret = next(bound, None)
    if secret is None:
        return []
    # The value stays in its variable: configuration is printed by `git config --list`.
    helper = f'!f() {{ test "$1" = get && echo username={USER} && echo "password=${secret.name}"; }}; f'
    return [(f"credential.https://{host}.helper", ""), (f"credential.https://{host}.helper", helper)]
