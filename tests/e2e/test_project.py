"""What a project hides from the agent, and what the end of the run says the agent has left in it."""

import os
import socket
import subprocess

import pytest

from tests.e2e.rig import Desk, ok
from tests.support.waiting import until

pytestmark = pytest.mark.e2e


def test_no_other_name_of_a_file_with_credentials_shows_it(at: Desk):
    os.link(at.write(".env", "TOKEN=precious"), at.project / "notes.txt")
    at.write("config/prod", "SECRET=precious")
    (at.project / ".netrc").symlink_to("config/prod")
    script = "cat .env notes.txt config/prod .netrc; ln notes.txt a && cat a; cp -l .env b && cat b; true"
    ended = ok(at.run("--", "sh", "-c", script))
    assert "precious" not in ended.stdout + ended.stderr
    at.bundle.unlink()
    # The control: with the mask taken off by the operator's own word, it is there.
    at.write("policy.toml", '[project]\nunmask = ["notes.txt"]\n')
    assert "precious" in ok(at.run("-policy=policy.toml", "--", "cat", "notes.txt")).stdout


def test_a_repository_with_a_hook_and_settings_of_other_agents_that_the_agent_makes_are_named(at: Desk):
    script = (
        "git init -q sub; echo 'touch ran' > sub/.git/hooks/pre-commit; chmod +x sub/.git/hooks/pre-commit;"
        "mkdir -p deep/er/.vscode; echo {} > deep/er/.vscode/tasks.json; echo x > deep/CLAUDE.md; touch file"
    )
    said = [line for line in ok(at.run("--", "sh", "-c", script)).stderr.splitlines() if "changed" in line]
    named = {line.split()[4].rstrip(",") for line in said}
    assert named == {"deep/CLAUDE.md", "sub/.git", "deep/er/.vscode"}
    assert all(line.endswith("which other programs act on; look before they do") for line in said)


PLANT = """
git init -q build && printf '[core]\\n\\tfsmonitor = touch ../ran; false\\n' > build/.git/config
echo ../build/.git > .git/commondir
git init -q src && printf '#!/bin/sh\\ntouch ../ran\\n' > src/.git/hooks/pre-commit
chmod +x src/.git/hooks/pre-commit; git init -q --bare good.git; touch planted
"""


FILL = "; dd if=/dev/zero of=/tmp/full bs=1M count=64; sleep 600"


@pytest.mark.parametrize("end", ["", FILL], ids=["by itself", "by a limit"])
def test_git_run_later_runs_nothing_that_the_agent_left_and_what_git_made_stays(at: Desk, end: str):
    def git(*words: str) -> None:
        who = ("-c", "user.name=x", "-c", "user.email=x@example.com", "-c", "safe.directory=*")
        subprocess.run(["git", *who, *words], cwd=at.project, capture_output=True, check=False)

    git("init", "-q", "-b", "main")
    if os.geteuid() == 0:
        subprocess.run(["chown", "-R", f"{at.user.uid}:{at.user.gid}", at.project], check=True)
    at.write("policy.toml", '[limits]\ndisk = "16MiB"\n' if end else "")
    ended = at.run("-policy=policy.toml", "--", "sh", "-c", PLANT + end)
    assert (at.project / "planted").exists()
    assert "git would have obeyed .git/commondir, which the agent left: it is called" in ended.stderr
    assert "git would have obeyed src/.git/hooks, " in ended.stderr
    assert "git would have obeyed build/.git/config, " in ended.stderr
    git("status")
    git("-C", "src", "commit", "--allow-empty", "-m", "x")
    git("-C", "build", "status")
    assert not (at.project / "ran").exists()
    assert (at.project / "good.git/HEAD").exists()
    # The control: under their own names they run.
    for name in ("src/.git/hooks", "build/.git/config"):
        (at.project / f"{name}.kept-by-hark").rename(at.project / name)
    git("-C", "src", "commit", "--allow-empty", "-m", "x")
    assert (at.project / "ran").exists()


def test_a_repository_in_a_folder_that_is_granted_is_kept_as_the_projects_own_is(at: Desk):
    folder = at.project.parent / "granted"
    folder.mkdir()
    subprocess.run(["git", "init", "-q", folder / "there"], check=True)
    if os.geteuid() == 0:
        subprocess.run(["chown", "-R", f"{at.user.uid}:{at.user.gid}", folder], check=True)
    script = (
        "cd ../granted; for name in config hooks/x description; do "
        "(echo '#' >> there/.git/$name) 2> /dev/null && echo $name; done; git init -q made; "
        "git -C made config core.pager 'touch ran'"
    )
    ended = ok(at.run("-write", folder, "--", "sh", "-c", script))
    assert ended.stdout == "description\n"
    assert "git would have obeyed ../granted/made/.git/config, which the agent left: it is" in ended.stderr
    # The control: a grant of its own is the operator's word.
    at.bundle.unlink()
    ended = ok(at.run("-write", folder, "-write", folder / "there/.git/config", "--", "sh", "-c", script))
    assert ended.stdout == "config\ndescription\n"


@pytest.mark.parametrize("late", [True, False], ids=["late", "control: from the start"])
def test_a_program_that_begins_to_listen_in_the_project_is_named_and_one_that_did_is_masked(
    at: Desk, late: bool
):
    speak = (
        "import os, socket, time\nopen('ready', 'w').close()\n"
        "while not os.path.exists('go'): time.sleep(0.02)\n"
        "try: socket.socket(socket.AF_UNIX).connect('service')\n"
        "except OSError as error: print(type(error).__name__)\n"
        "else: print('reached')\n"
    )

    def listen() -> None:
        place = os.open(at.project, os.O_PATH)
        listener.bind(f"/proc/self/fd/{place}/service")  # a socket's path is short
        os.close(place)
        os.chmod(at.project / "service", 0o777)
        listener.listen()

    with socket.socket(socket.AF_UNIX) as listener:
        if not late:
            listen()
        with at.start("run", "-o", at.bundle, "--", "python3", "-c", speak) as process:
            until((at.project / "ready").exists)
            if late:
                listen()
            (at.project / "go").touch()
            out, said = (piece.decode() for piece in process.communicate(timeout=60))
    assert process.returncode == 0, said
    assert out == ("reached\n" if late else "PermissionError\n")
    assert ("hark: a program of this machine began to listen on service during the run" in said) == late
    assert [event["what"] for event in at.events("ShimReport") if event["source"] == "files"] == (
        ["service"] if late else []
    )


def test_a_change_to_settings_further_down_is_named_too(at: Desk):
    at.write("sub/AGENTS.md", "old")
    ended = ok(at.run("--", "sh", "-c", "echo new > sub/AGENTS.md"))
    assert "hark: the agent changed sub/AGENTS.md, which" in ended.stderr


def test_a_run_that_fails_names_what_is_masked_and_one_that_does_not_says_nothing(at: Desk):
    at.write(".env", "TOKEN=precious")
    line = 'hark: masked in the project, so that the agent cannot read it: .env; `unmask = [".env"]`'
    assert line in at.run("--", "cat", ".env").stderr
    at.bundle.unlink()
    assert "masked" not in ok(at.run("--", "true")).stderr
    at.bundle.unlink()
    at.write("policy.toml", '[project]\nunmask = [".env"]\n')
    assert "masked" not in at.run("-policy=policy.toml", "--", "sh", "-c", "cat .env; false").stderr


def test_a_file_that_holds_a_secret_is_named_before_the_agent_starts_and_can_be_masked(at: Desk):
    value = "sk-test-0123456789abcdefghij"
    at.write("config.json", value)
    policy = f'allow_hosts = ["api.example"]\n[secrets.KEY]\nfile = "{at.project}/key"\n'
    at.write("key", value)
    at.write("policy.toml", policy)
    ended = at.run("-policy=policy.toml", "--", "sh", "-c", "cat key; cat config.json >&2")
    assert ended.stdout == ""
    said, read, _ = ended.stderr.partition(value)
    assert (read, "secrets.KEY in the project, in config.json; move" in said) == (value, True)
    at.bundle.unlink()
    at.write("policy.toml", f'{policy}[project]\nmask = ["config.json"]\n')
    ended = at.run("-policy=policy.toml", "--", "cat", "config.json")
    assert "config.json: Permission denied" in ended.stderr
    assert "secrets.KEY" not in ended.stderr
