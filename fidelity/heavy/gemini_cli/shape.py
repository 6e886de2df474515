"""Gemini CLI without a person: it looks, replaces text in a file, writes another and tries, in a stream."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from fidelity.heavy import mended
from fidelity.scripted import Turn, Use, gemini
from fidelity.serving import served
from fidelity.shape import Outcome, Served, Shape
from fidelity.talks import KEY
from tests.e2e.rig import Desk
from tests.fakes.upstream import Answer, serving

HOST: Final = "generativelanguage.googleapis.com"
TRY: Final = mended.TRY.replace("python3", "python3 -B")
"""It leaves no folder behind, which the tool beside it would list or not."""


def shell(command: str) -> Use:
    """Run a shell line."""
    return Use("run_shell_command", {"command": command, "description": "Look"})


def script(project: str) -> dict[str, list[Turn]]:
    """What the model does in the project."""
    ledger, notes = f"{project}/ledger.py", f"{project}/notes.md"
    mend = {
        "file_path": ledger,
        "old_string": "split()[0]",
        "new_string": "split()[1]",
        "instruction": "mend",
    }
    return {
        "ledger right": [
            Turn("I look.", [shell(mended.DRAWS), Use("read_file", {"file_path": ledger})]),
            Turn(
                "I mend.",
                [Use("replace", mend), Use("write_file", {"file_path": notes, "content": "mended\n"})],
            ),
            Turn("I try.", [shell(TRY), Use("list_directory", {"dir_path": project})]),
            Turn(mended.DONE),
        ]
    }


class AnyModel(dict[str, Answer]):
    """Routes whose every path is one function's: it holds the model's name."""

    def __init__(self, answer: Answer) -> None:
        super().__init__()
        self.answer = answer

    def get(self, key: str, default: Answer | None = None) -> Answer | None:  # type: ignore[override]
        """As of a dict."""
        return self.answer if "/models/" in key else default


@contextmanager
def serve(desk: Desk) -> Iterator[Served]:
    """The models of the Gemini API."""
    with serving(HOST) as server:
        server.routes = AnyModel(gemini(script(str(desk.project))))
        yield served(server, HOST)


def expect(run: Outcome) -> None:
    """Four turns were asked for, and the file is mended."""
    mended.expect(run, "/v1beta/models/gemini-2.5-flash:streamGenerateContent", turns=4)
    assert (run.desk.project / "notes.md").read_text() == "mended\n"


SHAPE = Shape(
    about="Gemini CLI, unmodified: edits, files and shell, streamed",
    serve=serve,
    expect=expect,
    command=("$npm/.bin/gemini", "--skip-trust", "--yolo", "-m", "gemini-2.5-flash", "-p", mended.PROMPT),
    program="node",
    caller={"REAL_KEY": KEY},
    packages=True,
)
