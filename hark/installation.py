"""hark's own code on the disk: nothing that the agent can write is ever loaded into the supervisor.

Modules are loaded late, some while the agent runs, and libraries are mapped from their files. So before all
else the supervisor forgets every place to import from but the interpreter's own and hark's, and whatever of
these lies inside a writable grant is shown to the agent read-only. Where that is not possible, because the
grant is the installation itself, the run is refused.
"""

import os
import re
import sys
from collections.abc import Iterable, Mapping
from typing import Final

from hark.errors import PolicyError
from hark.places import contains, within

PACKAGES: Final = ("hark", "launcher", "mediator")
_PYTHONS: Final = ("PYTHONPATH", "PYTHONHOME", "PYTHONUSERBASE")
_LOADERS: Final = (
    "LD_PRELOAD",
    "LD_LIBRARY_PATH",
    "LD_AUDIT",
    "OPENSSL_CONF",
    "OPENSSL_MODULES",
    "GCONV_PATH",
)
_SEARCHED: Final = ("LD_PRELOAD", "LD_AUDIT")
"""A bare name in these is looked up in the system's places."""
_SEPARATORS: Final = re.compile("[:; ]")


def isolate_imports() -> None:
    """Import from the interpreter's places and hark's; not from PYTHONPATH or the current directory."""
    trusted = (*_prefixes(), _home_of("hark"))
    sys.path[:] = [
        entry for entry in sys.path if os.path.isabs(entry) and within(os.path.realpath(entry), trusted)
    ]
    sys.path_importer_cache.clear()


def shield(writable: Iterable[str]) -> tuple[str, ...]:
    """Return what of hark's installation lies in these canonical writable paths: it MUST be shown read-only.

    Places that are open to the agent as a whole are no longer imported from. Raises PolicyError where the
    installation itself is what the agent may write.
    """
    roots = tuple(writable)
    for prefix in _prefixes():
        for root in roots:
            if contains(prefix, root):
                raise PolicyError(
                    f"hark itself is installed in {prefix}, so the agent may not write {root}; move one"
                )
    for name in PACKAGES:
        __import__(name)  # before the place where they lie is forgotten
    sys.path[:] = [entry for entry in sys.path if not any(contains(entry, root) for root in roots)]
    own = dict.fromkeys(
        (*_prefixes(), *(_folder_of(name) for name in PACKAGES), *map(os.path.realpath, sys.path))
    )
    inside = [place for place in own if within(place, roots)]
    inside += [file for file in _mapped() if within(file, roots) and not within(file, tuple(inside))]
    return tuple(inside)


def refuse_search_path(environ: Mapping[str, str], writable: Iterable[str]) -> None:
    """Refuse variables that have this process load code from where the agent may write. Raises PolicyError.

    Python and the loader obey them before any line of ours runs: what an agent left there (sitecustomize.py)
    would be loaded into the next run's supervisor.
    """
    roots = tuple(writable)
    names = _LOADERS if sys.flags.ignore_environment else (*_LOADERS, *_PYTHONS)
    for name in names:
        value = environ.get(name, "")
        for entry in _SEPARATORS.split(value) if value else ():
            if name in _SEARCHED and "/" not in entry:
                continue
            place = os.path.abspath(entry)  # an empty one is the current directory
            if within(os.path.realpath(place), roots) or within(place, roots):
                raise PolicyError(
                    f"{name} names {place}, where the agent may write: the next hark would load what it left "
                    f"there. Start hark as env -u {name} hark run ..., and give the agent the variable with "
                    "[env] set"
                )


def _prefixes() -> tuple[str, ...]:
    return tuple(dict.fromkeys(os.path.realpath(prefix) for prefix in (sys.prefix, sys.base_prefix)))


def _folder_of(package: str) -> str:
    return os.path.dirname(os.path.realpath(str(sys.modules[package].__file__)))


def _home_of(package: str) -> str:
    return os.path.dirname(_folder_of(package))


def _mapped() -> list[str]:
    """List the files that this process has mapped: to change one in place is to change this process."""
    with open("/proc/self/maps", "rb") as file:
        paths = {os.fsdecode(line.split(None, 5)[5].rstrip(b"\n")) for line in file if line.count(b"/")}
    return sorted(path for path in paths if path.startswith("/") and os.path.isfile(path))
