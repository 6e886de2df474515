"""What the agent's file tree will consist of: layers and symbolic links, computed before anything is mounted.

A layer is mounted at its canonical path, parents before children, so that a grant inside another wins
there. Where a path of the plan goes through a symbolic link of the host, the link itself is shown too, so
that the path works inside as it does outside. What is `hidden` wins over every grant. No mount is made here;
the host is only asked where links lead.

A grant with a source is shown where the plan says, whatever the host has at that place: below it links are
those of the source, and above it there are none.
"""

import os
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Final

from hark.errors import ConfinementError
from hark.places import contains, within
from launcher.plan import Access, Grant, Plan

_MAX_LINKS: Final = 40  # as the kernel: more is a loop
_OURS: Final = ("/dev", "/proc", "/sys")
"""File systems that the launcher makes itself; a host's part of them would reach around the boundary."""
_READABLE_OF_OURS: Final = "/sys/devices/system/cpu"
SHARED_SCRATCH: Final = ("/tmp", "/var/tmp")  # noqa: S108  (the agent's own)


class Kind(Enum):
    """What a layer is."""

    SCRATCH = "scratch"
    READ = "read"
    WRITE = "write"


@dataclass(frozen=True, slots=True)
class Layer:
    """One mount of the view; `why` is the grant's, or what the private directory is for."""

    path: str
    kind: Kind
    why: str
    source: str | None = None
    """What of the host is mounted, if it is not what the host has at `path`."""

    @property
    def origin(self) -> str:
        """What of the host is mounted."""
        return self.path if self.source is None else self.source


@dataclass(frozen=True, slots=True)
class View:
    """Layers in the order in which they are mounted, links in the order in which they are made."""

    layers: tuple[Layer, ...]
    links: tuple[tuple[str, str], ...]
    withheld: tuple[str, ...]
    """Grants that a hidden path swallowed."""
    masked: tuple[str, ...]
    protected: tuple[str, ...]
    hidden: tuple[str, ...]
    """The plan's, where they lie once every link of the host is followed; a protected link itself is kept."""

    def nearest(self, path: str) -> Layer | None:
        """The layer that shows the canonical `path`."""
        above = [layer for layer in self.layers if contains(layer.path, path)]
        return above[-1] if above else None


type Readlink = Callable[[str], str | None]
"""MUST return the target of a symbolic link, and None for anything else."""


def host_readlink(path: str) -> str | None:
    """The host's answer."""
    try:
        return os.readlink(path)
    except OSError:
        return None


def parts(path: str) -> list[str]:
    """The names in an absolute path."""
    return [part for part in path.split("/") if part]


def canonical(path: str, readlink: Readlink, links: dict[str, str]) -> str:
    """Follow every link in the absolute `path`; the links met are added to `links`."""
    if not path.startswith("/"):
        raise ConfinementError(f"{path!r} is not an absolute path")
    pending = parts(path)[::-1]
    done: list[str] = []
    followed = 0
    while pending:
        name = pending.pop()
        if name == "." or (name == ".." and not done):
            continue
        if name == "..":
            done.pop()
            continue
        here = "/" + "/".join([*done, name])
        target = readlink(here)
        if target is None:
            done.append(name)
            continue
        followed += 1
        if followed > _MAX_LINKS:
            raise ConfinementError(f"{path} goes through too many symbolic links")
        links[here] = target
        if target.startswith("/"):
            done.clear()
        pending.extend(parts(target)[::-1])
    return "/" + "/".join(done)


def _refuse_special(path: str, grant: Grant) -> None:
    if path == "/":
        raise ConfinementError(f"cannot grant {grant.path}: it is the whole file system")
    if grant.access is Access.READ and contains(_READABLE_OF_OURS, path):
        return
    if within(path, _OURS):
        raise ConfinementError(f"cannot grant {grant.path}: the agent has its own {'/' + parts(path)[0]}")


def _from_sources(grants: Iterable[Grant], readlink: Readlink) -> Readlink:
    """`readlink` as the agent will see the tree: at and above a grant with a source there is no link."""
    moved = {"/" + "/".join(parts(grant.path)): grant.source for grant in grants if grant.source is not None}
    if not moved:
        return readlink

    def read(path: str) -> str | None:
        above = [place for place in moved if place != path and contains(place, path)]
        if above:
            place = max(above, key=len)
            return readlink(f"{moved[place]}{path[len(place) :]}")
        if any(contains(path, place) for place in moved):
            return None
        return readlink(path)

    return read


def _refuse_misplaced(found: Mapping[str, Layer], readlink: Readlink) -> None:
    """Refuse a source whose place lies in a tree of the host's that does not have it, or only by a link.

    The place is made before the pivot, and by way of a link it would be made on the host.
    """
    for layer in found.values():
        if layer.source is None:
            continue
        above = [one for one in found.values() if one is not layer and contains(one.path, layer.path)]
        nearest = max(above, key=lambda one: len(one.path), default=None)
        if nearest is None or nearest.source is not None:
            continue
        if canonical(layer.path, readlink, {}) != layer.path or not os.path.exists(layer.path):
            raise ConfinementError(
                f"cannot show {layer.source} at {layer.path}: {nearest.path}, which is granted, lacks it"
            )


def lay_out(plan: Plan, readlink: Readlink = host_readlink) -> View:
    """The view that `plan` asks for."""
    host_links = readlink
    readlink = _from_sources(plan.grants, readlink)
    links: dict[str, str] = {}
    masked = tuple(canonical(path, readlink, {}) for path in plan.masked)
    protected = tuple(_but_the_last(path, readlink) for path in plan.protected)
    hidden = tuple(canonical(path, readlink, {}) for path in plan.hidden)
    found: dict[str, Layer] = {}
    withheld: list[str] = []
    for grant in plan.grants:
        path = canonical(grant.path, readlink, links)
        _refuse_special(path, grant)
        if within(path, hidden):
            withheld.append(grant.path)
        elif path not in found or grant.access is Access.WRITE:
            kind = Kind.WRITE if grant.access is Access.WRITE else Kind.READ
            found[path] = Layer(path, kind, grant.why, grant.source)
    _refuse_misplaced(found, host_links)
    found = {path: layer for path, layer in found.items() if not _repeats(layer, found)}
    for path in (plan.workdir, plan.executable):
        canonical(path, readlink, links)
    for path in _scratch_paths(plan, readlink, links, set(found)):
        found.setdefault(path, Layer(path, Kind.SCRATCH, "private"))
    return View(_in_order(found), tuple(sorted(links.items())), tuple(withheld), masked, protected, hidden)


def _but_the_last(path: str, readlink: Readlink) -> str:
    folder, _, name = path.rstrip("/").rpartition("/")
    return f"{canonical(folder or '/', readlink, {}).rstrip('/')}/{name}"


def _repeats(layer: Layer, found: dict[str, Layer]) -> bool:
    """Whether the next layer above shows the same already, for the same reason (/usr/bin by way of /bin)."""
    names = parts(layer.path)
    above = ("/" + "/".join(names[:length]) for length in range(len(names) - 1, 0, -1))
    nearest = next((found[path] for path in above if path in found), None)
    if layer.kind is not Kind.READ or layer.source is not None or nearest is None:
        return False
    return nearest == Layer(nearest.path, Kind.READ, layer.why)


def _scratch_paths(plan: Plan, readlink: Readlink, links: dict[str, str], granted: set[str]) -> list[str]:
    home = canonical(plan.home, readlink, links)
    if home == "/" or any(contains(path, home) for path in granted):
        return list(SHARED_SCRATCH)
    if within(home, _OURS):
        raise ConfinementError(
            f"cannot use {plan.home} as the agent's home directory; set HOME to one of yours"
        )
    return [*SHARED_SCRATCH, home]


def _in_order(layers: dict[str, Layer]) -> tuple[Layer, ...]:
    return tuple(sorted(layers.values(), key=lambda layer: parts(layer.path)))
