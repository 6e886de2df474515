"""A patch file to its values. Accepts only what it understands: an unknown key is an error, never a silence.

Not done here: whether anything matches, which is told when it is applied (`hark.patch.apply`).
"""

import re
from collections.abc import Callable, Mapping
from typing import Final, NamedTuple

from hark.patch import pointer
from hark.patch.reading import Node, load
from hark.patch.steps import (
    DropChunk,
    Patch,
    RemoveHeader,
    RemoveValue,
    Replace,
    SetBody,
    SetHeader,
    SetStatus,
    SetValue,
    Step,
)
from hark.patch.where import Side
from hark.replay import jsonform

MAX_STEPS: Final = 1000
MAX_NOTE: Final = 4096  # characters
MOST: Final = 1 << 32  # of counts and indexes
_TOKEN: Final = re.compile(r"[!#$%&'*+\-.^_`|~0-9A-Za-z]+")
_NO_VALUE: Final = re.compile(r"[\x00-\x08\x0a-\x1f\x7f]")
FRAMING: Final = frozenset(
    ("content-length", "transfer-encoding", "content-encoding", "connection", "keep-alive", "trailer", "te",
     "upgrade", "host", "proxy-connection", "http2-settings")
)  # fmt: skip
"""What follows from the body and the connection: hark writes it."""
_MEANT: Final[dict[str, str]] = {
    "find": "replace", "search": "replace", "old": "replace", "from": "replace", "new": "with", "to": "with",
    "by": "with", "header": "set_header", "headers": "set_header", "chunk": "drop_chunk",
    "drop": "drop_chunk", "path": "set", "pointer": "set", "op": "set", "delete": "remove", "side": "on",
    "patch": "steps", "comment": "note", "description": "note", "text": "body", "json": "body",
    "code": "status", "times": "count",
}  # fmt: skip


class _Verb(NamedTuple):
    read: "Callable[[Node, dict[str, Node]], Step]"
    beside: tuple[str, ...] = ()
    """The keys that may stand beside it; those that end in ! must."""
    only: Side | None = None


def parse_patch(raw: bytes, source: str = "patch") -> Patch:
    """Read a patch file's bytes. Raises ForkError, whose sentence begins with the place in `source`."""
    node = load(raw, source)
    if isinstance(node.value, list):
        node.fail('a patch is an object; write {"steps": [...]}, and each step as docs/patch.md has it')
    members = node.members(KNOWN)
    on = Side(_choice(members["on"])) if "on" in members else None
    note = members["note"].string() if "note" in members else ""
    if len(note) > MAX_NOTE:
        members["note"].fail(f'"note" is longer than {MAX_NOTE} characters')
    alone = {key: value for key, value in members.items() if key not in ("on", "note", "steps")}
    steps = _steps(node, members, alone, on)
    return Patch(steps, on, note, jsonform.spell(node.value))


def _steps(node: Node, members: dict[str, Node], alone: dict[str, Node], on: Side | None) -> tuple[Step, ...]:
    if "steps" not in members:
        return (_step(node, alone, on),)
    for key, one in alone.items():
        one.fail(f'"{key}" stands beside "steps"; put it into a step of its own')
    items = members["steps"].items()
    if not items:
        members["steps"].fail('"steps" is empty: the patch would change nothing')
    if len(items) > MAX_STEPS:
        items[MAX_STEPS].fail(f"a patch has {MAX_STEPS} steps at most")
    return tuple(_step(item, item.members(_IN_A_STEP), on) for item in items)


def _step(node: Node, members: dict[str, Node], on: Side | None) -> Step:
    verbs = [key for key in members if key in _VERBS]
    if not verbs:
        node.fail(f"a step says what is done by one of {', '.join(_VERBS)}")
    name = min(verbs, key=list(_VERBS).index)
    verb = _VERBS[name]
    for other in verbs:
        if other != name:
            members[other].fail(f'a step does one thing, and this has "{name}" and "{other}"; make it two')
    for key, member in members.items():
        if key != name and key not in (word.rstrip("!") for word in verb.beside):
            member.fail(f'"{key}" has no meaning beside "{name}"')
    for key in verb.beside:
        if key.endswith("!") and key[:-1] not in members:
            members[name].fail(f'"{name}" needs "{key[:-1]}" beside it')
    if verb.only is not None and on not in (None, verb.only):
        members[name].fail(f'"{name}" is of a {verb.only}, and the patch is on the {on}')
    return verb.read(members[name], members)


def _choice(node: Node) -> str:
    text = node.string()
    if text not in tuple(Side):
        node.fail('"on" is "request" or "response"')
    return text


def _replace(node: Node, beside: dict[str, Node]) -> Step:
    old, new = node.string(), beside["with"].string()
    if not old:
        node.fail('"replace" is empty; write the text that is to be replaced')
    if old == new:
        beside["with"].fail("the text would be replaced by itself")
    return Replace(old, new, beside["count"].number(1, MOST) if "count" in beside else None)


def _body(node: Node, _beside: dict[str, Node]) -> Step:
    return SetBody(node.string() if isinstance(node.value, str) else node.spelled().decode())


def _set(node: Node, beside: dict[str, Node]) -> Step:
    return SetValue(_pointer(node), beside["value"].spelled(), _event(beside))


def _remove(node: Node, beside: dict[str, Node]) -> Step:
    steps = _pointer(node)
    if not steps:
        node.fail('"" is the whole body; write "body": "" to send none')
    return RemoveValue(steps, _event(beside))


def _event(beside: dict[str, Node]) -> int | None:
    return beside["event"].number(0, MOST) if "event" in beside else None


def _pointer(node: Node) -> pointer.Steps:
    try:
        return pointer.read(node.string())
    except pointer.PointerError as error:
        node.fail(f'"{node.value}" is no JSON Pointer: it {error}')


def _set_header(node: Node, beside: dict[str, Node]) -> Step:
    name, value = _header(node), beside["value"].string()
    if name.lower() in FRAMING:
        node.fail(f"{name} follows from the body and the connection: hark writes it; patch the body alone")
    if _NO_VALUE.search(value) or value != value.strip(" \t"):
        beside["value"].fail("a header's value is one line without control characters or spaces around it")
    return SetHeader(name.encode(), value.encode())


def _remove_header(node: Node, _beside: dict[str, Node]) -> Step:
    name = _header(node)
    if name.lower() in FRAMING:
        node.fail(f"{name} follows from the body and the connection: hark writes it; patch the body alone")
    return RemoveHeader(name.encode())


def _header(node: Node) -> str:
    name = node.string()
    if not _TOKEN.fullmatch(name):
        hint = "; it stands without its colon and value" if ":" in name else ""
        node.fail(f"this is no name of a header{hint}")
    return name


def _status(node: Node, _beside: dict[str, Node]) -> Step:
    return SetStatus(node.number(200, 599))


def _drop_chunk(node: Node, _beside: dict[str, Node]) -> Step:
    return DropChunk(node.number(0, MOST))


_VERBS: Final[Mapping[str, _Verb]] = {
    "replace": _Verb(_replace, ("with!", "count")),
    "set": _Verb(_set, ("value!", "event")),
    "remove": _Verb(_remove, ("event",)),
    "set_header": _Verb(_set_header, ("value!",)),
    "remove_header": _Verb(_remove_header),
    "status": _Verb(_status, only=Side.RESPONSE),
    "drop_chunk": _Verb(_drop_chunk, only=Side.RESPONSE),
    "body": _Verb(_body),
}
_BESIDE: Final = tuple(dict.fromkeys(word.rstrip("!") for verb in _VERBS.values() for word in verb.beside))
_IN_A_STEP: Final = _MEANT | {word: word for word in (*_VERBS, *_BESIDE)}
KNOWN: Final = _IN_A_STEP | {word: word for word in ("on", "note", "steps")}
