"""An agent of the OpenAI Agents SDK: tools in parallel, and a hand-over to a second agent."""

import pathlib
import subprocess

from agents import Agent, Runner, function_tool


@function_tool
def run(command: str) -> str:
    """Run a shell line."""
    return subprocess.run(command, shell=True, capture_output=True, text=True, check=False).stdout


@function_tool
def read(path: str) -> str:
    """Read a file."""
    return pathlib.Path(path).read_text()


@function_tool
def edit(path: str, old: str, new: str) -> str:
    """Replace text in a file."""
    file = pathlib.Path(path)
    file.write_text(file.read_text().replace(old, new))
    return f"edited {path}"


checker = Agent(name="checker", instructions="Try it.", model="stub", tools=[run])
mender = Agent(
    name="mender", instructions="Mend it.", model="stub", tools=[run, read, edit], handoffs=[checker]
)
result = Runner.run_sync(mender, "Put the ledger right.")
print(result.final_output)
