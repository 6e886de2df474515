"""A real SSH server on loopback that lets everybody in and runs nothing: it says what it was asked to."""

import asyncio
import threading
from collections.abc import Iterator
from contextlib import contextmanager

import asyncssh


class _Open(asyncssh.SSHServer):
    def begin_auth(self, username: str) -> bool:
        """Ask nobody for anything."""
        return False


async def _answer(process: asyncssh.SSHServerProcess[bytes]) -> None:
    process.stdout.write(b"asked to run: " + (process.command or "").encode() + b"\n")
    process.stdout.write(await process.stdin.read())
    process.exit(7)


@contextmanager
def ssh_server() -> Iterator[int]:
    """Serve until the block ends; give the port."""
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever, daemon=True)
    thread.start()
    key = asyncssh.generate_private_key("ssh-ed25519")

    async def listen() -> asyncssh.SSHAcceptor:
        return await asyncssh.listen(
            "127.0.0.1",
            0,
            server_factory=_Open,
            process_factory=_answer,
            server_host_keys=[key],
            encoding=None,
        )

    server = asyncio.run_coroutine_threadsafe(listen(), loop).result(20)
    try:
        yield server.get_port()
    finally:
        loop.call_soon_threadsafe(server.close)
        asyncio.run_coroutine_threadsafe(server.wait_closed(), loop).result(20)
        loop.call_soon_threadsafe(loop.stop)
        thread.join(60)
        loop.close()
