"""Where a run's record is kept while it is written, where it goes when sealed, and whose key seals it.

What would fail when the run is over is found out here, before it starts. No record is made here; a signing
key is, where the caller has none yet.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from hark.anchoring.making import Anchoring
    from hark.bundle.tree_head import SigningKey


@dataclass(frozen=True, slots=True)
class Place:
    """One run's: its id, the file that is written, the one asked for with `-o`, and the key."""

    run_id: str
    path: str
    output: str | None
    key: SigningKey
    anchor: Anchoring | None = None
    """What is to be done with the signed tree head, once it is sealed."""


def find_place(
    output: str | None,
    key_file: str | None,
    environ: Mapping[str, str],
    say: Callable[[str], None],
    anchor: Anchoring | None = None,
) -> Place:
    """Settle key and paths. Raises PolicyError or UsageError; says so if a key had to be made."""
    from hark import ids, keys
    from hark.bundle import store
    from hark.bundle.deliver import check_destination

    if key_file is not None:
        key = keys.load_private(key_file)
    else:
        key, made = keys.user_key(environ)
        if made:
            where = keys.user_key_path(environ)
            say(f"made your signing key {keys.name(key.public_key)}; hand out {where}.pub to check bundles")
    run_id = ids.ulid(time.time_ns(), os.urandom(ids.RANDOM_BYTES))
    output = None if output is None else os.path.abspath(output)
    if output is not None:
        check_destination(output)
    path = store.run_path(store.ensure_runs_directory(environ), run_id)
    return Place(run_id, path, output, key, anchor)
