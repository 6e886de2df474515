"""Which files a command needs in order to start: its program, its interpreters and the prefixes they live in.

Follows what the kernel and the interpreters themselves would follow (symbolic links, `#!` lines, a
virtual environment's `pyvenv.cfg`) and the layouts of version managers (`hark.plan.toolchains`), and reads
nothing else. What a program loads later from somewhere else is not guessed; `-read` grants it.
"""

import glob
import os
import stat
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from hark.bundle.regular import open_regular
from hark.errors import HarkError
from hark.places import contains
from hark.plan.toolchains import companions, elsewhere, user_site
from hark.shebang import SHEBANG_BYTES, behind_env, shebang

MAX_CHAIN: Final = 16  # links and `#!` lines followed for one command; the kernel stops at 40 and 5
_VENV_CFG_BYTES: Final = 1 << 16
_SHELL_WORDS: Final = frozenset(
    (".", "alias", "cd", "eval", "exec", "export", "for", "if", "set", "source", "ulimit", "umask", "while")
)
_STANDARD_LIBRARY: Final = ("lib*/python3*/os.py",)
_LANDMARKS: Final = (
    *("pyvenv.cfg", *_STANDARD_LIBRARY, "lib/node_modules", "include/node/node.h", "lib/ruby/*"),
    *(
        "lib/jvm.cfg",
        "lib/jrt-fs.jar",
        "lib/rustlib",
        "lib/erlang",
        "lib/julia",
        "lib/R",
        "pkg/tool",
        "conda-meta",
    ),
)
"""What tells the installation of a language from any other directory with a `bin` in it."""


class CommandError(HarkError):
    """The command cannot be started, with the exit code that a shell would give: 126 or 127."""

    def __init__(self, message: str, exit_code: int) -> None:
        super().__init__(message)
        self.exit_code = exit_code  # type: ignore[misc]  # a shell's code is per error, not per class


@dataclass(frozen=True, slots=True)
class Command:
    """A command that exists: what to execute, and the host paths it cannot start without."""

    executable: str
    needs: tuple[str, ...]
    """Files, and prefixes of interpreters, each absolute; system paths among them are harmless."""


def find_command(name: str, workdir: str, path: str, home: str, environ: Mapping[str, str]) -> Command:
    """Resolve a command as a shell in `workdir` would. Raises CommandError: 127 not found, 126 unusable.

    `environ` is asked only where a tool was told to keep its installations (RUSTUP_HOME).
    """
    executable = _which(name, workdir, path)
    needs = dict.fromkeys(_needs(executable, workdir, path, home, environ))
    return Command(executable, tuple(need for need in needs if not _is_led_out(need, workdir, home)))


def installation(directory: str, workdir: str, home: str) -> tuple[str, ...]:
    """Return what an environment in use (a venv, conda's, a JDK) needs: itself and, for a venv, its base.

    Nothing for a directory that is no installation, or that is a link out of `workdir`: an agent of an
    earlier run may have put it there.
    """
    if not is_installation(directory, home) or _is_led_out(directory, workdir, home):
        return ()
    needs = [os.path.realpath(directory)]
    for link in _links(f"{directory}/bin/python"):
        needs += _prefix(link, home, _marks(directory, link, workdir))
    return tuple(dict.fromkeys(needs))


def _is_led_out(directory: str, workdir: str, home: str) -> bool:
    """Tell whether a link in `workdir` leads to a directory elsewhere that is not the base of a Python.

    An agent may have made the link, and other trees look like an installation by accident.
    """
    real = os.path.realpath(directory)
    if not contains(workdir, directory) or contains(workdir, real) or not os.path.isdir(real):
        return False
    return not is_installation(real, home, _STANDARD_LIBRARY)


def _marks(start: str, link: str, workdir: str) -> tuple[str, ...]:
    """Return what shows that `link`, led to from `start`, is of an installation: as for `_is_led_out`."""
    return _STANDARD_LIBRARY if _is_strange(start, link, workdir) else _LANDMARKS


def _is_strange(start: str, link: str, workdir: str) -> bool:
    return contains(workdir, start) and not contains(workdir, link)


def wholes(directories: Iterable[str], home: str, environ: Mapping[str, str]) -> Iterator[str]:
    """Yield what to show so that the programs in directories of PATH start."""
    for directory in directories:
        yield whole(directory, home)
        yield from elsewhere(directory, home, environ)


def whole(directory: str, home: str) -> str:
    """Return what to show so that the programs in a directory of PATH start: its prefix, if that is one."""
    prefix, _, last = directory.rpartition("/")
    return prefix if last in ("bin", "shims") and is_installation(prefix, home) else directory


def _which(name: str, workdir: str, path: str) -> str:
    if "/" in name:
        candidate = os.path.normpath(os.path.join(workdir, name))
        _check(candidate, name)
        return candidate
    found_unusable: CommandError | None = None
    for directory in path.split(":"):
        candidate = os.path.join(directory or workdir, name)
        if not os.path.isabs(candidate):
            candidate = os.path.normpath(os.path.join(workdir, candidate))
        if not os.path.exists(candidate):
            continue  # also in a folder that the caller may not enter, as for a shell
        try:
            _check(candidate, name)
        except CommandError as error:
            if error.exit_code != 127:
                found_unusable = error
            continue
        return candidate
    if found_unusable:
        raise found_unusable
    raise CommandError(f"{name}: command not found{_quoted(name)}", 127)


def _quoted(name: str) -> str:
    """Return what to do where a whole command line was given as one word, or a word of a shell's own."""
    if " " in name.strip():
        return "; it is one word, take the quotes away if it is several"
    if name in _SHELL_WORDS or "=" in name:
        return "; that is for a shell: sh -c 'LINE' runs a line of it"
    return ""


def _check(candidate: str, name: str) -> None:
    try:
        mode = os.stat(candidate).st_mode
    except (FileNotFoundError, NotADirectoryError):
        raise CommandError(f"{name}: no such file{_quoted(name)}", 127) from None
    except OSError as error:
        raise CommandError(f"{name}: {os.strerror(error.errno or 0).lower()}", 126) from None
    if stat.S_ISDIR(mode):
        raise CommandError(f"{name}: is a directory", 126)
    if not stat.S_ISREG(mode):
        raise CommandError(f"{name}: is no regular file", 126)
    if not os.access(candidate, os.X_OK):
        raise CommandError(f"{name}: permission denied; make it executable or name its interpreter", 126)


def _needs(executable: str, workdir: str, path: str, home: str, environ: Mapping[str, str]) -> Iterator[str]:
    """Yield every path on the way from the command to the program that the kernel loads."""
    program = start = executable
    for _ in range(MAX_CHAIN):
        for link in _links(program):
            yield link
            yield from _prefix(link, home, _marks(start, link, workdir))
            if not _is_strange(start, link, workdir):
                yield from companions(link, path, home, environ)
        words = _interpreter(os.path.realpath(program))
        if not words:
            return
        named = behind_env(words)
        interpreter = words[0] if named is None else _which(named, "/", path)
        if os.path.basename(interpreter).startswith("python"):
            yield from user_site(program)
        program = interpreter
        if named is not None:
            start = interpreter  # the caller's PATH led here, not the script
    raise CommandError(f"{executable}: more than {MAX_CHAIN} interpreters follow one another", 126)


def _links(program: str) -> Iterator[str]:
    """Yield a path and, link by link, what it points to."""
    for _ in range(MAX_CHAIN):
        yield program
        try:
            target = os.readlink(program)
        except OSError:
            break
        program = os.path.normpath(os.path.join(os.path.dirname(program), target))
    yield os.path.realpath(program)


def _prefix(program: str, home: str, marks: tuple[str, ...] = _LANDMARKS) -> Iterator[str]:
    """Yield the installation that a program in `PREFIX/bin` belongs to, if PREFIX looks like one."""
    directory, _, _ = program.rpartition("/")
    prefix, _, last = directory.rpartition("/")
    if last not in ("bin", "Scripts", "sbin") or not is_installation(prefix, home, marks):
        return
    yield prefix
    for base in _venv_home(prefix):
        if is_installation(os.path.dirname(base), home, _STANDARD_LIBRARY):
            yield os.path.dirname(base)


def is_installation(prefix: str, home: str, marks: tuple[str, ...] = _LANDMARKS) -> bool:
    """Tell whether a directory is an interpreter's own: a link or file that leads elsewhere grants nothing.

    The home directory, ~/.local and whatever lies above them hold more than a program, and never count.
    """
    real, home = os.path.realpath(prefix or "/"), os.path.realpath(home)
    if real == "/" or contains(real, home) or real == f"{home}/.local":
        return False
    return any(glob.glob(f"{glob.escape(real)}/{mark}") for mark in marks)


def _venv_home(prefix: str) -> Iterator[str]:
    """Yield `home` of a virtual environment's pyvenv.cfg (PEP 405): the directory of its base interpreter."""
    try:
        with open(open_regular(f"{prefix}/pyvenv.cfg"), "rb") as file:
            text = file.read(_VENV_CFG_BYTES).decode("utf-8", "replace")
    except OSError:
        return
    for line in text.splitlines():
        key, _, value = line.partition("=")
        if key.strip() == "home" and os.path.isabs(value.strip()):
            yield value.strip()


def _interpreter(program: str) -> list[str]:
    """Return the words of a program's `#!` line; none for a binary.

    An agent of an earlier run may have written the line, and what it names is shown: so never anything but
    what the kernel would execute.
    """
    try:
        with open(open_regular(program), "rb") as file:
            head = file.read(SHEBANG_BYTES)
    except OSError as error:
        raise CommandError(f"{program}: {(error.strerror or '').lower()}", 126) from None
    words = shebang(head)
    if words and behind_env(words) is None:
        if not os.path.exists(words[0]):
            raise CommandError(f"{program}: its interpreter {words[0]} does not exist", 127)
        _check(words[0], f"{program}: its interpreter {words[0]}")
    return words
