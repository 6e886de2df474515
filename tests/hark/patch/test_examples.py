"""The examples of docs/patch.md are patches, and do what stands beside them."""

from pathlib import Path

import pytest

from hark.errors import ForkError
from hark.patch.apply import Sent, patched_parts, patched_request
from hark.patch.model import parse_patch
from tests.hark.patch.rig import answer, body, head
from tests.support.docs import Block, blocks

ROOT = Path(__file__).resolve().parents[3]
BLOCKS = list(blocks(ROOT, ROOT / "docs" / "patch.md"))
PATCHES = [block for block in BLOCKS if block.info == ("json", "patch")]
REFUSED = [block for block in BLOCKS if block.info == ("json", "refused")]
TRIPLES = [
    trio
    for trio in zip(BLOCKS, BLOCKS[1:], BLOCKS[2:], strict=False)
    if [block.info for block in trio] == [("http", "before"), ("json", "patch"), ("http", "after")]
]


def message(block):
    """The first line, headers and body of an example."""
    top, _, rest = block.text.removesuffix("\n").partition("\n\n")
    first, *lines = top.split("\n")
    headers = tuple(
        (name.encode(), value.encode()) for name, _, value in (line.partition(": ") for line in lines)
    )
    return first, headers, rest.encode()


def made(before, patch):
    """What a patch makes of an example."""
    first, headers, text = message(before)
    one = parse_patch(patch.text.encode())
    if " " in first:
        method, _, path = first.partition(" ")
        sent = patched_request(one, Sent(method, "api.example", path, headers, text))
        return first, sent.headers, sent.body
    half = len(text) // 2
    parts = patched_parts(one, answer(text[:half], text[half:], headers=headers, status=int(first)))
    return str(head(parts).status), head(parts).headers, body(parts)


def place(block):
    return (block if isinstance(block, Block) else block[0]).where


@pytest.mark.parametrize("block", PATCHES, ids=place)
def test_an_example_is_a_patch(block):
    assert parse_patch(block.text.encode()).steps


@pytest.mark.parametrize("block", REFUSED, ids=place)
def test_an_example_of_none_is_refused(block):
    with pytest.raises(ForkError, match=block.where):
        parse_patch(block.text.encode(), block.where)


@pytest.mark.parametrize("trio", TRIPLES, ids=place)
def test_an_example_does_what_stands_beside_it(trio):
    before, patch, after = trio
    assert made(before, patch) == message(after)
    for _, headers, text in map(message, (before, after)):
        assert dict(headers).get(b"content-length", str(len(text)).encode()) == str(len(text)).encode()
    assert message(before) != message(after)


def test_every_example_is_of_a_kind():
    assert (len(PATCHES), len(REFUSED), len(TRIPLES)) == (5, 3, 4)
    assert len(BLOCKS) == len(PATCHES) + len(REFUSED) + 2 * len(TRIPLES)


def test_the_page_has_every_step_and_limit():
    from hark.patch.bodies import MAX_TEXT
    from hark.patch.model import KNOWN

    text = (ROOT / "docs" / "patch.md").read_text()
    assert [word for word in set(KNOWN.values()) if f'"{word}"' not in text and f"`{word}`" not in text] == []
    assert f"{MAX_TEXT >> 20} MiB" in text
