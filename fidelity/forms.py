"""For shapes that upload forms: a server that takes them apart, and what must be seen."""

import email.parser
import email.policy
import hashlib

from fidelity.serving import say
from fidelity.shape import Outcome
from tests.fakes.upstream import Call


def upload(call: Call) -> None:
    """Answer with name, size and hash of each part."""
    say(
        call,
        [
            [name, len(data), hashlib.sha256(data).hexdigest()]
            for name, data in parts(call.headers["Content-Type"], call.body)
        ],
    )


def parts(content_type: str, body: bytes) -> list[tuple[str, bytes]]:
    """The parts of a form, by name."""
    head = f"Content-Type: {content_type}\r\n\r\n".encode()
    message = email.parser.BytesParser(policy=email.policy.HTTP).parsebytes(head + body)
    found = []
    for part in message.iter_parts():
        name = part.get_param("name", header="content-disposition")
        data = part.get_payload(decode=True)
        found.append((str(name), data if isinstance(data, bytes) else b""))
    return found


def forms(run: Outcome, turns: int) -> None:
    """Make sure that so many forms came, whole, each with a boundary of its own."""
    seen = [one for one in run.served.seen if one.path == "/upload"]
    assert len(seen) == turns
    assert len({one.header("Content-Type") for one in seen}) == turns
    for turn, one in enumerate(seen):
        got = dict(parts(one.header("Content-Type") or "", one.body))
        assert got == {"turn": str(turn).encode(), "first": b"a" * 1000, "second": bytes(range(256))}
    assert len(run.lines) == turns
