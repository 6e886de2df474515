"""Two runs have one digest exactly where their streams have the same actions."""

from hypothesis import given
from hypothesis import strategies as st

from hark.replay import digest
from hark.replay.actions import Action, Streams, actions
from tests.hark.replay.run import frames, run

PARTS = st.lists(st.tuples(st.text(max_size=2), st.binary(max_size=2)), max_size=2).map(tuple)
STREAMS = st.dictionaries(st.text(max_size=2), st.lists(PARTS, min_size=1, max_size=3), max_size=3)


def streams(found):
    return Streams(
        {name: [Action(name, 0, 0, parts) for parts in each] for name, each in found.items()}, None
    )


@given(STREAMS, STREAMS)
def test_digests_are_equal_exactly_where_streams_are(one, other):
    assert (digest.of_run(streams(one)) == digest.of_run(streams(other))) is (one == other)


@given(STREAMS)
def test_the_order_of_streams_and_where_they_stood_do_not_count(found):
    shuffled = streams(dict(reversed(found.items())))
    for each in shuffled.actions.values():
        each[:] = [action._replace(seq=9, exchange=9) for action in each]
    assert digest.of_run(shuffled) == digest.of_run(streams(found))


def test_a_run_has_the_digest_that_it_had():
    assert (
        digest.of_run(actions(frames(run()))).hex()
        == "1087aef21c28e44e5e7062d83b9e3ca30884abda30b90e80242a7f8881ad2d2e"
    )
