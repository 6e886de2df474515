"""Taking payloads out of a copy of a sealed bundle, so that everything else in it still verifies.

What always holds: of a redacted frame kind, seq, time, chain value and leaf stay, only the payload goes;
the footer lists the events under key 32; root, final chain value and signature are those of the original.
RunStart and Seal stay: they hold what covers the header and the times. The copy is new, mode 0600, and
removed again if writing fails.

Not done here: verifying the original. A caller that has not done so redacts something it knows nothing about.
"""

import os
from collections.abc import Iterable, Iterator

from hark.bundle import frame
from hark.bundle.bounds import RUN_START, SEAL, kind_name
from hark.bundle.header import Footer, decode_footer, encode_footer
from hark.bundle.walk import AT_FOOTER, BundleFile
from hark.errors import BundleError, TruncatedError, UsageError


def redact(source: str, seqs: Iterable[int], destination: str) -> tuple[int, ...]:
    """Write the copy without the payloads of the events `seqs`; returns all that are redacted in it now."""
    wanted = set(seqs)
    with BundleFile(source) as file:
        footer = _footer(file, wanted)
        redacted = tuple(sorted(wanted | set(footer.redacted)))
        try:
            fd = os.open(destination, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        except OSError as error:
            raise UsageError(f"cannot create {destination}: {error.strerror}") from None
        try:
            with os.fdopen(fd, "wb") as out:
                for part in _parts(file, wanted, footer._replace(redacted=redacted)):
                    out.write(part)
                out.flush()
                os.fsync(out.fileno())
        except OSError as error:
            os.unlink(destination)
            raise UsageError(f"cannot write {destination}: {error.strerror}") from None
        except BaseException:
            os.unlink(destination)
            raise
    return redacted


def _footer(file: BundleFile, wanted: set[int]) -> Footer:
    """The footer of a sealed bundle that has the events, and may lose them."""
    walk, seen = file.walk(), 0
    for chunk in walk:
        for seq in sorted(seq for seq in wanted if seen <= seq < seen + len(chunk.starts)):
            kind = chunk.heads[seq - seen][1]
            if (seq == 0 and kind == RUN_START) or kind == SEAL:
                raise UsageError(
                    f"event {seq} is {kind_name(kind)}: it covers the rest and cannot be redacted"
                )
        seen += len(chunk.starts)
    if walk.end != AT_FOOTER or (data := file.footer_block(walk.at)) is None:
        raise TruncatedError(
            f"{file.path} is not sealed: nobody committed to what is in it, so nothing is redacted"
        )
    if beyond := {seq for seq in wanted if not 0 <= seq < seen}:
        raise UsageError(f"there is no event {min(beyond)} in {file.path}: it has {seen}")
    return decode_footer(data)


def _parts(file: BundleFile, wanted: set[int], footer: Footer) -> Iterator[bytes]:
    yield frame.MAGIC + frame.block(file.header_bytes)
    for seq, placed in enumerate(file.frames()):
        if placed.frame.seq != seq:
            raise BundleError(f"{file.path} does not verify: event {seq} says that it is {placed.frame.seq}")
        yield frame.pack(placed.frame._replace(payload=b"") if seq in wanted else placed.frame)
    yield frame.LENGTH.pack(frame.FOOTER_SENTINEL) + frame.block(encode_footer(footer))
