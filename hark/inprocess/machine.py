"""Programs that say something of the machine and reach nothing: Python's own libraries and SDKs start them.

Always: what is started under such a name is the machine's own file, found as it was found before the test,
and nothing in its environment has other code loaded into it than before the test.
"""

import os
import shutil
from collections.abc import Mapping
from typing import Any, Final

NAMES: Final = frozenset(("uname", "lsb_release", "ldconfig"))
"""What platform and ctypes.util ask, and distro."""
_PLACES: Final = ("/bin", "/usr/bin", "/sbin", "/usr/sbin")
_LOADING: Final = ("LD_", "GCONV_", "GLIBC_", "PYTHON", "BASH_", "PERL")
"""Variables that begin so have code loaded by ld.so, libc, or an interpreter of a script."""
_SHELLS: Final = "ENV"


class Machine:
    """This machine as it was when it was made."""

    def __init__(self, environ: Mapping[str, str]) -> None:
        self._loading = _loading(environ)
        found = [shutil.which(name, path=environ.get("PATH", os.defpath)) for name in NAMES]
        found += [f"{place}/{name}" for place in _PLACES for name in NAMES]
        self._files = {os.path.realpath(path) for path in found if path is not None and os.path.isabs(path)}

    def has(self, program: str, environ: Mapping[Any, Any]) -> bool:
        """Tell whether a program that is about to be started with this environment is one of these."""
        if os.path.basename(program) not in NAMES or _loading(environ) != self._loading:
            return False
        path = program if os.path.dirname(program) else _found(program, environ)
        return path is not None and os.path.isabs(path) and os.path.realpath(path) in self._files


def _found(name: str, environ: Mapping[Any, Any]) -> str | None:
    """Return where a name is found, as the start of a program looks for it."""
    places = os.get_exec_path({os.fsdecode(key): os.fsdecode(value) for key, value in environ.items()})
    for place in map(os.fsdecode, places):
        path = os.path.join(place, name)
        if not os.path.isabs(path) or os.access(path, os.X_OK):
            return path
    return None


def _loading(environ: Mapping[Any, Any]) -> dict[str, str]:
    plain = {os.fsdecode(key): os.fsdecode(value) for key, value in environ.items()}
    return {key: value for key, value in plain.items() if key.startswith(_LOADING) or key == _SHELLS}
