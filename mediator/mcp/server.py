"""One process of a tool server: started under its guard, ended with its connection. Only pipes and a process.

Always: what is started dies with this process (`mediator.mcp.guard`), is in no group or session of the user's
terminal, and has no descriptor of ours but its three pipes. What it says on stderr is kept to its last
`MAX_TAIL` bytes and shown to nobody here.
"""

import asyncio
import contextlib
import os
import sys
from pathlib import Path
from typing import Final

from mediator.mcp.program import Program

MAX_TAIL: Final = 2000  # of stderr: the end of a traceback
QUIT_S: Final = 1.0  # from the end of its input to being told to end; servers that mind their input need less
_STEP: Final = 1 << 16
_GUARD: Final = str(Path(__file__).with_name("guard.py"))


class Server:
    """A running server. `end` MUST be called."""

    def __init__(self, process: asyncio.subprocess.Process, life: int) -> None:
        if process.stdin is None or process.stdout is None or process.stderr is None:
            raise RuntimeError("a server without pipes")
        self._process = process
        self._life = life
        self.stdin = process.stdin
        self.stdout = process.stdout
        self._words = bytearray()
        self._listening = asyncio.create_task(self._listen(process.stderr))

    @classmethod
    async def start(cls, program: Program) -> "Server":
        """Start the program. Raises OSError where no process can be made."""
        theirs, ours = os.pipe2(os.O_CLOEXEC)
        try:
            process = await asyncio.create_subprocess_exec(
                *(sys.executable, "-I", "-S", _GUARD, str(theirs), *program.argv),
                stdin=asyncio.subprocess.PIPE,
                stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.PIPE,
                cwd=program.workdir,
                env=dict(program.env),
                pass_fds=(theirs,),
                start_new_session=True,
            )
        except BaseException:
            os.close(ours)
            raise
        finally:
            os.close(theirs)
        return cls(process, ours)

    @property
    def tail(self) -> bytes:
        """Return the last of what it said on stderr."""
        return bytes(self._words[-MAX_TAIL:])

    async def status(self) -> int:
        """Wait for its end and return its exit status, as a shell gives it."""
        code = await self._process.wait()
        await asyncio.wait([self._listening], timeout=QUIT_S)
        return code

    async def end(self) -> None:
        """End its input, give it a moment, and then end it and all that descends from it. Idempotent."""
        if self._life < 0:
            return
        with contextlib.suppress(OSError):
            self.stdin.close()
        try:
            async with asyncio.timeout(QUIT_S):
                await self._process.wait()
        except TimeoutError:
            pass
        finally:
            os.close(self._life)
            self._life = -1
        await self.status()
        self._listening.cancel()
        with contextlib.suppress(asyncio.CancelledError, OSError):
            await self._listening

    async def _listen(self, stderr: asyncio.StreamReader) -> None:
        while piece := await stderr.read(_STEP):
            self._words += piece
            del self._words[:-MAX_TAIL]
