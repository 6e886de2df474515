"""What a run tells its user, and how its end is named."""

import signal

import pytest

from hark.running.summary import (
    MAX_DENIALS_SHOWN,
    acted_on,
    kept_back,
    laid_bare,
    left_behind,
    listened_on,
    not_found,
    of_denials,
    reason,
    signal_name,
)
from launcher.report import Ended
from mediator.ledger import Denied, Summary


def denied(host: str, port: int = 443, count: int = 1) -> Denied:
    return Denied(host, port, "tls", count, host if port == 443 else f"{host}:{port}")


def test_a_run_without_denials_says_nothing():
    assert list(of_denials(Summary())) == []


def test_denials_are_told_with_their_number():
    found = Summary(denied=(denied("b.example", 8443, 3), denied("a.example"), denied("a.example")))
    assert list(of_denials(found)) == [
        "denied b.example:8443 (tls, 3 times)",
        "denied a.example:443 (tls)",
        "denied a.example:443 (tls)",
    ]


def test_a_flood_of_denials_is_cut_and_counted():
    many = tuple(denied(f"h{number}.example") for number in range(MAX_DENIALS_SHOWN + 5))
    lines = list(of_denials(Summary(denied=many, denied_uncounted=7)))
    assert f"denied {5 + 7} more; `hark inspect` lists them" in lines
    assert len(lines) == MAX_DENIALS_SHOWN + 1


@pytest.mark.parametrize(
    ("ended", "expected"),
    [
        (Ended(code=3), "exit"),
        (Ended(signal=signal.SIGKILL), "signal SIGKILL"),
        (Ended(code=0, passed_on=signal.SIGTERM), "exit: after SIGTERM"),
        (Ended(code=143, passed_on=signal.SIGTERM), "interrupted: SIGTERM"),
        (Ended(signal=signal.SIGINT, passed_on=signal.SIGINT), "interrupted: SIGINT"),
        (Ended(signal=signal.SIGKILL, passed_on=signal.SIGINT), "signal SIGKILL"),
    ],
)
def test_each_kind_of_end_has_its_own_reason(ended, expected):
    assert reason(ended) == expected


def test_a_real_time_signal_has_a_name_too():
    assert signal_name(signal.SIGRTMIN + 3) == f"SIGRTMIN+{3}"


def test_a_denial_that_no_policy_line_would_lift_says_why():
    one = Denied("a.example", 443, "https", 2, "", "secrets.KEY is not bound to a.example:443")
    assert list(of_denials(Summary(denied=(one,)))) == [
        "denied a.example:443 (https, 2 times): secrets.KEY is not bound to a.example:443"
    ]


def test_a_program_that_was_not_found_is_answered_with_the_grants_that_would_show_it():
    assert not_found(("/a/bin", "/b")).endswith("to show them: -read /a/bin -read /b")


def test_what_was_ended_with_the_agent_is_said_with_the_option_that_waits():
    assert left_behind(1).startswith("a process of the agent was still running")
    assert left_behind(3).endswith("-wait-children waits for them")


def test_a_file_is_named_so_that_no_terminal_acts_on_its_name():
    assert acted_on("a\x1b[2J", 1).startswith("the agent changed a\\e[2J, which other programs act on")
    assert acted_on(".git/hooks", 3).startswith("the agent changed .git/hooks (3 files),")
    assert "listen on \\e during" in listened_on("\x1b")
    assert laid_bare("\x1b").startswith("\\e was replaced by another program")


def test_an_ipv6_address_stands_in_brackets_before_its_port():
    one = Denied("2001:db8::1", 443, "tls", 1, "[2001:db8::1]")
    assert next(of_denials(Summary(denied=(one,)))) == "denied [2001:db8::1]:443 (tls)"


def test_what_is_masked_is_named_with_the_line_that_shows_it_and_bundles_are_not():
    assert list(kept_back(["old.hark"])) == []
    (line,) = kept_back([".env", "old.hark", "a\x1b[2J"])
    said = "masked in the project, so that the agent cannot read it: .env, a\\e[2J; "
    assert line == said + '`unmask = [".env"]` under [project] of the policy shows one'
    (line,) = kept_back(f"{number}/.env" for number in range(7))
    assert ": 0/.env, 1/.env, 2/.env, 3/.env, 4/.env and 2 more; " in line
