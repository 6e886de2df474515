"""Who may have a bundle run: the caller by a word, or by having its signer on their list.

Always: nothing of a bundle runs before this has returned, and what it asks for was shown to whoever is asked.
"""

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Final

from hark import keys
from hark.errors import HarkError, UntrustedError
from hark.policy.model import Policy
from hark.rerun import requested, trusted
from hark.rerun.recalled import Recalled

if TYPE_CHECKING:
    from hark.rerun.replaying import Asked

ONCE: Final = "once"
ALWAYS: Final = "always"

type Ask = Callable[[str], str]
"""Asks the person at the terminal whether to trust the named key: `once`, `always`; anything else is no."""


def own_key(environ: Mapping[str, str]) -> bytes:
    """Return the public half of the caller's signing key; empty where there is none to read."""
    try:
        return keys.public_from(f"{keys.user_key_path(environ)}.pub")
    except HarkError:
        return b""


def admit(
    recalled: Recalled,
    policy: Policy,
    asked: "Asked",
    environ: Mapping[str, str],
    *,
    say: Callable[[str], None],
    ask: Ask | None,
) -> str:
    """Return who signed, in words, if the caller has let the bundle run. Raises UntrustedError."""
    public = recalled.verified.public_key
    signer = signed_by(recalled, environ, asked.trusted_keys)
    if recalled.verified.own or public in trusted.known(environ, asked.trusted_keys):
        return signer
    say(f"{asked.bundle} asks to have run:")
    for line in requested.lines(recalled, policy, signer):
        say(line)
    if asked.trust or asked.given.policy is not None:
        return signer
    answer = ask(keys.name(public) if public else "") if ask is not None else ""
    if answer == ALWAYS and public:
        trusted.add(environ, public, keys.name(public))
    elif answer != ONCE:
        hint = f"`hark trust {asked.bundle}` trusts its signer, " if public else ""
        raise UntrustedError(
            f"it was not run: {hint}--trust-bundle runs it this once, -policy under your policy"
        )
    return signer


def signed_by(recalled: Recalled, environ: Mapping[str, str], trusted_keys: str | None = None) -> str:
    """Return who signed, in words."""
    public = recalled.verified.public_key
    if not public:
        return "nobody"
    if recalled.verified.own:
        return f"you ({keys.name(public)})"
    remark = trusted.known(environ, trusted_keys).get(public)
    known = (
        "in none of your lists" if remark is None else f"in your list: {remark}" if remark else "in your list"
    )
    return f"{keys.name(public)} ({public.hex()[:16]}..., {known})"
