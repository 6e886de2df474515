"""Runs a program inside a real boundary, from a process of its own, as root or as an ordinary user.

The process is forked from the tests with everything imported, so that the ordinary user needs to read nothing
of ours; a test may change the launcher in it (`without`), which is how a defence is taken away.
"""

import faulthandler
import os
import pickle
import select
import shutil
import signal
import tempfile
import time
import traceback
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import launcher.build
import launcher.network  # what the launcher's child would import after the change of user
from hark.errors import HarkError
from launcher import kernel
from launcher.launch import launch
from launcher.plan import Access, Grant, Plan
from launcher.report import Ended, Facts
from launcher.supervise import Boundary
from launcher.system import system_grants
from tests.fakes.gateway import FakeGateway
from tests.support.user import UID

assert launcher.build
assert launcher.network

SYSTEM_PYTHON: Final = next(
    path for path in ("/usr/bin/python3", "/usr/local/bin/python3") if os.path.exists(path)
)
PATH: Final = "/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin"
WHO: Final = ("ordinary user", "root") if os.geteuid() == 0 else ("ordinary user",)
"""Who launches; as an ordinary user the tests cannot become root."""

HUNG_S: Final = 150  # no work of a test takes a third of that, on the busiest machine so far

type Work = Callable[[], Any]


@dataclass
class Result:
    """What came of one run."""

    ended: Ended | None = None
    error: str = ""
    error_kind: str = ""
    exit_code: int | None = None
    out: str = ""
    err: str = ""
    facts: Facts | None = None
    found: Any = None
    """What `after` returned, when everything inside had ended."""
    seen: list[tuple[str, str, int]] = field(default_factory=list)


def become_ordinary() -> None:
    """Leave root, if we are it, for good."""
    if os.geteuid() == 0:
        os.setgroups([])
        os.setresgid(UID, UID, UID)
        os.setresuid(UID, UID, UID)
        kernel.set_dumpable(dumpable=True)


def apart(work: Work, *, who: str = "ordinary user", change: Work | None = None) -> Any:
    """Run `work` in a forked child, as `who`, after `change`; return what it returns.

    A child that does not answer in `HUNG_S` is ended, and the error says where each of its threads stood.
    """
    read, write = os.pipe()
    stack = tempfile.TemporaryFile()  # noqa: SIM115  (closed below, and by the child's end)
    child = os.fork()
    if child == 0:
        faulthandler.register(signal.SIGTRAP, stack)  # a signal that the launcher leaves alone
        try:
            os.close(read)
            if who != "root":
                become_ordinary()
            if change is not None:
                change()
            answer = (True, work())
        except BaseException:
            answer = (False, traceback.format_exc())
        with open(write, "wb") as file:
            pickle.dump(answer, file)
        os._exit(0)
    os.close(write)
    with stack, open(read, "rb") as file:
        if not select.select([file], [], [], HUNG_S)[0]:
            os.kill(child, signal.SIGTRAP)
            time.sleep(1)
            os.kill(child, signal.SIGKILL)
        data = file.read()
        os.waitpid(child, 0)
        stack.seek(0)
        where = stack.read().decode(errors="replace")
    if where:
        raise AssertionError(f"the forked child did not answer in {HUNG_S} s:\n{where}")
    if not data:
        raise AssertionError("the forked child ended without an answer")
    good, value = pickle.loads(data)
    if not good:
        raise AssertionError(value)
    return value


@contextmanager
def project(who: str = "ordinary user") -> Iterator[Path]:
    """A project directory that belongs to whoever launches."""
    folder = Path(tempfile.mkdtemp(prefix="hark-test-"))
    try:
        if who != "root" and os.geteuid() == 0:
            os.chown(folder, UID, UID)
        yield folder
    finally:
        shutil.rmtree(folder)


def plan(folder: Path, argv: tuple[str, ...], **changes: Any) -> Plan:
    """A plan that runs `argv` in `folder`."""
    grants = (
        *system_grants(),
        Grant(str(folder), Access.WRITE, "project directory"),
        *changes.pop("more", ()),
    )
    values: dict[str, Any] = {
        "argv": argv,
        "executable": shutil.which(argv[0], path=PATH) or argv[0],
        "workdir": str(folder),
        "env": {"PATH": PATH, "HOME": "/home/agent", "LANG": "C.UTF-8"},
        "grants": grants,
        "home": "/home/agent",
    }
    return Plan(**(values | changes))


def run_here(
    what: Plan,
    *,
    files: Mapping[str, bytes] | None = None,
    before: Callable[[Boundary], Any] | None = None,
    during: Callable[[Boundary], Any] | None = None,
    after: Callable[[Boundary], Any] | None = None,
    gateway: bool = True,
    stdin: str = "/dev/null",
) -> Result:
    """Launch `what` in this process, with its standard streams in files."""
    result = Result()
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err, open(stdin, "rb") as source:
        os.dup2(source.fileno(), 0)
        os.dup2(out.fileno(), 1)
        os.dup2(err.fileno(), 2)
        try:
            _fill(result, what, files, (before, during, after), gateway)
        except HarkError as error:
            result.error, result.error_kind = str(error), type(error).__name__
            result.exit_code = error.exit_code
        for name, file in (("out", out), ("err", err)):
            file.seek(0)
            setattr(result, name, file.read().decode(errors="replace"))
    return result


def _fill(
    result: Result,
    what: Plan,
    files: Mapping[str, bytes] | None,
    hooks: tuple[Callable[[Boundary], Any] | None, ...],
    gateway: bool,
) -> None:
    before, during, after = hooks
    with launch(what) as boundary:
        fake = FakeGateway(boundary.sockets) if gateway else None
        try:
            result.facts = boundary.facts
            if before is not None:
                before(boundary)
            boundary.start(files)
            if during is not None:
                during(boundary)
            result.ended = boundary.wait()
            if after is not None:
                result.found = after(boundary)
        finally:
            if fake is not None:
                result.seen = fake.stop()


def contained(
    argv: tuple[str, ...],
    *,
    who: str = "ordinary user",
    change: Work | None = None,
    prepare: Callable[[Path], Any] | None = None,
    files: Mapping[str, bytes] | None = None,
    before: Callable[[Boundary], Any] | None = None,
    during: Callable[[Boundary], Any] | None = None,
    after: Callable[[Boundary], Any] | None = None,
    **changes: Any,
) -> Result:
    """Run `argv` inside a boundary around a fresh project, which `prepare` fills as the launching user."""
    with project(who) as folder:

        def work() -> Result:
            if prepare is not None:
                prepare(folder)
            values = changes | {
                key: tuple(str(folder / name) for name in names)
                for key, names in changes.items()
                if key in ("masked", "protected", "hidden")
            }
            made = plan(folder, argv, **values)
            return run_here(made, files=files, before=before, during=during, after=after)

        return apart(work, who=who, change=change)


def shell(script: str, **options: Any) -> Result:
    """Run a shell script inside."""
    return contained(("/bin/sh", "-c", script), **options)


def python(program: str, **options: Any) -> Result:
    """Run a Python program inside, on the system's interpreter."""
    return contained((SYSTEM_PYTHON, "-I", "-c", program), **options)


def without(module: Any, name: str, instead: Any = None) -> Work:
    """A change that replaces `module.name`, by something that does nothing unless given."""
    return lambda: setattr(module, name, instead if instead is not None else lambda *_a, **_k: None)
