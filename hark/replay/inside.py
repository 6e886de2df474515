"""Where inside two actions they differ, and a comparison in words and as JSON.

What always holds: only parts that were compared are named, so nothing is called a difference that a rule
leaves out; every word is safe to print. Both runs are read once more, for the two sides of one divergence.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import Final

from hark.replay import digest
from hark.replay.actions import Action, Frames
from hark.replay.canonical import NO_RULES, Rules
from hark.replay.content import Content, content
from hark.replay.difference import Difference, of_bytes, of_fields, of_requests
from hark.replay.diverge import Compared, Divergence
from hark.visible import visible

_BYTES: Final = frozenset(("body", "data", "bytes", "arguments", "result"))
"""Parts that are hashes of bytes which `Content` holds."""
_FIELDS: Final = (
    ("header", "headers", "headers"),
    ("trailer", "trailers", "trailers"),
    ("trailer of the request", "request trailers", "request_trailers"),
)
MAX_SHOWN: Final = 1000  # characters of a value in JSON


def inside(
    divergence: Divergence,
    recorded: Callable[[], Frames],
    replayed: Callable[[], Frames],
    rules: Rules = NO_RULES,
    replayed_rules: Rules | None = None,
) -> tuple[Difference, ...]:
    """Return where inside two actions they differ, the first difference of each kind.

    The callables MUST return all events of their run, from its first on. The replay's rules are others where
    a renaming has to be undone.
    """
    if divergence.recorded is None or divergence.replayed is None:
        return ()
    was = content(recorded(), divergence.recorded, rules)
    now = content(replayed(), divergence.replayed, replayed_rules or rules)
    found = tuple(_inside(frozenset(divergence.parts), was, now))
    return found or tuple(Difference(part, "differs") for part in divergence.parts)


def words(compared: Compared, found: Sequence[Difference] = ()) -> str:
    """Return what came of a comparison, as one sentence without its full stop."""
    first = compared.first
    if first is None:
        return compared.unfit or f"all {compared.equal_actions} actions are equal"
    if first.replayed is None:
        return f"{named(first.action)} of event {first.action.seq} was not made again"
    if first.recorded is None:
        return f"{named(first.action)} of the replay's event {first.action.seq} was not recorded"
    how = " and ".join(map(str, found)) or f"{', '.join(first.parts)} differs"
    return f"{named(first.action)} of event {first.action.seq} differs: {how}"


def named(action: Action) -> str:
    """Return what a person calls an action."""
    return visible(action.title)


def to_json(compared: Compared, found: Sequence[Difference] = ()) -> dict[str, object]:
    """Return a comparison as what `json` can write."""
    first = compared.first
    return {
        "equal": compared.equal,
        "digest_version": digest.DIGEST_VERSION,
        "recorded_digest": compared.recorded_digest.hex(),
        "replayed_digest": compared.replayed_digest.hex(),
        "equal_actions": compared.equal_actions,
        "unfit": visible(compared.unfit) or None,
        "divergence": None if first is None else _divergence(first, found),
        "unused": [_action(action) for action in compared.unused],
        "extra": compared.extra,
    }


def _divergence(first: Divergence, found: Sequence[Difference]) -> dict[str, object]:
    return {
        "action": named(first.action),
        "recorded": None if first.recorded is None else _action(first.recorded),
        "replayed": None if first.replayed is None else _action(first.replayed),
        "parts": list(first.parts),
        "inside": [difference._asdict() for difference in found],
        "before": [_action(action) for action in first.before],
    }


def _action(action: Action) -> dict[str, object]:
    parts = {name: _part(value) for name, value in action.parts}
    return {"action": named(action), "seq": action.seq, "exchange": action.exchange or None, "parts": parts}


def _part(value: bytes) -> str:
    """Return a word as it is, and a hash in hex."""
    text = value.decode("ascii", "replace")
    return text if text.isprintable() and text.isascii() and len(text) != 32 else value.hex()[:MAX_SHOWN]


def _inside(parts: frozenset[str], was: Content, now: Content) -> Iterator[Difference]:
    if was.request is not None and now.request is not None:
        yield from of_requests(was.request, now.request)
    if "status" in parts:
        yield Difference("status", f"was {was.status} and is {now.status}", str(was.status), str(now.status))
    if not parts <= (_BYTES | {"request", "status"}) and was.words != now.words:
        one, other = visible(was.words) or "whole", visible(now.words) or "whole"
        yield Difference("end", f"was: {one}; is: {other}", one, other)
    for where, part, name in _FIELDS:
        if part in parts:
            yield from of_fields(where, getattr(was, name), getattr(now, name))
    if parts & _BYTES:
        (where,) = sorted(parts & _BYTES)
        found = of_bytes(where, bytes(was.data), bytes(now.data))
        yield found or Difference(where, "differs beyond what is held of it")
