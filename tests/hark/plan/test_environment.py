"""The agent's environment is built from a list, never inherited."""

from hark.plan.environment import DEFAULT_PATH, build

CALLER = {
    "AWS_SECRET_ACCESS_KEY": "x",
    "SSH_AUTH_SOCK": "/run/agent",
    "HTTPS_PROXY": "http://proxy",
    "LD_PRELOAD": "/evil.so",
    "PYTHONPATH": "/evil",
    "LANG": "de_DE.UTF-8",
    "LC_TIME": "C",
    "TERM": "xterm",
    "CUSTOM": "1",
    "PATH": "/opt/tool/bin:relative:/usr/bin:/home/u/secret/bin",
}


def built(**changes):
    settings = {
        "home": "/home/u",
        "user": "u",
        "visible": ("/opt/tool",),
        "passed": (),
        "assigned": {},
    } | changes
    return build(CALLER, **settings)


def test_nothing_of_the_caller_is_passed_on_but_language_and_terminal():
    env = built()
    assert env.keys() == {"LANG", "LC_TIME", "TERM", "HOME", "USER", "LOGNAME", "SHELL", "TMPDIR", "PATH"}
    assert (env["LANG"], env["HOME"], env["USER"]) == ("de_DE.UTF-8", "/home/u", "u")


def test_the_policy_passes_and_sets_variables_and_its_word_is_last():
    env = built(passed=("CUSTOM", "UNSET"), assigned={"HOME": "/x", "MODE": "test"})
    assert (env["CUSTOM"], env["HOME"], env["MODE"]) == ("1", "/x", "test")
    assert "UNSET" not in env


def test_path_keeps_what_the_agent_can_see_in_the_callers_order():
    path = built()["PATH"].split(":")
    assert path[:2] == ["/opt/tool/bin", "/usr/bin"]
    assert set(path) == {"/opt/tool/bin", *DEFAULT_PATH.split(":")}


def test_a_directory_beside_a_visible_one_is_not_visible():
    assert "/opt/tools/bin" not in build(
        {"PATH": "/opt/tools/bin"}, home="/", user="u", visible=("/opt/tool",), passed=(), assigned={}
    )["PATH"].split(":")
