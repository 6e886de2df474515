"""What the agent sees of a file with credentials: everything but them."""

import base64
import json
import os

import pytest

from hark.errors import PolicyError
from hark.plan.caller import Caller
from hark.plan.mounted import MAX_MOUNTED, shown
from hark.policy.model import HostRule, Mount, Secret, SecretSpec

HOSTS = (HostRule("api.example"),)
VALUE = "sk-live-0123456789abcdef"
PLACEHOLDER = "sk-live-harkAbCdEfGhIjKl"


def spec(path: str, at: str | None = None, name: str = "KEY") -> SecretSpec:
    return SecretSpec(name, "REAL", None, HOSTS, mount=Mount(path, at))


def secret(name: str = "KEY", value: str = VALUE, placeholder: str = PLACEHOLDER) -> Secret:
    return Secret(name, value, placeholder, HOSTS)


@pytest.fixture
def caller(tmp_path):
    return Caller({}, str(tmp_path))


def test_the_placeholder_stands_wherever_the_value_stood(caller, tmp_path):
    text = f"machine api.example login me password {VALUE}\n# {VALUE}\nmachine b.example login me\n"
    (tmp_path / ".netrc").write_text(text)
    files = shown([spec("~/.netrc")], [secret()], caller)
    assert files == {f"{tmp_path}/.netrc": text.replace(VALUE, PLACEHOLDER).encode()}


def test_a_file_behind_a_link_is_shown_at_both_places(caller, tmp_path):
    (tmp_path / "real").write_text(VALUE)
    (tmp_path / "link").symlink_to("real")
    files = shown([spec("~/link")], [secret()], caller)
    assert files == dict.fromkeys((f"{tmp_path}/link", f"{tmp_path}/real"), PLACEHOLDER.encode())


def test_two_secrets_may_stand_in_one_file(caller, tmp_path):
    (tmp_path / "f").write_text(f"{VALUE} another-real-value")
    other = secret("TWO", "another-real-value", "another-hark-place")
    files = shown([spec("~/f"), spec("~/f", name="TWO")], [secret(), other], caller)
    assert files == {f"{tmp_path}/f": f"{PLACEHOLDER} another-hark-place".encode()}


@pytest.mark.parametrize("old", [VALUE, "an-older-token", "", None])
def test_a_member_of_json_is_replaced_whatever_it_was(caller, tmp_path, old):
    (tmp_path / "f.json").write_text(json.dumps({"a": [{"b": old}], "c": "\u00e9"}))
    files = shown([spec("~/f.json", "a.0.b")], [secret()], caller)
    assert json.loads(files[f"{tmp_path}/f.json"]) == {"a": [{"b": PLACEHOLDER}], "c": "\u00e9"}


@pytest.mark.parametrize(
    ("content", "at", "words"),
    [
        (b"nothing here", None, "does not stand in ~/f; is it the right file?"),
        (b"{", "a", "is not JSON"),
        (b'{"a": 1}', "b", "there is no b in ~/f"),
        (b'{"a": 1}', "a.b", "b is missing"),
        (b'{"a": []}', "a.0", "0 is missing"),
        (b'{"a": "x", "b": "%s"}' % VALUE.encode(), "a", "cannot be replaced"),
        (
            VALUE.encode() + b" " + base64.b64encode(VALUE.encode()),
            None,
            "encoding where it cannot be replaced",
        ),
        (VALUE.encode() + b"x" * MAX_MOUNTED, None, "larger than"),
    ],
)
def test_a_file_in_which_the_value_cannot_be_replaced_is_not_shown(caller, tmp_path, content, at, words):
    (tmp_path / "f").write_bytes(content)
    with pytest.raises(PolicyError) as caught:
        shown([spec("~/f", at)], [secret()], caller)
    assert words in str(caught.value)
    assert VALUE not in str(caught.value)


def test_a_value_of_another_secret_in_the_file_is_seen_too(caller, tmp_path):
    (tmp_path / "f").write_text(f"{VALUE} another-real-value")
    with pytest.raises(PolicyError, match=r"holds the value of secrets\.TWO"):
        shown([spec("~/f")], [secret(), secret("TWO", "another-real-value", "p")], caller)


def test_a_file_with_a_second_name_or_none_is_refused(caller, tmp_path):
    with pytest.raises(PolicyError, match="no such file"):
        shown([spec("~/f")], [secret()], caller)
    (tmp_path / "f").write_text(VALUE)
    os.link(tmp_path / "f", tmp_path / "g")
    with pytest.raises(PolicyError, match="second name"):
        shown([spec("~/f")], [secret()], caller)


def test_a_link_that_an_agent_could_have_made_shows_nothing_of_what_it_leads_to(tmp_path):
    project = tmp_path / "project"
    project.mkdir()
    other = tmp_path / "other.json"
    other.write_text('{"a": "x", "private": "y"}')
    (project / "tool.json").symlink_to(other)
    specs = [spec(str(project / "tool.json"), "a")]
    with pytest.raises(PolicyError, match="is a link to"):
        shown(specs, [secret()], Caller({}, str(tmp_path), (str(project),)))
    assert shown(specs, [secret()], Caller({}, str(tmp_path)))  # control: where the agent does not write
