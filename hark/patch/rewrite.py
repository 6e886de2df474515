"""`-model` and `-set`: what is changed in every live request that it applies to.

What always holds: what is sent is the request itself with these values in it, everything else byte for byte;
a request to which nothing of it applies is left alone.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, Final
from urllib.parse import quote

from hark.errors import ForkError, PatchError
from hark.patch import jsontext, pointer
from hark.patch.apply import Sent, asked
from hark.patch.bodies import codings, unpacked
from hark.patch.models import Model, model_api
from hark.patch.steps import Patch, SetValue, Step
from hark.replay import jsonform

type Value = Any
"""A JSON value, as `hark.replay.jsonform` has it."""

_IN_PATH: Final = re.compile(r"(?<=/models/)[^/:?#]+(?=:)")
_NAME: Final = re.compile(r"[\x21-\x7e]{1,200}")


@dataclass(frozen=True)
class Rewrites:
    """What is set in live requests."""

    model: str | None = None
    sets: tuple[tuple[str, Value], ...] = ()
    """Pointer and value."""


def read_set(text: str) -> tuple[str, Value]:
    """Read `POINTER=VALUE`; a value that is no JSON is a text. Raises ForkError."""
    name, equals, value = text.partition("=")
    try:
        pointer.read(name)
    except pointer.PointerError as error:
        raise ForkError(f"-set {text}: {name} is no JSON Pointer: it {error}") from None
    if not equals or not name:
        raise ForkError(f"-set {text}: write POINTER=VALUE, such as /temperature=0")
    try:
        return name, jsonform.load(value.encode("utf-8", "surrogateescape"))
    except jsonform.NotJsonError:
        return name, _text(value, f"-set {name}")


def read_model(name: str) -> str:
    """Read the name of a model. Raises ForkError."""
    if not _NAME.fullmatch(name):
        raise ForkError(f"-model {name!r} is no name of a model: one word of printable ASCII")
    return name


def rewritten(rewrites: Rewrites, sent: Sent) -> Sent | None:
    """Return a request as it is sent, or None where nothing applies to it.

    The model is set in what asks a model, and so is every value; elsewhere a value is set where one is.
    """
    api = model_api(sent.method, sent.host, sent.path, sent.headers)
    path = _path(rewrites, sent, api)
    steps = tuple(_steps(rewrites, sent, api, in_path=path != sent.path))
    if not steps and path == sent.path:
        return None
    try:
        changed = asked(Patch(steps), sent).sent if steps else sent
    except PatchError:
        return None  # what it is packed by cannot be undone, or two of the values exclude each other
    return replace(changed, path=path)


def _path(rewrites: Rewrites, sent: Sent, api: Model | None) -> str:
    """Return the path with the model in it, where Gemini's API has it."""
    if rewrites.model is None or api is not Model.GEMINI:
        return sent.path
    before, mark, query = sent.path.partition("?")
    name = quote(rewrites.model, safe="@")
    return _IN_PATH.sub(lambda _: name, before, count=1) + mark + query


def _steps(rewrites: Rewrites, sent: Sent, api: Model | None, *, in_path: bool) -> Iterator[Step]:
    """Yield what is to be done to the body."""
    value = _value(sent)
    if not isinstance(value, dict):
        return
    named = value.get("model")
    by_body = rewrites.model is not None and api is not None and not in_path and isinstance(named, str)
    if by_body and named != rewrites.model:
        yield SetValue(("model",), jsonform.spell(rewrites.model))
    for name, new in rewrites.sets:
        steps = pointer.read(name)
        if pointer.has(value, steps) or (api is not None and pointer.has_room(value, steps)):
            yield SetValue(steps, jsonform.spell(new))


def _value(sent: Sent) -> Any:
    """Return the JSON of a request's body; None where there is none."""
    try:
        return jsontext.load(b"".join(unpacked(codings(sent.headers), [sent.body], whole=True)))
    except PatchError:
        return None


def _text(value: str, where: str) -> str:
    try:
        value.encode("utf-8")
    except UnicodeEncodeError:
        raise ForkError(f"{where}: the value is no UTF-8") from None
    return value
