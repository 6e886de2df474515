"""Runs, their replays and their forks as the graph they are, as far as the files themselves say.

What always holds: every bundle that was looked at stands in the graph once, whatever their headers claim; a
parent that is not among them is named by its root. Here a root is what a footer says, and a lineage what a
header says: claims, until `confirmed` has verified both bundles.
"""

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from typing import Final, NamedTuple

from hark.bundle import events as ev
from hark.bundle.bounds import RUN_START, RunEnd, RunStart
from hark.bundle.header import decode_footer
from hark.bundle.store import SUFFIX
from hark.bundle.walk import AT_FOOTER, BundleFile, Chunk
from hark.errors import BundleError, UsageError
from hark.verify.result import BROKEN
from hark.verify.steps import verify
from hark.visible import visible

LARGE: Final = 1 << 30  # bytes that are looked through in about a second, and said to be from then on
_REQUEST: Final = 5
_READ: Final = frozenset((RUN_START, 16, 47, 49))
"""RunStart, RunEnd, Determinism and Branch: the only events that are decoded."""


class Node(NamedTuple):
    """One bundle, by what a glance at it says."""

    path: str
    run_id: str
    created_at: int = 0
    root: bytes = b""
    """Empty where it has no footer."""
    parent: bytes = b""
    """Root of the bundle that it is a fork, or a replay, of."""
    replay: bool = False
    fork_point: int = 0
    command: tuple[str, ...] = ()
    note: str = ""
    """Of its latest branch."""
    side: str = ""
    requests: int = 0
    time_ns: int = 0
    end: RunEnd | None = None
    unreadable: bool = False
    """Its header cannot be read, or its events are none that a recorder wrote one after another."""
    anchors: int = 0
    """Anchors that stand in its footer; what they are worth is for `hark verify` to say."""


class Placed(NamedTuple):
    """One bundle in the graph: how far down, and whether the parent that it names is not above it."""

    depth: int
    node: Node
    orphan: bool = False


def bundles(directory: str, say: Callable[[str], None] = lambda _: None) -> list[Node]:
    """Return what is in the bundles of a directory, and say which of them takes a while.

    Raises UsageError where there is no such directory.
    """
    try:
        names = sorted(os.listdir(directory))
    except OSError as error:
        words = (error.strerror or "").lower()
        raise UsageError(f"cannot look for bundles in {directory}: {words}; name a directory") from None
    found = []
    for path in (os.path.join(directory, name) for name in names if name.endswith(SUFFIX)):
        size = _size(path)
        if size >= LARGE:
            say(f"looking at {visible(path)}, {size >> 30} GiB; Ctrl-C ends it")
        found.append(look(path))
    return [node for node in found if node is not None]


def _size(path: str) -> int:
    try:
        return os.stat(path).st_size
    except OSError:
        return 0


def look(path: str) -> Node | None:
    """Return what a glance at one bundle says; None where it is gone."""
    try:
        with BundleFile(path) as file:
            header = file.header
            node = Node(path, header.run_id, header.created_at, parent=header.parent_root)
            node = node._replace(fork_point=header.fork_point)
            walk = file.walk()
            seen = 0
            for chunk in walk:
                if chunk.heads[0][2] != seen:  # zeros are frames as well, as many as there is room for
                    return node._replace(unreadable=True)
                seen += len(chunk.heads)
                node = _take(node, chunk)
            block = file.footer_block(walk.at) if walk.end == AT_FOOTER else None
            if block is None:
                return node
            footer = decode_footer(block)
            return node._replace(root=footer.root, anchors=len(footer.anchors))
    except BundleError:
        return Node(path, "", unreadable=True) if os.path.lexists(path) else None


def graph(nodes: Sequence[Node]) -> Iterator[Placed]:
    """Yield every bundle, the oldest first, each with its forks and replays below it."""
    by_root = {node.root: at for at, node in reversed(list(enumerate(nodes))) if node.root}
    below: dict[int, list[int]] = {}
    tops: list[int] = []
    order = sorted(range(len(nodes)), key=lambda at: (nodes[at].created_at, nodes[at].path))
    for at in order:
        above = by_root.get(nodes[at].parent) if nodes[at].parent else None
        if above is None or above == at:
            tops.append(at)
        else:
            below.setdefault(above, []).append(at)
    seen: set[int] = set()
    for top in (*tops, *order):  # the last are those that claim to be their own ancestors
        stack = [(0, top)] if top not in seen else []
        while stack:
            depth, at = stack.pop()
            if at in seen:
                continue
            seen.add(at)
            yield Placed(depth, nodes[at], orphan=bool(nodes[at].parent) and nodes[at].parent not in by_root)
            stack += ((depth + 1, child) for child in reversed(below.get(at, ())))


def confirmed(nodes: Sequence[Node]) -> set[str]:
    """Return the paths of bundles whose parent is among them: both verify, and the root is the parent's."""
    by_root = {node.root: node.path for node in reversed(nodes) if node.root}
    pairs = [(node.path, by_root[node.parent], node.parent) for node in nodes if node.parent in by_root]
    roots = {path: _verified_root(path) for path in {path for pair in pairs for path in pair[:2]}}
    return {path for path, above, root in pairs if roots[path] and roots[above] == root}


def _verified_root(path: str) -> bytes:
    """Return the root that a bundle's events lead to; nothing where it does not verify."""
    try:
        result = verify(path)
    except BundleError:
        return b""
    return b"" if result.verdict == BROKEN else result.root


def _take(node: Node, chunk: Chunk) -> Node:
    requests = sum(head[1] == _REQUEST for head in chunk.heads)
    node = node._replace(requests=node.requests + requests, time_ns=chunk.heads[-1][3])
    if _READ.isdisjoint(head[1] for head in chunk.heads):
        return node
    for event in _events(chunk):
        match event:
            case RunStart():
                node = node._replace(command=event.argv)
            case ev.Determinism() if event.replayed and not node.parent:
                node = node._replace(parent=event.replayed, replay=True)
            case ev.Branch():
                node = node._replace(note=event.note, side=event.side)
            case RunEnd():
                node = node._replace(end=event)
            case _:
                pass
    return node


def _events(chunk: Chunk) -> Iterable[object]:
    for frame in chunk.frames():
        if frame.kind in _READ and frame.payload:
            with suppress(BundleError):  # what cannot be read says nothing here
                yield ev.decode(frame.kind, frame.payload)
