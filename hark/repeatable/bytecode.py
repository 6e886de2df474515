"""The Python shim's bytecode, for interpreters that would otherwise compile it at each of their starts.

The agent sees the shim's folder read-only, so its interpreter cannot keep what it compiled, and compiling
takes longer than the rest of the shim. It is made once for each state of source and interpreter, and kept
beside the bundles, where no agent sees it. Only hark's own interpreter and those in the system's folders are
asked, without the caller's environment, as with compilers (`hark.repeatable.shim_library`): a program of that
name in a project would run with the caller's rights. An interpreter of another version finds nothing of its
own, and compiles. Nothing is refused for want of it.
"""

import contextlib
import os
import re
import sys
from collections.abc import Iterable, Iterator, Mapping
from typing import Final

from hark.bundle.store import runs_directory
from hark.places import within
from hark.repeatable.shim_library import SCRATCH, alone, digest

_FOLDERS: Final = ("/usr/bin", "/usr/local/bin")
_NAME: Final = re.compile(r"python3\.(\d+)")
_OLDEST: Final = 8  # of Python 3: what the shim knows
_TIMEOUT_S: Final = 20.0
_MAX_BYTES: Final = 1 << 20
_TAG: Final = re.compile(rb"[a-z]+-\d+[a-z]*")
_COMPILE: Final = """
import py_compile, sys
mode = py_compile.PycInvalidationMode.UNCHECKED_HASH
py_compile.compile(sys.argv[1], cfile=sys.argv[2], dfile=sys.argv[3], doraise=True, invalidation_mode=mode)
print(sys.implementation.cache_tag, end="")
"""


def compiled(
    inside: str, source: bytes, environ: Mapping[str, str], writable: Iterable[str]
) -> dict[str, bytes]:
    """Return the bytecode of `source`, which the agent sees at `inside`, by the paths where Python looks.

    `writable` are the places where the agent may write: an interpreter in one is not asked.
    """
    folder = os.path.join(os.path.dirname(runs_directory(environ)), "shims")
    parent, _, name = inside.rpartition("/")
    found = {}
    for interpreter in _interpreters(tuple(writable)):
        with contextlib.suppress(OSError, ValueError):
            tag, content = _kept(folder, interpreter, inside, source)
            found[f"{parent}/__pycache__/{name.removesuffix('.py')}.{tag}.pyc"] = content
    return found


def _interpreters(writable: tuple[str, ...]) -> list[str]:
    candidates = [sys.executable, *_systems()]
    real = dict.fromkeys(os.path.realpath(path) for path in candidates if path)
    return [path for path in real if os.access(path, os.X_OK) and not within(path, writable)]


def _systems() -> Iterator[str]:
    for folder in _FOLDERS:
        with contextlib.suppress(OSError):
            for name in sorted(os.listdir(folder)):
                version = _NAME.fullmatch(name)
                if version is not None and int(version[1]) >= _OLDEST:
                    yield f"{folder}/{name}"


def _kept(folder: str, interpreter: str, inside: str, source: bytes) -> tuple[str, bytes]:
    """Return the interpreter's tag and the bytecode, made if need be. Raises OSError, ValueError.

    That an interpreter cannot is kept too, so that it is not asked at each run.
    """
    status = os.stat(interpreter)
    of = digest(interpreter, str(status.st_size), str(status.st_mtime_ns))
    path = f"{folder}/{digest(inside, source)}-{of}.pyc"
    try:
        with open(path, "rb") as file:
            content = file.read()
    except FileNotFoundError:
        with alone(folder):
            content = _made(path, interpreter, inside, source)
    tag, _, code = content.partition(b"\n")
    if not tag:
        raise ValueError(f"{interpreter} cannot compile it")
    return tag.decode("ascii"), code


def _made(path: str, interpreter: str, inside: str, source: bytes) -> bytes:
    """Return what another run has made meanwhile, or make it and put it in its place whole."""
    import tempfile

    with contextlib.suppress(FileNotFoundError), open(path, "rb") as file:
        return file.read()
    with tempfile.TemporaryDirectory(dir=os.path.dirname(path), prefix=SCRATCH) as scratch:
        content = _make(interpreter, inside, source, scratch)
        with open(f"{scratch}/kept", "xb") as file:
            file.write(content)
        os.replace(f"{scratch}/kept", path)
    return content


def _make(interpreter: str, inside: str, source: bytes, scratch: str) -> bytes:
    """Have an interpreter compile it: its tag, a line feed, the bytecode; empty where it cannot."""
    import subprocess

    given, made = f"{scratch}/shim.py", f"{scratch}/shim.pyc"
    with open(given, "wb") as file:
        file.write(source)
    try:
        done = subprocess.run(
            [interpreter, "-I", "-S", "-c", _COMPILE, given, made, inside],
            cwd=scratch,
            env={"PATH": ":".join(_FOLDERS), "LC_ALL": "C"},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=_TIMEOUT_S,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return b""
    if done.returncode or _TAG.fullmatch(done.stdout) is None:
        return b""
    try:
        with open(made, "rb") as file:
            return done.stdout + b"\n" + file.read(_MAX_BYTES)
    except FileNotFoundError:
        return b""
