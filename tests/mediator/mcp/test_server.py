"""One process of a tool server."""

import asyncio
import os

from mediator.mcp.server import MAX_TAIL, Server
from tests.mediator.mcp.rig import program


def run(script: str, env: dict[str, str] | None = None) -> tuple[bytes, int, bytes]:
    """Run a shell as a server; its output, status and last words."""

    async def serve() -> tuple[bytes, int, bytes]:
        server = await Server.start(program(argv=("/bin/sh", "-c", script), env=env))
        try:
            out = await server.stdout.read()
            return out, await server.status(), server.tail
        finally:
            await server.end()
            await server.end()

    return asyncio.run(serve())


def test_it_has_the_environment_and_directory_it_was_given_and_a_session_of_its_own() -> None:
    out, status, _ = run("env; pwd; ps -o sid= -p $$", {"TOKEN": "x"})
    words = out.decode().split("\n")
    assert "TOKEN=x" in words
    assert not any(word.startswith(("HOME=", "VIRTUAL_ENV=")) for word in words)
    assert "/" in words
    assert int(words[-2]) != os.getsid(0)
    assert status == 0


def test_its_last_words_are_bounded_and_its_end_is_told() -> None:
    _, status, tail = run("head -c 100000 /dev/zero | tr '\\0' x >&2; printf END >&2; kill -SEGV $$")
    assert status == 128 + 11
    assert len(tail) == MAX_TAIL
    assert tail.endswith(b"END")
