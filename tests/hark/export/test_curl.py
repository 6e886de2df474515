"""The command is run by a real curl against a real server, and what arrives is what was recorded."""

import subprocess
from base64 import b64decode, b64encode

import pytest

from hark.conversation.gathered import gather
from hark.errors import UsageError
from hark.export import curl
from hark.export.shellwords import variables
from tests.fakes.upstream import serving
from tests.hark.export.story import ALLOWED, END, PLACEHOLDER, POST, TLS, frames

REAL = "sk-the-real-one'$(x)"
NAMES = variables({PLACEHOLDER: "MODEL_KEY"}, named=True)
HOST = (b"Host", b"api.example")


def command(request=POST, *, end=END, names=NAMES, held=None):
    (exchange,) = gather(frames(TLS, ALLOWED, request, end))
    return curl.command(exchange, names, held or {})


def arrived(tmp_path, text):
    """What a server gets of the command, which is given to a shell as it stands."""
    with serving("api.example") as upstream:
        (tmp_path / "ca.pem").write_bytes(upstream.ca_pem)
        (tmp_path / ".curlrc").write_text(
            f'connect-to = "::{upstream.address}"\ncacert = "{tmp_path}/ca.pem"\n'
            'silent\nshow-error\nnoproxy = "*"\n'
        )
        (tmp_path / "again.sh").write_text(text)
        env = {"CURL_HOME": str(tmp_path), "MODEL_KEY": REAL, "PATH": "/usr/local/bin:/usr/bin:/bin"}
        done = subprocess.run(
            ["sh", tmp_path / "again.sh"], env=env, capture_output=True, timeout=60, check=False
        )
        assert done.returncode == 0, done.stderr
        (seen,) = upstream.seen
    return seen


def sent(seen):
    return [(name, value) for name, value in seen.headers if name.lower() != "content-length"]


def test_a_request_arrives_as_it_was_recorded(tmp_path):
    seen = arrived(tmp_path, command())
    assert (seen.method, seen.path, seen.body) == ("POST", POST.path, POST.body)
    assert sent(seen) == [(name.decode(), value.decode()) for name, value in POST.raw_headers]


@pytest.mark.parametrize(
    "body",
    [
        b"@/etc/passwd", b"'; touch owned; '\"$(touch owned)`", b"line\nbreak\n", bytes(range(256)) * 3,
        b"\0", b"x" * 300_000, "gr\u00fc\u00df\u202e".encode(), b"{[a-z]}",
        bytes(57) + b64decode("HARK"),
    ],
    ids=["at", "quotes", "lines", "binary", "nul", "long", "bidi", "globs", "end"],
)  # fmt: skip
def test_any_body_arrives_byte_for_byte(tmp_path, body):
    seen = arrived(tmp_path, command(POST._replace(body=body)))
    assert seen.body == body
    assert sent(seen) == [(name.decode(), value.decode()) for name, value in POST.raw_headers]


def test_hostile_headers_and_paths_are_nothing_but_themselves(tmp_path):
    headers = (
        HOST,
        (b"X-Quotes", b"'\"$(touch owned)`touch owned`\\"),
        (b"X-At", b"@/etc/passwd"),
        (b"X-Empty", b""),
        (b"X-Twice", b"1"),
        (b"X-Twice", b"2"),
        (b"X-Latin", b"\xe9\xff"),
    )
    path = "/a/../b//{c,d}/[1-3]?x='$(touch%20owned)&y=%00"
    seen = arrived(tmp_path, command(POST._replace(method="PUT", path=path, body=b"", raw_headers=headers)))
    assert (seen.method, seen.path) == ("PUT", path)
    assert sent(seen) == [(name.decode(), value.decode("latin-1")) for name, value in headers]
    assert sorted(found.name for found in tmp_path.iterdir()) == [".curlrc", "again.sh", "ca.pem"]


def test_a_placeholder_is_a_variable_wherever_it_stood(tmp_path):
    held = PLACEHOLDER.encode()
    headers = (HOST, (b"Authorization", b"Bearer " + held), (b"X-Key", held))
    text = command(
        POST._replace(raw_headers=headers, body=b'{"k": "' + held + b'"}', path=f"/p?k={PLACEHOLDER}")
    )
    assert PLACEHOLDER not in text
    assert "# set MODEL_KEY first: the agent held a placeholder for it\n" in text
    text = text.replace('?k="${MODEL_KEY:?}"', "?k=1")  # a real value in a path would have to be encoded
    seen = arrived(tmp_path, text)
    assert (seen.header("authorization"), seen.header("x-key")) == (f"Bearer {REAL}", REAL)
    assert seen.body == f'{{"k": "{REAL}"}}'.encode()


def test_a_placeholder_within_basic_credentials_and_within_binary(tmp_path):
    held = PLACEHOLDER.encode()
    basic = b"Basic " + b64encode(b"user:" + held)
    request = POST._replace(raw_headers=(HOST, (b"Authorization", basic)), body=b"\0" + held + b"\xff")
    text = command(request)
    assert b64encode(held).decode()[:-4] not in text
    seen = arrived(tmp_path, text)
    assert seen.header("authorization") == "Basic " + b64encode(f"user:{REAL}".encode()).decode()
    assert seen.body == b"\0" + REAL.encode() + b"\xff"


def test_without_its_variable_the_command_is_not_run(tmp_path):
    text = command(POST._replace(raw_headers=(HOST, (b"X-Key", PLACEHOLDER.encode()))))
    with pytest.raises(AssertionError, match="MODEL_KEY"):
        arrived(tmp_path, "unset MODEL_KEY\n" + text)


def test_what_the_command_cannot_say_is_said_in_a_comment():
    headers = (HOST, (b"X-Split", b"a\r\nInjected: 1"), (b"@/etc/passwd", b"x"), (b"X-Nul", b"a\0"))
    text = command(POST._replace(raw_headers=headers), end=END._replace(error="refused: no"))
    assert "Injected" not in text
    assert "# left out: the header X-Split, its value has a line break or a NUL in it\n" in text
    assert "# left out: the header @/etc/passwd, its name is none that HTTP allows\n" in text
    assert "--header '@" not in text
    assert "# hark refused this request" in text


def test_http_2_is_asked_for_and_a_websocket_is_refused():
    assert "--http2 " in command(POST._replace(raw_headers=()))
    assert "--http1.1 " in command()
    with pytest.raises(UsageError, match="opens a WebSocket"):
        command(end=END._replace(status=101))
    with pytest.raises(UsageError, match="no request that curl can make"):
        command(POST._replace(method="-o /etc/passwd"))


def test_a_placeholder_that_hark_did_not_replace_stays_and_is_named():
    text = command(
        POST._replace(raw_headers=(HOST, (b"X-Key", PLACEHOLDER.encode()))),
        names={},
        held={PLACEHOLDER: "MODEL_KEY", "hark-of-another-secret": "OTHER"},
    )
    assert f"--header 'X-Key: {PLACEHOLDER}'" in text
    assert "${" not in text
    assert "# hark put no value in for MODEL_KEY here: the agent's placeholder stands there\n" in text
    assert "OTHER" not in text
