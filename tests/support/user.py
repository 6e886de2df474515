"""An ordinary user for tests of rootless behaviour, and a Python that this user can read.

Run by an ordinary user, that is the caller and the interpreter the tests run on. Run by root, it is `UID`, a
number without an account and without a file on the host, and a staged interpreter: hard links (or copies) of
the interpreter's prefix and of the environment's packages in a world-readable directory, with hark beside
them as a wheel would install it. The stage takes a second or two to make, and goes with the context.
"""

import contextlib
import os
import shutil
import subprocess
import sys
import sysconfig
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

ROOT: Final = Path(__file__).resolve().parents[2]
UID: Final = 61234
"""No account has it: above what systems hand out to people, below what they keep for containers."""
PACKAGES: Final = ("hark", "launcher", "mediator")
NO_STDLIB: Final = ("site-packages", "dist-packages", "test", "idlelib", "turtledemo", "tkinter", "*.a")
NO_PACKAGES: Final = ("pip", "mypy", "*editable*", "hark_run*.pth", "_hark_run*", *PACKAGES)


@dataclass(frozen=True, slots=True)
class User:
    """Whom to run as, where their home is, which Python has hark, and their whole environment."""

    uid: int
    gid: int
    home: Path
    python: str
    env: Mapping[str, str]

    @property
    def hark(self) -> str:
        """The installed `hark` program."""
        return str(Path(self.python).parent / "hark")


def run_as(user: User, argv: Sequence[str | Path], **options: Any) -> subprocess.CompletedProcess[str]:
    """Run `argv` to its end as that user, in their home unless `cwd` is given; output is captured as text."""
    defaults: dict[str, Any] = {"cwd": user.home, "env": dict(user.env), "capture_output": True, "text": True}
    return subprocess.run([str(word) for word in argv], check=False, **identity(user), **(defaults | options))


def identity(user: User) -> dict[str, Any]:
    """The arguments that make `subprocess` start a program as that user; none if that is who we are."""
    if os.geteuid() == user.uid:
        return {}
    return {"user": user.uid, "group": user.gid, "extra_groups": []}


@contextlib.contextmanager
def ordinary_user() -> Iterator[User]:
    """The user, for as long as the context is open."""
    folder = Path(tempfile.mkdtemp(prefix="hark-user-"))
    try:
        folder.chmod(0o755)  # mkdtemp makes 0700, and pytest's own folders are 0700 as well
        yield _user(folder)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def ordinary_uid() -> int:
    """Who `ordinary user` is here: the caller, or for root the user it becomes."""
    return os.geteuid() or UID


def _user(folder: Path) -> User:
    home = folder / "home"
    home.mkdir(mode=0o700)
    if os.geteuid() != 0:
        return User(os.geteuid(), os.getegid(), home, sys.executable, _environment(home, sys.executable))
    os.chown(home, UID, UID)
    python = _stage(folder / "python")
    return User(UID, UID, home, python, _environment(home, python))


def _environment(home: Path, python: str) -> dict[str, str]:
    path = f"{Path(python).parent}:/usr/local/bin:/usr/bin:/bin"
    return {"HOME": str(home), "PATH": path, "LANG": "C.UTF-8", "USER": "hark-test", "LOGNAME": "hark-test"}


def _stage(folder: Path) -> str:
    """A world-readable copy of interpreter, packages and hark below `folder`; the interpreter's path."""
    base = folder / "base"
    name = f"python{sys.version_info.major}.{sys.version_info.minor}"
    stdlib = Path(sysconfig.get_path("stdlib"))
    (base / "bin").mkdir(parents=True)
    _relocated(Path(os.path.realpath(sys.executable)), base / "bin" / name)
    link_tree(stdlib, base / stdlib.relative_to(sys.base_prefix), *NO_STDLIB)
    for library in Path(sysconfig.get_config_var("LIBDIR") or "/nonexistent").glob(f"lib{name}*.so*"):
        _link(str(library), str(base / "lib" / library.name))

    venv = folder / "venv"
    (venv / "bin").mkdir(parents=True)
    (venv / "bin" / "python").symlink_to(base / "bin" / name)
    (venv / "pyvenv.cfg").write_text(f"home = {base / 'bin'}\n")
    packages = venv / "lib" / name / "site-packages"
    link_tree(Path(sysconfig.get_path("purelib")), packages, *NO_PACKAGES)
    for package in PACKAGES:
        link_tree(ROOT / package, packages / package)
    if (ROOT / "shims").is_dir():
        link_tree(ROOT / "shims", packages / "hark" / "_shims")
    _script(venv / "bin" / "hark", "hark.cli.main:entry", venv / "bin" / "python")
    return str(venv / "bin" / "python")


def _relocated(source: Path, target: Path) -> None:
    """A copy of the interpreter that looks for its shared library beside itself.

    Builds with a shared libpython carry the absolute folder of it. The new text is padded to the old length.
    """
    folder = str(sysconfig.get_config_var("LIBDIR") or "").encode() + b"\0"
    beside = b"$ORIGIN/../lib\0"
    program = source.read_bytes()
    if len(folder) >= len(beside):
        program = program.replace(b"\0" + folder, b"\0" + beside.ljust(len(folder), b"\0"))
    target.write_bytes(program)
    target.chmod(0o755)


def _script(path: Path, entry: str, python: Path) -> None:
    """A console script as an installer writes it."""
    module, _, function = entry.partition(":")
    path.write_text(f"#!{python}\nimport sys\nfrom {module} import {function}\nsys.exit({function}())\n")
    path.chmod(0o755)


def link_tree(source: Path, target: Path, *left_out: str) -> None:
    """The folder again at `target`, readable to all: by hard links where that can be."""
    shutil.copytree(
        source, target, symlinks=True, copy_function=_link, ignore=shutil.ignore_patterns(*left_out)
    )


def _link(source: str, target: str) -> str:
    """A hard link where that gives a readable file, a copy otherwise."""
    readable = os.stat(source).st_mode & 0o004
    try:
        if readable:
            os.link(source, target, follow_symlinks=True)
            return target
    except OSError:  # another file system
        pass
    shutil.copyfile(source, target)
    os.chmod(target, 0o755 if os.access(source, os.X_OK) else 0o644)
    return target
