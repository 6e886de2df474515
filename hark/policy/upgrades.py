"""Names of protocols to which HTTP/1.1 upgrades (RFC 9110, 7.8), and those that no rule can let pass. Pure.

Always: names are compared in lower case. What only wraps requests (HTTP/2 in the clear, TLS around HTTP) is
never passed: whoever spoke it could ask for any path and any host behind the server, unjudged.
"""

import re
from typing import Final

MAX_NAME: Final = 40
_NAME: Final = re.compile(r"[!#$%&'*+.^_`|~0-9a-z-]+(/[!#$%&'*+.^_`|~0-9a-z-]+)?")
_WRAPS_REQUESTS: Final = re.compile(r"(h2|h3|https?|tls|ssl)([^a-z].*|c.*)?")
WEBSOCKET: Final = "websocket"


def no_upgrade(name: str) -> str:
    """Say as a sentence's end why no rule names this protocol, in lower case; empty where one may."""
    if len(name) > MAX_NAME or not _NAME.fullmatch(name):
        return "is no name of a protocol"
    if name.partition("/")[0] == WEBSOCKET:
        return "passes without being named, each message judged and recorded"
    if _WRAPS_REQUESTS.fullmatch(name):
        return "is never passed, since it wraps requests that no rule would judge"
    return ""
