"""Runs every client inside hark and prints the table of docs/clients.md: `make .clients/.done`, then this.

A client that is not on this machine says so; one that fails makes the exit status 1.
"""

import os
import sys
import tempfile
from pathlib import Path

from tests.clients.kit import Client, Kit, kit_for
from tests.clients.run import CLIENTS, play, there, version, world
from tests.e2e.rig import desk
from tests.fakes.upstream import Upstream
from tests.support.user import ordinary_user


def outcome(client: Client, kit: Kit, server: Upstream) -> str:
    """`works`, or the exit code of what did not."""
    with tempfile.TemporaryDirectory(prefix="hark-clients-") as name:
        folder = Path(name)
        folder.chmod(0o755)
        with desk(kit.user, folder) as at:
            ended = play(client, kit, at, server)
            works = ended.returncode == 0 and client.says in ended.stdout and at.verdict()
            return "works" if works else f"FAILS with {ended.returncode}"


def main() -> int:
    """Print the table."""
    results = []
    print("| client | version | what decides its trust | in hark |")
    print("|---|---|---|---|")
    with (
        tempfile.TemporaryDirectory() as name,
        world(Path(name)) as server,
        ordinary_user() as user,
        kit_for(user) as kit,
    ):
        for client in CLIENTS:
            trust = f"`{client.trust}`" if client.trust.isupper() else client.trust
            result, number = "not on this machine", "-"
            if there(client, kit):
                result, number = outcome(client, kit, server), version(client, kit)
            results.append(result)
            print(f"| {client.name} | {number} | {trust} | {result} |", flush=True)
    return int(any(result.startswith("FAILS") for result in results))


if __name__ == "__main__":
    os.umask(0o022)
    sys.exit(main())
