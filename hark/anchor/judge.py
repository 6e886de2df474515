"""Judging one anchor against an artifact and a trust root, as a numbered list. Each number stands beside its
code and has a test that fails alone.

 1. It is a sigstore bundle: one signature, one log entry, an inclusion proof with a checkpoint, each of its
    form.
 2. The entry names this artifact's digest, this signature, and the key or certificate that is expected, and
    its kind is what the bundle says.
 3. The signature over the artifact is that key's.
 4. The log is one of the trust root's. (Otherwise UncheckableError.)
 5. The entry is in the tree: the proof leads from its own index and size to its root; and somebody signed for
    the index.
 6. The log's key signed the checkpoint, under the log's name.
 7. The checkpoint is of that log: its origin.
 8. The checkpoint is over that tree: its size and root are the proof's.
 9. Every witness that is asked for has cosigned it.
10. The log's promise, where there is one, is its signature over entry, index and time.
11. Every time stamp is a known authority's, over this signature. (An unknown one's alone: UncheckableError.)
12. Something says when: a promise, a stamp or a witness; and the log was believed then.
13. The certificate, where there is one, leads to an authority of the trust root and was valid at each of
    those times. (Of an authority that it does not name: UncheckableError.)
14. The certificate is for signing code.
15. A log of certificates signed for it.

Consistency between two checkpoints is not checked: one anchor has one. Whether the log shows the same tree to
everybody is what witnesses are for.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from hashlib import sha256
from typing import NamedTuple

from hark.anchor import body, chain, promise, stamp
from hark.anchor import entry as entries
from hark.anchor.entry import Entry, Proof, Signed
from hark.anchor.jsonform import MalformedError
from hark.anchor.keys import PublicKey
from hark.anchor.outcome import Held, RejectedError, UncheckableError
from hark.anchor.trusted_root import Log, TrustedRoot
from hark.bundle import note
from hark.bundle.note import Checkpoint, Note, Verifier
from hark.bundle.sha256tree import root_of
from hark.errors import BundleError


class Time(NamedTuple):
    """A moment that somebody else vouches for."""

    at: int
    """Unix seconds."""
    clock: str


class Read(NamedTuple):
    """An anchor whose parts have their form."""

    signed: Signed
    proof: Proof
    note: Note
    checkpoint: Checkpoint


def judge(
    data: bytes, artifact: bytes, root: TrustedRoot, *, key: bytes = b"", witnesses: Sequence[Verifier] = ()
) -> Held:
    """Judge the sigstore bundle `data` over `artifact`. Raises RejectedError or UncheckableError, and nothing
    else.

    `key` is the public key (DER) that must have signed; without one, a certificate of the trust root's must.
    """
    with _step(1):
        read = _read(data)
    entry = read.signed.entry
    with _step(2):
        signer = _signer(read.signed, artifact, key)
    with _step(3):
        if not signer.has_signed(artifact, read.signed.signature):
            raise MalformedError("the signature is not that of the key over this artifact")
    log = _log(entry, root)  # 4
    with _step(5):
        _check_included(entry, read.proof)
    _check_checkpoint(read, log)  # 6 to 8
    with _step(9):
        cosigned = _cosigned(read.note, witnesses)
    times = _times(read.signed, log, root, cosigned)  # 10 to 12
    whose = (
        _identity(read.signed.certificate, root, times) if read.signed.certificate else ("", "")
    )  # 13 to 15
    first = times[0]
    witnessed = tuple(one.name for one in witnesses)
    return Held(read.checkpoint.origin, entry.number, first.at, first.clock, *whose, witnessed)


@contextmanager
def _step(number: int) -> Iterator[None]:
    try:
        yield
    except (RejectedError, UncheckableError):
        raise
    except (MalformedError, BundleError) as error:
        raise RejectedError(number, str(error)) from None


def _read(data: bytes) -> Read:
    signed = entries.parse(data)
    proof = signed.entry.proof
    if proof is None or not proof.checkpoint:
        raise MalformedError("there is no inclusion proof with a checkpoint")
    if signed.promised and not signed.entry.promise:
        raise MalformedError("a sigstore bundle of version 0.1 holds the log's promise")
    read = note.parse(proof.checkpoint)
    return Read(signed, proof, read, note.checkpoint(read.text))


def _signer(signed: Signed, artifact: bytes, key: bytes) -> PublicKey:
    """Step 2: what the entry names, and the key that must have signed."""
    claim, version = body.parse(signed.entry.body)
    if (body.KIND, version) != (signed.entry.kind, signed.entry.version):
        raise MalformedError("the log's entry is of another kind than the sigstore bundle says")
    digest = sha256(artifact).digest()
    if claim.digest != digest or (signed.digest and signed.digest != digest):
        raise MalformedError("the log's entry is not over this artifact")
    if claim.signature != signed.signature:
        raise MalformedError("the log's entry holds another signature")
    if not key and not signed.certificate:
        raise MalformedError("it names no certificate, and no key is expected")
    if (claim.key, claim.certificate) != (key, signed.certificate):
        raise MalformedError("the log's entry names another key or certificate than the one that is expected")
    return PublicKey(key or chain.key_of(chain.load(signed.certificate)))


def _log(entry: Entry, root: TrustedRoot) -> Log:
    """Step 4."""
    for log in root.logs:
        if log.log_id == entry.log_id:
            return log
    raise UncheckableError(f"it is in a log that the trust root does not name ({entry.log_id.hex()[:16]})")


def _check_included(entry: Entry, proof: Proof) -> None:
    """Step 5. A log of version 1 counts its trees through, and its promise covers that number."""
    root = root_of(entry.body, proof.leaf, proof.size, proof.path)
    if root != proof.root:
        raise MalformedError("the inclusion proof does not lead from the entry to its root")
    if not entry.promise and entry.number != proof.leaf:
        raise MalformedError("the entry's index is not that of the inclusion proof, and nobody signed for it")


def _check_checkpoint(read: Read, log: Log) -> None:
    """Steps 6 to 8."""
    with _step(6):
        key_id = log.log_id[: note.ID_SIZE]
        if not any(note.is_signed(read.note, name, key_id, log.key.has_signed) for name in log.names):
            raise MalformedError("the checkpoint is not signed by the log's key")
    origin = read.checkpoint.origin
    with _step(7):
        if not any(_is_origin(origin, name) for name in log.names):
            raise MalformedError(f"the checkpoint is of another log than {log.names[0]}")
    with _step(8):
        if (read.checkpoint.size, read.checkpoint.root) != (read.proof.size, read.proof.root):
            raise MalformedError("the checkpoint is over another tree than the inclusion proof")


def _is_origin(origin: str, name: str) -> bool:
    """Tell whether `origin` is the log's: its name, or in version 1 its name and the tree's number."""
    rest = origin.removeprefix(f"{name} - ")
    return origin == name or (rest != origin and rest.isascii() and rest.isdigit())


def _cosigned(read: Note, witnesses: Sequence[Verifier]) -> list[Time]:
    """Step 9: when each witness cosigned."""
    found = []
    for witness in witnesses:
        at = note.cosigned_at(read, witness)
        if at is None:
            raise MalformedError(f"the checkpoint is not cosigned by {witness.name}, which was asked for")
        found.append(Time(at, witness.name))
    return found


def _times(signed: Signed, log: Log, root: TrustedRoot, cosigned: list[Time]) -> list[Time]:
    """Steps 10 to 12: the moments that are vouched for, earliest first; at least one."""
    with _step(10):
        promised = _promised(signed.entry, log)
    with _step(11):
        stamped, unknown = _stamped(signed, root)
    times = sorted([*promised, *stamped, *cosigned])
    if not times and unknown:
        raise UncheckableError("its time stamp is of an authority that the trust root does not name")
    with _step(12):
        if not times:
            raise MalformedError(
                "nothing says when: there is neither a promise of the log's nor a time stamp"
            )
        if not all(log.period.has(time.at) for time in times):
            raise MalformedError("the log was not believed at that time, by the trust root")
    return times


def _promised(entry: Entry, log: Log) -> list[Time]:
    if not entry.promise:
        return []
    if not entry.time or not log.key.has_signed(promise.signed_bytes(entry), entry.promise):
        raise MalformedError("the log's promise is not its signature over this entry and time")
    return [Time(entry.time, log.names[0])]


def _stamped(signed: Signed, root: TrustedRoot) -> tuple[list[Time], bool]:
    if len(set(signed.stamps)) != len(signed.stamps):
        raise MalformedError("the same time stamp stands there twice")
    times, unknown = [], False
    for one in signed.stamps:
        try:
            times.append(Time(*stamp.time_of(one, signed.signature, root.clocks)))
        except stamp.UnknownClockError:
            unknown = True
    return times, unknown


def _identity(der: bytes, root: TrustedRoot, times: list[Time]) -> tuple[str, str]:
    """Steps 13 to 15: whose certificate it is, and who vouched for that."""
    with _step(13):
        certificate = chain.load(der)
        try:
            issuers = [chain.issuer_of(certificate, root.authorities, time.at) for time in times]
        except chain.UnknownAuthorityError:
            raise UncheckableError(
                "its certificate is of an authority that the trust root does not name"
            ) from None
    with _step(14):
        chain.check_usage(certificate)
    with _step(15):
        chain.check_logged(certificate, issuers[0], root.certificate_logs)
        return chain.identity(certificate)
