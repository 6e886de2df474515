"""JSON Pointers (RFC 6901) on a text: what they name, and how the text is edited to set or remove it.

What always holds: a pointer that names nothing is an error that says how far it leads, and what is there.
"""

import re
from dataclasses import dataclass
from typing import Any, Final

from hark.errors import PatchError
from hark.patch import jsontext, nearest
from hark.patch.edits import Edit
from hark.patch.jsontext import Node
from hark.visible import visible

MAX_STEPS: Final = 64
END: Final = "-"
"""Names the item behind the last one of a list."""
_WRONG: Final = re.compile(r"~(?![01])")
_INDEX: Final = re.compile(r"0|[1-9][0-9]{0,8}", re.ASCII)

type Steps = tuple[str, ...]


class PointerError(ValueError):
    """The text is no pointer; the message says why, without its subject."""


def read(text: str) -> Steps:
    """Return the steps of a pointer. Raises PointerError."""
    if not text:
        return ()
    if not text.startswith("/"):
        raise PointerError(f"does not begin with a slash; write /{text.removeprefix('$').lstrip('./')}")
    if _WRONG.search(text):
        raise PointerError("has a ~ that is neither ~0 (for ~) nor ~1 (for /)")
    steps = tuple(step.replace("~1", "/").replace("~0", "~") for step in text[1:].split("/"))
    if len(steps) > MAX_STEPS:
        raise PointerError(f"has more than {MAX_STEPS} steps")
    return steps


def written(steps: Steps | jsontext.Path) -> str:
    """Return a pointer's text."""
    return "".join(f"/{str(step).replace('~', '~0').replace('/', '~1')}" for step in steps)


def setting(text: bytes, value: Any, steps: Steps, new: bytes) -> Edit:
    """Return the edit that sets what `steps` name to the JSON `new`: a value that is there, or one more.

    `value` is that of `text`. Raises PatchError.
    """
    place = _led(value, steps[:-1])
    if not steps:
        return Edit(0, len(text), new)
    if place.has(steps[-1]):
        place.go(steps[-1])
        node = _node(text, place.path)
        return Edit(node.start, node.end, new)
    name = place.room(steps[-1])
    container = _node(text, place.path)
    comma = b"," if place.value else b""
    return Edit(container.end - 1, container.end - 1, comma + name + new)


def removing(text: bytes, value: Any, steps: Steps) -> Edit:
    """Return the edit that takes out what `steps` name, with its comma. Raises PatchError."""
    if not steps:
        raise PatchError('"" is the whole body, which cannot be removed; write "body": "" to send none')
    place = _led(value, steps)
    before: Node | None = None
    node: Node | None = None
    for one in jsontext.nodes(text):
        if len(one.path) != len(steps) or one.path[:-1] != place.path[:-1]:
            continue
        if node is not None:
            return Edit(node.begin, one.begin, b"")
        if one.path == place.path:
            node = one
        else:
            before = one
    if node is None:
        raise PatchError(f"{visible(written(steps))} is not there")
    return Edit(node.begin if before is None else before.end, node.end, b"")


def has(value: Any, steps: Steps) -> bool:
    """Tell whether a pointer names something in a value."""
    try:
        _led(value, steps)
    except PatchError:
        return False
    return True


def has_room(value: Any, steps: Steps) -> bool:
    """Tell whether a value can be set where a pointer leads."""
    try:
        place = _led(value, steps[:-1])
        if steps and not place.has(steps[-1]):
            place.room(steps[-1])
    except PatchError:
        return False
    return True


def _led(value: Any, steps: Steps) -> "_Place":
    place = _Place(value)
    for step in steps:
        place.go(step)
    return place


@dataclass(slots=True)
class _Place:
    """A value on the way that a pointer leads."""

    value: Any
    path: jsontext.Path = ()

    def has(self, step: str) -> bool:
        if isinstance(self.value, list):
            return bool(_INDEX.fullmatch(step)) and int(step) < len(self.value)
        return isinstance(self.value, dict) and step in self.value

    def go(self, step: str) -> None:
        if not self.has(step):
            raise self._nothing(step)
        key: str | int = int(step) if isinstance(self.value, list) else step
        self.value, self.path = self.value[key], (*self.path, key)

    def room(self, step: str) -> bytes:
        """Return what stands before a value that is added here. Raises PatchError where none can be."""
        if isinstance(self.value, dict):
            return b'"%s":' % jsontext.quoted(step.encode("utf-8", "surrogatepass"))
        if isinstance(self.value, list) and step in (END, str(len(self.value))):
            return b""
        raise self._nothing(step)

    def _nothing(self, step: str) -> PatchError:
        here = visible(written(self.path)) or "the body"
        wanted = visible(written((*self.path, step)))
        match self.value:
            case dict():
                near = nearest.name(step, self.value)
                near = f"{visible(written(self.path))}/{near}" if near else ""
                return PatchError(f"{wanted} is not there: {here} has {_listed(self.value)}", near)
            case list():
                size = len(self.value)
                return PatchError(f"{wanted} is not there: {here} is a list of {size}, counted from 0")
            case _:
                return PatchError(f"{wanted} is not there: {here} is no object and no list")


def _node(text: bytes, path: jsontext.Path) -> Node:
    return next(node for node in jsontext.nodes(text) if node.path == path)


def _listed(members: dict[str, Any]) -> str:
    names = [nearest.quoted(name) for name in list(members)[:8]]
    more = len(members) - len(names)
    return (", ".join(names) or "no members") + (f" and {more} more" if more else "")
