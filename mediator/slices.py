"""Whose slice of work is next, in one event loop (`mediator.sliced`).

Always: between two slices everything else that is ready has its turn once, however many bodies are worked on.
"""

import asyncio
from collections.abc import Callable
from typing import Any, Final

from mediator.sliced import Worker

WORKERS: Final = 64  # threads at once; further bodies wait for one to end


class Slices:
    """What is worked on."""

    def __init__(self) -> None:
        self._turn = asyncio.Lock()
        self._workers = asyncio.Semaphore(WORKERS)

    async def carry(self, work: Callable[[], Any], *, wanted: Callable[[], bool]) -> Any:
        """Return what the work returns, or raise what it raises.

        It is given up between two slices where it is not `wanted` any more; then this returns None.
        """
        async with self._workers:
            worker = Worker(work)
            try:
                while not worker.done and wanted():
                    async with self._turn:
                        worker.go_on()
                        await asyncio.sleep(0)
            finally:
                worker.give_up()
            if worker.error is not None:
                raise worker.error
            return worker.result
