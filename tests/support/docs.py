"""Fenced blocks of the documentation, and the comparison of what they show with what a program prints.

A `console` block is run: a line that begins with `$ ` is a command, the lines behind it are what it prints.
A line of three dots stands for any lines. What differs from run to run (ids, hashes, times, ports) is made
equal on both sides first. A block that is not to be run has another language.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

FENCE: Final = re.compile(r"^```([^\n`]*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
ANY_LINES: Final = "..."
DEMO: Final = "make demo"
VARIES: Final = (
    (r"\x1b\[[0-9;]*m", ""),
    # How many events a run has depends on how often its clock moved, which a slow machine's does more often.
    (r"^ *\d+ +(?=\d+\.\d{3} )", "<event> "),
    (r"\bevents? \d+\b|\b\d+ events?\b", "<event>"),
    (r"(?<=-seq )\d+\b|(?<=-at )\d+\b|\bone of \d+\b", "<event>"),
    (r"\b\d+ actions\b", "<actions>"),
    (r"\b\d+ equal\b", "<equal>"),
    (r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(\.\d+)?(Z| UTC)?", "<time>"),
    (r"\b[0-9A-HJKMNP-TV-Z]{26}\b", "<id>"),
    (r"\b[a-z]{3,}(-[a-z]{3,}){5}\b", "<key name>"),
    (r"\b[0-9a-f]{12,}\b(…|\.\.\.)?", "<hex>"),
    (r"\b(127\.0\.0\.1|localhost):\d+", "<address>"),
    (r"(?<=hark)-?[A-Za-z0-9]{24,}", "<secret>"),  # what a placeholder begins with is no chance
    (r"\b\d+(\.\d+)? ?(ns|us|µs|ms|s|B|kB|MB|bytes)\b", "<amount>"),
    (r"(?<![\w.])\+?\d+\.\d{3,}\b", "<seconds>"),
    (r"/tmp/[A-Za-z0-9_./-]+", "<path>"),
    (r"[ \t]+", " "),
)


BY_CHANCE: Final = re.compile(r"<event> <seconds> (ClockLog|ResponseHead) ")
"""Events that `hark inspect` lists between any two others; how many is the machine's pace alone: how often
the clock had moved, and which heads of answers came long enough before their bodies."""


@dataclass(frozen=True, slots=True)
class Block:
    """One fenced block: where it stands, the words behind the fence, and its text."""

    where: str
    info: tuple[str, ...]
    text: str


@dataclass(frozen=True, slots=True)
class Shown:
    """A command of a console block, and the lines that the document says it prints."""

    command: str
    lines: tuple[str, ...]


def blocks(root: Path, document: Path) -> Iterator[Block]:
    """All fenced blocks of a document."""
    text = document.read_text()
    for fence in FENCE.finditer(text):
        line = text.count("\n", 0, fence.start()) + 1
        yield Block(f"{document.relative_to(root)}:{line}", tuple(fence[1].split()), fence[2])


def shown(text: str) -> list[Shown]:
    """The commands of a console block with what they print. A demo prints commands too and ends it."""
    found: list[Shown] = []
    for line in text.splitlines():
        if line.startswith("$ ") and not (found and found[-1].command == DEMO):
            found.append(Shown(line[2:], ()))
        elif found:
            found[-1] = Shown(found[-1].command, (*found[-1].lines, line))
        else:
            raise ValueError(f"a console block begins with its command, not with {line!r}")
    return found


def normal(line: str) -> str:
    """A line without what differs from run to run."""
    for pattern, instead in VARIES:
        line = re.sub(pattern, instead, line)
    return line.strip()


def agree(documented: tuple[str, ...] | list[str], printed: list[str]) -> bool:
    """Tell whether a program printed what the document says, in that order and nothing else."""
    want = [normal(line) for line in documented if line.strip()]
    have = [normal(line) for line in printed if line.strip()]
    want, have = ([line for line in side if not BY_CHANCE.match(line)] for side in (want, have))
    pattern = "".join("(?:.*\n)*?" if line == ANY_LINES else re.escape(line) + "\n" for line in want)
    return re.fullmatch(pattern, "".join(line + "\n" for line in have)) is not None
