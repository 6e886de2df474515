"""A run that lets sandboxes nest promises nothing that the owner of a mount namespace could undo."""

from dataclasses import replace

import pytest

from hark.errors import PolicyError
from hark.plan import nesting
from launcher.plan import Access, Grant, Plan

PLAN = Plan(
    argv=("true",),
    executable="/usr/bin/true",
    workdir="/w/project",
    env={},
    grants=(Grant("/w/project", Access.WRITE, "project directory"), Grant("/data", Access.READ, "-read")),
    nested=True,
)


def refuse(plan: Plan, watched: tuple[str, ...] = ()) -> str:
    with pytest.raises(PolicyError) as caught:
        nesting.check(plan, watched)
    return str(caught.value)


def test_a_masked_file_in_the_project_is_named_with_what_to_do():
    said = refuse(replace(PLAN, masked=("/w/project/.env",)))
    assert "/w/project/.env" in said
    assert "unmask" in said


def test_what_lies_in_a_read_only_grant_stays_covered():
    nesting.check(replace(PLAN, masked=("/data/.env", "/w/project2/.env"), hidden=("/data/hark",)), ())


def test_hark_s_own_files_and_policy_in_the_project_are_refused():
    assert "/w/project/state" in refuse(replace(PLAN, hidden=("/w/project/state",)))
    assert "/w/project/policy.toml" in refuse(replace(PLAN, protected=("/w/project/policy.toml",)))


def test_a_file_that_is_shown_with_placeholders_may_not_be_moved_from_under_them():
    said = refuse(replace(PLAN, files={"/w/project/tool.json": b"placeholder"}))
    assert "/w/project/tool.json" in said
    assert "move it out" in said
    nesting.check(replace(PLAN, files={"/data/tool.json": b"placeholder", "/run/hark/ca.pem": b""}), ())


def test_what_is_compared_at_the_end_may_be_there():
    hooks = "/w/project/.git/hooks"
    nesting.check(replace(PLAN, protected=(hooks,)), (hooks,))
    assert hooks in refuse(replace(PLAN, protected=(hooks,)))


def test_a_read_grant_inside_a_writable_one_is_refused():
    inner = Grant("/w/project/corpus", Access.READ, "read_paths")
    assert "/w/project/corpus" in refuse(replace(PLAN, grants=(*PLAN.grants, inner)))
    needed = Grant("/w/project/.venv", Access.READ, "needed by agent")
    nesting.check(replace(PLAN, grants=(*PLAN.grants, needed)), ())


def test_many_files_make_one_sentence():
    said = refuse(replace(PLAN, masked=tuple(f"/w/project/{number}.pem" for number in range(9))))
    assert "and 6 more" in said
    assert "8.pem" not in said


def test_a_program_s_name_cannot_act_on_the_terminal():
    assert "\x1b" not in nesting.refused(("bwrap\x1b[2J",))
    assert nesting.refused(("bwrap",)) == (
        "bwrap was refused a user namespace; [sandbox] nested = true in the policy allows it"
    )


def test_a_list_of_executables_is_landlock_s_and_cannot_be_kept():
    assert "exec" in refuse(replace(PLAN, executables=("/usr/bin/true",)))
