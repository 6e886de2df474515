"""Bytes are handled in their order, each once, none while too many wait, whoever it is that handles them."""

import asyncio
from collections.abc import Awaitable, Callable

import pytest

from mediator.gated import PIECE, Gated
from mediator.transport import Reader


class Side:
    """One side of a connection: what of what arrives is taken at once, and what the task that reads gets."""

    def __init__(self, *, first: bytes = b"", most: int = PIECE) -> None:
        self.reader = Reader()
        self.got: list[tuple[str, bytes]] = []
        self.full = False
        self.clears: list[asyncio.Event] = []
        self.holds = False
        """Whether what is taken has to be written on before more is."""
        self.meanwhile: Callable[[], None] = lambda: None
        """What happens while a piece is handled."""
        self.gated = Gated(first, self.reader, full=lambda: self.full, take=self._take, most=most)
        self.task = asyncio.create_task(self._read())

    def _take(self, data: bytes) -> asyncio.Task[None] | None:
        self.got.append(("at once", data))
        meanwhile, self.meanwhile = self.meanwhile, lambda: None
        meanwhile()
        if not self.holds:
            return None
        self.clears.append(asyncio.Event())
        return asyncio.create_task(self._until(self.clears[-1]))

    async def _until(self, clear: asyncio.Event) -> None:
        await clear.wait()

    async def _read(self) -> None:
        while data := await self.gated.read(PIECE):
            self.got.append(("by the task", data))

    async def turns(self, number: int = 6) -> None:
        """Let the loop go round."""
        for _ in range(number):
            await asyncio.sleep(0)


def run(story: Callable[[], Awaitable[None]]) -> None:
    asyncio.run(asyncio.wait_for(story(), 10))  # type: ignore[arg-type]


def test_a_small_piece_that_nothing_stands_before_is_taken_where_it_arrives() -> None:
    async def story() -> None:
        side = Side()
        await side.turns()
        side.reader.feed_data(b"one")
        side.reader.feed_data(b"two")
        assert side.got == [("at once", b"one"), ("at once", b"two")]
        side.reader.feed_eof()
        await side.task

    run(story)


def test_what_was_read_before_comes_first_and_what_arrives_meanwhile_behind_it() -> None:
    async def story() -> None:
        side = Side(first=b"hello")
        side.reader.feed_data(b"one")  # nobody waits yet
        await side.turns()
        side.reader.feed_data(b"two")
        assert side.got == [("by the task", b"hello"), ("by the task", b"one"), ("at once", b"two")]
        side.reader.feed_eof()
        await side.task

    run(story)


def test_it_is_idle_only_while_the_next_piece_would_be_handled_and_none_is_there() -> None:
    async def story() -> None:
        side = Side()
        assert not side.gated.idle  # nobody reads yet
        await side.turns()
        assert side.gated.idle
        side.full = True
        assert not side.gated.idle
        side.reader.feed_data(b"one")
        side.full = False
        assert not side.gated.idle  # it came, and waits for the task
        await side.turns()
        assert side.gated.idle
        side.holds = True
        side.reader.feed_data(b"two")
        assert not side.gated.idle  # what it became has not been written on
        side.clears[0].set()
        await side.turns()
        assert side.gated.idle
        side.reader.feed_eof()
        await side.task

    run(story)


def test_a_long_piece_is_left_to_the_task_and_none_passes_it() -> None:
    async def story() -> None:
        side = Side(most=PIECE)
        await side.turns()
        side.reader.feed_data(b"x" * (PIECE + 1))
        side.reader.feed_data(b"y")
        await side.turns()
        side.reader.feed_data(b"z")
        await side.turns()
        assert b"".join(data for _, data in side.got) == b"x" * (PIECE + 1) + b"yz"
        assert [how for how, _ in side.got] == ["by the task", "by the task", "at once"]
        side.reader.feed_eof()
        await side.task

    run(story)


def test_a_piece_that_arrives_while_another_is_handled_comes_behind_it() -> None:
    async def story() -> None:
        side = Side()
        await side.turns()
        side.meanwhile = lambda: side.reader.feed_data(b"two")
        side.reader.feed_data(b"one")
        side.reader.feed_data(b"three")
        await side.turns()
        assert side.got == [("at once", b"one"), ("by the task", b"twothree")]
        side.reader.feed_eof()
        await side.task

    run(story)


def test_nothing_is_handled_before_what_came_before_it_was_written_on() -> None:
    async def story() -> None:
        side = Side()
        side.holds = True
        await side.turns()
        side.reader.feed_data(b"one")
        side.reader.feed_data(b"two")
        await side.turns()
        assert side.got == [("at once", b"one")]
        side.clears[0].set()
        await side.turns()
        assert side.got == [("at once", b"one"), ("by the task", b"two")]
        side.reader.feed_data(b"three")
        side.clears[1].set()
        await side.turns()
        side.holds = False
        side.reader.feed_data(b"four")
        assert side.got[2:] == [("at once", b"three"), ("at once", b"four")]
        side.reader.feed_eof()
        await side.task

    run(story)


def test_nothing_is_handled_while_too_much_waits() -> None:
    async def story() -> None:
        side = Side()
        await side.turns()
        side.full = True
        side.reader.feed_data(b"one")
        await side.turns()
        await asyncio.sleep(0.05)
        side.full = False
        before = list(side.got)
        while not side.got:  # noqa: ASYNC110  # as the reader itself does
            await asyncio.sleep(0.001)
        assert before == []
        assert side.got == [("by the task", b"one")]
        side.reader.feed_eof()
        await side.task

    run(story)


@pytest.mark.parametrize("cut", [1, 2, 7, 100])
def test_every_byte_is_handled_once_and_in_order_however_they_come(cut: int) -> None:
    async def story() -> None:
        side = Side(first=bytes(3), most=64)
        sent = bytes(range(256)) * 8
        for number, start in enumerate(range(0, len(sent), cut)):
            side.holds, side.full = number % 5 == 0, number % 11 == 0
            side.reader.feed_data(sent[start : start + cut])
            if number % 3 == 0:
                await side.turns(number % 4)
            for clear in side.clears:
                clear.set()
        side.holds = side.full = False
        side.reader.feed_eof()
        for clear in side.clears:
            clear.set()
        await side.task
        assert b"".join(data for _, data in side.got) == bytes(3) + sent

    run(story)
