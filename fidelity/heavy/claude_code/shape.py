"""Claude Code without a person: six turns, parallel tools, a subagent, and a model overloaded once."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from fidelity.scripted import Turn, Use, anthropic
from fidelity.serving import say, served
from fidelity.shape import Outcome, Served, Shape
from fidelity.talks import KEY
from tests.e2e.rig import Desk
from tests.fakes.upstream import serving

HOST: Final = "api.anthropic.com"
LARGE: Final = 80_000
OVERLOADED_AT: Final = 6
DRAWS: Final = "echo $RANDOM; date -u +%FT%T.%N; mktemp -u; cat /proc/sys/kernel/random/uuid"

NOT_FOUND: Final = {"type": "error", "error": {"type": "not_found_error", "message": "Not found"}}
RULES: Final = "# Rules\n" + "".join(
    f"- Row {row} of the ledger is in euros, and so is its sum.\n" for row in range(620)
)
"""What a project tells the agent: as long as what people write there, and sent with each request."""


def bash(command: str) -> Use:
    """Run a shell line."""
    return Use("Bash", {"command": command, "description": "Look"})


def script(project: str) -> dict[str, list[Turn]]:
    """What the model does in the project."""
    ledger, notes = f"{project}/ledger.py", f"{project}/notes.md"
    mend = {"file_path": ledger, "old_string": "split()[0]", "new_string": "split()[1]"}
    inspect = {
        "description": "Count the lines",
        "prompt": "SUBTASK: how long is it?",
        "subagent_type": "general-purpose",
    }
    sums = "import ledger; print(ledger.total(open('ledger.txt').readlines()))"
    return {
        "SUBTASK": [
            Turn("I count.", [bash("wc -l *.py; echo $RANDOM"), bash("grep -rn def .")]),
            Turn("It has six lines."),
        ],
        "ledger right": [
            Turn(
                "I look.",
                [bash(DRAWS), Use("Read", {"file_path": ledger}), bash("grep -rn total . | head -3")],
            ),
            Turn(
                "I mend.",
                [Use("Edit", mend), Use("Write", {"file_path": notes, "content": "# Notes\nmended\n"})],
            ),
            Turn("I ask.", [Use("Task", inspect)]),
            Turn(
                "I try.",
                [
                    bash(f'python3 -c "{sums}"'),
                    Use("Read", {"file_path": notes}),
                    bash("ls -la --time-style=+ | wc -l"),
                ],
            ),
            Turn("Once more.", [bash(DRAWS), bash("find . -name '*.py'")]),
            Turn("It is right now."),
        ],
    }


@contextmanager
def serve(desk: Desk) -> Iterator[Served]:
    """The Messages API."""
    desk.write("CLAUDE.md", RULES)
    with serving(HOST) as server:
        anthropic(server, script(str(desk.project)), OVERLOADED_AT)
        for path in ("settings", "policy_limits"):
            server.on(f"/api/claude_code/{path}")(lambda call: say(call, NOT_FOUND, 404))
        yield served(server, HOST)


def expect(run: Outcome) -> None:
    """Every turn was taken, the file is mended, and the requests are as large as they are in earnest."""
    bodies = run.served.bodies("/v1/messages")
    large = [body for body in bodies if len(body) >= LARGE]
    assert len(large) >= 6, [len(body) for body in bodies]
    results = results_in(json.loads(large[-1]))
    assert len(results) == 11, results
    assert not [part for part in results if part.get("is_error")], results
    assert any("757" in json.dumps(part) for part in results), results
    assert "split()[1]" in (run.desk.project / "ledger.py").read_text()
    assert (run.desk.project / "notes.md").read_text() == "# Notes\nmended\n"
    assert run.lines[-1] == "It is right now."
    assert KEY.encode() not in run.desk.bundle.read_bytes()


def results_in(asked: dict) -> list[dict]:
    """What tools returned."""
    contents = [one["content"] for one in asked["messages"] if isinstance(one["content"], list)]
    return [part for content in contents for part in content if part["type"] == "tool_result"]


SHAPE = Shape(
    about="Claude Code, unmodified: six turns, tools in parallel, a subagent, 529 once",
    serve=serve,
    expect=expect,
    command=(
        "$npm/@anthropic-ai/claude-code-linux-x64/claude",
        "-p",
        "--dangerously-skip-permissions",
        "Put the ledger right.",
    ),
    caller={"REAL_KEY": KEY},
    packages=True,
)
