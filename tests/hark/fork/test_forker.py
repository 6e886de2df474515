"""Secrets come from the forker alone, stand behind the recorded placeholders, and are missing otherwise."""

from base64 import b64encode
from pathlib import Path

import pytest

from hark.bundle import events as ev
from hark.errors import PolicyError, UntrustedError
from hark.fork.forker import Forker, Outward, forker_of, policy_then, refuse_values
from hark.patch.where import Point, Side
from hark.patch.world import changes_world
from hark.plan.preparation import Prepared
from hark.plan.project import Project
from hark.policy.model import Policy, Secret, SecretSpec
from hark.policy.parse import parse_policy
from hark.rerun.recalled import recall
from launcher.plan import Access, Grant, Plan
from tests.support.recordings import bundle

PLACEHOLDER = "sk-harkAbCdEfGhIjKlMnOpQrStUv"
VALUE = "sk-real-5e884898da280471"
HELD = Secret("TOKEN", "stand-in-value-0123456789", PLACEHOLDER, ())
POINT = Point(9, 9, Side.REQUEST, "GET a/ (event 9)")
ENVIRON = {"HOME": "/home/ann", "MINE": VALUE}


def prepared(argv: tuple[str, ...] = ("true",)) -> Prepared:
    grants = (Grant("/home/ann/project", Access.WRITE, "project directory"),)
    plan = Plan(argv=argv, executable="/bin/true", workdir="/home/ann/project", env={}, grants=grants)
    return Prepared(plan, Policy(), (HELD,), {}, (), None, Project("/x", (), (), ()))


def spec(name: str = "TOKEN", env: str | None = "MINE") -> SecretSpec:
    return SecretSpec(name, env, None, ())


def given(policy: Policy, *, own: bool = True, argv: tuple[str, ...] = ("true",)) -> Forker:
    return forker_of(prepared(argv), policy, Outward(), ENVIRON, own=own)


def test_the_forkers_value_stands_behind_the_recorded_placeholder() -> None:
    forker = given(Policy(secrets=(spec(),)))
    (secret,) = forker.then.secrets
    assert (secret.value, secret.placeholder, secret.missing) == (VALUE, PLACEHOLDER, False)
    assert VALUE not in repr(forker)


def test_what_the_forker_does_not_name_has_no_value() -> None:
    (secret,) = given(Policy(secrets=())).then.secrets
    assert (secret.value, secret.missing) == (HELD.value, True)


@pytest.mark.attack
def test_no_source_is_read_that_is_not_the_forkers() -> None:
    """The control is the test above the last: the same policy, as the forker's, is read."""
    forker = given(Policy(secrets=(spec(),)), own=False)
    assert [secret.value for secret in forker.then.secrets] == [HELD.value]


def test_a_secret_without_a_placeholder_is_not_read_at_all() -> None:
    given(Policy(secrets=(spec("OTHER", "NOT_SET"),)))


def test_a_value_in_the_recorded_command_line_is_refused() -> None:
    with pytest.raises(PolicyError, match=r"secrets\.TOKEN"):
        given(Policy(secrets=(spec(),)), argv=("true", f"--key={VALUE}"))


def test_a_value_in_the_forkers_own_policy_is_refused_by_its_line() -> None:
    with pytest.raises(PolicyError, match=r"mine\.toml:1: a comment holds the value of secrets\.TOKEN"):
        given(Policy(source="mine.toml", raw=f"# {VALUE}\n".encode(), secrets=(spec(),)))
    given(Policy(source="mine.toml", raw=f"# {PLACEHOLDER}\n".encode(), secrets=(spec(),)))


def then(tmp_path: Path, raw: bytes, named: str | None = None) -> Policy:
    path = bundle(tmp_path / "run.hark", policy=ev.PolicyLoaded("policy.toml", raw=raw))
    return policy_then(recall(path), POINT, named)


def test_without_a_policy_the_recorded_rules_stay_without_secrets(tmp_path: Path) -> None:
    raw = b'allow_hosts = ["api.example"]\n[secrets.TOKEN]\nenv = "MINE"\nhosts = ["api.example"]\n'
    found = then(tmp_path, raw)
    assert found.rules == parse_policy(raw, "policy.toml").rules
    assert found.secrets == ()
    assert found.source == "policy.toml, without its secrets"


def test_a_mark_counts_in_the_forkers_policy_and_not_in_the_bundles(tmp_path: Path) -> None:
    raw = b'[[allow]]\nhost = "api.example"\nmay_reexecute = true\n'
    assert changes_world("POST", "api.example", "/x", then(tmp_path, raw))
    mine = tmp_path / "mine.toml"
    mine.write_bytes(raw)
    assert changes_world("POST", "api.example", "/x", then(tmp_path, raw, str(mine))) == ""


@pytest.mark.attack
def test_a_strangers_rules_lead_nowhere_on_the_forkers_side(tmp_path: Path) -> None:
    raw = b'[[allow]]\nhost = "db.example"\nupstream = "127.0.0.1:6379"\n'
    with pytest.raises(UntrustedError, match="-policy"):
        then(tmp_path, raw)
    own = tmp_path / "own.toml"
    own.write_bytes(raw)
    assert then(tmp_path, raw, str(own)).rules[0].upstream is not None


@pytest.mark.attack
@pytest.mark.parametrize(
    "spelled", [VALUE, b64encode(VALUE.encode()).decode(), VALUE.replace("-", r"\u002d")]
)
def test_a_value_in_what_the_forker_wrote_is_refused_before_anything_starts(spelled: str) -> None:
    forker = given(Policy(secrets=(spec(),)))
    with pytest.raises(
        PolicyError, match=r"the patch has the value of secrets\.TOKEN .*" + PLACEHOLDER
    ) as why:
        refuse_values(prepared(), forker, {"the patch": b'{"with": "x %s"}' % spelled.encode()})
    assert VALUE not in str(why.value)
    refuse_values(prepared(), forker, {"the patch": PLACEHOLDER.encode(), "-model": b"large"})
