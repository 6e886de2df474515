"""A small tree of everything that a project may hold, and a run's collection of it."""

import os
import socket
import stat
from pathlib import Path
from typing import Any

from hark.policy.model import SnapshotRules
from hark.snapshot.collect import Collected, collect
from hark.snapshot.names import spelled
from hark.snapshot.stored import Stored, events_of, put_together


def made(root: Path) -> Path:
    """Fill `root`."""
    (root / "src").mkdir()
    (root / "src/a.py").write_text("print(1)\n")
    (root / "src/tool").write_text("#!/bin/sh\n")
    (root / "src/tool").chmod(0o750)
    os.link(root / "src/a.py", root / "src/same.py")
    (root / "link").symlink_to("src/a.py")
    (root / "dangling").symlink_to("/nowhere/at/all")
    (root / "empty").mkdir(mode=0o700)
    (Path(os.fsdecode(os.fsencode(root) + b"/odd\xff\\name"))).write_bytes(b"\xff\x00")
    os.utime(root / "src/a.py", ns=(1_000_000_007, 1_000_000_007))
    (root / ".gitignore").write_text("*.log\nnode_modules/\n")
    (root / "x.log").write_text("noise")
    (root / "node_modules").mkdir()
    (root / "node_modules/big.js").write_text("x")
    (root / ".env").write_text("SECRET=1")
    os.mkfifo(root / "pipe")
    with socket.socket(socket.AF_UNIX) as bound:
        bound.bind(str(root / "socket"))
    return root


def collected(root: Path, most: int = 1 << 20, **options: Any) -> Collected:
    """Collect it as a run does that masks `.env`."""
    rules = SnapshotRules(most, options.pop("exclude", ()))
    return collect(str(root), rules, {b".env"}, options.pop("search", None), **options)


def stored(root: Path, **options: Any) -> Stored:
    """The same by way of a bundle's events."""
    return put_together(events_of(collected(root, **options), "/p"), "/p")


def facts(root: Path) -> dict[str, tuple[int, int, bytes]]:
    """Every path below `root` with mode, mtime (not of folders) and content."""
    found = {}
    for folder, folders, names in os.walk(os.fsencode(root)):
        for name in (*folders, *names):
            path = os.path.join(folder, name)
            status = os.lstat(path)
            if os.path.islink(path):
                content = os.readlink(path)
            else:
                content = Path(os.fsdecode(path)).read_bytes() if stat.S_ISREG(status.st_mode) else b""
            key = spelled(path[len(os.fsencode(root)) + 1 :])
            found[key] = status.st_mode, status.st_mtime_ns, content
    return found
