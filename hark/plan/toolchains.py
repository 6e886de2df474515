"""What a program needs of the version manager or package tool that put it where it is.

Each is known by its layout, never by a name in $HOME alone, and shown read-only: its programs and libraries,
not its credentials (`~/.cargo/credentials.toml`, npm's and pip's settings stay out) and not its caches, which
go to the agent's private home. Directories are only looked at; nothing of a tool is run to ask it.
"""

import glob
import os
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from hark.places import contains

MAX_SETTINGS: Final = 1 << 16  # bytes of a tool's settings file that are read
_LEAST_PROXY: Final = 1 << 20  # bytes; rustup has more, and two small files of one size say nothing
_SHALLOW: Final = ("", ".local", ".local/share", ".config", ".cache")
"""Directories of $HOME that hold more than one program: no layout is looked for in them."""


@dataclass(frozen=True, slots=True)
class Layout:
    """One tool's directory: known by `marks` (all of them), of which `shows` is shown."""

    name: str
    marks: tuple[str, ...]
    shows: tuple[str, ...] = ("",)
    settings: tuple[str, ...] = ()
    """Files of $HOME that choose a version."""
    asks: tuple[str, ...] = ()
    """Programs on PATH that its shims start."""


LAYOUTS: Final = (
    Layout("pyenv and its like", ("shims", "libexec/*env")),
    Layout("asdf", ("shims", "installs", "plugins"), settings=(".tool-versions", ".asdfrc"), asks=("asdf",)),
    Layout(
        "mise",
        ("shims", "installs"),
        ("shims", "installs", "plugins"),
        settings=(".config/mise/config.toml", ".tool-versions"),
        asks=("mise",),
    ),
    Layout("volta", ("bin", "tools/image")),
    Layout("Homebrew", ("Cellar", "bin/brew")),
    Layout("bun", ("bin/bun", "install/global"), ("bin", "install/global")),
    Layout("deno", ("bin/deno",), ("bin",)),
    Layout("pnpm", ("global/*/node_modules",), ("global", "bin"), asks=("node",)),
    Layout("SDKMAN", ("candidates", "bin/sdkman-init.sh"), ("candidates",)),
)


def companions(program: str, path: str, home: str, environ: Mapping[str, str]) -> Iterator[str]:
    """Yield what `program`, one hop on the way to what is executed, needs beside itself. Absolute paths."""
    yield from _layouts(program, path, home)
    yield from _packages(program)
    yield from _rust(program, home, environ)
    if os.path.basename(program) in ("uv", "uvx"):
        yield from _existing(environ.get("UV_PYTHON_INSTALL_DIR") or f"{home}/.local/share/uv/python")


def elsewhere(directory: str, home: str, environ: Mapping[str, str]) -> Iterator[str]:
    """Yield what the programs in a directory of PATH need in another: rustup's proxies their toolchains."""
    if os.path.isfile(f"{directory}/rustup"):
        yield from _existing(environ.get("RUSTUP_HOME") or f"{home}/.rustup")


def is_shown(path: str, home: str) -> bool:
    """Tell whether a place is one that a layout shows, by what lies beside it alone."""
    if any(path == f"{home}/{name}" for layout in LAYOUTS for name in layout.settings):
        return _holds_no_environment(path)
    return any(_is_part(path, part, layout.marks, home) for layout in LAYOUTS for part in layout.shows)


def _is_part(path: str, part: str, marks: tuple[str, ...], home: str) -> bool:
    if part and not path.endswith(f"/{part}"):
        return False
    root = path.removesuffix(f"/{part}") if part else path
    return root in _above(f"{path}/program", home) and all(
        glob.glob(f"{glob.escape(root)}/{mark}") for mark in marks
    )


def user_site(script: str) -> Iterator[str]:
    """Yield where `pip install --user` put the packages of a Python script in its `bin`."""
    prefix, _, last = os.path.dirname(script).rpartition("/")
    if last == "bin":
        yield from sorted(glob.glob(f"{glob.escape(prefix)}/lib/python3*/site-packages"))


def _layouts(program: str, path: str, home: str) -> Iterator[str]:
    for root in _above(program, home):
        for layout in LAYOUTS:
            if not all(glob.glob(f"{glob.escape(root)}/{mark}") for mark in layout.marks):
                continue
            for part in layout.shows:
                yield from _existing(f"{root}/{part}".rstrip("/"))
            for name in layout.settings:
                if _holds_no_environment(f"{home}/{name}"):
                    yield f"{home}/{name}"
            for name in layout.asks:
                yield from _on_path(name, path)
            return  # the nearest one; mise's directory looks like asdf's without plugins


def _above(program: str, home: str) -> Iterator[str]:
    """Yield the directories above `program`, the nearest first, up to where people keep everything."""
    shallow = {os.path.normpath(f"{home}/{name}") for name in _SHALLOW}
    directory = os.path.dirname(program)
    while directory not in ("/", "") and not contains(directory, home):
        if directory not in shallow:
            yield directory
        directory = os.path.dirname(directory)


def _packages(program: str) -> Iterator[str]:
    """Yield the outermost `node_modules` above a script of a Node package, wherever its prefix is."""
    above, found, _ = program.partition("/node_modules/")
    if found and above:
        yield f"{above}/node_modules"


def _rust(program: str, home: str, environ: Mapping[str, str]) -> Iterator[str]:
    """Yield rustup's toolchains for one of its proxies, and the proxies: cargo starts rustc by name."""
    directory = os.path.dirname(program)
    manager = f"{directory}/rustup"
    if not (os.path.isfile(manager) and os.path.exists(program) and _same(program, manager)):
        return
    yield from elsewhere(directory, home, environ)
    yield from (entry.path for entry in os.scandir(directory) if _same(entry.path, manager))


def _same(one: str, other: str) -> bool:
    """Whether both are one program: a link, a hard link, or (as rustup does where it must) a copy."""
    try:
        first, second = os.stat(one), os.stat(other)
    except OSError:
        return False
    return os.path.samestat(first, second) or (
        first.st_size == second.st_size > _LEAST_PROXY and os.access(one, os.X_OK)
    )


def _on_path(name: str, path: str) -> Iterator[str]:
    for directory in path.split(":"):
        candidate = f"{directory}/{name}"
        if os.path.isabs(candidate) and os.access(candidate, os.X_OK) and os.path.isfile(candidate):
            yield candidate
            yield os.path.realpath(candidate)
            return


def _existing(path: str) -> Iterator[str]:
    if os.path.isabs(path) and os.path.exists(path):
        yield path


def _holds_no_environment(settings: str) -> bool:
    """Whether a settings file is there and sets no variables: people keep tokens in mise's `[env]`."""
    try:
        with open(settings, "rb") as file:
            text = file.read(MAX_SETTINGS).decode()
        return not settings.endswith(".toml") or "env" not in tomllib.loads(text)
    except (OSError, ValueError):
        return False
