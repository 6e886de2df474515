"""What a replayed agent finds as it was recorded: addresses, files and their owners, programs."""

import os
import re
import shutil
import signal
import subprocess
import time
from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

import pytest

from hark.bundle import events as ev
from hark.ids import ALPHABET
from tests.e2e.rig import Desk, ok
from tests.e2e.test_replay import PYTHON, elsewhere, replay  # noqa: F401  (a fixture)
from tests.fakes.upstream import serving
from tests.support.otherday import moved
from tests.support.rerecorded import replaced, retell

pytestmark = pytest.mark.e2e

ADDRESSES = """
import ctypes, os, threading, time
time.sleep(0.02)  # something for the clock's log, which only a replay reads
print(id(object()), id([]), hex(ctypes.addressof(ctypes.create_string_buffer(1 << 20))))
for line in open("/proc/self/maps"):
    span, _, _, _, _, *path = line.split()
    if "/run/hark/shim/clock" not in path:
        print(span, *path)
"""
SHOWN = """
import os
for top, folders, files in os.walk("."):
    for name in sorted(folders + files):
        path = os.path.join(top, name)
        status = os.lstat(path)
        print(path, oct(status.st_mode), status.st_uid == os.getuid(), status.st_gid == os.getgid())
        print(status.st_mtime_ns)
with open("private/data", "a") as file:
    file.write("more")
os.mkdir("private/new")
"""


def recorded(at: Desk, agent: str, *words: str, code: int = 0) -> str:
    """What an agent printed that was recorded."""
    at.write("agent.py", agent)
    return ok(at.run("--", *(words or (PYTHON, "agent.py"))), code).stdout


def equal(ended: Any, printed: str) -> None:
    """Hold a replay to what was printed, and to its verdict."""
    assert "hark: REPLAY-EQUAL, " in ok(ended).stderr
    assert ended.stdout == printed


def test_addresses_are_as_recorded(rootless: Desk) -> None:
    printed = recorded(rootless, ADDRESSES)
    equal(replay(rootless), printed)


MADE = """
umask; stat -c %a . ; grep SigIgn /proc/self/status
echo made > file; mkdir folder; ls -l | cut -d " " -f 1
"""


@pytest.mark.parametrize(("then", "now"), [(0o027, 0o077), (0o002, 0o022)])
def test_the_umask_and_ignored_signals_are_as_recorded(at: Desk, then: int, now: int) -> None:
    def ignoring() -> None:
        signal.signal(signal.SIGHUP, signal.SIG_IGN)

    at.write("agent.sh", MADE)
    ran = ok(at.run("--", "sh", "agent.sh", umask=then, preexec_fn=ignoring))
    assert ran.stdout.startswith(f"{then:04o}\n755\n")
    ignored = int(ran.stdout.split()[3], 16) & ~(
        0b11 << 31
    )  # 32 and 33 are the C library's, from whoever began
    assert ignored == 1 << (signal.SIGHUP - 1)
    (event,) = at.events("boundary")
    assert (event["umask"], event["ignored"]) == (f"{then:04o}", ["SIGHUP"])
    equal(at.hark("replay", at.bundle, umask=now), ran.stdout)


@pytest.mark.parametrize(
    ("then", "now", "allowed"), [("Asia/Tokyo", "UTC", True), ("UTC", "Asia/Tokyo", False)]
)
def test_rules_by_the_hour_are_judged_in_the_recorded_zone(
    rootless: Desk, then: str, now: str, allowed: bool
) -> None:
    there = datetime.now(ZoneInfo("Asia/Tokyo"))
    first, last = there - timedelta(hours=2), there + timedelta(hours=2)
    span = f"{first:%H:%M}-{last:%H:%M}"
    rootless.write("policy.toml", f'[[allow]]\nhost = "api.example"\nhours = "{span}"\n')
    rootless.write("agent.sh", "getent hosts api.example || echo denied\n")
    rootless.env["TZ"] = then
    ran = ok(rootless.run("-policy=policy.toml", "--", "sh", "agent.sh"))
    assert ("denied" in ran.stdout) is (then == "UTC")
    rootless.env["TZ"] = now
    equal(replay(rootless), ran.stdout)


def test_files_belong_to_the_agent_with_the_recorded_modes(at: Desk, elsewhere: Desk) -> None:  # noqa: F811
    at.write("private/data", "x").chmod(0o600)
    at.write("tool", "#!/bin/sh\n").chmod(0o755)
    (at.project / "private").chmod(0o700)
    (at.project / "link").symlink_to("private/data")
    if at.user.uid:
        for path in ("private", "link"):
            os.chown(at.project / path, at.user.uid, at.user.gid, follow_symlinks=False)
    printed = recorded(at, SHOWN)
    assert "False" not in printed
    (at.project / "private/data").write_text("x")
    (at.project / "private/new").rmdir()
    equal(replay(at), printed)
    shutil.copy(at.bundle, elsewhere.bundle)
    elsewhere.bundle.chmod(0o644)
    equal(replay(elsewhere, "--trust-bundle"), printed)


PACKAGED = """
import os, sys, greeting
print(sys.prefix, sys.executable, greeting.WORDS)
print(sorted(os.listdir("node_modules"))[:3])
try:
    open("node_modules/new", "w").close()
except OSError:
    pass
"""


def packaged(at: Desk) -> str:
    """Record an agent in a real virtual environment, beside many ignored files; neither is in the record."""
    at.write(".gitignore", ".venv\nnode_modules/\n")
    environment = at.project / ".venv"
    subprocess.run([PYTHON, "-m", "venv", "--without-pip", environment], check=True, cwd=at.project)
    (site,) = environment.glob("lib/python3*/site-packages")
    at.write(str(site.relative_to(at.project) / "greeting.py"), 'WORDS = "from a package"\n')
    for number in range(600):
        at.write(f"node_modules/{number:03}.js", "")
    if os.geteuid() == 0:
        subprocess.run(["chown", "-R", f"{at.user.uid}:{at.user.gid}", environment, at.project], check=True)
    printed = recorded(at, PACKAGED, ".venv/bin/python", "agent.py")
    (at.project / "node_modules/new").unlink()  # the recorded run could write there; a replay does not
    return printed


def test_what_git_ignores_is_shown_from_the_callers_own_project(at: Desk) -> None:
    printed = packaged(at)
    ended = replay(at)
    equal(ended, printed)
    assert f"shown from {at.project}, read-only" in ended.stderr
    assert "node_modules/" in ended.stderr
    assert not (at.project / "node_modules/new").exists()
    os.rename(at.project / "node_modules", at.project / "elsewhere")
    gone = ok(replay(at), 1)
    assert "not in the record, and so not here: node_modules/ (ignored by git)" in gone.stderr
    assert "FileNotFoundError" in gone.stderr


def test_a_stranger_names_the_directory_that_has_it(at: Desk, elsewhere: Desk) -> None:  # noqa: F811
    printed = packaged(at)
    shutil.copy(at.bundle, elsewhere.bundle)
    elsewhere.bundle.chmod(0o644)
    missing = replay(elsewhere, "--trust-bundle")
    assert missing.returncode not in (0, 1)
    assert "-workdir DIR" in missing.stderr or "not on this machine" in missing.stderr
    ended = replay(elsewhere, "--trust-bundle", "-workdir", at.project)
    equal(ended, printed)
    assert not (at.project / "node_modules/new").exists()


COMMITS = """
set -e
export GIT_AUTHOR_NAME=a GIT_AUTHOR_EMAIL=a@b.example GIT_COMMITTER_NAME=a GIT_COMMITTER_EMAIL=a@b.example
unset PYTHONDONTWRITEBYTECODE
git init -q . && git add agent.sh use.py own.py && git commit -qm one
python3 use.py > said.txt && git add said.txt && git commit -qm two
git log --format="%H %ct %s"
"""
USES = """
import own, sqlite3
with open("made.py", "w") as file:
    file.write("WORDS = 'made by the agent'")
import made
base = sqlite3.connect("base.sqlite")
base.execute("pragma journal_mode=wal")
base.execute("create table t (a)")
base.execute("insert into t values (random())")
base.commit()
print(own.WORDS, made.WORDS, *base.execute("select a from t"))
"""


def test_commits_caches_and_databases_are_as_recorded(at: Desk) -> None:
    at.write("agent.sh", COMMITS)
    at.write("own.py", "WORDS = 'its own module'\n")
    at.write("use.py", USES)
    printed = ok(at.run("--", "/bin/bash", "agent.sh")).stdout
    assert len(printed.split()) == 6
    (first,) = at.project.glob("__pycache__/own.*.pyc")
    kept = at.project.parent / "kept"
    equal(replay(at, "-keep", kept), printed)
    assert (kept / "__pycache__" / first.name).read_bytes() == first.read_bytes()  # it has the source's time
    changed = "WORDS = 'its new module'\n"
    at.write("own.py", changed)
    for made in (".git", "__pycache__"):
        shutil.rmtree(at.project / made)
    diverged = ok(replay(at, "-workdir", at.project), 1)
    assert "REPLAY-DIVERGED" in diverged.stderr


PROCESSORS = """
import os
from concurrent.futures import ThreadPoolExecutor
print(os.cpu_count(), len(os.sched_getaffinity(0)), ThreadPoolExecutor()._max_workers > 0)
print(open("/proc/stat").read().count("\\ncpu"), open("/sys/devices/system/cpu/online").read())
"""


@pytest.fixture
def one_processor() -> Iterator[None]:
    """Let what this thread starts run on one processor."""
    all_of_them = os.sched_getaffinity(0)
    if len(all_of_them) < 2:
        pytest.skip("this machine has one processor")
    os.sched_setaffinity(0, {min(all_of_them)})
    try:
        yield
    finally:
        os.sched_setaffinity(0, all_of_them)


def test_processors_are_counted_as_recorded(rootless: Desk, request: pytest.FixtureRequest) -> None:
    printed = recorded(rootless, PROCESSORS)
    unknown = rootless.project.parent / "unknown.hark"
    retell(rootless.bundle, unknown, replaced(ev.Boundary, processors=0, online=0)).chmod(0o644)
    request.getfixturevalue("one_processor")
    equal(replay(rootless), printed)
    assert ok(replay(rootless, "--trust-bundle", bundle=unknown)).stdout != printed


def test_processors_of_another_machine_are_counted_as_there(at: Desk, elsewhere: Desk) -> None:  # noqa: F811
    recorded(at, PROCESSORS)
    elsewhere.bundle.unlink(missing_ok=True)
    retell(at.bundle, elsewhere.bundle, replaced(ev.Boundary, processors=5, online=7))
    elsewhere.bundle.chmod(0o644)
    told = ok(replay(elsewhere, "--trust-bundle"))
    assert told.stdout.split() == ["7", "5", "True", "7", "0-6"]
    assert "hark: REPLAY-EQUAL, " in told.stderr


CALLS = """
import subprocess, sys, urllib.request
ended = subprocess.run([sys.argv[1]]).returncode
print(urllib.request.urlopen(f"https://api.example/{ended}").read(), flush=True)
"""


@pytest.mark.parametrize("other", ["/bin/false", "/bin/true"])
def test_a_program_that_is_another_one_is_named_before_what_came_of_it(rootless: Desk, other: str) -> None:
    """The same program again is the control."""
    tool = rootless.project.parent / "bin" / "tool"
    tool.parent.mkdir(mode=0o755)
    shutil.copy("/bin/true", tool)
    with serving("api.example") as upstream:
        upstream.on("/0")(lambda call: call.reply(200, b"answer"))
        rootless.write("agent.py", CALLS)
        options = rootless.toward(upstream, "api.example", policy=f'read_paths = ["{tool.parent}"]')
        ok(rootless.run(*options, "--", "python3", "agent.py", str(tool)))
    shutil.copy(other, tool)
    ended = rootless.hark("replay", "-read", tool.parent, rootless.bundle)
    if other == "/bin/true":
        assert "hark: REPLAY-EQUAL, " in ok(ended).stderr
        return
    named = f"another program than when recorded: {tool}; no recording for GET api.example/1"
    assert f"hark: REPLAY-DIVERGED: {named}" in ok(ended, 1).stderr


BY_THE_CLOCK = """
import datetime, os, socket, ssl, time, urllib.request
print(datetime.datetime.now(), time.strftime("%X %Z"), flush=True)
for turn in range(2):
    with urllib.request.urlopen("https://api.example/%d?%s" % (turn, time.time_ns())) as answer:
        print(answer.headers["date"], answer.read(), flush=True)
    time.sleep(0.1)
with socket.create_connection(("api.example", 443)) as plain:
    with ssl.create_default_context().wrap_socket(plain, server_hostname="api.example") as sock:
        dates = sock.getpeercert()
        begun, over = (ssl.cert_time_to_seconds(dates[name]) for name in ("notBefore", "notAfter"))
        print("valid", begun < time.time() < over, flush=True)
with open("diary.txt", "w") as file:
    file.write(str(datetime.date.today()))
print(os.stat("agent.py").st_mtime < time.time())
"""
HALF_A_DAY, YEARS = 12 * 3600, 6 * 365 * 86400


@pytest.mark.skipif(shutil.which("cc") is None, reason="there is no C compiler here")
@pytest.mark.parametrize("seconds", [HALF_A_DAY, -HALF_A_DAY, YEARS])
def test_it_replays_at_any_time_of_day(rootless: Desk, seconds: int) -> None:
    """The machine's clock is another one, in which the certificates of the recorded time would be over."""
    with serving("api.example") as upstream:
        for turn in range(2):
            upstream.on(f"/{turn}")(lambda call: call.reply(200, b"answer"))
        rootless.write("agent.py", BY_THE_CLOCK)
        options = rootless.toward(upstream, "api.example")
        printed = ok(rootless.run(*options, "--", PYTHON, "agent.py")).stdout
    assert "valid True" in printed
    folder = rootless.project.parent
    rootless.env |= moved(folder, seconds)
    began = time.time() + seconds
    equal(rootless.hark("replay", "-o", folder / "again.hark", rootless.bundle), printed)
    assert began - 1 < made_at(rootless, "again.hark") < time.time() + seconds  # it was moved indeed
    assert abs(made_at(rootless, "run.hark") - time.time()) < HALF_A_DAY / 2


def made_at(at: Desk, name: str) -> float:
    """When the machine says that a bundle was begun: the first ten characters of its run's id."""
    run = re.search(r"run ([0-9A-Z]{26})", ok(at.hark("verify", at.project.parent / name)).stdout)
    assert run is not None
    milliseconds = 0
    for character in run[1][:10]:
        milliseconds = 32 * milliseconds + ALPHABET.index(character)
    return milliseconds / 1000
