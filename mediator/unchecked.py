"""mitmproxy's messages without its check of their fields' types, a tenth of what a request costs here.

It compares every field of every message with its annotation while it is made, a check of its own sources that
`python -O` leaves out. Ours are checked by mypy, and what a peer sends is bytes in each of them anyway.
"""

from mitmproxy import http


def _unchecked(_message: http.MessageData) -> None:
    """Compare nothing."""


http.MessageData.__post_init__ = _unchecked  # type: ignore[method-assign]
