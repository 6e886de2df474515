"""What a run's record says of the run itself holds no real value: policy, command, environment and paths.

Always: it is refused before anything is started, in every spelling that the record is searched for, and in a
sentence that says where and never what. Without this the first event would be refused instead, by a sentence
about the recorder.

Not done here: what the agent sends and what comes back, which the mediator searches as it passes.
"""

import os
import tomllib
from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Final

from hark.errors import PolicyError
from hark.policy.model import Policy, Secret
from hark.policy.positions import Path, Place, index

type Finder = Callable[[bytes], str | None]
"""Returns the name of a secret whose value stands in some bytes, in any spelling."""

STAYS_OUT: Final = "which neither agent nor record may have"


def finder(secrets: Iterable[Secret]) -> Finder:
    """Return what looks for the values of secrets."""
    from mediator.encodings import Pair
    from mediator.scan import Table

    pairs = [Pair(secret.name, secret.value.encode(), secret.placeholder.encode()) for secret in secrets]
    return Table(pairs).name_in if pairs else lambda _: None


def refuse_in_policy(policy: Policy, find: Finder) -> None:
    """Refuse a policy in whose text a value stands: the text is on the record. Raises PolicyError."""
    name = find(policy.raw)
    if name is None:
        return
    text = policy.raw.decode()
    end = bisect_left(range(len(text)), 1, key=lambda last: int(find(text[: last + 1].encode()) is not None))
    line = text.count("\n", 0, end) + 1
    path, place = _before(text, Place(line, end - text.rfind("\n", 0, end)))
    told = f"{policy.source}:{line}: a comment"
    if find(_content(text, path)) is not None:
        told = f"{policy.source}:{place.line}:{place.column}: {_dotted(path, find)}"
    raise PolicyError(
        f"{told} holds the value of secrets.{name}, {STAYS_OUT}; take it out, the agent has a placeholder"
    )


def refuse_told(find: Finder, argv: Iterable[str], env: Mapping[str, str], paths: Mapping[str, str]) -> None:
    """Refuse a value in what else is told of a run; `paths` by what each is called. Raises PolicyError."""
    for what, text, step in _told(argv, env, paths):
        name = find(os.fsencode(text))
        if name is not None:
            raise PolicyError(f"{what} the value of secrets.{name}, {STAYS_OUT}; {step.format(name=name)}")


def _told(
    argv: Iterable[str], env: Mapping[str, str], paths: Mapping[str, str]
) -> Iterator[tuple[str, str, str]]:
    words = "\n".join(argv)
    yield "the command's arguments hold", words, "let it read {name} from its environment"
    for variable, value in env.items():
        yield f"the agent's variable {variable} holds", value, "take it out of [env] or of your environment"
    for what, path in paths.items():
        yield f"{what} holds", path, "give it another name"


def _before(text: str, here: Place) -> tuple[Path, Place]:
    """Return the key or list item that begins last before a place; the file's top where none does."""
    found = max(((place, path) for path, place in index(text).items() if place <= here), default=None)
    return (found[1], found[0]) if found else ((), Place(1, 1))


def _content(text: str, path: Path) -> bytes:
    """Return a key and what stands under it; nothing for the file's top."""
    value: object = tomllib.loads(text)
    for part in path:
        match value, part:
            case dict(), str():
                value = value[part]
            case list(), int():
                value = value[part]
            case _:
                return b""
    return "\n".join(map(str, (*path, value))).encode(errors="surrogateescape") if path else b""


def _dotted(path: Path, find: Finder) -> str:
    """Return a key as its author would say it, but for a part that holds the value."""
    names = [part for part in path if isinstance(part, str)]
    return ".".join("(a name that must not be shown)" if find(name.encode()) else name for name in names)
