"""A text is found where somebody reads it, over all its pieces, and replaced so that JSON stays JSON."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hark.patch.edits import edited
from hark.patch.texts import Body, NotJsonAfterwards, replacements, replacing
from tests.hark.patch.rig import STREAMS, anthropic, heard, json_values, openai, said, sse, texts

JSON, EVENTS = "application/json", "text/event-stream"


def replaced(data, old, new, kind=JSON):
    found = replacements(Body(data, kind), old.encode(), new.encode())
    return edited(data, [edit for edits in found for edit in edits]), len(found)


def test_a_text_is_replaced_in_strings_and_other_bytes_stay():
    made, count = replaced(rb'{ "n": 1.0, "a": "say \"hi\"\n", "hi": ["hi", "hi"] }', "hi", 'a "b"')
    assert made == rb'{ "n": 1.0, "a": "say \"a \"b\"\"\n", "hi": ["a \"b\"", "a \"b\""] }'
    assert count == 3


def test_what_is_escaped_is_found():
    assert replaced(rb'["\u00fc\ud83d\ude00\n"]', "ü😀\n", "x")[0] == b'["x"]'


def test_json_in_a_string_stays_json():
    inner = json.dumps({"command": 'echo "hi"', "n": 1})
    made, _ = replaced(json.dumps({"arguments": inner}).encode(), 'echo "hi"', 'echo "bye"\n')
    assert json.loads(json.loads(made)["arguments"]) == {"command": 'echo "bye"\n', "n": 1}
    deeper = json.dumps([json.dumps([inner])])
    made, _ = replaced(deeper.encode(), '"hi"', "\\")
    assert json.loads(json.loads(json.loads(made)[0])[0])["command"] == "echo \\"


def test_json_in_a_string_is_text_too():
    inner = json.dumps({"command": "ls"})
    made, _ = replaced(json.dumps({"arguments": inner}).encode(), '"command": "ls"', '"other": 1')
    assert json.loads(json.loads(made)["arguments"]) == {"other": 1}


def test_words_of_a_protocol_change_only_with_their_quotation_marks():
    body = json.dumps({"messages": [{"role": "user", "content": "the user"}]}).encode()
    assert json.loads(replaced(body, "user", "x")[0])["messages"] == [{"role": "user", "content": "the x"}]
    body = json.dumps({"messages": [{"role": "user", "content": "a"}]}).encode()
    assert replaced(body, "user", "system") == (body, 0)
    assert json.loads(replaced(body, '"user"', '"system"')[0])["messages"][0]["role"] == "system"
    body = b'{"status": "active", "note": "active"}'
    assert replaced(body, "active", "x")[0] == b'{"status": "x", "note": "x"}'


def test_json_as_it_is_written_comes_last_and_stays_json():
    assert replaced(b'{"stream": true}', '"stream": true', '"stream": false')[0] == b'{"stream": false}'
    assert replaced(b'{"stream": true}', "true", "false") == (b'{"stream": true}', 0)
    assert replaced(b'{"stream": true}', "stream", "x") == (b'{"stream": true}', 0)
    with pytest.raises(NotJsonAfterwards, match="the body"):
        replaced(b'{"stream": true}', '"stream"', "")
    with pytest.raises(NotJsonAfterwards, match="event 1"):
        replaced(b'data: {}\n\ndata: {"a": 1}\n\n', '"a"', "x", EVENTS)


def test_a_body_that_is_not_what_its_type_says_is_text():
    assert replaced(b'{"a": "\xff hi"', "hi", 'a"b') == (b'{"a": "\xff a"b"', 1)
    assert replaced(b"<p>hi</p>", "hi", "", "text/html") == (b"<p></p>", 1)


@pytest.mark.parametrize("shape", STREAMS)
@given(
    st.lists(st.text("abc ", max_size=5), min_size=1, max_size=6),
    st.text("abc", min_size=1, max_size=4),
    texts,
)
def test_a_text_that_comes_in_pieces_is_replaced_across_them(shape, pieces, old, new):
    stream = sse(*STREAMS[shape](*pieces), named=shape != "openai")
    before = heard(stream)
    made, count = replaced(stream, old, new, EVENTS)
    after = heard(made)
    if old in said(before):
        assert said(after) == said(before).replace(old, new)
        assert len(after) == len(before)
        assert [event.get("type") for event in after] == [event.get("type") for event in before]
    else:
        assert said(after) == said(before)
    assert (count > 0) is (old in said(before))


def test_what_is_said_whole_after_its_pieces_changes_with_them():
    stream = sse(*STREAMS["responses"]("ign", "ore this", " now"))
    made = heard(replaced(stream, "ignore this", "do that", EVENTS)[0])
    assert made[-1]["response"]["output"][0]["content"][0]["text"] == "do that now"
    assert made[-2]["text"] == "do that now"
    assert said(made) == "do that now"


def test_a_tools_input_in_pieces_stays_json():
    inner = json.dumps({"command": 'curl "http://evil.example/"', "timeout": 5})
    pieces = [inner[at : at + 3] for at in range(0, len(inner), 3)]
    for stream in (anthropic(arguments=pieces), openai(arguments=pieces)):
        made = heard(replaced(sse(*stream), '"http://evil.example/"', '"\n"', EVENTS)[0])
        joined = "".join(
            event.get("delta", {}).get("partial_json", "") if "delta" in event else
            "".join(call["function"]["arguments"] for choice in event.get("choices", ())
                    for call in choice["delta"].get("tool_calls", ()))
            for event in made
        )  # fmt: skip
        assert json.loads(joined) == {"command": 'curl "\n"', "timeout": 5}


def test_other_streams_are_replaced_inside_of_data():
    stream = b": hi\nevent: hi\ndata: say hi\ndata: twice hi\n\ndata: [hi]\n\nid: hi\n\n"
    made, count = replaced(stream, "hi", "a\nb", EVENTS)
    assert made == (
        b": hi\nevent: hi\ndata: say a\ndata: b\ndata: twice a\ndata: b\n\ndata: [a\ndata: b]\n\nid: hi\n\n"
    )
    assert count == 3


def test_a_list_of_geminis_contents_is_one_text():
    body = json.dumps(list(STREAMS["gemini"]("one t", "wo three")), indent=1).encode()
    made = json.loads(replaced(body, "two", "2")[0])
    assert said(made) == "one 2 three"


@given(json_values, st.text('ab1{"', min_size=1, max_size=2), texts)
def test_json_stays_json_whatever_is_replaced(value, old, new):
    data = json.dumps([value]).encode()
    try:
        made, _ = replaced(data, old, new)
    except NotJsonAfterwards:
        return
    assert isinstance(json.loads(made), list)


@given(st.binary(max_size=100), st.sampled_from([JSON, EVENTS, "", "text/plain"]))
def test_any_bytes_of_any_type_are_a_body(data, kind):
    body = Body(data, kind)
    assert list(body.named()) or not data or body.documents or body.is_events
    assert edited(data, [edit for edits in replacements(body, b"a", b"b") for edit in edits]) is not None


def test_depth_is_bounded():
    text = '"hi"'
    for _ in range(6):
        text = json.dumps([text])
    assert replacing(text.encode(), b"hi", b"bye")
    assert json.loads(edited(text.encode(), replacing(text.encode(), b"hi", b"bye")))
