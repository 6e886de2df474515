"""mitmproxy's messages and connections without two things that a request pays for and nothing here needs.

Messages are made without its check of their fields' types, a tenth of what a request costs here: it compares
every field with its annotation, a check of its own sources that `python -O` leaves out. Ours are checked by
mypy, and what a peer sends is bytes in each of them anyway. Connections are told apart as the objects that
they are, not by the ids that each has of its own: those matter for flows that are stored and loaded again.
"""

from mitmproxy import http
from mitmproxy.connection import Connection


def _unchecked(_message: http.MessageData) -> None:
    """Compare nothing."""


http.MessageData.__post_init__ = _unchecked  # type: ignore[method-assign]
Connection.__eq__ = object.__eq__  # type: ignore[method-assign]
Connection.__hash__ = object.__hash__  # type: ignore[method-assign]
