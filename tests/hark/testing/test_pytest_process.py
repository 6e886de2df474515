"""Marked tests in pytest's own process, by pytest itself: recorded once, then each with one thing changed."""

import os
import resource
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from hark.verify.steps import verify
from tests.fakes.upstream import serving

pytestmark = [pytest.mark.slow, pytest.mark.timeout(180)]  # some thirty tests with a process for each

TESTS = """
import _socket, asyncio, contextlib, os, socket, subprocess, threading, unittest, urllib.request
import pytest

AGAIN = "AGAIN" in os.environ
URL = "http://api.example/v1"

def fetch(body=b"hi", url=URL):
    with urllib.request.urlopen(urllib.request.Request(url, body), timeout=60) as answer:
        return answer.read()

@pytest.fixture
def attended():
    fetch(b"before")
    yield
    fetch(b"after")

@pytest.mark.hark
def test_same(attended):
    assert fetch() == b"hello"

@pytest.mark.hark
def test_async():
    async def main():
        return await asyncio.gather(*(asyncio.to_thread(fetch, b"%d" % number) for number in range(3)))
    assert asyncio.run(main()) == [b"hello"] * 3

class TestCase(unittest.TestCase):
    @pytest.mark.hark
    def test_of_unittest(self):
        self.assertEqual(fetch(), b"hello")

@pytest.mark.hark
def test_prompt():
    assert fetch(b"ho" if AGAIN else b"hi") == b"hello"

@pytest.mark.hark
def test_swallowed():
    try:
        fetch(b"ho" if AGAIN else b"hi")
    except Exception:
        pass

@pytest.mark.hark
def test_unasked():
    if not AGAIN:
        fetch()

@pytest.mark.hark
def test_elsewhere():
    fetch()
    try:
        if AGAIN:
            fetch(url="http://elsewhere.example/")
    except Exception:
        pass

@pytest.mark.hark
def test_raw():
    try:
        if AGAIN:
            _socket.socket().connect(("192.0.2.1", 443))
    except Exception:
        pass

@pytest.mark.hark
def test_program():
    try:
        if AGAIN:
            os.system("true")
    except Exception:
        pass

@pytest.mark.hark
def test_fails_itself():
    fetch()
    assert not AGAIN, "by itself"

@pytest.mark.hark
def test_not_recorded():
    assert AGAIN

@pytest.mark.hark("bundles/test_it/test_same.hark" if AGAIN else "bundles/other.hark")
def test_swapped():
    fetch()

@pytest.mark.skip
@pytest.mark.hark
def test_skipped():
    fetch()

@pytest.mark.hark
def test_skips_then():
    fetch()
    if AGAIN:
        try:
            fetch(b"ho")
        except Exception:
            pytest.skip("no network")

@pytest.mark.hark
def test_calls_xfail():
    fetch()
    if AGAIN:
        try:
            fetch(b"ho")
        except Exception:
            pytest.xfail("no network")

@pytest.mark.hark
def test_skips_early():
    if AGAIN:
        pytest.skip("not here")
    fetch()

@pytest.mark.hark
def test_any_uname():
    if AGAIN:
        env = {"PATH": os.getcwd()}
        with contextlib.suppress(Exception):
            subprocess.run(["uname"], env=env)

@pytest.mark.hark
def test_serves_all():
    if AGAIN:
        with contextlib.suppress(Exception):
            _socket.socket().bind(("0.0.0.0", 0))

@pytest.mark.hark
def test_serves():
    with socket.create_server(("", 0)) as server, socket.socket() as other:
        assert server.getsockname()[0] == "127.0.0.1"
        other.listen()
        assert other.getsockname()[0] == "127.0.0.1"
        with socket.create_connection(server.getsockname()):
            pass

@pytest.mark.hark
def test_leaves():
    fetch()
    if "LEAVE" in os.environ:
        with contextlib.suppress(Exception):
            fetch(os.environ["LEAVE"].encode())
        pytest.exit("", 0)

@pytest.mark.hark
def test_outlived():
    fetch()
    if "OUTLIVE" in os.environ:
        def later():
            over.wait()
            with contextlib.suppress(OSError):
                socket.create_connection(("127.0.0.1", 9))
        threads.append(threading.Thread(target=later))
        threads[0].start()

over, threads = threading.Event(), []

def test_unmarked_at_the_end():
    over.set()
    for thread in threads:
        thread.join()

def test_unmarked():
    _socket.socket(_socket.AF_INET, _socket.SOCK_DGRAM).connect(("192.0.2.1", 443))
"""
PASSED = {
    "test_same",
    "test_async",
    "test_of_unittest",
    "test_unmarked",
    "test_unmarked_at_the_end",
    "test_serves",
    "test_leaves",
    "test_outlived",
}
FAILED = {
    "test_prompt": "no recording for POST api.example/v1",
    "test_swallowed": "no recording for POST api.example/v1",
    "test_unasked": "POST api.example/v1 (event 10) was not asked for",
    "test_elsewhere": "elsewhere.example",
    "test_raw": "the test reached for a connection to 192.0.2.1:443 past what is recorded",
    "test_program": "the test reached for the program sh",
    "test_skips_then": "no recording for POST api.example/v1",
    "test_calls_xfail": "no recording for POST api.example/v1",
    "test_any_uname": "the test reached for the program uname",
    "test_serves_all": "the test reached for listening at 0.0.0.0:0, where other machines could ask",
    "test_fails_itself": "by itself",
    "test_not_recorded": "there is no bundle",
    "test_swapped": "was recorded of test_it.py::test_same, and not of test_it.py::test_swapped",
}


def run(folder: Path, *words: str, limit: int | None = None, **env: str) -> tuple[int, str]:
    """Run pytest in the project; `limit` is one on open files, with which no boundary can be had."""
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    base = {name: os.environ[name] for name in ("PATH", "PYTHONDONTWRITEBYTECODE") if name in os.environ}
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-rA", "-p", "no:cacheprovider", *words],
        cwd=folder,
        env=base | {"HOME": str(folder / "home")} | env,
        preexec_fn=None
        if limit is None
        else lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (limit, hard)),
        capture_output=True,
        text=True,
        timeout=170,
        check=False,
    )
    return done.returncode, done.stdout + done.stderr


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A project whose tests were recorded; their server is gone."""
    folder = tmp_path_factory.mktemp("project")
    (folder / "home").mkdir()
    (folder / "test_it.py").write_text(TESTS)
    (folder / "pytest.ini").write_text("[pytest]\nhark_policy = policy.toml\n")
    with serving("api.example", tls=False) as upstream:
        upstream.on("/v1")(lambda call: call.reply(200, b"hello"))
        (folder / "policy.toml").write_text(
            f'[[allow]]\nhost = "api.example"\nport = 80\nupstream = "{upstream.address}"\n'
        )
        code, said = run(folder, "--hark-way=process", "--hark-record=once")
    assert (code, "1 failed, 21 passed, 1 skipped" in said) == (1, True), said
    assert "hark: 19 recorded, in pytest's own process, where nothing is contained" in said
    return folder


def test_a_recording_is_marked_and_only_a_test_that_passed_leaves_one(recorded: Path) -> None:
    bundles = {path.stem: path for path in (recorded / "bundles").rglob("*.hark")}
    assert {"test_same", "other", "TestCase.test_of_unittest"} < bundles.keys()
    assert not {"test_not_recorded", "test_skipped"} & bundles.keys()
    assert verify(str(bundles["test_same"])).uncontained == "the test's own process"
    assert list(recorded.rglob(".hark-*")) == []


def test_what_is_the_same_passes_and_each_difference_fails_with_its_words(recorded: Path) -> None:
    code, said = run(recorded, "--hark-way=process", AGAIN="1")
    assert (code, f"{len(FAILED)} failed, {len(PASSED)} passed, 2 skipped" in said) == (1, True), said
    parts = said.split("\n____")
    for name, words in FAILED.items():
        (part,) = [one for one in parts if one.lstrip("_").startswith(f" {name} ")]
        assert words in part, part
    for name in PASSED:
        assert f"PASSED test_it.py::{'TestCase::' if 'unittest' in name else ''}{name}" in said
    assert "hark: 6 replayed, in pytest's own process" in said


def test_a_test_that_is_only_set_up_is_neither_failed_nor_counted(recorded: Path) -> None:
    code, said = run(recorded, "--hark-way=process", "--setup-only", "test_it.py::test_raw")
    assert (code, "replayed" in said) == (0, False), said


def test_where_no_boundary_can_be_had_a_replay_says_why_and_a_recording_is_not_made(
    recorded: Path, tmp_path: Path
) -> None:
    folder = tmp_path / "copy"
    shutil.copytree(recorded, folder)
    code, said = run(folder, "test_it.py::test_raw", limit=100)
    assert (code, "hark: 1 replayed, in pytest's own process" in said) == (0, True), said
    assert "hark: this machine has no boundary: missing limits the limit of open files is 100" in said
    before = (folder / "bundles/test_it/test_raw.hark").read_bytes()
    code, said = run(folder, "test_it.py::test_raw", "--hark-record=all", limit=100)
    assert (code, "the recording failed" in said) == (1, True), said
    assert (folder / "bundles/test_it/test_raw.hark").read_bytes() == before


@pytest.mark.attack
def test_a_test_that_leaves_pytest_after_what_was_not_recorded_does_not_end_it_well(recorded: Path) -> None:
    words = ("--hark-way=process", "test_it.py::test_leaves")
    code, said = run(recorded, *words, LEAVE="ho")
    assert (code, "no recording for POST api.example/v1" in said) == (1, True), said
    code, said = run(recorded, *words)  # the control
    assert code == 0, said


@pytest.mark.attack
def test_a_thread_that_outlives_its_test_fails_the_session_where_it_reaches_out(recorded: Path) -> None:
    words = ("--hark-way=process", "test_it.py::test_outlived", "test_it.py::test_unmarked_at_the_end")
    code, said = run(recorded, *words, OUTLIVE="1")
    assert (code, "hark: what a test left running reached for a connection to 127.0.0.1:9" in said) == (
        1,
        True,
    ), said
    code, said = run(recorded, *words)  # the control
    assert (code, "left running" in said) == (0, False), said
