"""`python -m demo.cast FILE`: runs the demo at a terminal of its own, and writes what came as an asciicast.

Always: what stands in the file was printed by `python -m demo`, at the times at which it came; nothing is cut
or made up, and what is typed is one line, which stands first. Version 2 of the format: a line of JSON that
describes the terminal, then one line for each piece: seconds since the start, "o", text.
"""

import json
import os
import pty
import select
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Final

COMMAND: Final = (sys.executable, "-m", "demo")
SHOWN: Final = "make demo"
"""What a person types for that."""
COLUMNS: Final = 120
ROWS: Final = 40
MAX_BYTES: Final = 300_000
"""Of a file: it is fetched by whoever reads the page."""
_PIECE: Final = 1 << 16


def main() -> int:
    """Record, and fail where the demo does."""
    (path,) = sys.argv[1:]
    began = int(time.time())
    pieces: list[tuple[float, str]] = []
    code = record(pieces)
    if code:
        sys.exit(f"demo.cast: the demo ended with {code}, and nothing was written")
    text = "".join(f"{line}\n" for line in lines(pieces, began))
    if len(text.encode()) > MAX_BYTES:
        sys.exit(f"demo.cast: {len(text)} bytes are more than {MAX_BYTES}, and nothing was written")
    Path(path).write_text(text)
    return 0


def record(pieces: list[tuple[float, str]]) -> int:
    """Run the demo at a terminal, put what it shows into `pieces`, and return how it ended."""
    start = time.monotonic()
    child, terminal = pty.fork()
    if child == 0:
        os.environ |= {"COLUMNS": str(COLUMNS), "LINES": str(ROWS), "TERM": "xterm-256color"}
        os.execv(COMMAND[0], COMMAND)
    held = b""
    while data := _read(terminal):
        held += data
        text = held.decode("utf-8", "ignore")
        held = held[len(text.encode()) :]  # the beginning of a character that is not all there
        pieces.append((time.monotonic() - start, text))
    os.close(terminal)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def _read(terminal: int) -> bytes:
    select.select([terminal], [], [])
    try:
        return os.read(terminal, _PIECE)
    except OSError:  # EIO: whoever wrote to it is gone
        return b""


def lines(pieces: list[tuple[float, str]], began: int) -> Iterator[str]:
    """Yield the lines of the file."""
    head = {
        "version": 2,
        "width": COLUMNS,
        "height": ROWS,
        "timestamp": began,
        "title": "hark: make demo",
        "command": SHOWN,
        "env": {"TERM": "xterm-256color"},
    }
    yield json.dumps(head)
    yield json.dumps([0.0, "o", f"$ {SHOWN}\r\n"])
    for at, text in pieces:
        yield json.dumps([round(at, 3), "o", text])


if __name__ == "__main__":
    sys.exit(main())
