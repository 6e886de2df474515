"""A smolagents agent that writes Python, which is executed in its own interpreter, with two tools."""

import os
import pathlib
import subprocess

from smolagents import CodeAgent, OpenAIServerModel, tool


@tool
def run(command: str) -> str:
    """Run a shell line.

    Args:
        command: the line
    """
    return subprocess.run(command, shell=True, capture_output=True, text=True, check=False).stdout


@tool
def edit(path: str, old: str, new: str) -> str:
    """Replace text in a file.

    Args:
        path: the file
        old: what stands there
        new: what is to stand there
    """
    file = pathlib.Path(path)
    file.write_text(file.read_text().replace(old, new))
    return f"edited {path}"


model = OpenAIServerModel("stub", api_key=os.environ["OPENAI_API_KEY"])
agent = CodeAgent(tools=[run, edit], model=model, additional_authorized_imports=["random", "datetime"])
print(agent.run("Put the ledger right."))
