"""What commands must not import, or not yet: start-up time is a promise."""

import os
import subprocess
import sys

import pytest

from tests.hark.cli import sample

COSTLY = {
    "mitmproxy",
    "pyroute2",
    "asyncio",
    "sigstore",
    "dataclasses",
    "inspect",
    "argparse",
    "re",
    "pathlib",
}
WITH_TYPING = {"re"} if sys.version_info < (3, 13) else set()
"""What `typing` itself imports: until Python 3.12 that was `re`."""
PROBE = """
import os, sys
from hark.cli.main import entry
stdout = os.dup(1)
os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
code = entry(sys.argv[1:])
loaded = [name for name, module in sys.modules.items() if module is not None]  # None: kept from being loaded
os.write(stdout, " ".join([str(code), *loaded]).encode())
"""


def imported(*words):
    """Exit code and every module that a command line has loaded."""
    out = subprocess.run(
        [sys.executable, "-c", PROBE, *map(str, words)], capture_output=True, check=True
    ).stdout
    code, *modules = out.decode().split()
    return int(code), set(modules)


def test_verify_of_a_signed_bundle_imports_nothing_costly(tmp_path):
    code, modules = imported("verify", sample.write(tmp_path / "a.hark"))
    assert code == 0
    assert "blake3" in modules
    assert modules & COSTLY == WITH_TYPING


def test_verification_by_itself_imports_no_enumerations_either(tmp_path):
    brought = WITH_TYPING | ({"enum"} if WITH_TYPING else set())  # by `re`
    code = "import sys\nfrom hark.verify import verify\nverify(sys.argv[1])\nprint(*sys.modules)"
    words = [sys.executable, "-c", code, sample.write(tmp_path / "a.hark")]
    modules = subprocess.run(words, capture_output=True, check=True, text=True).stdout.split()
    assert "hark.verify.steps" in modules
    assert set(modules) & (COSTLY | {"enum"}) == brought


def test_version_imports_nothing_costly_and_no_hash_either():
    code, modules = imported("version")
    assert code == 0
    assert modules & (COSTLY | {"blake3", "cbor2", "cryptography", "json"}) == WITH_TYPING


@pytest.mark.parametrize("name", ["dataclasses", "asyncio"])
def test_the_probe_sees_a_costly_import(name, tmp_path):
    probe = PROBE.replace("import os", f"import {name}, os")
    words = [sys.executable, "-c", probe, "version"]
    assert name in subprocess.run(words, capture_output=True, check=True).stdout.decode().split()


def test_one_command_does_not_import_another():
    _, modules = imported("version")
    assert {name for name in modules if name.startswith("hark.cli.")} == {
        "hark.cli.main", "hark.cli.spec", "hark.cli.streams", "hark.cli.version"
    }  # fmt: skip


BOUNDARY = {"pyroute2", "landlock", "launcher.build", "launcher.mounts"}
"""What the boundary is built with: the launcher's child loads it, beside what the supervisor does."""
PROXY = {"mitmproxy", "h2", "h11", "wsproto", "OpenSSL", "certifi", "re2"}
"""What carries connections: loaded while the agent runs, and only if it does for a while or connects."""


SELDOM = {"shutil", "difflib", "decimal", "zoneinfo", "sysconfig", "bz2", "lzma"}
"""What a start has no use for: for what is removed, copied or misspelled, and for numbers that are close."""
ATTENDED = """
import os, sys
import launcher.supervise
from hark.cli.main import entry
start = launcher.supervise.Boundary.start
def told(self, *arguments):
    with open(sys.argv[1], "w") as file:
        print(*sys.modules, file=file)
    return start(self, *arguments)
launcher.supervise.Boundary.start = told
sys.exit(entry(sys.argv[2:]))
"""


def started(told, folder, *words):
    """Every module that a command has loaded when its agent is let go."""
    env = os.environ | {name: str(folder / name) for name in ("XDG_STATE_HOME", "XDG_CONFIG_HOME")}
    argv = [sys.executable, "-c", ATTENDED, told, *map(str, words)]
    subprocess.run(argv, cwd=folder / "project", env=env, stdin=subprocess.DEVNULL, check=True)
    return set(told.read_text().split())


def test_an_agent_waits_for_nothing_that_serves_it_later_or_that_a_start_has_no_use_for(tmp_path):
    (tmp_path / "project").mkdir()
    (tmp_path / "project" / "policy.toml").write_text('allow_hosts = ["api.example"]\n')
    run: set[str] = set()
    for name in ("first", "run"):  # a first one compiles what is kept for the next
        bundle = tmp_path / f"{name}.hark"
        run = started(tmp_path / name, tmp_path, "run", "-policy", "policy.toml", "-o", bundle, "--", "true")
    later = BOUNDARY | PROXY | SELDOM | {"mediator.serve", "cryptography.x509"}
    assert "mediator.recording" in run
    assert run & (later | {"asyncio", "ssl"}) == set()
    replay = started(tmp_path / "replay", tmp_path, "replay", tmp_path / "run.hark")
    assert "hark.rerun.replaying" in replay
    assert replay & later == set()


def test_a_run_is_prepared_without_what_is_loaded_beside_it_or_later(tmp_path):
    (tmp_path / "policy.toml").write_text('allow_hosts = ["api.example"]\n')
    code, modules = imported("run", "-policy", tmp_path / "policy.toml", "--", tmp_path / "nothing")
    assert code == 127
    assert "hark.plan.preparation" in modules
    later = {"asyncio", "ssl", "logging", "multiprocessing", "subprocess", "cryptography.x509"}
    assert modules & (BOUNDARY | PROXY | later) == set()


def test_a_replay_is_prepared_without_what_is_loaded_beside_it_or_later(tmp_path):
    code, modules = imported("replay", sample.write(tmp_path / "a.hark"))
    assert code == 4
    assert "hark.rerun.recalled" in modules
    assert modules & (BOUNDARY | PROXY | {"asyncio", "ssl", "logging", "multiprocessing"}) == set()


SERVING = """
from hark import starting
starting.begin()
import hark.running.run, mediator.serve, mediator.ca, mediator.trust
from cryptography import x509
import sys
print(*sys.modules)
"""


def test_what_answers_names_and_denies_is_there_without_a_proxy():
    out = subprocess.run([sys.executable, "-c", SERVING], capture_output=True, check=True, text=True).stdout
    assert set(out.split()) & (BOUNDARY | PROXY | {"multiprocessing"}) == set()
