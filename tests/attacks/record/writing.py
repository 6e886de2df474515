"""Traps 31, 36 and 37: what is sent and not recorded, what cannot be read back, and two hands on one file."""

import os
import tempfile
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from http.client import HTTPException
from pathlib import Path
from typing import Any, Final
from unittest.mock import patch

from hark.bundle import deliver, disk
from hark.bundle.events import Event, LlmRequest
from hark.bundle.walk import BundleFile
from hark.bundle.writer import Writer
from hark.errors import PolicyError, RecordError
from hark.inspect import Reading
from hark.verify import VERIFIED, verify
from mediator import ledger, transcript
from tests.attacks.registry import Outcome, Verdict, add, run_without
from tests.fakes.recorder import ListRecorder
from tests.fakes.upstream import serving
from tests.hark.bundle.bundles import EVENTS, HEADER, ticking, write
from tests.mediator.rig import API, running, served

UPLOAD: Final = b"customers.csv"
ODD: Final = b"caf\xe9"  # Latin-1, as many a program still sends it


def _full_for_the_upload(payload: bytes) -> None:
    if UPLOAD in payload:
        raise RecordError("no space left on device")


def _unrecorded_upload() -> Outcome:
    """Send a body that the recorder fails to take."""
    recorder = ListRecorder(guard=_full_for_the_upload)
    with (
        serving(API) as upstream,
        running(API, upstreams={API: upstream.address}, roots=upstream.ca_pem, recorder=recorder) as rig,
        rig.https() as client,
    ):
        with suppress(OSError):
            client.request("POST", "/", UPLOAD)
            client.getresponse().read()
        arrived = any(UPLOAD in seen.body for seen in upstream.seen)
        if UPLOAD in recorder.bytes():
            return Outcome(Verdict.UNKNOWN, "the recorder took the upload")
        return Outcome.seen(f"the server saw {len(upstream.seen)} requests", succeeded=arrived)


def _failures_are_ignored() -> AbstractContextManager[object]:
    def append(self: ledger.Ledger, event: Event, *, durable: bool = False) -> None:
        with suppress(RecordError):
            self._recorder.append(event, durable=durable)

    return patch.object(ledger.Ledger, "append", append)


MOST: Final = 64 << 10


def _oversized_upload() -> Outcome:
    """Send a body for which the record has no room any more."""
    with tempfile.TemporaryDirectory() as name:
        path = Path(name) / "run.hark"
        with (
            Writer.create(str(path), HEADER, clock=ticking(), max_bytes=MOST) as writer,
            serving(API) as upstream,
            running(API, upstreams={API: upstream.address}, roots=upstream.ca_pem, recorder=writer) as rig,
            rig.https() as client,
        ):
            with suppress(OSError, HTTPException):
                client.request("POST", "/", UPLOAD + bytes(2 * MOST))
                client.getresponse().read()
            arrived = any(UPLOAD in seen.body for seen in upstream.seen)
        size = path.stat().st_size
        return Outcome.seen(f"the record has {size} bytes of {MOST}", succeeded=arrived or size > MOST)


def _room_without_end() -> AbstractContextManager[object]:
    return patch.object(Writer, "_room_for", lambda _self, _event: None)


def _odd_header() -> Outcome:
    """Send a header that is no UTF-8 and look for its bytes in the bundle."""
    with served() as (rig, upstream), rig.https() as client:
        with suppress(OSError):
            client.request("GET", "/", headers={"X-Place": ODD})
            client.getresponse().read()
        events = list(rig.recorder.events)
        detail = f"the server saw {len(upstream.seen)} requests"
    with tempfile.TemporaryDirectory() as name:
        path = write(Path(name) / "run.hark", (*EVENTS[:1], *events, *EVENTS[-1:]))
        readable = verify(str(path)).verdict == VERIFIED and _holds(path, ODD)
    return Outcome.seen(detail, succeeded=not readable)


def _holds(path: Path, value: bytes) -> bool:
    with BundleFile(str(path)) as file:
        requests = [seen.event for seen in Reading(file) if isinstance(seen.event, LlmRequest)]
    return any(value == held for request in requests for _, held in request.raw_headers)


def _headers_are_taken_for_utf_8() -> AbstractContextManager[object]:
    def decoded(headers: tuple[tuple[bytes, bytes], ...]) -> dict[str, str]:
        return {name.decode(): value.decode() for name, value in headers}

    return patch.object(transcript, "text_map", decoded)


def _second_writer() -> Outcome:
    """Write into a bundle that another writer has open."""
    with tempfile.TemporaryDirectory() as name:
        path = Path(name) / "run.hark"
        with Writer.create(str(path), HEADER, clock=ticking()) as first:
            first.append(EVENTS[0])
            try:
                with Writer.create(str(path), HEADER, clock=ticking()) as second:
                    second.append(EVENTS[0])
            except RecordError as error:
                return Outcome(Verdict.REFUSED, str(error))
            for event in EVENTS[1:]:
                first.append(event)
            first.seal("exit")
        result = verify(str(path))
        return Outcome.seen(result.line(), succeeded=result.verdict != VERIFIED)


@contextmanager
def _no_lock_and_any_file() -> Iterator[None]:
    """A file that may be there already is opened to append to: creating and locking are one defence."""
    opened = os.open

    def open_any(path: str, flags: int, *mode: Any, **options: Any) -> int:
        ours = path.endswith(".hark") and flags & os.O_CREAT
        return opened(path, flags & ~os.O_EXCL | os.O_APPEND if ours else flags, *mode, **options)

    with patch.object(disk, "_lock", lambda _: None), patch.object(os, "open", open_any):
        yield


def _late_refusal() -> Outcome:
    """Name a destination that no file system takes; succeed if that is said after the run only."""
    with tempfile.TemporaryDirectory() as name:
        path, destination = write(Path(name) / "run.hark"), f"{name}/{'x' * 300}.hark"
        try:
            deliver.check_destination(destination)
        except PolicyError as error:
            return Outcome(Verdict.REFUSED, str(error))
        try:
            deliver.deliver(str(path), destination)
        except RecordError as error:
            return Outcome(Verdict.SUCCEEDED, str(error))
        return Outcome(Verdict.UNKNOWN, "the name was taken")


def _destinations_are_not_tried() -> AbstractContextManager[object]:
    return patch.object(deliver, "check_destination", lambda _: None)


add(
    31,
    "send an upload that cannot be recorded",
    _unrecorded_upload,
    run_without(_failures_are_ignored, _unrecorded_upload),
)
add(
    31,
    "send an upload for which the record has no room",
    _oversized_upload,
    run_without(_room_without_end, _oversized_upload),
)
add(
    36,
    "make the record unreadable by a header outside UTF-8",
    _odd_header,
    run_without(_headers_are_taken_for_utf_8, _odd_header),
)
add(
    37,
    "break a bundle by a second writer",
    _second_writer,
    run_without(_no_lock_and_any_file, _second_writer),
)
add(
    37,
    "hear only after the run that its -o name is too long",
    _late_refusal,
    run_without(_destinations_are_not_tried, _late_refusal),
)
