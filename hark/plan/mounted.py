"""Files of the caller's that the agent sees with placeholders in the place of credentials (`mount`).

Always: in what the agent is shown stands no value of any secret, in no encoding that we know; the file that
it was made from is not shown. The rest of the file is shown as it is.
"""

import json
import os
from collections.abc import Iterable, Sequence
from typing import Any, Final

from hark.errors import PolicyError
from hark.given import second_name
from hark.plan.caller import Caller
from hark.policy.model import Secret, SecretSpec

MAX_MOUNTED: Final = 1 << 20  # a program's settings; larger ones are data


def shown(specs: Iterable[SecretSpec], secrets: Sequence[Secret], caller: Caller) -> dict[str, bytes]:
    """Return the content of each mounted file, by path. Raises PolicyError.

    Where a path leads to another, it is shown at both: the agent may see the one, the other or both.
    """
    held = {secret.name: secret for secret in secrets}
    found: dict[str, bytes] = {}
    for spec in specs:
        if spec.mount is None:
            continue
        path = caller.expanded(spec.mount.path)
        caller.refuse_planted(path, spec)
        content = found[path] if path in found else read(spec, path)
        found[path] = _put(spec, held[spec.name], content, spec.mount.at)
    for path, content in found.items():
        _refuse_rest(path, content, secrets)
    return found | {os.path.realpath(path): content for path, content in found.items()}


def read(spec: SecretSpec, path: str) -> bytes:
    """Read a file that the agent will see changed. Raises PolicyError."""
    from hark.bundle.regular import open_regular

    try:
        with open(open_regular(path), "rb") as file:
            alone = os.fstat(file.fileno()).st_nlink == 1
            content = file.read(MAX_MOUNTED + 1)
    except OSError as error:
        raise PolicyError(f"{spec}: cannot read {path}: {(error.strerror or '').lower()}") from None
    if not alone:
        raise PolicyError(f"{spec}: {second_name(path)}")
    if len(content) > MAX_MOUNTED:
        raise PolicyError(
            f"{spec}: {path} is larger than {MAX_MOUNTED} bytes; mount a program's settings, and grant data"
        )
    return content


def member(spec: SecretSpec, content: bytes, at: str) -> str:
    """Return the string at a dotted path into JSON. Raises PolicyError."""
    where, key = _found(spec, _json(spec, content), at)
    value = where[key]
    if not isinstance(value, str) or not value:
        raise PolicyError(f"{spec}: {at} is no string with something in it; name the member that holds it")
    return value


def _put(spec: SecretSpec, secret: Secret, content: bytes, at: str | None) -> bytes:
    if at is None:
        value = secret.value.encode()
        if value not in content:
            raise PolicyError(
                f"{spec}: its value does not stand in {spec.mount and spec.mount.path}; is it the right file?"
            )
        return content.replace(value, secret.placeholder.encode())
    document = _json(spec, content)
    where, key = _found(spec, document, at)
    where[key] = secret.placeholder
    return json.dumps(document, indent=2, ensure_ascii=False).encode(errors="surrogatepass") + b"\n"


def _json(spec: SecretSpec, content: bytes) -> Any:
    try:
        return json.loads(content)
    except (ValueError, RecursionError):
        raise PolicyError(
            f"{spec}: {spec.mount and spec.mount.path} is not JSON; leave at out, and it is searched"
        ) from None


def _found(spec: SecretSpec, document: Any, at: str) -> tuple[Any, str | int]:
    """Return the object or list that holds a member, and the member's key in it."""
    *way, last = at.split(".")
    where = document
    for name in way:
        where = where[_key(spec, where, name, at)]
    return where, _key(spec, where, last, at)


def _key(spec: SecretSpec, where: Any, name: str, at: str) -> str | int:
    if isinstance(where, dict) and name in where:
        return name
    if isinstance(where, list) and name.isascii() and name.isdigit() and int(name) < len(where):
        return int(name)
    raise PolicyError(
        f"{spec}: there is no {at} in {spec.mount and spec.mount.path} ({name} is missing); correct at"
    )


def _refuse_rest(path: str, content: bytes, secrets: Sequence[Secret]) -> None:
    from mediator.encodings import Pair
    from mediator.scan import Table

    name = Table([Pair(secret.name, secret.value.encode(), b"") for secret in secrets]).name_in(content)
    if name is not None:
        raise PolicyError(
            f"{path} holds the value of secrets.{name} in a place or encoding where it cannot be "
            "replaced; the agent must not see it"
        )
