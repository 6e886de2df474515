"""An agent with three tools, for the command that runs it."""

import pathlib
import subprocess

from pydantic_ai import Agent

agent = Agent("openai-chat:stub", instructions="Use the tools.")


@agent.tool_plain
def run(command: str) -> str:
    """Run a shell line."""
    return subprocess.run(command, shell=True, capture_output=True, text=True, check=False).stdout


@agent.tool_plain
def read(path: str) -> str:
    """Read a file."""
    return pathlib.Path(path).read_text()


@agent.tool_plain
def edit(path: str, old: str, new: str) -> str:
    """Replace text in a file."""
    file = pathlib.Path(path)
    file.write_text(file.read_text().replace(old, new))
    return f"edited {path}"
