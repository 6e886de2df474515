"""Every client works inside hark, for an ordinary user and for root, and why it trusts the run is known."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.clients.kit import FETCHED, ROOT, Client, Kit, kit_for
from tests.clients.run import CLIENTS, World, play, there, world
from tests.e2e.conftest import at, rootless, who
from tests.e2e.rig import Desk, ok
from tests.support.user import User

__all__ = ["at", "rootless", "who"]  # fixtures

pytestmark = [pytest.mark.clients, pytest.mark.timeout(180)]


@pytest.fixture(scope="session")
def fetched(unprivileged: User) -> Iterator[Kit]:
    if not (FETCHED / ".done").exists():
        pytest.fail("the clients are not fetched: make .clients/.done")
    with kit_for(unprivileged) as kit:
        yield kit


@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    with world(tmp_path_factory.mktemp("world")) as upstream:
        yield upstream


def kit_of(desk: Desk, fetched: Kit, client: Client) -> Kit:
    kit = Kit(desk.user, FETCHED if os.geteuid() == desk.user.uid else fetched.folder)
    if not there(client, kit):
        pytest.skip(f"{client.name} is not on this machine for {desk.user.env['USER']}")
    return kit


@pytest.mark.parametrize("client", CLIENTS, ids=lambda client: client.name)
def test_a_client_does_its_work_and_its_credential_stays_out_of_the_record(
    client: Client, at: Desk, fetched: Kit, server: World
):
    ended = ok(play(client, kit_of(at, fetched, client), at, server))
    assert client.says in ended.stdout, ended.stderr
    assert at.verdict().startswith("VERIFIED")
    assert {event["host"] for event in at.events("LlmRequest")} == set(client.hosts)
    if client.name == "mcp":
        assert [event["tool"] for event in at.events("ToolCallRequest", "ToolCallResult")] == ["echo", "echo"]
    record = at.bundle.read_bytes()
    for name, value in client.caller.items():
        assert value.encode() not in record, name
        assert value not in ended.stdout + ended.stderr, name


ADDING = ("JAVA_TOOL_OPTIONS", "NODE_EXTRA_CA_CERTS")
DECIDED = [client for client in CLIENTS if client.trust.isupper()]


@pytest.mark.parametrize("client", DECIDED, ids=lambda client: client.name)
def test_trust_is_decided_by(client: Client, rootless: Desk, fetched: Kit, server: World, tmp_path: Path):
    """The control: with that variable naming other roots, the client refuses the run's certificate."""
    kit = kit_of(rootless, fetched, client)
    other = rootless.write("other-roots.pem", server.ca_pem)
    value = "" if client.trust in ADDING else str(other)
    ended = play(client, kit, rootless, server, **{client.trust: value})
    assert client.says not in ended.stdout
    assert rootless.events("LlmRequest") == []
    assert "handshake" in ended.stderr or "does not trust" in ended.stderr, ended.stderr


def test_the_page_on_clients_names_every_one():
    rows = (ROOT / "docs" / "clients.md").read_text().splitlines()
    named = [row.split(" | ")[0].removeprefix("| ") for row in rows if row.startswith("| ")]
    assert named[1:] == [client.name for client in CLIENTS]
