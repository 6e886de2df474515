"""Paths in JSON: what names a place is read, and written again; what does not is refused in words."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hark.policy.jsonpath import EVERY_ITEM, EVERY_MEMBER, MAX_STEPS, PathError, read, written


@pytest.mark.parametrize(
    ("text", "steps"),
    [
        ("$", ()),
        ("$.metadata.trace", ("metadata", "trace")),
        ("$.messages[*].id", ("messages", EVERY_ITEM, "id")),
        ("$.messages[3].content", ("messages", 3, "content")),
        ('$["request id"]', ("request id",)),
        ("$['request id']", ("request id",)),
        (r'$["a\"b\u0041"]', ('a"bA',)),
        ("$.*.id", (EVERY_MEMBER, "id")),
        ("$.x-id", ("x-id",)),
    ],
)
def test_a_path_is_read(text, steps):
    assert read(text) == steps
    assert read(written(steps)) == steps


@pytest.mark.parametrize(
    "text",
    ["", "a", ".a", "$a", "$.", "$..a", "$[", "$[]", "$[01]", "$[-1]", "$[1:2]", "$[?(@.a)]", '$["a]', "$.a ",
     "$[a]", r'$["\x"]', "$.0"],
)  # fmt: skip
def test_what_is_no_path_is_refused_with_the_place(text):
    with pytest.raises(PathError, match=r"^(does not begin with \$|cannot be read at character \d+)"):
        read(text)


def test_a_path_has_a_bounded_number_of_steps():
    assert len(read("$" + ".a" * MAX_STEPS)) == MAX_STEPS
    with pytest.raises(PathError, match="more than 64 steps"):
        read("$" + ".a" * (MAX_STEPS + 1))


STEPS = st.lists(
    st.text(max_size=6) | st.integers(0, 999_999_999) | st.sampled_from([EVERY_ITEM, EVERY_MEMBER]),
    max_size=MAX_STEPS,
)


@given(STEPS)
def test_every_path_reads_as_it_was_written(steps):
    text = written(steps)
    assert text.isascii()
    assert text.isprintable()
    assert read(text) == tuple(steps)


@given(st.text(max_size=40))
def test_any_text_is_a_path_or_a_sentence(text):
    try:
        steps = read(text)
    except PathError:
        return
    assert read(written(steps)) == steps
