"""Events as the HTML standard has them, and edits of their data."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hark.patch.edits import Edit, edited
from hark.patch.events import events


@pytest.mark.parametrize(
    ("stream", "data"),
    [
        (b"data: one\n\ndata: two\n\n", [b"one", b"two"]),
        (b"data:one\r\n\r\ndata:  two\r\n\r\n", [b"one", b" two"]),
        (b"data: one\rdata: two\r\r", [b"one\ntwo"]),
        (b": comment\n\nevent: x\n\nevent: y\nid: 1\ndata: z\n\n", [b"z"]),
        (b"\xef\xbb\xbfdata: one\n\n", [b"one"]),
        (b"data\n\ndata\ndata\n\n", [b"", b"\n"]),
        (b"data: cut off", [b"cut off"]),
        (b"datax: no\ndat: no\n data: no\n\n", []),
        (b"", []),
        (b"\n\n\n", []),
    ],
)
def test_events_are_found_in_a_stream(stream, data):
    found = list(events(stream))
    assert [event.data for event in found] == data
    assert [event.number for event in found] == list(range(len(data)))


@given(
    st.lists(st.text("ab\n", max_size=6), min_size=1, max_size=3),
    st.sampled_from([b"\n", b"\r\n"]),
    st.data(),
)
def test_an_edit_of_data_is_one_of_the_stream(texts, ended, data):
    stream = b"".join(
        b"".join(b"data: " + line + ended for line in text.encode().split(b"\n")) + ended for text in texts
    )
    found = list(events(stream))
    assert [event.data for event in found] == [text.encode() for text in texts]
    event = found[data.draw(st.integers(0, len(found) - 1))]
    start, end = sorted(data.draw(st.integers(0, len(event.data))) for _ in range(2))
    new = data.draw(st.text("xy\n", max_size=4)).encode()
    made = [one.data for one in events(edited(stream, [event.raw(Edit(start, end, new), stream)]))]
    want = [one.data for one in found]
    want[event.number] = event.data[:start] + new + event.data[end:]
    assert made == want


def test_what_is_put_in_cannot_end_its_event():
    (event,) = events(b"data: one\n\n")
    made = edited(b"data: one\n\n", [event.raw(Edit(0, 3, b"a\r\n\r\nevent: b\rc"), b"data: one\n\n")])
    assert made == b"data: a\ndata: \ndata: event: b\ndata: c\n\n"


@given(st.binary(max_size=80))
def test_any_bytes_are_a_stream(stream):
    for event in events(stream):
        assert event.data == b"\n".join(stream[line.start : line.end] for line in event.lines)
