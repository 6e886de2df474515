"""A needle is replaced however the stream is cut, before its last byte passes; nothing else is held up."""

import base64
import contextlib
import json
import quopri
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from mediator.encodings import Pair
from mediator.scan import HOLD_FROM, FoundError, StreamSwap, Table
from mediator.spelling import Place

SECRET, STAND_IN = b"sk-real-0123456789", b"sk-hark-abcdefghij"
TABLE = Table([Pair("KEY", SECRET, STAND_IN), Pair("OTHER", b"other-value", b"else-and-longer")])


def passed(pieces: list[bytes], table: Table = TABLE, **more: object) -> bytes:
    swap = StreamSwap(lambda: table, **more)  # type: ignore[arg-type]
    return b"".join(map(swap.feed, pieces)) + swap.finish()


def cut(stream: bytes, size: int) -> list[bytes]:
    return [stream[at : at + size] for at in range(0, len(stream), size)]


@pytest.mark.parametrize("size", range(1, len(SECRET) + 3))
@pytest.mark.parametrize(
    "form",
    [
        lambda text: text,
        lambda text: text.hex().encode(),
        lambda text: base64.b64encode(b"user:" + text + b"."),
        lambda text: base64.encodebytes(b"." * 50 + text + b"." * 50),
        lambda text: json.dumps(base64.encodebytes(b"." * 50 + text + b"." * 50).decode()).encode(),
        lambda text: b"".join(b"%%%02X" % char for char in text),
        lambda text: b"".join(b"\\u%04X" % char for char in text),
        lambda text: b"".join(b"&#x%02X;" % char for char in text),
        lambda text: text.decode().encode("utf-16-le"),
        lambda text: text.decode().encode("utf-32-be"),
    ],
    ids=[
        *("plain", "hex", "base64", "lines", "lines-in-json", "percent", "json", "entities"),
        *("utf-16", "utf-32"),
    ],
)
def test_a_needle_is_replaced_at_every_cut_spelled_as_it_was(form: object, size: int) -> None:
    spell = form
    stream = b"data: " + spell(SECRET) + b"\n\n"  # type: ignore[operator]
    assert passed(cut(stream, size)) == b"data: " + spell(STAND_IN) + b"\n\n"  # type: ignore[operator]


@pytest.mark.parametrize("coding", ["utf-16-le", "utf-16-be", "utf-32-le"])
def test_a_stand_in_of_another_length_leaves_a_wide_text_one(coding: str) -> None:
    texts = [f"before {word} behind".encode(coding) for word in ("other-value", "else-and-longer")]
    for size in (1, 7, 1000):
        assert passed(cut(texts[0], size)) == texts[1]


def wide(text: bytes, coding: str) -> bytes:
    return base64.b64encode(b"x" + text.decode().encode(coding))


RARE = {
    "base32": base64.b32encode,
    "base32-in-a-text": lambda text: base64.b32encode(b"key: " + text + b" and more"),
    "base32-lines": lambda text: b"\n".join(cut(base64.b32encode(b"key: " + text), 10)),
    "octal": lambda text: b"".join(b"\\%03o" % char for char in text),
    "octal-in-json": lambda text: json.dumps("".join(f"\\{char:03o}" for char in text)).encode(),
    "quoted-printable": lambda text: b"".join(b"=%02X" % char for char in text),
    "numbers": lambda text: json.dumps(list(text), indent=1).encode(),
    "colons": lambda text: text.hex(":").encode(),
    "upper-colons": lambda text: text.hex(":").upper().encode(),
    "dashes": lambda text: text.hex("-").upper().encode(),
    "powershell": lambda text: wide(text, "utf-16-le"),
    "base64-of-utf-16-be": lambda text: wide(text, "utf-16-be"),
}


def stopped(pieces: list[bytes], table: Table = TABLE) -> tuple[str, bytes]:
    """Return where a stream stopped, and what had passed by then."""
    swap, got = StreamSwap(lambda: table), b""
    try:
        for piece in pieces:
            got += swap.feed(piece)
    except FoundError as found:
        return found.name, got
    return "", got + swap.finish()


@pytest.mark.parametrize("size", [1, 2, 5, 17, 1000])
@pytest.mark.parametrize("form", RARE)
def test_a_rare_encoding_stops_the_stream_before_its_end_at_every_cut(form: str, size: int) -> None:
    name, got = stopped(cut(RARE[form](SECRET) + b" more", size))
    assert name == "KEY"
    assert len(got) <= len(RARE[form](b"key: ")), got
    other = RARE[form](SECRET[:-1] + b"X")  # the control: of another value it passes whole
    assert passed(cut(other, size)) == other


def words_of(text: bytes, at: int, kind: bytes, between: bytes) -> bytes:
    """Return two encoded words (RFC 2047)."""
    halves = (text[:at], text[at:])
    if kind == b"b":
        halves = (base64.b64encode(halves[0]), base64.b64encode(halves[1]))
    else:
        halves = (halves[0].replace(b"=", b"=3D"), halves[1].replace(b"=", b"=3D"))
    return between.join(b"=?utf-8?%s?%s?=" % (kind, half) for half in halves)


MAILED: list[Callable[[bytes], bytes]] = [
    quopri.encodestring,
    lambda text: quopri.encodestring(text).replace(b"\n", b"\r\n"),
    lambda text: json.dumps(quopri.encodestring(text).decode()).encode(),
    lambda text: json.dumps(quopri.encodestring(text).decode().replace("\n", "\r\n")).encode(),
    lambda text: words_of(text, 48, b"b", b"\r\n "),
    lambda text: words_of(text, 60, b"q", b" "),
]


@pytest.mark.parametrize("size", [1, 3, 20, 75, 76, 77, 78, 79, 80, 1000])
@pytest.mark.parametrize("mail", MAILED)
@pytest.mark.parametrize("before", [0, 10, 40])
@pytest.mark.parametrize("end", [b"", b"+/=a=="], ids=["", "signs"])
def test_a_value_that_mail_breaks_amid_stops_the_stream_before_its_end_at_every_cut(
    mail: Callable[[bytes], bytes], size: int, before: int, end: bytes
) -> None:
    value = b"github_pat_" + bytes(range(65, 91)) * 2 + b"0123456789" * 3 + end
    table = Table([Pair("key", value, value[:11] + b"hark" + b"x" * (len(value) - 15))])
    sent = mail(b"m" * before + value + b"\n")
    assert value not in sent
    name, got = stopped(cut(sent, size), table)
    assert name == "key"
    assert len(sent) - len(got) > 3
    other = mail(b"m" * before + value[:-1] + b"X\n")  # the control: of another value it passes whole
    assert passed(cut(other, size), table) == other


@pytest.mark.parametrize("size", [1, 2, 3, 5, 1000])
def test_a_value_whose_signs_mail_spells_stops_the_stream(size: int) -> None:
    table = Table([Pair("key", b"sk-real-0123456789+/a==", b"sk-hark-abcdefghij-x-b=")])
    for sent in (b"x sk-real-0123456789+/a=3D=3D y", b"sk-real-0123456789=2B=2Fa=3D=3D"):
        name, got = stopped(cut(sent, size), table)
        assert name == "key"
        assert b"=3D=3D" not in got
    other = b"sk-real-0123456789=2B=2Fa=3Dx=3D "  # the control
    assert passed(cut(other, size), table) == other


def test_a_value_in_the_other_case_stops_where_that_loses_nothing() -> None:
    hexadecimal = b"5e884898da280471-51d0e56f"
    table = Table([Pair("key", hexadecimal, b"hark" + b"Ab" * 10)])
    name, got = stopped(cut(b"ETAG: " + hexadecimal.upper(), 3), table)
    assert name == "key"
    assert not got.endswith(b"F")
    for value in (b"correct horse 1", b"Zq8vR2xW7tL5nB3mK9pD1fG4"):  # the control: words, and what is lost
        text = value.swapcase()
        assert passed([text], Table([Pair("key", value, b"hark" + b"Ab" * 10)])) == text


def test_the_control_the_end_of_base64_in_a_line_of_its_own_is_no_soft_break() -> None:
    value, stand_in = b"sk-real-0123456789abcdef0", b"sk-hark-zyxwvutsrqponmlkj"
    text = b"KEY=" + base64.b64encode(value) + b"\nNEXT=1\n"
    assert text.count(b"=\n")
    turned = text.replace(base64.b64encode(value), base64.b64encode(stand_in))
    assert passed([text], Table([Pair("key", value, stand_in)])) == turned


@pytest.mark.parametrize("end", [b"1", b"163", b"115,", b"73-", b"=73="])
def test_what_a_rare_encoding_begins_with_is_not_held_for_a_moment(end: bytes) -> None:
    assert StreamSwap(lambda: TABLE).feed(b"data: " + end + b"\n\n") == b"data: " + end + b"\n\n"


def test_a_rare_encoding_of_a_long_value_stops_before_its_end() -> None:
    value = b"eyJhbGciOiJSUzI1NiJ9." + SECRET * 9
    table = Table([Pair("TOKEN", value, b"other")])
    name, got = stopped(cut(base64.b32encode(value), 7), table)
    assert name == "TOKEN"
    assert len(value) * 8 / 5 - len(got) > 40


UNSEEN = {
    "base85": base64.b85encode(SECRET),
    "mixed case": "".join(c.upper() if n % 4 == 1 else c for n, c in enumerate(SECRET.hex())).encode(),
    "part of the value": SECRET[:-1],
    "backwards": SECRET[::-1],
}


@pytest.mark.parametrize("encoding", UNSEEN)
def test_the_limit_an_encoding_of_which_the_threat_model_says_so_is_not_seen(encoding: str) -> None:
    assert passed([UNSEEN[encoding]]) == UNSEEN[encoding]
    said = " ".join((Path(__file__).parents[2] / "docs/threat-model.md").read_text().split())
    assert encoding in said


def test_blanks_between_the_characters_stay_what_they_are() -> None:
    spaced, broken = (gap.join(SECRET.decode()).encode() for gap in (" ", "\n"))
    assert passed([spaced]) == " ".join(STAND_IN.decode()).encode()
    assert passed([broken]) == "\n".join(STAND_IN.decode()).encode()


def test_a_body_of_nothing_but_needles_is_replaced_whole() -> None:
    for gap in (b"", b" ", b"\0"):
        assert passed(cut(SECRET * 3000 + gap + SECRET, 1 << 12)) == STAND_IN * 3000 + gap + STAND_IN


@given(
    st.lists(
        st.sampled_from(
            [b"s", b"sk-", b"sk-real-", SECRET[:10], b"\n", b"xx", b"other-valu", b"e", b"\\", b"%"]
        ),
        max_size=12,
    )
)
def test_what_passes_is_the_stream_with_its_needles_replaced(pieces: list[bytes]) -> None:
    whole = passed([b"".join(pieces)])
    assert passed(pieces) == whole
    assert SECRET not in whole
    if not TABLE.name_in(b"".join(pieces)):
        assert whole == b"".join(pieces)


def test_a_piece_that_ends_in_no_beginning_passes_at_once() -> None:
    swap = StreamSwap(lambda: TABLE)
    assert swap.feed(b"data: one\n\n") == b"data: one\n\n"
    assert not swap.waiting


def test_a_beginning_that_is_likely_chance_says_so_and_can_be_let_go() -> None:
    swap = StreamSwap(lambda: TABLE)
    assert swap.feed(b"end: s") == b"end: "
    assert swap.waiting
    assert swap.release() == b"s"
    assert not swap.waiting
    assert swap.feed(b"k-really. ") == b"k-really. "


@pytest.mark.parametrize("end", [b"\n\n", b"\r\n\r\n"])
@pytest.mark.parametrize("word", [b"7", b"s", b"c2", b"sk-"])
def test_an_event_that_ends_in_such_a_beginning_passes_at_once(word: bytes, end: bytes) -> None:
    """7 begins the hexadecimal of `sk-`, and c2 its base64: one event in ten would come late."""
    for table in (TABLE, Table([Pair("KEY", SECRET, STAND_IN)], hidden=[STAND_IN])):
        for patient in (True, False):
            swap = StreamSwap(lambda table=table: table, patient=patient)
            event = b"data: " + word + end
            assert swap.feed(event) == event
            assert not swap.waiting
        assert StreamSwap(lambda table=table: table).feed(b"data: " + word) == b"data: "  # the control


def test_a_needle_that_goes_on_behind_an_event_is_still_seen() -> None:
    swap = StreamSwap(lambda: TABLE)
    assert swap.feed(b"data: o\n\n") == b"data: o\n\n"
    with pytest.raises(FoundError):
        swap.feed(b"ther-value")
    assert StreamSwap(lambda: TABLE).feed(b"data: other\n\n") == b"data: "  # no chance, so it is held


def test_a_needle_whose_beginning_was_let_go_is_still_replaced_where_that_began_alike() -> None:
    swap = StreamSwap(lambda: TABLE)
    first = swap.feed(SECRET[:2]) + swap.release()
    assert first + swap.feed(SECRET[2:]) + swap.finish() == STAND_IN


def test_a_needle_whose_beginning_was_let_go_stops_the_stream_otherwise() -> None:
    swap = StreamSwap(lambda: TABLE)
    assert swap.feed(b"ot") + swap.release() == b"ot"
    assert swap.feed(b"her-valu") == b""
    with pytest.raises(FoundError) as found:
        swap.feed(b"e")
    assert found.value.name == "OTHER"


def test_a_longer_beginning_is_held_until_it_turns_out_otherwise() -> None:
    swap = StreamSwap(lambda: TABLE)
    assert swap.feed(b"data: sk-real") == b"data: "
    assert not swap.waiting
    assert len("sk-real") >= HOLD_FROM
    assert swap.feed(b"ity.") == b"sk-reality."


def test_a_beginning_at_the_end_of_the_stream_is_no_needle() -> None:
    assert passed([b"sk-real-"]) == b"sk-real-"


def test_what_must_not_be_replaced_stops_the_stream_with_its_reason() -> None:
    table = Table([Pair("KEY", SECRET, STAND_IN, "it is not bound")])
    swap = StreamSwap(lambda: table)
    assert swap.feed(b"x" + SECRET[:-1]) == b""
    with pytest.raises(FoundError) as found:
        swap.feed(SECRET[-1:])
    assert (found.value.name, found.value.reason) == ("KEY", "it is not bound")


def test_a_stream_whose_length_must_not_change_stops_where_it_would() -> None:
    assert passed([SECRET], same_length=True) == STAND_IN
    with pytest.raises(FoundError):
        passed([b"other-value"], same_length=True)


def test_a_value_is_spelled_as_its_place_needs() -> None:
    table = Table([Pair("KEY", STAND_IN, b'a"b&c d/e')])
    assert passed([STAND_IN], table, place=Place.JSON) == b'a\\"b&c d/e'
    assert passed([STAND_IN], table, place=Place.FORM) == b"a%22b%26c%20d%2Fe"
    assert passed([STAND_IN], table, place=Place.XML) == b"a&quot;b&amp;c d/e"


def test_a_table_that_grows_while_the_stream_goes_on_is_looked_up_from_then_on() -> None:
    tables = [Table()]
    swap = StreamSwap(lambda: tables[-1])
    assert swap.feed(SECRET) == SECRET
    tables.append(TABLE)
    assert swap.feed(b" " + SECRET + b" ") == b" " + STAND_IN + b" "


def test_blanks_without_end_are_not_held_for_ever() -> None:
    swap = StreamSwap(lambda: TABLE)
    out = swap.feed(SECRET[:8]) + b"".join(swap.feed(b" " * 100_000) for _ in range(10))
    assert len(out) > 500_000


def test_an_empty_table_costs_nothing_and_holds_nothing() -> None:
    assert passed([SECRET], Table()) == SECRET


def test_each_needle_is_looked_for_once_in_each_stretch_however_many_stand_there() -> None:
    """A body of nothing but placeholders would else be searched to its end for each of them."""

    class Counted(bytes):
        read = 0

        def find(self, *args: object) -> int:
            at = super().find(*args)  # type: ignore[arg-type]
            Counted.read += (at if at >= 0 else len(self)) - (args[1] if len(args) > 1 else 0)  # type: ignore[operator]
            return at

    text = Counted(SECRET * 1000)
    hits, at, count = TABLE.hits(text), 0, 0
    while (hit := hits.first(at)) is not None:
        assert hit[0] == at
        at, count = hit[0] + len(hit[1].text), count + 1
    assert count == 1000
    assert Counted.read <= 48 * len(text)  # two pairs, and no more than 24 needles of each


@given(
    st.lists(st.sampled_from([SECRET, SECRET[:5], SECRET[5:], b"%", b"\\u00", SECRET.hex().encode(), b" x"]))
)
def test_a_whole_text_comes_out_as_in_one_piece_and_the_end(pieces: list[bytes]) -> None:
    text = b"".join(pieces)
    assert StreamSwap(lambda: TABLE).whole(text) == passed([text])


SHOWN = b"sk-ant-api03-hark-abcdefghijklmnop"
ONE, OTHER = b"sk-ant-api03-Zq8Rw2Lk5Vn1Xp7T_aBcD", b"sk-ant-api03-0sEcReT-fIvE-six7_eIgh"[:34]
BARE = (b"4f9aZq8Rw2Lk5Vn1", b"Xp7T0123456789ab", b"harkabcdefghijkl")
"""Two values and a placeholder that share no beginning."""
SILENCE = b""
"""In the place of a piece: nothing comes for long."""


def hiding(value: bytes, shown: bytes) -> Table:
    return Table([Pair("KEY", value, shown)], hidden=[shown])


def parts(*values: bytes) -> st.SearchStrategy[bytes]:
    spelled = [form for value in values for form in (value, value.hex().encode(), base64.b64encode(value))]
    cut_off = [text[at : at + size] for text in spelled for at in (0, 3) for size in (1, 3, 5, 13, 15, 22)]
    return st.sampled_from([*cut_off, SILENCE, b" ", b"\n", b"\n\n", b'"}', b"%", b"word", b"data: "])


@pytest.mark.attack
@pytest.mark.parametrize(("one", "other", "shown"), [(ONE, OTHER, SHOWN), BARE], ids=["known", "unknown"])
@pytest.mark.parametrize("patient", [True, False])
def test_what_is_held_does_not_tell_which_value_it_is(
    one: bytes, other: bytes, shown: bytes, patient: bool
) -> None:
    """An agent has a server of its own send guesses, and looks which of them come late."""
    tables = hiding(one, shown), hiding(other, shown)
    bare = [Table([Pair("KEY", value, shown)]) for value in (one, other)]
    told: list[bool] = []

    @given(st.lists(parts(one, other, shown), max_size=8))
    @example([b"data: " + one[:15], b" "])
    def alike(pieces: list[bytes]) -> None:
        whole = b"".join(pieces)
        if any(table.name_in(whole) for table in tables):
            return
        swaps = [StreamSwap(lambda table=table: table, patient=patient) for table in tables]
        plain = [StreamSwap(lambda table=table: table) for table in bare]
        for piece in pieces:
            passed_on = {
                (swap.after_silence() if piece == SILENCE else swap.feed(piece), swap.waiting)
                for swap in swaps
            }
            assert len(passed_on) == 1, passed_on
            told.append(len({swap.feed(piece) for swap in plain}) > 1)

    alike()
    assert any(told)  # the control: by the values themselves it would be told


@pytest.mark.attack
def test_of_a_value_with_a_known_beginning_nothing_passes_at_any_cut() -> None:
    table = hiding(ONE, SHOWN)
    for size in range(1, 40):
        for form in (ONE, ONE.hex().encode(), base64.b64encode(b"user:" + ONE)):
            text = b"data: " + form + b"."
            got = passed(cut(text, size), table)
            assert table.name_in(got) is None
            assert got != text
    swap = StreamSwap(lambda: table)
    assert swap.feed(b"word: sk-ant-api03-not") == b"word: "
    assert swap.feed(b"-the-value. Other words.") == b"sk-ant-api03-not-the-value. Other words."


@pytest.mark.attack
def test_of_a_value_without_one_words_wait_for_what_comes_next_but_not_behind_an_event() -> None:
    table = hiding(BARE[0], BARE[2])
    for size in range(1, 20):
        assert passed(cut(b"data: " + BARE[0] + b".", size), table) == b"data: " + BARE[2] + b"."
    swap = StreamSwap(lambda: table)
    assert swap.feed(b"data: hello\n\n") == b"data: hello\n\n"
    assert swap.feed(b"Hello: wor") == b"Hello: "
    assert swap.feed(b"ld. ") == b"world. "
    assert StreamSwap(lambda: table, patient=False).feed(b"220 ready\r\n") == b"220 ready\r\n"


@pytest.mark.attack
@pytest.mark.parametrize("step", [1, 2, 5, 7, 8, 11])
def test_by_silences_less_than_half_of_a_value_is_given_out_and_nothing_behind_a_known_beginning(
    step: int,
) -> None:
    for value, shown, most in ((ONE, SHOWN, HOLD_FROM), (BARE[0], BARE[2], len(BARE[0]) // 2)):
        table, got = hiding(value, shown), b""
        swap = StreamSwap(lambda table=table: table)
        for piece in cut(value[:-1], step):
            got += swap.feed(piece) + swap.after_silence()
        assert len(got) < most, got
        with contextlib.suppress(FoundError):  # what has passed of a beginning that is not the placeholder's
            assert got + swap.feed(value[-1:]) + swap.finish() == shown


@pytest.mark.parametrize(
    "text", [b"hello", b"twenty-four/characters\n", b"$ ", b"Enter it:", b"c2VjcmV0cw==\r\n"]
)
def test_the_control_after_a_silence_short_words_and_lines_are_given_out(text: bytes) -> None:
    swap = StreamSwap(lambda: hiding(BARE[0], BARE[2]))
    assert swap.feed(text) + swap.after_silence() == text


def test_half_a_value_that_mail_breaks_is_held_through_a_silence_and_waits_for_no_moment() -> None:
    swap = StreamSwap(lambda: hiding(BARE[0], BARE[2]))
    assert swap.feed(b"it is =?utf-8?Q?" + BARE[0][:10]) == b"it is =?utf-8?Q?"
    assert swap.feed(b"?=\r\n =?utf-8?Q?" + BARE[0][10:12]) == b""
    assert not swap.waiting  # the control: two characters alone would
    assert swap.after_silence() == b""


@pytest.mark.attack
@pytest.mark.parametrize("form", RARE)
def test_a_rare_encoding_of_a_hidden_value_stops_the_stream_before_its_end(form: str) -> None:
    for size in (1, 2, 5, 17, 1000):
        name, got = stopped(cut(RARE[form](SECRET) + b" more", size), hiding(SECRET, STAND_IN))
        assert name == "KEY"
        assert len(got) < len(RARE[form](SECRET)), got


@pytest.mark.attack
@pytest.mark.parametrize("size", [*range(1, 30), 1000])
def test_a_minted_token_that_overlaps_a_value_does_not_have_it_pass(size: int) -> None:
    """An agent has one minted that ends as the value begins, and has a server write them side by side."""
    for value, shown in ((SECRET, STAND_IN), (BARE[0], BARE[2])):
        tokens = [b'X-Key":"' + value[:count] for count in range(1, 5)]
        pairs = [Pair("KEY", value, shown), *(Pair("M", token, b"hark-" + token[:3]) for token in tokens)]
        table = Table(pairs, hidden=[pair.new for pair in pairs], minted=set(tokens))
        text = b'{"X-Key":"' + value + b'"}'
        got = passed(cut(text, size), table)
        assert value[4:] not in got, got
        assert got == b'{"X-Key":"' + shown + b'"}'
        alone = b"{" + tokens[-1] + b'"}'  # the control: by itself a token is turned
        assert passed(cut(alone, size), table) == b"{hark-X-K" + b'"}'


@pytest.mark.attack
@pytest.mark.parametrize("gap", [b" ", b"\n\n", b"\n", b"\t", b"\\n"])
def test_a_placeholder_in_pieces_is_refused_and_one_wrapped_into_lines_is_not(gap: bytes) -> None:
    """A server that gives it back so has its buffers divide the value where the agent wishes."""
    table = Table([Pair("KEY", STAND_IN, SECRET)])
    for form in (STAND_IN, STAND_IN.hex().encode(), base64.b64encode(STAND_IN * 2)):
        swap = StreamSwap(lambda: table, told=lambda *_: None)
        with pytest.raises(FoundError):
            swap.whole(gap.join(form[at : at + 1] for at in range(len(form))) + b".")
    wrapped = base64.encodebytes(b"." * 50 + STAND_IN + b"." * 50)
    swap = StreamSwap(lambda: table, told=lambda *_: None)
    assert base64.b64decode(swap.whole(wrapped)) == b"." * 50 + SECRET + b"." * 50


@pytest.mark.attack
@pytest.mark.parametrize("value", [b"9f8a7c6b5d4e3f2a", b"abcdefgh12345678", b"harp5678harp5678"])
def test_a_beginning_that_was_sent_early_is_refused_whatever_the_value_begins_with(value: bytes) -> None:
    table = Table([Pair("KEY", BARE[2], value)])
    for form in (BARE[2], BARE[2].hex().encode(), base64.b64encode(BARE[2])):
        swap = StreamSwap(lambda: table, told=lambda *_: None)
        swap.feed(form[:1])
        swap.release()
        with pytest.raises(FoundError):
            swap.feed(form[1:] + b". ")


def test_a_number_of_a_character_is_as_long_whatever_the_character_is() -> None:
    table = Table([Pair("KEY", BARE[2], BARE[0])])
    text = b"".join(b"&#%03d;" % char for char in BARE[2])
    assert passed([text], table) == b"".join(b"&#%03d;" % char for char in BARE[0])
    assert len(passed([text.replace(b"&#0", b"&#")], table)) == len(BARE[0]) * 6
