"""Secrets are read from where the policy says, and no message holds a value."""

import json
import os

import pytest

from hark.errors import PolicyError
from hark.plan.caller import Caller
from hark.plan.secrets import MAX_SECRET, resolve
from hark.policy.model import HostRule, Mount, SecretSpec, Surface

HOSTS = (HostRule("api.example"),)
VALUE = "sk-live-0123456789abcdef"


def env(name: str, variable: str) -> SecretSpec:
    return SecretSpec(name, variable, None, HOSTS)


def read(*specs: SecretSpec, environ: dict[str, str] | None = None, home: str = "/nonexistent"):
    return resolve(specs, Caller(environ or {}, home), lambda value: "p" * len(value))


def test_a_secret_comes_from_the_environment_with_its_placeholder():
    (secret,) = read(env("KEY", "REAL"), environ={"REAL": VALUE})
    assert (secret.name, secret.value, secret.placeholder, secret.hosts) == (
        "KEY",
        VALUE,
        "p" * len(VALUE),
        HOSTS,
    )


def test_a_secret_comes_from_a_file_below_home_without_its_line_end(tmp_path):
    (tmp_path / "token").write_text(VALUE + "\n")
    (secret,) = read(SecretSpec("KEY", None, "~/token", HOSTS), home=str(tmp_path))
    assert secret.value == VALUE


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"", "is empty"),
        (b" \n", "is empty"),
        (b"x" * (MAX_SECRET + 1), "is larger than"),
        (b"a\nb", "on one line"),
    ],
)
def test_a_file_that_holds_no_usable_secret_is_named(tmp_path, content, words):
    (tmp_path / "token").write_bytes(content)
    with pytest.raises(PolicyError, match=words):
        read(SecretSpec("KEY", None, str(tmp_path / "token"), HOSTS))


def test_what_is_missing_is_named_and_nothing_is_shown(tmp_path):
    with pytest.raises(PolicyError, match=r"secrets\.KEY: the environment variable REAL is not set"):
        read(env("KEY", "REAL"))
    with pytest.raises(PolicyError, match=r"secrets\.KEY: the environment variable REAL is empty"):
        read(env("KEY", "REAL"), environ={"REAL": " "})
    with pytest.raises(PolicyError, match="no such file"):
        read(SecretSpec("KEY", None, str(tmp_path / "none"), HOSTS))


def test_a_secret_that_is_part_of_another_is_refused_without_showing_either():
    with pytest.raises(PolicyError) as caught:
        read(env("A", "ONE"), env("B", "TWO"), environ={"ONE": VALUE, "TWO": VALUE + "x"})
    assert "secrets.A is the same as or part of secrets.B" in str(caught.value)
    assert VALUE not in str(caught.value)


def test_blanks_around_a_value_are_no_part_of_it():
    (secret,) = read(env("KEY", "REAL"), environ={"REAL": f" {VALUE}\t\n"})
    assert secret.value == VALUE


def test_a_secret_file_with_a_second_name_is_refused(tmp_path):
    (tmp_path / "token").write_text(VALUE)
    os.link(tmp_path / "token", tmp_path / "other")
    with pytest.raises(PolicyError, match="second name"):
        read(SecretSpec("KEY", None, str(tmp_path / "token"), HOSTS))


def test_a_fifo_in_the_place_of_a_secret_does_not_hang(tmp_path):
    os.mkfifo(tmp_path / "token")
    with pytest.raises(PolicyError, match="is empty"):
        read(SecretSpec("KEY", None, str(tmp_path / "token"), HOSTS))


def command(*words: str) -> SecretSpec:
    return SecretSpec("KEY", None, None, HOSTS, command=words)


def test_a_secret_is_what_a_program_of_the_callers_prints():
    (secret,) = read(command("printf", f"{VALUE}\\n"))
    assert secret.value == VALUE


def test_the_program_has_the_callers_environment_and_none_of_its_input(monkeypatch):
    (secret,) = read(command("sh", "-c", 'cat; printf %s "$TOKEN"'), environ={"TOKEN": VALUE})
    assert secret.value == VALUE


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (("sh", "-c", f"echo {VALUE}; echo {VALUE} >&2; exit 3"), "failed with exit code 3; run it yourself"),
        (("sh", "-c", f"# {VALUE}"), "prints nothing"),
        (("sh", "-c", "yes"), f"prints more than {MAX_SECRET} bytes"),
        (("sh", "-c", "echo a; echo b"), "on one line"),
        (("no-such-program",), "no-such-program"),
        (("sh", "-c", "sleep 60"), "did not end within 0 s"),
        (("sh", "-c", "sleep 60 & sleep 60"), "did not end within 0 s"),
    ],
)
def test_a_program_that_prints_no_secret_is_named_without_what_it_printed(
    words, sentence, monkeypatch, capfd
):
    if "0 s" in sentence:
        monkeypatch.setattr("hark.plan.secrets.COMMAND_S", 0.2)
    with pytest.raises(PolicyError) as caught:
        read(command(*words))
    assert sentence in str(caught.value)
    assert str(caught.value).startswith("secrets.KEY")
    assert VALUE not in str(caught.value).replace(" ".join(words), "").replace(words[-1], "")
    assert VALUE not in "".join(capfd.readouterr())


def test_a_program_where_the_agent_may_write_is_not_run(tmp_path):
    script = tmp_path / "get.sh"
    script.write_text(f"#!/bin/sh\ntouch {tmp_path}/ran\necho {VALUE}\n")
    script.chmod(0o755)
    spec = command(str(script))
    with pytest.raises(PolicyError, match=r"secrets\.KEY\.command would run outside the boundary"):
        resolve([spec], Caller({}, "/nonexistent", (str(tmp_path),)), str.upper)
    assert not (tmp_path / "ran").exists()
    (control,) = resolve([spec], Caller({}, "/nonexistent"), str.upper)
    assert control.value == VALUE


def test_a_secret_keeps_where_it_may_stand_and_for_whom_it_signs():
    spec = SecretSpec("KEY", "REAL", None, HOSTS, surfaces=(Surface.QUERY,), sigv4="ID")
    (secret,) = read(spec, environ={"REAL": VALUE})
    assert (secret.surfaces, secret.sigv4) == ((Surface.QUERY,), "ID")


def test_the_value_may_be_a_member_of_the_file_that_is_mounted(tmp_path):
    path = tmp_path / "tool.json"
    path.write_text(json.dumps({"tokens": [{"access": VALUE}]}))
    spec = SecretSpec("KEY", None, str(path), HOSTS, mount=Mount(str(path), "tokens.0.access"))
    (secret,) = read(spec)
    assert secret.value == VALUE
