"""Patterns over what an agent writes. Pure.

Always: matching takes time in proportion to the text, whatever the pattern: an agent chooses the text, and
Python's own expressions can take for ever on it, while no other thread of the recorder runs. So the patterns
are RE2's: there are no look-arounds and no references back, and `\\d`, `\\w` and `\\s` are ASCII.
"""

from functools import lru_cache
from typing import Any


def wrong_expression(pattern: str) -> str | None:
    """Say why a pattern cannot be used; None where it can."""
    import re2  # type: ignore[import-untyped]

    try:
        _compiled(pattern)
    except (re2.error, UnicodeEncodeError) as error:
        why = error.args[0] if error.args else "it cannot be read"
        return why.decode("utf-8", "replace") if isinstance(why, bytes) else str(why)
    return None


def finds(pattern: str, text: str) -> bool:
    """Tell whether a usable pattern matches somewhere in a text. What UTF-8 cannot hold is replaced."""
    return _compiled(pattern).search(text.encode("utf-8", "replace")) is not None


def matches_whole(pattern: str, text: str) -> bool:
    """Tell whether a usable pattern matches all of a text. One that UTF-8 cannot hold matches nothing."""
    try:
        data = text.encode()
    except UnicodeEncodeError:
        return False
    return _compiled(pattern).fullmatch(data) is not None


@lru_cache(maxsize=1024)
def _compiled(pattern: str) -> Any:
    import re2

    options = re2.Options()
    options.log_errors = False
    return re2.compile(pattern.encode(), options)
