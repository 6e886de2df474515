"""Text fields: valid UTF-8, bounded, and unambiguous where a raw field does not stand beside them."""

from mediator.text import MAX_NAME_SHOWN, as_text, clipped, label_text


def test_bytes_outside_utf8_are_escaped_and_the_rest_is_kept() -> None:
    assert as_text(b"caf\xc3\xa9 \xff") == "café \\xff"
    assert as_text("caf\udce9") == "caf\\xe9"


def test_whatever_comes_in_can_be_written_as_utf8() -> None:
    for byte in range(256):
        as_text(bytes((byte,)) * 3).encode("utf-8")


def test_long_text_is_cut_and_says_how_long_it_was() -> None:
    assert clipped(b"a" * MAX_NAME_SHOWN) == "a" * MAX_NAME_SHOWN
    assert clipped(b"a" * 5000) == "a" * MAX_NAME_SHOWN + "... (5000 in all)"


def test_two_labels_never_read_alike() -> None:
    assert label_text(b"api-1_x") == "api-1_x"
    assert label_text(b"a.b") == "a\\x2eb"
    assert label_text(b"a\\x2eb") == "a\\x5cx2eb"
    assert len({label_text(bytes((byte,))) for byte in range(256)}) == 256
