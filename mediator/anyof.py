"""Tell whether any of a set of texts stands in another. No IO.

Always: the answer is the same whichever way it is found. One after another is the way of few texts in a long
one, and of any before `load`; all at once, in one pass of RE2's automaton, takes the same time however many
there are, and a few microseconds for what is short: heads, events, most bodies.
"""

from collections.abc import Callable, Iterable, Iterator
from re import escape
from typing import Any, Final

LONG: Final = 4096  # bytes: up to here a search for each text costs more than one pass for all
FEW: Final = 24  # texts, one credential: up to here each is found faster than the pass goes on
MAX_COMPILED: Final = 128 << 10
"""Bytes of all texts together, some sixty credentials. More would keep the event loop for long."""
MAX_MEMORY: Final = 64 << 20  # of one set, of which some MB are used: beside it RE2 gives up, or becomes slow

_loaded: list[Callable[[bytes], Any]] = []


def load() -> None:
    """Load what the fast way needs: some 20 ms, which the start of a run does not wait for."""
    import re2  # type: ignore[import-untyped]

    def compiled(pattern: bytes) -> Any:
        options = re2.Options()
        options.log_errors = False
        options.never_capture = True
        options.max_mem = MAX_MEMORY
        options.encoding = re2.Options.Encoding.LATIN1
        try:
            found = re2.compile(pattern, options)
        except re2.error:
            return None
        return _searching(found, re2)

    _loaded[:] = [compiled]


def _searching(found: Any, re2: Any) -> Callable[[bytes], Any]:
    """Return what searches a text: what lies below its Python, which makes six calls of one."""
    try:
        match, anywhere, nothing = found._regexp.Match, re2._Anchor.UNANCHORED, re2._NULL_SPAN  # noqa: SLF001
        if match(anywhere, b"", 0, 0)[0] != nothing:
            return found.search  # type: ignore[no-any-return]
    except (AttributeError, TypeError, IndexError):
        return found.search  # type: ignore[no-any-return]
    return lambda text: match(anywhere, text, 0, len(text))[0] != nothing or None


class AnyOf:
    """A fixed set of texts, none of them empty. From any thread."""

    __slots__ = ("_made", "_search", "_texts", "longest")

    def __init__(self, texts: Iterable[bytes]) -> None:
        self._texts = tuple(dict.fromkeys(texts))
        self.longest = max(map(len, self._texts), default=0)
        self._search: Callable[[bytes], object] | None = None
        self._made = sum(map(len, self._texts)) > MAX_COMPILED or not self._texts

    def __iter__(self) -> Iterator[bytes]:
        """Go through the texts, each once."""
        return iter(self._texts)

    def stand_in(self, text: bytes) -> bool:
        """Tell whether any of them stands in `text`."""
        if len(text) <= LONG or len(self._texts) > FEW:
            search = self._search or self._ready()
            if search is not None:
                return search(text) is not None
        for one in self._texts:  # noqa: SIM110  # several times for each request: a generator costs more
            if one in text:
                return True
        return False

    def _ready(self) -> Callable[[bytes], object] | None:
        """Make the one pass ready, if it can be and was not."""
        if not self._made and _loaded:
            self._search = _loaded[0](b"|".join(map(escape, self._texts)))
            self._made = True
        return self._search
