"""Requests that differ by identifiers alone get the recorded answer under their own, if asked for."""

from hark.bundle.events import LlmResponseEnd
from hark.replay.live import Miss
from hark.replay.pieces import Data, End, Head, Part
from hark.replay.renamed import Renaming
from hark.replay.renames import Renames, renamed
from hark.replay.score import Score
from tests.hark.replay.test_recorded import asked, end, frames, piece

WAS, NOW = b"5e884898da280471", b"1b4f0e9851971998"


def score_of(*, renames: Renames | None) -> Score:
    return Score(
        frames(
            asked("/a", body=b'{"id": "%s"}' % WAS),
            piece(b"you are %s" % WAS[:5]),
            piece(WAS[5:] + b"!", 1),
            end(),
            asked("/b", body=b'{"id": "%s", "n": 1}' % WAS, exchange=2),
            piece(b"yes", exchange=2),
            end(exchange=2),
        ),
        renames=renames,
    )


def test_an_identifier_across_a_border_is_renamed_in_the_same_pieces() -> None:
    renames = Renames()
    score = score_of(renames=renames)
    assert score.observe(asked("/a", body=b'{"id": "%s"}' % NOW, exchange=9)) is None
    live = score.of(9)
    assert live is not None
    assert live.recorded is not None
    data = [part.piece.data for part in live.recorded.parts if isinstance(part.piece, Data)]
    assert data == [b"you are " + NOW[:5], NOW[5:] + b"!"]
    assert renames.renaming.pairs == {WAS.decode(): NOW.decode()}


def test_one_identifier_stands_for_one_and_anything_else_that_differs_is_a_miss() -> None:
    score = score_of(renames=Renames())
    assert score.observe(asked("/a", body=b'{"id": "%s"}' % NOW, exchange=9)) is None
    score.observe(LlmResponseEnd(exchange=9))
    third = b"60303ae22b998861"
    assert isinstance(score.observe(asked("/b", body=b'{"id": "%s", "n": 1}' % third, exchange=10)), Miss)
    assert isinstance(score.observe(asked("/b", body=b'{"id": "%s", "n": 2}' % NOW, exchange=11)), Miss)
    assert score.observe(asked("/b", body=b'{"id": "%s", "n": 1}' % NOW, exchange=12)) is None


def test_nothing_is_renamed_unless_it_was_asked_for() -> None:
    score = score_of(renames=None)
    assert isinstance(score.observe(asked("/a", body=b'{"id": "%s"}' % NOW, exchange=9)), Miss)


def test_headers_are_renamed_and_a_packed_body_is_not() -> None:
    renaming = Renaming().taking({WAS: NOW})
    assert renaming is not None
    for coding, expected in ((b"gzip", WAS), (b"identity", NOW)):
        head = Head(200, ((b"X-Id", WAS), (b"Content-Encoding", coding)), ends=False)
        parts = [Part(1, 1, head), Part(2, 2, Data(WAS)), Part(3, 3, End())]
        first, second, last = renamed(parts, renaming)
        assert isinstance(first.piece, Head)
        assert first.piece.headers[0] == (b"X-Id", NOW)
        assert (second.piece, last) == (Data(expected), parts[2])
