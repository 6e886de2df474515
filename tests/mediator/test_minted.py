"""What may mint a token is understood, or does not pass: whoever asks chooses the format."""

import json

import pytest

from mediator.codings import PackedError
from mediator.minted import values_at, values_in
from mediator.spelling import Place

TOKEN = "ya29.real-0123456789-abcdefghij"
FIELDS = ("access_token", "accessToken", "token")


def values(body: bytes, place: Place = Place.JSON) -> set[str]:
    return {value for _, value in values_in(body, place, FIELDS)}


@pytest.mark.parametrize(
    "body",
    [
        {"access_token": TOKEN},
        {"Access_Token": TOKEN},
        {"AccessToken": TOKEN},
        {"access-token": TOKEN},
        {"access_token": [TOKEN]},
        {"access_token": {"value": TOKEN, "more": [{"deep": TOKEN}]}},
        [[{"a": {"token": TOKEN}}]],
        {"data": json.dumps({"token": TOKEN})},
    ],
)
def test_every_text_below_a_name_is_found_however_the_name_is_spelled(body: object) -> None:
    assert TOKEN in values(json.dumps(body).encode())


@pytest.mark.parametrize(
    "body",
    [
        f"\ufeff{json.dumps({'token': TOKEN})}",
        f"access_token={TOKEN}&x=y",
        f"/**/call({json.dumps({'token': TOKEN})});",
        f")]}}'\n{json.dumps({'token': TOKEN})}",
        f"data: {json.dumps({'token': TOKEN})}\n\n",
        f"<a><token>{TOKEN}</token></a>",
        f"<a><x:Token k='1'><value>{TOKEN}</value></x:Token></a>",
        f"<a><token>{TOKEN[:9]}<![CDATA[{TOKEN[9:]}]]></token></a>",
        f"<a><token>&#x79;&#97;{TOKEN[2:]}</token></a>",
        f"<a token='{TOKEN}'/>",
        f'<a\n access_token = "{TOKEN}"></a>',
        f"<script>x = {json.dumps({'token': TOKEN})}</script>",
    ],
)
def test_tokens_are_found_in_forms_scripts_and_xml(body: str) -> None:
    assert TOKEN in values(body.encode(), Place.PLAIN)


@pytest.mark.parametrize(
    "body",
    [
        json.dumps({"token": TOKEN}).encode("utf-16"),
        json.dumps({"token": TOKEN}).encode("utf-16-le"),
        json.dumps({"token": TOKEN}).encode("utf-32"),
        json.dumps({"token": TOKEN}).encode("cp037"),
        f"+AHsAIg-token+ACIAOgAi-{TOKEN}+ACIAfQ-".encode(),
        b"\x0a" + bytes((len(TOKEN),)) + TOKEN.encode(),
        b"\xa1\x65token\x78" + bytes((len(TOKEN),)) + TOKEN.encode(),
        b"\x81\xa5token\xbf" + TOKEN.encode(),
        f"access_token: {TOKEN}\n".encode(),
        f"---\ntoken:\n  - {TOKEN}\n".encode(),
        f"token: {{value: {TOKEN}}}\n".encode(),
        f"token = {TOKEN}".encode(),
        TOKEN.encode(),
        f'{{"token": "{TOKEN}"}}\n{{"token": "{TOKEN}"}}'.encode(),
        f"{{'token': '{TOKEN}'}}".encode(),
        f"<a><token>{TOKEN}</a>".encode(),
    ],
)
def test_what_is_not_understood_is_refused(body: bytes) -> None:
    with pytest.raises(PackedError, match="a token may be minted in it, and "):
        values(body, Place.PLAIN)


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"\n",
        b"Not Found",
        b"upstream error: try again later {retry}",
        b"<!DOCTYPE html><html><p class='x'>no</p></html>",
        b'{"error": "invalid_grant"}',
        b"error=bad",
    ],
)
def test_an_answer_that_mints_nothing_passes(body: bytes) -> None:
    assert values(body, Place.PLAIN) == set()


def test_many_starts_without_an_end_are_read_in_linear_time() -> None:
    with pytest.raises(PackedError):
        values(b"<token>" * 140_000)
    assert values(b"<token a></token>" * 60_000) == set()


@pytest.mark.parametrize(
    "address", ["https://a/cb?x=1&access_token=T", "/cb#token=T&y", "https://a/#/cb?token=T"]
)
def test_tokens_in_an_address_are_found(address: str) -> None:
    assert set(values_at(address.encode(), FIELDS)) & {("access_token", "T"), ("token", "T")}


def test_an_address_that_cannot_be_read_is_refused() -> None:
    with pytest.raises(PackedError):
        list(values_at(b"https://[a/", FIELDS))


DEEP = 3000  # three times as deep as calls may nest, and less than the reader of JSON takes
HOPELESS = 100_000  # more than that


@pytest.mark.parametrize("depth", [201, DEEP, HOPELESS])
@pytest.mark.parametrize(("opened", "closed"), [("[", "]"), ('{"a":', "}"), ('{"token":', "}")])
@pytest.mark.parametrize("around", ["{}", 'cb({}, "a-name-of-twenty-and-more");', '{{"x":{}}}'])
def test_what_nests_deeper_than_anybody_reads_is_refused_and_no_bug(
    around: str, opened: str, closed: str, depth: int
) -> None:
    body = around.format(opened * depth + f'"{TOKEN}"' + closed * depth)
    with pytest.raises(PackedError, match=r"nests more than 200 deep|no JSON that hark could read"):
        values(body.encode())


@pytest.mark.parametrize("depth", [DEEP, HOPELESS])
def test_so_is_a_text_in_it_that_nests_so_deep(depth: int) -> None:
    with pytest.raises(PackedError, match="nests more than 200 deep"):
        values(json.dumps({"x": "[" * depth + "]" * depth}).encode())


def test_the_control_a_token_ninety_deep_is_found() -> None:
    assert TOKEN in values(b'{"a":[' * 90 + json.dumps({"token": TOKEN}).encode() + b"]}" * 90)
