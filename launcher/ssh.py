"""The host's ssh client settings, as files of the agent's own.

ssh obeys an included file only if it belongs to root or to whoever runs it, and root's files belong to nobody
the agent knows. So what any user of the host can read of /etc/ssh's client side is shown as a copy. Nothing
of the caller's ~/.ssh is looked at, and no host key.
"""

import glob
import os
import stat
from typing import Final

MAX_FILE: Final = 1 << 20  # bytes: a site's known hosts may be many, a configuration never is
MAX_FILES: Final = 64
_DIRECTORY: Final = "/etc/ssh"
_KNOWN: Final = ("ssh_known_hosts", "ssh_known_hosts2")


def client_files(directory: str = _DIRECTORY) -> dict[str, bytes]:
    """Return the configuration, what it includes, and the site's known hosts, each by its absolute path."""
    found: dict[str, bytes] = {}
    pending = [f"{directory}/ssh_config"]
    while pending and len(found) < MAX_FILES:
        path = pending.pop(0)
        content = None if path in found else _public(path)
        if content is None:
            continue
        found[path] = content
        pending += _included(content, directory)
    for name in _KNOWN:
        content = _public(f"{directory}/{name}")
        if content is not None:
            found[f"{directory}/{name}"] = content
    return found


def _included(content: bytes, directory: str) -> list[str]:
    """List the files of `Include` lines: patterns, relative to /etc/ssh, several on a line."""
    paths: list[str] = []
    for line in content.decode("utf-8", "replace").splitlines():
        words = line.replace("=", " ", 1).replace('"', " ").split()
        if words and words[0].lower() == "include":
            for pattern in words[1:]:
                if not pattern.startswith("~"):
                    paths += sorted(glob.glob(os.path.join(directory, pattern)))
    return paths


def _public(path: str) -> bytes | None:
    """The content of a regular file that everybody may read; None for anything else."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return None
    status = os.fstat(descriptor)
    if not stat.S_ISREG(status.st_mode) or not status.st_mode & stat.S_IROTH:
        os.close(descriptor)
        return None
    with open(descriptor, "rb") as file:
        content = file.read(MAX_FILE + 1)
    return content if len(content) <= MAX_FILE else None
