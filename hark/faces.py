"""Modules of which some names are there, and the rest is loaded by whoever asks for more.

Always: who asks for a name that is not there gets it from the module itself, which takes its place from then
on; what is there MUST be the module's own or do the same. A module that is loaded stays as it is.
"""

import sys
from collections.abc import Mapping, Sequence
from importlib import import_module
from types import ModuleType
from typing import Any


class Face(ModuleType):
    """Some names of a module that is not loaded."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):  # which nobody asks for but to look at modules
            raise AttributeError(name)
        return getattr(whole(self.__name__), name)


def whole(name: str) -> ModuleType:
    """Return a module itself."""
    if isinstance(sys.modules.get(name), Face):
        del sys.modules[name]
    return import_module(name)


def show(name: str, known: Mapping[str, Any], folders: Sequence[str] | None = None) -> None:
    """Put a face in the place of a module that is not loaded; `folders` are where a package's parts lie."""
    if name in sys.modules:
        return
    sys.modules[name] = face = Face(name)
    if folders is not None:
        face.__path__ = list(folders)
    vars(face).update(known)
