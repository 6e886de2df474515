"""What both halves of an exchange share: what is held is let go, and what is open gets its end recorded."""

from mitmproxy.connection import Client
from mitmproxy.proxy.context import Context

from hark.bundle.events import LlmRequest, LlmResponseEnd
from mediator.exchange import Exchange
from tests.fakes.recorder import ListRecorder
from tests.mediator.rig import link_to
from tests.mediator.test_outgoing import request


def stream() -> Exchange:
    client = Client(peername=("10.0.0.1", 1), sockname=("10.0.0.2", 443), timestamp_start=0.0)
    return Exchange(Context(client, None), 1, link_to())  # type: ignore[arg-type]


def recorder(of: Exchange) -> ListRecorder:
    kept = of.link.ledger._recorder
    assert isinstance(kept, ListRecorder)
    return kept


def test_letting_go_gives_the_room_back_and_records_one_end() -> None:
    one = stream()
    left = one.link.room.left
    one._asked = request()
    assert one._held.expect(1000)
    one._record_request(b"", streamed=True)
    one.let_go("the run ended")
    one.let_go("again")
    assert one.link.room.left == left
    assert len(recorder(one).of(LlmRequest)) == 1
    assert [end.error for end in recorder(one).of(LlmResponseEnd)] == ["the run ended"]


def test_letting_go_of_what_was_never_asked_records_nothing() -> None:
    one = stream()
    one.let_go("the run ended")
    assert recorder(one).events == []
    assert (one.upstream, one.backlog) == (None, 0)
