"""Secrets are read from where the policy says, and no message holds a value."""

import os

import pytest

from hark.errors import PolicyError
from hark.policy.model import HostRule, SecretSpec
from hark.secrets import MAX_SECRET, resolve

HOSTS = (HostRule("api.example"),)
VALUE = "sk-live-0123456789abcdef"


def env(name: str, variable: str) -> SecretSpec:
    return SecretSpec(name, variable, None, HOSTS)


def read(*specs: SecretSpec, environ: dict[str, str] | None = None, home: str = "/nonexistent"):
    return resolve(specs, environ or {}, home, lambda value: "p" * len(value))


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
