"""Runs every client inside hark and prints the table of docs/clients.md: `make .clients/.done`, then this.

A client that is not on this machine says so; one that fails makes the exit status 1.
"""

import os
import sys
import tempfile
from pathlib import Path

from tests.clients.kit import Client, Kit, kit_for
from tests.clients.run import CLIENTS, World, play, there, version, world
from tests.e2e.conftest import root_like
from tests.e2e.rig import desk
from tests.support.user import ordinary_user


def outcome(client: Client, kit: Kit, server: World) -> str:
    """`works`, or the exit code of what did not, or that it is not there."""
    if not there(client, kit):
        return "not on this machine"
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
    with (
        tempfile.TemporaryDirectory() as name,
        world(Path(name)) as server,
        ordinary_user() as user,
        kit_for(user) as kit,
    ):
        kits = {"ordinary user": kit}
        if os.geteuid() == 0:
            kits["root"] = Kit(root_like(user), kit.folder)
        print(f"| client | version | what decides its trust | {' | '.join(kits)} |")
        print(f"|---|---|---|{'---|' * len(kits)}")
        for client in CLIENTS:
            trust = f"`{client.trust}`" if client.trust.isupper() else client.trust
            tried = [outcome(client, one, server) for one in kits.values()]
            number = next((version(client, one) for one in kits.values() if there(client, one)), "-")
            results += tried
            print(f"| {client.name} | {number} | {trust} | {' | '.join(tried)} |", flush=True)
    return int(any(result.startswith("FAILS") for result in results))


if __name__ == "__main__":
    os.umask(0o022)
    sys.exit(main())
