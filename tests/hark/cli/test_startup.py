"""What commands must not import, or not yet: start-up time is a promise."""

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
os.write(stdout, " ".join([str(code), *sys.modules]).encode())
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
    code = "import sys\nfrom hark.verify import verify\nverify(sys.argv[1])\nprint(*sys.modules)"
    words = [sys.executable, "-c", code, sample.write(tmp_path / "a.hark")]
    modules = subprocess.run(words, capture_output=True, check=True, text=True).stdout.split()
    assert "hark.verify.steps" in modules
    assert not set(modules) & (COSTLY | {"enum"})


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
