"""The real values of the policy's secrets: read once, checked, and paired with what the agent gets instead.

A value lives in the returned `Secret` only. Nothing here prints or raises it.
"""

import os
import shlex
import stat
import time
from collections.abc import Callable, Iterable
from selectors import EVENT_READ, DefaultSelector
from typing import IO, TYPE_CHECKING, Final

from hark.errors import PolicyError
from hark.given import second_name
from hark.plan import mounted
from hark.plan.caller import Caller
from hark.policy.model import Secret, SecretSpec

if TYPE_CHECKING:
    import subprocess

MAX_SECRET: Final = 16 << 10  # larger than any token; a whole key file does not belong into a header
COMMAND_S: Final = 120.0
"""For a program that prints a value: a person may have to find their token and type a passphrase."""


def resolve(
    specs: Iterable[SecretSpec], caller: Caller, placeholder_for: Callable[[str], str]
) -> tuple[Secret, ...]:
    """Read each secret from where its spec says. Raises PolicyError, without the value."""
    secrets = tuple(
        Secret(spec.name, value, placeholder_for(value), spec.hosts, spec.surfaces, spec.sigv4, spec.plain)
        for spec in specs
        for value in (_value(spec, caller),)
    )
    for one in secrets:
        for other in secrets:
            if one is not other and one.value in other.value:
                raise PolicyError(
                    f"secrets.{one.name} is the same as or part of secrets.{other.name}; keep one"
                )
    return secrets


def obtainable(spec: SecretSpec, caller: Caller) -> None:
    """Raise PolicyError where `resolve` could not read a value, as far as that is known without a program."""
    if spec.command is not None:
        caller.trusted(spec.command, "/", f"{spec}.command")
    else:
        _value(spec, caller)


def _value(spec: SecretSpec, caller: Caller) -> str:
    # Blanks around a value are cut off: a server would trim a header, and the rest would go unrecognised.
    if spec.command is not None:
        value = _from_command(spec, spec.command, caller)
    elif spec.file is not None:
        value = _from_file(spec, spec.file, caller)
    else:
        value = caller.environ.get(str(spec.env), "").strip()
        if not value:
            state = "empty" if spec.env in caller.environ else "not set"
            raise PolicyError(
                f"{spec}: the environment variable {spec.env} is {state}; set it or remove the secret"
            )
    if not value.isprintable() or not value.isascii():
        raise PolicyError(
            f"{spec}: its value is not printable ASCII on one line, so no header could carry it"
        )
    return value


def _from_file(spec: SecretSpec, file: str, caller: Caller) -> str:
    path = caller.expanded(file)
    caller.refuse_planted(path, spec)
    if spec.mount is not None and spec.mount.at is not None and _same(path, caller.expanded(spec.mount.path)):
        return mounted.member(spec, mounted.read(spec, path), spec.mount.at).strip()
    try:
        with open(os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK), "rb") as opened:
            status = os.fstat(opened.fileno())
            raw = opened.read(MAX_SECRET + 1) or b""
    except OSError as error:
        raise PolicyError(f"{spec}: cannot read {path}: {os.strerror(error.errno or 0).lower()}") from None
    if stat.S_ISREG(status.st_mode) and status.st_nlink > 1:
        raise PolicyError(f"{spec}: {second_name(path)}")
    if len(raw) > MAX_SECRET:
        raise PolicyError(
            f"{spec}: {path} is larger than {MAX_SECRET} bytes; name a file with the value alone"
        )
    value = raw.decode("latin-1").strip()
    if not value:
        raise PolicyError(f"{spec}: {path} is empty; write the value into it")
    return value


def _from_command(spec: SecretSpec, command: tuple[str, ...], caller: Caller) -> str:
    """Run a program of the caller's and return what it prints. What it says is never shown."""
    argv = caller.trusted(command, "/", f"{spec}.command")
    shown = shlex.join(command)
    import subprocess  # few policies name a program, and it takes long to load

    try:
        process = subprocess.Popen(
            argv,
            env=caller.outside,
            cwd="/",
            stdin=subprocess.DEVNULL,  # the caller's input is the agent's
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        )
    except OSError as error:
        raise PolicyError(f"{spec}: cannot run {shown}: {os.strerror(error.errno or 0).lower()}") from None
    with process:
        raw = _printed(process)
        code = process.poll() if raw is None else process.wait()
    if raw is None:
        raise PolicyError(f"{spec}: {shown} did not end within {COMMAND_S:.0f} s; run it yourself to see why")
    if len(raw) > MAX_SECRET:
        raise PolicyError(
            f"{spec}: {shown} prints more than {MAX_SECRET} bytes; have it print the value alone"
        )
    if code:
        raise PolicyError(f"{spec}: {shown} failed with exit code {code}; run it yourself to see why")
    value = raw.decode("latin-1").strip()
    if not value:
        raise PolicyError(f"{spec}: {shown} prints nothing; run it yourself to see why")
    return value


def _printed(process: "subprocess.Popen[bytes]") -> bytes | None:
    """Read to the end, or beyond what is a secret; None, and the program is killed, where time runs out."""
    stream: IO[bytes] | None = process.stdout
    raw, deadline = b"", time.monotonic() + COMMAND_S
    with DefaultSelector() as selector:
        if stream is None:
            return raw
        selector.register(stream, EVENT_READ)
        while len(raw) <= MAX_SECRET:
            if not selector.select(max(deadline - time.monotonic(), 0)):
                process.kill()
                return None
            piece = os.read(stream.fileno(), MAX_SECRET + 1)
            if not piece:
                return raw
            raw += piece
    process.kill()
    return raw


def _same(path: str, other: str) -> bool:
    return os.path.realpath(path) == os.path.realpath(other)
