"""What another program replaces during the run is covered again, and told of."""

import errno
import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from launcher import covers, kernel
from launcher.covers import Covers
from tests.launcher.rig import SYSTEM_PYTHON, WHO, Result, apart, plan, project, run_here, without

pytestmark = pytest.mark.attack

LOOK = """
import os, time
open("ready", "w").close()
while not os.path.exists("go"): time.sleep(0.01)
deadline = time.monotonic() + GIVEN
def seen(action):
    try: return action()
    except OSError as error: return type(error).__name__
def looks(): return [seen(lambda: open(".env").read()), seen(lambda: open(".git/config", "w").write("evil"))]
def both(): return looks(), seen(lambda: os.listdir("keys"))
while both() != (["PermissionError", "OSError"], "PermissionError") and time.monotonic() < deadline:
    time.sleep(0.01)
print(*both())
"""


def _prepare(folder: Path) -> None:
    (folder / ".env").write_text("old")
    (folder / ".git").mkdir()
    (folder / ".git" / "config").write_text("[core]")
    (folder / "keys").mkdir()
    (folder / "keys" / "one").write_text("key")


def watched(
    act: Callable[[Path], Any],
    *,
    who: str = "ordinary user",
    change: Callable[[], Any] | None = None,
    given: float = 60,
) -> Result:
    """Run an agent that looks after `act` was done outside."""

    def work() -> Result:
        _prepare(folder)
        what = plan(
            folder,
            (SYSTEM_PYTHON, "-I", "-c", LOOK.replace("GIVEN", str(given))),
            masked=(f"{folder}/.env", f"{folder}/keys"),
            protected=(f"{folder}/.git/config",),
        )

        def during(_boundary: object) -> None:
            while not (folder / "ready").exists():
                time.sleep(0.01)
            act(folder)
            (folder / "go").touch()

        return run_here(what, during=during)

    with project(who) as folder:
        result: Result = apart(work, who=who, change=change)
    return result


def save(path: Path) -> None:
    """As editors and git do."""
    new = path.with_name(path.name + ".new")
    new.write_text("new")
    os.replace(new, path)


def save_both(folder: Path) -> None:
    save(folder / ".env")
    save(folder / ".git" / "config")


@pytest.mark.parametrize("who", WHO)
def test_a_file_that_is_saved_anew_outside_is_covered_again_and_named(who: str) -> None:
    result = watched(save_both, who=who)
    assert result.out == "['PermissionError', 'OSError'] PermissionError\n", result.error
    assert result.ended is not None
    assert [os.path.basename(path) for path in result.ended.replaced] == [".env", "config"]


def test_without_the_watch_it_lies_bare() -> None:
    result = watched(save_both, change=without(Covers, "restore", lambda _self: []), given=0.3)
    assert result.out.startswith("['new', 4]"), result.error


def test_a_file_that_is_removed_and_made_again_is_covered_again() -> None:
    def remove_and_make(folder: Path) -> None:
        for path in (folder / ".env", folder / ".git" / "config"):
            path.unlink()
            path.write_text("new")

    assert watched(remove_and_make).out.startswith("['PermissionError', 'OSError']")


def test_a_folder_is_covered_again_as_a_folder() -> None:
    def replace_all(folder: Path) -> None:
        save_both(folder)
        (folder / "keys").rename(folder / "old")
        (folder / "keys").mkdir()
        (folder / "keys" / "two").write_text("key")

    result = watched(replace_all)
    assert result.out.endswith("] PermissionError\n"), result.out


def test_nothing_is_told_of_where_nothing_was_replaced() -> None:
    result = watched(lambda folder: (folder / "other").write_text("x"))
    assert result.out.startswith("['PermissionError', 'OSError']")
    assert result.ended is not None
    assert result.ended.replaced == ()


def test_when_events_were_lost_everything_is_looked_at() -> None:
    def lose_all_names() -> None:
        real = covers.os.read

        def read(descriptor: int, size: int) -> bytes:
            data = real(descriptor, size)
            is_watch = "inotify" in os.readlink(f"/proc/self/fd/{descriptor}")
            return covers._EVENT.pack(-1, covers._OVERFLOW, 0, 0) if is_watch else data

        covers.os.read = read

    result = watched(save_both, change=lose_all_names)
    assert result.out.startswith("['PermissionError', 'OSError']"), result.ended


def test_a_limit_on_watches_refuses_the_run_and_names_the_setting() -> None:
    def refuse(*_args: object) -> int:
        raise OSError(28, "No space left on device", "inotify_add_watch")

    result = watched(save_both, change=without(kernel, "watch", refuse))
    assert "max_user_watches" in result.error


def test_a_path_that_is_gone_again_before_it_is_covered_does_no_harm() -> None:
    def race() -> None:
        real, raced = Covers._put, []

        def put(self, cover, place):
            if not raced:
                raced.append(cover)
                raise FileNotFoundError(2, "No such file or directory", "move_mount")
            real(self, cover, place)

        Covers._put = put

    result = watched(save_both, change=race)
    assert result.out.startswith("['PermissionError', 'OSError']"), result.ended


def test_a_path_that_cannot_be_covered_again_ends_the_run() -> None:
    def put(self, cover, place):
        raise PermissionError(1, "Operation not permitted", "move_mount")

    result = watched(save_both, change=without(Covers, "_put", put))
    assert result.ended is not None
    assert result.ended.killed is not None
    assert "move_mount" in result.ended.killed


SHOWN = """
import os, time
open("ready", "w").close()
while not os.path.exists("go"): time.sleep(0.01)
deadline = time.monotonic() + GIVEN
while open("token").read() != "placeholder" and time.monotonic() < deadline: time.sleep(0.01)
print(open("token").read())
"""


def shown(
    *, who: str = "ordinary user", masked: bool = False, change: Callable[[], Any] | None = None
) -> Result:
    """Run an agent that is shown a file of ours in the place of one that is saved anew outside."""

    def work() -> Result:
        token = folder / "token"
        token.write_text("the real value")
        program = SHOWN.replace("GIVEN", "0.3" if change else "60")
        what = plan(
            folder,
            (SYSTEM_PYTHON, "-I", "-c", program),
            files={str(token): b"placeholder"},
            masked=(str(token),) if masked else (),
        )

        def during(_boundary: object) -> None:
            while not (folder / "ready").exists():
                time.sleep(0.01)
            save(token)
            save(token)  # what covers it the second time was put there by the watch
            (folder / "go").touch()

        return run_here(what, during=during)

    with project(who) as folder:
        result: Result = apart(work, who=who, change=change)
    return result


@pytest.mark.parametrize("who", WHO)
@pytest.mark.parametrize("masked", [False, True])
def test_a_file_with_placeholders_is_shown_again_where_the_real_one_was_saved_anew(
    who: str, masked: bool
) -> None:
    result = shown(who=who, masked=masked)
    assert result.out == "placeholder\n", result.error
    assert result.ended is not None
    assert [os.path.basename(path) for path in result.ended.replaced] == ["token"]


def test_without_the_watch_the_real_file_lies_bare() -> None:
    assert shown(change=without(Covers, "restore", lambda _self: [])).out == "new\n"


@pytest.mark.parametrize("files", [("conf/token",), ()], ids=["shown", "control"])
def test_the_folder_of_such_a_file_cannot_be_moved_from_under_the_watch(files: tuple[str, ...]) -> None:
    def work() -> Result:
        (folder / "conf").mkdir()
        (folder / "conf" / "token").write_text("the real value")
        program = "import os\ntry: os.rename('conf', 'old'); print(0)\nexcept OSError as e: print(e.errno)"
        shown = {f"{folder}/{name}": b"placeholder" for name in files}
        return run_here(plan(folder, (SYSTEM_PYTHON, "-I", "-c", program), files=shown))

    with project() as folder:
        result: Result = apart(work)
    assert result.out == f"{errno.EBUSY if files else 0}\n"
