"""The request of a connection that is refused before anything is parsed, read for the record alone.

Always: nothing here is passed on, and what cannot be read as a request is left to the attempt and its
decision, which are on the record already. Only the head is kept: a refused body is not read.
"""

from typing import Final

from hark.policy.decide import Deny
from mediator import pages
from mediator.authority import Destination
from mediator.transcript import Transcript, recorded_host

MAX_HEAD: Final = 1 << 16  # as much as servers take at most (nginx 32 kB, Apache 64 kB in all)


def record(transcript: Transcript, target: Destination, head: bytes, page: bytes, denied: Deny) -> None:
    """Record what the agent wanted to send in plain HTTP, and the page it gets."""
    import h11

    parser = h11.Connection(h11.SERVER, max_incomplete_event_size=MAX_HEAD)
    try:
        parser.receive_data(head[:MAX_HEAD])
        request = parser.next_event()
    except h11.RemoteProtocolError:
        return
    if not isinstance(request, h11.Request):
        return
    headers = tuple((bytes(name), bytes(value)) for name, value in request.headers.raw_items())
    host = recorded_host(target, tls=False)
    transcript.request(host, request.method, request.target, headers, streamed=False)
    sent = (
        (b"server", pages.BY_HARK.encode()),
        (b"content-type", pages.CONTENT_TYPE.encode()),
        (b"content-length", str(len(page)).encode()),
        (b"connection", b"close"),
    )
    shown = b"" if request.method == b"HEAD" else page
    transcript.refused(403, sent, shown, denied.reason)
