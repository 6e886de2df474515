"""A person at a terminal: types, waits for what is shown, and looks at the terminal's modes."""

import os
import select
import termios
import time
from dataclasses import dataclass
from pathlib import Path

from tests.support.waiting import PATIENCE


@dataclass
class Seat:
    """The person's end: what was shown, and the supervisor's process."""

    master: int
    process: int
    shown: bytes = b""

    def until(self, text: str) -> str:
        """Read until `text` is shown."""
        deadline = time.monotonic() + PATIENCE
        while text.encode() not in self.shown:
            ready, _, _ = select.select([self.master], [], [], max(0.0, deadline - time.monotonic()))
            if not ready:
                raise AssertionError(f"{text!r} was not shown, but {self.shown!r}")
            try:
                data = os.read(self.master, 65536)
            except OSError:
                data = b""
            if not data:
                raise AssertionError(f"{text!r} was not shown before the end, but {self.shown!r}")
            self.shown += data
        before, _, after = self.shown.partition(text.encode())
        self.shown = after
        return before.decode() + text

    def type(self, text: str) -> None:
        os.write(self.master, text.encode())

    def state(self) -> str:
        """The supervisor's state letter in /proc."""
        return Path(f"/proc/{self.process}/stat").read_text().rpartition(") ")[2][0]

    def modes(self) -> list[object]:
        return termios.tcgetattr(self.master)

    def raw(self) -> bool:
        return not int(self.modes()[3]) & termios.ICANON  # type: ignore[call-overload]
