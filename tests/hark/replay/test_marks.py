"""Placeholders count by the name of their secret, wherever they stand."""

import base64
import itertools

from hark.replay.marks import Marks

ONE = Marks({"sk-hark111111": "KEY", "sk-hark111111-long": "LONG"})
OTHER = Marks({"sk-hark222222": "KEY"})


def basic(text):
    return ((b"authorization", b"Basic " + base64.b64encode(text)),)


def test_two_placeholders_of_one_secret_are_one():
    assert ONE.on(b"a sk-hark111111 b") == OTHER.on(b"a sk-hark222222 b")
    assert ONE.on(b"a sk-hark111111 b") != OTHER.on(b"a sk-hark333333 b")
    assert ONE.on(b"sk-hark111111-long") != ONE.on(b"sk-hark111111") + b"-long"


def test_no_text_is_taken_for_a_placeholder():
    text = b"\0secret KEY\0"
    assert ONE.on(text) != ONE.on(b"sk-hark111111")
    assert ONE.on(text) == OTHER.on(text)
    parts = [b"sk-hark111111", b"\0", text, b"secret KEY", b"x"]
    tuples = list(itertools.product(parts, repeat=3))
    assert len({ONE.on(b"".join(one)) for one in tuples}) == len({b"".join(one) for one in tuples})
    assert ONE.on_fields(basic(text)) != ONE.on_fields(basic(b"sk-hark111111"))


def test_a_placeholder_within_basic_authorisation_is_found():
    assert ONE.on_fields(basic(b"git:sk-hark111111")) == OTHER.on_fields(basic(b"git:sk-hark222222"))
    assert ONE.on_fields(basic(b"git:sk-hark111111")) != OTHER.on_fields(basic(b"gir:sk-hark222222"))
    assert ONE.on_fields(basic(b"git:x")) == basic(b"git:x")
    assert ONE.on_fields(((b"authorization", b"Basic !"),)) == ((b"authorization", b"Basic !"),)


def test_without_placeholders_nothing_changes():
    none = Marks({})
    assert none.on(b"sk-hark111111") == b"sk-hark111111"
    assert none.on_fields(basic(b"a")) == basic(b"a")
    assert Marks({"": "EMPTY"}).on(b"abc") == b"abc"
