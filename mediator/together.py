"""What is written to a connection in one go: a head, its body and its end are one piece of data. No IO.

Always: bytes stay in their order, and nothing waits for a later event. Without it each part of a message
would be a TLS record, a system call and a segment of its own, and would wake the other side once more.
"""

from mitmproxy.connection import Connection
from mitmproxy.proxy import commands
from mitmproxy.proxy.layer import CommandGenerator


def together(parts: CommandGenerator[None]) -> CommandGenerator[None]:
    """Pass commands on; of those that send to one connection, one behind the other, one is made."""
    waiting: list[bytes] = []
    to: Connection | None = None
    reply = None
    while True:
        try:
            command = parts.send(reply)
        except StopIteration:
            break
        reply = None
        if to is not None and not (isinstance(command, commands.SendData) and command.connection is to):
            yield commands.SendData(to, b"".join(waiting))
            waiting, to = [], None
        if isinstance(command, commands.SendData):
            waiting.append(command.data)
            to = command.connection
        else:
            reply = yield command
    if to is not None:
        yield commands.SendData(to, b"".join(waiting))
