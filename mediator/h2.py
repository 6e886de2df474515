"""HTTP/2 as the HTTP layer knows it. What speaks it is loaded when somebody does: many agents never do.

Always: a connection on which HTTP/2 was agreed speaks it, loaded by then or not. Until then nobody does.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Final, TypeGuard

if TYPE_CHECKING:
    from mediator.wire_h2 import AgentHttp2, UpstreamHttp2

ALPN: Final = b"h2"
_WIRE: Final = "mediator.wire_h2"


def agent_side() -> type[AgentHttp2]:
    """Return the class of an agent's side."""
    load()
    from mediator.wire_h2 import AgentHttp2

    return AgentHttp2


def server_side() -> type[UpstreamHttp2]:
    """Return the class of a server's side."""
    load()
    from mediator.wire_h2 import UpstreamHttp2

    return UpstreamHttp2


def load() -> None:
    """Load what speaks it. Idempotent, from any thread."""
    if _WIRE not in sys.modules:
        from mediator import lean

        lean.let_http2_in()
        import mediator.wire_h2  # noqa: F401


def is_agent_side(spoken: object) -> TypeGuard[AgentHttp2]:
    """Tell whether an agent speaks HTTP/2 there."""
    return _is_one(spoken, "AgentHttp2")


def is_server_side(spoken: object) -> TypeGuard[UpstreamHttp2]:
    """Tell whether a server does."""
    return _is_one(spoken, "UpstreamHttp2")


def _is_one(spoken: object, called: str) -> bool:
    kind = getattr(sys.modules.get(_WIRE), called, None)
    return kind is not None and isinstance(spoken, kind)
