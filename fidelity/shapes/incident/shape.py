"""The demo: an agent that reads a briefing, asks a model, and does what an injection told it to."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from demo import stubs
from fidelity.shape import ROOT, Outcome, Served, Shape
from tests.e2e.rig import Desk

DEMO: Final = ROOT / "demo"
KEY: Final = "sk-demo-0123456789abcdef0123456789abcdef01234567"


@contextmanager
def serve(at: Desk) -> Iterator[Served]:
    """The demo's own servers."""
    folder = Path(at.project.parent)
    stubs.certify(folder)
    server, keys = stubs.serve(folder, (DEMO / "briefing.html").read_bytes())
    address = f"127.0.0.1:{server.server_address[1]}"
    names = (stubs.BRIEFING_HOST, stubs.MODEL_HOST)
    try:
        yield Served(dict.fromkeys(names, address), (folder / "stub.pem").read_bytes(), heard=keys)
    finally:
        server.shutdown()
        server.server_close()


def expect(run: Outcome) -> None:
    """It fell for it, was refused twice, and the key reached the model alone."""
    assert run.lines[0].startswith("agent: read 5")
    assert run.out.count("that did not work") == 2
    assert run.served.heard == [KEY]
    denied = [event["host"] for event in run.desk.events("EgressDecision") if not event["allowed"]]
    assert denied == ["203.0.113.9"]
    assert KEY.encode() not in run.desk.bundle.read_bytes()


SHAPE = Shape(
    about="reads, asks a model, is refused a name and an address",
    serve=serve,
    expect=expect,
    files={name: DEMO / name for name in ("agent.py", "policy.toml")},
    caller={"DEMO_MODEL_KEY": KEY},
    quick=True,
)
