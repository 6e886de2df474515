"""`hark run` as a person meets it: exit codes, streams, signals, refusals, and a record to be trusted."""

import json
import os
import resource
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from blake3 import blake3

from tests.e2e.rig import Desk, ok
from tests.fakes.upstream import serving
from tests.support.programs import without_its_loader
from tests.support.waiting import until

pytestmark = pytest.mark.e2e

MAX_FILE = 2 << 20  # the least that hark starts with (`launcher.least`)
SECRET = "sk-live-0123456789abcdefghijklmnop"


@pytest.mark.parametrize("code", [0, 1, 7, 123, 125, 255])
def test_the_agents_exit_code_is_harks(rootless: Desk, code: int):
    ok(rootless.run("--", "sh", "-c", f"exit {code}"), code)
    assert rootless.events("RunEnd")[0]["exit_code"] == code


def test_a_first_run_builds_what_gives_the_agent_its_clock_and_the_next_finds_it(at: Desk):
    at.env["XDG_STATE_HOME"] = f"{at.project.parent}/first"
    when = []
    for name in ("1.hark", "2.hark"):
        ok(at.hark("run", "-o", at.project.parent / name, "--", "true"))
        (kept,) = Path(at.env["XDG_STATE_HOME"], "hark", "shims").glob("*.so")
        when.append(kept.stat().st_mtime_ns)
    assert when[0] == when[1]
    seen = ok(at.hark("inspect", "-kind=Determinism", at.project.parent / "1.hark"))
    assert "clock preload" in seen.stdout


SERVING_LATE = """
import os, sys, time
from hark.cli.main import entry
from mediator.serve import Mediator
start = Mediator.start
def late(self):
    while not os.path.exists("asking"):
        time.sleep(0.01)
    {then}
Mediator.start = late
sys.exit(entry(sys.argv[1:]))
"""
ASKS = "touch asking; curl -sS --cacert $SSL_CERT_FILE https://api.example/v1"


def test_what_the_agent_asks_before_the_mediator_serves_is_answered_then(at: Desk):
    with serving("api.example") as server:
        words = [*at.toward(server, "api.example"), "--", "sh", "-c", ASKS]
        ended = at.program(SERVING_LATE.format(then="start(self)"), "run", "-o", at.bundle, *words)
    assert ok(ended).stdout
    assert [event["host"] for event in at.events("EgressDecision")] == ["api.example"]


def test_where_the_mediator_does_not_serve_the_agent_is_ended_and_reaches_nothing(at: Desk):
    with serving("api.example") as server:
        words = [*at.toward(server, "api.example"), "--", "sh", "-c", f"{ASKS}; sleep 600"]
        failing = SERVING_LATE.format(then="raise RuntimeError('no thread')")
        ended = at.program(failing, "run", "-o", at.bundle, *words)
        assert not server.dials
    assert ended.returncode == 123
    assert "RuntimeError: no thread" in ended.stderr


FAILING = """
import os, sys, threading, time
from hark.cli.main import entry
from hark.errors import ConfinementError, LimitError, PolicyError
from hark.running.run import Run
from launcher.outlet import Outlet
from launcher.supervise import Boundary
from mediator.serve import Mediator
def fail(self, *given, **named):
    while not os.path.exists("asking"):
        time.sleep(0.01)
    raise {error}
{place} = fail
sys.exit(entry(sys.argv[1:]))
"""
PLANTS = (
    "mkdir -p sub/.git/objects sub/.git/refs && echo 'ref: refs/heads/main' > sub/.git/HEAD &&"
    "printf '[core]\\nfsmonitor = touch pwned\\n' > sub/.git/config && touch asking"
)
NO_THREAD = 'RuntimeError("no thread")'


@pytest.mark.parametrize(
    ("place", "error"),
    [
        ("Mediator.start", NO_THREAD),
        ("Mediator.start", 'ConfinementError("no thread")'),
        ("Mediator.start", 'OSError(11, "no thread")'),
        ("Mediator.__init__", 'PolicyError("no thread")'),
        ("Outlet.begin", NO_THREAD),
        ("threading.Timer.start", NO_THREAD),
        ("Run._follow", 'ConfinementError("no thread")'),
        ("Boundary.wait", NO_THREAD),
        ("Mediator.stop", NO_THREAD),
        ("Run.closing", 'PolicyError("no thread")'),
    ],
)
def test_what_fails_once_the_agent_runs_is_on_the_record_as_that_and_what_was_left_is_put_aside(
    rootless: Desk, place: str, error: str
):
    program = FAILING.format(place=place, error=error)
    wait = "" if place in {"Mediator.stop", "Run.closing"} else "; sleep 600"
    ended = rootless.program(program, "run", "-o", rootless.bundle, "--", "sh", "-c", f"{PLANTS}{wait}")
    assert ended.returncode == 123, ended.stderr
    assert "no thread" in ended.stderr
    assert "config.kept-by-hark" in ended.stderr
    assert not (rootless.project / "sub/.git/config").exists()
    assert ok(rootless.hark("verify", rootless.bundle)).stdout.startswith(
        "VERIFIED: the recorder failed and the run was ended"
    )
    (end,) = rootless.events("RunEnd")
    assert end["reason"].startswith("recorder-failed: hark failed after the agent was started: ")
    assert end["exit_code"] == 123


def test_the_control_where_nothing_fails_the_end_is_the_agents_own(rootless: Desk):
    program = FAILING.format(place="Mediator.never_called", error=NO_THREAD)
    ok(rootless.program(program, "run", "-o", rootless.bundle, "--", "sh", "-c", f"{PLANTS}; exit 3"), 3)
    assert rootless.events("RunEnd")[0]["reason"] == "exit"


def test_the_control_what_fails_before_the_agent_is_to_start_never_started(rootless: Desk):
    program = FAILING.format(place="Boundary._begin_input", error='ConfinementError("no thread")')
    rootless.write("asking", "")
    ended = rootless.program(program, "run", "-o", rootless.bundle, "--", "sh", "-c", "touch ran")
    assert ended.returncode == 125, ended.stderr
    assert not (rootless.project / "ran").exists()
    assert rootless.events("RunEnd")[0]["reason"] == "never-started: no thread"


def test_a_signal_that_ends_the_agent_is_told_as_a_shell_tells_it(rootless: Desk):
    ok(rootless.run("--", "sh", "-c", "kill -SEGV $$"), 128 + signal.SIGSEGV)
    assert rootless.events("RunEnd")[0]["reason"] == "signal SIGSEGV"


@pytest.mark.parametrize(
    ("command", "code", "words"),
    [
        (("no-such-command",), 127, "no-such-command: command not found"),
        (("./plain",), 126, "./plain: permission denied"),
        (("./orphan",), 127, "its interpreter /no/such does not exist"),
    ],
)
def test_what_cannot_start_is_said_and_leaves_no_bundle(
    at: Desk, command: tuple[str, ...], code: int, words: str
):
    at.write("plain", "echo\n")
    at.write("orphan", "#!/no/such\n").chmod(0o755)
    ended = ok(at.run("--", *command), code)
    assert words in ended.stderr
    assert "Traceback" not in ended.stderr
    assert not at.bundle.exists()


def test_what_fails_at_exec_is_sealed_as_never_started(at: Desk):
    at.write("broken", without_its_loader()).chmod(0o755)
    ended = ok(at.run("--", "./broken"), 127)
    assert "./broken" in ended.stderr
    assert at.events("RunEnd")[0]["reason"].startswith("never-started")
    verified = at.hark("verify", at.bundle)
    assert "never" in verified.stdout.splitlines()[0]


def test_streams_pass_through_byte_by_byte(rootless: Desk):
    data = bytes(range(256)) * 1000
    ended = rootless.start("run", "-o", rootless.bundle, "--", "cat", stdin=subprocess.PIPE)
    out, err = ended.communicate(data, timeout=60)
    assert out == data
    assert ended.returncode == 0, err


def test_nothing_but_harks_own_sentences_is_added_to_stderr(rootless: Desk):
    ended = ok(rootless.run("--", "sh", "-c", "echo out; echo err >&2"))
    assert ended.stdout == "out\n"
    lines = ended.stderr.splitlines()
    assert "err" in lines
    assert all(line == "err" or line.startswith("hark: ") for line in lines)


def test_the_agent_keeps_who_it_is_and_what_it_makes_belongs_to_the_caller(at: Desk):
    ended = ok(at.run("--", "sh", "-c", "id -u; echo made > file"))
    assert (at.project / "file").stat().st_uid == at.user.uid
    uid = int(ended.stdout)
    assert uid != 0
    assert at.user.uid in (0, uid)


def test_root_is_never_root_inside_and_cannot_set_what_sysctl_sets(at: Desk):
    script = (
        "for f in /proc/sys/kernel/core_pattern /proc/sys/vm/swappiness;"
        "do echo x > $f && echo wrote; done; echo tried"
    )
    before = Path("/proc/sys/kernel/core_pattern").read_text()
    ended = at.run("--", "sh", "-c", script)
    assert ended.stdout == "tried\n"
    assert Path("/proc/sys/kernel/core_pattern").read_text() == before


def test_without_a_policy_everything_is_denied_and_the_end_says_what_would_allow_it(at: Desk):
    script = "curl -sS https://a.example/; curl -sS -m 5 http://198.51.100.9:8080/; true"
    ended = ok(at.run("--", "sh", "-c", script))
    assert "hark: denied a.example" in ended.stderr
    assert "hark: denied 198.51.100.9:8080" in ended.stderr
    block = ended.stderr.partition(", or into a file that -policy names:\n")[2]
    assert block == '[[allow]]\nhost = "a.example"\n[[allow]]\nhost = "198.51.100.9"\nport = 8080\n'
    decisions = at.events("DnsDecision", "EgressDecision")
    assert decisions
    assert not any(decision["allowed"] for decision in decisions)


@pytest.mark.parametrize("grant", ["/etc/hosts", "/etc"])
def test_a_grant_of_the_hosts_own_settings_is_shown_and_names_still_come_to_us(rootless: Desk, grant: str):
    script = "cat /etc/hosts; curl -sS https://a.example/; true"
    ended = ok(rootless.run("-read", grant, "--", "sh", "-c", script))
    assert ended.stdout == Path("/etc/hosts").read_text()
    assert "hark: denied a.example" in ended.stderr


def test_every_run_is_signed_with_the_users_key_which_is_named_once(rootless: Desk):
    first = ok(rootless.hark("run", "--", "true"))
    second = ok(rootless.hark("run", "--", "true"))
    assert "made your signing key" in first.stderr
    assert "made your signing key" not in second.stderr
    keys = list(Path(rootless.env["XDG_CONFIG_HOME"], "hark").iterdir())
    assert [key.stat().st_mode & 0o777 for key in keys if key.name == "signing.key"] == [0o600]


def test_a_run_without_o_is_found_by_ls(rootless: Desk):
    ok(rootless.hark("run", "--", "true"))
    listed = [json.loads(line) for line in ok(rootless.hark("ls", "--json")).stdout.splitlines()]
    assert [run["state"] for run in listed] == ["sealed"]
    verified = ok(rootless.hark("verify", listed[0]["run"]))
    assert verified.stdout.startswith("VERIFIED")


def test_a_destination_that_exists_is_refused_before_the_agent_starts(rootless: Desk):
    rootless.bundle.write_text("precious")
    ended = ok(rootless.run("--", "touch", "started"), 125)
    assert str(rootless.bundle) in ended.stderr
    assert rootless.bundle.read_text() == "precious"
    assert not (rootless.project / "started").exists()


def test_a_state_directory_that_cannot_be_written_is_refused_before_the_agent_starts(rootless: Desk):
    rootless.env["XDG_STATE_HOME"] = "/proc/self"
    ended = ok(rootless.hark("run", "--", "touch", "started"), 125)
    assert ended.stderr.splitlines()[-1].startswith("hark: ")
    assert "Traceback" not in ended.stderr
    assert not (rootless.project / "started").exists()


@pytest.mark.parametrize("where", ["/no/such/folder/run.hark", "/proc/run.hark", "/tmp/" + "x" * 300])
def test_a_destination_that_cannot_be_written_is_refused_before_the_agent_starts(rootless: Desk, where: str):
    ended = ok(rootless.hark("run", "-o", where, "--", "touch", "started"), 125)
    assert ended.stderr.startswith("hark: ")
    assert "Traceback" not in ended.stderr
    assert not (rootless.project / "started").exists()


def test_a_policy_mistake_is_refused_in_one_sentence(rootless: Desk):
    rootless.write("policy.toml", 'allow_host = ["a.example"]')
    ended = ok(rootless.run("-policy", "policy.toml", "--", "touch", "started"), 125)
    assert (
        ended.stderr
        == "hark: policy.toml:1:1: allow_host is not a key of a policy; did you mean allow_hosts?\n"
    )
    assert not (rootless.project / "started").exists()


def test_harks_own_key_and_runs_are_invisible_even_inside_a_grant(rootless: Desk):
    folder = rootless.project.parent
    ok(rootless.hark("run", "--", "true"))
    script = (
        f"ls -R {folder}; cat {folder}/config/hark/signing.key; echo x > {folder}/state/hark/x; echo tried"
    )
    ended = rootless.run("-write", folder, "--", "sh", "-c", script)
    assert "project" in ended.stdout
    assert ended.stdout.endswith("tried\n")
    assert "PRIVATE KEY" not in ended.stdout
    assert "signing.key" not in ended.stdout
    assert not Path(rootless.env["XDG_STATE_HOME"], "hark", "x").exists()


def test_what_a_project_keeps_secret_or_runs_by_itself_is_out_of_reach(rootless: Desk):
    subprocess.run(["git", "init", "-q", rootless.project], check=True)
    subprocess.run(["chown", "-R", f"{rootless.user.uid}:{rootless.user.gid}", rootless.project], check=True)
    rootless.write(".env", "TOKEN=precious")
    script = (
        "cat .env; echo x > .git/hooks/pre-commit; mv .git away; echo '[alias]' >> .git/config; ls -d .git"
    )
    ended = rootless.run("--", "sh", "-c", script)
    assert ended.stdout.endswith(".git\n")
    assert "precious" not in ended.stdout
    assert not (rootless.project / ".git" / "hooks" / "pre-commit").exists()
    assert "[alias]" not in (rootless.project / ".git" / "config").read_text()


def test_what_the_agent_makes_for_others_to_run_is_listed_at_the_end(rootless: Desk):
    ended = ok(rootless.run("--", "sh", "-c", "mkdir .vscode; echo '{}' > .vscode/tasks.json"))
    assert "the agent changed .vscode/tasks.json" in ended.stderr


def test_the_secret_is_nowhere_the_agent_or_a_reader_can_look(at: Desk):
    at.env["REAL"] = SECRET
    at.write("policy.toml", 'allow_hosts = ["api.example"]\n[secrets.KEY]\nenv = "REAL"\n')
    script = (
        "echo $KEY; cat /proc/1/environ /proc/1/cmdline /proc/self/environ /proc/[0-9]*/environ 2>/dev/null;"
        "grep -a REAL /proc/1/maps; cat /proc/1/mem 2>/dev/null | head -c 1; true"
    )
    ended = ok(at.run("-policy", "policy.toml", "--", "sh", "-c", script))
    assert "sk-hark" in ended.stdout
    assert SECRET not in ended.stdout + ended.stderr
    assert SECRET.encode() not in at.bundle.read_bytes()


def test_a_secret_passed_on_by_mistake_refuses_the_run(rootless: Desk):
    rootless.env["REAL"] = SECRET
    text = 'allow_hosts = ["api.example"]\n[secrets.KEY]\nenv = "REAL"\n[env]\npass = ["REAL"]\n'
    rootless.write("policy.toml", text)
    ended = ok(rootless.run("-policy", "policy.toml", "--", "touch", "started"), 125)
    assert "secrets.KEY" in ended.stderr
    assert SECRET not in ended.stderr
    assert not (rootless.project / "started").exists()


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_a_signal_to_hark_reaches_the_agent_and_the_record_is_sealed(rootless: Desk, number: signal.Signals):
    process = rootless.start("run", "-o", rootless.bundle, "--", "sh", "-c", "echo up; exec sleep 60")
    assert process.stdout is not None
    assert process.stdout.readline() == b"up\n"
    process.send_signal(number)
    process.communicate(timeout=60)
    assert process.returncode == 128 + number
    assert rootless.events("RunEnd")[0]["reason"] == f"interrupted: {number.name}"
    assert "VERIFIED" in rootless.verdict()


def test_a_record_that_cannot_be_written_ends_the_run_with_123(rootless: Desk):
    def small_files_only() -> None:
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (MAX_FILE, MAX_FILE))

    # Made by the agent: what lies in the project before it is on the record before it starts.
    upload = f"head -c {4 * MAX_FILE} /dev/urandom | curl -sS -T - https://api.example/upload"
    script = f"{upload}; sleep 3; touch finished"
    with serving("api.example") as server:
        options = rootless.toward(server, "api.example")
        ended = rootless.hark("run", *options, "--", "sh", "-c", script, preexec_fn=small_files_only)
        assert sum(len(request.body) for request in server.seen) < MAX_FILE
    assert ended.returncode == 123, ended.stderr
    assert "Traceback" not in ended.stderr
    assert not (rootless.project / "finished").exists()
    (left,) = Path(rootless.env["XDG_STATE_HOME"], "hark", "runs").glob("*.hark")
    verified = rootless.hark("verify", left)
    assert verified.returncode == 3, verified.stdout


def processes_of(marker: str) -> list[int]:
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                if marker.encode() in (entry / "cmdline").read_bytes():
                    found.append(int(entry.name))
            except OSError:
                continue
    return found


def test_nothing_outlives_a_supervisor_that_is_killed(rootless: Desk):
    marker = f"6{os.getpid()}.25"
    before = host_state()
    script = f"setsid sleep {marker} & sleep {marker} & echo up; sleep {marker}"
    process = rootless.start("run", "--", "sh", "-c", script)
    assert process.stdout is not None
    assert process.stdout.readline() == b"up\n"
    assert processes_of(marker)
    process.kill()
    process.communicate(timeout=60)
    until(lambda: not processes_of(marker), "the agent's processes to end")
    (left,) = Path(rootless.env["XDG_STATE_HOME"], "hark", "runs").glob("*.hark")
    verified = rootless.hark("verify", left)
    assert verified.returncode == 3, verified.stdout
    assert "TRUNCATED" in verified.stdout
    assert host_state() == before


def test_twenty_runs_at_once_all_finish(rootless: Desk):
    folders = [rootless.project.parent / f"{number}.hark" for number in range(20)]
    started = [rootless.start("run", "-o", folder, "--", "/bin/true") for folder in folders]
    ended = [process.communicate(timeout=120) for process in started]
    assert [process.returncode for process in started] == [0] * 20, [err for _, err in ended]
    assert all(folder.exists() for folder in folders)


def host_state() -> dict[str, object]:
    """Links, routes, mounts, packet rules and named namespaces, as the kernel lists them."""
    return {
        "links": Path("/proc/net/dev").read_text().count(":"),
        "routes": Path("/proc/net/route").read_text(),
        "mounts": Path("/proc/self/mountinfo").read_text(),
        "rules": packet_tables(),
        "namespaces": sorted(os.listdir("/run/netns")) if os.path.isdir("/run/netns") else [],
    }


LIST_TABLES = """
from pyroute2.nftables.main import NFTables
with NFTables(nfgen_family=0) as nftables:
    print(sorted(str(table.get_attr("NFTA_TABLE_NAME")) for table in nftables.get_tables()))
"""


def packet_tables() -> str:
    """The names of the host's nftables tables, which only root may list; asked in a process of its own,
    since the launcher leaves stand-ins for pyroute2's modules in this one."""
    if os.geteuid() != 0:
        return ""
    return subprocess.run(
        [sys.executable, "-c", LIST_TABLES], check=True, capture_output=True, text=True
    ).stdout


def test_the_host_is_afterwards_as_it_was(rootless: Desk):
    before = host_state()
    ok(rootless.run("--", "sh", "-c", "curl -s http://198.51.100.9/; echo x > /tmp/inside; sleep 0"))
    assert host_state() == before
    assert not Path("/tmp/inside").exists()


PLANT = """
mkdir -p mitmproxy mediator h11
for package in mitmproxy mediator h11; do
    echo 'open("/tmp/hark-planted", "w").write("x")' > $package/__init__.py
done
sleep 0.5
curl -s http://198.51.100.9/ ; curl -s https://api.example/ ; true
"""


def test_a_search_path_of_python_into_the_project_refuses_the_run(rootless: Desk):
    for value in (str(rootless.project), f"/opt/none:{rootless.project}/src", ".", "/opt/none:"):
        rootless.env["PYTHONPATH"] = value
        ended = ok(rootless.run("--", "true"), 125)
        assert "hark: PYTHONPATH names" in ended.stderr
        assert "env -u PYTHONPATH" in ended.stderr
    rootless.env["PYTHONPATH"] = "/opt/none"
    ok(rootless.run("--", "true"))


def test_a_module_that_the_agent_plants_is_never_loaded_by_the_supervisor(at: Desk):
    planted = Path("/tmp/hark-planted")
    at.write("policy.toml", 'allow_hosts = ["api.example"]')
    for _ in range(2):  # what the first run leaves behind lies there when the second begins
        at.hark("run", "-policy", "policy.toml", "--", "sh", "-c", PLANT)
    assert (at.project / "mitmproxy" / "__init__.py").exists()
    assert not planted.exists()


def test_harks_own_code_inside_a_grant_is_read_only_to_the_agent(at: Desk):
    root = Path(__file__).resolve().parents[2]
    script = f"touch {root}/hark/x {root}/.venv/x; touch {root}/x.probe && rm {root}/x.probe && echo control"
    ended = at.run("-write", root, "--", "sh", "-c", script)
    assert not (root / "hark" / "x").exists()
    assert not (root / ".venv" / "x").exists()
    assert ("control" in ended.stdout) is (at.user.uid == root.stat().st_uid)


def test_the_end_is_told_although_the_agent_left_stderr_full_and_unwilling(rootless: Desk):
    script = (
        "import fcntl, os\n"
        "fcntl.fcntl(2, fcntl.F_SETFL, fcntl.fcntl(2, fcntl.F_GETFL) | os.O_NONBLOCK)\n"
        "try:\n    while True: os.write(2, b'x' * 65536)\nexcept BlockingIOError: pass\n"
    )
    ended = ok(rootless.run("--", "python3", "-c", script))
    assert "hark: recorded" in ended.stderr


def test_the_agent_cannot_have_process_1_ended_by_a_limit(rootless: Desk):
    script = (
        "import resource\ntry:\n    resource.prlimit(1, resource.RLIMIT_CPU, (0, 0))\n"
        "except PermissionError: print('refused')\n"
        "resource.prlimit(0, resource.RLIMIT_CPU, (60, 60)); print('control')"
    )
    assert ok(rootless.run("--", "python3", "-c", script)).stdout == "refused\ncontrol\n"


def test_the_key_of_the_key_option_is_out_of_the_agents_sight(rootless: Desk):
    ok(rootless.hark("keygen", "-out", rootless.project / "mykey"))
    ended = rootless.run("-key", "mykey", "--", "sh", "-c", "cat mykey; ls; echo tried")
    assert "PRIVATE KEY" not in ended.stdout
    assert ended.stdout.endswith("tried\n")
    assert "PRIVATE KEY" in (rootless.project / "mykey").read_text()


ASK_NOTHING = """
import socket
connection = socket.create_connection(("203.0.113.9", 53))
connection.sendall(b"GET / HTTP/1.1\\r\\n\\r\\n")
print(connection.recv(10))
"""


def test_tcp_to_port_53_that_asks_for_no_name_is_refused_and_on_the_record(rootless: Desk):
    rootless.run("--", "python3", "-c", ASK_NOTHING)
    attempts = [(event["host"], event["port"]) for event in rootless.events("EgressAttempt")]
    assert attempts == [("203.0.113.9", 53)]
    assert [event["allowed"] for event in rootless.events("EgressDecision")] == [False]


def test_a_directory_that_becomes_a_link_does_not_lead_the_bundle_elsewhere(at: Desk):
    victim = at.project.parent / "victim"
    for folder in (victim, at.project / "out"):
        folder.mkdir()
        if os.geteuid() == 0:
            os.chown(folder, at.user.uid, at.user.gid)
    ended = at.hark("run", "-o", "out/rec", "--", "sh", "-c", f"rmdir out; ln -s {victim} out")
    assert list(victim.iterdir()) == []
    assert "out/rec" in ended.stderr
    assert "Traceback" not in ended.stderr


def test_a_mirrors_bodies_are_not_in_the_record_but_their_hash_is(rootless: Desk):
    body = os.urandom(3 << 20)
    with serving("mirror.example") as server:
        server.routes["/pkg"] = lambda call: call.reply(200, body)
        options = rootless.toward(server, "mirror.example")
        allow = '[[allow]]\nhost = "mirror.example"\nbody = "hash"\n'
        rootless.write("policy.toml", allow)
        ok(rootless.run(*options, "--", "curl", "-sSf", "-o", "pkg", "https://mirror.example/pkg"))
    assert (rootless.project / "pkg").read_bytes() == body
    (kept,) = rootless.events("BodyHash")
    assert (kept["length"], kept["hash"]["hex"]) == (len(body), blake3(body).hexdigest())
    assert rootless.bundle.stat().st_size < 64 << 10
    shown = rootless.hark("inspect", rootless.bundle).stdout
    assert f"server > body of {len(body)} bytes, not stored, BLAKE3 {blake3(body).hexdigest()}" in shown
    verified = ok(rootless.hark("verify", rootless.bundle)).stdout
    assert "bodies that the policy keeps out of the record" in verified


def test_what_is_left_in_the_background_ends_with_the_command_unless_it_is_waited_for(at: Desk):
    script = "(setsid sh -c 'sleep 1; echo late > late' >/dev/null 2>&1 &); exit 4"
    ended = ok(at.run("--", "sh", "-c", script), 4)
    assert "still running and ended with it; -wait-children waits for them" in ended.stderr
    assert not (at.project / "late").exists()
    at.bundle.unlink()
    ended = ok(at.run("-wait-children", "--", "sh", "-c", script), 4)
    assert "still running" not in ended.stderr
    assert (at.project / "late").read_text() == "late\n"
