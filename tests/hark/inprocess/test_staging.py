"""What only a boundary keeps is refused by its key; what the test is shown is placeholders, and no value."""

from pathlib import Path

import pytest

from hark.errors import PolicyError
from hark.inprocess import staging
from hark.inprocess.words import Job

VALUE = "sk-real-5e884898da280471"


def job(folder: Path, policy: str) -> Job:
    """A job to record under this policy."""
    (folder / "policy.toml").write_text(policy)
    return Job(("python", "x"), str(folder), str(folder / "o.hark"), policy=str(folder / "policy.toml"))


@pytest.mark.parametrize(
    ("policy", "key"),
    [
        ('exec = ["/usr/bin/git"]\n', "exec"),
        ('[limits]\nmemory = "1GiB"\n', "[limits]"),
        ('[mcp.files]\ncommand = ["true"]\n', "[mcp.files]"),
        ('[[publish]]\nport = 80\nat = "127.0.0.1:8080"\n', "[[publish]]"),
    ],
)
def test_what_only_a_boundary_keeps_is_refused_by_its_key(tmp_path: Path, policy: str, key: str) -> None:
    with pytest.raises(PolicyError) as refused:
        staging.to_record(job(tmp_path, policy), {"HOME": str(tmp_path), "PATH": "/usr/bin"})
    assert f"has {key}, which only a boundary keeps" in str(refused.value)


@pytest.mark.parametrize(
    ("more", "words"),
    [
        (f'[env.set]\nMODE = "{VALUE}"\n', "policy.toml:5:1: env.set.MODE holds"),
        ('[env]\npass = ["OTHER"]\n', "the agent's variable OTHER holds"),
    ],
)
def test_a_value_that_the_record_would_have_to_hold_is_refused(tmp_path: Path, more: str, words: str) -> None:
    policy = f'allow_hosts = ["a.example"]\n[secrets.KEY]\nhosts = ["a.example"]\n{more}'
    environ = {"HOME": str(tmp_path), "PATH": "/usr/bin", "KEY": VALUE, "OTHER": VALUE}
    with pytest.raises(PolicyError, match=words) as refused:
        staging.to_record(job(tmp_path, policy), environ)
    assert VALUE not in str(refused.value)
    staging.to_record(job(tmp_path, policy), environ | {"KEY": "sk-real-another-98da280471"})  # the control


def test_the_test_is_shown_placeholders_and_what_the_policy_sets(tmp_path: Path) -> None:
    policy = 'allow_hosts = ["a.example"]\n[env.set]\nMODE = "x"\n[secrets.KEY]\nhosts = ["a.example"]\n'
    environ = {"HOME": str(tmp_path), "PATH": "/usr/bin", "KEY": VALUE, "OTHER": "y"}
    prepared = staging.to_record(job(tmp_path, policy), environ)
    shown = staging.shown(prepared)
    assert set(shown) == {"KEY", "MODE"}
    assert VALUE not in str(prepared.plan.env)
    assert "OTHER" not in prepared.plan.env
    assert [secret.value for secret in prepared.secrets] == [VALUE]
