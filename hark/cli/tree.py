"""`hark tree`: runs with their forks and replays below them. Nothing recorded is printed unescaped."""

import os
import sys
from typing import TYPE_CHECKING, Final

from hark.cli.spec import Args, Option, Positional, Spec

if TYPE_CHECKING:
    from hark.tree import Node, Placed

SPEC: Final = Spec(
    "tree",
    "show runs with their forks and replays below them",
    options=(Option("json", "print one JSON object a line"),),
    positionals=(
        Positional("DIR", "a directory of bundles; without it, where `hark ls` looks", optional=True),
    ),
    about="""\
Each line: the bundle, how the run ended, its requests and its length. A fork says from which event of its
parent on it went its own way, and what its patch notes. A parent that is not there is named by its root.

A fork or replay whose parent is among the bundles is called confirmed where both verify and the parent
has the root that it names. Else its parent is what the file claims. Nothing more is verified here.""",
)
SHOWN: Final = 12  # hex digits of a root


def run(args: Args) -> int:
    """Print the graph."""
    from hark import tree
    from hark.bundle.store import runs_directory
    from hark.cli import output

    directory = args.optional("DIR") or runs_directory(os.environ)
    if args.optional("DIR") is None and not os.path.isdir(directory):
        output.error_line(f"no runs in {directory}")
        return 0
    nodes = tree.bundles(directory, output.error_line)
    if not nodes:
        output.error_line(f"no bundles in {directory}")
    confirmed = tree.confirmed(nodes)
    for placed in tree.graph(nodes):
        is_confirmed = placed.node.path in confirmed
        if args.flag("json"):
            output.say_json(_record(placed) | {"parent_confirmed": is_confirmed})
        else:
            print(output.cut(_line(placed, confirmed=is_confirmed), output.width(sys.stdout)))
    return 0


def _line(placed: "Placed", *, confirmed: bool) -> str:
    from hark.bundle.outcome import describe
    from hark.visible import visible

    node = placed.node
    name = visible(os.path.basename(node.path))
    if node.unreadable:
        return f"{name}  unreadable"
    requests = "1 request" if node.requests == 1 else f"{node.requests} requests"
    ended = describe(node.end) if node.root or node.end else "it has no seal"
    what = visible(" ".join(node.command)) if placed.depth == 0 else ""
    anchored = "anchor not checked" if node.anchors else ""
    took = f"{node.time_ns / 1e9:.1f} s"
    parts = [
        part
        for part in (_lineage(placed, confirmed=confirmed), ended, requests, took, anchored, what)
        if part
    ]
    return f"{'  ' * placed.depth}{name}  {', '.join(parts)}"


def _lineage(placed: "Placed", *, confirmed: bool) -> str:
    from hark.visible import visible

    node = placed.node
    if not node.parent:
        return ""
    missing = f" of {node.parent.hex()[:SHOWN]}..., which is not here" if placed.orphan else ""
    told, how = ("", " (confirmed)") if confirmed else ("claims to be a ", "")
    if node.replay:
        return f"{told}REPLAY{missing}{how}"
    side = f" ({visible(node.side)})" if node.side else ""
    note = f": {visible(node.note)}" if node.note else ""
    return f"{told}FORK from event {node.fork_point}{side}{missing}{how}{note}"


def _record(placed: "Placed") -> dict[str, object]:
    node: Node = placed.node
    end = node.end
    return {
        "path": node.path,
        "run": node.run_id,
        "started_at_ns": node.created_at or None,
        "root": node.root.hex() or None,
        "depth": placed.depth,
        "parent": node.parent.hex() or None,
        "parent_is_here": bool(node.parent) and not placed.orphan,
        "replay": node.replay,
        "fork_point": node.fork_point if node.parent and not node.replay else None,
        "side": node.side or None,
        "note": node.note or None,
        "command": list(node.command),
        "requests": node.requests,
        "time_ns": node.time_ns,
        "end": None if end is None else {"exit_code": end.exit_code, "reason": end.reason},
        "anchors": node.anchors,
        "unreadable": node.unreadable,
        "verified": False,
    }
