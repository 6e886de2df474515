"""How upstreams are dialled where the command line says so: redirected, by way of a proxy, with more roots.

Read and checked before anything starts; raises PolicyError. Dials nothing.
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING

from hark.errors import PolicyError
from hark.given import read_given
from hark.policy.host import HostError, canonical_host
from hark.policy.model import Policy, covers
from launcher.plan import Plan

if TYPE_CHECKING:
    from mediator.proxy import Proxies


def upstreams(words: tuple[str, ...], policy: Policy) -> dict[str, str]:
    """Read `-upstream HOST=ADDR[:PORT]`. A host that the policy does not allow is a mistake, not a grant."""
    from mediator.upstream import read_redirects

    found: dict[str, str] = {}
    for word in words:
        host, equals, address = word.partition("=")
        if not equals or not address:
            raise PolicyError(f"-upstream {word} is not HOST=ADDR[:PORT]")
        try:
            name = canonical_host(host)
        except HostError as error:
            raise PolicyError(f"-upstream {word}: {error}") from None
        if name in found:
            raise PolicyError(f"-upstream names {name} twice; keep one")
        read_redirects({name: address})
        if not policy.allow_all and not any(covers(rule.host, name) for rule in policy.rules):
            raise PolicyError(
                f'-upstream names {name}, which allow_hosts does not; add "{name}" to the policy'
            )
        found[name] = address
    return found


def proxies(environ: Mapping[str, str], plan: Plan) -> "Proxies":
    """Read the caller's proxies for `-via-proxy`; their credentials are not the agent's to see."""
    from mediator.proxy import read_proxies

    found = read_proxies(environ)
    for proxy in found.all:
        if proxy.password and any(proxy.password in word for word in (*plan.env.values(), *plan.argv)):
            raise PolicyError(
                f"the agent's environment or arguments hold the password of the proxy {proxy}; take it out "
                "of env.pass, env.set or the command"
            )
    return found


def roots(paths: tuple[str, ...]) -> tuple[bytes, ...]:
    from mediator.trust import MAX_ROOTS, certificates

    pems = tuple(read_given(path, MAX_ROOTS, "-upstream-ca") for path in paths)
    if not pems:
        return ()
    import ssl

    for path, pem in zip(paths, pems, strict=True):
        blocks = certificates(pem)
        if not blocks:
            raise PolicyError(f"-upstream-ca {path} holds no PEM certificate; name a file that does")
        for number, block in enumerate(blocks, 1):
            try:
                ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT).load_verify_locations(cadata=block.decode("ascii"))
            except (ssl.SSLError, ValueError):
                raise PolicyError(
                    f"-upstream-ca {path}: certificate {number} in it is damaged; replace it"
                ) from None
    return pems
