"""Asking a witness to cosign a run's checkpoint (C2SP tlog-witness), and keeping its word in the bundle.

What always holds: only a bundle that verifies is sent, and of it only the checkpoint; a cosignature is kept
only if it is the named witness's and good over that checkpoint; the footer's checkpoint stays what it is,
with a line more. That a witness has cosigned another checkpoint of the same run is said by whoever answers in
its place, without a signature: it is told as that server's word, and means two records only if it is true.

A run is sealed once, so it has one checkpoint: there is never an earlier one that a proof would lead from.
"""

from collections.abc import Callable
from typing import Final

from hark.bundle import note
from hark.bundle.footing import change_footer, footer_of
from hark.bundle.header import Footer
from hark.bundle.note import Note, Verifier
from hark.bundle.walk import BundleFile
from hark.errors import BundleError, TruncatedError, UpstreamError, UsageError
from hark.verify.result import BROKEN, REJECTED, TRUNCATED, Result
from hark.verify.steps import verify
from hark.visible import named, visible

PATH: Final = "/add-checkpoint"
MAX_SAID: Final = 200  # characters of what a witness says when it refuses

type Ask = Callable[[str, bytes], tuple[int, bytes]]
"""Posts bytes to an address and returns status and body. MUST raise UpstreamError if that cannot be done."""


def witness(path: str, url: str, who: Verifier, ask: Ask) -> Result:
    """Have the run at `path` cosigned by the witness at `url`, and keep that in the bundle.

    Returns the verdict on the bundle as it is then, with that witness named.
    """
    _refuse_unfit(path, verify(path))
    with BundleFile(path) as file:
        asked = note.parse(footer_of(file)[1].checkpoint)
    line = _asked(url, who, asked, ask)

    def change(footer: Footer) -> Footer:
        signed = note.parse(footer.checkpoint)
        if signed.text != asked.text:
            raise BundleError(f"{path} was replaced while the witness was asked; try again")
        others = [one for one in signed.signatures if (one.name, one.key_id) != (line.name, line.key_id)]
        lines = "".join(one.line() for one in (*others, line))
        return footer._replace(checkpoint=f"{signed.text}\n{lines}")

    change_footer(path, change)
    return verify(path, witnesses=[who])


def _refuse_unfit(path: str, result: Result) -> None:
    if result.verdict in {BROKEN, REJECTED}:
        raise BundleError(f"no witness is asked about a bundle that does not verify: {result.line()}")
    if result.verdict == TRUNCATED:
        raise TruncatedError(f"{path} has no footer: its writer was killed, so there is nothing to cosign")
    if result.tlog is None:
        why = "nobody signed it" if not result.public_key else "an earlier hark wrote it"
        raise UsageError(f"{path} holds no checkpoint that a witness could cosign, since {why}")


def _asked(url: str, who: Verifier, signed: Note, ask: Ask) -> note.Signature:
    """The witness's line. An empty log comes first, then the one that the witness says it knows."""
    size = note.checkpoint(signed.text).size
    status, body = _posted(url, 0, signed, ask)
    if status == 409:
        known = _size(url, body)
        if known != size:
            raise _another(url, who, f"of {known} entries where this one has {size}")
        status, body = _posted(url, size, signed, ask)
    if status == 409:
        raise _another(url, who, "of as many entries")
    if status != 200:
        raise UpstreamError(f"the witness at {url} refused: {_reason(status, body)}")
    return _line_of(url, who, signed, body)


def _another(url: str, who: Verifier, which: str) -> BundleError:
    return BundleError(
        f"the server at {visible(url)} says that the witness {named(who.name)} has cosigned another record "
        f"of this run, {which}, and brings no signature that says so: keep this one, and ask the witness's "
        "operator for the checkpoint that it cosigned"
    )


def _posted(url: str, old: int, signed: Note, ask: Ask) -> tuple[int, bytes]:
    own = signed.signatures[0].line()
    return ask(url.rstrip("/") + PATH, f"old {old}\n\n{signed.text}\n{own}".encode())


def _size(url: str, body: bytes) -> int:
    try:
        return note.decimal(body.decode("ascii", "replace").removesuffix("\n"))
    except BundleError:
        raise UpstreamError(
            f"the witness at {url} says that it knows the run, and not in which size"
        ) from None


def _reason(status: int, body: bytes) -> str:
    known = {
        403: "it does not trust the key that signed the run",
        404: "it does not know the run's log; its operator has to take it in",
        422: "it says that the checkpoint does not go on from the last one",
    }
    said = visible(body[:MAX_SAID].decode("utf-8", "replace").strip())
    return known.get(status) or f"status {status}{f', {said}' if said else ''}"


def _line_of(url: str, who: Verifier, signed: Note, body: bytes) -> note.Signature:
    """Its line among those that it sent, checked."""
    try:
        sent = note.parse(f"{signed.text}\n{body.decode()}")
    except (BundleError, ValueError):
        raise UpstreamError(f"the witness at {url} did not answer with signature lines") from None
    for line in sent.signatures:
        if (line.name, line.key_id) == (who.name, who.key_id):
            note.cosigned_at(Note(signed.text, (line,)), who)
            return line
    raise UpstreamError(f"the witness at {url} is not {named(who.name)}: it signed with another key or name")
