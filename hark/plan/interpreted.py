"""Which words of a command line are code to what runs them, and not data: a script, a directory, a path.

A file tool is given a directory of the project to serve, and that is its work; an interpreter that is given
one runs what lies in it. Only names and places are looked at, nothing is read. Not known here: what a program
that is no interpreter makes of its arguments, unless they look like a script by themselves.
"""

import os
import re
from collections.abc import Iterable, Iterator
from typing import Final

CODE: Final = (
    *("PATH", "LD_PRELOAD", "LD_LIBRARY_PATH", "PYTHONPATH", "PYTHONHOME", "NODE_PATH", "RUBYLIB"),
    *("PERL5LIB", "CLASSPATH", "BASH_ENV", "ENV"),
)
"""Variables whose places a program loads code from."""
_SCRIPTS: Final = (
    *(".py", ".js", ".mjs", ".cjs", ".ts", ".mts", ".sh", ".rb", ".pl", ".php", ".jar", ".pyz", ".wasm"),
)
_WRAPPERS: Final = frozenset(
    ("env", "sudo", "doas", "timeout", "nice", "ionice", "nohup", "setsid", "stdbuf", "systemd-run")
)
"""They run the command among their arguments."""
_INTERPRETERS: Final = frozenset(
    (
        *(
            "python",
            "pythonw",
            "pypy",
            "node",
            "nodejs",
            "deno",
            "bun",
            "tsx",
            "ts-node",
            "ruby",
            "perl",
            "php",
        ),
        *(
            "lua",
            "luajit",
            "sh",
            "bash",
            "dash",
            "zsh",
            "ksh",
            "fish",
            "busybox",
            "java",
            "dotnet",
            "Rscript",
        ),
    )
)
"""The first of their arguments that is there is what they run."""
_RUNNERS: Final = frozenset(
    (
        *("uv", "uvx", "npx", "npm", "pnpm", "pnpx", "yarn", "bunx", "pipx", "poetry", "make", "cargo", "go"),
        *("bundle", "mvn", "gradle", "just"),
    )
)
"""They run a package or a project; what comes after its name is its own affair."""
_PLACES: Final = frozenset(
    (
        *("--directory", "--project", "--prefix", "--cwd", "--dir", "--from", "--with-editable", "--package"),
        *("--manifest-path", "--file", "--makefile", "--rootdir", "-C", "-f", "-p"),
    )
)
"""Options that say where a project lies."""
_INLINE: Final = frozenset(("-c", "-m", "-e", "-p", "--eval", "--print"))
"""What follows is code or a module's name, and after it come data."""
_SUBCOMMANDS: Final = frozenset(("run", "exec", "x", "tool", "dlx", "start", "task"))
_VERSION: Final = re.compile(r"[\d.]+$")


def code_places(words: tuple[str, ...], workdir: str) -> list[str]:
    """List the absolute places that `words`, a whole command line, have code taken from."""
    places = [os.path.join(workdir, place) for place in _values(words[1:])]
    found = [place for place in places if place.endswith(_SCRIPTS) or os.access(place, os.X_OK)]
    found = [place for place in found if os.path.isfile(place)]
    named = [*_variables(words[1:]), *_interpreted(words, workdir)]
    found += [os.path.join(workdir, place) for place in named if place]
    return [place for place in found if os.path.exists(place)]


def _values(arguments: Iterable[str]) -> Iterator[str]:
    for word in arguments:
        value = word.partition("=")[2] if word.startswith("-") else word
        if value:
            yield value


def _variables(arguments: Iterable[str]) -> Iterator[str]:
    """Yield what is assigned on the command line, as env(1) takes it."""
    for word in arguments:
        name, _, value = word.partition("=")
        if name in CODE:
            yield from value.split(":")


def _interpreted(words: tuple[str, ...], workdir: str) -> Iterator[str]:
    start = _program(words)
    if start is None:
        return
    arguments = iter(words[start + 1 :])
    runner = _known(words[start]) in _RUNNERS
    for word in arguments:
        option, _, value = word.partition("=")
        if word in _INLINE and not runner:
            return
        if option in _PLACES and runner:
            yield value or next(arguments, "")
        elif word.startswith("-") or (runner and word in _SUBCOMMANDS):
            continue
        elif runner or os.path.exists(os.path.join(workdir, word)):
            yield word
            return


def _program(words: tuple[str, ...]) -> int | None:
    """Return where the interpreter or runner stands, behind programs that run others."""
    for number, word in enumerate(words):
        if _known(word) in _INTERPRETERS | _RUNNERS:
            return number
        if number == 0 and _known(word) not in _WRAPPERS:
            return None
    return None


def _known(word: str) -> str:
    return _VERSION.sub("", os.path.basename(word))
