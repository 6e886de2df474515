"""The signed entry timestamp of Rekor version 1: the log's promise that it took an entry in, and when.

What always holds: the bytes that were signed are made anew from the entry (RFC 8785, which for these four
fields is JSON without blanks and with names in order).
"""

from hark.anchor import jsonform
from hark.anchor.entry import Entry


def signed_bytes(entry: Entry) -> bytes:
    """Return what the log signs."""
    return jsonform.dump(
        {
            "body": jsonform.base64(entry.body),
            "integratedTime": entry.time,
            "logID": entry.log_id.hex(),
            "logIndex": entry.number,
        }
    )
