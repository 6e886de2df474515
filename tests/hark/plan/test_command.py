"""What a command needs to start, on real files."""

import os
from pathlib import Path

import pytest

from hark.plan.command import Command, CommandError, find_command, installation


def script(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    path.chmod(0o755)
    return path


def find(name: str, tmp_path: Path, path: str = "/usr/bin:/bin") -> Command:
    return find_command(name, str(tmp_path), path, str(tmp_path / "home"), {})


def test_a_program_of_the_system_is_found_on_path(tmp_path):
    command = find("sh", tmp_path)
    assert command.executable == "/usr/bin/sh"
    assert os.path.realpath("/usr/bin/sh") in command.needs


def test_a_virtual_environment_brings_its_own_prefix_and_its_base(tmp_path):
    base = tmp_path / "py" / "3.99"
    (base / "lib" / "python3.99").mkdir(parents=True)
    (base / "lib" / "python3.99" / "os.py").touch()
    script(base / "bin" / "python3", "\x7fELF")
    venv = tmp_path / "venv"
    (venv / "bin").mkdir(parents=True)
    (venv / "pyvenv.cfg").write_text(f"home = {base}/bin\n")
    (venv / "bin" / "python").symlink_to(base / "bin" / "python3")
    needs = find(str(venv / "bin" / "python"), tmp_path).needs
    assert str(venv) in needs
    assert str(base) in needs


def test_a_shebang_chain_is_followed_to_the_last_interpreter(tmp_path):
    prefix = tmp_path / "node" / "v1"
    (prefix / "lib" / "node_modules").mkdir(parents=True)
    node = script(prefix / "bin" / "node", "\x7fELF")
    tool = script(tmp_path / "tools" / "agent", "#!/usr/bin/env node\n")
    needs = find(str(tool), tmp_path, path=f"{prefix}/bin:/usr/bin").needs
    assert {str(tool), str(node), str(prefix)} <= set(needs)


def test_env_options_and_assignments_are_not_the_interpreter(tmp_path):
    node = script(tmp_path / "bin" / "node", "\x7fELF")
    tool = script(tmp_path / "agent", "#!/usr/bin/env -S A=b node --flag\n")
    assert str(node) in find(str(tool), tmp_path, path=f"{tmp_path}/bin").needs


def test_a_pyenv_shim_brings_the_installation_it_asks(tmp_path):
    root = tmp_path / "home" / ".pyenv"
    (root / "libexec" / "pyenv").mkdir(parents=True)
    shim = script(root / "shims" / "python", "#!/bin/sh\n")
    assert str(root) in find(str(shim), tmp_path).needs


@pytest.mark.parametrize("where", ["home/bin/tool", "home/.local/bin/tool", "bin/tool"])
def test_a_home_directory_never_counts_as_an_installation(tmp_path, where):
    tool = script(tmp_path / where, "\x7fELF")
    for prefix in (tmp_path, tmp_path / "home", tmp_path / "home" / ".local"):
        (prefix / "lib").mkdir(parents=True, exist_ok=True)
    assert find(str(tool), tmp_path).needs == (str(tool),)


def test_a_link_into_a_users_share_brings_its_target_and_not_the_folder(tmp_path):
    target = script(tmp_path / "home/.local/share/claude/versions/1", "\x7fELF")
    link = tmp_path / "home/.local/bin/claude"
    link.parent.mkdir(parents=True)
    link.symlink_to(target)
    assert find(str(link), tmp_path).needs == (str(link), str(target))


@pytest.mark.parametrize(
    ("name", "code", "words"),
    [
        ("no-such-program", 127, "command not found$"),
        ("python3 agent.py", 127, "command not found; it is one word, take the quotes away"),
        ("cd", 127, "command not found; that is for a shell: sh -c 'LINE' runs a line of it$"),
        ("DEBUG=1", 127, "command not found; that is for a shell"),
        ("./agent.py -v", 127, "no such file; it is one word, take the quotes away"),
        ("./no-such-file", 127, "no such file"),
        ("./plain", 126, "permission denied"),
        ("./folder", 126, "is a directory"),
        ("./orphan", 127, "its interpreter /no/such/interpreter does not exist"),
        ("plain/below", 127, "no such file"),
    ],
)
def test_what_cannot_start_says_so_with_a_shells_code(tmp_path, name, code, words):
    (tmp_path / "plain").write_text("echo\n")
    (tmp_path / "folder").mkdir()
    script(tmp_path / "orphan", "#!/no/such/interpreter\n")
    with pytest.raises(CommandError, match=words) as caught:
        find(name, tmp_path)
    assert caught.value.exit_code == code


def test_interpreters_in_a_circle_end(tmp_path):
    a, b = tmp_path / "a", tmp_path / "b"
    script(a, f"#!{b}\n")
    script(b, f"#!{a}\n")
    with pytest.raises(CommandError, match="interpreters follow one another"):
        find(str(a), tmp_path)


def test_a_relative_path_entry_is_taken_from_the_working_directory(tmp_path):
    tool = script(tmp_path / "tools" / "t", "\x7fELF")
    assert find("t", tmp_path, path="tools").executable == str(tool)


def test_a_program_in_the_root_does_not_bring_the_whole_machine(tmp_path):
    assert not {"", "/"} & set(find("/bin/sh", tmp_path).needs)


@pytest.mark.parametrize("way", ["pyvenv.cfg", "a link"])
def test_a_project_cannot_have_a_directory_granted_that_is_no_installation(tmp_path, way):
    other = tmp_path / "other"
    (other / "lib").mkdir(parents=True)
    stranger = script(other / "bin" / "python3", "\x7fELF")
    venv = tmp_path / "app" / ".venv"
    (venv / "bin").mkdir(parents=True)
    if way == "a link":
        (venv / "bin" / "python").symlink_to(stranger)
    else:
        script(venv / "bin" / "python", "\x7fELF")
        (venv / "pyvenv.cfg").write_text(f"home = {other}/bin\n")
    assert str(other) not in find(str(venv / "bin" / "python"), tmp_path).needs


SECRET_LINES = {
    "a file that is no program": b"#!%s\necho\n",
    "a word that ends where only Python ends one": b"#!%s\x0b/../x\necho\n",
    "a line longer than what the kernel reads of it": b"#!%s\x0b" + b"A" * 300 + b"\necho\n",
}


@pytest.mark.parametrize("line", SECRET_LINES.values(), ids=SECRET_LINES)
def test_a_script_cannot_have_a_file_granted_by_naming_it_as_its_interpreter(tmp_path, line):
    key = tmp_path / "home" / ".ssh" / "id"
    key.parent.mkdir(parents=True)
    key.write_text("secret")
    agent = tmp_path / "agent"
    agent.write_bytes(line % os.fsencode(key))
    agent.chmod(0o755)
    try:
        needs: tuple[str, ...] = find("./agent", tmp_path).needs
    except CommandError:
        needs = ()
    assert str(key) not in needs
    key.chmod(0o755)
    agent.write_bytes(b"#!%s\necho\n" % os.fsencode(key))  # control: an interpreter is granted
    assert str(key) in find("./agent", tmp_path).needs


@pytest.mark.parametrize("name", ["agent", ".venv/pyvenv.cfg", "interpreter"])
def test_a_pipe_where_a_file_should_be_stops_nobody(tmp_path, name):
    (tmp_path / ".venv" / "bin").mkdir(parents=True)
    script(tmp_path / ".venv" / "bin" / "python", "#!/bin/sh\n")
    script(tmp_path / "script", f"#!{tmp_path}/interpreter\n")
    os.mkfifo(tmp_path / name)
    (tmp_path / name).chmod(0o755)
    assert (
        str(tmp_path / ".venv") in installation(str(tmp_path / ".venv"), str(tmp_path), "/nowhere")
        or name != ".venv/pyvenv.cfg"
    )
    for command in ("./agent", "./script"):
        with pytest.raises(CommandError, match=r"no regular file|no such file|does not exist"):
            find(command, tmp_path)


def planted(home: Path, app: Path, way: str) -> None:
    """As an agent of an earlier run leaves it in the project; what others work on looks like Go's or R's."""
    for name in ("pkg/tool", "lib/R", "keys"):
        (home / "work" / name).mkdir(parents=True)
    tool = script(home / "work" / "bin" / "tool", "\x7fELF")
    script(app / "bin" / "agent", f"#!{tool}\n" if way == "an interpreter" else "#!/usr/bin/env python3\n")
    if way == "a link to a program":
        (app / "bin" / "agent").unlink()
        (app / "bin" / "agent").symlink_to(tool)
    elif way == "a link to packages":
        (app / "lib" / "python3.9").mkdir(parents=True)
        (app / "lib" / "python3.9" / "site-packages").symlink_to(home / "work" / "keys")
    elif way == "a link to candidates":
        (app / "bin" / "sdkman-init.sh").touch()
        (app / "candidates").symlink_to(home / "work" / "keys")
    elif way == "an environment":
        (app / ".venv").symlink_to(home / "work")
    elif way == "a link to an interpreter":
        (app / ".venv" / "bin").mkdir(parents=True)
        (app / ".venv" / "pyvenv.cfg").touch()
        (app / ".venv" / "bin" / "python").symlink_to(tool)


WAYS = (
    *(
        "an interpreter",
        "a link to a program",
        "a link to packages",
        "a link to candidates",
        "an environment",
    ),
    "a link to an interpreter",
)


@pytest.mark.parametrize("way", WAYS)
def test_what_lies_in_the_project_leads_to_no_directory_of_somebody_elses(tmp_path, way):
    home, app = tmp_path / "home", tmp_path / "home" / "app"
    planted(home, app, way)

    def shown(workdir: Path) -> list[str]:
        command = find_command(str(app / "bin" / "agent"), str(workdir), "/usr/bin", str(home), {})
        needs = (*command.needs, *installation(f"{app}/.venv", str(workdir), str(home)))
        return [need for need in map(os.path.realpath, needs) if os.path.isdir(need)]

    work = f"{home}/work"
    assert not any(need.startswith(work) for need in shown(app))
    assert any(need.startswith(work) for need in shown(tmp_path / "elsewhere"))  # control: not the project's


def test_a_folder_of_path_that_may_not_be_entered_is_passed_over(tmp_path, monkeypatch):
    closed, opened = tmp_path / "closed", tmp_path / "open"
    script(opened / "tool", "#!/bin/sh\n")
    real = os.stat

    def stat(path, *args, **kwargs):
        if str(path).startswith(f"{closed}/"):
            raise PermissionError(13, "Permission denied", path)
        return real(path, *args, **kwargs)

    monkeypatch.setattr(os, "stat", stat)  # root may enter any
    path = f"{closed}:{opened}"
    assert find_command("tool", str(tmp_path), path, "/home/x", {}).executable == f"{opened}/tool"
    with pytest.raises(CommandError, match="command not found") as caught:
        find_command("pass", str(tmp_path), path, "/home/x", {})
    assert caught.value.exit_code == 127
