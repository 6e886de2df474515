"""The library that gives programs the run's clock and randomness, built with this system's compiler.

Built once for each state of source and compiler, and kept beside the bundles, where no agent sees it. Only
compilers in the system's own folders are used, without the caller's environment: a program of that name in a
project would run with the caller's rights. Of several first runs at once one builds, and the others wait.
Nothing is refused for want of it: without it a run is recorded, and says that clock and randomness are not.
"""

import contextlib
import errno
import fcntl
import os
import signal
from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Final

from hark.bundle.store import runs_directory
from hark.errors import PolicyError
from hark.places import within
from hark.sums import blake2b

if TYPE_CHECKING:
    from launcher.doctor import Finding

COMPILERS: Final = ("cc", "gcc", "clang")
_FOLDERS: Final = ("/usr/bin", "/usr/local/bin", "/bin")
_FLAGS: Final = (
    *("-O1", "-fPIC", "-shared", "-fvisibility=hidden", "-ftls-model=initial-exec", "-fno-lto"),
    *("-U_FORTIFY_SOURCE", "-Wl,-z,now", "-Wl,-z,relro", "-Wl,-z,noexecstack"),
)
_LIBRARIES: Final = ("-ldl",)
_TIMEOUT_S: Final = 300.0  # it takes a second where nothing else runs, and minutes have been seen
SCRATCH: Final = ".build-"
"""How the names of folders begin in which something is made."""
_NAME_BYTES: Final = 12
_NAME: Final = "clock"
_INSTALL: Final = (
    "apt-get install gcc libc6-dev    # Debian, Ubuntu\ndnf install gcc glibc-devel       # Fedora, RHEL"
)


class NoLibraryError(Exception):
    """Why there is none, as the end of a sentence; it goes into the record, and ends no run."""


def source_folder() -> str:
    """Where the shims lie: in the wheel inside the package `hark`, in a checkout beside it."""
    here = os.path.dirname(os.path.dirname(os.path.realpath(__file__)))
    packed = os.path.join(here, "_shims")
    return packed if os.path.isdir(packed) else os.path.join(os.path.dirname(here), "shims")


def sources(folder: str) -> dict[str, bytes]:
    """The source as relative path -> content."""
    names = ["preload.c", *(f"preload/{name}" for name in sorted(os.listdir(f"{folder}/preload")))]
    found = {}
    for name in names:
        if name.endswith((".c", ".h")):
            with open(f"{folder}/{name}", "rb") as file:
                found[name] = file.read()
    return found


def library(environ: Mapping[str, str], writable: Iterable[str]) -> bytes:
    """The library's bytes, built if need be. Raises NoLibraryError.

    `writable` are the places where the agent may write: a compiler in one is not run.
    """
    folder = os.path.join(os.path.dirname(runs_directory(environ)), "shims")
    try:
        parts = sources(source_folder())
        compiler = _compiler(tuple(writable))
        stem = digest(*(text for pair in parts.items() for text in pair), *_FLAGS, os.uname().machine)
        kept = _kept(folder, stem, compiler)
        if kept is None and compiler is None:
            raise NoLibraryError(
                f"there is no C compiler ({', '.join(COMPILERS)}) in {_FOLDERS[0]}; install one"
            )
        if kept is None and compiler is not None:
            with alone(folder):
                kept = _kept(folder, stem, compiler) or _build(parts, compiler, folder, _name(stem, compiler))
        with open(str(kept), "rb") as file:
            return file.read()
    except OSError as error:
        step = "; make room there" if error.errno in (errno.ENOSPC, errno.EDQUOT) else ""
        where = error.filename or folder
        raise NoLibraryError(f"it could not be built: {where}: {error.strerror}{step}") from error


def found(environ: Mapping[str, str]) -> "Finding":
    """Say whether runs have the library, as `hark doctor` says what they need; it is built if need be."""
    from launcher.doctor import Finding, State

    try:
        library(environ, ())
    except (NoLibraryError, PolicyError) as error:  # the latter: nothing says where it would be kept
        words = f"runs go without a recorded clock and randomness, and replays may differ: {error}"
        return Finding(_NAME, State.LESS, words, _INSTALL if _compiler(()) is None else "")
    return Finding(_NAME, State.OK, "programs get the run's own clock and randomness, which a replay repeats")


def digest(*parts: str | bytes) -> str:
    """Name what was made from `parts`, none of which can be taken for another."""
    hasher = blake2b(digest_size=_NAME_BYTES)
    for part in parts:
        data = os.fsencode(part)
        hasher.update(len(data).to_bytes(8) + data)
    named: str = hasher.hexdigest()
    return named


def _compiler(writable: tuple[str, ...]) -> str | None:
    for name in COMPILERS:
        for folder in _FOLDERS:
            path = f"{folder}/{name}"
            if os.access(path, os.X_OK) and not within(os.path.realpath(path), writable):
                return path
    return None


def _name(stem: str, compiler: str) -> str:
    """Of the library that `compiler` makes, as it is now: asking it for its version would cost each run."""
    status = os.stat(compiler)
    return f"{stem}-{digest(os.path.realpath(compiler), str(status.st_size), str(status.st_mtime_ns))}.so"


def _kept(folder: str, stem: str, compiler: str | None) -> str | None:
    """The one that was built; where the compiler is gone, whatever one built of the same source."""
    if compiler is not None:
        path = f"{folder}/{_name(stem, compiler)}"
        return path if os.path.isfile(path) else None
    with contextlib.suppress(FileNotFoundError):
        for name in sorted(os.listdir(folder)):
            if name.startswith(f"{stem}-") and name.endswith(".so"):
                return f"{folder}/{name}"
    return None


@contextlib.contextmanager
def alone(folder: str) -> Iterator[None]:
    """Make the folder, and wait until nobody else builds in it; what builds left that were killed goes."""
    import shutil

    os.makedirs(folder, mode=0o700, exist_ok=True)
    held = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        fcntl.flock(held, fcntl.LOCK_EX)
        for name in os.listdir(folder):
            if name.startswith(SCRATCH):
                shutil.rmtree(f"{folder}/{name}", ignore_errors=True)
        yield
    finally:
        os.close(held)


def _build(parts: Mapping[str, bytes], compiler: str, folder: str, name: str) -> str:
    import tempfile

    with tempfile.TemporaryDirectory(dir=folder, prefix=SCRATCH) as scratch:
        os.mkdir(f"{scratch}/preload")
        for path, content in parts.items():
            with open(f"{scratch}/{path}", "wb") as file:
                file.write(content)
        _compile(compiler, scratch)
        os.replace(f"{scratch}/preload.so", f"{folder}/{name}")
    return f"{folder}/{name}"


def _compile(compiler: str, scratch: str) -> None:
    done, said = _all_of_it(
        [compiler, *_FLAGS, "-o", "preload.so", "preload.c", *_LIBRARIES],
        scratch,
        {"PATH": ":".join(_FOLDERS), "LC_ALL": "C", "TMPDIR": scratch},
    )
    if done:
        first = next((line for line in said.decode(errors="replace").splitlines() if "error" in line), "")
        raise NoLibraryError(f"{compiler} could not build it: {first or f'exit code {done}'}")


def _all_of_it(command: list[str], folder: str, env: Mapping[str, str]) -> tuple[int, bytes]:
    """Exit code and errors of a command. Whatever ends the wait ends its group: a compiler starts others."""
    import subprocess  # once for each compiler: it takes longer to load than the rest of a start

    with subprocess.Popen(
        command,
        cwd=folder,
        env=env,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        process_group=0,
    ) as started:
        try:
            _, said = started.communicate(timeout=_TIMEOUT_S)
        except BaseException as ending:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(started.pid, signal.SIGKILL)
            if isinstance(ending, subprocess.TimeoutExpired):
                raise NoLibraryError(f"{command[0]} took longer than {_TIMEOUT_S:g} s to build it") from None
            raise
    return started.returncode, said
