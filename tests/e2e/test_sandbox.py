"""What a policy says about executing and about sandboxes inside, through the whole program."""

import shutil
from collections.abc import Iterator

import pytest

from tests.e2e.rig import Desk, ok
from tests.fakes.upstream import Call, Upstream, serving

pytestmark = pytest.mark.e2e

BWRAP = "bwrap --ro-bind / / --dev /dev --proc /proc --unshare-pid --unshare-net sh -c 'echo $$'"
needs_bwrap = pytest.mark.skipif(shutil.which("bwrap") is None, reason="bubblewrap is not installed")


def run(at: Desk, *words: str):
    """Each run makes its bundle anew."""
    at.bundle.unlink(missing_ok=True)
    return at.run(*words)


def outside(at: Desk, text: str) -> str:
    """A policy beside the project: inside, a nested agent could rewrite it."""
    path = at.project.parent / "policy.toml"
    path.write_text(text)
    return f"-policy={path}"


@needs_bwrap
def test_a_refused_sandbox_is_named_with_its_setting_and_works_with_it(at: Desk):
    refused = run(at, "--", "sh", "-c", BWRAP)
    assert refused.returncode == 1
    assert "hark: bwrap was refused a user namespace; [sandbox] nested = true" in refused.stderr
    nested = ok(run(at, outside(at, "[sandbox]\nnested = true\n"), "--", "sh", "-c", BWRAP))
    assert nested.stdout == "2\n"
    assert "refused" not in nested.stderr


@needs_bwrap
def test_a_nested_sandbox_has_every_namespace_but_that_of_control_groups(at: Desk):
    policy = outside(at, "[sandbox]\nnested = true\n")
    others = " ".join(f"--unshare-{kind}" for kind in ("user", "pid", "net", "ipc", "uts"))
    bwrap = "bwrap --ro-bind / / --dev /dev --proc /proc {} sh -c 'echo $$'"
    assert ok(run(at, policy, "--", "sh", "-c", bwrap.format(others))).stdout == "2\n"
    assert (
        run(at, policy, "--", "sh", "-c", bwrap.format("--unshare-all")).returncode == 1
    )  # as docs/policy.md says


def test_a_nested_run_that_could_not_keep_a_secret_is_refused(at: Desk):
    at.write(".env", "KEY=1")
    refused = ok(run(at, outside(at, "[sandbox]\nnested = true\n"), "--", "true"), 125)
    assert f"{at.project}/.env" in refused.stderr
    assert "unmask" in refused.stderr


def test_a_nested_run_refuses_the_policy_in_the_project(at: Desk):
    at.write("policy.toml", "[sandbox]\nnested = true\n")
    refused = ok(run(at, "-policy=policy.toml", "--", "true"), 125)
    assert "policy.toml" in refused.stderr


def test_only_listed_programs_are_executed(at: Desk):
    words = (outside(at, 'exec = ["cat"]\n'), "--", "sh", "-c")
    assert ok(run(at, *words, "echo x | cat")).stdout == "x\n"
    denied = run(at, *words, "id")
    assert denied.returncode == 126
    assert "Permission denied" in denied.stderr
    copied = run(at, *words, "cat /usr/bin/id > copy; chmod +x copy; ./copy")
    assert copied.returncode in (126, 127)


def test_a_mistake_in_the_list_refuses_the_run(at: Desk):
    refused = ok(run(at, outside(at, 'exec = ["no-such-program"]\n'), "--", "true"), 125)
    assert "no-such-program" in refused.stderr


CHROMIUM = "chromium --headless --disable-gpu --ignore-certificate-errors --user-data-dir=/tmp/u"
needs_chromium = pytest.mark.skipif(shutil.which("chromium") is None, reason="Chromium is not installed")
PAGE = b"<p id=x>no script</p><script>x.textContent = 'script ' + 6 * 7</script>"


def dump(at: Desk, upstream: Upstream, policy: str, *flags: str):
    """Let Chromium fetch a page through the mediator, and print what its scripts made of it."""
    folder = at.project.parent
    (folder / "upstream-ca.pem").write_bytes(upstream.ca_pem)
    words = (
        outside(at, f'allow_hosts = ["site.example"]\n{policy}'),
        f"-upstream-ca={folder}/upstream-ca.pem",
    )
    command = " ".join([CHROMIUM, *flags, "--dump-dom", "https://site.example/"])
    return run(at, *words, f"-upstream=site.example={upstream.address}", "--", "sh", "-c", command)


@pytest.fixture
def site() -> Iterator[Upstream]:
    with serving("site.example") as upstream:

        @upstream.on("/")
        def page(call: Call) -> None:
            call.send_response(200)
            call.send_header("Content-Type", "text/html")
            call.send_header("Content-Length", str(len(PAGE)))
            call.end_headers()
            call.wfile.write(PAGE)

        yield upstream


@needs_chromium
@pytest.mark.parametrize(
    ("policy", "flags"),
    [("[sandbox]\nnested = true\n", ()), ("", ("--no-sandbox",))],
    ids=["nested", "without-its-sandbox"],
)
def test_chromium_shows_a_page_from_behind_the_mediator(at: Desk, site: Upstream, policy: str, flags):
    shown = ok(dump(at, site, policy, *flags))
    assert "script 42" in shown.stdout
    assert site.seen[0].path == "/"
    assert "refused a user namespace" not in shown.stderr


@needs_chromium
def test_chromium_with_its_sandbox_and_without_the_setting_is_named(at: Desk, site: Upstream):
    refused = dump(at, site, "")
    assert refused.returncode != 0
    assert "hark: chromium was refused a user namespace" in refused.stderr
    assert site.seen == []
