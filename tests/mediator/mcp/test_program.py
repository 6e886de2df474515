"""A tool server ready to be started."""

from tests.mediator.mcp.rig import program


def test_its_environment_is_not_shown() -> None:
    assert "sk-real" not in repr(program(env={"TOKEN": "sk-real"}))
    assert str(program()) == "mcp.fake"
