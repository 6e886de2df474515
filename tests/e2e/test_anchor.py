"""`hark run -anchor` with a real log on loopback: sealed first, then anchored, or said not to be."""

import json
import os
import re
import shlex
import signal
from collections.abc import Iterator

import pytest

from demo import translog
from demo.translog import Translog
from tests.e2e.rig import Desk, ok
from tests.fakes.upstream import Call, serving

pytestmark = pytest.mark.e2e


@pytest.fixture
def log(at: Desk) -> Iterator[Translog]:
    folder = at.project.parent / "log"
    folder.mkdir()
    with translog.serving(folder) as served:
        for path in (folder, *folder.iterdir()):
            path.chmod(0o755)
        yield served


def anchoring(log: Translog) -> list[str]:
    return ["-anchor", f"-signing-config={log.signing_config}", f"-trusted-root={log.trusted_root}"]


def verified(at: Desk, log: Translog, bundle: object = None) -> dict[str, object]:
    shown = at.hark("verify", "-json", f"-trusted-root={log.trusted_root}", str(bundle or at.bundle))
    found: dict[str, object] = json.loads(shown.stdout)
    return found


def test_a_run_is_anchored_when_it_is_sealed(at: Desk, log: Translog) -> None:
    ended = ok(at.run(*anchoring(log), "--", "sh", "-c", "echo done"))
    assert "done" in ended.stdout
    assert "hark: It is anchored: entry 3 of 127.0.0.1:" in ended.stderr
    found = verified(at, log)
    assert (found["verdict"], found["anchored"]) == ("VERIFIED", True)
    assert oct(at.bundle.stat().st_mode & 0o777) == "0o600"
    assert at.bundle.stat().st_uid == at.user.uid
    assert [path.name for path in at.project.parent.glob(".run.hark*")] == []


@pytest.mark.parametrize(("service", "lie"), [("v2", "checkpoint"), ("tsa", "500")])
def test_whatever_the_log_does_the_run_is_sealed_with_its_own_exit_code(
    at: Desk, log: Translog, service: str, lie: str
) -> None:
    log.lie(service, lie)
    ended = ok(at.run(*anchoring(log), "--", "sh", "-c", "exit 7"), 7)
    assert "hark: not anchored: " in ended.stderr
    (again,) = re.findall("hark (anchor .*) tries again", ended.stderr)
    found = verified(at, log)
    assert (found["verdict"], found["anchored"], found["anchors"]) == ("VERIFIED", False, [])
    log.lie(service)
    assert "It is anchored" in ok(at.hark(*shlex.split(again))).stdout, "of the same log, by the same options"
    assert verified(at, log)["anchored"]


def test_ctrl_c_while_a_log_is_silent_leaves_the_run_as_it_ended(rootless: Desk) -> None:
    folder = rootless.project.parent / "log"
    folder.mkdir()
    with translog.serving(folder) as log:
        for path in (folder, *folder.iterdir()):
            path.chmod(0o755)
        log.lie("v2", "hang")
        words = ("run", "-o", rootless.bundle, *anchoring(log), "--", "sh", "-c", "exit 7")
        with rootless.start(*words, process_group=0) as process:
            assert log.silent.wait(60)
            os.killpg(process.pid, signal.SIGINT)
            err = process.communicate(timeout=60)[1].decode()
        assert process.returncode == 7, err
        assert "not anchored: it was interrupted" in err
        assert verified(rootless, log)["verdict"] == "VERIFIED"


def test_options_of_an_anchor_that_nobody_asked_for_are_refused_before_anything_starts(
    rootless: Desk,
) -> None:
    ended = rootless.run("-rekor=https://log.example", "--", "touch", "made")
    assert ended.returncode == 125
    assert "-rekor goes only with -anchor" in ended.stderr
    ended = rootless.run("-anchor", "-signing-config=nowhere", "--", "touch", "made")
    assert ended.returncode == 125
    assert not (rootless.project / "made").exists()


def test_a_fork_is_anchored_as_a_bundle_of_its_own(rootless: Desk) -> None:
    folder = rootless.project.parent / "log"
    folder.mkdir()
    agent = "import urllib.request; print(urllib.request.urlopen('https://api.example/').read().decode())"
    with translog.serving(folder) as log, serving("api.example") as upstream:
        for path in (folder, *folder.iterdir()):
            path.chmod(0o755)

        @upstream.on("/")
        def answered(call: Call) -> None:
            call.reply(200, b"hello")

        options = rootless.toward(upstream, "api.example")
        ok(rootless.run(*options, *anchoring(log), "--", "python3", "-c", agent))
        child = rootless.project.parent / "fork.hark"
        words = ("fork", "-at", "api.example/", *options, *anchoring(log), "-o", child, rootless.bundle)
        forked = ok(rootless.hark(*words))
        assert "It is anchored: entry 4 of 127.0.0.1:" in forked.stderr
        for bundle in (rootless.bundle, child):
            assert verified(rootless, log, bundle)["anchored"]
