"""A server that unpacks what it gets and packs what it sends."""

import gzip
import json
import zlib

from fidelity.serving import routes
from fidelity.shape import Outcome, Shape
from tests.fakes.upstream import Call


def packed(call: Call) -> None:
    """Unpack, count, pack."""
    text = json.loads(gzip.decompress(call.body))["text"]
    body = gzip.compress(json.dumps({"length": len(text), "fill": "y" * 3000}).encode())
    call.reply(200, body, [("Content-Encoding", "gzip"), ("Content-Type", "application/json")])


def deflated(call: Call) -> None:
    """Pack the other way."""
    call.reply(200, zlib.compress(f"{len(call.body)} bytes".encode()), [("Content-Encoding", "deflate")])


def expect(run: Outcome) -> None:
    """Both sides could read each other."""
    assert '{"length": 3200' in run.lines[0]
    assert run.lines[1] == f"{len(run.served.bodies('/deflated')[0])} bytes"


SHAPE = Shape(
    about="gzip in both directions, deflate",
    serve=routes({"/packed": packed, "/deflated": deflated}),
    expect=expect,
    quick=True,
)
