"""Real clients of protocols that hark does not know, inside `hark run`: SSH, git, a database, mail."""

import os
import socket
import struct
import subprocess
from pathlib import Path

import pytest

from tests.e2e.rig import Desk, ok
from tests.fakes import mysql, postgres
from tests.fakes.raw import echo, raw_server, read_all
from tests.fakes.ssh import ssh_server
from tests.fakes.upstream import serving

pytestmark = pytest.mark.e2e

HOST = "service.example"
SSH = ["ssh", "-F", "none", "-o", "StrictHostKeyChecking=no", "-o", "UserKnownHostsFile=/dev/null", "-T"]


def allowed(at: Desk, port: int, real: int, more: str = "") -> list[str]:
    """Allow one port of a service of this machine, and nothing else."""
    rule = f'[[allow]]\nhost = "{HOST}"\nport = {port}\nprotocol = "tcp"\nupstream = "127.0.0.1:{real}"\n'
    at.write("policy.toml", rule + more)
    return ["-policy=policy.toml", "--"]


def python(code: str) -> list[str]:
    return ["python3", "-c", f"import socket, struct, sys\n{code}"]


def sent(at: Desk, *, from_agent: bool) -> bytes:
    """What the record says passed in one direction."""
    data = b""
    for event in at.events("TunnelData"):
        if event["from_agent"] is from_agent:
            (kind, value), *_ = event["data"].items() if event["data"] else [("text", "")]
            data += bytes.fromhex(value) if kind == "hex" else value.encode()
    return data


def test_ssh_runs_a_command_on_a_service_of_this_machine(at: Desk):
    with ssh_server() as real:
        run = allowed(at, 22, real)
        ended = at.run(*run, "sh", "-c", f"echo piped in | {' '.join(SSH)} me@{HOST} some command")
    assert ended.stdout == "asked to run: some command\npiped in\n", ended.stderr
    assert ended.returncode == 7
    assert "VERIFIED" in at.verdict()
    (attempt,) = at.events("EgressAttempt")
    assert (attempt["host"], attempt["port"], attempt["protocol"]) == (HOST, 22, "tcp")
    assert sent(at, from_agent=True).startswith(b"SSH-2.0-OpenSSH")
    assert sent(at, from_agent=False).startswith(b"SSH-2.0-AsyncSSH")
    (start,) = at.events("RunStart")
    assert start["upstreams"] == [f"{HOST}:22=127.0.0.1:{real}"]


def test_ssh_to_a_host_that_is_not_allowed_fails_at_once(rootless: Desk):
    ended = rootless.run("--", *SSH, "me@203.0.113.9", "true")
    assert ended.returncode == 255
    assert "reset" in ended.stderr
    assert "denied 203.0.113.9:22 (" in ended.stderr


def test_git_clones_over_its_own_protocol(at: Desk, tmp_path: Path):
    git = ["git", "-c", "user.name=t", "-c", "user.email=t@example.org", "-c", "safe.directory=*"]
    subprocess.run([*git, "init", "-q", "-b", "main", tmp_path / "source"], check=True)
    (tmp_path / "source" / "data.bin").write_bytes(os.urandom(300_000))
    subprocess.run([*git, "-C", tmp_path / "source", "add", "."], check=True)
    subprocess.run([*git, "-C", tmp_path / "source", "commit", "-qm", "first"], check=True)

    def serve(connection: socket.socket) -> None:
        command = [*git, "daemon", "--inetd", "--export-all", f"--base-path={tmp_path}", str(tmp_path)]
        subprocess.run(command, stdin=connection, stdout=connection, check=False)

    with raw_server(serve) as server:
        ok(at.run(*allowed(at, 9418, server.port), "git", "clone", "-q", f"git://{HOST}/source", "copy"))
    assert (at.project / "copy" / "data.bin").read_bytes() == (tmp_path / "source" / "data.bin").read_bytes()
    assert "VERIFIED" in at.verdict()


def test_a_postgresql_client_asks_a_database_of_this_machine(rootless: Desk):
    code = f"""
import pg8000.native
with pg8000.native.Connection("me", host={HOST!r}, database="work", password="x", ssl_context=None) as db:
    print(db.run("select 1"))
"""
    with raw_server(postgres.serve) as server:
        run = allowed(rootless, 5432, server.port)
        ended = ok(rootless.run(*run, rootless.user.python, "-c", code))
    assert ended.stdout == "[['answer to select 1']]\n"
    assert b"select 1" in sent(rootless, from_agent=True)
    assert b"answer to select 1" in sent(rootless, from_agent=False)


MYSQL = f"""
import pymysql, sys
try:
    db = pymysql.connect(host={HOST!r}, user="me", password=sys.argv[1], database="work")
    with db, db.cursor() as cursor:
        cursor.execute("select %s", ("it's",))
        print(cursor.fetchall())
except pymysql.err.OperationalError as error:
    print("refused with", error.args[0])
"""


def test_a_mysql_client_is_greeted_by_a_database_of_this_machine_and_asks_it(at: Desk):
    """The server speaks first; the control is a wrong password, which the server refuses."""
    with raw_server(mysql.serving("me", "right")) as server:
        run = allowed(at, 3306, server.port)
        asked = ok(at.run(*run, at.user.python, "-c", MYSQL, "right"))
        record = [sent(at, from_agent=side) for side in (True, False)]
        assert "VERIFIED" in at.verdict()
        (attempt,) = at.events("EgressAttempt")
        at.bundle.unlink()
        refused = ok(at.run(*run, at.user.python, "-c", MYSQL, "wrong"))
    assert asked.stdout == """(("answer to select 'it\\\\'s'",),)\n"""
    assert refused.stdout == "refused with 1045\n"
    assert (attempt["host"], attempt["port"], attempt["protocol"]) == (HOST, 3306, "tcp")
    assert b"select 'it" in record[0]
    assert record[1][4:].startswith(b"\x0a8.0.36\0")
    assert b"answer to select" in record[1]
    assert server.errors == []


def mail(connection: socket.socket) -> None:
    connection.sendall(b"220 mail.example ESMTP\r\n")
    file = connection.makefile("rb")
    while line := file.readline():
        word = line.split()[0].upper()
        if word == b"DATA":
            connection.sendall(b"354 go on\r\n")
            while file.readline() != b".\r\n":
                pass
        connection.sendall(b"221 bye\r\n" if word == b"QUIT" else b"250 fine\r\n")


def test_mail_is_sent_where_the_server_speaks_first(rootless: Desk):
    code = f"""
import smtplib
with smtplib.SMTP({HOST!r}, 25) as server:
    server.sendmail("a@example.org", ["b@example.org"], "Subject: hello\\r\\n\\r\\nthe body of it\\r\\n")
"""
    with raw_server(mail) as server:
        ok(rootless.run(*allowed(rootless, 25, server.port), *python(code)))
    assert b"the body of it" in sent(rootless, from_agent=True)
    assert b"220 mail.example ESMTP" in sent(rootless, from_agent=False)


def test_a_protocol_of_nobodys_passes_with_both_half_closes(at: Desk):
    def add(connection: socket.socket) -> None:
        numbers = read_all(connection)
        connection.sendall(struct.pack("!q", sum(struct.unpack(f"!{len(numbers) // 4}i", numbers))))

    code = f"""
s = socket.create_connection(({HOST!r}, 4711))
s.sendall(b"".join(struct.pack("!i", n) for n in range(1000)))
s.shutdown(socket.SHUT_WR)
print(struct.unpack("!q", s.recv(8))[0], s.recv(1))
"""
    with raw_server(add) as server:
        ended = ok(at.run(*allowed(at, 4711, server.port), *python(code)))
    assert ended.stdout == f"{sum(range(1000))} b''\n"
    assert [event["error"] for event in at.events("TunnelData") if event["end"]] == ["", ""]
    shown = at.hark("inspect", "-kind=TunnelData", at.bundle).stdout
    assert f"raw TCP to {HOST}:4711" in shown
    assert "agent > 2, end" in shown


def test_a_placeholder_in_it_ends_the_connection_and_says_so(rootless: Desk):
    got: list[bytes] = []
    secret = '\n[secrets.API_KEY]\nenv = "REAL"\nhosts = ["api.example"]\n'
    rule = 'allow_hosts = ["api.example"]\n'
    code = f"""
import os
s = socket.create_connection(({HOST!r}, 4711))
s.sendall(b"token=" + os.environ["API_KEY"].encode())
try: print("got", s.recv(10))
except ConnectionResetError: print("reset")
"""

    def keep(connection: socket.socket) -> None:
        try:
            got.append(read_all(connection))
        except OSError:
            got.append(b"")

    rootless.env["REAL"] = "sk-real-0123456789abcdefghij"
    with raw_server(keep) as server:
        run = allowed(rootless, 4711, server.port, secret)
        policy = rootless.project / "policy.toml"
        policy.write_text(rule + policy.read_text())
        ended = ok(rootless.run(*run, *python(code)))
    assert ended.stdout == "reset\n"
    assert "the placeholder of secrets.API_KEY stands in it" in ended.stderr
    assert b"sk-" not in b"".join(got)
    (end,) = [event for event in rootless.events("TunnelData") if event["error"].startswith("refused: ")]
    assert end["from_agent"]


def test_a_web_service_of_this_machine_is_reached_by_its_own_name(at: Desk):
    with serving(HOST) as tls, serving(HOST, tls=False) as plain:
        roots = at.write("roots.pem", tls.ca_pem)
        rules = "".join(
            f'[[allow]]\nhost = "{HOST}"\nport = {port}\nupstream = "127.0.0.1:{server.port}"\n'
            for port, server in ((443, tls), (8080, plain))
        )
        at.write("policy.toml", rules)
        both = f"curl -sS https://{HOST}/a; curl -sS http://{HOST}:8080/b"
        ended = ok(at.run("-policy=policy.toml", f"-upstream-ca={roots}", "--", "sh", "-c", both))
        assert ended.stdout == "GET /a 0GET /b 0"
        assert (tls.dials, plain.dials) == (1, 1)


OTHERS = """
import ipaddress
reached = []
for host in ({host!r}, "127.0.0.1", "10.200.1.1", socket.gethostbyname({host!r}), {address!r}):
    try:
        s = socket.create_connection((host, {port}), 5)
        s.sendall(b"x")
        if s.recv(64): reached.append(host)
    except OSError: pass
print(reached)
"""


def _own_address() -> str:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect(("192.0.2.1", 9))
        except OSError:
            return "127.0.0.1"
        return str(probe.getsockname()[0])


def test_no_other_service_of_this_machine_is_reached_beside_the_allowed_one(at: Desk):
    def banner(connection: socket.socket) -> None:
        connection.sendall(b"another service")
        connection.recv(10)

    with raw_server(banner) as wanted, raw_server(banner) as other:
        code = OTHERS.format(host=HOST, port=other.port, address=_own_address())
        ended = ok(at.run(*allowed(at, 5432, wanted.port), *python(code)))
        assert ended.stdout == "[]\n"
        assert other.dials == 0
        # The control: the same program reaches it once a rule appoints it.
        at.bundle.unlink()
        ended = ok(at.run(*allowed(at, other.port, other.port), *python(code)))
        assert HOST in ended.stdout
        assert other.dials > 0


MANY = f"""
import resource
_, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
resource.setrlimit(resource.RLIMIT_NOFILE, (min(hard, 4096), hard))
socks = [socket.create_connection(({HOST!r}, 4711)) for _ in range(1000)]
for turn in range(2):
    for number, s in enumerate(socks): s.sendall(b"%04d" % number)
    for number, s in enumerate(socks):
        s.settimeout(60)
        assert s.recv(4) == b"%04d" % number
print("all")
"""


@pytest.mark.slow
def test_a_thousand_connections_of_one_agent_are_open_at_once(rootless: Desk):
    with raw_server(echo) as server:
        ended = ok(rootless.run(*allowed(rootless, 4711, server.port), *python(MANY), timeout=110))
    assert ended.stdout == "all\n"
    assert len(rootless.events("EgressAttempt")) == 1000


def test_a_rule_for_the_web_and_one_for_raw_tcp_on_one_port_are_refused(rootless: Desk):
    run = allowed(rootless, 4711, 1, f'[[allow]]\nhost = "{HOST}"\nport = 4711\n')
    ended = rootless.run(*run, "true")
    assert ended.returncode == 125
    assert "4711" in ended.stderr
