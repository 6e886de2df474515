"""Pages that change with each request, so that a cache that missed would be seen."""

import itertools

from fidelity.serving import built, echo
from fidelity.shape import Outcome, Shape
from tests.fakes.upstream import Call, Upstream


def build(server: Upstream) -> None:
    """Serve pages that count."""
    count = itertools.count(1)

    def page(call: Call) -> None:
        call.reply(200, f"{call.path} number {next(count)}".encode())

    for name in ("a", "b", "c"):
        server.on(f"/page/{name}")(page)
    server.on("/done")(echo)


def expect(run: Outcome) -> None:
    """Each page was asked for once."""
    assert [line.split()[0] for line in run.lines[:6]] == ["miss", "miss", "hit", "hit", "hit", "miss"]
    assert [one.path for one in run.served.seen] == ["/page/a", "/page/b", "/page/c", "/done"]


SHAPE = Shape(about="a cache on disk: miss, then hit", serve=built(build), expect=expect, quick=True)
