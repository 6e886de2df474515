"""The forms in which a credential may come back or leak: plain, base64, hex, percent, JSON-escaped. Pure.

Not done here: compressed and encrypted forms (gzip is unpacked by whoever scans a response body).
"""

import base64
import json
from typing import Final
from urllib.parse import quote, quote_plus

_ESCAPED_SLASH: Final = "\\/"


def forms_of(value: str) -> frozenset[bytes]:
    """Return every byte string that gives `value` away when it stands in a stream.

    Base64 depends on where the value begins in its input: the three alignments, each without the characters
    that its neighbours share, in both alphabets.
    """
    raw = value.encode()
    forms = {raw} | wrapped_forms_of(value)
    forms |= {quote(value, safe="").encode(), quote_plus(value, safe="").encode(), quote(value).encode()}
    forms |= {_percent_all(raw, "%{:02x}"), _percent_all(raw, "%{:02X}")}
    quoted = json.dumps(value)[1:-1]
    forms |= {quoted.encode(), quoted.replace("/", _ESCAPED_SLASH).encode()}
    forms |= {json.dumps(value, ensure_ascii=False)[1:-1].encode()}
    return frozenset(forms)


def wrapped_forms_of(value: str) -> frozenset[bytes]:
    """Return the forms that programs break into lines: what is looked for where blanks were taken out."""
    raw = value.encode()
    forms = {raw.hex().encode(), raw.hex().upper().encode()}
    for offset in range(3):
        forms |= _base64_at(raw, offset)
    return frozenset(forms)


def _percent_all(raw: bytes, form: str) -> bytes:
    return "".join(form.format(byte) for byte in raw).encode()


def _base64_at(raw: bytes, offset: int) -> set[bytes]:
    """Return the base64 of `raw` behind `offset` other bytes, without what those and later bytes change."""
    padded = b"\0" * offset + raw
    whole = len(padded) * 8 // 6  # characters that depend on no byte behind the value
    first = (offset * 8 + 5) // 6  # nor on one before it
    standard = base64.b64encode(padded)[first:whole]
    return {standard, standard.translate(bytes.maketrans(b"+/", b"-_"))}
