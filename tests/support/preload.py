"""The preload, built once for all tests of a process: each fresh state directory would have it built anew.

A build takes a second and a half of a quiet core, which is longer than most runs that tests make.
"""

import os
import tempfile
from collections.abc import Mapping
from functools import cache
from pathlib import Path

from hark.bundle.store import runs_directory
from hark.repeatable.shim_library import NoLibraryError, library


@cache
def built() -> tuple[str, bytes]:
    """The name it is kept under, and the library. Raises NoLibraryError."""
    with tempfile.TemporaryDirectory(prefix="hark-shim-") as folder:
        content = library({"XDG_STATE_HOME": folder}, [])
        (kept,) = Path(folder).glob("hark/shims/*.so")
        return kept.name, content


def ready() -> bool:
    """Build it if that can be; children that are forked afterwards have it from their parent."""
    try:
        return bool(built())
    except NoLibraryError:
        return False


def lay(environ: Mapping[str, str], uid: int, gid: int) -> None:
    """Put it where a run with this environment, by this user, looks for one that was built before.

    Where there is no compiler nothing is put, and the run says so itself.
    """
    if not ready():
        return
    name, content = built()
    shims = Path(runs_directory(environ)).parent / "shims"
    for folder in reversed([shims, *shims.parents]):
        if not folder.exists():
            folder.mkdir(mode=0o700)
            os.chown(folder, uid, gid)
    (shims / name).write_bytes(content)
    os.chown(shims / name, uid, gid)
