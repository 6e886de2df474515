"""Policy files: everything understood, or one sentence that names the file, the key and the mend."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hark.errors import PolicyError
from hark.policy.model import HostRule
from hark.policy.parse import MAX_POLICY, parse_policy

WHOLE = b"""
allow_hosts = ["API.example", "db.example:8443"]
read_paths = ["/opt"]
write_paths = ["~/out"]

[secrets.API_KEY]
env = "REAL_KEY"
hosts = ["api.example"]

[secrets.DB_TOKEN]
file = "/run/token"
hosts = ["db.example:8443"]

[env]
pass = ["LANG"]
set = { MODE = "test" }

[project]
unmask = [".env"]
unprotect = [".git/hooks"]
"""


def test_a_whole_policy_reads_as_written():
    policy = parse_policy(WHOLE, "p.toml")
    assert policy.allow_hosts == (HostRule("api.example"), HostRule("db.example", 8443))
    assert (policy.read_paths, policy.write_paths) == (("/opt",), ("~/out",))
    key, token = policy.secrets
    assert (key.name, key.env, key.file, key.hosts) == (
        "API_KEY",
        "REAL_KEY",
        None,
        (HostRule("api.example"),),
    )
    assert (token.env, token.file) == (None, "/run/token")
    assert (policy.env_pass, dict(policy.env_set)) == (("LANG",), {"MODE": "test"})
    assert (policy.unmask, policy.unprotect) == ((".env",), (".git/hooks",))
    assert (policy.raw, policy.source) == (WHOLE, "p.toml")


def test_an_empty_policy_allows_nothing():
    assert parse_policy(b"", "p.toml").allow_hosts == ()


def test_a_secret_without_hosts_is_bound_to_the_only_allowed_host():
    policy = parse_policy(b'allow_hosts = ["a.example"]\n[secrets.K]\n', "p.toml")
    assert policy.secrets[0].hosts == (HostRule("a.example"),)
    assert policy.secrets[0].env == "K"


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ('allow_host = ["a.example"]', "did you mean allow_hosts"),
        ("colour = 1", "known are allow_hosts"),
        ('[env]\npas = ["A"]', "did you mean env.pass"),
        ('allow_hosts = "a.example"', "must be a list of strings"),
        ("allow_hosts = [1]", "must be a list of strings"),
        ('allow_hosts = ["https://a.example/v1"]', 'write "a.example"'),
        ('allow_hosts = ["a.example/v1"]', 'write "a.example"'),
        ('allow_hosts = ["*.a.example"]', "wildcard"),
        ('allow_hosts = ["a.example", "A.EXAMPLE."]', "names a.example twice"),
        ('allow_hosts = ["a.example:0"]', "port"),
        ('allow_hosts = ["a\\u0000b"]', "control character"),
        ("allow_hosts = [", "is not TOML"),
        ('allow_hosts = []\nallow_hosts = ["b.example"]', "is not TOML"),
        ('read_paths = ["opt"]', "must begin with /"),
        ("secrets = 1", "secrets must be a table"),
        ('[secrets.K]\nhosts = ["a.example"]', 'add "a.example"'),
        ('allow_hosts = ["a.example", "b.example"]\n[secrets.K]', "bound to no host and allow_hosts names 2"),
        ('[secrets.K]\nenv = "A"', "bound to no host and allow_hosts names 0"),
        ('allow_hosts = ["a.example"]\n[secrets.K]\nhosts = []', "could never be used"),
        ('allow_hosts = ["a.example"]\n[secrets.K]\nenv = "A"\nfile = "/f"', "both env and file"),
        ('allow_hosts = ["a.example"]\n[secrets."a b"]', "not the name of an environment variable"),
        ('allow_hosts = ["a.example"]\n[secrets.K]\nhost = ["a.example"]', "did you mean secrets.K.hosts"),
        ("[env.set]\nA = 1", "must be a string"),
        ('[project]\nunmask = ["../x"]', "stay inside"),
        ('[project]\nunprotect = ["/etc"]', "relative to the project"),
    ],
)
def test_a_mistake_is_named_with_its_file_and_mend(text, words):
    with pytest.raises(PolicyError) as caught:
        parse_policy(text.encode(), "p.toml")
    assert str(caught.value).startswith("p.toml: ")
    assert words in str(caught.value)
    assert caught.value.exit_code == 125


def test_a_policy_that_is_too_large_or_not_text_is_refused():
    with pytest.raises(PolicyError, match="larger than"):
        parse_policy(b"#" * (MAX_POLICY + 1), "p.toml")
    with pytest.raises(PolicyError, match="not UTF-8 at byte 1"):
        parse_policy(b"#\xff", "p.toml")


@given(st.binary(max_size=200) | st.text(max_size=200).map(str.encode))
def test_only_policy_errors_come_out(raw):
    try:
        policy = parse_policy(raw, "p.toml")
    except PolicyError:
        return
    assert policy.raw == raw
