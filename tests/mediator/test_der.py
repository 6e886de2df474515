"""DER as it is written: against what X.690 gives as examples, and against what another writer makes."""

from datetime import UTC, datetime, timedelta, timezone

import pytest
from cryptography import x509

from mediator import der


@pytest.mark.parametrize(
    ("value", "written"),
    [(0, "020100"), (1, "020101"), (127, "02017f"), (128, "02020080"), (256, "02020100")],
)
def test_an_integer_that_begins_with_a_set_bit_gets_a_byte_more(value: int, written: str) -> None:
    assert der.integer(value).hex() == written


@pytest.mark.parametrize(("size", "head"), [(0, "0400"), (127, "047f"), (128, "048180"), (256, "04820100")])
def test_a_length_is_as_short_as_it_can_be(size: int, head: str) -> None:
    assert der.element(der.Tag.OCTET_STRING, bytes(size)).hex() == head + "00" * size


@pytest.mark.parametrize(
    ("dotted", "written"),
    [("2.5.29.19", "0603551d13"), ("1.2.840.10045.4.3.2", "06082a8648ce3d040302"), ("2.999.3", "0603883703")],
)
def test_the_numbers_of_an_identifier_are_in_septets(dotted: str, written: str) -> None:
    assert der.identifier(dotted).hex() == written


def test_bits_say_how_many_of_them_are_unused() -> None:
    assert der.bits(b"\x06", unused=1).hex() == "03020106"


@pytest.mark.parametrize(
    ("when", "written"),
    [
        (datetime(1970, 1, 1, tzinfo=UTC), b"\x17\x0d700101000000Z"),
        (datetime(2049, 12, 31, 23, 59, 59, 999_999, tzinfo=UTC), b"\x17\x0d491231235959Z"),
        (datetime(2050, 1, 1, tzinfo=UTC), b"\x18\x0f20500101000000Z"),
        (datetime(2026, 1, 1, 1, tzinfo=timezone(timedelta(hours=2))), b"\x17\x0d251231230000Z"),
    ],
)
def test_a_time_has_four_digits_of_its_year_from_2050_on(when: datetime, written: bytes) -> None:
    assert der.time(when) == written


def test_a_sequence_is_read_by_another() -> None:
    usage = x509.KeyUsage(
        digital_signature=False,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        key_cert_sign=True,
        crl_sign=True,
        encipher_only=False,
        decipher_only=False,
    )
    assert x509.BasicConstraints(ca=True, path_length=0).public_bytes() == der.sequence(
        der.TRUE, der.integer(0)
    )
    assert usage.public_bytes() == der.bits(b"\x06", unused=1)
