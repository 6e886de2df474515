"""Placeholders pass for the real thing and are nothing like it; values that hide in traffic are refused."""

import base64
import json
import random
import string

import pytest

from hark.errors import PolicyError
from hark.policy.model import Secret
from mediator.placeholders import check_guess, check_placeholder, check_value, placeholder_for

VALUE = "sk-ant-api03-5e884898da28047151d0e56f8dc62927"
OTHER_VALUE = "ghp_0123456789abcdefABCDEF0123456789abcd"


@pytest.mark.parametrize(
    ("value", "prefix"),
    [
        (VALUE, "sk-ant-api03-"),
        ("sk-abcdefghijklmnopqrstuvwxyz", "sk-"),
        (OTHER_VALUE, "ghp_"),
        ("AIzaSyA1234567890abcdefghijklmnopqrst", "AIza"),
        ("xoxb-123456789012-abcdefghijkl", "xoxb-"),
        ("SG.abcdefghijklmnopqrstuv.0123456789", "SG."),
        ("123456789:AAabcdefghijklmnopqrstuvwxyz0123456", "123456789:"),
        ("github_pat_11ABCDEFG0123456789abcdef", "github_pat_"),
        ("1//0gAbCdEfGhIjKlMnOpQrStUvWxYz", "1//"),
        ("sk-or-v1-0123456789abcdef0123456789abcdef", "sk-or-v1-"),
        ("sk-proj-abcdefghijklmnopqrstuvwxyz", "sk-proj-"),
        ("glpat-abcdefghijklmnopqrst", "glpat-"),
        ("acme_0123456789abcdefABCDEF0123456789abcd", "acme_"),
        ("0123456789abcdef0123456789abcdef", ""),
        ("a1b2c3d4-e5f6-4a7b-8c9d-0e1f2a3b4c5d", ""),
        ("correct-horse-battery-staple", ""),
        ("Ab3xK-9fQ_zz-kLmN0pQrS-tUvWxYz012345", ""),
        ("correct horse battery staple", ""),
    ],
)
def test_a_placeholder_keeps_the_prefix_that_programs_check_and_nothing_else(value: str, prefix: str) -> None:
    placeholder = placeholder_for(value, random.Random(1))
    assert placeholder.startswith(prefix + "hark")
    assert len(placeholder) >= len(prefix) + 4 + 24
    assert len(placeholder) == max(len(value), len(prefix) + 28)
    rest = value[len(prefix) :]
    assert not any(rest[at : at + 4] in placeholder[len(prefix) + 4 :] for at in range(len(rest) - 3))


def test_of_a_random_token_next_to_nothing_is_kept() -> None:
    """Tokens of base64 that fits into URLs have dashes and underscores where chance puts them."""
    rng, alphabet = random.Random(7), string.ascii_letters + string.digits + "-_"
    values = ["".join(rng.choice(alphabet) for _ in range(43)) for _ in range(20_000)]
    kept = [len(placeholder_for(value, rng).partition("hark")[0]) for value in values]
    assert max(kept) <= 8
    assert sum(map(bool, kept)) < len(values) / 50
    hexadecimal = ["".join(rng.choice("0123456789abcdef-") for _ in range(43)) for _ in range(5_000)]
    assert max(len(placeholder_for(value, rng).partition("hark")[0]) for value in hexadecimal) <= 8


def test_no_two_placeholders_are_alike() -> None:
    assert len({placeholder_for(VALUE) for _ in range(1000)}) == 1000


@pytest.mark.parametrize(
    "value",
    [
        "a",
        "1234567",
        "aaaaaaaaaaaa",
        "12121212",
        "",
        "line\nbreak-0123",
        "x" * 70000,
        "back\\slash01",
        "percent-01%",
        "percent-01%4",
    ],
)
def test_a_value_that_cannot_be_told_from_traffic_is_refused_in_words_without_it(value: str) -> None:
    with pytest.raises(PolicyError, match=r"secrets\.API_KEY") as refused:
        check_value("API_KEY", value)
    assert len(value) < 3 or value not in str(refused.value)


def test_the_control_a_real_credential_is_accepted() -> None:
    for value in (VALUE, OTHER_VALUE, "s3cr3t!pw", "p%40ss&word"):
        check_value("API_KEY", value)


@pytest.mark.parametrize(
    "value",
    ["password", "Password1!", "12345678", "1234567890123", "changeme123", "application/json", "127.0.0.1:80",
     "localhost:8080", "abcdefghijkl", "deadbeef", "2026-11-30", "postgres", "hunter22",
     "hunter2hunter", "Summer2026!", "P4ssw0rd!2026", "Winter-2026-Test", "admin:Password1",
     "passwordpassword", "my-secret-key-1"],
)  # fmt: skip
def test_a_value_that_is_easily_guessed_is_refused_in_words_without_it(value: str) -> None:
    check_value("API_KEY", value)
    with pytest.raises(PolicyError, match=r"secrets\.API_KEY is easily guessed") as refused:
        check_guess("API_KEY", value)
    assert value not in str(refused.value)


def test_the_control_what_a_program_made_up_is_no_guess() -> None:
    rng = random.Random(11)
    alphabets = ("0123456789abcdef", string.ascii_letters + string.digits + "-_")
    by_chance = ("".join(rng.choices(alphabet, k=16)) for alphabet in alphabets for _ in range(500))
    known = (
        "s3cr3t!pw",
        "p%40ss&word",
        "k3j9x0qa",
        "4829105736284910",
        "token-8374928374982734",
        "correct horse",
        "summers-2026-x",
        "passwordpasswore",
    )
    for value in (VALUE, OTHER_VALUE, *known, *by_chance):
        check_guess("API_KEY", value)


def test_overlapping_placeholders_are_refused() -> None:
    with pytest.raises(PolicyError, match=r"secrets\.B and secrets\.A overlap"):
        check_placeholder(Secret("B", OTHER_VALUE, "p" * 31, ()), {b"p" * 30: "A"})
    with pytest.raises(PolicyError, match="no placeholder"):
        check_placeholder(Secret("B", OTHER_VALUE, OTHER_VALUE + "x", ()), {})


def test_a_web_token_keeps_its_claims_and_gets_another_signature() -> None:
    def part(value: object) -> str:
        return base64.urlsafe_b64encode(json.dumps(value).encode()).decode().rstrip("=")

    head = f"{part({'alg': 'RS256', 'typ': 'JWT'})}.{part({'exp': 1, 'email': 'a@example.test'})}."
    value = head + "s1gnature" * 30
    placeholder = placeholder_for(value)
    assert placeholder.startswith(head + "hark")
    assert len(placeholder) == len(value)
    assert "s1gnature" not in placeholder
    assert not placeholder_for("eyJhbGciOiJSUzI1NiIs" + value.replace(".", "")).startswith(head[:30])


def test_a_value_whose_beginning_nests_without_end_is_no_web_token_and_no_bug() -> None:
    head = base64.urlsafe_b64encode(b'{"a":' + b"[" * 100_000).decode().rstrip("=")
    value = f"{head}.eyJhIjoxfQ.{'s1gnature' * 5}"
    assert len(placeholder_for(value)) == len(value)
