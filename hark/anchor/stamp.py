"""Time stamps (RFC 3161) over the signature of an anchor.

What always holds: a stamp counts only with an authority of the trust root, whose very certificate signed it,
with a SHA-2 hash of this signature, at a time that lies in the authority's period. The CMS is
`rfc3161-client`'s to read.
"""

from typing import Any, Final

from hark.anchor.jsonform import MalformedError
from hark.anchor.trusted_root import Authority

MAX_STAMP: Final = 64 << 10  # one with its certificates has 2 kB


class UnknownClockError(Exception):
    """The stamp is of an authority that the trust root does not name."""


def time_of(stamp: bytes, message: bytes, clocks: tuple[Authority, ...]) -> tuple[int, str]:
    """Return the Unix time of a stamp over `message`, and the name of whose it is.

    Raises MalformedError, or UnknownClockError.
    """
    response = _decoded(stamp)
    words = ""
    for clock in clocks:
        why = _refusal(response, message, clock)
        if why is None:
            return int(response.tst_info.gen_time.timestamp()), clock.name
        words = words or why
    if not words:
        raise UnknownClockError
    raise MalformedError(words)


def _decoded(stamp: bytes) -> Any:
    from rfc3161_client import decode_timestamp_response

    if len(stamp) > MAX_STAMP:
        raise MalformedError(f"the time stamp is larger than {MAX_STAMP} bytes")
    try:
        response = decode_timestamp_response(stamp)
        response.tst_info.gen_time.timestamp()
    except Exception as error:  # noqa: BLE001 - hostile DER, and the library has no root of its own errors
        raise MalformedError(f"the time stamp cannot be read ({type(error).__name__})") from None
    return response


def _refusal(response: Any, message: bytes, clock: Authority) -> str | None:
    """Say why the stamp is not this authority's over `message`; None where it is, empty where another's."""
    from cryptography.x509 import load_der_x509_certificate
    from rfc3161_client import VerifierBuilder

    try:
        leaf, *others = [load_der_x509_certificate(der) for der in clock.chain]
        signers = {(one.issuer, one.serial_number) for one in response.signed_data.signer_infos}
        if (leaf.issuer, leaf.serial_number) not in signers:
            return ""
        builder = VerifierBuilder().tsa_certificate(leaf)
        for certificate in others[:-1]:
            builder = builder.add_intermediate_certificate(certificate)
        builder.add_root_certificate((others or [leaf])[-1]).build().verify_message(response, message)
    except Exception as error:  # noqa: BLE001 - as above: whatever it is, the stamp is not good
        return f"the time stamp is not good: {str(error) or type(error).__name__}"
    if not clock.period.has(int(response.tst_info.gen_time.timestamp())):
        return "the time stamp was made when the trust root did not yet, or no more, believe its authority"
    return None
