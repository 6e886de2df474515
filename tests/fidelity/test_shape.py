"""Shapes and where they lie: each has all of its parts, and those that were promised are there."""

from pathlib import Path
from string import Template

import pytest

from fidelity.shape import PYTHON, Folder, folders
from hark.policy.parse import parse_policy

SHAPES = (*folders(), *folders("heavy"))
WANTED = {
    "anthropic_async", "anthropic_stream", "anthropic_sync", "cache", "curl", "denied_host", "edits",
    "exit_3", "fork", "gather_50", "gather_8", "git_clone", "gzip", "http2", "incident", "langgraph",
    "large", "mcp_client", "mcp_http", "mcp_stdio", "multipart_httpx", "multipart_requests", "node",
    "openai_async", "openai_stream", "openai_sync", "race", "rate_limit", "read_timeout", "refused",
    "repeat", "reset", "retry_503", "source_datetime", "source_numpy", "source_random", "source_ssl",
    "source_tempfile", "source_uuid1", "spawn", "sse", "sse_500", "stdin", "terminal", "threads",
    "tree", "ttl", "wait_first", "websocket", "work_queue",
}  # fmt: skip
HEAVY = {"clai", "claude_code", "codex", "gemini_cli", "llm", "mini_swe", "openai_agents", "smolagents"}
"""Public agents as they are published."""


def named(folder: Folder) -> str:
    return folder.name


def test_every_promised_shape_is_there() -> None:
    assert {folder.name for folder in SHAPES} >= WANTED | HEAVY
    assert {folder.name for folder in folders("heavy")} == HEAVY


def test_a_shape_of_each_kind_is_tried_in_make_test_and_none_of_those_needs_packages() -> None:
    tried = [folder for folder in SHAPES if folder.in_make_test]
    assert {"incident", "retry_503", "sse", "fork", "edits", "curl", "stdin"} <= {one.name for one in tried}
    assert not any(folder.shape.packages or folder.shape.agents for folder in tried)


def test_what_cannot_be_covered_says_why() -> None:
    assert {folder.name for folder in SHAPES if folder.shape.not_covered} == {"codex", "race", "work_queue"}


@pytest.mark.parametrize("folder", SHAPES, ids=named)
def test_a_shape_has_a_policy_and_the_program_that_it_starts(folder: Folder) -> None:
    fetched = {"packages": "/packages", "npm": "/npm", "agents": "/agents"}
    known = fetched | {"python": "/usr/bin/python3", "outside": "/outside"}
    text = Template(folder.policy.read_text()).substitute(known)
    policy = parse_policy(text.encode(), "policy.toml")
    started = folder.shape.command[1]
    assert started in folder.files() or folder.name in HEAVY
    assert "shape.py" not in folder.files()
    assert folder.shape.about
    assert bool({"/packages", "/npm"} & set(policy.read_paths)) == folder.shape.packages
    assert ("/agents" in policy.read_paths) == folder.shape.agents
    if folder.shape.command[0] != PYTHON and folder.name not in HEAVY:
        assert folder.shape.program or folder.shape.command[0] in ("sh", "bash")


@pytest.mark.parametrize("folder", SHAPES, ids=named)
def test_a_shape_is_not_content_with_a_run_that_did_nothing(folder: Folder, tmp_path: Path) -> None:
    """The control of its expectation: nothing printed, nothing seen."""
    from fidelity.shape import Outcome, Served
    from tests.e2e.rig import Desk
    from tests.support.user import User

    class NoDesk(Desk):
        def events(self, *kinds: str) -> list:
            return []

    (tmp_path / "project").mkdir()
    (tmp_path / "run.hark").touch()
    nobody = User(0, 0, tmp_path, "python", {})
    with pytest.raises((AssertionError, LookupError, ValueError, TypeError, OSError)):
        folder.shape.expect(Outcome(0, "", "", Served({}), NoDesk(nobody, tmp_path / "project")))


def test_a_folder_without_a_shape_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    from fidelity import shape

    monkeypatch.setattr(shape.importlib, "import_module", lambda name: type("Empty", (), {"SHAPE": 1}))
    with pytest.raises(TypeError, match="fidelity/shapes/nothing"):
        shape._load("shapes", "nothing")
