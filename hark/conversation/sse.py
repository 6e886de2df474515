"""A body of server-sent events as the JSON documents in it, as the WHATWG's standard reads the lines.

What always holds: any bytes give a list. Data that is no JSON (`[DONE]`) is passed over, and so is an event
that the stream broke off in, as a client would.
"""

import re
from collections.abc import Iterator
from typing import Any, Final

from hark.conversation import loose

_LINE: Final = re.compile(rb"\r\n|\n|\r")


def documents(body: bytes) -> Iterator[Any]:
    """Yield the JSON value of each event."""
    data: list[bytes] = []
    lines = _LINE.split(body.removeprefix(b"\xef\xbb\xbf"))
    for line in lines[:-1]:
        if not line:
            if data and (value := loose.load(b"\n".join(data))) is not None:
                yield value
            data = []
        elif line.startswith(b"data:"):
            data.append(line[5:].removeprefix(b" "))
    if data and not lines[-1] and (value := loose.load(b"\n".join(data))) is not None:
        yield value  # some servers leave the last empty line out


def looks_streamed(content_type: bytes, body: bytes) -> bool:
    """Tell whether a body is such a stream, by its type or by how it begins."""
    return content_type.lower().startswith(b"text/event-stream") or body.lstrip()[:6] in (
        b"data: ",
        b"event:",
    )
