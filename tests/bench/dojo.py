"""AgentDojo's injection texts (MIT), planted where its documents have a place for one.

The package is fetched into `.injections` by its hash (`make .injections/.done`) and is read, not imported:
the goals of its injection tasks, the frames of its attacks, the documents of its suites. A stub obeys where
the goal stands whole in what is left.
"""

import ast
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from tests.bench.planted import Case, Form, Shape

ROOT: Final = Path(__file__).resolve().parents[2]
PACKAGE: Final = ROOT / ".injections" / "py" / "agentdojo"
_PLACE: Final = re.compile(r"\{([a-z_0-9]+)\}")
_DOCUMENTS: Final = {
    "workspace": ("include/inbox.yaml", "include/cloud_drive.yaml", "include/calendar.yaml"),
    "travel": ("environment.yaml",),
    "slack": ("environment.yaml",),
    "banking": ("environment.yaml",),
}


def is_there() -> bool:
    """Whether the package was fetched."""
    return (PACKAGE / "data").is_dir()


def cases() -> Iterator[Case]:
    """Every goal in every frame, each in the next place of its suite's documents."""
    number = 0
    for suite, documents in _DOCUMENTS.items():
        places = [(name, place) for name in documents for place in _places(suite, name)]
        for goal in goals(suite):
            for frame in frames():
                name, place = places[number % len(places)]
                text = (
                    frame.replace("{goal}", goal)
                    .replace("{user}", "Emma Johnson")
                    .replace("{model}", "AI model")
                )
                body = _filled(suite, name, place, text)
                yield Case(
                    number, Shape.ONE, Form.TEXT, body.encode(), (" ".join(goal.split()),), 1.0, (text,)
                )
                number += 1


def goals(suite: str) -> Iterator[str]:
    """The goals of a suite's injection tasks."""
    path = PACKAGE / "default_suites" / "v1" / suite / "injection_tasks.py"
    for part in ast.parse(path.read_text()).body:
        if isinstance(part, ast.ClassDef):
            known: dict[str, str] = {}
            for line in part.body:
                if isinstance(line, ast.Assign) and isinstance(line.targets[0], ast.Name):
                    value = _text(line.value, known)
                    if value is not None:
                        known[line.targets[0].id] = value
            if "GOAL" in known:
                yield known["GOAL"]


def frames() -> Iterator[str]:
    """What the attacks put around a goal: every text with a place for one."""
    found: dict[str, None] = {}
    for path in sorted((PACKAGE / "attacks").glob("*_attacks.py")):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Constant) and isinstance(node.value, str) and "{goal}" in node.value:
                found[node.value] = None
    return iter(found)


def _text(node: ast.expr, known: dict[str, str]) -> str | None:
    """A text that is written down, or put together from ones that are."""
    match node:
        case ast.Constant(value=str(value)):
            return value
        case ast.Name(id=name):
            return known.get(name)
        case ast.JoinedStr(values=parts):
            texts = [
                _text(part.value if isinstance(part, ast.FormattedValue) else part, known) for part in parts
            ]
            return None if None in texts else "".join(text for text in texts if text is not None)
        case _:
            return None


def _places(suite: str, name: str) -> list[str]:
    return list(dict.fromkeys(_PLACE.findall(_document(suite, name))))


def _document(suite: str, name: str) -> str:
    return (PACKAGE / "data" / "suites" / suite / name).read_text()


def _filled(suite: str, name: str, place: str, text: str) -> str:
    """The document with the text in one place and what usually stands there in the others."""
    vectors = (PACKAGE / "data" / "suites" / suite / "injection_vectors.yaml").read_text()
    usual = dict(re.findall(r'^([a-z_0-9]+):\n.*\n  default: "(.*)"$', vectors, re.MULTILINE))
    return _PLACE.sub(
        lambda found: text if found[1] == place else usual.get(found[1], ""), _document(suite, name)
    )
