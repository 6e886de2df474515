"""Policy files: everything understood, or one sentence that names the place, the key and the mend."""

import re
from datetime import UTC, datetime, time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hark.errors import PolicyError
from hark.policy.model import (
    Address,
    Body,
    Clock,
    HostRule,
    Hours,
    Limits,
    McpServer,
    Mount,
    Policy,
    Published,
    Randomness,
    ReplayRules,
    Rule,
    SecretSpec,
    SnapshotRules,
    Speaks,
    Surface,
    TokenEndpoint,
    ToolRule,
)
from hark.policy.parse import KEYS, MAX_POLICY, parse_policy
from tests.support.policies import read, refused

WHOLE = b"""
allow_hosts = ["API.example", "db.example:8443", "*.Files.example"]
read_paths = ["/opt"]
write_paths = ["~/out"]
exec = ["git", "/usr/bin/python3"]

[[allow]]
host = "git.example"
methods = ["GET", "HEAD"]
paths = ["/acme/**"]
hours = "09:00-18:00"
until = 2031-01-01T00:00:00Z
body = "hash"

[[allow]]
host = "postgres.host"
ports = [5432, 5433]
protocol = "tcp"
upstream = "127.0.0.1:5432"

[[allow]]
host = "mcp.example"
port = 8443
tools = ["list", { name = "read_file", arguments = { path = "/data/.*" } }]

[secrets.API_KEY]
env = "REAL_KEY"
hosts = ["api.example"]
in = ["header", "query"]

[secrets.DB_TOKEN]
file = "/run/token"
hosts = ["db.example:8443", "git.example"]
mount = { path = "~/.db.json", at = "tokens.db" }

[secrets.AWS_ACCESS_KEY_ID]
hosts = ["*.files.example"]

[secrets.AWS_SECRET_ACCESS_KEY]
command = ["pass", "show", "aws"]
hosts = ["one.files.example"]
mount = "~/.aws/credentials"

[[token]]
host = "git.example"
path = "/login/**"
fields = ["access_token"]

[env]
pass = ["LANG"]
set = { MODE = "test" }

[project]
mask = ["config.json"]
unmask = [".env"]
unprotect = [".git/hooks"]

[limits]
time = "1h30m"
processes = 100
memory = "2GiB"
disk = "512MiB"
events_per_second = 50

[record]
max_bytes = "1GB"

[mcp.files]
command = ["npx", "server", "/data"]
env = { LEVEL = "debug" }
secrets = { TOKEN = "FILES_TOKEN" }
allow_tools = ["read"]
workdir = "~/data"

[[publish]]
port = 8080
at = "127.0.0.1:9090"

[git]
https = ["git.example"]

[sandbox]
nested = true

[replay]
ignore_headers = ["X-Session"]
ignore_json = ["$.metadata.trace"]
clock = "real"
randomness = "real"

[snapshot]
max = "1GB"
exclude = ["data/"]
"""


def test_a_whole_policy_reads_as_written():
    policy = parse_policy(WHOLE, "p.toml")
    files = HostRule("*.files.example")
    assert policy == Policy(
        source="p.toml",
        raw=WHOLE,
        allow_hosts=(HostRule("api.example"), HostRule("db.example", 8443), files),
        allow=(
            Rule(
                host="git.example",
                name="allow 1: git.example",
                methods=("GET", "HEAD"),
                paths=("/acme/**",),
                hours=Hours(time(9), time(18)),
                until=datetime(2031, 1, 1, tzinfo=UTC),
                body=Body.HASH,
            ),
            Rule(
                host="postgres.host",
                ports=(5432, 5433),
                name="allow 2: postgres.host",
                speaks=Speaks.TCP,
                upstream=Address("127.0.0.1", 5432),
            ),
            Rule(
                host="mcp.example",
                ports=(8443,),
                name="allow 3: mcp.example",
                tools=(ToolRule("list"), ToolRule("read_file", {"path": "/data/.*"})),
            ),
        ),
        read_paths=("/opt",),
        write_paths=("~/out",),
        executables=("git", "/usr/bin/python3"),
        secrets=(
            SecretSpec(
                name="API_KEY",
                env="REAL_KEY",
                file=None,
                hosts=(HostRule("api.example"),),
                surfaces=(Surface.HEADER, Surface.QUERY),
            ),
            SecretSpec(
                name="DB_TOKEN",
                env=None,
                file="/run/token",
                hosts=(HostRule("db.example", 8443), HostRule("git.example")),
                mount=Mount("~/.db.json", "tokens.db"),
            ),
            SecretSpec(name="AWS_ACCESS_KEY_ID", env="AWS_ACCESS_KEY_ID", file=None, hosts=(files,)),
            SecretSpec(
                name="AWS_SECRET_ACCESS_KEY",
                env=None,
                file=None,
                hosts=(HostRule("one.files.example"),),
                command=("pass", "show", "aws"),
                mount=Mount("~/.aws/credentials"),
            ),
        ),
        tokens=(TokenEndpoint("git.example", "/login/**", ("access_token",)),),
        env_pass=("LANG",),
        env_set={"MODE": "test"},
        mask=("config.json",),
        unmask=(".env",),
        unprotect=(".git/hooks",),
        limits=Limits(5400.0, 100, 2 << 30, 512 << 20, 50),
        max_bytes=10**9,
        mcp=(
            McpServer(
                name="files",
                command=("npx", "server", "/data"),
                env={"LEVEL": "debug"},
                secrets={"TOKEN": "FILES_TOKEN"},
                tools=(ToolRule("read"),),
                workdir="~/data",
            ),
        ),
        publish=(Published(8080, Address("127.0.0.1", 9090)),),
        git_https=("git.example",),
        nested_sandboxes=True,
        replay=ReplayRules(("x-session",), ("$.metadata.trace",), Clock.REAL, Randomness.REAL),
        snapshot=SnapshotRules(10**9, ("data/",)),
    )


def test_the_whole_policy_above_uses_every_key_there_is():
    assert all(re.search(rf"(?m)^(\[+)?{key}\b", WHOLE.decode()) for key in KEYS)


def test_an_empty_policy_allows_nothing():
    assert parse_policy(b"", "p.toml").allow_hosts == ()


def test_a_secret_without_hosts_is_bound_to_the_only_allowed_host():
    policy = parse_policy(b'allow_hosts = ["a.example"]\n[secrets.K]\n', "p.toml")
    assert policy.secrets[0].hosts == (HostRule("a.example"),)
    assert policy.secrets[0].env == "K"


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ('allow_host = ["a.example"]', "1:1: allow_host is not a key of a policy; did you mean allow_hosts?"),
        ("colour = 1", "1:1: colour is not a key of a policy; known are allow_hosts, allow,"),
        ('\n[env]\npas = ["A"]', "3:1: env.pas is not a key of a policy; did you mean env.pass?"),
        (
            '[[allow]]\nhost = "a.example"\nmetod = 1',
            "3:1: allow.metod is not a key of a policy; did you mean",
        ),
        ('allow_hosts = "a.example"', "1:1: allow_hosts must be a list of strings"),
        ('x = """\n"""\n allow_hosts = [1]', "1:1: x is not a key"),
        ("\n allow_hosts = [1]", "2:2: allow_hosts must be a list of strings"),
        ("allow_hosts = [", "1:16: is not TOML"),
        ("allow_hosts = @", "1:15: is not TOML: Invalid value"),
        (
            'allow_hosts = []\nallow_hosts = ["b.example"]',
            "2:1: is not TOML: allow_hosts stands twice, first in",
        ),
        ("[limits]\n\n[limits]", "3:2: is not TOML: limits stands twice, first in line 1"),
        ('env.set = {}\n[env]\npass = ["A"]', "2:2: is not TOML: env stands twice, first in line 1"),
        ("[env]\nset = {A = '1', A = '2'}", "2:17: is not TOML: env.set.A stands twice, first in line 2"),
        (
            "[limits]\nallow_hosts = []",
            "2:1: limits.allow_hosts is not a key of a policy: in TOML it belongs to",
        ),
        ("[secrets.K]\nallow_hosts = []", "put allow_hosts above the first [table] of the file"),
        ('[[allow]]\nhost = "a.example"\nexec = ["git"]', "put exec above the first [table] of the file"),
        ("[[allow]]\nport = 1\nport = 2", "3:1: is not TOML: allow.port stands twice, first in line 2"),
        ("allow_hosts = [a.example]", '1:16: is not TOML: Invalid value; text stands in quotes: "a.example"'),
        ("allow_hosts = [192.0.2.1]", 'Unclosed array; text stands in quotes: "192.0.2.1"'),
        ("[limits]\ntime = 10m", 'text stands in quotes: "10m"'),
        (
            'read_paths = ["/a",\n  "opt"]',
            '2:3: path "opt" must begin with / or ~/; write "~/opt" for one in',
        ),
        ('write_paths = ["../opt"]', 'must begin with / or ~/; write "~/opt" for one in your home directory'),
        (
            'write_paths = ["$HOME/opt"]',
            'must begin with / or ~/; write "~/opt" for one in your home directory',
        ),
        ('write_paths = ["${HOME}/opt"]', 'write "~/opt" for one in your home directory'),
        ('write_paths = ["~bob/x"]', "write the whole path of that user's home directory"),
        ('[[allow]]\nhost = "a.example"\nport = "8443"', "written as allow.port = 8443"),
        ('[[allow]]\nhost = "a.example"\nport = "https"', "written as allow.port = 10"),
        ('read_paths = ["./../.ssh"]', 'write "~/.ssh" for one in your home directory'),
        ('write_paths = [".."]', "must begin with / or ~/; the project itself needs no grant"),
        ('write_paths = ["."]', '1:16: path "." must begin with / or ~/; the project itself needs no grant'),
        ('read_paths = ["/a", "/a"]', "1:21: read_paths names /a twice"),
        ('read_paths = ["/a\\u0000"]', "1:15: read_paths has a NUL"),
        ("secrets = 1", "1:1: secrets must be a table, written as [secrets]"),
        ("[env.set]\nA = 1", "2:1: env.set.A must be a string"),
        ('[env.set]\n"A=B" = "1"', '2:1: "A=B" is not the name of an environment variable'),
        ('[project]\nmask = ["/x"]', '2:9: project path "/x" must be relative'),
        ('[project]\nunmask = ["../x"]', '2:11: project path "../x" must be relative'),
        ('[project]\nunprotect = ["/etc"]', "2:14: project path"),
        ("[sandbox]\nnested = 1", "2:1: sandbox.nested must be true or false"),
        ('[record]\nmax_bytes = "1Gib"', '2:1: record.max_bytes is no size: "1Gib"; write'),
        ("[record]\nmax_bytes = 5", "2:1: record.max_bytes is 5 bytes; it must be between"),
        ("allow = 1", "1:1: allow must be tables, each written as [[allow]]"),
        ('[allow]\nhost = "a.example"', "1:2: allow must be tables, each written as [[allow]]"),
    ],
)
def test_a_mistake_is_named_with_its_place_and_mend(text, words):
    assert words in refused(text)


def test_a_policy_that_is_too_large_or_not_text_is_refused():
    with pytest.raises(PolicyError, match="larger than"):
        parse_policy(b"#" * (MAX_POLICY + 1), "p.toml")
    with pytest.raises(PolicyError, match=r"p\.toml:1:2: is not UTF-8"):
        parse_policy(b"#\xff", "p.toml")


LINES = WHOLE.decode().splitlines()


@given(st.binary(max_size=200) | st.text(max_size=200).map(str.encode))
def test_only_policy_errors_come_out(raw):
    try:
        policy = parse_policy(raw, "p.toml")
    except PolicyError:
        return
    assert policy.raw == raw


@given(st.lists(st.sampled_from(LINES), max_size=12), st.data())
def test_lines_of_a_policy_in_any_order_and_a_little_damaged_give_a_policy_or_its_error(lines, data):
    text = "\n".join(lines)
    at = data.draw(st.integers(0, len(text)))
    damage = data.draw(st.sampled_from(["", "1", '"', "[", "*", "-1", "true", "{}", "\\u0000", "\n"]))
    raw = (text[:at] + damage + text[at + data.draw(st.integers(0, 3)) :]).encode()
    only_policy_errors(raw.decode())


JUNK = st.recursive(
    st.sampled_from(
        ["true", "-1", "0", "1", "1e9", '""', '"a"', '"/"', '"*"', "2030-01-01", "10:00:00", "inf"]
    ),
    lambda inner: (
        st.lists(inner, max_size=3).map(lambda items: f"[{', '.join(items)}]")
        | st.dictionaries(st.sampled_from(["host", "name", "path", "K", "port"]), inner, max_size=3).map(
            lambda table: "{" + ", ".join(f"{key} = {value}" for key, value in table.items()) + "}"
        )
    ),
    max_leaves=5,
)
PLACES = [
    *KEYS,
    *(f"secrets.K.{key}" for key in ("env", "file", "command", "hosts", "in", "mount", "sigv4")),
    *(f"mcp.m.{key}" for key in ("command", "env", "secrets", "allow_tools", "workdir")),
    *(f"limits.{key}" for key in ("time", "processes", "memory", "disk", "events_per_second")),
    "env.pass", "env.set", "project.mask", "project.unmask", "project.unprotect", "record.max_bytes",
    "git.https", "sandbox.nested",
]  # fmt: skip
TABLES = {
    "allow": ("port", "ports", "protocol", "methods", "paths", "hours", "until", "upstream", "body", "tools"),
    "token": ("host", "path", "fields"),
    "publish": ("port", "at"),
}


@given(st.sampled_from(PLACES), JUNK)
def test_any_value_under_any_key_gives_a_policy_or_its_error_with_a_place(place, value):
    only_policy_errors(f"{place} = {value}")


@given(st.sampled_from([(table, key) for table, keys in TABLES.items() for key in keys]), JUNK)
def test_any_value_in_any_table_gives_a_policy_or_its_error_with_a_place(place, value):
    table, key = place
    host = 'host = "a.example"\n' if key != "host" else ""
    only_policy_errors(f"[[{table}]]\n{host}{key} = {value}")


def only_policy_errors(text: str) -> None:
    try:
        policy = read(text)
    except PolicyError as error:
        placed = re.match(r"p\.toml:\d+:\d+: ", str(error))
    else:
        placed = policy.raw == text.encode()
    assert placed
