"""The real values of the policy's secrets: read once, checked, and paired with what the agent gets instead.

A value lives in the returned `Secret` only. Nothing here prints or raises it.
"""

import os
import stat
from collections.abc import Callable, Iterable, Mapping
from typing import Final

from hark.errors import PolicyError
from hark.policy.model import Secret, SecretSpec

MAX_SECRET: Final = 16 << 10  # larger than any token; a whole key file does not belong into a header


def resolve(
    specs: Iterable[SecretSpec], environ: Mapping[str, str], home: str, placeholder_for: Callable[[str], str]
) -> tuple[Secret, ...]:
    """Read each secret from `environ` or its file. Raises PolicyError, without the value."""
    secrets = tuple(
        Secret(spec.name, value, placeholder_for(value), spec.hosts)
        for spec in specs
        for value in (_value(spec, environ, home),)
    )
    for one in secrets:
        for other in secrets:
            if one is not other and one.value in other.value:
                raise PolicyError(
                    f"secrets.{one.name} is the same as or part of secrets.{other.name}; keep one"
                )
    return secrets


def expanded(path: str, home: str) -> str:
    """Put the caller's home directory in the place of a leading `~`, as a policy may write it."""
    return home if path == "~" else os.path.join(home, path[2:]) if path.startswith("~/") else path


def _value(spec: SecretSpec, environ: Mapping[str, str], home: str) -> str:
    if spec.env is not None:
        value = environ.get(
            spec.env, ""
        ).strip()  # a server would trim a header, and the rest go unrecognised
        if not value:
            raise PolicyError(
                f"{spec}: the environment variable {spec.env} is not set; set it or remove the secret"
            )
    else:
        value = _from_file(spec, home)
    if not value.isprintable() or not value.isascii():
        raise PolicyError(
            f"{spec}: its value is not printable ASCII on one line, so no header could carry it"
        )
    return value


def _from_file(spec: SecretSpec, home: str) -> str:
    path = expanded(str(spec.file), home)
    try:
        with open(os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK), "rb") as file:
            status = os.fstat(file.fileno())
            raw = file.read(MAX_SECRET + 1) or b""
    except OSError as error:
        raise PolicyError(f"{spec}: cannot read {path}: {os.strerror(error.errno or 0).lower()}") from None
    if stat.S_ISREG(status.st_mode) and status.st_nlink > 1:
        raise PolicyError(f"{spec}: {path} has a second name (a hard link), by which the agent might read it")
    if len(raw) > MAX_SECRET:
        raise PolicyError(f"{spec}: {path} is larger than {MAX_SECRET} bytes")
    value = raw.decode("latin-1").strip()
    if not value:
        raise PolicyError(f"{spec}: {path} is empty")
    return value
