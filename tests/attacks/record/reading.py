"""Traps 34, 35 and 38: edits that no event's hash covers, a reader that runs out of memory, and a screen
that does what recorded text says."""

import io
import tempfile
import tracemalloc
from collections.abc import Callable
from contextlib import AbstractContextManager, redirect_stdout
from functools import cache
from pathlib import Path
from typing import Final
from unittest.mock import patch

from hark import describe
from hark.bundle.events import EgressDecision
from hark.bundle.frame import FRAME_HEAD, MAGIC, block
from hark.bundle.hashing import HASH_SIZE
from hark.bundle.header import Header, encode_header
from hark.bundle.synth import synthesize
from hark.bundle.walk import BundleFile
from hark.cli.main import dispatch
from hark.verify import VERIFIED, scan, steps, verify
from tests.attacks.registry import Outcome, Verdict, add, run_without
from tests.hark.bundle.bundles import EVENTS, KEY, write

FEW: Final = 5_000  # enough to fill the reader's buffer
MANY: Final = 12_000
HOSTILE: Final = "\x1b]0;owned\x07\x1b[2Jevil.example"


def _edited(edit: Callable[[bytes, BundleFile], bytes]) -> Outcome:
    """Edit a signed bundle; the edit succeeds if it verifies under the key that signed it."""
    with tempfile.TemporaryDirectory() as name:
        path = write(Path(name) / "run.hark")
        before = path.read_bytes()
        with BundleFile(str(path)) as file:
            after = edit(before, file)
        if after == before:
            return Outcome(Verdict.UNKNOWN, "nothing was edited")
        path.write_bytes(after)
        result = verify(str(path), [KEY.public_key])
        return Outcome.seen(result.line(), succeeded=result.verdict == VERIFIED)


def _with_header(data: bytes, file: BundleFile, header: Header) -> bytes:
    return MAGIC + block(encode_header(header)) + data[file.first :]


def _header() -> Outcome:
    return _edited(lambda data, file: _with_header(data, file, file.header._replace(recorder="another")))


def _lineage() -> Outcome:
    """Say of a run that it was forked from another."""

    def edit(data: bytes, file: BundleFile) -> bytes:
        return _with_header(data, file, file.header._replace(parent_root=b"r" * HASH_SIZE, fork_point=3))

    return _edited(edit)


def _time() -> Outcome:
    """Say of the refused connection that it was made later."""

    def edit(data: bytes, file: BundleFile) -> bytes:
        at = [placed.offset for placed in file.frames()][2]
        length, kind, seq, time, chain = FRAME_HEAD.unpack_from(data, at)
        head = FRAME_HEAD.pack(length, kind, seq, time + 500, chain)
        return data[:at] + head + data[at + FRAME_HEAD.size :]

    return _edited(edit)


def _no_header_hash() -> AbstractContextManager[object]:
    return patch.object(steps, "_header", lambda *_: [])


def _no_seal() -> AbstractContextManager[object]:
    return patch.object(steps, "_sealing", lambda *_: [])


@cache
def _bundle_of(events: int) -> bytes:
    with tempfile.TemporaryDirectory() as name:
        path = Path(name) / "many.hark"
        synthesize(str(path), events, 0)
        return path.read_bytes()


def _peak(events: int) -> int:
    """The most memory that verifying so many events takes at once."""
    with tempfile.NamedTemporaryFile(suffix=".hark") as file:
        file.write(_bundle_of(events))
        file.flush()
        tracemalloc.start()
        try:
            result = verify(file.name, workers=0)
            peak = tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()
    if (result.verdict, result.events) != (VERIFIED, events):
        raise AssertionError(result.line())
    return peak


def _many_events() -> Outcome:
    """Succeed if each event more costs the reader as much as its leaf."""
    few = _peak(FEW)
    grown = _peak(MANY) - few
    return Outcome.seen(
        f"{grown} bytes for {MANY - FEW} events more", succeeded=grown > HASH_SIZE * (MANY - FEW)
    )


def _every_leaf_is_kept() -> AbstractContextManager[object]:
    return patch.object(scan, "BLOCK", 1 << 62)


def _escapes(*words: str) -> Callable[[], Outcome]:
    def run() -> Outcome:
        with tempfile.TemporaryDirectory() as name:
            denied = EgressDecision(host=HOSTILE, reason=HOSTILE)
            path = write(Path(name) / "run.hark", (*EVENTS, denied))
            with redirect_stdout(io.StringIO()) as screen:
                code = dispatch(["inspect", *words, str(path)])
        shown = screen.getvalue()
        if code or "evil.example" not in shown:
            return Outcome(Verdict.UNKNOWN, f"exit code {code}, {shown!r}")
        return Outcome.seen(repr(shown[:60]), succeeded=not shown.replace("\n", "").isprintable())

    return run


def _text_is_sent_as_it_is() -> AbstractContextManager[object]:
    return patch.object(describe, "visible", lambda text: text)


add(34, "edit a bundle's header", _header, run_without(_no_header_hash, _header))
add(34, "make a run another's fork", _lineage, run_without(_no_header_hash, _lineage))
add(34, "edit the time of an event", _time, run_without(_no_seal, _time))
add(
    35,
    "make verification's memory grow with the events",
    _many_events,
    run_without(_every_leaf_is_kept, _many_events),
)
for _where, _words in {"line": (), "detail": ("-seq", "5")}.items():
    _attempt = _escapes(*_words)
    add(
        38,
        f"send escape sequences to the screen by a {_where} of inspect",
        _attempt,
        run_without(_text_is_sent_as_it_is, _attempt),
    )
