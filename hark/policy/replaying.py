"""`[replay]`: what of a request never counts in a replay, and which sources are left as they are."""

import re
from collections.abc import Callable, Mapping
from typing import Final

from hark.policy import jsonpath
from hark.policy.model import Clock, Randomness, ReplayRules, Typed
from hark.policy.reading import Node

MAX_IGNORED: Final = 200  # entries of one list: each is looked for in every request
COUNTS_ALWAYS: Final = frozenset(("host", "content-type", "content-encoding", "upgrade"))
"""Headers without which a request is not the same one, whatever else it says."""
_HEADER: Final = re.compile(r"[!#$%&'*+\-.^_`|~0-9A-Za-z]+")


def replay(node: Node) -> ReplayRules:
    """Read the table."""
    table = node.table(*_IGNORED, "clock", "randomness", "input")
    for key in _IGNORED:
        if key in table and len(table[key].items()) > MAX_IGNORED:
            table[key].fail(f"{table[key].name} has more than {MAX_IGNORED} entries; name what differs alone")
    return ReplayRules(
        **{key: table[key].each(entry) for key, entry in _IGNORED.items() if key in table},
        clock=_choice(table["clock"], Clock) if "clock" in table else Clock.RECORDED,
        randomness=_choice(table["randomness"], Randomness) if "randomness" in table else Randomness.SEEDED,
        typed=_choice(table["input"], Typed) if "input" in table else Typed.RECORDED,
    )


def _choice[T: (Clock, Randomness, Typed)](node: Node, kind: type[T]) -> T:
    return kind(node.choice(*(word.value for word in kind)))


def _header(node: Node) -> str:
    text = node.string()
    if not _HEADER.fullmatch(text):
        node.fail(f'"{text}" is not the name of a header')
    if text.lower() in COUNTS_ALWAYS:
        node.fail(f"{text} always counts: a request with another one is another request; remove it")
    return text.lower()


def _path(node: Node) -> str:
    text = node.string()
    try:
        steps = jsonpath.read(text)
    except jsonpath.PathError as error:
        node.fail(f'path "{text}" {error}')
    if not steps:
        node.fail(f'path "{text}" is the whole body, so any request would do; name a part of it: "$.name"')
    return jsonpath.written(steps)


def _name(node: Node) -> str:
    text = node.string()
    if not text:
        node.fail("a name without a letter; write that of a parameter or field")
    return text


_IGNORED: Final[Mapping[str, Callable[[Node], str]]] = {
    "ignore_headers": _header,
    "ignore_json": _path,
    "ignore_query": _name,
    "ignore_form": _name,
    "ignore_messages": _path,
}
"""The keys of `ReplayRules` that leave something out, and how an entry is read."""
