"""What makes two requests the same, as plainly as can be: for tests of what is done with keys."""

from collections.abc import Hashable

from hark.bundle.events import LlmRequest
from hark.replay.recorded import Recorded


class PlainKeys:
    """Host, method, path and the bytes of the body. As the `Keys` protocol says."""

    def key(self, request: LlmRequest, body: bytes | None) -> Hashable:
        """Return them."""
        return (request.host, request.method, request.path, body)

    def nearest(self, request: LlmRequest, body: bytes | None, recorded: list[Recorded]) -> str:
        """Name the first request to the same path."""
        for one in recorded:
            if one.request.path == request.path:
                return f"nearest is event {one.seq}, whose body differs"
        return ""
