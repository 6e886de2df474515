"""A reply put together from pieces."""

from hark.conversation.values import Growing, ToolCall, placeholder


def test_pieces_at_one_place_are_one_text_and_one_call() -> None:
    growing = Growing()
    assert growing.turn() is None
    for place, piece in ((0, "He"), (2, "Bye"), (0, "llo")):
        growing.text(place, piece)
    growing.call(1, "id", "name", "{")
    growing.call(1, "other", "", "}")
    turn = growing.turn()
    assert turn is not None
    assert (turn.text, turn.calls) == ("Hello\n\nBye", (ToolCall("id", "name", "{}"),))
    growing.replace_arguments(1, "[]")
    assert growing.turn().calls[0].arguments == "[]"  # type: ignore[union-attr]


def test_a_part_that_is_no_text_has_words() -> None:
    assert placeholder({"type": "image"}) == "[image]"
    assert placeholder({}) == "[part without a type]"
