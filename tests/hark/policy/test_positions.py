"""Positions agree with tomllib, whichever way a document is written."""

import tomllib

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from hark.policy.positions import Path, Place, index, nearest, twice

KEYS = st.text(min_size=1, max_size=5) | st.sampled_from(
    ["a", "b-c", "1", "a.b", '"', "'", "#", "[x]", "é", "="]
)
STRINGS = st.text(max_size=8) | st.sampled_from(['"""', "'''", "#", "]", "}", ",", '\\"', "a\nb", '""'])
SCALARS = st.integers(-9, 9) | st.booleans() | STRINGS | st.just(1.5)
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=3),
    max_leaves=8,
)
DOCUMENTS = st.dictionaries(KEYS, VALUES, max_size=5)


def quoted(text: str) -> str:
    return '"' + "".join(c if c.isprintable() and c not in '"\\' else f"\\U{ord(c):08x}" for c in text) + '"'


class Writer:
    """Writes a document as TOML, choosing among the ways there are."""

    def __init__(self, data: st.DataObject) -> None:
        self.draw = data.draw

    def key(self, name: str) -> str:
        bare = name.isascii() and all(c.isalnum() or c in "-_" for c in name)
        return name if bare and self.draw(st.booleans()) else quoted(name)

    def string(self, text: str) -> str:
        plain = all(c.isprintable() or c == "\n" for c in text)
        ways = [quoted(text)]
        if plain and "'" not in text:
            ways.append(f"'''\n{text}'''")
            ways += [] if "\n" in text else [f"'{text}'"]
        if plain and "\\" not in text and '"""' not in text:
            ways.append(f'"""\n{text}"""')
        return self.draw(st.sampled_from(ways))

    def space(self) -> str:
        return self.draw(st.sampled_from(["", " ", "\n", "  # ] , } \n", "\r\n\t"]))

    def value(self, value: object) -> str:
        match value:
            case dict():
                pairs = (f" {self.key(name)} = {self.value(item)} " for name, item in value.items())
                return "{" + ",".join(pairs) + "}"
            case list():
                items = [f"{self.space()}{self.value(item)}{self.space()}" for item in value]
                return f"[{self.space()}{','.join(items)}{self.space()}]"
            case str():
                return self.string(value)
            case bool():
                return str(value).lower()
            case _:
                return repr(value)

    def table(self, table: dict[str, object], above: tuple[str, ...]) -> str:
        lines, below = [], []
        for name, item in table.items():
            path = (*above, self.key(name))
            if isinstance(item, dict) and self.draw(st.booleans()):
                below.append(f" [ {' . '.join(path)} ] # [x]\n" + self.table(item, path))
            elif isinstance(item, list) and item and all(isinstance(one, dict) for one in item):
                below += [f"[[{'.'.join(path)}]]\n" + self.table(one, path) for one in item]
            elif isinstance(item, dict) and item and self.draw(st.booleans()):
                lines += [f"{path[-1]} . {self.key(key)} = {self.value(one)}" for key, one in item.items()]
            else:
                lines.append(f"{path[-1]} = {self.value(item)}{self.draw(st.sampled_from(['', ' # = [']))}")
        return "".join(f"{line}\n" for line in lines) + "".join(below)


def paths(value: object, path: Path = ()) -> set[Path]:
    entries = (
        value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    )
    return {path}.union(*(paths(item, (*path, key)) for key, item in entries))


@given(st.data(), DOCUMENTS)
def test_every_key_and_item_that_tomllib_sees_has_a_place_and_nothing_else_has(data, document):
    text = Writer(data).table(document, ())
    parsed = tomllib.loads(text)
    assert parsed == document
    assert set(index(text)) | {()} == paths(parsed)


@given(st.data(), DOCUMENTS)
def test_at_the_place_of_a_key_that_key_stands(data, document):
    text = Writer(data).table(document, ()).replace("\r\n", "\n")
    lines = text.split("\n")
    for path, place in index(text).items():
        if isinstance(path[-1], str):
            rest = lines[place.line - 1][place.column - 1 :]
            assert rest.startswith((path[-1], quoted(path[-1])))


@given(st.data(), st.lists(VALUES, min_size=1, max_size=4))
def test_at_the_place_of_a_list_item_that_value_stands(data, items):
    text = ("k = " + Writer(data).value(items) + "\n").replace("\r\n", "\n")
    lines = text.split("\n")
    places = [index(text)["k", number] for number in range(len(items))]
    starts = [sum(len(line) + 1 for line in lines[: at.line - 1]) + at.column - 1 for at in places]
    for start, end, item in zip(starts, [*starts[1:], len(text)], items, strict=True):
        cut = text[start:end]
        candidates = (cut[:stop] for stop in range(len(cut), 0, -1))
        assert any(reads_as(candidate, item) for candidate in candidates)


def reads_as(text: str, item: object) -> bool:
    try:
        return tomllib.loads(f"k = {text}") == {"k": item}
    except tomllib.TOMLDecodeError:
        return False


@given(st.text(max_size=60))
@example('"\x08"')
@example('"\\q" = 1')
def test_no_text_makes_it_raise(text):
    index(text)


@pytest.mark.parametrize("behind", ["", '"\x08" = 1', '"\\q" = 1', "'x"])
def test_what_stands_twice_is_found_whatever_stands_behind_it(behind):
    found = twice(f"a = 1\na = 2\n{behind}")
    assert found is not None
    assert found[1] == Place(2, 1)


@pytest.mark.parametrize(
    ("text", "path", "place"),
    [
        ("a = 1\nb = 2", ("b",), Place(2, 1)),
        ("# é\n[x]\n  'b' = 2", ("x", "b"), Place(3, 3)),
        ("a = [\n  1,\n  2]", ("a", 1), Place(3, 3)),
        ("[a.b]\nk = 1\n[a]\nj = 2", ("a",), Place(1, 2)),
        ("[[t]]\nk = 1\n[[t]]\nk = 2", ("t", 1, "k"), Place(4, 1)),
        ("[[t]]\n[t.u]\nk = 1\n[[t]]\n[t.u]\nk = 2", ("t", 1, "u", "k"), Place(6, 1)),
        ('a = """x\n"""""\nb = 1', ("b",), Place(3, 1)),
        ("a = 2030-01-01 10:00:00Z # t\nb = 1", ("b",), Place(2, 1)),
    ],
)
def test_a_place_is_where_an_editor_shows_it(text, path, place):
    assert index(text)[path] == place


def test_what_has_no_place_has_that_of_what_it_is_in():
    places = index("[x]\nk = 1")
    assert nearest(places, ("x", "missing", 3)) == places["x",]
    assert nearest(places, ("y",)) is None
